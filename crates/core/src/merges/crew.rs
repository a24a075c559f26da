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

use super::cells::Cell;
use super::census::{count_bytes, list_bytes};
use super::field::Field;
use super::sweep::{Lane, Pairing, gather, sweep};
use crate::error::{Error, Result};
use crate::threads;

/// How often a worker looks for a task before it sleeps.
const N_LOOKS: usize = 20_000;

/// What can be shared.
#[derive(Clone, Copy)]
pub(super) enum Task {
    /// Count pairs of bytes.
    Count,
    /// Write their lists.
    List,
    /// Rewrite and tally.
    Sweep,
    /// Write the new lists.
    Gather,
}

/// What the workers and the calling thread share.
pub(super) struct Crew<'f, S, P> {
    field: &'f Field<S, P>,
    lanes: Vec<Mutex<Lane>>,
    /// What to do, for which pair, in how many lanes.
    task: Mutex<(Task, Pairing, usize)>,
    /// The number of the task, which grows, and below it the number of the next free lane.
    ticket: AtomicU64,
    n_lanes_open: AtomicUsize,
    is_over: AtomicBool,
    is_stopped: AtomicBool,
}

/// The bits of a ticket that number lanes.
const LANE_BITS: u32 = 16;

/// The most threads that make sense, and that a ticket can number.
const MOST_THREADS: usize = 256;

impl<'f, S: Cell, P: Cell> Crew<'f, S, P> {
    /// A crew for so many threads, none of which has begun.
    pub fn new(field: &'f Field<S, P>, n_threads: usize) -> Self {
        let n_lanes = n_threads.clamp(1, MOST_THREADS);
        Crew {
            field,
            lanes: (0..n_lanes).map(|_| Mutex::default()).collect(),
            task: Mutex::new((Task::Sweep, Pairing::default(), 0)),
            ticket: AtomicU64::new(0),
            n_lanes_open: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Starts the workers; where the system refuses one, there are fewer.
    pub fn start<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> Foreman<'scope, 'f, S, P> {
        let mut workers = Vec::new();
        for _ in 1..self.lanes.len() {
            match threads::spawn_scoped(scope, "pairloom-merge", || self.work()) {
                Ok(handle) => workers.push(handle.thread().clone()),
                Err(_) => break,
            }
        }
        Foreman { crew: self, workers, n_open: 0 }
    }

    /// What a worker does until the crew is over.
    fn work(&self) {
        let mut done = 0;
        let mut n_looks = 0;
        while !self.is_over.load(Ordering::Acquire) {
            let round = self.ticket.load(Ordering::Acquire) >> LANE_BITS;
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
    fn take_part(&self, round: u64, pause: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let (task, pairing, n_lanes) = *lock(&self.task);
        let mut result = Ok(());
        while let Some(lane) = self.claim(round, n_lanes) {
            let _closed = Closed(&self.n_lanes_open);
            result = result.and(self.run(task, pairing, lane, pause));
        }
        result
    }

    fn run(
        &self,
        task: Task,
        pairing: Pairing,
        lane: usize,
        pause: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let lane = &mut lock(&self.lanes[lane]);
        match task {
            Task::Count => count_bytes(self.field, lane, pause),
            Task::List => list_bytes(self.field, lane, pause),
            Task::Sweep => sweep(self.field, pairing, lane, pause),
            Task::Gather => gather(self.field, pairing, lane, pause),
        }
    }

    /// The next lane of the task `round`, if that is still the task.
    fn claim(&self, round: u64, n_lanes: usize) -> Option<usize> {
        let next = |ticket: u64| {
            let lane = ticket & ((1 << LANE_BITS) - 1);
            (ticket >> LANE_BITS == round && lane < n_lanes as u64).then_some(ticket + 1)
        };
        let claimed = self.ticket.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next).ok()?;
        Some((claimed & ((1 << LANE_BITS) - 1)) as usize)
    }
}

/// Counts a lane as done when dropped, even if its thread panics.
struct Closed<'a>(&'a AtomicUsize);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calling thread's hold on the crew. Workers end when it is dropped.
pub(super) struct Foreman<'scope, 'f, S, P> {
    crew: &'scope Crew<'f, S, P>,
    workers: Vec<Thread>,
    /// Lanes in use in this step.
    n_open: usize,
}

impl<S: Cell, P: Cell> Foreman<'_, '_, S, P> {
    /// Divides the positions of the field among the lanes, or gives them all to one.
    pub fn divide_field(&mut self, is_long: bool) -> Result<()> {
        self.n_open = if is_long { self.workers.len() + 1 } else { 1 };
        // Position 0 and the last one are separators, and no pair starts there.
        let n_positions = self.crew.field.symbols.len() - 1;
        for (index, lane) in self.crew.lanes[..self.n_open].iter().enumerate() {
            let cut = |index: usize| (n_positions * index / self.n_open).max(1);
            lock(lane).prepare_census(cut(index)..cut(index + 1))?;
        }
        Ok(())
    }

    /// Divides the slots of a list among the lanes, or gives them all to one.
    pub fn divide(&mut self, slots: Range<usize>, pairing: Pairing, is_long: bool) -> Result<()> {
        self.n_open = if is_long { self.workers.len() + 1 } else { 1 };
        let arena = &self.crew.field.arena[..];
        let mut start = slots.start;
        for (index, lane) in self.crew.lanes[..self.n_open].iter().enumerate() {
            let mut end = start.max(slots.start + slots.len() * (index + 1) / self.n_open);
            while end > start
                && end < slots.end
                && arena[end].get() - arena[end - 1].get() <= pairing.made_len
            {
                end += 1;
            }
            lock(lane).prepare(start..end, pairing.made + 1)?;
            start = end;
        }
        Ok(())
    }

    /// Does `task` in all lanes of this step, and returns when all are done.
    pub fn run(&self, task: Task, pairing: Pairing, pause: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let crew = self.crew;
        if self.n_open == 1 {
            return crew.run(task, pairing, 0, pause);
        }
        *lock(&crew.task) = (task, pairing, self.n_open);
        crew.n_lanes_open.store(self.n_open, Ordering::Relaxed);
        let round = (crew.ticket.load(Ordering::Relaxed) >> LANE_BITS) + 1;
        crew.ticket.store(round << LANE_BITS, Ordering::Release);
        self.workers.iter().for_each(Thread::unpark);
        let mut result = crew.take_part(round, pause);
        let mut n_looks = 0;
        while crew.n_lanes_open.load(Ordering::Acquire) > 0 {
            if result.is_err() {
                crew.is_stopped.store(true, Ordering::Relaxed);
            } else {
                result = pause();
            }
            n_looks += 1;
            if n_looks > N_LOOKS { thread::yield_now() } else { std::hint::spin_loop() }
        }
        result
    }

    /// The lanes of this step.
    pub fn lanes(&self) -> Result<Vec<MutexGuard<'_, Lane>>> {
        let mut lanes = Vec::new();
        lanes.try_reserve_exact(self.n_open).map_err(Error::out_of_memory("the hold on the lanes"))?;
        lanes.extend(self.crew.lanes[..self.n_open].iter().map(lock));
        Ok(lanes)
    }
}

impl<S, P> Drop for Foreman<'_, '_, S, P> {
    fn drop(&mut self) {
        self.crew.is_over.store(true, Ordering::Release);
        self.workers.iter().for_each(Thread::unpark);
    }
}
