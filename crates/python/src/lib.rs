//! The Python seam: borrow, release the interpreter, call the core, convert.

use pyo3::prelude::*;

#[pymodule]
mod _core {}
