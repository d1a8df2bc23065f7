//! Random times and choices, drawn fast.

use crate::Distribution;
use crate::distribution::balanced;
use rand_distr::{Distribution as _, Exp1, Gamma, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// The generator of a replication.
pub(crate) type Random = Xoshiro256PlusPlus;

/// A distribution, ready to be drawn from.
#[derive(Debug, Clone)]
pub(crate) enum Sampler {
    Constant(f64),
    Exponential(f64),
    Erlang(Gamma<f64>),
    /// The first mean, the second, and how many of 2^64 draws take the first.
    Hyperexponential(f64, f64, u64),
    /// Mean and standard deviation of the logarithm.
    Lognormal(f64, f64),
    Empirical(Alias, Vec<f64>),
}

impl Sampler {
    pub(crate) fn of(distribution: &Distribution) -> Self {
        let mean = distribution.mean_s();
        if mean == 0.0 {
            return Self::Constant(0.0);
        }
        match distribution {
            Distribution::Exponential { .. } | Distribution::Erlang { shape: 1, .. } => {
                Self::Exponential(mean)
            }
            Distribution::Deterministic { .. } => Self::Constant(mean),
            Distribution::Erlang { shape, .. } => {
                let shape = f64::from(*shape);
                Self::Erlang(Gamma::new(shape, mean / shape).expect("checked: both are positive"))
            }
            Distribution::Hyperexponential { scv, .. } => {
                let first = balanced(*scv);
                let second = 1.0 - first;
                Self::Hyperexponential(mean / (2.0 * first), mean / (2.0 * second), of_2_64(first))
            }
            Distribution::Lognormal { scv, .. } => {
                let variance = scv.ln_1p();
                Self::Lognormal(mean.ln() - variance / 2.0, variance.sqrt())
            }
            Distribution::Empirical { values_s, counts } => {
                Self::Empirical(Alias::new(counts), values_s.clone())
            }
        }
    }

    /// The usual case stays small enough to be part of what draws.
    #[inline]
    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        if let Self::Exponential(mean) = self {
            mean * exponential(random)
        } else {
            self.draw_other(random)
        }
    }

    #[inline(never)]
    fn draw_other(&self, random: &mut Random) -> f64 {
        match self {
            Self::Exponential(mean) => mean * exponential(random),
            Self::Constant(value) => *value,
            Self::Erlang(gamma) => gamma.sample(random),
            Self::Hyperexponential(first, second, share) => {
                let mean = if random.next_u64() < *share { first } else { second };
                mean * exponential(random)
            }
            Self::Lognormal(mean, deviation) => {
                let normal: f64 = StandardNormal.sample(random);
                (mean + deviation * normal).exp()
            }
            Self::Empirical(alias, values) => values[alias.draw(random)],
        }
    }
}

#[inline]
fn exponential(random: &mut Random) -> f64 {
    Exp1.sample(random)
}

/// A probability as a share of 2^64.
fn of_2_64(probability: f64) -> u64 {
    (probability * 2f64.powi(64)) as u64
}

/// A random number below `n`. The bias is below n / 2^64.
#[inline]
pub(crate) fn below(random: &mut Random, n: usize) -> usize {
    ((u128::from(random.next_u64()) * n as u128) >> 64) as usize
}

/// One of several, each with its own weight, in constant time.
///
/// Source: Vose, "A linear algorithm for generating random numbers with a given distribution", IEEE
/// Transactions on Software Engineering 17 (1991).
#[derive(Debug, Clone)]
pub(crate) struct Alias(Vec<(u64, u32)>);

impl Alias {
    pub(crate) fn new(weights: &[f64]) -> Self {
        let scale = weights.len() as f64 / weights.iter().sum::<f64>();
        let mut left: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let mut columns: Vec<_> = (0..weights.len()).map(|i| (u64::MAX, i as u32)).collect();
        let (mut small, mut large): (Vec<_>, Vec<_>) =
            (0..weights.len()).partition(|i| left[*i] < 1.0);
        while let (Some(poor), Some(rich)) = (small.pop(), large.last().copied()) {
            columns[poor] = (of_2_64(left[poor]), rich as u32);
            left[rich] -= 1.0 - left[poor];
            if left[rich] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        Self(columns)
    }

    #[inline]
    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        // The high half chooses a column, the low half within it.
        let product = u128::from(random.next_u64()) * self.0.len() as u128;
        let column = (product >> 64) as usize;
        let (own, other) = self.0[column];
        if (product as u64) < own { column } else { other as usize }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Exact by construction.
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn draws_have_their_moments_in_any_unit() {
        let shapes = |mean_s: f64| {
            [
                Distribution::Exponential { mean_s },
                Distribution::Deterministic { value_s: mean_s },
                Distribution::Erlang { mean_s, shape: 1 },
                Distribution::Erlang { mean_s, shape: 5 },
                Distribution::Hyperexponential { mean_s, scv: 1.0 },
                Distribution::Hyperexponential { mean_s, scv: 6.0 },
                Distribution::Lognormal { mean_s, scv: 0.0 },
                Distribution::Lognormal { mean_s, scv: 2.0 },
                Distribution::Empirical {
                    values_s: vec![mean_s * 0.5, mean_s * 3.0, mean_s, mean_s * 9.0],
                    counts: vec![4.0, 1.0, 2.0, 0.0],
                },
            ]
        };
        let mut random = Random::seed_from_u64(1);
        for distribution in shapes(1.0).iter().chain(&shapes(3e-7)) {
            let sampler = Sampler::of(distribution);
            let n = 400_000;
            let draws: Vec<f64> =
                (0..n).map(|_| sampler.draw(&mut random) / distribution.mean_s()).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let variance =
                draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / f64::from(n);
            assert!((mean - 1.0).abs() < 0.02, "{distribution:?}: mean {mean}");
            let scv = distribution.scv();
            assert!((variance - scv).abs() < 0.08 * scv + 1e-9, "{distribution:?}: {variance}");
        }
    }

    #[test]
    fn nothing_takes_no_time() {
        let nothing = Sampler::of(&Distribution::Lognormal { mean_s: 0.0, scv: 2.0 });
        assert_eq!(nothing.draw(&mut Random::seed_from_u64(1)), 0.0);
    }

    #[test]
    fn what_weighs_nothing_is_never_drawn() {
        let alias = Alias::new(&[0.0, 1.0, 0.0, 3.0]);
        let mut random = Random::seed_from_u64(2);
        let mut counts = [0u32; 4];
        for _ in 0..100_000 {
            counts[alias.draw(&mut random)] += 1;
        }
        assert_eq!((counts[0], counts[2]), (0, 0));
        assert!((f64::from(counts[3]) / 75_000.0 - 1.0).abs() < 0.02);
    }
}
