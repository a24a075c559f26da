//! The entries of the cache: how one is claimed, written, published and compared.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::encoder::cache::key::CLAIMED;
use crate::encoder::cache::packed::Packed;
use crate::pretokens::key::PretokenKey;

/// A pretoken and its ids.
#[repr(C, align(32))]
pub(in crate::encoder) struct Entry {
    lo: AtomicU64,
    /// 0 in an empty entry, [`CLAIMED`] while it is written.
    pub(super) hi: AtomicU64,
    ids: UnsafeCell<Packed>,
}

impl Entry {
    /// Returns 0 if this is an entry of a long pretoken with this key.
    #[inline(always)]
    pub(super) fn long_difference(&self, key: PretokenKey) -> u64 {
        let hi = self.hi.load(Ordering::Acquire);
        let stored_key = PretokenKey { lo: self.lo.load(Ordering::Relaxed), hi }.long_lookup_key();
        (stored_key.hi ^ key.hi) | (stored_key.lo ^ key.lo)
    }

    /// Returns whether the entry has this key and is published.
    #[inline(always)]
    pub(super) fn has_key(&self, key: &PretokenKey) -> bool {
        // Compare first the word that is stored last.
        self.hi.load(Ordering::Acquire) == key.hi && self.lo.load(Ordering::Relaxed) == key.lo
    }

    /// Returns the key and the ids, if the entry is published.
    pub(super) fn get(&self) -> Option<(PretokenKey, Packed)> {
        let hi = self.hi.load(Ordering::Acquire);
        let key = PretokenKey { lo: self.lo.load(Ordering::Relaxed), hi };
        // SAFETY: Published ids do not change, and the Acquire load saw the Release store that published them.
        (hi != PretokenKey::EMPTY.hi && hi != CLAIMED).then(|| (key, unsafe { *self.ids.get() }))
    }

    /// Returns the ids of a published entry.
    ///
    /// # Safety
    /// Its key was found.
    #[inline(always)]
    pub(super) unsafe fn published(&self) -> &Packed {
        // SAFETY: By the contract the entry is published, so its ids do not change.
        unsafe { &*self.ids.get() }
    }

    /// Claims the entry if it is empty.
    fn claim(&self) -> bool {
        // Load first: a failed compare-and-swap invalidates the readers' cache line.
        let (empty, order) = (PretokenKey::EMPTY.hi, Ordering::Relaxed);
        self.hi.load(order) == empty && self.hi.compare_exchange(empty, CLAIMED, order, order).is_ok()
    }

    /// Writes an entry that the caller has claimed, and publishes it.
    ///
    /// # Safety
    /// The caller has claimed it, and publishes it only once.
    unsafe fn publish(&self, key: PretokenKey, ids: Packed) {
        self.lo.store(key.lo, Ordering::Relaxed);
        // SAFETY: Only this caller, which has claimed the entry, writes to it, and nobody reads ids that are not
        // published.
        unsafe { *self.ids.get() = ids };
        self.hi.store(key.hi, Ordering::Release);
    }
}

/// A cache line of two entries.
#[repr(C, align(64))]
pub(in crate::encoder) struct Bucket(pub(super) [Entry; 2]);

impl Bucket {
    /// Returns whether both entries are taken.
    pub(super) fn is_full(&self) -> bool {
        self.0.iter().all(|entry| entry.hi.load(Ordering::Relaxed) != PretokenKey::EMPTY.hi)
    }

    /// Writes what `make` returns, if anything, to the key's own half or, if that is taken, to the other. Returns
    /// whether the bucket has an entry of the key afterwards.
    pub(super) fn write(
        &self,
        own_half: usize,
        key: PretokenKey,
        make: impl FnOnce() -> Option<(PretokenKey, Packed)>,
    ) -> bool {
        if self
            .0
            .iter()
            .any(|entry| entry.get().is_some_and(|(stored_key, _)| stored_key.lookup_key() == key))
        {
            return true;
        }
        let halves = [own_half, 1 - own_half].map(|half| &self.0[half]);
        let Some(entry) = halves.into_iter().find(|entry| entry.claim()) else { return false };
        let Some((key, ids)) = make() else {
            // Nothing was written, so the entry may be empty again.
            entry.hi.store(PretokenKey::EMPTY.hi, Ordering::Relaxed);
            return false;
        };
        // SAFETY: The entry was claimed just now.
        unsafe { entry.publish(key, ids) };
        true
    }
}
