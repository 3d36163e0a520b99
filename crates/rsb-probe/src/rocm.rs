//! Installations of ROCm, from their files. No process is started.

use std::path::{Path, PathBuf};

use rsb_model::rocm::RocmInstallation;

use crate::host::{Host, entries};

mod components;
mod installation;
mod wheels;

pub(crate) use components::{component_of, targets};
pub(crate) use wheels::wheels;

/// Library directories of distributions.
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

/// Returns the version of the installation that native programs would use.
pub(crate) fn version(installations: &[RocmInstallation]) -> Option<String> {
    installations.iter().find_map(|installation| installation.version.clone())
}

/// Returns every installation that native programs could use, the effective one first.
pub(crate) fn installations(host: &Host) -> Vec<RocmInstallation> {
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut found = Vec::new();
    for root in roots(host) {
        // `/opt/rocm` is usually a link to another of these directories. From 7.9 on, its `lib` is
        // a link into `core-7.14` within it.
        let Ok(real) = std::fs::canonicalize(&root) else { continue };
        let lib = std::fs::canonicalize(root.join("lib")).unwrap_or_default();
        let inner = lib
            .parent()
            .filter(|home| home.starts_with(&real) && **home != real)
            .map(Path::to_owned);
        let (root, real) = inner.map_or((root, real), |home| (home.clone(), home));
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

/// Returns directories of installations, the effective one first: `$ROCM_PATH`, `/opt/rocm`, then
/// the newest of `/opt/rocm/core-*` (ROCm 7.9 and later) and of `/opt/rocm-*`.
pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    let named =
        ["ROCM_PATH", "ROCM_HOME", "HIP_PATH"].into_iter().filter_map(|name| host.variable(name));
    let mut roots: Vec<PathBuf> = named.map(PathBuf::from).collect();
    let Some(opt) = host.path("/opt") else { return roots };
    roots.extend([opt.join("rocm"), opt.join("rocm/core")]);
    roots.extend(versioned_dirs(&opt.join("rocm"), "core-"));
    roots.extend(versioned_dirs(&opt, "rocm-"));
    roots
}

/// Returns directories such as `rocm-6.4.3` below `/opt`, or `core-7.14` below one installation,
/// newest first.
pub(crate) fn versioned_dirs(dir: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut versioned: Vec<String> =
        entries(dir).into_iter().filter(|name| name.starts_with(prefix)).collect();
    versioned.sort_by_key(|name| std::cmp::Reverse(numbers(name.trim_start_matches(prefix))));
    versioned.into_iter().map(|name| dir.join(name)).collect()
}

/// Returns the library directories of an installation.
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

    fn version_of(files: &[(&str, &str)]) -> Option<String> {
        at(&Tree::new(files).host())
    }

    fn versions(tree: &Tree) -> Vec<String> {
        installations(&tree.host()).into_iter().filter_map(|one| one.version).collect()
    }

    #[test]
    fn the_selected_installation_counts_then_the_newest() {
        assert_eq!(
            version_of(&[("opt/rocm/.info/version", "6.4.3-127\n")]).as_deref(),
            Some("6.4.3")
        );
        let two = [
            ("opt/rocm-6.4.3/.info/version", "6.4.3\n"),
            ("opt/rocm-10.0.0/.info/version", "10.0.0\n"),
        ];
        assert_eq!(version_of(&two).as_deref(), Some("10.0.0"));
        let selected =
            [("opt/rocm-6.4.3/.info/version", "6.4.3"), ("opt/rocm/.info/version", "5.7.1-98")];
        assert_eq!(version_of(&selected).as_deref(), Some("5.7.1"));
    }

    #[test]
    #[cfg(unix)]
    fn versions_side_by_side_in_one_directory_are_each_found_once() {
        let files = [
            ("opt/rocm/core-7.14/.info/version", "7.14.0"),
            ("opt/rocm/core-7.14/lib/libamdhip64.so.7", ""),
            ("opt/rocm/core-10.0/.info/version", "10.0.0"),
            ("opt/rocm/core-10.0/lib/libamdhip64.so.7", ""),
        ];
        let tree = Tree::new(&files);
        assert_eq!(versions(&tree), ["10.0.0", "7.14.0"], "a tarball install, without links");
        // Links created by the packages; the version in use is 7.14.
        std::os::unix::fs::symlink("core-7.14", tree.path("opt/rocm/core")).unwrap();
        std::os::unix::fs::symlink("core-7.14/lib", tree.path("opt/rocm/lib")).unwrap();
        assert_eq!(versions(&tree), ["7.14.0", "10.0.0"]);
    }

    #[test]
    fn the_variable_goes_first_and_a_half_removed_one_is_passed_over() {
        let tree =
            Tree::new(&[("opt/rocm/.info/version", "6.4.3"), ("home/rocm/.info/version", "7.2.4")]);
        let (mine, gone) = (tree.path("home/rocm"), tree.path("home/gone"));
        let tree = tree.variable("ROCM_PATH", mine);
        assert_eq!(at(&tree.host()).as_deref(), Some("7.2.4"));
        assert_eq!(at(&tree.variable("ROCM_PATH", gone).host()).as_deref(), Some("6.4.3"));
    }

    #[test]
    fn a_distributions_library_tells_major_and_minor() {
        let library = "usr/lib/x86_64-linux-gnu/libamdhip64.so.5.7.31921";
        assert_eq!(
            version_of(&[(library, ""), ("usr/lib/x86_64-linux-gnu/libamdhip64.so.5", "")])
                .as_deref(),
            Some("5.7")
        );
        assert_eq!(version_of(&[("usr/lib/x86_64-linux-gnu/libamdhip64.so.5", "")]), None);
    }

    #[test]
    fn nonsense_is_unknown() {
        for content in ["", "\n", "unknown", "6", "6.x", "..", "<html>"] {
            assert_eq!(version_of(&[("opt/rocm/.info/version", content)]), None, "{content:?}");
        }
        assert_eq!(version_of(&[]), None);
    }
}
