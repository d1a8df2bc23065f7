//! Packets under way.

use crate::mesh::HostId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A packet that is due later.
#[derive(Debug, PartialEq, Eq)]
pub struct Packet {
    /// When, in nanoseconds.
    pub due_ns: u64,
    /// Its sender.
    pub from: HostId,
    /// Its receiver.
    pub to: HostId,
    /// As the receiver's device wants it.
    pub bytes: Vec<u8>,
    /// Packets that are due at the same time land in the order in which they were sent.
    number: u64,
}

impl Ord for Packet {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due_ns, self.number).cmp(&(other.due_ns, other.number))
    }
}

impl PartialOrd for Packet {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// All that is under way, and buffers to use again.
#[derive(Debug, Default)]
pub struct Flight {
    packets: BinaryHeap<Reverse<Packet>>,
    spare: Vec<Vec<u8>>,
    number: u64,
}

/// Buffers that are kept: more are rarely under way at once.
const SPARE: usize = 1_024;

impl Flight {
    /// Sends a copy of `bytes` on its way.
    pub fn add(&mut self, due_ns: u64, from: HostId, to: HostId, bytes: &[u8]) {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(bytes);
        self.number += 1;
        self.packets.push(Reverse(Packet { due_ns, from, to, bytes: buffer, number: self.number }));
    }

    /// When the next one is due.
    #[must_use]
    pub fn next_due_ns(&self) -> Option<u64> {
        self.packets.peek().map(|Reverse(packet)| packet.due_ns)
    }

    /// Takes the next one if it is due.
    pub fn take_due(&mut self, now_ns: u64) -> Option<Packet> {
        if self.next_due_ns()? > now_ns {
            return None;
        }
        self.packets.pop().map(|Reverse(packet)| packet)
    }

    /// Takes back a buffer.
    pub fn recycle(&mut self, packet: Packet) {
        if self.spare.len() < SPARE {
            self.spare.push(packet.bytes);
        }
    }
}
