//! The worker pool of training: threads that share the work on long position lists.
//!
//! A task over a long list is divided into one part per thread, each with its own [`ThreadState`]. Any thread that is
//! awake claims the next part, the calling thread included, so nobody waits for a sleeping worker. Workers live as long
//! as the call to [`super::train`]. Early steps follow each other within microseconds, so a worker spins for a while
//! before it parks.
//!
//! Two parts never touch the same symbols: a list is divided only between positions that are further apart than the
//! merged symbol is long. So several threads can share even a single long pretoken.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope, Thread};

use super::apply_merge::{MergeStep, ThreadState, collect_positions, replace_pair};
use super::atomic_cell::AtomicCell;
use super::byte_pairs::{count_byte_pairs, list_byte_pairs};
use super::symbol_array::SymbolArray;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::parallel;

/// Number of times that a worker polls for a task before it parks.
const N_SPINS: usize = 20_000;

/// The tasks that threads share, named after the functions that do them.
#[derive(Clone, Copy)]
pub(super) enum Task {
    /// [`count_byte_pairs`].
    CountBytePairs,
    /// [`list_byte_pairs`].
    ListBytePairs,
    /// [`replace_pair`].
    ReplacePair,
    /// [`collect_positions`].
    CollectPositions,
}

/// Data that the workers and the calling thread share.
pub(super) struct WorkerPool<'a, S, P> {
    array: &'a SymbolArray<S, P>,
    /// One state per part.
    states: Vec<Mutex<ThreadState>>,
    /// The task, the pair, and the number of parts.
    task: Mutex<(Task, MergeStep, usize)>,
    /// The number of the round, which grows with each task, and in the low [`PART_BITS`] the next part to claim. Both
    /// are in one word, so that a late worker cannot claim a part of a task that it has not read.
    ticket: AtomicU64,
    /// Number of parts of the task that are not finished.
    n_parts_left: AtomicUsize,
    /// Set when the pool's handle is dropped: workers return.
    is_over: AtomicBool,
    /// Set after an error: workers abandon their parts.
    is_stopped: AtomicBool,
}

/// Bits of a ticket that number parts.
const PART_BITS: u32 = 16;

/// Maximum number of threads; must fit in [`PART_BITS`].
const MAX_THREADS: usize = 256;

impl<'a, S: AtomicCell, P: AtomicCell> WorkerPool<'a, S, P> {
    /// Creates a pool for `n_threads` threads without starting them.
    pub fn new(array: &'a SymbolArray<S, P>, n_threads: usize) -> Self {
        let n_parts = n_threads.clamp(1, MAX_THREADS);
        WorkerPool {
            array,
            states: (0..n_parts).map(|_| Mutex::default()).collect(),
            task: Mutex::new((Task::ReplacePair, MergeStep::default(), 0)),
            ticket: AtomicU64::new(0),
            n_parts_left: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Starts the workers; fewer if the system refuses to start a thread.
    pub fn start<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> PoolHandle<'scope, 'a, S, P> {
        let mut workers = Vec::new();
        for _ in 1..self.states.len() {
            match parallel::spawn_scoped(scope, "pairloom-merge", || self.work()) {
                Ok(handle) => workers.push(handle.thread().clone()),
                Err(_) => break,
            }
        }
        PoolHandle { pool: self, workers, n_parts: 0 }
    }

    /// Runs a worker: waits for the next round and takes part in it, until the pool's handle is dropped.
    fn work(&self) {
        let mut done = 0;
        let mut n_spins = 0;
        while !self.is_over.load(Ordering::Acquire) {
            let round = self.ticket.load(Ordering::Acquire) >> PART_BITS;
            if round != done {
                (done, n_spins) = (round, 0);
                // An error only means that `is_stopped` is set; the calling thread has the cause.
                let _ = self.run_parts(round, &mut || {
                    if self.is_stopped.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
                });
            } else if n_spins < N_SPINS {
                n_spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::park();
                n_spins = 0;
            }
        }
    }

    /// Claims and runs parts of a round while there are any.
    fn run_parts(&self, round: u64, on_progress: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let (task, step, n_parts) = *lock(&self.task);
        let mut result = Ok(());
        while let Some(part) = self.claim(round, n_parts) {
            let _done = CountDownOnDrop(&self.n_parts_left);
            result = result.and(self.run(task, step, part, on_progress));
        }
        result
    }

    /// Runs one part of a task.
    fn run(
        &self,
        task: Task,
        step: MergeStep,
        part: usize,
        on_progress: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let state = &mut lock(&self.states[part]);
        match task {
            Task::CountBytePairs => count_byte_pairs(self.array, state, on_progress),
            Task::ListBytePairs => list_byte_pairs(self.array, state, on_progress),
            Task::ReplacePair => replace_pair(self.array, step, state, on_progress),
            Task::CollectPositions => collect_positions(self.array, step, state, on_progress),
        }
    }

    /// Claims the next part of `round`; `None` if all are claimed or another round has started.
    fn claim(&self, round: u64, n_parts: usize) -> Option<usize> {
        let part_of = |ticket: u64| ticket & ((1 << PART_BITS) - 1);
        let next = |ticket: u64| {
            (ticket >> PART_BITS == round && part_of(ticket) < n_parts as u64).then_some(ticket + 1)
        };
        #[allow(deprecated, reason = "its newer name `try_update` needs Rust 1.95")]
        let claimed = self.ticket.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next).ok()?;
        Some(part_of(claimed) as usize)
    }
}

/// Counts a part as finished when dropped, even if its thread panics.
struct CountDownOnDrop<'a>(&'a AtomicUsize);

impl Drop for CountDownOnDrop<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calling thread's handle to the pool. Dropping it ends the workers.
pub(super) struct PoolHandle<'scope, 'a, S, P> {
    pool: &'scope WorkerPool<'a, S, P>,
    workers: Vec<Thread>,
    /// Number of parts of the current step.
    n_parts: usize,
}

impl<S: AtomicCell, P: AtomicCell> PoolHandle<'_, '_, S, P> {
    /// Divides the positions of the array into one part per thread if `is_shared`, and otherwise into a single part.
    pub fn divide_array(&mut self, is_shared: bool) -> Result<()> {
        self.n_parts = if is_shared { self.workers.len() + 1 } else { 1 };
        // Position 0 and the last one are separators, and no pair starts there.
        let n_positions = self.pool.array.symbols.len() - 1;
        for (index, state) in self.pool.states[..self.n_parts].iter().enumerate() {
            let cut = |index: usize| (n_positions * index / self.n_parts).max(1);
            lock(state).prepare_count(cut(index)..cut(index + 1))?;
        }
        Ok(())
    }

    /// Divides the arena slots of a position list into one part per thread if `is_shared`, and otherwise into a single
    /// part.
    pub fn divide_list(&mut self, slots: Range<usize>, step: MergeStep, is_shared: bool) -> Result<()> {
        self.n_parts = if is_shared { self.workers.len() + 1 } else { 1 };
        let arena = &self.pool.array.arena[..];
        let mut start = slots.start;
        for (index, state) in self.pool.states[..self.n_parts].iter().enumerate() {
            // Move the end until no occurrence in this part reaches an occurrence of the next part or its left
            // neighbour: an occurrence at `p` reads positions `p - 1` to `p + merged_len`, and writes positions in
            // between.
            let mut end = start.max(slots.start + slots.len() * (index + 1) / self.n_parts);
            while end > start && end < slots.end && arena[end].get() - arena[end - 1].get() <= step.merged_len
            {
                end += 1;
            }
            lock(state).prepare(start..end, step.n_symbols)?;
            start = end;
        }
        Ok(())
    }

    /// Runs `task` in all parts of this step; returns when all are finished.
    pub fn run(
        &self,
        task: Task,
        step: MergeStep,
        on_progress: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let pool = self.pool;
        if self.n_parts == 1 {
            return pool.run(task, step, 0, on_progress);
        }
        *lock(&pool.task) = (task, step, self.n_parts);
        pool.n_parts_left.store(self.n_parts, Ordering::Relaxed);
        let round = (pool.ticket.load(Ordering::Relaxed) >> PART_BITS) + 1;
        pool.ticket.store(round << PART_BITS, Ordering::Release);
        self.workers.iter().for_each(Thread::unpark);
        // This thread claims parts too, so the call ends even if no worker ever wakes.
        let mut result = pool.run_parts(round, on_progress);
        let mut n_spins = 0;
        while pool.n_parts_left.load(Ordering::Acquire) > 0 {
            if result.is_err() {
                pool.is_stopped.store(true, Ordering::Relaxed);
            } else {
                result = on_progress();
            }
            n_spins += 1;
            if n_spins > N_SPINS { thread::yield_now() } else { std::hint::spin_loop() }
        }
        result
    }

    /// Returns the states of this step's parts.
    pub fn states(&self) -> Result<Vec<MutexGuard<'_, ThreadState>>> {
        let mut states = Vec::with_reserved(self.n_parts, "the states of the worker threads")?;
        states.extend(self.pool.states[..self.n_parts].iter().map(lock));
        Ok(states)
    }
}

impl<S, P> Drop for PoolHandle<'_, '_, S, P> {
    fn drop(&mut self) {
        self.pool.is_over.store(true, Ordering::Release);
        self.workers.iter().for_each(Thread::unpark);
    }
}
