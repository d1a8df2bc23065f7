//! Which record an operation is for.

use crate::WorkloadError;
use crate::frontier::Frontier;
use crate::key::fnv_1a_64;
use crate::zipf::{Gray, Zipf, scaled, unit};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use serde::{Deserialize, Serialize};

/// How records are chosen, as a study names it.
///
/// `uniform`, `zipfian` and `hotspot` choose among the records loaded, and are a pure function of
/// the run's seed and the user. `ycsb_zipfian`, `latest` and `exponential` also choose records that
/// were inserted meanwhile, once they are acknowledged; `sequential` takes turns: what a user
/// chooses then depends on the pace of all.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    /// Each record as often as any other.
    Uniform,
    /// The record of rank k with probability proportional to 1 / k^θ; record 0 is the hottest.
    Zipfian {
        /// The exponent, above 0; YCSB's is 0.99.
        #[serde(default = "theta")]
        theta: f64,
    },
    /// YCSB's `zipfian`: a zipfian rank among ten billion, hashed, modulo the number of records.
    /// The hottest of 1,000 records gets 3.9 %, not 12.9 %.
    YcsbZipfian {
        /// The exponent, above 0; YCSB's is 0.99.
        #[serde(default = "theta")]
        theta: f64,
        /// Inserts that the run is expected to make. Records to come have their places among the
        /// hashed already, so that inserts don't change which records are hot.
        #[serde(default)]
        expected_inserts: u64,
    },
    /// The newest record is the hottest: zipfian ranks as YCSB draws them, counted back from the
    /// newest.
    Latest {
        /// The exponent, above 0; YCSB's is 0.99.
        #[serde(default = "theta")]
        theta: f64,
    },
    /// Some of the records, the first ones, take most of the operations; uniform within both parts.
    Hotspot {
        /// The hot records' share of all.
        #[serde(default = "hot_set")]
        hot_set_fraction: f64,
        /// Their share of the operations.
        #[serde(default = "hot_operations")]
        hot_operation_fraction: f64,
    },
    /// Counted back from the newest record by an exponential law.
    Exponential {
        /// So many per cent of the operations …
        #[serde(default = "percentile")]
        percentile: f64,
        /// … are for this share of the records, the newest ones.
        #[serde(default = "fraction")]
        fraction: f64,
    },
    /// One record after another, round and round.
    Sequential,
}

const fn theta() -> f64 {
    0.99
}

const fn hot_set() -> f64 {
    0.2
}

const fn hot_operations() -> f64 {
    0.8
}

const fn percentile() -> f64 {
    95.0
}

/// YCSB's, which its source calls 1/7 and is 6/7.
const fn fraction() -> f64 {
    0.857_142_857_1
}

impl Default for Distribution {
    fn default() -> Self {
        Self::Zipfian { theta: theta() }
    }
}

impl Distribution {
    /// Whether records that a run inserts are chosen too.
    #[must_use]
    pub const fn follows_inserts(self) -> bool {
        matches!(self, Self::YcsbZipfian { .. } | Self::Latest { .. } | Self::Exponential { .. })
    }
}

/// YCSB draws its ranks from so many items, however many records there are.
const YCSB_ITEMS: u64 = 10_000_000_001;

/// An exponential distribution's mean, in times of the records: of a longer one, nearly every draw
/// would have to be thrown away.
const MOST_RECORDS_BACK: f64 = 1_000.0;

/// A distribution over records: constant memory, constant time a draw.
#[derive(Debug, Clone, Copy)]
pub enum Chooser {
    /// Over so many records.
    Uniform(u64),
    /// Over the records loaded.
    Zipfian(Zipf),
    /// Ranks, and what their hashes are taken modulo.
    YcsbZipfian(YcsbRanks, u64),
    /// θ, ranks, and over how many records they are: at least those there are.
    Latest(f64, YcsbRanks, u64),
    /// Hot records, cold records, the hot ones' share of the operations.
    Hotspot(u64, u64, f64),
    /// The mean distance from the newest record.
    Exponential(f64),
    /// Whose turn it is.
    Sequential,
}

/// Zipfian ranks as YCSB draws them.
#[derive(Debug, Clone, Copy)]
pub enum YcsbRanks {
    /// Approximately, where θ is below 1.
    Gray(Gray),
    /// Exactly, where that formula has no meaning.
    Exact(Zipf),
}

impl YcsbRanks {
    fn new(items: u64, theta: f64) -> Self {
        if theta < 1.0 {
            Self::Gray(Gray::new(items, theta))
        } else {
            Self::Exact(Zipf::new(items, theta))
        }
    }

    #[inline]
    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        match self {
            Self::Gray(gray) => gray.rank(unit(rng.next_u64())),
            Self::Exact(zipf) => zipf.draw(|| rng.next_u64()),
        }
    }
}

impl Chooser {
    /// Over `records` records, as loaded.
    pub fn new(distribution: Distribution, records: u64) -> Result<Self, WorkloadError> {
        let wrong = |problem: String| Err(WorkloadError { field: "distribution", problem });
        if let Distribution::Zipfian { theta }
        | Distribution::YcsbZipfian { theta, .. }
        | Distribution::Latest { theta } = distribution
            && (!theta.is_finite() || theta <= 0.0)
        {
            return wrong(format!("theta is above 0, not {theta}"));
        }
        Ok(match distribution {
            Distribution::Uniform => Self::Uniform(records),
            Distribution::Zipfian { theta } => Self::Zipfian(Zipf::new(records, theta)),
            Distribution::YcsbZipfian { theta, expected_inserts } => {
                let ranks = YcsbRanks::new(YCSB_ITEMS, theta);
                // One more than there will be: YCSB's upper bound counts as well.
                match records.checked_add(expected_inserts).and_then(|n| n.checked_add(1)) {
                    Some(places) => Self::YcsbZipfian(ranks, places),
                    None => return wrong("expected_inserts are too many".into()),
                }
            }
            Distribution::Latest { theta } => {
                Self::Latest(theta, YcsbRanks::new(records, theta), records)
            }
            Distribution::Hotspot { hot_set_fraction, hot_operation_fraction } => {
                let share = 0.0..=1.0;
                if !share.contains(&hot_set_fraction) || !share.contains(&hot_operation_fraction) {
                    return wrong("hotspot's fractions are from 0 to 1".into());
                }
                let hot = ((records as f64 * hot_set_fraction) as u64).min(records);
                if hot == 0 && hot_operation_fraction > 0.0 {
                    return wrong(format!("{hot_set_fraction} of {records} records is none"));
                }
                if hot == records && hot_operation_fraction < 1.0 {
                    return wrong("every record is hot: none is left for the others".into());
                }
                Self::Hotspot(hot, records - hot, hot_operation_fraction)
            }
            Distribution::Exponential { percentile, fraction } => {
                if !(percentile > 0.0 && percentile < 100.0) {
                    return wrong(format!(
                        "exponential's percentile is above 0 and below 100, not {percentile}"
                    ));
                }
                if !fraction.is_finite() || fraction <= 0.0 {
                    return wrong(format!("exponential's fraction is above 0, not {fraction}"));
                }
                let mean = -fraction / (-percentile / 100.0).ln_1p();
                if mean > MOST_RECORDS_BACK {
                    return wrong(
                        "exponential's draws would nearly all lie before record 0".into(),
                    );
                }
                Self::Exponential(mean * records as f64)
            }
            Distribution::Sequential => Self::Sequential,
        })
    }

    /// The index of the record to read, among those that `frontier` has.
    #[inline]
    pub fn choose(&mut self, rng: &mut Xoshiro256PlusPlus, frontier: &Frontier) -> u64 {
        match self {
            Self::Uniform(records) => scaled(rng.next_u64(), *records),
            Self::Zipfian(zipf) => zipf.draw(|| rng.next_u64()),
            Self::Hotspot(hot, cold, share) => {
                if unit(rng.next_u64()) < *share {
                    scaled(rng.next_u64(), *hot)
                } else {
                    *hot + scaled(rng.next_u64(), *cold)
                }
            }
            Self::Sequential => frontier.turn(),
            Self::YcsbZipfian(..) | Self::Latest(..) | Self::Exponential(_) => loop {
                let records = frontier.records();
                if let Some(index) = self.candidate(rng, records)
                    && !frontier.is_hole(index)
                {
                    return index;
                }
            },
        }
    }

    /// Up to `most` of `records` indices that are chosen more often than the others, while users
    /// insert or don't; the hottest first.
    pub(crate) fn hottest(&self, most: u64, records: u64, inserts: bool) -> Vec<u64> {
        let most = most.min(records);
        match self {
            Self::Zipfian(_) => (0..most).collect(),
            Self::YcsbZipfian(_, places) => {
                let mut hottest = Vec::new();
                // Several ranks may have one place, and some a place that has no record yet.
                for rank in 0..8 * most {
                    let index = fnv_1a_64(rank).unsigned_abs() % *places;
                    if index < records && !hottest.contains(&index) {
                        hottest.push(index);
                    }
                }
                hottest.truncate(most as usize);
                hottest
            }
            Self::Latest(..) | Self::Exponential(_) if !inserts => {
                (records - most..records).rev().collect()
            }
            // With more hot records than that, none is hotter than others that are left out.
            Self::Hotspot(hot, cold, share)
                if *hot <= most && share * *cold as f64 > (1.0 - share) * *hot as f64 =>
            {
                (0..*hot).collect()
            }
            _ => Vec::new(),
        }
    }

    /// An index below `records`, or none where the draw is for a record that isn't there.
    #[inline]
    fn candidate(&mut self, rng: &mut Xoshiro256PlusPlus, records: u64) -> Option<u64> {
        let index = match self {
            Self::YcsbZipfian(ranks, places) => fnv_1a_64(ranks.draw(rng)).unsigned_abs() % *places,
            Self::Latest(theta, ranks, over) => {
                if records > *over {
                    // With room to grow: draws beyond what is there are thrown away, which leaves
                    // the law as it should be.
                    *over = records + records / 8 + 16;
                    *ranks = YcsbRanks::new(*over, *theta);
                }
                (records - 1).checked_sub(ranks.draw(rng))?
            }
            Self::Exponential(mean) => {
                // 1 − u is never 0, whose logarithm would be infinite.
                let distance = -(1.0 - unit(rng.next_u64())).ln() * *mean;
                (records - 1).checked_sub(distance as u64)?
            }
            _ => return None,
        };
        (index < records).then_some(index)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_xoshiro::rand_core::SeedableRng;

    /// Pearson's chi-square test of `counts` against `shares` at 1 in 10,000. Neighbours are put
    /// together until at least ten are expected.
    pub(crate) fn chi_square_is_small(counts: &[u64], shares: &[f64], what: &str) {
        let n: u64 = counts.iter().sum();
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{what}: the shares aren't whole");
        let (mut square, mut bins) = (0.0, 0.0);
        let (mut seen, mut mean) = (0.0, 0.0);
        let mut left: f64 = n as f64;
        for (count, share) in counts.iter().zip(shares) {
            seen += *count as f64;
            mean += share * n as f64;
            if mean >= 10.0 && left - mean >= 10.0 {
                square += (seen - mean).powi(2) / mean;
                left -= mean;
                bins += 1.0;
                (seen, mean) = (0.0, 0.0);
            }
        }
        if mean > 0.0 {
            square += (seen - mean).powi(2) / mean;
        }
        // Wilson–Hilferty: the cube root of chi-square over its degrees is nearly normal.
        let degrees: f64 = bins;
        if degrees == 0.0 {
            return;
        }
        let spread = 2.0 / (9.0 * degrees);
        let limit = degrees * (1.0 - spread + 3.72 * spread.sqrt()).powi(3);
        assert!(square < limit, "{what}: chi-square {square:.1} of {degrees} degrees");
    }

    fn counts(distribution: Distribution, records: u64, bins: usize, n: usize) -> Vec<u64> {
        let mut counts = vec![0; bins];
        let mut chooser = Chooser::new(distribution, records).unwrap();
        let frontier = Frontier::new(0, records, 0, 1);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for _ in 0..n {
            let index = chooser.choose(&mut rng, &frontier);
            counts[(u128::from(index) * bins as u128 / u128::from(records)) as usize] += 1;
        }
        counts
    }

    const YCSB: Distribution = Distribution::YcsbZipfian { theta: 0.99, expected_inserts: 0 };

    #[test]
    fn the_hottest_of_1000_gets_12_9_per_cent_or_as_ycsb_has_it_3_9() {
        let zipfian = counts(Distribution::default(), 1_000, 1_000, 1_000_000);
        assert!((zipfian[0] as f64 / 1e6 - 0.129).abs() < 0.002, "{}", zipfian[0]);
        let ycsb = counts(YCSB, 1_000, 1_000, 1_000_000);
        let hottest = *ycsb.iter().max().unwrap();
        assert!((hottest as f64 / 1e6 - 0.039).abs() < 0.001, "{hottest}");
        assert_eq!(ycsb[(fnv_1a_64(0).unsigned_abs() % 1_001) as usize], hottest);
    }

    #[test]
    fn uniform_draws_are_uniform() {
        for records in [100, 1_000_000_000, 1 << 60] {
            chi_square_is_small(
                &counts(Distribution::Uniform, records, 100, 200_000),
                &[0.01; 100],
                &format!("{records} records"),
            );
        }
    }

    #[test]
    fn ycsbs_zipfian_spreads_ranks_over_the_records() {
        for theta in [0.5, 0.99, 1.0, 1.2] {
            let distribution = Distribution::YcsbZipfian { theta, expected_inserts: 0 };
            let seen = counts(distribution, 1_000, 1_000, 300_000);
            // The first million ranks one by one; those behind fall on all places alike.
            let all = crate::zipf::zeta(YCSB_ITEMS, theta);
            let gray = (theta < 1.0).then(|| Gray::new(YCSB_ITEMS, theta));
            let mut shares = vec![0.0; 1_001];
            let mut before = 0.0;
            for rank in 0..1_000_000 {
                let share = match gray {
                    Some(gray) => {
                        let up_to = gray.share_up_to(rank);
                        let share = up_to - before;
                        before = up_to;
                        share
                    }
                    None => ((rank + 1) as f64).powf(-theta) / all,
                };
                shares[(fnv_1a_64(rank).unsigned_abs() % 1_001) as usize] += share;
            }
            let rest = (1.0 - shares.iter().sum::<f64>()) / 1_001.0;
            for share in &mut shares {
                *share += rest;
            }
            shares.pop(); // the place that has no record: drawn again
            let there: f64 = shares.iter().sum();
            for share in &mut shares {
                *share /= there;
            }
            chi_square_is_small(&seen, &shares, &format!("theta {theta}"));
        }
    }

    #[test]
    fn hotspot_draws_have_both_shares() {
        for records in [1_000, 1_000_000_000] {
            let distribution =
                Distribution::Hotspot { hot_set_fraction: 0.2, hot_operation_fraction: 0.8 };
            let shares: Vec<f64> =
                (0..100).map(|bin| if bin < 20 { 0.04 } else { 0.0025 }).collect();
            chi_square_is_small(&counts(distribution, records, 100, 200_000), &shares, "hotspot");
        }
    }

    #[test]
    fn exponential_draws_are_so_from_the_newest_back() {
        let records = 1_000_000_000_u64;
        let distribution = Distribution::Exponential { percentile: 95.0, fraction: 0.5 };
        let rate = -(0.05_f64).ln() / 0.5;
        // Cut off at the first record.
        let whole = 1.0 - (-rate).exp();
        let mut shares: Vec<f64> = (0..100)
            .map(|bin| {
                let near = f64::from(bin) / 100.0;
                ((-rate * near).exp() - (-rate * (near + 0.01)).exp()) / whole
            })
            .collect();
        shares.reverse();
        chi_square_is_small(&counts(distribution, records, 100, 200_000), &shares, "exponential");
    }

    #[test]
    fn latest_follows_acknowledged_inserts_and_no_others() {
        let frontier = Frontier::new(0, 50, 0, 1);
        let mut chooser = Chooser::new(Distribution::Latest { theta: 0.99 }, 50).unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let inserts: Vec<u64> = (0..50).map(|_| frontier.take()).collect();
        let newest = |counts: &[u64]| counts.iter().rposition(|count| *count > 0).unwrap();
        let mut draws = |n: usize| {
            let mut counts = vec![0_u64; 100];
            (0..n).for_each(|_| counts[chooser.choose(&mut rng, &frontier) as usize] += 1);
            counts
        };
        assert_eq!(newest(&draws(10_000)), 49);
        // The last one is acknowledged, but one before it isn't.
        frontier.completed(inserts[49], true);
        assert_eq!(newest(&draws(10_000)), 49);
        inserts[..49].iter().for_each(|index| frontier.completed(*index, *index != 97));
        let counts = draws(300_000);
        assert_eq!(counts[97], 0, "the number of a failed insert is never read");
        // With its room to grow, it draws from so many.
        let gray = Gray::new(100 + 100 / 8 + 16, 0.99);
        let mut before = 0.0;
        let mut shares: Vec<f64> = (0..100)
            .map(|rank| {
                let share = gray.share_up_to(rank) - before;
                before += share;
                share
            })
            .collect();
        shares.reverse();
        shares[97] = 0.0;
        let all: f64 = shares.iter().sum();
        for share in &mut shares {
            *share /= all;
        }
        chi_square_is_small(&counts, &shares, "latest");
    }

    #[test]
    fn sequential_draws_go_round() {
        let frontier = Frontier::new(0, 5, 0, 1);
        let mut chooser = Chooser::new(Distribution::Sequential, 5).unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let seen: Vec<u64> = (0..8).map(|_| chooser.choose(&mut rng, &frontier)).collect();
        assert_eq!(seen, [0, 1, 2, 3, 4, 0, 1, 2]);
    }

    #[test]
    fn parameters_have_ycsbs_defaults() {
        let parsed = |json: &str| serde_json::from_str::<Distribution>(json).unwrap();
        assert_eq!(parsed(r#"{"ycsb_zipfian": {}}"#), YCSB);
        assert_eq!(parsed(r#"{"latest": {}}"#), Distribution::Latest { theta: 0.99 });
        assert_eq!(
            parsed(r#"{"hotspot": {}}"#),
            Distribution::Hotspot { hot_set_fraction: 0.2, hot_operation_fraction: 0.8 }
        );
        assert_eq!(parsed(r#""sequential""#), Distribution::Sequential);
        assert!(serde_json::from_str::<Distribution>(r#"{"latest": {"thet": 1}}"#).is_err());
    }

    fn any_distribution() -> impl Strategy<Value = Distribution> {
        let theta = 0.01..5.0_f64;
        prop_oneof![
            Just(Distribution::Uniform),
            theta.clone().prop_map(|theta| Distribution::Zipfian { theta }),
            theta
                .clone()
                .prop_map(|theta| Distribution::YcsbZipfian { theta, expected_inserts: 0 }),
            theta.prop_map(|theta| Distribution::Latest { theta }),
            Just(Distribution::Hotspot { hot_set_fraction: 0.5, hot_operation_fraction: 0.5 }),
            (1.0..99.0_f64, 0.01..2.0_f64).prop_map(|(percentile, fraction)| {
                Distribution::Exponential { percentile, fraction }
            }),
            Just(Distribution::Sequential),
        ]
    }

    proptest! {
        #[test]
        fn every_draw_is_a_record(
            distribution in any_distribution(), records in 2u64..1 << 50, seed: u64,
        ) {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let frontier = Frontier::new(0, records, 0, 1);
            let mut chooser = Chooser::new(distribution, records).unwrap();
            for _ in 0..50 {
                prop_assert!(chooser.choose(&mut rng, &frontier) < records);
            }
        }
    }
}
