//! Configures the build for its Python: whether it is free-threaded, and how macOS links a module.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
    pyo3_build_config::add_extension_module_link_args();
}
