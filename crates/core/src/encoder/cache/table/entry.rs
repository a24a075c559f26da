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

/// The instructions that compare the key of an entry.
pub(in crate::encoder) trait CompareKeys {
    /// Returns whether the entry has this key and is published.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn has_key(entry: &Entry, key: &PretokenKey) -> bool;
}

/// Compares one word of eight bytes after the other, on every processor.
pub(in crate::encoder) struct ByWords;

impl CompareKeys for ByWords {
    #[inline(always)]
    unsafe fn has_key(entry: &Entry, key: &PretokenKey) -> bool {
        // Compare first the word that is stored last.
        entry.hi.load(Ordering::Acquire) == key.hi && entry.lo.load(Ordering::Relaxed) == key.lo
    }
}

/// Compares all sixteen bytes at once, with AVX.
#[cfg(target_arch = "x86_64")]
pub(in crate::encoder) struct AtOnce;

#[cfg(target_arch = "x86_64")]
impl CompareKeys for AtOnce {
    #[inline(always)]
    unsafe fn has_key(entry: &Entry, key: &PretokenKey) -> bool {
        use std::arch::x86_64::*;
        // SAFETY: The caller vouches for the processor. An entry begins with its key and is aligned to 32 bytes. Other
        // threads may write to it at the same time, which inline assembly may observe. The makers of processors with
        // AVX promise that this instruction loads sixteen aligned bytes atomically, and x86 reorders neither stores
        // with stores nor loads with loads. So if the load sees `hi`, which is stored last, it also sees the `lo` that
        // was stored before. The ids, which are read after it, are those of this key and do not change any more.
        unsafe {
            let stored_key: __m128i;
            std::arch::asm!(
                "vmovdqa {stored_key}, [{entry}]",
                stored_key = out(xmm_reg) stored_key, entry = in(reg) std::ptr::from_ref(entry),
                options(nostack, preserves_flags),
            );
            let difference = _mm_xor_si128(stored_key, _mm_load_si128(std::ptr::from_ref(key).cast()));
            _mm_testz_si128(difference, difference) == 1
        }
    }
}
