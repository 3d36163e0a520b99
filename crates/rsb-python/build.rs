//! Lets the tests of this crate find the library of the Python that they are linked with. The
//! worker itself gets the library at its start, because it may serve another environment of the
//! same version.

fn main() {
    pyo3_build_config::add_libpython_rpath_link_args();
}
