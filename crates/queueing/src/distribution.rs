//! Distributions of service, think and interarrival times.

use crate::time::Seconds;
use serde::{Deserialize, Serialize};

/// How long something takes. A bare time stands for the exponential distribution of that mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub enum Distribution {
    /// Of this mean; its squared coefficient of variation is 1.
    Exponential {
        /// In seconds.
        mean_s: f64,
    },
    /// Always the same.
    Deterministic {
        /// In seconds.
        value_s: f64,
    },
    /// The sum of `shape` exponentials: less variable than one.
    Erlang {
        /// In seconds.
        mean_s: f64,
        /// At least 1.
        shape: u32,
    },
    /// One of two exponentials with balanced means (each holds half of the mean): more variable
    /// than one.
    Hyperexponential {
        /// In seconds.
        mean_s: f64,
        /// Squared coefficient of variation; at least 1.
        scv: f64,
    },
    /// The exponential of a normal.
    Lognormal {
        /// In seconds.
        mean_s: f64,
        /// Squared coefficient of variation.
        scv: f64,
    },
    /// One of the observed values; the middles of a histogram's buckets, with their counts.
    Empirical {
        /// In seconds.
        values_s: Vec<f64>,
        /// How often each was seen; as many as there are values.
        counts: Vec<f64>,
    },
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Mean(Seconds),
    Named(Named),
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "distribution", deny_unknown_fields)]
enum Named {
    Exponential { mean: Seconds },
    Deterministic { value: Seconds },
    Erlang { mean: Seconds, shape: u32 },
    Hyperexponential { mean: Seconds, scv: f64 },
    Lognormal { mean: Seconds, scv: f64 },
    Empirical { values: Vec<Seconds>, counts: Vec<f64> },
}

impl From<Written> for Distribution {
    fn from(written: Written) -> Self {
        match written {
            Written::Mean(mean) | Written::Named(Named::Exponential { mean }) => {
                Self::Exponential { mean_s: mean.0 }
            }
            Written::Named(Named::Deterministic { value }) => {
                Self::Deterministic { value_s: value.0 }
            }
            Written::Named(Named::Erlang { mean, shape }) => Self::Erlang { mean_s: mean.0, shape },
            Written::Named(Named::Hyperexponential { mean, scv }) => {
                Self::Hyperexponential { mean_s: mean.0, scv }
            }
            Written::Named(Named::Lognormal { mean, scv }) => {
                Self::Lognormal { mean_s: mean.0, scv }
            }
            Written::Named(Named::Empirical { values, counts }) => {
                Self::Empirical { values_s: values.into_iter().map(|v| v.0).collect(), counts }
            }
        }
    }
}

impl From<Distribution> for Written {
    fn from(distribution: Distribution) -> Self {
        match distribution {
            Distribution::Exponential { mean_s } => Self::Mean(Seconds(mean_s)),
            Distribution::Deterministic { value_s } => {
                Self::Named(Named::Deterministic { value: Seconds(value_s) })
            }
            Distribution::Erlang { mean_s, shape } => {
                Self::Named(Named::Erlang { mean: Seconds(mean_s), shape })
            }
            Distribution::Hyperexponential { mean_s, scv } => {
                Self::Named(Named::Hyperexponential { mean: Seconds(mean_s), scv })
            }
            Distribution::Lognormal { mean_s, scv } => {
                Self::Named(Named::Lognormal { mean: Seconds(mean_s), scv })
            }
            Distribution::Empirical { values_s, counts } => Self::Named(Named::Empirical {
                values: values_s.into_iter().map(Seconds).collect(),
                counts,
            }),
        }
    }
}

impl Distribution {
    /// The mean, in seconds.
    #[must_use]
    pub fn mean_s(&self) -> f64 {
        match self {
            Self::Exponential { mean_s }
            | Self::Erlang { mean_s, .. }
            | Self::Hyperexponential { mean_s, .. }
            | Self::Lognormal { mean_s, .. } => *mean_s,
            Self::Deterministic { value_s } => *value_s,
            Self::Empirical { values_s, counts } => moment(values_s, counts, 1),
        }
    }

    /// The squared coefficient of variation: variance over squared mean; 0 where the mean is.
    #[must_use]
    pub fn scv(&self) -> f64 {
        match self {
            Self::Exponential { .. } => 1.0,
            Self::Deterministic { .. } => 0.0,
            Self::Erlang { shape, .. } => 1.0 / f64::from(*shape),
            Self::Hyperexponential { scv, .. } | Self::Lognormal { scv, .. } => *scv,
            Self::Empirical { values_s, counts } => {
                let mean = self.mean_s();
                if mean == 0.0 { 0.0 } else { moment(values_s, counts, 2) / (mean * mean) - 1.0 }
            }
        }
    }

    /// The same shape with another mean.
    #[must_use]
    pub fn with_mean(&self, mean_s: f64) -> Self {
        match self {
            Self::Exponential { .. } => Self::Exponential { mean_s },
            Self::Deterministic { .. } => Self::Deterministic { value_s: mean_s },
            Self::Erlang { shape, .. } => Self::Erlang { mean_s, shape: *shape },
            Self::Hyperexponential { scv, .. } => Self::Hyperexponential { mean_s, scv: *scv },
            Self::Lognormal { scv, .. } => Self::Lognormal { mean_s, scv: *scv },
            Self::Empirical { values_s, counts } => {
                let scale = mean_s / self.mean_s();
                Self::Empirical {
                    values_s: values_s.iter().map(|value| value * scale).collect(),
                    counts: counts.clone(),
                }
            }
        }
    }

    /// What is wrong with it, if anything is.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let time = |name: &str, value: f64| {
            (!value.is_finite() || value < 0.0)
                .then(|| format!("{name} {value} s is no time: it should be 0 or more"))
        };
        let variation = |scv: f64, least: f64| {
            (!scv.is_finite() || scv < least)
                .then(|| format!("scv {scv} should be at least {least}"))
        };
        match self {
            Self::Exponential { mean_s } => time("mean", *mean_s),
            Self::Deterministic { value_s } => time("value", *value_s),
            Self::Erlang { mean_s, shape } => time("mean", *mean_s)
                .or_else(|| (*shape == 0).then(|| "shape 0 should be at least 1".to_owned())),
            Self::Hyperexponential { mean_s, scv } => {
                time("mean", *mean_s).or_else(|| variation(*scv, 1.0))
            }
            Self::Lognormal { mean_s, scv } => {
                time("mean", *mean_s).or_else(|| variation(*scv, 0.0))
            }
            Self::Empirical { values_s, counts } => empirical_problem(values_s, counts)
                .or_else(|| values_s.iter().find_map(|value| time("value", *value))),
        }
    }
}

fn empirical_problem(values_s: &[f64], counts: &[f64]) -> Option<String> {
    if values_s.is_empty() || values_s.len() != counts.len() {
        return Some(format!(
            "{} values have {} counts: there should be one for each, and at least one",
            values_s.len(),
            counts.len()
        ));
    }
    let fine = counts.iter().all(|count| count.is_finite() && *count >= 0.0);
    (!fine || counts.iter().sum::<f64>() <= 0.0)
        .then(|| "counts should be 0 or more, and one of them more than 0".to_owned())
}

/// How often the first of a hyperexponential distribution's two phases is taken, where each holds half of the mean.
pub(crate) fn balanced(scv: f64) -> f64 {
    f64::midpoint(1.0, ((scv - 1.0) / (scv + 1.0)).sqrt())
}

fn moment(values_s: &[f64], counts: &[f64], power: i32) -> f64 {
    let total: f64 = counts.iter().sum();
    values_s.iter().zip(counts).map(|(value, count)| value.powi(power) * count).sum::<f64>() / total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Distribution {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_bare_time_is_exponential() {
        assert_eq!(read(r#""2ms""#), Distribution::Exponential { mean_s: 2e-3 });
        let erlang = read(r#"{"distribution": "erlang", "mean": "1ms", "shape": 4}"#);
        assert_eq!((erlang.mean_s(), erlang.scv()), (1e-3, 0.25));
    }

    #[test]
    fn moments_of_observations() {
        let seen = Distribution::Empirical { values_s: vec![1.0, 3.0], counts: vec![1.0, 1.0] };
        assert_eq!((seen.mean_s(), seen.scv()), (2.0, 0.25));
        assert_eq!((seen.with_mean(4.0).mean_s(), seen.with_mean(4.0).scv()), (4.0, 0.25));
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            r#""1s""#,
            r#"{"distribution":"hyperexponential","mean":1.0,"scv":4.0}"#,
            r#"{"distribution":"lognormal","mean":1.0,"scv":0.5}"#,
            r#"{"distribution":"deterministic","value":1.0}"#,
            r#"{"distribution":"empirical","values":[1.0],"counts":[2.0]}"#,
        ] {
            let once = read(text);
            assert_eq!(read(&serde_json::to_string(&once).unwrap()), once);
        }
    }

    #[test]
    fn nonsense_is_named() {
        for text in [
            "-1.0",
            r#"{"distribution":"hyperexponential","mean":1.0,"scv":0.5}"#,
            r#"{"distribution":"erlang","mean":1.0,"shape":0}"#,
            r#"{"distribution":"empirical","values":[1.0],"counts":[]}"#,
            r#"{"distribution":"empirical","values":[1.0],"counts":[0.0]}"#,
        ] {
            assert!(read(text).problem().is_some(), "{text}");
        }
    }
}
