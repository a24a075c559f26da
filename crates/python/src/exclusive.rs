//! Mutable objects that serve one call at a time.
//!
//! Every call changes a stream, reader or counter, but Python lets threads share it and lets a callback use the object
//! that called it. A second call meanwhile is a RuntimeError with a remedy; PyO3's own message is "Already borrowed". It
//! does not wait: the first call may need the interpreter that the second one holds, which would deadlock.

use std::sync::{Mutex, MutexGuard, TryLockError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The state of an object of class `name`.
pub struct Exclusive<T> {
    name: &'static str,
    state: Mutex<T>,
}

impl<T> Exclusive<T> {
    /// An object that no call uses.
    pub fn new(name: &'static str, state: T) -> Self {
        Exclusive { name, state: Mutex::new(state) }
    }

    /// Locks the state; RuntimeError while another call has it.
    pub fn lock(&self) -> PyResult<MutexGuard<'_, T>> {
        let name = self.name;
        self.state.try_lock().map_err(|error| {
            PyRuntimeError::new_err(match error {
                TryLockError::WouldBlock => format!(
                    "this {name} is in use by another call; give each thread a {name} of its own, or guard it with a \
                     threading.Lock"
                ),
                TryLockError::Poisoned(_) => {
                    format!("an earlier call on this {name} broke off half way; make a new one")
                }
            })
        })
    }
}
