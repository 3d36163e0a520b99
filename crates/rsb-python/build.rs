//! The tests of this crate find the library of the Python that they are linked with. The worker
//! itself is told at its start: it may serve another environment of the same version.

fn main() {
    pyo3_build_config::add_libpython_rpath_link_args();
}
