//! When a warm-up is over: MSER-5.
//!
//! A series that begins in a transient is cut where what is left has the least *marginal standard
//! error*: the squared half-width of the mean's interval, without its constant. Cutting a
//! transient makes it smaller; cutting good observations makes it larger again. Observations are
//! taken in means of five, which evens out their noise.
//!
//! Source: White, "An effective truncation heuristic for bias reduction in simulation output",
//! Simulation 69 (1997); White, Cobb, Spratt, "A comparison of five steady-state truncation
//! heuristics for simulation", WSC 2000, where MSER-5 does best.

/// Observations in a batch.
pub const BATCH: usize = 5;

/// Batches that are never cut off: the error of a mean of a handful is small by chance.
const KEPT: usize = 5;

/// How many of `series`' observations, from its beginning, belong to the transient.
///
/// `None` where that can't be told: fewer than ten batches, or a minimum in the second half, which
/// means that the series is still on its way. Observations after the last whole batch don't count.
///
/// ```
/// use pacelc_measure::steady::transient;
/// let noise = |i: usize| (pacelc_core::seed::mix(i as u64) >> 11) as f64 / (1u64 << 53) as f64;
/// let warming: Vec<f64> = (0..200).map(|i| 100.0 - 90.0 * (-(i as f64) / 15.0).exp() + noise(i)).collect();
/// assert!((30..=100).contains(&transient(&warming).unwrap()));
/// let still_warming: Vec<f64> = (0..200).map(|i| i as f64 + noise(i)).collect();
/// assert_eq!(transient(&still_warming), None);
/// ```
#[must_use]
pub fn transient(series: &[f64]) -> Option<usize> {
    let (batches, _) = series.as_chunks::<BATCH>();
    let means: Vec<f64> =
        batches.iter().map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    if means.len() < 2 * KEPT {
        return None;
    }
    // From the end, with Welford's updates: differences of large sums would lose a small variance.
    let (mut n, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (cut, value) in means.iter().enumerate().rev() {
        n += 1.0;
        let off = value - mean;
        mean += off / n;
        squares += off * (value - mean);
        let error = squares / (n * n);
        // At equal errors the earlier cut: of a constant series nothing is cut.
        if means.len() - cut >= KEPT && error <= best.0 {
            best = (error, cut);
        }
    }
    (best.1 <= means.len() / 2).then_some(best.1 * BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pacelc_core::seed;
    use proptest::prelude::*;

    /// Sums of uniform draws: near enough to normal ones.
    fn noise(seed: u64, i: usize) -> f64 {
        (0..12)
            .map(|k| (seed::stream(seed, (i * 12 + k) as u64) >> 11) as f64 / (1u64 << 53) as f64)
            .sum::<f64>()
            - 6.0
    }

    #[test]
    fn a_steady_series_is_called_steady_nine_times_in_ten() {
        let steady = (0..400)
            .filter(|s| transient(&(0..200).map(|i| noise(*s, i)).collect::<Vec<_>>()).is_some());
        assert!(steady.count() > 360);
    }

    #[test]
    fn a_series_that_still_climbs_is_not() {
        let climbing = (0..400).filter(|s| {
            let series: Vec<_> = (0..200).map(|i| 0.1 * i as f64 + noise(*s, i)).collect();
            transient(&series).is_none()
        });
        assert!(climbing.count() > 395);
    }

    proptest! {
        #[test]
        fn a_jump_is_cut_off(seed: u64, jump in 20usize..80) {
            let series: Vec<_> = (0..200).map(|i| noise(seed, i) + if i < jump { 50.0 } else { 0.0 }).collect();
            // A steady rest may lose some of its own by chance, or look unsteady; it never keeps
            // the jump.
            if let Some(cut) = transient(&series) {
                prop_assert!(cut + BATCH > jump);
            }
        }

        #[test]
        fn units_do_not_matter(seed: u64, scale in 1e-9f64..1e9, jump in 0usize..100) {
            let series: Vec<_> = (0..150).map(|i| noise(seed, i) + if i < jump { 9.0 } else { 0.0 }).collect();
            let scaled: Vec<_> = series.iter().map(|x| x * scale).collect();
            prop_assert_eq!(transient(&series), transient(&scaled));
        }
    }
}
