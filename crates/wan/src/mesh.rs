//! All lanes between hosts, what is cut, and what was counted.
//!
//! A cut also holds for packets that are under way when it begins.

use crate::WanError;
use crate::lane::{Lane, Verdict};
use crate::link::Link;
use serde::Serialize;

/// A host's number.
pub type HostId = usize;

/// The rules of the whole network; it knows no clock and sees no packet.
#[derive(Debug)]
pub struct Mesh {
    names: Vec<String>,
    /// Of each ordered pair: row the sender's.
    pairs: Vec<Pair>,
}

#[derive(Debug)]
struct Pair {
    lane: Lane,
    is_cut: bool,
    counters: Counters,
}

/// What happened to the packets of an ordered pair. A large piece that a kernel hands over at once
/// counts as one, where the link doesn't look at single packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Handed over by the sender.
    pub offered: u64,
    /// Handed to the receiver, duplicates included.
    pub delivered: u64,
    /// Lost at random, as the link was told to.
    pub lost: u64,
    /// Lost since the pair was cut.
    pub cut: u64,
    /// Lost since a queue was full.
    pub overflowed: u64,
    /// Arrived twice.
    pub duplicated: u64,
    /// Bytes handed to the receiver.
    pub bytes: u64,
}

impl Mesh {
    /// Hosts joined by cables without length.
    #[must_use]
    pub fn new(names: Vec<String>, seed: u64) -> Self {
        let pairs = (0..names.len() * names.len())
            .map(|index| Pair {
                // Neighbouring seeds give unlike generators: `seed_from_u64` mixes.
                lane: Lane::new(
                    seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(index as u64),
                ),
                is_cut: false,
                counters: Counters::default(),
            })
            .collect();
        Self { names, pairs }
    }

    /// The number of a host.
    pub fn host(&self, name: &str) -> Result<HostId, WanError> {
        self.names.iter().position(|known| known == name).ok_or_else(|| {
            WanError::Invalid(format!("no host {name:?}; there are {}", self.names.join(", ")))
        })
    }

    /// Changes the link from a host to another, from the next packet on.
    pub fn set_link(&mut self, from: HostId, to: HostId, link: Link) {
        self.pair(from, to).lane.set_link(link);
    }

    /// The link from a host to another.
    #[must_use]
    pub fn link(&self, from: HostId, to: HostId) -> &Link {
        self.pairs[from * self.names.len() + to].lane.link()
    }

    /// Cuts these ordered pairs and no others.
    pub fn set_cut(&mut self, cut: &[(HostId, HostId)]) {
        for pair in &mut self.pairs {
            pair.is_cut = false;
        }
        for &(from, to) in cut {
            self.pair(from, to).is_cut = true;
        }
    }

    /// Decides on a packet; none where it is lost.
    pub fn offer(
        &mut self,
        from: HostId,
        to: HostId,
        now_ns: u64,
        bytes: usize,
    ) -> Option<(u64, u8)> {
        let pair = self.pair(from, to);
        pair.counters.offered += 1;
        if pair.is_cut {
            pair.counters.cut += 1;
            return None;
        }
        match pair.lane.offer(now_ns, bytes) {
            Verdict::Arrives { due_ns, copies } => {
                pair.counters.duplicated += u64::from(copies - 1);
                Some((due_ns, copies))
            }
            Verdict::Lost => {
                pair.counters.lost += 1;
                None
            }
            Verdict::Overflowed => {
                pair.counters.overflowed += 1;
                None
            }
        }
    }

    /// Whether a packet that is due may land: what is under way when a pair is cut is lost.
    pub fn may_land(&mut self, from: HostId, to: HostId) -> bool {
        let pair = self.pair(from, to);
        pair.counters.cut += u64::from(pair.is_cut);
        !pair.is_cut
    }

    /// Counts what was handed over, or couldn't be.
    pub fn landed(&mut self, from: HostId, to: HostId, bytes: usize, taken: bool) {
        let counters = &mut self.pair(from, to).counters;
        if taken {
            counters.delivered += 1;
            counters.bytes += bytes as u64;
        } else {
            counters.overflowed += 1;
        }
    }

    /// Whether the link looks at single packets.
    #[must_use]
    pub fn wants_single_packets(&self, from: HostId, to: HostId) -> bool {
        self.link(from, to).wants_single_packets()
    }

    /// What was counted, of each ordered pair that anything was sent over.
    pub fn counters(&self) -> impl Iterator<Item = (&str, &str, Counters)> {
        let hosts = self.names.len();
        self.pairs.iter().enumerate().filter(|(_, pair)| pair.counters.offered > 0).map(
            move |(index, pair)| {
                let (from, to) = (index / hosts, index % hosts);
                (self.names[from].as_str(), self.names[to].as_str(), pair.counters)
            },
        )
    }

    fn pair(&mut self, from: HostId, to: HostId) -> &mut Pair {
        let index = from * self.names.len() + to;
        &mut self.pairs[index]
    }
}
