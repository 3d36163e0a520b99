//! Versions of Python and of the ML frameworks that it would import, from files; nothing is
//! imported.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use rsb_model::rocm::RocmInstallation;

use crate::host::Host;
use crate::rocm;

mod find;
mod layout;
mod packages;

pub use packages::FRAMEWORKS;

use find::PythonCandidate;
use layout::Layout;

/// How long an interpreter may take to report its version, if no file contains it.
const CHILD_LIMIT: Duration = Duration::from_secs(2);

/// Facts about the interpreter and its packages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Python {
    pub(crate) version: Option<String>,
    /// Versions of frameworks by package name.
    pub(crate) frameworks: BTreeMap<String, String>,
    /// Installations of ROCm from Python packages.
    pub(crate) rocm: Vec<RocmInstallation>,
}

/// Returns the interpreter that framework workloads start, by the name under which it is called.
pub(crate) fn program(host: &Host) -> Option<PathBuf> {
    find::interpreter(host).map(|found| match found {
        PythonCandidate::Program(program) | PythonCandidate::Launcher(program) => program,
    })
}

/// Returns the interpreter that a flag or a variable of this project names, even if there is no
/// such interpreter.
pub(crate) fn configured_program(host: &Host) -> Option<PathBuf> {
    find::configured_program(host).map(PathBuf::from)
}

/// Returns the directory of the environment that this project makes for its user.
pub(crate) fn own_environment(host: &Host) -> Option<PathBuf> {
    find::own_environment(host)
}

/// Reads the files around the interpreter.
pub(crate) fn read(host: &Host) -> Python {
    read_within(host, CHILD_LIMIT)
}

fn read_within(host: &Host, limit: Duration) -> Python {
    let layout = match find::interpreter(host) {
        Some(PythonCandidate::Program(program)) => Layout::of(&program, limit),
        // Only the launcher can determine its interpreter, so it has to be run.
        Some(PythonCandidate::Launcher(program)) => Layout::by_asking(&program, limit),
        None => None,
    };
    let Some(layout) = layout else { return Python::default() };
    let search_path = layout.search_path(host);
    let (frameworks, rocm) = (packages::frameworks(&search_path), rocm::wheels(&search_path));
    Python { version: Some(layout.version), frameworks, rocm }
}

#[cfg(test)]
mod tests;
