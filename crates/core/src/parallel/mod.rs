//! Threads: how many are used, how one is started, and how work is divided among them.
//!
//! Threads live only within a call, so a fork finds none. The calling thread always takes part, so the work gets done
//! even if no thread can be started.

mod ordered_jobs;

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

use crate::error::Result;

pub(crate) use ordered_jobs::OrderedJobs;

/// Address space that must be free before a thread is started: its stack, its arena, its thread-local data.
const ROOM_BYTES: usize = 16 << 20;

/// More threads than this per processor never made anything faster.
const MAX_PER_PROCESSOR: usize = 4;

/// This many threads are allowed on any machine, so that tests can check that results do not depend on their number.
const MIN_THREAD_LIMIT: usize = 16;

/// Returns the number of threads to use if the caller asks for `threads`. 0 means one per processor; larger numbers are
/// capped at what can help.
pub(crate) fn thread_count(threads: usize) -> usize {
    let n_processors = thread::available_parallelism().map_or(1, usize::from);
    match threads {
        0 => n_processors,
        n => n.min((MAX_PER_PROCESSOR * n_processors).max(MIN_THREAD_LIMIT)),
    }
}

/// Starts a thread that ends with `scope`, or returns the error if that is not possible.
///
/// If there is no memory for a new thread's thread-local data, the C library ends the process instead of returning an
/// error. So a thread is started only if [`ROOM_BYTES`] of address space can be mapped, and the mapping is kept until
/// the thread has its data.
pub(crate) fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    // Mapping and unmapping untouched memory takes some microseconds.
    let room = memmap2::MmapMut::map_anon(ROOM_BYTES)?;
    Builder::new().name(name.to_owned()).spawn_scoped(scope, move || {
        // The standard library has already stored the thread's handle, so its thread-local data exists.
        drop(room);
        work()
    })
}

/// Calls `work` for all items on up to `threads` threads; returns the first error that occurs.
pub(crate) fn for_each<T: Send>(
    threads: usize,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    let queue = Mutex::new(items);
    let failure = Mutex::new(None);
    let take_all = || {
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(item) = next() {
            if let Err(error) = work(item) {
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                break;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            if spawn_scoped(scope, "pairloom", take_all).is_err() {
                break;
            }
        }
        take_all();
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
