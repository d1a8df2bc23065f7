//! How long fields and scans are.

use crate::zipf::{Gray, scaled, unit};
use pacelc_core::seed;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How lengths are spread between a least and a most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Always the most.
    #[default]
    Constant,
    /// Each as often as any other.
    Uniform,
    /// The least is the most frequent, by YCSB's zipfian law.
    Zipfian,
}

/// How the lengths of fields are spread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldLengthDistribution {
    /// Every field has the full length.
    #[default]
    Constant,
    /// Each length as often as any other.
    Uniform,
    /// The shortest is the most frequent, by YCSB's zipfian law.
    Zipfian,
    /// Lengths and their weights.
    Histogram(Vec<(usize, u64)>),
}

/// A range of lengths, and the one that random bits stand for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Span {
    Constant(u64),
    Uniform { least: u64, count: u64 },
    Zipfian { least: u64, ranks: Gray },
}

impl Span {
    /// `least` is at least 1 and at most `most`.
    pub(crate) fn new(spread: Spread, least: u64, most: u64) -> Self {
        let count = most - least + 1;
        match spread {
            Spread::Constant => Self::Constant(most),
            Spread::Uniform => Self::Uniform { least, count },
            Spread::Zipfian => Self::Zipfian { least, ranks: Gray::new(count, 0.99) },
        }
    }

    #[inline]
    pub(crate) fn at(&self, bits: u64) -> u64 {
        match self {
            Self::Constant(length) => *length,
            Self::Uniform { least, count } => least + scaled(bits, *count),
            Self::Zipfian { least, ranks } => least + ranks.rank(unit(bits)),
        }
    }
}

/// The lengths of fields, each a function of its value's check: a reader knows from the stamp how
/// long the whole value must be.
#[derive(Debug, Clone)]
pub(crate) enum FieldLengths {
    Constant(usize),
    Spread {
        span: Span,
        least: usize,
        most: usize,
    },
    /// Cumulative weights, and the lengths.
    Histogram(Arc<[(u64, usize)]>),
}

impl FieldLengths {
    /// What is wrong, for lengths outside 1 to `longest` and weights without a sum.
    pub(crate) fn new(
        distribution: &FieldLengthDistribution,
        least: usize,
        most: usize,
        longest: usize,
    ) -> Result<Self, (&'static str, String)> {
        let fits = |length: usize| (1..=longest).contains(&length);
        let spread = match distribution {
            FieldLengthDistribution::Histogram(weights) => {
                let field = "field_length_distribution";
                let mut sum = 0_u64;
                let mut cumulative = Vec::new();
                for (length, weight) in weights.iter().filter(|(_, weight)| *weight > 0) {
                    if !fits(*length) {
                        return Err((
                            field,
                            format!("{length} bytes aren't within 1 to {longest}"),
                        ));
                    }
                    sum = sum
                        .checked_add(*weight)
                        .ok_or_else(|| (field, "the weights are too large".to_owned()))?;
                    cumulative.push((sum, *length));
                }
                if cumulative.is_empty() {
                    return Err((field, "a histogram needs a weight above 0".into()));
                }
                return Ok(Self::Histogram(cumulative.into()));
            }
            FieldLengthDistribution::Constant => Spread::Constant,
            FieldLengthDistribution::Uniform => Spread::Uniform,
            FieldLengthDistribution::Zipfian => Spread::Zipfian,
        };
        if !fits(most) {
            return Err(("field_length_bytes", format!("{most} isn't within 1 to {longest}")));
        }
        if spread == Spread::Constant {
            return Ok(Self::Constant(most));
        }
        if least == 0 || least > most {
            let problem = format!("{least} isn't within 1 to field_length_bytes, {most}");
            return Err(("min_field_length_bytes", problem));
        }
        Ok(Self::Spread { span: Span::new(spread, least as u64, most as u64), least, most })
    }

    /// The length of the value with this check.
    #[inline]
    pub(crate) fn of(&self, check: u32) -> usize {
        match self {
            Self::Constant(length) => *length,
            Self::Spread { span, .. } => span.at(seed::mix(u64::from(check))) as usize,
            Self::Histogram(cumulative) => {
                let (sum, last) = cumulative[cumulative.len() - 1];
                let draw = scaled(seed::mix(u64::from(check)), sum);
                let at = cumulative.partition_point(|(up_to, _)| *up_to <= draw);
                cumulative.get(at).map_or(last, |(_, length)| *length)
            }
        }
    }

    /// Whether any value is that long.
    pub(crate) fn has(&self, length: usize) -> bool {
        match self {
            Self::Constant(only) => length == *only,
            Self::Spread { least, most, .. } => (*least..=*most).contains(&length),
            Self::Histogram(cumulative) => cumulative.iter().any(|(_, known)| *known == length),
        }
    }

    /// The longest.
    pub(crate) fn most(&self) -> usize {
        match self {
            Self::Constant(length) => *length,
            Self::Spread { most, .. } => *most,
            Self::Histogram(all) => all.iter().map(|(_, length)| *length).max().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chooser::tests::chi_square_is_small;

    fn shares(lengths: &FieldLengths) -> Vec<u64> {
        let mut counts = vec![0; lengths.most() + 1];
        (0..200_000_u32).for_each(|i| counts[lengths.of(i.wrapping_mul(0x9E37_79B9))] += 1);
        counts
    }

    fn lengths(distribution: &FieldLengthDistribution) -> FieldLengths {
        FieldLengths::new(distribution, 11, 60, 100).unwrap()
    }

    #[test]
    fn lengths_follow_their_distribution() {
        let uniform = shares(&lengths(&FieldLengthDistribution::Uniform));
        chi_square_is_small(&uniform[11..], &[0.02; 50], "uniform");
        let zipfian = shares(&lengths(&FieldLengthDistribution::Zipfian));
        let gray = Gray::new(50, 0.99);
        let mut before = 0.0;
        let expected: Vec<f64> = (0..50)
            .map(|rank| {
                let share = gray.share_up_to(rank) - before;
                before += share;
                share
            })
            .collect();
        chi_square_is_small(&zipfian[11..], &expected, "zipfian");
        let histogram = vec![(5, 1), (7, 0), (40, 3)];
        let seen = shares(&lengths(&FieldLengthDistribution::Histogram(histogram)));
        chi_square_is_small(&[seen[5], seen[40]], &[0.25, 0.75], "histogram");
        assert_eq!(seen.iter().sum::<u64>(), seen[5] + seen[40]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        use FieldLengthDistribution as D;
        for (field, distribution, least, most) in [
            ("field_length_bytes", D::Constant, 1, 0),
            ("field_length_bytes", D::Uniform, 1, 101),
            ("min_field_length_bytes", D::Uniform, 0, 10),
            ("min_field_length_bytes", D::Zipfian, 11, 10),
            ("field_length_distribution", D::Histogram(vec![]), 1, 10),
            ("field_length_distribution", D::Histogram(vec![(10, 0)]), 1, 10),
            ("field_length_distribution", D::Histogram(vec![(0, 1)]), 1, 10),
            ("field_length_distribution", D::Histogram(vec![(1, u64::MAX), (2, 1)]), 1, 10),
        ] {
            let refused = FieldLengths::new(&distribution, least, most, 100).unwrap_err();
            assert_eq!(refused.0, field, "{refused:?}");
        }
    }
}
