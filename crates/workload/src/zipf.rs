//! Zipf's law: exact, in constant time and memory, set up in microseconds for any number of items.
//!
//! - [`zeta`]: the sum of 1 / k^θ, by Euler–Maclaurin summation.
//! - [`Zipf`]: exact draws, by rejection-inversion.
//! - [`Gray`]: the approximation that YCSB draws by, as a quantile function.

/// From this rank on, the density is so nearly a straight line over one item that what would have to
/// be rejected is below θ(θ + 1) · 10^-13 of the item's share. The test itself would err by more: it
/// subtracts numbers that have ever more digits in common.
const FLAT_FROM: u64 = 1 << 20;

/// A number in [0, 1) of 53 random bits.
#[inline]
pub(crate) fn unit(bits: u64) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    (bits >> 11) as f64 * STEP
}

/// A random number's share of `n`: 0 to n − 1. The bias is below n / 2^64.
#[inline]
pub(crate) fn scaled(bits: u64, n: u64) -> u64 {
    ((u128::from(bits) * u128::from(n)) >> 64) as u64
}

/// The integral of x^−θ from 1 to `x`, for q = 1 − θ.
fn integral(x: f64, q: f64) -> f64 {
    let log = x.ln();
    if q == 0.0 { log } else { (q * log).exp_m1() / q }
}

/// Σ 1 / k^θ for k from 1 to `n`.
///
/// The first terms are added up, the rest is Euler–Maclaurin's formula: integral, half of both
/// ends, and three corrections. The error is below 10^-13 of the sum for θ up to 10.
///
/// ```
/// use pacelc_workload::zipf::zeta;
/// assert_eq!(zeta(2, 1.0), 1.5);
/// // YCSB's constant for 10^10 items.
/// assert!((zeta(10_000_000_000, 0.99) - 26.469_028_201_783_02).abs() < 1e-9);
/// ```
#[must_use]
pub fn zeta(n: u64, theta: f64) -> f64 {
    const EXACT: u64 = 32;
    let head: f64 = (1..=n.min(EXACT)).rev().map(|k| (k as f64).powf(-theta)).sum();
    if n <= EXACT {
        return head;
    }
    let (from, to) = (EXACT as f64, n as f64);
    let q = 1.0 - theta;
    let (f_from, f_to) = (from.powf(-theta), to.powf(-theta));
    // Odd derivatives of x^-θ at both ends, times B_2k / (2k)!.
    let first = theta * (f_from / from - f_to / to) / 12.0;
    let third = theta * (theta + 1.0) * (theta + 2.0);
    let third_ends = f_from / from.powi(3) - f_to / to.powi(3);
    let fifth = third * (theta + 3.0) * (theta + 4.0);
    let fifth_ends = f_from / from.powi(5) - f_to / to.powi(5);
    // `head` ends with f(32) whole, and the formula begins with half of it.
    head + integral(to, q) - integral(from, q) + (f_to - f_from) / 2.0 + first
        - third * third_ends / 720.0
        + fifth * fifth_ends / 30_240.0
}

/// Draws ranks from 0, the rank k in proportion to 1 / (k + 1)^θ.
///
/// Source: Hörmann, Derflinger, "Rejection-inversion to generate variates from monotone discrete
/// distributions", ACM TOMACS 6(3), 1996. The density's integral is inverted, and the point found
/// is nearly always accepted at sight: a draw costs one power.
#[derive(Debug, Clone, Copy)]
pub struct Zipf {
    items: u64,
    theta: f64,
    /// 1 − θ
    q: f64,
    /// 1 / (1 − θ)
    inverse_q: f64,
    /// Integral at the far end of the last item's interval.
    last: f64,
    /// From there to the near end of the first item's.
    span: f64,
    /// A point at most this far below its item is accepted without a further look.
    sure: f64,
}

impl Zipf {
    /// Of `items` items, at least one; θ above 0.
    #[must_use]
    pub fn new(items: u64, theta: f64) -> Self {
        let q = 1.0 - theta;
        let last = integral(items as f64 + 0.5, q);
        let inverse_q = q.recip();
        let mut zipf = Self { items, theta, q, inverse_q, last, span: 0.0, sure: 0.0 };
        zipf.span = integral(1.5, q) - 1.0 - last;
        zipf.sure = 2.0 - zipf.inverse(integral(2.5, q) - 2_f64.powf(-theta));
        zipf
    }

    /// Where [`integral`] is `y`.
    #[inline]
    fn inverse(&self, y: f64) -> f64 {
        let t = self.q * y;
        if self.q.abs() > 1e-3 {
            (1.0 + t).powf(self.inverse_q)
        } else if self.q == 0.0 {
            y.exp()
        } else {
            // Where θ is near 1, the sum would lose digits that the power makes visible.
            (t.ln_1p() * self.inverse_q).exp()
        }
    }

    /// The rank that the next random bits stand for.
    #[inline]
    pub fn draw(&self, mut bits: impl FnMut() -> u64) -> u64 {
        loop {
            let y = self.last + unit(bits()) * self.span;
            let x = self.inverse(y);
            // Rounding may take the ends a little too far, or where θ is large to infinity.
            let k = ((x + 0.5) as u64).clamp(1, self.items);
            if k as f64 - x <= self.sure || k > FLAT_FROM || self.accepts(k, y) {
                return k - 1;
            }
        }
    }

    #[cold]
    fn accepts(&self, k: u64, y: f64) -> bool {
        y >= integral(k as f64 + 0.5, self.q) - (k as f64).powf(-self.theta)
    }
}

/// The approximation of Zipf's law that YCSB draws by: exact for the first two ranks, a power
/// function for the others; θ below 1.
///
/// Source: Gray et al., "Quickly generating billion-record synthetic databases", SIGMOD 1994.
#[derive(Debug, Clone, Copy)]
pub struct Gray {
    items: u64,
    zeta: f64,
    /// Up to here of `zeta`, it is the second rank.
    second: f64,
    alpha: f64,
    eta: f64,
}

impl Gray {
    /// Of `items` items, at least one; θ above 0 and below 1.
    #[must_use]
    pub fn new(items: u64, theta: f64) -> Self {
        let zeta_n = zeta(items, theta);
        let second = 1.0 + 0.5_f64.powf(theta);
        let eta = (1.0 - (2.0 / items as f64).powf(1.0 - theta)) / (1.0 - second / zeta_n);
        Self { items, zeta: zeta_n, second, alpha: 1.0 / (1.0 - theta), eta }
    }

    /// The rank, from 0, of the quantile `u`, in [0, 1).
    #[inline]
    #[must_use]
    pub fn rank(&self, u: f64) -> u64 {
        let uz = u * self.zeta;
        if uz < 1.0 {
            return 0;
        }
        if uz < self.second {
            return 1.min(self.items - 1);
        }
        let rank = self.items as f64 * (self.eta * u - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(self.items - 1)
    }

    /// The share of the ranks up to `rank`: what [`Self::rank`] is the inverse of.
    #[cfg(test)]
    pub(crate) fn share_up_to(&self, rank: u64) -> f64 {
        match rank {
            _ if rank + 1 >= self.items => 1.0,
            0 => 1.0 / self.zeta,
            1 => self.second / self.zeta,
            _ => {
                let x = (rank + 1) as f64 / self.items as f64;
                (1.0 - (1.0 - x.powf(1.0 / self.alpha)) / self.eta).max(self.second / self.zeta)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chooser::tests::chi_square_is_small;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    #[test]
    fn zeta_equals_the_sum() {
        for theta in [0.01, 0.5, 0.99, 1.0, 1.000_001, 1.5, 4.0, 10.0] {
            for n in [1, 31, 32, 33, 1_000, 100_000] {
                let sum: f64 = (1..=n).rev().map(|k| (k as f64).powf(-theta)).sum();
                assert!((zeta(n, theta) / sum - 1.0).abs() < 1e-13, "{n} {theta}");
            }
        }
    }

    /// Ranks in bins that double in width, against the sum of their probabilities.
    fn in_doubling_bins(items: u64, mut draw: impl FnMut() -> u64, up_to: impl Fn(u64) -> f64) {
        let bins = 64 - items.leading_zeros() as usize;
        let mut counts = vec![0_u64; bins];
        for _ in 0..400_000 {
            counts[63 - (draw() + 1).leading_zeros() as usize] += 1;
        }
        let mut before = 0.0;
        let shares: Vec<f64> = (0..bins)
            .map(|bin| {
                let all = up_to(((2_u64 << bin) - 1).min(items));
                let share = all - before;
                before = all;
                share
            })
            .collect();
        chi_square_is_small(&counts, &shares, &format!("{items} items"));
    }

    #[test]
    fn draws_follow_zipfs_law_for_any_theta_and_number() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for theta in [0.1, 0.5, 0.9, 0.99, 0.999_9, 1.0, 1.000_1, 1.5, 3.0] {
            for items in [1, 2, 100, 1_000_000_000, 10_000_000_000, 1 << 50] {
                let zipf = Zipf::new(items, theta);
                let all = zeta(items, theta);
                in_doubling_bins(items, || zipf.draw(|| rng.next_u64()), |k| zeta(k, theta) / all);
            }
        }
    }

    #[test]
    fn every_single_rank_has_its_share() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        for theta in [0.5, 0.99, 1.0, 1.5, 3.0] {
            let zipf = Zipf::new(100, theta);
            let mut counts = vec![0; 100];
            (0..400_000).for_each(|_| counts[zipf.draw(|| rng.next_u64()) as usize] += 1);
            let shares: Vec<f64> =
                (1..=100).map(|k| f64::from(k).powf(-theta) / zeta(100, theta)).collect();
            chi_square_is_small(&counts, &shares, &format!("theta {theta}"));
        }
    }

    #[test]
    fn grays_quantiles_are_the_inverse_of_its_shares() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        for theta in [0.5, 0.99] {
            for items in [2, 1_000, 10_000_000_000] {
                let gray = Gray::new(items, theta);
                in_doubling_bins(
                    items,
                    || gray.rank(unit(rng.next_u64())),
                    |k| gray.share_up_to(k - 1),
                );
            }
        }
    }
}
