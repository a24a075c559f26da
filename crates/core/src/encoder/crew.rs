//! Work in numbered jobs over all threads, joined in order.
//!
//! Enters: how many jobs there are, what one does, how its product joins those before it. Threads take the
//! next job from one atomic number; whoever finishes the job that the join waits for joins it, and all that
//! follow it and are finished, while the others go on. What was joined is handed out again to be filled anew,
//! so that products are few however many jobs there are. The calling thread works too and alone calls the
//! monitor; where a thread cannot be started the others do its work. No thread outlives the call.
//!
//! The error that is returned is that of the first job that failed, in the order of the jobs: those before it
//! are finished, those after it are not begun.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::monitor::{Monitor, Stage};
use crate::threads;

/// How often the monitor is called.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// What a job calls now and then with the bytes of text it has done since; on an error it ends.
pub(super) type Pulse<'a> = &'a mut dyn FnMut(usize) -> Result<()>;

/// A call's work.
pub(super) struct Crew<'a> {
    pub(super) n_jobs: usize,
    /// At most; 0 for all there are.
    pub(super) threads: usize,
    pub(super) monitor: &'a dyn Monitor,
    /// Bytes of text in all jobs.
    pub(super) n_bytes: u64,
}

/// The products that wait for their turn, and those to be used again.
struct Joint<P, J> {
    next: usize,
    waiting: Vec<(usize, Result<P>)>,
    spare: Vec<P>,
    join: J,
    failure: Option<Error>,
}

/// What all threads see.
struct Board<'a, P, J> {
    next_job: AtomicUsize,
    /// Jobs from this number on are not begun.
    wanted: AtomicUsize,
    stop: AtomicBool,
    done_bytes: AtomicU64,
    joint: &'a Mutex<Joint<P, J>>,
}

impl Crew<'_> {
    /// Runs all jobs; `job` fills a product it is given, `join` takes over its content.
    pub(super) fn run<P: Send + Default>(
        &self,
        job: impl Fn(usize, &mut P, Pulse<'_>) -> Result<()> + Sync,
        join: impl FnMut(&mut P) -> Result<()> + Send,
    ) -> Result<()> {
        self.monitor.report(Stage::Encode, 0, self.n_bytes)?;
        let joint =
            Mutex::new(Joint { next: 0, waiting: Vec::new(), spare: Vec::new(), join, failure: None });
        let board = Board {
            next_job: AtomicUsize::new(0),
            wanted: AtomicUsize::new(self.n_jobs),
            stop: AtomicBool::new(false),
            done_bytes: AtomicU64::new(0),
            joint: &joint,
        };
        let interruption = thread::scope(|scope| self.work(scope, &board, &job));
        interruption?;
        let joint = joint.into_inner().unwrap_or_else(PoisonError::into_inner);
        joint.failure.map_or(Ok(()), Err)?;
        self.monitor.report(Stage::Encode, self.n_bytes, self.n_bytes)
    }

    /// Starts the other threads, works, waits for them; an error is the monitor's.
    fn work<'scope, P: Send + Default, J: FnMut(&mut P) -> Result<()> + Send>(
        &self,
        scope: &'scope thread::Scope<'scope, '_>,
        board: &'scope Board<'_, P, J>,
        job: &'scope (impl Fn(usize, &mut P, Pulse<'_>) -> Result<()> + Sync),
    ) -> Result<()> {
        let (sender, finished) = mpsc::channel::<()>();
        for _ in 1..threads::wanted(self.threads).min(self.n_jobs) {
            let sender = sender.clone();
            let others = move || {
                board.take_jobs(job, &mut |n_bytes| board.tick(n_bytes));
                // Dropped when this thread is done, which is all that the receiver waits for.
                drop(sender);
            };
            if threads::spawn_scoped(scope, "pairloom-encode", others).is_err() {
                break;
            }
        }
        drop(sender);
        let mut interruption = Ok(());
        let mut reported = Instant::now();
        let mut pulse = |n_bytes| {
            board.tick(n_bytes)?;
            if reported.elapsed() >= REPORT_EVERY {
                reported = Instant::now();
                let done = board.done_bytes.load(Ordering::Relaxed).min(self.n_bytes);
                if let Err(error) = self.monitor.report(Stage::Encode, done, self.n_bytes) {
                    interruption = Err(error);
                    board.stop.store(true, Ordering::Relaxed);
                    return Err(Error::Interrupted);
                }
            }
            Ok(())
        };
        board.take_jobs(job, &mut pulse);
        while finished.recv_timeout(REPORT_EVERY) == Err(RecvTimeoutError::Timeout) {
            // A failed report has told the other threads to stop; they are waited for all the same.
            let _ = pulse(0);
        }
        interruption
    }
}

impl<P: Default, J: FnMut(&mut P) -> Result<()>> Board<'_, P, J> {
    fn tick(&self, n_bytes: usize) -> Result<()> {
        self.done_bytes.fetch_add(n_bytes as u64, Ordering::Relaxed);
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    fn take_jobs(&self, job: &impl Fn(usize, &mut P, Pulse<'_>) -> Result<()>, pulse: Pulse<'_>) {
        let mut product = P::default();
        loop {
            let number = self.next_job.fetch_add(1, Ordering::Relaxed);
            if number >= self.wanted.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed) {
                break;
            }
            let done = job(number, &mut product, pulse);
            if done.is_err() {
                self.wanted.fetch_min(number, Ordering::Relaxed);
            }
            product = self.hand_in(number, done.map(|()| product));
        }
    }

    /// Leaves a product to be joined, joins all whose turn it is, gives one to be filled anew.
    fn hand_in(&self, number: usize, product: Result<P>) -> P {
        let mut joint = self.joint.lock().unwrap_or_else(PoisonError::into_inner);
        let Joint { next, waiting, spare, join, failure } = &mut *joint;
        waiting.push((number, product));
        while failure.is_none()
            && let Some(at) = waiting.iter().position(|(number, _)| number == next)
        {
            let (_, product) = waiting.swap_remove(at);
            *next += 1;
            let joined = product.and_then(|mut product| {
                join(&mut product)?;
                Ok(product)
            });
            match joined {
                Ok(product) => spare.push(product),
                Err(error) => {
                    self.wanted.store(0, Ordering::Relaxed);
                    *failure = Some(error);
                }
            }
        }
        spare.pop().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::Silent;

    fn crew(n_jobs: usize, threads: usize) -> Crew<'static> {
        Crew { n_jobs, threads, monitor: &Silent, n_bytes: n_jobs as u64 }
    }

    #[test]
    fn products_are_joined_in_order() {
        for threads in [1, 2, 7] {
            let mut joined = Vec::new();
            let job = |number, product: &mut Vec<usize>, pulse: Pulse<'_>| {
                product.push(number);
                pulse(1)
            };
            let join = |product: &mut Vec<usize>| {
                joined.append(product);
                Ok(())
            };
            crew(500, threads).run(job, join).unwrap();
            assert_eq!(joined, (0..500).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_failure_in_order_is_returned() {
        for threads in [1, 2, 7] {
            let job = |number: usize, _: &mut (), _: Pulse<'_>| match number {
                100.. => Err(Error::UnknownTokenId { id: number as i64 }),
                _ => Ok(()),
            };
            let mut n_joined = 0;
            let join = |(): &mut ()| {
                n_joined += 1;
                Ok(())
            };
            match crew(500, threads).run(job, join) {
                Err(Error::UnknownTokenId { id: 100 }) => assert_eq!(n_joined, 100),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_monitor_stops_the_work() {
        struct Impatient;
        impl Monitor for Impatient {
            fn report(&self, _stage: Stage, done: u64, _total: u64) -> Result<()> {
                if done > 0 { Err(Error::Invalid("enough".into())) } else { Ok(()) }
            }
        }
        let crew = Crew { monitor: &Impatient, ..crew(1000, 3) };
        let job = |_, _: &mut (), pulse: Pulse<'_>| {
            thread::sleep(Duration::from_millis(5));
            pulse(1)
        };
        match crew.run(job, |_| Ok(())) {
            Err(Error::Invalid(message)) => assert_eq!(message, "enough"),
            other => panic!("{other:?}"),
        }
    }
}
