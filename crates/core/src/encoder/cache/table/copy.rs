//! Copies a table to the larger one that replaces it, while both are in use.
//!
//! An entry in its own half of its own bucket gets the same place in the larger table. Two keys that share their first
//! entry there also share it here, so only entries written meanwhile can be in the way.

use std::sync::atomic::Ordering;

use super::{Bucket, COUNTED_ONE_IN, GROUP, Table, is_counted, own_half, spilled};
use crate::encoder::cache::packed::Packed;
use crate::pretokens::key::{KeyHasher, PretokenKey};

impl Table {
    /// Copies all entries to `replacement`; in each group first those that one comparison finds, to keep their place.
    pub(in crate::encoder) fn copy_to(&self, replacement: &Table, hasher: KeyHasher) {
        for group in (0..self.n_buckets).step_by(GROUP) {
            // Entries outside their own bucket come last: they were learned later than the two that filled it.
            for round in 0..3 {
                for index in group..self.n_buckets.min(group + GROUP) {
                    let bucket = self.view().bucket((index * size_of::<Bucket>()) as u32);
                    for (half, entry) in bucket.0.iter().enumerate() {
                        let Some((key, ids)) = entry.get() else { continue };
                        let slot = hasher.hash(key.lookup_key()) as u32;
                        let round_of = match std::ptr::eq(self.view().bucket(slot), bucket) {
                            true if own_half(slot) == half => 0,
                            true => 1,
                            false => 2,
                        };
                        if round_of == round {
                            self.copy_entry(key, slot, ids, replacement);
                        }
                    }
                }
            }
        }
    }

    fn copy_entry(&self, key: PretokenKey, slot: u32, ids: Packed, replacement: &Table) {
        let lookup_key = key.lookup_key();
        let is_written = replacement.write(slot, lookup_key, || {
            let ids_start = ids.is_spilled(self.is_narrow).then(|| ids.start());
            let Some(start) = key.arena_offset().or(ids_start) else { return Some((key, ids)) };
            let (n_own, n_ids) = (lookup_key.n_own(), ids_start.map_or(0, |_| ids.len()));
            // SAFETY: The entry belongs to this table, a long key contains the length of its pretoken, and all tables
            // of a cache have ids of one width.
            let start = unsafe { replacement.arena.copy(&self.arena, start, n_own, n_ids)? };
            Some((
                lookup_key.with_arena_offset(start),
                if n_ids > 0 { spilled(start, n_own, n_ids)? } else { ids },
            ))
        });
        if is_counted(slot) && is_written {
            replacement.n_written.fetch_add(COUNTED_ONE_IN as usize, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{example, find_here};
    use super::super::{Entry, overflow_slot};
    use super::*;
    use crate::cpu::CpuTier;

    #[test]
    fn what_lies_in_its_own_bucket_or_half_does_so_in_a_larger_table() {
        // Each hasher has its own seed: with a single table, nearly all keys could lie on one side.
        let mut n_away = [0; GROUP];
        for n_larger in [128, 256].repeat(if cfg!(miri) { 1 } else { 4 }) {
            let hasher = KeyHasher::new(CpuTier::Portable);
            let (old, new) =
                (Table::new(64, 10_000, true).unwrap(), Table::new(n_larger, 20_000, true).unwrap());
            for (pretoken, ids) in (0..690).map(example) {
                let key = PretokenKey::from_bytes(&pretoken, hasher);
                old.insert(key, hasher.hash(key) as u32, &pretoken, &ids);
            }
            old.copy_to(&new, hasher);
            let buckets = (0..64).map(|index| old.view().bucket(index * size_of::<Bucket>() as u32));
            for (index, bucket) in buckets.enumerate() {
                for (key, _) in bucket.0.iter().filter_map(Entry::get) {
                    let slot = hasher.hash(key.lookup_key()) as u32;
                    let known = |slot| {
                        key.is_long() && new.long_entry(key.lookup_key(), slot).is_some()
                            || find_here(&new, key, slot).is_some()
                    };
                    let is_in_its_own = known(slot);
                    if std::ptr::eq(old.view().bucket(slot), bucket) {
                        assert!(is_in_its_own);
                        let held = |table: &Table| {
                            let entry = &table.view().bucket(slot).0[own_half(slot)];
                            entry.get().map(|(key, _)| key.lookup_key())
                        };
                        assert!(held(&old) != Some(key.lookup_key()) || held(&new) == held(&old));
                    } else {
                        n_away[index % GROUP] += 1;
                        assert!(is_in_its_own || (1..GROUP).any(|number| known(overflow_slot(slot, number))));
                    }
                }
            }
        }
        // Every position in a group has some.
        assert!(cfg!(miri) || n_away.iter().all(|&n| n > 3), "{n_away:?}");
    }
}
