//! What happens next: times in order for each source of events, a tournament among the sources.
//!
//! Most events change one station's next time, so the sources compete in a tree of winners, where a change costs one
//! comparison a level; the times within a station are in an order of their own.

/// Times with numbers, the earliest first; of equal times the one that came first.
///
/// An entry is one integer: the time's bits (times are 0 or more, so their bits are in their
/// order), then a serial number, then the number it stands for.
///
/// A few are kept sorted, so that taking the earliest compares nothing: a processor guesses the
/// comparisons of a heap wrongly half the time, and that costs more than moving what is before the
/// new one. Many are a heap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Times {
    /// Falling if sorted: the earliest is last. Else a heap: the earliest is first.
    entries: Vec<u128>,
    many: bool,
    serial: u32,
}

/// More than this many are a heap, until half of them are gone.
const FEW: usize = 32;

#[inline]
fn time(entry: u128) -> f64 {
    f64::from_bits((entry >> 64) as u64)
}

impl Times {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<(f64, u32)> {
        let first = if self.many { self.entries.first() } else { self.entries.last() };
        first.map(|entry| (time(*entry), *entry as u32))
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.entries.iter().map(|entry| *entry as u32)
    }

    #[inline]
    pub(crate) fn push(&mut self, time: f64, id: u32) {
        self.serial = self.serial.wrapping_add(1);
        let entry =
            u128::from(time.to_bits()) << 64 | u128::from(self.serial) << 32 | u128::from(id);
        if self.entries.len() == FEW && !self.many {
            // Rising order is a heap.
            self.entries.reverse();
            self.many = true;
        }
        self.entries.push(entry);
        if self.many {
            self.rise(self.entries.len() - 1);
        } else {
            self.settle(entry);
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(f64, u32)> {
        let popped = if self.many { Some(self.take_of_many(0)) } else { self.entries.pop() };
        popped.map(|entry| (time(entry), entry as u32))
    }

    /// Takes out an entry by its number; `None` if it isn't there.
    pub(crate) fn remove(&mut self, id: u32) -> Option<f64> {
        let at = self.entries.iter().position(|entry| *entry as u32 == id)?;
        let removed = if self.many { self.take_of_many(at) } else { self.entries.remove(at) };
        Some(time(removed))
    }

    fn take_of_many(&mut self, at: usize) -> u128 {
        let taken = self.entries.swap_remove(at);
        if at < self.entries.len() {
            self.sink(at);
            self.rise(at);
        }
        if self.entries.len() <= FEW / 2 {
            self.entries.sort_unstable_by(|a, b| b.cmp(a));
            self.many = false;
        }
        taken
    }

    /// Moves the last of falling entries to its place.
    #[inline]
    fn settle(&mut self, entry: u128) {
        let entries = self.entries.as_mut_slice();
        let mut at = entries.len() - 1;
        while at > 0 && entries[at - 1] < entry {
            entries[at] = entries[at - 1];
            at -= 1;
        }
        entries[at] = entry;
    }

    #[inline]
    fn rise(&mut self, mut at: usize) {
        let entry = self.entries[at];
        while at > 0 {
            let above = (at - 1) / 2;
            if self.entries[above] <= entry {
                break;
            }
            self.entries[at] = self.entries[above];
            at = above;
        }
        self.entries[at] = entry;
    }

    #[inline]
    fn sink(&mut self, mut at: usize) {
        let entries = self.entries.as_mut_slice();
        let entry = entries[at];
        loop {
            let mut below = 2 * at + 1;
            if below >= entries.len() {
                break;
            }
            if below + 1 < entries.len() {
                // Adding the comparison keeps an unpredictable branch away.
                below += usize::from(entries[below + 1] < entries[below]);
            }
            if entry <= entries[below] {
                break;
            }
            entries[at] = entries[below];
            at = below;
        }
        entries[at] = entry;
    }
}

/// Which source is next.
#[derive(Debug, Clone)]
pub(crate) struct Tournament {
    /// A complete binary tree: the root is 1, the children of i are 2i and 2i + 1.
    nodes: Vec<(f64, u32)>,
    leaves: usize,
}

impl Tournament {
    pub(crate) fn new(sources: usize) -> Self {
        let leaves = sources.next_power_of_two().max(2);
        let mut nodes = vec![(f64::INFINITY, 0); 2 * leaves];
        for (leaf, node) in nodes[leaves..].iter_mut().enumerate() {
            node.1 = leaf as u32;
        }
        Self { nodes, leaves }
    }

    /// The earliest time, and whose it is; infinite if nothing happens any more.
    #[inline]
    pub(crate) fn first(&self) -> (f64, u32) {
        self.nodes[1]
    }

    #[inline]
    pub(crate) fn set(&mut self, source: usize, time: f64) {
        let mut at = self.leaves + source;
        let mut winner = (time, source as u32);
        if self.nodes[at].0.to_bits() == time.to_bits() {
            return;
        }
        while at > 1 {
            self.nodes[at] = winner;
            let other = self.nodes[at ^ 1];
            winner = if other.0 < winner.0 { other } else { winner };
            at /= 2;
        }
        self.nodes[1] = winner;
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Nothing is computed.
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn times_are_given_back_in_order(
            steps in proptest::collection::vec((0.0f64..10.0, 0u32..200, 0u32..8), 1..600),
            // Of eight, how many leave: it grows and shrinks between few and many, by turns.
            leaving in proptest::collection::vec(1u32..8, 10),
        ) {
            let mut times = Times::default();
            // By time, then by who came first, which is the number.
            let mut expected = std::collections::BTreeSet::new();
            for (id, (time, other, what)) in (0u32..).zip(steps) {
                // Rounded, so that some are equal; all are whole.
                let time = time.floor();
                match what {
                    what if 0 < what && what < leaving[id as usize / 60] => {
                        prop_assert_eq!(times.pop().map(|(time, id)| (time as u32, id)), expected.pop_first());
                    }
                    0 => {
                        let there = expected.iter().find(|(_, id)| *id == other).copied();
                        prop_assert_eq!(times.remove(other).map(|time| time as u32), there.map(|(time, _)| time));
                        there.map(|there| expected.remove(&there));
                    }
                    _ => {
                        times.push(time, id);
                        expected.insert((time as u32, id));
                    }
                }
                prop_assert_eq!(times.len(), expected.len());
                prop_assert_eq!(times.first().map(|(time, id)| (time as u32, id)), expected.first().copied());
            }
            while let Some(first) = expected.pop_first() {
                prop_assert_eq!(times.pop(), Some((f64::from(first.0), first.1)));
            }
            prop_assert_eq!(times.pop(), None);
        }

        #[test]
        fn the_earliest_source_wins(changes in proptest::collection::vec((0usize..11, 0.0f64..1.0), 1..80)) {
            let mut tournament = Tournament::new(11);
            let mut times = [f64::INFINITY; 11];
            for (source, time) in changes {
                tournament.set(source, time);
                times[source] = time;
                let first = times.iter().copied().fold(f64::INFINITY, f64::min);
                prop_assert_eq!(tournament.first().0, first);
                prop_assert_eq!(times[tournament.first().1 as usize], first);
            }
        }
    }
}
