//! Finds by a number what was put there under it; fast where numbers that are looked for one after
//! another are near to each other, as those of a writer's versions and of records are.

use rustc_hash::FxHashMap;

/// Numbers on a page.
const PAGE: u64 = 512;

const EMPTY: u32 = u32::MAX;

/// Places by numbers.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Where a page begins in `slots`.
    pages: FxHashMap<u64, u32>,
    slots: Vec<u32>,
    /// Which page was looked at last, and where it begins.
    last: Option<(u64, u32)>,
    /// For numbers that are too far from others to have a page, and for those that several share.
    others: FxHashMap<(u64, u32), u32>,
    /// Pages may have so many slots; a page a number would take 2 KB each.
    most_slots: usize,
}

impl Index {
    /// For about so many numbers.
    pub(crate) fn new(numbers: usize) -> Self {
        Self { most_slots: 4 * numbers + PAGE as usize, ..Self::default() }
    }

    /// The place that `is_it` says yes to among those of `number` and `group`; else `new`, which has
    /// it from now on. Two that share a number are told apart by their groups.
    pub(crate) fn place(
        &mut self,
        number: u64,
        group: u32,
        is_it: impl FnOnce(u32) -> bool,
        new: impl FnOnce() -> u32,
    ) -> u32 {
        let Some(slot) = self.slot(number) else {
            return *self.others.entry((number, group)).or_insert_with(new);
        };
        let slot = &mut self.slots[slot];
        if *slot == EMPTY {
            *slot = new();
            *slot
        } else if is_it(*slot) {
            *slot
        } else {
            *self.others.entry((number, group)).or_insert_with(new)
        }
    }

    fn slot(&mut self, number: u64) -> Option<usize> {
        let (page, within) = (number / PAGE, (number % PAGE) as usize);
        if let Some((last, begin)) = self.last
            && last == page
        {
            return Some(begin as usize + within);
        }
        let full = self.slots.len() + PAGE as usize > self.most_slots;
        let begin = match self.pages.get(&page) {
            Some(begin) => *begin,
            None if full => return None,
            None => {
                let begin = self.slots.len() as u32;
                self.slots.resize(self.slots.len() + PAGE as usize, EMPTY);
                self.pages.insert(page, begin);
                begin
            }
        };
        self.last = Some((page, begin));
        Some(begin as usize + within)
    }
}
