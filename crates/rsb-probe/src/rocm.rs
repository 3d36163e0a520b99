//! The version of ROCm, from the files of its installation. No process is started.

use std::path::{Path, PathBuf};

use crate::host::{Host, entries, read_line};

/// Where distributions put libraries.
pub(crate) const LIBRARY_FOLDERS: [&str; 8] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/lib64",
    "/lib",
];

/// The version of the installation that programs here would use.
pub(crate) fn version(host: &Host) -> Option<String> {
    let installed = roots(host).iter().find_map(|root| {
        ["version", "version-rocm", "version-dev"].iter().find_map(|file| {
            let line = read_line(&root.join(".info").join(file))?;
            parse(&line)
        })
    });
    installed.or_else(|| by_library(host))
}

/// Folders of installations, the one that counts first: `$ROCM_PATH`, `/opt/rocm`, then the newest of `/opt/rocm-*`.
pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    let named = ["ROCM_PATH", "ROCM_HOME", "HIP_PATH"].into_iter().filter_map(|name| host.variable(name));
    let mut roots: Vec<PathBuf> = named.map(PathBuf::from).collect();
    let Some(opt) = host.path("/opt") else { return roots };
    roots.push(opt.join("rocm"));
    let mut versioned: Vec<String> = entries(&opt).into_iter().filter(|name| name.starts_with("rocm-")).collect();
    versioned.sort_by_key(|name| std::cmp::Reverse(numbers(name.trim_start_matches("rocm-"))));
    roots.extend(versioned.into_iter().map(|name| opt.join(name)));
    roots
}

/// `6.4.3` of `6.4.3-127`.
fn parse(line: &str) -> Option<String> {
    let version = line.split(['-', ' ']).next()?;
    let mut parts = version.split('.');
    let whole = parts.clone().count() >= 2 && parts.all(|part| part.parse::<u32>().is_ok());
    whole.then(|| version.to_owned())
}

fn numbers(version: &str) -> Vec<u32> {
    version.split(['.', '-']).map_while(|part| part.parse().ok()).collect()
}

/// Distributions that put ROCm beside their other libraries leave no version file. The library of HIP carries the
/// version in its name, `libamdhip64.so.5.7.31921`, and its first two numbers are those of ROCm.
fn by_library(host: &Host) -> Option<String> {
    let folders = LIBRARY_FOLDERS.into_iter().filter_map(|folder| host.path(folder));
    let mut versions: Vec<Vec<u32>> = folders.flat_map(|folder| hip_versions(&folder)).collect();
    versions.sort();
    match versions.pop()?.as_slice() {
        [major, minor, ..] => Some(format!("{major}.{minor}")),
        _ => None,
    }
}

fn hip_versions(folder: &Path) -> Vec<Vec<u32>> {
    let full = |name: String| name.strip_prefix("libamdhip64.so.").map(numbers).filter(|version| version.len() >= 3);
    entries(folder).into_iter().filter_map(full).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    fn found(files: &[(&str, &str)]) -> Option<String> {
        version(&Tree::new(files).host())
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
        assert_eq!(version(&tree.host()).as_deref(), Some("7.2.4"));
        assert_eq!(version(&tree.variable("ROCM_PATH", gone).host()).as_deref(), Some("6.4.3"));
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
