//! One link's state, from one host to one other.
//!
//! Every packet takes the same random draws, so its fate depends on seed, number and link alone.

use crate::link::Link;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Decides what becomes of each packet offered to one link.
///
/// The verdicts on loss, duplicates, reordering and jitter depend on the seed, the number of the
/// packet and the link alone: each packet takes the same number of draws, whatever the link does.
#[derive(Clone, Debug)]
pub struct Lane {
    link: Link,
    random: Xoshiro256PlusPlus,
    /// When the last packet will have left the sender, in nanoseconds.
    free_at_ns: u64,
    /// When the last packet in order is due.
    last_due_ns: u64,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It arrives at that time, in nanoseconds, so many times (once or twice).
    Arrives {
        /// When.
        due_ns: u64,
        /// How often.
        copies: u8,
    },
    /// Lost at random.
    Lost,
    /// Lost since the queue was full.
    Overflowed,
}

impl Lane {
    /// A link of its own random numbers.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            link: Link::default(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            free_at_ns: 0,
            last_due_ns: 0,
        }
    }

    /// The link as it is now.
    #[must_use]
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Changes the link, from the next packet on. What is under way stays so, and in its order.
    pub fn set_link(&mut self, link: Link) {
        if link.bandwidth_bps != self.link.bandwidth_bps {
            self.free_at_ns = 0;
        }
        self.link = link;
    }

    /// Decides on a packet of `bytes`, offered at `now_ns`; times must not go back.
    pub fn offer(&mut self, now_ns: u64, bytes: usize) -> Verdict {
        let [loss, duplicate, reorder, u, v] = std::array::from_fn(|_| self.draw());
        if loss < self.link.loss {
            return Verdict::Lost;
        }
        let Some(left_ns) = self.leave(now_ns, bytes as f64) else {
            return Verdict::Overflowed;
        };
        let copies = 1 + u8::from(duplicate < self.link.duplicate);
        if reorder < self.link.reorder {
            return Verdict::Arrives { due_ns: left_ns, copies };
        }
        let jitter_us = self.link.jitter_us * self.link.jitter.unit(u, v);
        let delay_ns = ((self.link.delay_us + jitter_us).max(0.0) * 1e3).round() as u64;
        self.last_due_ns = (left_ns + delay_ns).max(self.last_due_ns);
        Verdict::Arrives { due_ns: self.last_due_ns, copies }
    }

    /// When the packet will have left the sender; none where it finds the queue full.
    fn leave(&mut self, now_ns: u64, bytes: f64) -> Option<u64> {
        let (Some(bandwidth_bps), Some(limit)) =
            (self.link.bandwidth_bps, self.link.queue_limit_bytes())
        else {
            return Some(now_ns);
        };
        let ns_per_byte = 8e9 / bandwidth_bps;
        let waiting_ns = self.free_at_ns.saturating_sub(now_ns);
        if waiting_ns > 0 && waiting_ns as f64 / ns_per_byte + bytes > limit {
            return None;
        }
        self.free_at_ns = now_ns + waiting_ns + (bytes * ns_per_byte).round() as u64;
        Some(self.free_at_ns)
    }

    /// Uniform in [0, 1), with 53 bits.
    fn draw(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Jitter;
    use proptest::prelude::*;

    fn jitters() -> impl Strategy<Value = Jitter> {
        prop_oneof![
            Just(Jitter::Uniform),
            Just(Jitter::Normal),
            Just(Jitter::Exponential),
            Just(Jitter::Pareto)
        ]
    }

    prop_compose! {
        fn links()(
            delay_us in 0.0..200_000.0,
            jitter_us in 0.0..10_000.0,
            jitter in jitters(),
            loss in 0.0..0.5,
            duplicate in 0.0..0.5,
            bandwidth_bps in proptest::option::of(1e5..1e10),
            queue_bytes in proptest::option::of(0.0..1e6),
        ) -> Link {
            Link { delay_us, jitter_us, jitter, loss, duplicate, reorder: 0.0, bandwidth_bps, queue_bytes }
        }
    }

    fn play(seed: u64, offers: &[(Link, u64, usize)]) -> Vec<(u64, Verdict)> {
        let mut lane = Lane::new(seed);
        let mut now_ns = 0;
        offers
            .iter()
            .map(|(link, gap_ns, bytes)| {
                lane.set_link(link.clone());
                now_ns += gap_ns;
                (now_ns, lane.offer(now_ns, *bytes))
            })
            .collect()
    }

    proptest! {
        #[test]
        fn whatever_the_links_become_nothing_arrives_early_or_out_of_order(
            seed: u64,
            offers in proptest::collection::vec((links(), 0..1_000_000_u64, 40..1_500_usize), 1..200),
        ) {
            let mut last_ns = 0;
            for (now_ns, verdict) in play(seed, &offers) {
                if let Verdict::Arrives { due_ns, copies } = verdict {
                    prop_assert!(due_ns >= now_ns);
                    prop_assert!(due_ns >= last_ns);
                    prop_assert!((1..=2).contains(&copies));
                    last_ns = due_ns;
                }
            }
        }

        #[test]
        fn the_same_seed_gives_the_same_verdicts(
            seed: u64,
            offers in proptest::collection::vec((links(), 0..1_000_000_u64, 40..1_500_usize), 1..100),
        ) {
            prop_assert_eq!(play(seed, &offers), play(seed, &offers));
        }

        #[test]
        fn losses_do_not_depend_on_what_else_the_link_does(
            seed: u64, loss in 0.0..1.0, delay_us in 0.0..1e5, duplicate in 0.0..1.0,
        ) {
            let plain = Link { loss, ..Link::default() };
            let other = Link { delay_us, loss, duplicate, ..Link::default() };
            let lost = |link: &Link| -> Vec<bool> {
                play(seed, &vec![(link.clone(), 10, 100); 100])
                    .iter()
                    .map(|(_, verdict)| *verdict == Verdict::Lost)
                    .collect()
            };
            prop_assert_eq!(lost(&plain), lost(&other));
        }

        #[test]
        fn a_link_carries_no_more_than_its_bandwidth(
            seed: u64, bandwidth_bps in 1e6..1e9, queue_bytes in 0.0..1e6,
        ) {
            let link = Link { bandwidth_bps: Some(bandwidth_bps), queue_bytes: Some(queue_bytes), ..Link::default() };
            let offers = vec![(link, 1_000, 1_500); 2_000];
            let arrivals: Vec<u64> = play(seed, &offers)
                .into_iter()
                .filter_map(|(_, verdict)| match verdict {
                    Verdict::Arrives { due_ns, .. } => Some(due_ns),
                    _ => None,
                })
                .collect();
            let span_s = *arrivals.last().expect("the first always enters") as f64 / 1e9;
            prop_assert!(arrivals.len() as f64 * 1_500.0 * 8.0 <= bandwidth_bps * span_s * 1.001 + 1.0);
            // And what waits is no more than the queue holds, but for the packet that is being sent.
            let slowest_s = (queue_bytes + 2.0 * 1_500.0) * 8.0 / bandwidth_bps;
            let worst = play(seed, &offers).into_iter().filter_map(|(now_ns, verdict)| match verdict {
                Verdict::Arrives { due_ns, .. } => Some(due_ns - now_ns),
                _ => None,
            }).max().expect("one arrives");
            prop_assert!(worst as f64 / 1e9 <= slowest_s);
        }
    }

    fn shares(link: &Link, count: usize) -> (f64, f64, f64) {
        let (mut lost, mut twice, mut delay_ns) = (0.0, 0.0, 0.0);
        for (now_ns, verdict) in play(7, &vec![(link.clone(), 1_000_000_000, 100); count]) {
            match verdict {
                Verdict::Lost => lost += 1.0,
                Verdict::Arrives { due_ns, copies } => {
                    delay_ns += (due_ns - now_ns) as f64;
                    twice += f64::from(copies - 1);
                }
                Verdict::Overflowed => panic!("nothing limits the rate"),
            }
        }
        let n = count as f64;
        (lost / n, twice / (n - lost), delay_ns / (n - lost) / 1e3)
    }

    #[test]
    fn shares_and_mean_delays_are_those_asked_for() {
        let link = Link { loss: 0.1, duplicate: 0.2, delay_us: 50_000.0, ..Link::default() };
        for (jitter, mean_us) in [
            (Jitter::Uniform, 50_000.0),
            (Jitter::Normal, 50_000.0),
            (Jitter::Exponential, 52_000.0),
            (Jitter::Pareto, 52_000.0),
        ] {
            let link = Link { jitter, jitter_us: 2_000.0, ..link.clone() };
            let (lost, twice, delay_us) = shares(&link, 20_000);
            assert!((lost - 0.1).abs() < 0.01, "{lost}");
            assert!((twice - 0.2).abs() < 0.015, "{twice}");
            assert!((delay_us - mean_us).abs() < 150.0, "{jitter:?}: {delay_us}");
        }
    }

    #[test]
    fn a_packet_that_overtakes_does_so() {
        let link = Link { delay_us: 1_000.0, reorder: 0.3, ..Link::default() };
        let due: Vec<u64> = play(3, &vec![(link, 10, 100); 1_000])
            .into_iter()
            .map(|(_, verdict)| match verdict {
                Verdict::Arrives { due_ns, .. } => due_ns,
                _ => unreachable!("nothing is lost"),
            })
            .collect();
        let overtaken = due.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert!((150..300).contains(&overtaken), "{overtaken}");
    }
}
