//! The threads of one call: how many are wanted, and starting one only where there is room for it.
//!
//! A thread that finds no memory for its thread-local data does not fail: the C library ends the process.
//! So a thread is started only if the address space has room to spare; where it has not, the threads
//! that are there do the work.

use std::io;
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

/// What must be free before a thread is started: its stack, its arena, its thread-local data.
const ROOM_BYTES: usize = 16 << 20;

/// How many threads to use when `threads` are asked for; 0 asks for all there are.
pub(crate) fn wanted(threads: usize) -> usize {
    match threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
}

/// Starts a thread that ends with `scope`, or says why it cannot.
pub(crate) fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    // Mapped and given back untouched: some microseconds.
    drop(memmap2::MmapMut::map_anon(ROOM_BYTES)?);
    Builder::new().name(name.to_owned()).spawn_scoped(scope, work)
}
