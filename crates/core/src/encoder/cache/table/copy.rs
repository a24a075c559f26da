//! Copies a table to the one that replaces it, while both are in use.
//!
//! An entry in its own half of its own bucket gets the same place in a larger table: two keys that are compared first
//! at one entry there are compared first at one entry here, so only entries written since can be in the way.

use std::sync::atomic::Ordering;

use super::{Bucket, COUNTED, GROUP, Table, is_counted, own_half, spilled};
use crate::encoder::cache::packed::Packed;
use crate::pretokens::key::{KeyHasher, PretokenKey};

/// A smaller table takes one entry in this many: a different set of keys each time, chosen by bits of their slots that
/// do not choose a bucket.
const FORGETTING: u32 = 16;

/// How near an entry is to the place where its key is compared first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nearness {
    OwnHalf,
    OwnBucket,
    Group,
}

/// An entry to copy.
#[derive(Clone, Copy)]
struct Found {
    nearness: Nearness,
    key: PretokenKey,
    slot: u32,
    ids: Packed,
}

impl Table {
    /// Prepares an empty table to replace this one.
    pub(in crate::encoder) fn prepare_successor(&self, successor: &mut Table) {
        let is_smaller = successor.n_buckets <= self.n_buckets;
        successor.n_shrinks = self.n_shrinks.wrapping_add(u32::from(is_smaller));
    }

    /// Copies entries to `replacement`, which [`prepare_successor`](Self::prepare_successor) prepared: all of them if it is
    /// larger; otherwise one in [`FORGETTING`], so that what is not learnt again is forgotten by the second smaller
    /// table.
    pub(in crate::encoder) fn copy_to(&self, replacement: &Table, hasher: KeyHasher) {
        let is_larger = replacement.n_shrinks == self.n_shrinks;
        for group in (0..self.n_buckets).step_by(GROUP) {
            let mut entries = [None; 2 * GROUP];
            let buckets =
                (group..self.n_buckets.min(group + GROUP)).map(|index| (index * size_of::<Bucket>()) as u32);
            for (at, place) in buckets.zip(entries.chunks_exact_mut(2)) {
                place.copy_from_slice(&self.entries_at(at, hasher));
            }
            // An entry that one comparison finds shall keep that place. Entries beside their own bucket come last: they
            // were learnt later than the two that filled the bucket, so they are probably rarer.
            for nearness in [Nearness::OwnHalf, Nearness::OwnBucket, Nearness::Group] {
                for found in entries.iter().flatten().filter(|found| found.nearness == nearness) {
                    if is_larger || found.slot % FORGETTING == replacement.n_shrinks % FORGETTING {
                        self.copy_entry(found, replacement);
                    }
                }
            }
        }
    }

    /// The published entries of the bucket at `at`.
    fn entries_at(&self, at: u32, hasher: KeyHasher) -> [Option<Found>; 2] {
        let bucket = self.view().bucket(at);
        [0, 1].map(|half| {
            let (key, ids) = bucket.0[half].get()?;
            let slot = hasher.hash(key.lookup_key()) as u32;
            let nearness = match std::ptr::eq(self.view().bucket(slot), bucket) {
                true if own_half(slot) == half => Nearness::OwnHalf,
                true => Nearness::OwnBucket,
                false => Nearness::Group,
            };
            Some(Found { nearness, key, slot, ids })
        })
    }

    fn copy_entry(&self, found: &Found, replacement: &Table) {
        let &Found { key, slot, ids, .. } = found;
        let lookup_key = key.lookup_key();
        let is_written = replacement.write(slot, lookup_key, || {
            let ids_start = ids.is_spilled(self.is_narrow).then(|| ids.start());
            let Some(start) = key.place().or(ids_start) else { return Some((key, ids)) };
            let (n_own, n_ids) = (lookup_key.n_own(), ids_start.map_or(0, |_| ids.len()));
            // SAFETY: The entry belongs to this table, a long key contains the length of its pretoken, and all tables
            // of a cache have ids of one width.
            let start = unsafe { replacement.arena.copy(&self.arena, start, n_own, n_ids)? };
            Some((lookup_key.placed(start), if n_ids > 0 { spilled(start, n_own, n_ids)? } else { ids }))
        });
        if is_counted(slot) && is_written {
            replacement.n_written.fetch_add(COUNTED as usize, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{example, find_here};
    use super::super::{Entry, beside};
    use super::*;
    use crate::cpu::CpuTier;

    #[test]
    fn what_lies_in_its_own_bucket_or_half_does_so_in_a_larger_table() {
        // Each hasher has its own seed: in a single table nearly all keys could lie on one side.
        let mut n_away = [0; GROUP];
        for n_larger in [128, 256].repeat(4) {
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
                        assert!(is_in_its_own || (1..GROUP).any(|number| known(beside(slot, number))));
                    }
                }
            }
        }
        // In every group position there are some.
        assert!(n_away.iter().all(|&n| n > 3), "{n_away:?}");
    }

    #[test]
    fn what_was_not_learnt_again_is_forgotten_by_the_second_smaller_table() {
        let hasher = KeyHasher::new(CpuTier::Portable);
        let table = |n_buckets| Table::new(n_buckets, 20_000, true).unwrap();
        let entries = |table: &Table| {
            let buckets = (0..table.n_buckets).map(|index| (index * size_of::<Bucket>()) as u32);
            buckets.flat_map(|at| table.entries_at(at, hasher)).flatten().count()
        };
        let mut current = table(64);
        for (pretoken, ids) in (0..690).map(example) {
            let key = PretokenKey::from_bytes(&pretoken, hasher);
            current.insert(key, hasher.hash(key) as u32, &pretoken, &ids);
        }
        let n_learnt = entries(&current);
        let n_left = [8, 32, 64, 8].map(|n_buckets| {
            let mut next = table(n_buckets);
            current.prepare_successor(&mut next);
            current.copy_to(&next, hasher);
            current = next;
            entries(&current)
        });
        assert!(n_learnt > 100 && n_left[2] > 0, "{n_learnt}, {n_left:?}");
        assert_eq!(n_left[3], 0);
    }
}
