//! Installations of ROCm, from their files. No process is started.

use std::path::{Path, PathBuf};

use rsb_model::rocm::RocmInstallation;

use crate::host::{Host, entries};

mod components;
mod installation;
mod wheels;

pub(crate) use components::{component_of, targets};
pub(crate) use wheels::wheels;

/// Where distributions put libraries.
pub(crate) const LIBRARY_DIRS: [&str; 8] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/lib64",
    "/lib",
];

/// The version of the installation that native programs here would use.
pub(crate) fn version(installations: &[RocmInstallation]) -> Option<String> {
    installations.iter().find_map(|installation| installation.version.clone())
}

/// Every installation that native programs could use, the one that counts first.
pub(crate) fn installations(host: &Host) -> Vec<RocmInstallation> {
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut found = Vec::new();
    for root in roots(host) {
        // `/opt/rocm` is mostly a link to one of the others.
        let Ok(real) = std::fs::canonicalize(&root) else { continue };
        if !seen.contains(&real) {
            found.extend(installation::in_dir(host, &root));
            seen.push(real);
        }
    }
    let dirs = LIBRARY_DIRS.into_iter().filter_map(|dir| host.path(dir));
    for dir in dirs {
        let real = std::fs::canonicalize(&dir).unwrap_or_default();
        // Directories such as `/lib` are links into `/usr`.
        if !seen.contains(&real) {
            found.extend(installation::of_distribution(host, &dir));
            seen.push(real);
        }
    }
    found
}

/// Directories of installations, the one that counts first: `$ROCM_PATH`, `/opt/rocm`, then the newest of
/// `/opt/rocm-*`.
pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    let named = ["ROCM_PATH", "ROCM_HOME", "HIP_PATH"].into_iter().filter_map(|name| host.variable(name));
    let mut roots: Vec<PathBuf> = named.map(PathBuf::from).collect();
    let Some(opt) = host.path("/opt") else { return roots };
    roots.extend([opt.join("rocm"), opt.join("rocm/core")]);
    roots.extend(versioned(&opt));
    roots
}

/// Directories `rocm-6.4.3` below `opt`, newest first.
pub(crate) fn versioned(opt: &Path) -> Vec<PathBuf> {
    let mut versioned: Vec<String> = entries(opt).into_iter().filter(|name| name.starts_with("rocm-")).collect();
    rsb_model::order::by_key(&mut versioned, |name| std::cmp::Reverse(numbers(name.trim_start_matches("rocm-"))));
    versioned.into_iter().map(|name| opt.join(name)).collect()
}

/// Directories of libraries below an installation.
pub(crate) fn library_dirs(root: &Path) -> [PathBuf; 2] {
    [root.join("lib"), root.join("lib64")]
}

fn numbers(version: &str) -> Vec<u32> {
    version.split(['.', '-']).map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    fn at(host: &Host) -> Option<String> {
        version(&installations(host))
    }

    fn found(files: &[(&str, &str)]) -> Option<String> {
        at(&Tree::new(files).host())
    }

    #[test]
    fn the_selected_installation_counts_then_the_newest() {
        assert_eq!(found(&[("opt/rocm/.info/version", "6.4.3-127\n")]).as_deref(), Some("6.4.3"));
        let two = [("opt/rocm-6.4.3/.info/version", "6.4.3\n"), ("opt/rocm-10.0.0/.info/version", "10.0.0\n")];
        assert_eq!(found(&two).as_deref(), Some("10.0.0"));
        let selected = [("opt/rocm-6.4.3/.info/version", "6.4.3"), ("opt/rocm/.info/version", "5.7.1-98")];
        assert_eq!(found(&selected).as_deref(), Some("5.7.1"));
    }

    #[test]
    fn the_variable_goes_first_and_a_half_removed_one_is_passed_over() {
        let tree = Tree::new(&[("opt/rocm/.info/version", "6.4.3"), ("home/rocm/.info/version", "7.2.4")]);
        let (mine, gone) = (tree.path("home/rocm"), tree.path("home/gone"));
        let tree = tree.variable("ROCM_PATH", mine);
        assert_eq!(at(&tree.host()).as_deref(), Some("7.2.4"));
        assert_eq!(at(&tree.variable("ROCM_PATH", gone).host()).as_deref(), Some("6.4.3"));
    }

    #[test]
    fn a_distributions_library_tells_major_and_minor() {
        let library = "usr/lib/x86_64-linux-gnu/libamdhip64.so.5.7.31921";
        assert_eq!(found(&[(library, ""), ("usr/lib/x86_64-linux-gnu/libamdhip64.so.5", "")]).as_deref(), Some("5.7"));
        assert_eq!(found(&[("usr/lib/x86_64-linux-gnu/libamdhip64.so.5", "")]), None);
    }

    #[test]
    fn nonsense_is_unknown() {
        for content in ["", "\n", "unknown", "6", "6.x", "..", "<html>"] {
            assert_eq!(found(&[("opt/rocm/.info/version", content)]), None, "{content:?}");
        }
        assert_eq!(found(&[]), None);
    }
}
