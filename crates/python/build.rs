//! Tells the seam about the Python that it is built for: whether it is free-threaded.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
