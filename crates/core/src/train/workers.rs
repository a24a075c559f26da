//! The threads that share the long lists.
//!
//! A step over a long list is cut into lanes, one a thread; whoever is awake takes the next lane, the
//! calling thread too, so nobody waits for a thread that sleeps. Workers live as long as the call that
//! learns. They look out for the next task for some microseconds, since early steps follow each other
//! fast, and then sleep until they are woken.
//!
//! A list may be cut before any position that lies further from the one before it than the pair is
//! long: then neither lane writes what the other reads. Pretokens are cut that way too, when they are
//! longer than most.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope, Thread};

use super::apply_merge::{MergeStep, ThreadState, collect_positions, replace_pair};
use super::atomic_array::AtomicCell;
use super::count_pairs::{count_byte_pairs, list_byte_pairs};
use super::symbol_array::SymbolArray;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::parallel;

/// How often a worker looks for a task before it sleeps.
const N_LOOKS: usize = 20_000;

/// What can be shared.
#[derive(Clone, Copy)]
pub(super) enum Task {
    /// Count pairs of bytes.
    CountBytePairs,
    /// Write their lists.
    ListBytePairs,
    /// Rewrite and tally.
    ReplacePair,
    /// Write the new lists.
    CollectPositions,
}

/// What the workers and the calling thread share.
pub(super) struct WorkerPool<'f, S, P> {
    array: &'f SymbolArray<S, P>,
    states: Vec<Mutex<ThreadState>>,
    /// What to do, for which pair, in how many lanes.
    task: Mutex<(Task, MergeStep, usize)>,
    /// The number of the task, which grows, and below it the number of the next free lane.
    ticket: AtomicU64,
    n_states_open: AtomicUsize,
    is_over: AtomicBool,
    is_stopped: AtomicBool,
}

/// The bits of a ticket that number lanes.
const STATE_BITS: u32 = 16;

/// The most threads that make sense, and that a ticket can number.
const MOST_THREADS: usize = 256;

impl<'f, S: AtomicCell, P: AtomicCell> WorkerPool<'f, S, P> {
    /// A crew for so many threads, none of which has begun.
    pub fn new(array: &'f SymbolArray<S, P>, n_threads: usize) -> Self {
        let n_states = n_threads.clamp(1, MOST_THREADS);
        WorkerPool {
            array,
            states: (0..n_states).map(|_| Mutex::default()).collect(),
            task: Mutex::new((Task::ReplacePair, MergeStep::default(), 0)),
            ticket: AtomicU64::new(0),
            n_states_open: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Starts the workers; where the system refuses one, there are fewer.
    pub fn start<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> PoolHandle<'scope, 'f, S, P> {
        let mut workers = Vec::new();
        for _ in 1..self.states.len() {
            match parallel::spawn_scoped(scope, "pairloom-merge", || self.work()) {
                Ok(handle) => workers.push(handle.thread().clone()),
                Err(_) => break,
            }
        }
        PoolHandle { pool: self, workers, n_open: 0 }
    }

    /// What a worker does until the crew is over.
    fn work(&self) {
        let mut done = 0;
        let mut n_looks = 0;
        while !self.is_over.load(Ordering::Acquire) {
            let round = self.ticket.load(Ordering::Acquire) >> STATE_BITS;
            if round != done {
                (done, n_looks) = (round, 0);
                // An error is the flag that stopped the work; the calling thread knows why.
                let _ = self.take_part(round, &mut || {
                    if self.is_stopped.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
                });
            } else if n_looks < N_LOOKS {
                n_looks += 1;
                std::hint::spin_loop();
            } else {
                std::thread::park();
                n_looks = 0;
            }
        }
    }

    /// Takes lanes of a task while there are any.
    fn take_part(&self, round: u64, on_progress: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let (task, step, n_states) = *lock(&self.task);
        let mut result = Ok(());
        while let Some(state) = self.claim(round, n_states) {
            let _closed = CountDownOnDrop(&self.n_states_open);
            result = result.and(self.run(task, step, state, on_progress));
        }
        result
    }

    fn run(
        &self,
        task: Task,
        step: MergeStep,
        state: usize,
        on_progress: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let state = &mut lock(&self.states[state]);
        match task {
            Task::CountBytePairs => count_byte_pairs(self.array, state, on_progress),
            Task::ListBytePairs => list_byte_pairs(self.array, state, on_progress),
            Task::ReplacePair => replace_pair(self.array, step, state, on_progress),
            Task::CollectPositions => collect_positions(self.array, step, state, on_progress),
        }
    }

    /// The next lane of the task `round`, if that is still the task.
    fn claim(&self, round: u64, n_states: usize) -> Option<usize> {
        let next = |ticket: u64| {
            let state = ticket & ((1 << STATE_BITS) - 1);
            (ticket >> STATE_BITS == round && state < n_states as u64).then_some(ticket + 1)
        };
        let claimed = self.ticket.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next).ok()?;
        Some((claimed & ((1 << STATE_BITS) - 1)) as usize)
    }
}

/// Counts a lane as done when dropped, even if its thread panics.
struct CountDownOnDrop<'a>(&'a AtomicUsize);

impl Drop for CountDownOnDrop<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calling thread's hold on the crew. Workers end when it is dropped.
pub(super) struct PoolHandle<'scope, 'f, S, P> {
    pool: &'scope WorkerPool<'f, S, P>,
    workers: Vec<Thread>,
    /// Lanes in use in this step.
    n_open: usize,
}

impl<S: AtomicCell, P: AtomicCell> PoolHandle<'_, '_, S, P> {
    /// Divides the positions of the field among the lanes, or gives them all to one.
    pub fn divide_array(&mut self, is_long: bool) -> Result<()> {
        self.n_open = if is_long { self.workers.len() + 1 } else { 1 };
        // Position 0 and the last one are separators, and no pair starts there.
        let n_positions = self.pool.array.symbols.len() - 1;
        for (index, state) in self.pool.states[..self.n_open].iter().enumerate() {
            let cut = |index: usize| (n_positions * index / self.n_open).max(1);
            lock(state).prepare_count(cut(index)..cut(index + 1))?;
        }
        Ok(())
    }

    /// Divides the slots of a list among the lanes, or gives them all to one.
    pub fn divide(&mut self, slots: Range<usize>, step: MergeStep, is_long: bool) -> Result<()> {
        self.n_open = if is_long { self.workers.len() + 1 } else { 1 };
        let arena = &self.pool.array.arena[..];
        let mut start = slots.start;
        for (index, state) in self.pool.states[..self.n_open].iter().enumerate() {
            let mut end = start.max(slots.start + slots.len() * (index + 1) / self.n_open);
            while end > start && end < slots.end && arena[end].get() - arena[end - 1].get() <= step.merged_len
            {
                end += 1;
            }
            lock(state).prepare(start..end, step.merged + 1)?;
            start = end;
        }
        Ok(())
    }

    /// Does `task` in all lanes of this step, and returns when all are done.
    pub fn run(
        &self,
        task: Task,
        step: MergeStep,
        on_progress: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let pool = self.pool;
        if self.n_open == 1 {
            return pool.run(task, step, 0, on_progress);
        }
        *lock(&pool.task) = (task, step, self.n_open);
        pool.n_states_open.store(self.n_open, Ordering::Relaxed);
        let round = (pool.ticket.load(Ordering::Relaxed) >> STATE_BITS) + 1;
        pool.ticket.store(round << STATE_BITS, Ordering::Release);
        self.workers.iter().for_each(Thread::unpark);
        let mut result = pool.take_part(round, on_progress);
        let mut n_looks = 0;
        while pool.n_states_open.load(Ordering::Acquire) > 0 {
            if result.is_err() {
                pool.is_stopped.store(true, Ordering::Relaxed);
            } else {
                result = on_progress();
            }
            n_looks += 1;
            if n_looks > N_LOOKS { thread::yield_now() } else { std::hint::spin_loop() }
        }
        result
    }

    /// The lanes of this step.
    pub fn states(&self) -> Result<Vec<MutexGuard<'_, ThreadState>>> {
        let mut states = Vec::with_room(self.n_open, "the hold on the lanes")?;
        states.extend(self.pool.states[..self.n_open].iter().map(lock));
        Ok(states)
    }
}

impl<S, P> Drop for PoolHandle<'_, '_, S, P> {
    fn drop(&mut self) {
        self.pool.is_over.store(true, Ordering::Release);
        self.workers.iter().for_each(Thread::unpark);
    }
}
