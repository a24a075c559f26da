//! The digest that tells whether an input changed: XXH3, 128 bits.

use pyo3::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use crate::exclusive::Exclusive;

/// Computes the digest of the bytes pushed.
#[pyclass(frozen, module = "pairloom._core")]
pub struct ContentDigest {
    /// Boxed, because its alignment is 64 bytes.
    inner: Exclusive<Box<Xxh3>>,
}

#[pymethods]
impl ContentDigest {
    #[new]
    fn new() -> Self {
        ContentDigest { inner: Exclusive::new("ContentDigest", Box::new(Xxh3::new())) }
    }

    fn push(&self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        let inner = &mut **self.inner.lock()?;
        py.detach(|| inner.update(data));
        Ok(())
    }

    fn hex(&self) -> PyResult<String> {
        Ok(format!("{:032x}", self.inner.lock()?.digest128()))
    }
}
