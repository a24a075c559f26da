//! Mutable objects that allow one call at a time.
//!
//! Each call changes a stream, reader or counter, but Python lets threads share the object, and lets a callback use the object
//! that called it. A second call at the same time raises RuntimeError with a remedy; PyO3's own message is "Already borrowed".
//! The second call must not wait: it holds the interpreter, which the first one may need, so waiting would deadlock.

use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The state of an object of class `name`.
pub struct Exclusive<T> {
    name: &'static str,
    state: Mutex<T>,
}

impl<T> Exclusive<T> {
    /// Wraps a state that is not in use.
    pub fn new(name: &'static str, state: T) -> Self {
        Exclusive { name, state: Mutex::new(state) }
    }

    /// Locks the state; RuntimeError while another call has it.
    pub fn lock(&self) -> PyResult<MutexGuard<'_, T>> {
        self.state.try_lock().map_err(|error| refused(self.name, &error))
    }
}

/// The state of an object of class `name`: many calls can read it at once, but a call that changes it must be alone.
pub struct Shared<T> {
    name: &'static str,
    state: RwLock<T>,
}

impl<T> Shared<T> {
    /// Wraps a state that is not in use.
    pub fn new(name: &'static str, state: T) -> Self {
        Shared { name, state: RwLock::new(state) }
    }

    /// Locks the state for reading; RuntimeError while a call changes it.
    pub fn read(&self) -> PyResult<RwLockReadGuard<'_, T>> {
        self.state.try_read().map_err(|error| refused(self.name, &error))
    }

    /// Locks the state for a change; RuntimeError while another call has it.
    pub fn write(&self) -> PyResult<RwLockWriteGuard<'_, T>> {
        self.state.try_write().map_err(|error| refused(self.name, &error))
    }
}

fn refused<G>(name: &str, error: &TryLockError<G>) -> PyErr {
    PyRuntimeError::new_err(match error {
        TryLockError::WouldBlock => format!(
            "this {name} is in use by another call; give each thread its own {name}, or guard it with a threading.Lock"
        ),
        TryLockError::Poisoned(_) => {
            format!("an earlier call on this {name} failed half way; make a new one")
        }
    })
}
