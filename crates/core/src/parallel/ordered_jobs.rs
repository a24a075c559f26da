//! Work in numbered jobs over all threads, joined in order.
//!
//! Enters: how many jobs there are, what one does, how its product joins those before it. Threads take the
//! next job from one atomic number. The calling thread works too; it alone joins products, as soon as their
//! turn has come and before it takes another job, and it alone calls the monitor: so both may do what only
//! that thread may. A thread that is far ahead of the joining waits. What was joined is handed out again to be
//! filled anew, so that products are few however many jobs there are. Where a thread cannot be started the others
//! do its work. No thread outlives the call.
//!
//! The error that is returned is that of the first job that failed, in the order of the jobs: those before it
//! are finished, those after it are not begun.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::monitor::{Monitor, OnProgress, REPORT_EVERY, Stage};
use crate::parallel;

/// Products that may wait for their turn, for each thread.
const WAITING_PER_THREAD: usize = 3;

/// What is reserved; named in [`Error::OutOfMemory`].
const PRODUCTS: &str = "the results of threads";

/// A call's work.
pub(crate) struct OrderedJobs<'a> {
    pub(crate) n_jobs: usize,
    /// At most; 0 for all there are.
    pub(crate) threads: usize,
    pub(crate) monitor: &'a dyn Monitor,
    /// Bytes of text in all jobs.
    pub(crate) n_bytes: u64,
}

/// The products that wait for their turn, and those to be used again. Both have room for all that there can be.
struct Products<P> {
    waiting: Vec<(usize, Result<P>)>,
    spare: Vec<P>,
}

/// What all threads see.
struct JobQueue<P> {
    next_job: AtomicUsize,
    /// Jobs from this number on are not begun.
    wanted: AtomicUsize,
    stop: AtomicBool,
    done_bytes: AtomicU64,
    products: Mutex<Products<P>>,
    /// Signalled when products were joined.
    joined: Condvar,
    most_waiting: usize,
}

impl OrderedJobs<'_> {
    /// Runs all jobs; `job` fills a product it is given, `join` takes over its content.
    pub(crate) fn run<P: Send + Default>(
        &self,
        job: impl Fn(usize, &mut P, OnProgress<'_>) -> Result<()> + Sync,
        join: impl FnMut(&mut P, OnProgress<'_>) -> Result<()>,
    ) -> Result<()> {
        self.monitor.report(Stage::Encode, 0, self.n_bytes)?;
        let n_threads = parallel::wanted(self.threads).min(self.n_jobs).max(1);
        let most_waiting = WAITING_PER_THREAD * n_threads;
        // Each thread leaves one more before it waits.
        let n_products = most_waiting + n_threads + 1;
        let products = Products {
            waiting: Vec::with_room(n_products, PRODUCTS)?,
            spare: Vec::with_room(n_products, PRODUCTS)?,
        };
        let queue = JobQueue {
            next_job: AtomicUsize::new(0),
            wanted: AtomicUsize::new(self.n_jobs),
            stop: AtomicBool::new(false),
            done_bytes: AtomicU64::new(0),
            products: Mutex::new(products),
            joined: Condvar::new(),
            most_waiting,
        };
        thread::scope(|scope| self.work(scope, n_threads, &queue, &job, join))?;
        self.monitor.report(Stage::Encode, self.n_bytes, self.n_bytes)
    }

    /// Starts the other threads, works, joins, waits for them.
    fn work<'scope, P: Send + Default>(
        &self,
        scope: &'scope thread::Scope<'scope, '_>,
        n_threads: usize,
        queue: &'scope JobQueue<P>,
        job: &'scope (impl Fn(usize, &mut P, OnProgress<'_>) -> Result<()> + Sync),
        join: impl FnMut(&mut P, OnProgress<'_>) -> Result<()>,
    ) -> Result<()> {
        let (sender, handed_in) = mpsc::sync_channel::<()>(1);
        for _ in 1..n_threads {
            let sender = sender.clone();
            let others = move || {
                let mut product = P::default();
                while let Some(number) = queue.take_job() {
                    let done = job(number, &mut product, &mut |n_bytes| queue.tick(n_bytes));
                    queue.hand_in(number, done.map(|()| std::mem::take(&mut product)));
                    // Full where the calling thread was told already; gone once the first failure is known.
                    let _ = sender.try_send(());
                    product = queue.wait_for_room();
                }
            };
            if parallel::spawn_scoped(scope, "pairloom-encode", others).is_err() {
                break;
            }
        }
        drop(sender);
        // However this ends: nobody may wait for room that nobody makes.
        let _stop = StopOnDrop(queue);
        let mut collector = Collector { queue, join, next: 0 };
        let mut interruption = Ok(());
        let mut reported = Instant::now();
        let mut on_progress = |n_bytes| {
            queue.tick(n_bytes)?;
            if reported.elapsed() >= REPORT_EVERY {
                reported = Instant::now();
                let done = queue.done_bytes.load(Ordering::Relaxed).min(self.n_bytes);
                if let Err(error) = self.monitor.report(Stage::Encode, done, self.n_bytes) {
                    interruption = Err(error);
                    queue.stop.store(true, Ordering::Relaxed);
                    return Err(Error::Interrupted);
                }
            }
            Ok(())
        };
        let mut failure = collector.join_ready(&mut on_progress);
        while failure.is_ok()
            && let Some(number) = queue.take_job()
        {
            let mut product = queue.spare();
            let done = job(number, &mut product, &mut on_progress);
            queue.hand_in(number, done.map(|()| product));
            failure = collector.join_ready(&mut on_progress);
        }
        while failure.is_ok() {
            let waited = handed_in.recv_timeout(REPORT_EVERY);
            // A failed report tells the other threads to stop; they are waited for all the same.
            let _ = on_progress(0);
            failure = collector.join_ready(&mut on_progress);
            if waited == Err(RecvTimeoutError::Disconnected) {
                break;
            }
        }
        interruption.and(failure)
    }
}

/// The calling thread's side of the queue.
struct Collector<'a, P, J> {
    queue: &'a JobQueue<P>,
    join: J,
    next: usize,
}

impl<P: Default, J: FnMut(&mut P, OnProgress<'_>) -> Result<()>> Collector<'_, P, J> {
    /// Joins all products whose turn it is; an error is the first in order.
    fn join_ready(&mut self, on_progress: OnProgress<'_>) -> Result<()> {
        while let Some(product) = self.queue.take_product(self.next) {
            self.next += 1;
            let mut product = product?;
            (self.join)(&mut product, on_progress)?;
            self.queue.lock().spare.push(product);
            self.queue.joined.notify_all();
            // Others may hand in products as fast as they are joined.
            on_progress(0)?;
        }
        Ok(())
    }
}

impl<P: Default> JobQueue<P> {
    fn lock(&self) -> MutexGuard<'_, Products<P>> {
        self.products.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self, n_bytes: usize) -> Result<()> {
        self.done_bytes.fetch_add(n_bytes as u64, Ordering::Relaxed);
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// The number of a job to do.
    fn take_job(&self) -> Option<usize> {
        let number = self.next_job.fetch_add(1, Ordering::Relaxed);
        let is_wanted = number < self.wanted.load(Ordering::Relaxed) && !self.stop.load(Ordering::Relaxed);
        is_wanted.then_some(number)
    }

    /// Leaves a product to be joined.
    fn hand_in(&self, number: usize, product: Result<P>) {
        if product.is_err() {
            self.wanted.fetch_min(number, Ordering::Relaxed);
        }
        self.lock().waiting.push((number, product));
    }

    /// The product of a job, if it is there.
    fn take_product(&self, number: usize) -> Option<Result<P>> {
        let waiting = &mut self.lock().waiting;
        let at = waiting.iter().position(|&(n, _)| n == number)?;
        Some(waiting.swap_remove(at).1)
    }

    /// A product to be filled.
    fn spare(&self) -> P {
        self.lock().spare.pop().unwrap_or_default()
    }

    /// The same, once not too many wait to be joined.
    fn wait_for_room(&self) -> P {
        let is_full = |products: &mut Products<P>| {
            products.waiting.len() > self.most_waiting && !self.stop.load(Ordering::Relaxed)
        };
        let waited = self.joined.wait_while(self.lock(), is_full);
        waited.unwrap_or_else(PoisonError::into_inner).spare.pop().unwrap_or_default()
    }
}

/// Ends the work of the other threads when the calling thread is done, or fails.
struct StopOnDrop<'a, P>(&'a JobQueue<P>);

impl<P> Drop for StopOnDrop<'_, P> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
        // Under the lock, so that nobody is between looking and waiting.
        let _products = self.0.products.lock();
        self.0.joined.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::monitor::Silent;

    fn jobs(n_jobs: usize, threads: usize) -> OrderedJobs<'static> {
        OrderedJobs { n_jobs, threads, monitor: &Silent, n_bytes: n_jobs as u64 }
    }

    #[test]
    fn products_are_joined_in_order() {
        for threads in [1, 2, 7] {
            let mut joined = Vec::new();
            let job = |number, product: &mut Vec<usize>, on_progress: OnProgress<'_>| {
                product.push(number);
                on_progress(1)
            };
            let join = |product: &mut Vec<usize>, _: OnProgress<'_>| {
                joined.append(product);
                Ok(())
            };
            jobs(500, threads).run(job, join).unwrap();
            assert_eq!(joined, (0..500).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_failure_in_order_is_returned() {
        for threads in [1, 2, 7] {
            let job = |number: usize, _: &mut (), _: OnProgress<'_>| match number {
                100.. => Err(Error::UnknownTokenId { id: number as i64 }),
                _ => Ok(()),
            };
            let mut n_joined = 0;
            let join = |(): &mut (), _: OnProgress<'_>| {
                n_joined += 1;
                Ok(())
            };
            match jobs(500, threads).run(job, join) {
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
        let jobs = OrderedJobs { monitor: &Impatient, ..jobs(1000, 3) };
        let job = |_, _: &mut (), on_progress: OnProgress<'_>| {
            thread::sleep(Duration::from_millis(5));
            on_progress(1)
        };
        match jobs.run(job, |_, _| Ok(())) {
            Err(Error::Invalid(message)) => assert_eq!(message, "enough"),
            other => panic!("{other:?}"),
        }
    }
}
