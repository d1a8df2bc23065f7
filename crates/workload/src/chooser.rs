//! Which record an operation is for.

use crate::WorkloadError;
use rand_distr::{Distribution as _, Uniform, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// How records are chosen, as a study names it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    /// Each record as often as any other.
    Uniform,
    /// The record of rank k with probability proportional to 1 / k^θ; record 0 is the hottest.
    Zipfian {
        /// The exponent, above 0; YCSB's is 0.99.
        theta: f64,
    },
}

impl Default for Distribution {
    fn default() -> Self {
        Self::Zipfian { theta: 0.99 }
    }
}

/// A distribution over a fixed number of records: constant memory, constant time a draw.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Chooser {
    Uniform(Uniform<u64>),
    Zipfian(Zipf<f64>),
}

impl Chooser {
    pub(crate) fn new(distribution: Distribution, records: u64) -> Result<Self, WorkloadError> {
        let wrong = |problem: String| WorkloadError { field: "distribution", problem };
        match distribution {
            Distribution::Uniform => {
                Uniform::new(0, records).map(Self::Uniform).map_err(|e| wrong(e.to_string()))
            }
            Distribution::Zipfian { theta } if !theta.is_finite() || theta <= 0.0 => {
                Err(wrong(format!("zipfian's theta is above 0, not {theta}")))
            }
            Distribution::Zipfian { theta } => Zipf::new(records as f64, theta)
                .map(Self::Zipfian)
                .map_err(|e| wrong(e.to_string())),
        }
    }

    /// A record number, 0 to `records` − 1.
    pub(crate) fn choose(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        match self {
            Self::Uniform(uniform) => uniform.sample(rng),
            Self::Zipfian(zipf) => zipf.sample(rng) as u64 - 1, // ranks begin at 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_xoshiro::rand_core::SeedableRng;

    fn draws(distribution: Distribution, records: u64, n: usize) -> Vec<u64> {
        let mut counts = vec![0; records as usize];
        let chooser = Chooser::new(distribution, records).unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        (0..n).for_each(|_| counts[chooser.choose(&mut rng) as usize] += 1);
        counts
    }

    /// Pearson's chi-square of `counts` against `expected` shares.
    fn chi_square(counts: &[u64], expected: &[f64]) -> f64 {
        let n: u64 = counts.iter().sum();
        counts
            .iter()
            .zip(expected)
            .map(|(count, share)| {
                let mean = share * n as f64;
                (*count as f64 - mean).powi(2) / mean
            })
            .sum()
    }

    #[test]
    fn zipfians_hottest_of_1000_records_gets_12_9_per_cent() {
        let counts = draws(Distribution::default(), 1_000, 1_000_000);
        assert!((counts[0] as f64 / 1e6 - 0.129).abs() < 0.002, "{}", counts[0]);
    }

    #[test]
    fn draws_follow_their_distribution() {
        // 99.99 % point of chi-square with 99 degrees of freedom: 161.
        let uniform = draws(Distribution::Uniform, 100, 200_000);
        assert!(chi_square(&uniform, &[0.01; 100]) < 161.0);
        for theta in [0.5, 0.99, 1.0, 1.5] {
            let weights: Vec<f64> = (1..=100).map(|k| f64::from(k).powf(-theta)).collect();
            let sum: f64 = weights.iter().sum();
            let shares: Vec<f64> = weights.iter().map(|w| w / sum).collect();
            let counts = draws(Distribution::Zipfian { theta }, 100, 200_000);
            assert!(chi_square(&counts, &shares) < 161.0, "theta {theta}");
        }
    }

    proptest! {
        #[test]
        fn every_draw_is_a_record(records in 1u64..1 << 50, theta in 0.01f64..5.0, seed: u64) {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            for distribution in [Distribution::Uniform, Distribution::Zipfian { theta }] {
                let chooser = Chooser::new(distribution, records).unwrap();
                for _ in 0..50 {
                    prop_assert!(chooser.choose(&mut rng) < records);
                }
            }
        }
    }
}
