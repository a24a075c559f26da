//! The threads of one call: how many are wanted, and starting one only where there is room for it.
//!
//! A thread that finds no memory for its thread-local data does not fail: the C library ends the process. So a
//! thread is started only where the address space has room to spare, and the room is kept until the thread has its
//! data; where there is none, the threads that are there do the work.

pub(crate) mod ordered_jobs;

use std::io;
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

/// What must be free before a thread is started: its stack, its arena, its thread-local data.
const ROOM_BYTES: usize = 16 << 20;

/// More threads than this for each processor never made anything faster.
const MOST_PER_PROCESSOR: usize = 4;

/// As many threads may be asked for on any machine: what comes out does not depend on the number, which tests rely
/// on.
const MOST_ANYWHERE: usize = 16;

/// How many threads to use when `threads` are asked for: 0 asks for all there are, and so many that they cannot help
/// are fewer.
pub(crate) fn wanted(threads: usize) -> usize {
    let n_processors = thread::available_parallelism().map_or(1, usize::from);
    match threads {
        0 => n_processors,
        n => n.min((MOST_PER_PROCESSOR * n_processors).max(MOST_ANYWHERE)),
    }
}

/// Starts a thread that ends with `scope`, or says why it cannot.
pub(crate) fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    // Mapped and given back untouched: some microseconds.
    let room = memmap2::MmapMut::map_anon(ROOM_BYTES)?;
    Builder::new().name(name.to_owned()).spawn_scoped(scope, move || {
        // The standard library has stored the thread's handle, so its thread-local data exist.
        drop(room);
        work()
    })
}
