//! Lets the tests of this crate find the library of the Python with which they are linked. The
//! worker gets the path of the library when it is started, because it may run with another
//! environment of the same version.

fn main() {
    pyo3_build_config::add_libpython_rpath_link_args();
}
