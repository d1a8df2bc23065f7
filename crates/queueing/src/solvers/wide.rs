//! Numbers whose exponents don't end: normalising constants outgrow f64 with a few hundred customers.
//!
//! A logarithm would hold them, too, but adds by an exponential, and loses digits as it grows.

use std::ops::{Add, Mul};

/// 2^±512, and the limits between which a mantissa is left alone.
const RADIX: f64 = f64::from_bits((1023 + 512) << 52);
const INVERSE: f64 = f64::from_bits((1023 - 512) << 52);
const MOST: f64 = f64::from_bits((1023 + 256) << 52);
const LEAST: f64 = f64::from_bits((1023 - 256) << 52);

/// A number of 0 or more: `mantissa` · 2^(512 · `exponent`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wide {
    mantissa: f64,
    exponent: i32,
}

impl Wide {
    /// Far smaller than all others, so that adding it is no special case.
    pub const ZERO: Self = Self { mantissa: 0.0, exponent: i32::MIN / 2 };
    pub const ONE: Self = Self { mantissa: 1.0, exponent: 0 };

    #[inline]
    fn normal(mantissa: f64, exponent: i32) -> Self {
        if mantissa >= MOST {
            Self { mantissa: mantissa * INVERSE, exponent: exponent + 1 }
        } else if mantissa >= LEAST {
            Self { mantissa, exponent }
        } else if mantissa == 0.0 {
            Self::ZERO
        } else {
            Self { mantissa: mantissa * RADIX, exponent: exponent - 1 }
        }
    }

    /// The ratio of two, as a plain number.
    pub fn over(self, other: Self) -> f64 {
        // More than three times the radix is beyond f64 in any case.
        let up = (self.exponent - other.exponent).clamp(-4, 4);
        let by = if up < 0 { INVERSE } else { RADIX };
        (0..up.abs()).fold(self.mantissa / other.mantissa, |ratio, _| ratio * by)
    }
}

impl Add for Wide {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        let (less, more) =
            if self.exponent < other.exponent { (self, other) } else { (other, self) };
        match more.exponent - less.exponent {
            0 => Self::normal(less.mantissa + more.mantissa, more.exponent),
            1 => Self::normal(less.mantissa * INVERSE + more.mantissa, more.exponent),
            _ => more,
        }
    }
}

impl Mul<f64> for Wide {
    type Output = Self;

    #[inline]
    fn mul(self, by: f64) -> Self {
        Self::normal(self.mantissa * by, self.exponent)
    }
}

impl Mul for Wide {
    type Output = Self;

    #[inline]
    fn mul(self, by: Self) -> Self {
        Self::normal(self.mantissa * by.mantissa, self.exponent + by.exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factorials_have_no_end() {
        let factorial = |n: u32| (1..=n).fold(Wide::ONE, |f, i| f * f64::from(i));
        assert!((factorial(10_000).over(factorial(9_999)) - 10_000.0).abs() < 1e-8);
        assert!((factorial(170).over(Wide::ONE) / 7.257_415_615_307_994e306 - 1.0).abs() < 1e-13);
    }

    #[test]
    fn what_is_far_smaller_is_lost() {
        let small = (0..100).fold(Wide::ONE, |w, _| w * 1e-9);
        assert_eq!(Wide::ONE + small, Wide::ONE);
        assert_eq!(small + Wide::ZERO, small);
        assert!(small.over(Wide::ONE) < 1e-300);
        assert!(((small + small).over(small) - 2.0).abs() < 1e-15);
    }
}
