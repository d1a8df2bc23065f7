//! What a link does to packets, in one direction.

use crate::WanError;
use serde::{Deserialize, Serialize};

/// A link's properties. The default is a cable without length: no delay, no limit.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Link {
    /// Time from the end of sending to arrival, in microseconds: half of a round trip.
    pub delay_us: f64,
    /// Scale of what is added to the delay at random, in microseconds; see [`Jitter`].
    pub jitter_us: f64,
    /// Its distribution.
    pub jitter: Jitter,
    /// Probability that a packet is lost, each independently.
    pub loss: f64,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Probability that a packet is sent without the link's delay, and so overtakes others.
    pub reorder: f64,
    /// Bits a second that enter the link; none: no limit. Each pair of hosts has a link of its own.
    pub bandwidth_bps: Option<f64>,
    /// Bytes that may wait to enter the link; what comes on top is lost. By default what the link
    /// carries in 50 ms, and at least 64 KiB.
    pub queue_bytes: Option<f64>,
}

/// How the random part of a delay is distributed, for a scale `j`. A delay is never below zero, and
/// packets stay in order: one whose delay is shorter waits for the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Jitter {
    /// Uniform between `-j` and `j`.
    #[default]
    Uniform,
    /// Normal, with mean 0 and standard deviation `j`.
    Normal,
    /// Exponential, with mean `j`: added only.
    Exponential,
    /// Pareto of the second kind (Lomax) with shape 3 and mean `j`: added only, with a long tail.
    Pareto,
}

const QUEUE_S: f64 = 0.05;
const QUEUE_LEAST_BYTES: f64 = 65_536.0;

impl Link {
    /// Refuses what no link can be.
    pub fn check(&self) -> Result<(), WanError> {
        let at_least_zero = [
            ("delay_us", Some(self.delay_us)),
            ("jitter_us", Some(self.jitter_us)),
            ("queue_bytes", self.queue_bytes),
        ];
        for (name, value) in at_least_zero {
            if value.is_some_and(|value| !(0.0..=1e12).contains(&value)) {
                return Err(WanError::Invalid(format!("{name} must be at least 0")));
            }
        }
        for (name, value) in
            [("loss", self.loss), ("duplicate", self.duplicate), ("reorder", self.reorder)]
        {
            if !(0.0..=1.0).contains(&value) {
                return Err(WanError::Invalid(format!("{name} is a probability, from 0 to 1")));
            }
        }
        if self.bandwidth_bps.is_some_and(|value| !(1.0..=1e15).contains(&value)) {
            return Err(WanError::Invalid("bandwidth_bps must be at least 1".into()));
        }
        Ok(())
    }

    /// Whether what becomes of a packet depends on its being one packet of the wire's size, and not
    /// the many that a kernel hands over in one piece.
    #[must_use]
    pub fn wants_single_packets(&self) -> bool {
        self.loss > 0.0
            || self.duplicate > 0.0
            || self.reorder > 0.0
            || self.bandwidth_bps.is_some()
    }

    /// Bytes that may wait, the default filled in; none where nothing limits the rate.
    #[must_use]
    pub(crate) fn queue_limit_bytes(&self) -> Option<f64> {
        let bandwidth_bps = self.bandwidth_bps?;
        let default = (bandwidth_bps / 8.0 * QUEUE_S).max(QUEUE_LEAST_BYTES);
        Some(self.queue_bytes.unwrap_or(default))
    }
}

impl Jitter {
    /// The random part of a delay for a scale of 1, from two numbers uniform in [0, 1).
    #[must_use]
    pub(crate) fn unit(self, u: f64, v: f64) -> f64 {
        match self {
            Self::Uniform => 2.0 * u - 1.0,
            // Box and Muller.
            Self::Normal => (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos(),
            Self::Exponential => -(1.0 - u).ln(),
            Self::Pareto => 2.0 * ((1.0 - u).powf(-1.0 / 3.0) - 1.0),
        }
    }
}
