//! The version of Python and of the ML frameworks that it would import, from files: nothing is imported.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::host::Host;

mod find;
mod layout;
mod packages;

use find::Found;
use layout::Layout;

/// How long an interpreter may take to say its version, where no file does.
const CHILD_LIMIT: Duration = Duration::from_secs(2);

/// Version of Python, and versions of frameworks by the names of their packages.
pub(crate) fn read(host: &Host) -> (Option<String>, BTreeMap<String, String>) {
    read_within(host, CHILD_LIMIT)
}

fn read_within(host: &Host, limit: Duration) -> (Option<String>, BTreeMap<String, String>) {
    let layout = match find::interpreter(host) {
        Some(Found::Program(program)) => Layout::of(&program, limit),
        // A launcher that only it can resolve: asking is the fallback.
        Some(Found::Launcher(program)) => Layout::by_asking(&program, limit),
        None => None,
    };
    let Some(layout) = layout else { return (None, BTreeMap::new()) };
    let frameworks = packages::frameworks(&layout.search_path(host));
    (Some(layout.version), frameworks)
}

#[cfg(test)]
mod tests;
