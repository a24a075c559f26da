//! Runs numbered jobs on several threads and collects their results in order.
//!
//! Threads take the number of the next job from an atomic counter. Only the calling thread collects results, in job
//! order and as soon as possible, and only it reports progress, so `collect` and `report` may call into an interpreter.
//! Results are reused: a later job refills a collected one.
//!
//! A thread that is far ahead of the collector waits ([`OrderedJobs::max_waiting`]), so memory is bounded however many
//! jobs there are.
//!
//! The error returned is that of the first failed job, in job order: all jobs before it are finished, and a single
//! thread would report the same error.
//!
//! Tried: reserving jobs for the calling thread, which then appends its results directly. No difference beyond noise
//! (`cargo run --release --example encode`).

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::spawn_scoped;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::monitor::{OnProgress, REPORT_EVERY, Ticker};

/// Named in [`Error::OutOfMemory`].
const RESULTS: &str = "the results of threads";

/// The work of one call.
#[derive(Clone, Copy)]
pub(crate) struct OrderedJobs {
    pub(crate) n_jobs: usize,
    /// Number of results that may wait for the collector; threads that add more have to wait. With `n_jobs` no thread
    /// ever waits.
    pub(crate) max_waiting: usize,
    /// The name of the threads that are started.
    pub(crate) thread_name: &'static str,
}

/// Results that wait for the collector, and results to be reused. Both lists have capacity for all results that can
/// exist.
struct Results<R> {
    waiting: Vec<(usize, Result<R>)>,
    spare: Vec<R>,
}

/// What all threads share.
struct JobQueue<R> {
    next_job: AtomicUsize,
    /// Jobs from this number on are not started: there are no more, or an earlier job failed.
    end: AtomicUsize,
    is_stopped: AtomicBool,
    /// The sum of the progress of all jobs.
    n_done: AtomicU64,
    results: Mutex<Results<R>>,
    /// Signalled after a result was collected.
    collected: Condvar,
    max_waiting: usize,
}

impl OrderedJobs {
    /// Runs all jobs, with a thread for each of `states`, which must not be empty.
    ///
    /// `job` fills the result of the job with a given number. `collect` takes the content of each result, in order.
    /// `report` receives the total of what the jobs passed to `on_progress`, about ten times a second; if it fails, the
    /// work stops and its error is returned.
    pub(crate) fn run<S: Send, R: Send + Default>(
        self,
        states: &mut [S],
        job: impl Fn(&mut S, usize, &mut R, OnProgress<'_>) -> Result<()> + Sync,
        collect: impl FnMut(&mut R, OnProgress<'_>) -> Result<()>,
        report: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        // Each thread adds one more result before it waits.
        let n_results = self.max_waiting.min(self.n_jobs) + states.len() + 1;
        let results = Results {
            waiting: Vec::with_reserved(n_results, RESULTS)?,
            spare: Vec::with_reserved(n_results, RESULTS)?,
        };
        let queue = JobQueue {
            next_job: AtomicUsize::new(0),
            end: AtomicUsize::new(self.n_jobs),
            is_stopped: AtomicBool::new(false),
            n_done: AtomicU64::new(0),
            results: Mutex::new(results),
            collected: Condvar::new(),
            max_waiting: self.max_waiting,
        };
        let Some((own, others)) = states.split_first_mut() else { return Ok(()) };
        thread::scope(|scope| {
            let (sender, finished) = mpsc::sync_channel::<()>(1);
            let mut is_alone = true;
            for state in others.iter_mut().take(self.n_jobs.saturating_sub(1)) {
                let (sender, queue, job) = (sender.clone(), &queue, &job);
                let work = move || {
                    let mut result = R::default();
                    while let Some(number) = queue.take_job() {
                        let done = job(state, number, &mut result, &mut |n_done| queue.tick(n_done));
                        queue.add_result(number, done.map(|()| std::mem::take(&mut result)));
                        // The channel is full if the calling thread already has a signal, and disconnected once it
                        // knows of a failure.
                        let _ = sender.try_send(());
                        result = queue.wait_for_room();
                    }
                };
                if spawn_scoped(scope, self.thread_name, work).is_err() {
                    break;
                }
                is_alone = false;
            }
            drop(sender);
            // However this ends, no thread may be left waiting for room.
            let _stop = StopOnDrop(&queue);
            let mut collector = Collector { queue: &queue, collect, next: 0 };
            let mut interruption = Ok(());
            let mut ticker = Ticker::start();
            let mut on_progress = |n_done| {
                queue.tick(n_done)?;
                if ticker.is_due()
                    && let Err(error) = report(queue.n_done.load(Ordering::Relaxed))
                {
                    interruption = Err(error);
                    queue.is_stopped.store(true, Ordering::Relaxed);
                    return Err(Error::Interrupted);
                }
                Ok(())
            };
            let mut failure = collector.collect_ready(&mut on_progress);
            while failure.is_ok()
                && let Some(number) = queue.take_job()
            {
                let mut result = queue.spare();
                let done = job(own, number, &mut result, &mut on_progress);
                queue.add_result(number, done.map(|()| result));
                failure = collector.collect_ready(&mut on_progress);
            }
            while failure.is_ok() && !is_alone {
                let waited = finished.recv_timeout(REPORT_EVERY);
                // After a failed report the other threads stop; wait for them in any case.
                let _ = on_progress(0);
                failure = collector.collect_ready(&mut on_progress);
                if waited == Err(RecvTimeoutError::Disconnected) {
                    break;
                }
            }
            interruption.and(failure)
        })
    }
}

/// The calling thread's side of the queue.
struct Collector<'a, R, C> {
    queue: &'a JobQueue<R>,
    collect: C,
    next: usize,
}

impl<R: Default, C: FnMut(&mut R, OnProgress<'_>) -> Result<()>> Collector<'_, R, C> {
    /// Collects all results whose turn it is; returns the first error in job order.
    fn collect_ready(&mut self, on_progress: OnProgress<'_>) -> Result<()> {
        while let Some(result) = self.queue.take_result(self.next) {
            self.next += 1;
            let mut result = result?;
            (self.collect)(&mut result, on_progress)?;
            self.queue.lock().spare.push(result);
            self.queue.collected.notify_all();
            // Report here too: other threads can add results as fast as they are collected.
            on_progress(0)?;
        }
        Ok(())
    }
}

impl<R: Default> JobQueue<R> {
    fn lock(&self) -> MutexGuard<'_, Results<R>> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self, n_done: usize) -> Result<()> {
        self.n_done.fetch_add(n_done as u64, Ordering::Relaxed);
        if self.is_stopped.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Returns the number of the next job, or `None` if all have been started.
    fn take_job(&self) -> Option<usize> {
        let number = self.next_job.fetch_add(1, Ordering::Relaxed);
        let is_wanted = number < self.end.load(Ordering::Relaxed) && !self.is_stopped.load(Ordering::Relaxed);
        is_wanted.then_some(number)
    }

    /// Adds a result to those that wait for the collector.
    fn add_result(&self, number: usize, result: Result<R>) {
        if result.is_err() {
            self.end.fetch_min(number, Ordering::Relaxed);
        }
        self.lock().waiting.push((number, result));
    }

    /// Takes the result of a job, if it is finished.
    fn take_result(&self, number: usize) -> Option<Result<R>> {
        let waiting = &mut self.lock().waiting;
        let at = waiting.iter().position(|&(n, _)| n == number)?;
        Some(waiting.swap_remove(at).1)
    }

    /// Returns a result to be filled.
    fn spare(&self) -> R {
        self.lock().spare.pop().unwrap_or_default()
    }

    /// Waits until not too many results wait for the collector; returns a result to be filled.
    fn wait_for_room(&self) -> R {
        let is_full = |results: &mut Results<R>| {
            results.waiting.len() > self.max_waiting && !self.is_stopped.load(Ordering::Relaxed)
        };
        let waited = self.collected.wait_while(self.lock(), is_full);
        waited.unwrap_or_else(PoisonError::into_inner).spare.pop().unwrap_or_default()
    }
}

/// Stops the other threads when the calling thread finishes or fails.
struct StopOnDrop<'a, R>(&'a JobQueue<R>);

impl<R> Drop for StopOnDrop<'_, R> {
    fn drop(&mut self) {
        self.0.is_stopped.store(true, Ordering::Relaxed);
        // Hold the lock, so that no thread is between checking the condition and waiting.
        let _results = self.0.results.lock();
        self.0.collected.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn run<R: Send + Default>(
        threads: usize,
        job: impl Fn(usize, &mut R, OnProgress<'_>) -> Result<()> + Sync,
        collect: impl FnMut(&mut R, OnProgress<'_>) -> Result<()>,
        report: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let jobs = OrderedJobs { n_jobs: 500, max_waiting: 3 * threads, thread_name: "test" };
        let mut states = vec![(); threads];
        jobs.run(
            &mut states,
            |(), number, result, on_progress| job(number, result, on_progress),
            collect,
            report,
        )
    }

    #[test]
    fn results_are_collected_in_order() {
        for threads in [1, 2, 7] {
            let mut collected = Vec::new();
            let job = |number, result: &mut Vec<usize>, on_progress: OnProgress<'_>| {
                result.push(number);
                on_progress(1)
            };
            let collect = |result: &mut Vec<usize>, _: OnProgress<'_>| {
                collected.append(result);
                Ok(())
            };
            run(threads, job, collect, &mut |_| Ok(())).unwrap();
            assert_eq!(collected, (0..500).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_failure_in_order_is_returned() {
        for threads in [1, 2, 7] {
            let job = |number: usize, _: &mut (), _: OnProgress<'_>| match number {
                100.. => Err(Error::UnknownTokenId { id: number as i64 }),
                _ => Ok(()),
            };
            let mut n_collected = 0;
            let collect = |(): &mut (), _: OnProgress<'_>| {
                n_collected += 1;
                Ok(())
            };
            match run(threads, job, collect, &mut |_| Ok(())) {
                Err(Error::UnknownTokenId { id: 100 }) => assert_eq!(n_collected, 100),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_failed_report_stops_the_work() {
        let job = |_, _: &mut (), on_progress: OnProgress<'_>| {
            thread::sleep(Duration::from_millis(5));
            on_progress(1)
        };
        let report = &mut |done| if done > 0 { Err(Error::Invalid("enough".into())) } else { Ok(()) };
        match run(3, job, |_, _| Ok(()), report) {
            Err(Error::Invalid(message)) => assert_eq!(message, "enough"),
            other => panic!("{other:?}"),
        }
    }
}
