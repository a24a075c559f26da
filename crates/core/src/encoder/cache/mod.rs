//! A bounded cache from pretokens to ids, shared by all threads of an encoder.
//!
//! All threads read and write one [`Table`] without locks. It is replaced as it fills:
//! - It starts small, so that short work stays in the processor's nearest caches, and is replaced by a table of four
//!   times the size while the bound allows. If many pretokens are new, the largest table comes a step earlier.
//! - At its largest size, once many entries found no room, it is replaced by an empty table an eighth of the size.
//!
//! The thread that finds a replacement due publishes the new table, and then copies the old one to it if it is larger.
//! Meanwhile the other threads use the new table and look up what it lacks in the old one.
//!
//! The cache never fails: if memory is refused it stays as it is. Locking uses only `try_lock`, so a lock that is held
//! during a fork costs the child the shared table but never causes a deadlock.
//!
//! Tried, with 80 MB of text on a Zen 4, as `cargo run --release --example encode` reports:
//! - A cache of 48 MB instead of 96: fifteen languages 7 % slower on a first call, 25 % when warm. 192 or 384 MB: 3 to
//!   6 % faster when warm, 10 to 15 % slower on a first call.
//! - The largest table a step earlier for all texts: English and C 4 % faster when warm, up to 10 % slower on a first
//!   call.
//! - A table for each thread in addition to the shared one: slower the first time, no faster the second.
//!
//! Not built: saving the cache with a model. Encoding 300 MB of English takes 37 % less processor time if the cache
//! has seen all of it, but only 14 to 26 % less if it has seen 50 MB of other English: 0.2 s of one second on two
//! cores, once a run.

pub(super) mod arena;
pub(super) mod key;
pub(super) mod lookup;
pub(super) mod packed;
pub(super) mod table;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use self::table::{Bucket, MAX_BUCKETS, Table};
use crate::error::Result;
use crate::pretokens::key::{KeyHasher, PretokenKey};

/// Buckets of the first table.
const FIRST_BUCKETS: usize = 1 << 9;

/// A table fills fast if more than one pretoken in this many is new. When the third largest table is full, one in 40
/// is new in English, one in 100 in C code, one in 10 in text of many languages.
const FAST_FILL_ONE_IN: usize = 16;

/// The generation of a table that was never published.
const NO_GENERATION: u64 = u64::MAX;

/// Maps pretokens to ids.
pub(in crate::encoder) struct Cache {
    pub(in crate::encoder) hasher: KeyHasher,
    bounds: Bounds,
    newest: Mutex<TableHandle>,
    /// The generation of `newest`, so that threads can tell without the lock whether their table is older.
    generation: AtomicU64,
}

/// The bounds of all tables.
struct Bounds {
    /// Whether ids are below 65,536 and take two bytes.
    is_narrow: bool,
    /// Number of buckets of the largest table.
    max_buckets: usize,
    /// Bytes of the arena of the largest table.
    max_arena: usize,
}

impl Bounds {
    fn new(n_bytes: usize, n_ids: usize) -> Self {
        // Seven eighths for buckets, rounded down to a power of two; the rest is for the arena.
        let fitting = (n_bytes / 8 * 7 / size_of::<Bucket>()).max(1);
        let max_buckets = ((fitting + 1).next_power_of_two() / 2).min(MAX_BUCKETS);
        let max_arena = n_bytes.saturating_sub(max_buckets * size_of::<Bucket>());
        Bounds { is_narrow: n_ids <= 1 << 16, max_buckets, max_arena }
    }

    /// Creates an empty table of `n_buckets`, at most the largest size, with an arena in proportion.
    fn table(&self, n_buckets: usize) -> Result<Table> {
        let n_buckets = n_buckets.min(self.max_buckets);
        Table::new(n_buckets, self.max_arena / (self.max_buckets / n_buckets), self.is_narrow)
    }
}

/// The table that a thread uses.
#[derive(Clone)]
pub(in crate::encoder) struct TableHandle {
    pub(in crate::encoder) table: Arc<Table>,
    /// The previous table, while it is copied to this one.
    before: Option<Arc<Table>>,
    generation: u64,
    /// How many pretokens this thread has looked up in the table.
    pub(in crate::encoder) n_looked_up: usize,
    /// How many of them were new.
    pub(in crate::encoder) n_new: usize,
}

impl TableHandle {
    /// Creates a handle of a table that is used from now on.
    fn new(table: Table, before: Option<Arc<Table>>, generation: u64) -> Self {
        TableHandle { table: Arc::new(table), before, generation, n_looked_up: 0, n_new: 0 }
    }

    /// Creates an empty table of the first size.
    fn empty(bounds: &Bounds, generation: u64) -> Result<Self> {
        Ok(TableHandle::new(bounds.table(FIRST_BUCKETS)?, None, generation))
    }

    /// Returns whether so many pretokens are new that a table four times as large would soon be full, too.
    fn fills_fast(&self) -> bool {
        self.n_new > self.n_looked_up / FAST_FILL_ONE_IN
    }

    /// Appends the ids of `pretoken`, which has this key and slot, if they are in the cache; returns whether they are.
    pub(in crate::encoder) fn append_ids(
        &self,
        key: PretokenKey,
        slot: u32,
        pretoken: &[u8],
        ids: &mut Vec<u32>,
    ) -> bool {
        if self.table.append_ids(key, slot, pretoken, ids) {
            return true;
        }
        let start = ids.len();
        let is_known = self.before.as_ref().is_some_and(|table| table.append_ids(key, slot, pretoken, ids));
        if is_known {
            self.table.insert(key, slot, pretoken, &ids[start..]);
        }
        is_known
    }
}

impl Cache {
    /// Creates an empty cache for ids below `n_ids`, of at most `n_bytes`, or 1.5 times that while a table is copied.
    pub(in crate::encoder) fn new(n_bytes: usize, n_ids: usize, hasher: KeyHasher) -> Result<Self> {
        let bounds = Bounds::new(n_bytes, n_ids);
        let newest = Mutex::new(TableHandle::empty(&bounds, 0)?);
        Ok(Cache { hasher, bounds, newest, generation: AtomicU64::new(0) })
    }

    /// Returns whether ids are below 65,536 and take two bytes.
    #[inline(always)]
    pub(in crate::encoder) fn is_narrow(&self) -> bool {
        self.bounds.is_narrow
    }

    /// Returns the newest table, or an empty one if the lock is taken.
    pub(in crate::encoder) fn handle(&self) -> Result<TableHandle> {
        match self.newest.try_lock() {
            Ok(newest) => Ok(newest.clone()),
            // This generation is never current, so the next `refresh` tries again.
            Err(_) => TableHandle::empty(&self.bounds, NO_GENERATION),
        }
    }

    /// Switches a thread to the newest table.
    #[inline]
    pub(in crate::encoder) fn refresh(&self, handle: &mut TableHandle) {
        if self.generation.load(Ordering::Relaxed) != handle.generation
            && let Ok(newest) = self.newest.try_lock()
        {
            let current = newest.clone();
            // Unlock first: the assignment may drop the last handle of a table, and unmapping it takes time.
            drop(newest);
            *handle = current;
        }
    }

    /// Stores the ids of `pretoken`, which has this key and slot. Returns whether the table was replaced.
    pub(in crate::encoder) fn insert(
        &self,
        handle: &mut TableHandle,
        key: PretokenKey,
        slot: u32,
        pretoken: &[u8],
        ids: &[u32],
    ) -> bool {
        let table = &handle.table;
        table.insert(key, slot, pretoken, ids);
        let is_largest = table.n_buckets() == self.bounds.max_buckets;
        let is_due = if is_largest { table.should_shrink() } else { table.should_grow() };
        is_due && table.claim_copy() && self.replace(handle)
    }

    /// Replaces the table by a larger or smaller one, unless memory is refused. The caller has won
    /// [`Table::claim_copy`] of the old table.
    #[cold]
    fn replace(&self, handle: &mut TableHandle) -> bool {
        let (n_buckets, max_buckets) = (handle.table.n_buckets(), self.bounds.max_buckets);
        let n_next = match n_buckets {
            _ if n_buckets == max_buckets => (n_buckets / 8).max(1),
            _ if n_buckets * 8 >= max_buckets && handle.fills_fast() => max_buckets,
            _ => n_buckets * 4,
        };
        let Ok(replacement) = self.bounds.table(n_next) else { return false };
        // Claimed, so that no thread replaces the new table before the old one is copied to it.
        replacement.claim_copy();
        let old = Arc::clone(&handle.table);
        *handle = TableHandle::new(replacement, Some(Arc::clone(&old)), NO_GENERATION);
        let is_shared = self.publish(handle, &old);
        if !is_shared {
            // The lock is taken: this thread uses its new table alone until `refresh` succeeds, and another thread can
            // replace the shared one.
            old.release_copy();
        }
        if n_next > n_buckets {
            old.copy_to(&handle.table, self.hasher);
        }
        handle.before = None;
        if is_shared {
            let table = Arc::clone(&handle.table);
            self.publish(handle, &table);
        }
        // Only after the second `publish`: otherwise a table that replaces this one could be published before it.
        handle.table.release_copy();
        true
    }

    /// Makes `handle` the newest table if `table` is the newest now and the lock is free; returns whether it did.
    fn publish(&self, handle: &mut TableHandle, table: &Arc<Table>) -> bool {
        handle.generation = NO_GENERATION;
        // The lock is held for nanoseconds only, unless it was held during a fork.
        for _ in 0..1000 {
            if let Ok(mut newest) = self.newest.try_lock() {
                let is_newest = Arc::ptr_eq(&newest.table, table);
                if is_newest {
                    handle.generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
                    let old = std::mem::replace(&mut *newest, handle.clone());
                    // Unlock first, as in `refresh`.
                    drop(newest);
                    drop(old);
                }
                return is_newest;
            }
            thread::yield_now();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::CpuTier;

    /// A thread that uses a cache.
    struct User<'a> {
        cache: &'a Cache,
        handle: TableHandle,
    }

    impl<'a> User<'a> {
        fn new(cache: &'a Cache) -> Self {
            User { cache, handle: cache.handle().unwrap() }
        }

        fn find(&mut self, pretoken: &[u8]) -> Option<Vec<u32>> {
            self.cache.refresh(&mut self.handle);
            let (key, mut ids) = (PretokenKey::from_bytes(pretoken, self.cache.hasher), Vec::new());
            let slot = self.cache.hasher.hash(key) as u32;
            self.handle.append_ids(key, slot, pretoken, &mut ids).then_some(ids)
        }

        fn insert(&mut self, pretoken: &[u8], ids: &[u32]) {
            self.cache.refresh(&mut self.handle);
            let key = PretokenKey::from_bytes(pretoken, self.cache.hasher);
            self.cache.insert(&mut self.handle, key, self.cache.hasher.hash(key) as u32, pretoken, ids);
        }
    }

    /// Returns a pretoken and its ids, of many lengths. All bytes depend on `i`.
    fn example(i: usize, n_ids: usize) -> (Vec<u8>, Vec<u32>) {
        let n_bytes = 1 + i * 7 % 60;
        let mut pretoken = i.to_le_bytes().repeat(8);
        pretoken.truncate(n_bytes.max(4));
        let ids = (0..1 + i % n_bytes.min(9))
            .map(|k| ((i as u64 * 31 + k as u64) * 4099 % n_ids as u64) as u32)
            .collect();
        (pretoken, ids)
    }

    const SIZES: [(usize, usize); 6] = [
        (0, 1 << 24),
        (300, 1 << 16),
        (5000, 1 << 24),
        (1 << 20, 1 << 16),
        (1 << 24, 1 << 24),
        (1 << 24, 1 << 16),
    ];

    #[test]
    fn cache_finds_inserted_pretokens_or_evicts_them() {
        for (n_bytes, n_ids) in SIZES {
            let cache = Cache::new(n_bytes, n_ids, KeyHasher::new(CpuTier::best())).unwrap();
            let mut user = User::new(&cache);
            let (mut n_found, mut n_recent) = (0, 0);
            let n = if cfg!(miri) { 100 } else { 20_000 };
            for i in 0..n {
                let (pretoken, ids) = example(i, n_ids);
                user.insert(&pretoken, &ids);
                n_recent += usize::from(i > n / 2 && user.find(&pretoken).is_some());
                let (pretoken, ids) = example(i / 2, n_ids);
                if let Some(found) = user.find(&pretoken) {
                    assert_eq!(found, ids);
                    n_found += 1;
                }
            }
            assert!(n_bytes < 1 << 24 || n_found > n / 100 * 98, "{n_found} of {n} found with {n_bytes}");
            // A small cache keeps taking new pretokens.
            assert!(n_bytes < 5000 || n_recent > n / 100, "{n_recent} with {n_bytes}");
            assert!(user.handle.table.n_bytes() <= n_bytes.max(64) + 1);
        }
    }

    #[test]
    fn cache_that_fills_fast_gets_its_largest_table_a_step_earlier() {
        if cfg!(miri) {
            return;
        }
        for (n_new, expected) in
            [(6, &[1 << 13, 1 << 15, 1 << 17, 1 << 18][..]), (7, &[1 << 13, 1 << 15, 1 << 18])]
        {
            let cache = Cache::new(1 << 25, 256, KeyHasher::new(CpuTier::best())).unwrap();
            let mut user = User::new(&cache);
            let mut sizes = vec![1 << 13];
            for i in 0.. {
                (user.handle.n_looked_up, user.handle.n_new) = (100, n_new);
                let (pretoken, ids) = example(i, 256);
                user.insert(&pretoken, &ids);
                let n_buckets = user.handle.table.n_buckets();
                if sizes.last().is_some_and(|&last| n_buckets > last) {
                    sizes.push(n_buckets);
                }
                if n_buckets == cache.bounds.max_buckets {
                    break;
                }
            }
            assert_eq!(sizes, expected);
        }
    }

    #[test]
    fn cache_shared_by_threads_gives_right_ids() {
        for (n_bytes, n_ids) in SIZES {
            let cache = Cache::new(n_bytes, n_ids, KeyHasher::new(CpuTier::best())).unwrap();
            let (n_threads, n) = if cfg!(miri) { (2, 60) } else { (4, 30_000) };
            thread::scope(|scope| {
                for number in 0..n_threads {
                    let cache = &cache;
                    scope.spawn(move || {
                        let mut user = User::new(cache);
                        for i in 0..n {
                            // Each thread inserts every other pretoken and looks up all of them.
                            let (pretoken, ids) = example(i, n_ids);
                            if (i + number) % 2 == 0 {
                                user.insert(&pretoken, &ids);
                            }
                            let (pretoken, ids) = example(i / 2 + number, n_ids);
                            assert!(user.find(&pretoken).is_none_or(|found| found == ids));
                        }
                    });
                }
            });
            // Some found no room while the thread that copied a table was not running, so insert them again.
            let mut users = [User::new(&cache), User::new(&cache)];
            for i in 0..n {
                let (pretoken, ids) = example(i, n_ids);
                users[i % 2].insert(&pretoken, &ids);
            }
            let n_found = (0..n).filter(|&i| users[0].find(&example(i, n_ids).0).is_some()).count();
            assert!(n_bytes < 1 << 24 || n_found > n / 10 * 9, "{n_found} of {n} found with {n_bytes}");
        }
    }

    #[test]
    fn cache_tells_long_pretokens_of_equal_hash_apart() {
        let cache = Cache::new(1 << 16, 256, KeyHasher::new(CpuTier::best())).unwrap();
        let mut handle = cache.handle().unwrap();
        let (a, b) = ([b'a'; 20], [b'b'; 20]);
        let key = PretokenKey::from_bytes(&a, cache.hasher);
        let slot = cache.hasher.hash(key) as u32;
        cache.insert(&mut handle, key, slot, &a, &[1, 2, 3]);
        let mut ids = Vec::new();
        assert!(!handle.table.append_ids(key, slot, &b, &mut ids));
        assert!(handle.table.append_ids(key, slot, &a, &mut ids));
        assert_eq!(ids, [1, 2, 3]);
    }

    #[test]
    fn cache_with_a_held_lock_gives_right_ids() {
        let cache = Cache::new(1 << 20, 256, KeyHasher::new(CpuTier::best())).unwrap();
        let mut user = User::new(&cache);
        let _locked = cache.newest.lock().unwrap();
        let mut other = User::new(&cache);
        let n = if cfg!(miri) { 50 } else { 5000 };
        for i in 0..n {
            let (pretoken, ids) = example(i, 256);
            user.insert(&pretoken, &ids);
            other.insert(&pretoken, &ids);
            for user in [&mut user, &mut other] {
                assert!(user.find(&pretoken).is_none_or(|found| found == ids));
            }
        }
        assert!((n - 50..n).any(|i| user.find(&example(i, 256).0).is_some()));
    }

    #[test]
    fn cache_grows_after_a_lock_was_held() {
        let n_bytes = 1 << 22;
        let cache = Cache::new(n_bytes, 256, KeyHasher::new(CpuTier::best())).unwrap();
        let mut user = User::new(&cache);
        let n = if cfg!(miri) { 600 } else { 10_000 };
        let lock = cache.newest.lock().unwrap();
        for i in 0..n {
            let (pretoken, ids) = example(i, 256);
            user.insert(&pretoken, &ids);
        }
        drop(lock);
        for i in 0..n {
            let (pretoken, ids) = example(i, 256);
            user.insert(&pretoken, &ids);
        }
        let mut other = User::new(&cache);
        let n_found = (0..n).filter(|&i| other.find(&example(i, 256).0).is_some()).count();
        assert!(n_found > n / 10 * 9, "{n_found}");
    }

    #[test]
    fn cache_does_not_publish_the_table_of_a_thread_without_the_lock() {
        let cache = Cache::new(1 << 22, 256, KeyHasher::new(CpuTier::best())).unwrap();
        let lock = cache.newest.lock().unwrap();
        let mut alone = cache.handle().unwrap();
        drop(lock);
        let n = if cfg!(miri) { 600 } else { 5000 };
        let mut user = User::new(&cache);
        for i in 0..n {
            let (pretoken, ids) = example(i, 256);
            user.insert(&pretoken, &ids);
        }
        for i in n..2 * n {
            let (pretoken, ids) = example(i, 256);
            let key = PretokenKey::from_bytes(&pretoken, cache.hasher);
            cache.insert(&mut alone, key, cache.hasher.hash(key) as u32, &pretoken, &ids);
        }
        let mut other = User::new(&cache);
        let n_found = (0..n).filter(|&i| other.find(&example(i, 256).0).is_some()).count();
        assert!(n_found > n / 10 * 9, "{n_found}");
    }
}
