//! Customers who go round a delay and processors, on which work that nobody waits for is done as well.
//!
//! What nobody waits for is done on idle cores, if there are any, and all of it is done, so that saturation is
//! exact: processors have so many cores less, which depends on the throughput, which depends on them.
//!
//! The product form's normalising constants are convolutions (Buzen, "Computational algorithms for closed
//! queueing networks with exponential servers", CACM 16(9), 1973) of numbers that are scaled to be near 1 where
//! they count. Cores may be parts of one, whereas those of a network are whole.

/// Of a demand, by which it is found how many customers are there.
const STEP: f64 = 1e-4;
/// Cores: 0 has no logarithm.
const LEAST_CORES: f64 = 1e-12;
/// Of the throughput.
const PRECISION: f64 = 1e-9;
const MOST_STEPS: usize = 200;

/// A closed network of one kind of customer.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// At least one.
    pub users: u32,
    /// Above 0.
    pub delay_s: f64,
    /// Of each processor, or parts of one.
    pub cores: f64,
    /// Where customers go, and how many of each.
    pub groups: Vec<Group>,
}

/// Equal processors.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// What a customer waits for, at all of them; above 0.
    pub cpu_s: f64,
    /// What nobody waits for, of each customer, at all of them.
    pub behind_s: f64,
    /// How many.
    pub processors: u32,
}

/// How customers fare.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// Of all together.
    pub throughput_per_s: f64,
    /// How long one is at each group's processors, by group.
    pub there_s: Vec<f64>,
}

/// A group as what nobody waits for leaves it.
#[derive(Clone, Copy)]
struct Left {
    cpu_s: f64,
    cores: f64,
    processors: u32,
}

impl Cycle {
    /// Solve it.
    #[must_use]
    pub fn pace(&self) -> Pace {
        let throughput_per_s = self.throughput_per_s();
        let all_s = f64::from(self.users) / throughput_per_s - self.delay_s;
        let mut there_s: Vec<f64> =
            (1..self.groups.len()).map(|group| self.there_s(group, throughput_per_s)).collect();
        there_s.insert(0, all_s - there_s.iter().sum::<f64>());
        Pace { throughput_per_s, there_s }
    }

    /// The throughput that leaves as many cores as it takes, between none and saturation.
    fn throughput_per_s(&self) -> f64 {
        let alone = self.at(0.0);
        if self.groups.iter().all(|group| group.behind_s <= 0.0) {
            return alone;
        }
        let most = self
            .groups
            .iter()
            .map(|group| self.cores * f64::from(group.processors) / (group.cpu_s + group.behind_s));
        let (mut low, mut below) = (0.0, alone);
        let mut high = most.fold(alone, f64::min) * (1.0 + 1e-6);
        let mut above = self.at(high) - high;
        // Regula falsi; an end that stays twice counts half (Illinois; Dowell and Jarratt, BIT 11, 1971).
        let mut rose = None;
        for _ in 0..MOST_STEPS {
            if above >= 0.0 || high - low <= PRECISION * high {
                break;
            }
            let middle = (low * above - high * below) / (above - below);
            let off = self.at(middle) - middle;
            if off.abs() <= PRECISION * middle {
                return middle;
            }
            let again = rose.replace(off > 0.0) == Some(off > 0.0);
            let stays = if again { 0.5 } else { 1.0 };
            if off > 0.0 {
                (low, below, above) = (middle, off, above * stays);
            } else {
                (high, above, below) = (middle, off, below * stays);
            }
        }
        high
    }

    /// The throughput on what a throughput leaves.
    fn at(&self, rate: f64) -> f64 {
        let (one_less, all_of_them) = self.constants(&self.left(rate));
        (one_less - all_of_them).exp()
    }

    fn left(&self, rate: f64) -> Vec<Left> {
        let left = self.groups.iter().map(|group| Left {
            cpu_s: group.cpu_s,
            cores: (self.cores - rate * group.behind_s / f64::from(group.processors))
                .max(LEAST_CORES),
            processors: group.processors,
        });
        left.collect()
    }

    /// How long a customer is at a group's processors, by Little's law.
    ///
    /// So many are there as the constant's logarithm grows with its demand's (Buzen).
    fn there_s(&self, group: usize, rate: f64) -> f64 {
        let with = |step: f64| {
            let mut left = self.left(rate);
            left[group].cpu_s *= 1.0 + step;
            self.constants(&left).1
        };
        (with(STEP) - with(-STEP)) / (STEP.ln_1p() - (-STEP).ln_1p()) / rate
    }

    /// Logarithms of normalising constants for all customers but one, and for all.
    fn constants(&self, left: &[Left]) -> (f64, f64) {
        let users = f64::from(self.users);
        // What counts is near 1 if it is multiplied by powers of the throughput, or of its bound.
        let cycle_s = (self.delay_s + left.iter().map(|one| one.cpu_s).sum::<f64>()) / users;
        let busiest = left.iter().map(|one| one.cpu_s / (one.cores * f64::from(one.processors)));
        let tilt = -busiest.fold(cycle_s, f64::max).ln();
        let (mut sums, mut height) = self.of_logs(self.delay_s.ln() + tilt, f64::ln);
        let mut last: Vec<f64> = Vec::new();
        for one in left {
            let each = (one.cpu_s / f64::from(one.processors)).ln() + tilt;
            let (queue, its) = self.of_logs(each, |ready| ready.min(one.cores).ln());
            for _ in 0..one.processors {
                if !last.is_empty() {
                    sums = product(&sums, &last);
                }
                last.clone_from(&queue);
                height += its;
            }
        }
        // Of the last one only the constants of all customers, and of all but one, are needed.
        let total = |sums: &[f64]| -> f64 {
            sums.iter().zip(last[..sums.len()].iter().rev()).map(|(a, b)| a * b).sum()
        };
        height -= users * tilt;
        let one_less = total(&sums[..sums.len() - 1]).ln() + height + tilt;
        (one_less, total(&sums).ln() + height)
    }

    /// What a station has with 0, 1, … customers, as shares of the greatest, and that one's logarithm.
    ///
    /// Each customer more multiplies by a number whose logarithm is `each`, less that of how fast he is served.
    fn of_logs(&self, each: f64, log_speed: impl Fn(f64) -> f64) -> (Vec<f64>, f64) {
        let mut log = 0.0;
        let more = (1..=self.users).map(|there| {
            log += each - log_speed(f64::from(there));
            log
        });
        let mut found: Vec<f64> = std::iter::once(0.0).chain(more).collect();
        let height = found.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for value in &mut found {
            *value = (*value - height).exp();
        }
        (found, height)
    }
}

/// Coefficients of a product of polynomials, as many as each has.
fn product(one: &[f64], other: &[f64]) -> Vec<f64> {
    let of = |n: usize| one[..=n].iter().zip(other[..=n].iter().rev()).map(|(a, b)| a * b).sum();
    (0..one.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(users: u32, cores: f64, groups: Vec<Group>) -> Cycle {
        Cycle { users, delay_s: 1e-3, cores, groups }
    }

    fn group(cpu_s: f64, behind_s: f64, processors: u32) -> Group {
        Group { cpu_s, behind_s, processors }
    }

    #[test]
    fn one_customer_alone_waits_for_nobody() {
        let pace = cycle(1, 2.0, vec![group(3e-4, 0.0, 1), group(2e-4, 0.0, 2)]).pace();
        assert!((pace.throughput_per_s * 1.5e-3 - 1.0).abs() < 1e-9);
        assert!((pace.there_s[0] - 3e-4).abs() < 1e-9 && (pace.there_s[1] - 2e-4).abs() < 1e-9);
    }

    #[test]
    fn two_customers_are_as_a_chain_of_three_states_says() {
        let pace = cycle(2, 1.0, vec![group(1e-3, 0.0, 1)]).pace();
        // Of 0, 1, 2 at the processor: 1/2, 1, 1, as the delay is as long as the demand.
        let busy = 2.0 / 2.5;
        assert!((pace.throughput_per_s - busy / 1e-3).abs() < 1e-6);
        assert!((pace.there_s[0] * pace.throughput_per_s - 3.0 / 2.5).abs() < 1e-9);
    }

    #[test]
    fn what_nobody_waits_for_is_all_done() {
        let groups = vec![group(1e-4, 3e-4, 1)];
        let many = cycle(400, 2.0, groups.clone()).pace().throughput_per_s;
        assert!((many * 4e-4 / 2.0 - 1.0).abs() < 1e-6, "{many}");
        let alone = cycle(1, 2.0, groups).pace().throughput_per_s;
        let without = cycle(1, 2.0, vec![group(1e-4, 0.0, 1)]).pace().throughput_per_s;
        assert!((alone / without - 1.0).abs() < 1e-9, "on an idle core: {alone}, {without}");
    }

    #[test]
    fn a_part_of_a_core_takes_longer() {
        let pace = cycle(1, 0.25, vec![group(1e-4, 0.0, 1)]).pace();
        assert!((pace.there_s[0] - 4e-4).abs() < 1e-9);
    }
}
