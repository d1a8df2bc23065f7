//! Functions on all populations from none to everyone, and how a station changes their generating function.
//!
//! A station whose rate depends on how many are there alone has the generating function h(u) =
//! Σ uⁿ / (rate 1 · … · rate n) of u = Σ demand · z, over chains. Beyond its last rate r the sum is
//! geometric, so h is a polynomial plus a power of u over 1 − u/r: nothing is ever subtracted.

use super::wide::Wide;

/// All populations between none and everyone, numbered so that fewer customers come first.
pub struct Lattice {
    /// How much further the number is with one more customer of a chain.
    strides: Vec<usize>,
    /// By population, a bit for each chain with customers.
    present: Vec<u64>,
    /// By population, a bit for each chain whose customers are all in.
    complete: Vec<u64>,
}

/// A station's rates and demands.
pub struct Served<'a> {
    /// By chain.
    pub demands_s: &'a [f64],
    /// With 1, 2, … customers; the last holds for all greater numbers.
    pub rates: &'a [f64],
}

impl Lattice {
    /// How many populations there are, unless they are more than fit.
    pub fn size(users: &[u32]) -> Option<usize> {
        users.iter().try_fold(1_usize, |size, users| size.checked_mul(*users as usize + 1))
    }

    /// How much further a population's number is with one more customer, by chain.
    pub fn strides(users: &[u32]) -> Vec<usize> {
        let with = |stride: &mut usize, users: &u32| {
            let own = *stride;
            *stride *= *users as usize + 1;
            Some(own)
        };
        users.iter().scan(1, with).collect()
    }

    /// Of at most 64 chains.
    pub fn new(users: &[u32]) -> Self {
        let strides = Self::strides(users);
        let size = Self::size(users).expect("asked before");
        let bits = |holds: &dyn Fn(usize, u32) -> bool| -> Vec<u64> {
            (0..size)
                .map(|at| {
                    let chains = users.iter().zip(&strides).enumerate();
                    chains
                        .filter(|(_, (users, stride))| {
                            holds(at / *stride % (**users as usize + 1), **users)
                        })
                        .fold(0, |bits, (chain, _)| bits | 1 << chain)
                })
                .collect()
        };
        let present = bits(&|customers, _| customers > 0);
        let complete = bits(&|customers, users| customers as u32 == users);
        Self { strides, present, complete }
    }

    /// The number of the population of everyone.
    pub fn everyone(&self) -> usize {
        self.present.len() - 1
    }

    /// A function that is 0 everywhere.
    pub fn zero(&self) -> Vec<Wide> {
        vec![Wide::ZERO; self.present.len()]
    }

    /// Of stations where no one waits: Π demandⁿ / n!.
    pub fn delays(&self, demands_s: &[f64]) -> Vec<Wide> {
        let mut values = self.zero();
        values[0] = Wide::ONE;
        for (at, present) in self.present.iter().enumerate().skip(1) {
            let chain = present.trailing_zeros() as usize;
            let stride = self.strides[chain];
            // How many of that chain: those before it have none here.
            let width = self.strides.get(chain + 1).copied().unwrap_or(self.present.len());
            let customers = at % width / stride;
            values[at] = values[at - stride] * (demands_s[chain] / customers as f64);
        }
        values
    }

    /// value · u + `scale` · add.
    fn shifted(&self, values: &[Wide], by: &[f64], add: &[Wide], scale: f64) -> Vec<Wide> {
        let one = |at: usize| {
            let mut value = add[at] * scale;
            for (chain, by) in by.iter().enumerate() {
                if self.present[at] >> chain & 1 == 1 {
                    value = value + values[at - self.strides[chain]] * *by;
                }
            }
            value
        };
        (0..values.len()).map(one).collect()
    }

    /// values · u · `scale`.
    pub fn times(&self, values: &[Wide], demands_s: &[f64], scale: f64) -> Vec<Wide> {
        let by: Vec<f64> = demands_s.iter().map(|demand| demand * scale).collect();
        self.shifted(values, &by, values, 0.0)
    }

    /// values / (1 − u), in place.
    fn divide(&self, values: &mut [Wide], by: &[f64]) {
        for at in 1..values.len() {
            let mut value = values[at];
            for (chain, by) in by.iter().enumerate() {
                if self.present[at] >> chain & 1 == 1 {
                    value = value + values[at - self.strides[chain]] * *by;
                }
            }
            values[at] = value;
        }
    }

    /// values · h(u): with the station.
    pub fn with(&self, values: &[Wide], station: &Served<'_>) -> Vec<Wide> {
        let (last, weights) = station.parts();
        let mut result = values.to_vec();
        self.divide(&mut result, &station.scaled(1.0 / last));
        let Some((tail, first)) = weights.split_last() else { return result };
        // The last weight belongs to the geometric part.
        for value in &mut result {
            *value = *value * *tail;
        }
        for weight in first.iter().rev() {
            result = self.shifted(&result, station.demands_s, values, *weight);
        }
        result
    }

    /// values · h′(u): what, times a demand, weighs populations by how many of the chain are there.
    pub fn with_derivative(&self, values: &[Wide], station: &Served<'_>) -> Vec<Wide> {
        let (last, weights) = station.parts();
        let scaled = station.scaled(1.0 / last);
        let steps = weights.len() - 1;
        let mut result = values.to_vec();
        self.divide(&mut result, &scaled);
        for (value, own) in result.iter_mut().zip(values) {
            *value = *value + *own * steps as f64;
        }
        self.divide(&mut result, &scaled);
        let tail = weights[steps] / last;
        for value in &mut result {
            *value = *value * tail;
        }
        for n in (0..steps).rev() {
            let weight = weights[n + 1] * (n + 1) as f64;
            result = self.shifted(&result, station.demands_s, values, weight);
        }
        result
    }

    /// The product of two generating functions at everyone, or everyone but one of a chain.
    pub fn product(&self, a: &[Wide], b: &[Wide], without: Option<usize>) -> Wide {
        let (end, mask) = match without {
            Some(chain) => (self.everyone() - self.strides[chain], 1_u64 << chain),
            None => (self.everyone(), 0),
        };
        let mut sum = Wide::ZERO;
        for at in (0..=end).filter(|at| self.complete[*at] & mask == 0) {
            sum = sum + a[at] * b[end - at];
        }
        sum
    }
}

impl Served<'_> {
    fn scaled(&self, by: f64) -> Vec<f64> {
        self.demands_s.iter().map(|demand| demand * by).collect()
    }

    /// The last rate, and 1 / (rate 1 · … · rate n) for n from 0 to where the geometric part begins.
    fn parts(&self) -> (f64, Vec<f64>) {
        let last = self.rates[self.rates.len() - 1];
        let steps = self
            .rates
            .iter()
            .rposition(|rate| rate.total_cmp(&last).is_ne())
            .map_or(0, |at| at + 1);
        let mut weights = vec![1.0];
        for rate in &self.rates[..steps] {
            weights.push(weights[weights.len() - 1] / rate);
        }
        (last, weights)
    }
}
