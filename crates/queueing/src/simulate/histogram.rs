//! A histogram of times whose buckets are a fixed fraction wide, whatever the unit.

/// Buckets an octave: each is at most 1/256 of its value wide.
const FINENESS: u32 = 8;
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - FINENESS;

/// Counts of times, by the first bits of their floating-point form.
#[derive(Debug, Clone, Default)]
pub(crate) struct Histogram {
    zeros: u64,
    /// The bucket that `counts` begins with.
    first: usize,
    counts: Vec<u64>,
}

impl Histogram {
    #[inline]
    pub(crate) fn record(&mut self, value: f64) {
        let bucket = (value.to_bits() >> SHIFT) as usize;
        // Below the first bucket this wraps, and is above the last, too.
        match self.counts.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => self.widen(value, bucket),
        }
    }

    #[cold]
    fn widen(&mut self, value: f64, bucket: usize) {
        if value <= 0.0 {
            self.zeros += 1;
            return;
        }
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let more = self.first - bucket;
            self.counts.splice(0..0, std::iter::repeat_n(0, more));
            self.first = bucket;
        }
        let place = bucket - self.first;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
    }

    pub(crate) fn clear(&mut self) {
        self.zeros = 0;
        self.counts.fill(0);
    }

    pub(crate) fn count(&self) -> u64 {
        self.zeros + self.counts.iter().sum::<u64>()
    }

    /// The value that a share `q` of all are at most; within a bucket as if values were spread evenly.
    /// `None` if there are none.
    pub(crate) fn quantile(&self, q: f64) -> Option<f64> {
        let total = self.count();
        if total == 0 {
            return None;
        }
        let mut left = q * total as f64 - self.zeros as f64;
        if left <= 0.0 {
            return Some(0.0);
        }
        let edge = |place: usize| f64::from_bits(((self.first + place) as u64) << SHIFT);
        let mut end = 0.0;
        for (place, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = *count as f64;
            end = edge(place + 1);
            if left <= count {
                return Some(edge(place) + (end - edge(place)) * left / count);
            }
            left -= count;
        }
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantiles_are_within_a_bucket(values in proptest::collection::vec(0.001f64..1000.0, 1..300), scale in 1e-9f64..1e9, q in 0.01f64..0.99) {
            let mut histogram = Histogram::default();
            let mut sorted: Vec<f64> = values.iter().map(|value| value * scale).collect();
            for value in &sorted {
                histogram.record(*value);
            }
            sorted.sort_by(f64::total_cmp);
            let at = (q * sorted.len() as f64).ceil() as usize - 1;
            let found = histogram.quantile(q).unwrap();
            prop_assert!((found / sorted[at] - 1.0).abs() < 1.0 / 200.0, "{} {}", found, sorted[at]);
            prop_assert_eq!(histogram.count(), values.len() as u64);
        }
    }

    #[test]
    fn no_time_at_all_is_a_value() {
        let mut histogram = Histogram::default();
        for value in [0.0, 0.0, 0.0, 1.0] {
            histogram.record(value);
        }
        assert_eq!(histogram.quantile(0.5), Some(0.0));
        assert!((histogram.quantile(0.99).unwrap() - 1.0).abs() < 0.01);
        histogram.clear();
        assert_eq!(histogram.quantile(0.5), None);
    }
}
