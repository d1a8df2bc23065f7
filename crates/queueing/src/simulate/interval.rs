//! Confidence intervals of means of independent replications.

/// A mean and the half-width of its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub mean: f64,
    pub half_width: f64,
}

/// Student's t of a confidence, by how many values there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Intervals {
    confidence: f64,
    replications: usize,
    /// Of as many values as there are replications.
    quantile: f64,
}

impl Intervals {
    /// Of at least two replications.
    pub(crate) fn new(confidence: f64, replications: usize) -> Self {
        let quantile = student_quantile(confidence, replications - 1);
        Self { confidence, replications, quantile }
    }

    /// The mean of `values`, of all replications or of those that had any, with its interval.
    pub(crate) fn estimate(&self, values: &[f64]) -> Estimate {
        let known = values.len();
        let quantile = if known == self.replications || known < 2 {
            self.quantile
        } else {
            student_quantile(self.confidence, known - 1)
        };
        estimate(values, quantile)
    }
}

/// The mean of `values`, and half the width of its interval by Student's t with this `quantile`. Of fewer than
/// two values the interval is as wide as the mean: nothing is known.
fn estimate(values: &[f64], quantile: f64) -> Estimate {
    let n = values.len() as f64;
    let mean = if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / n };
    if values.len() < 2 {
        return Estimate { mean, half_width: mean.abs() };
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Estimate { mean, half_width: quantile * (squares / (n * (n - 1.0))).sqrt() }
}

/// The t within which, on both sides of 0, Student's distribution holds `confidence`.
fn student_quantile(confidence: f64, degrees: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while within(high, degrees) < confidence {
        high *= 2.0;
    }
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if within(middle, degrees) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Student's probability of −t to t: a finite sum for whole degrees of freedom.
///
/// Source: Abramowitz and Stegun, "Handbook of mathematical functions", 26.7.3 and 26.7.4.
fn within(t: f64, degrees: usize) -> f64 {
    let angle = (t / (degrees as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = degrees % 2 == 1;
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = 0.0;
    let mut power = usize::from(odd);
    while power + 2 <= degrees {
        sum += term;
        term *= cosine * cosine * (power + 1) as f64 / (power + 2) as f64;
        power += 2;
    }
    if odd { (angle + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Exact by construction.
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (confidence, degrees, t) in [
            (0.95, 1, 12.706),
            (0.95, 2, 4.303),
            (0.95, 3, 3.182),
            (0.95, 9, 2.262),
            (0.99, 10, 3.169),
            (0.9, 29, 1.699),
            (0.95, 1_000, 1.962),
        ] {
            let found = student_quantile(confidence, degrees);
            assert!((found - t).abs() < 6e-4, "{confidence} {degrees}: {found}");
        }
    }

    #[test]
    fn an_interval_by_hand() {
        let found = estimate(&[1.0, 2.0, 3.0], 2.0);
        assert!((found.mean - 2.0).abs() < 1e-12);
        assert!((found.half_width - 2.0 / 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(estimate(&[4.0], 2.0).half_width, 4.0);
        // Who knows of fewer replications knows less.
        let all = Intervals::new(0.95, 10);
        assert!((all.estimate(&[1.0, 3.0]).half_width - 12.706).abs() < 1e-3);
        assert!((all.estimate(&[1.0; 10]).half_width).abs() < 1e-12);
    }
}
