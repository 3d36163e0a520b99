//! Locations of the libraries that HIP programs load, and remnants of removed installations.

use std::path::{Path, PathBuf};

use super::facts::{Library, Remnant};
use super::linker::LinkerCache;
use crate::host::{Host, entries};
use crate::rocm::{self, LIBRARY_DIRS, component_of};

/// Name of each library and its interface versions, newest first.
const WANTED: [(&str, &[&str]); 4] = [
    ("libamdhip64", &[".so.7", ".so.6", ".so.5", ".so"]),
    ("libhiprtc", &[".so.7", ".so.6", ".so.5", ".so"]),
    ("libhsa-runtime64", &[".so.1", ".so"]),
    ("librocblas", &[".so.5", ".so.4", ".so.3", ".so.0", ".so"]),
];

/// Returns each library, found or not.
pub(super) fn find(host: &Host, cache: &[LinkerCache]) -> Vec<Library> {
    let dirs = dirs(host);
    WANTED.iter().map(|(name, versions)| library(host, cache, &dirs, name, versions)).collect()
}

/// Returns the directories to search before the linker's: `LD_LIBRARY_PATH`, then those of ROCm.
fn dirs(host: &Host) -> Vec<PathBuf> {
    let named = host
        .variable("LD_LIBRARY_PATH")
        .map(|paths| std::env::split_paths(paths).collect::<Vec<_>>());
    let rocm = rocm::roots(host).into_iter().flat_map(|root| rocm::library_dirs(&root));
    named.into_iter().flatten().chain(rocm).collect()
}

fn library(
    host: &Host,
    cache: &[LinkerCache],
    dirs: &[PathBuf],
    name: &str,
    versions: &[&str],
) -> Library {
    let found = dirs
        .iter()
        .find_map(|dir| file_in(dir, name, versions))
        .or_else(|| cached_file(host, cache, name, versions))
        .or_else(|| standard_file(host, name, versions));
    let file = found
        .as_deref()
        .and_then(Path::file_name)
        .and_then(|file| file.to_str())
        .unwrap_or_default();
    let targets =
        found.as_deref().and_then(Path::parent).filter(|_| name == "librocblas").map(targets);
    Library {
        name: name.to_owned(),
        major: file
            .split_once(".so.")
            .and_then(|(_, version)| version.split('.').next()?.parse().ok()),
        path: found.map(|path| path.display().to_string()),
        targets: targets.unwrap_or_default(),
    }
}

/// Returns the newest file of the library `name` in `dir`.
fn file_in(dir: &Path, name: &str, versions: &[&str]) -> Option<PathBuf> {
    versions.iter().map(|version| dir.join(format!("{name}{version}"))).find(|path| path.exists())
}

/// Returns the newest file of the library `name` in the linker's cache.
fn cached_file(
    host: &Host,
    cache: &[LinkerCache],
    name: &str,
    versions: &[&str],
) -> Option<PathBuf> {
    for version in versions {
        let wanted = format!("{name}{version}");
        let found = cache
            .iter()
            .filter(|cached| cached.name == wanted)
            .filter_map(|cached| host.path(&cached.path))
            .find(|path| path.exists());
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Returns the newest file of the library `name` in the first standard directory that has one.
fn standard_file(host: &Host, name: &str, versions: &[&str]) -> Option<PathBuf> {
    LIBRARY_DIRS
        .iter()
        .filter_map(|dir| host.path(dir))
        .find_map(|dir| file_in(&dir, name, versions))
}

/// Returns the targets for which rocBLAS has kernels. The kernel files are next to the real file,
/// whose directory may differ from that of the link.
fn targets(dir: &Path) -> Vec<String> {
    rocm::targets(&std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned()))
}

/// Returns directories that look like installations but contain no HIP runtime.
pub(super) fn remnants(host: &Host) -> Vec<Remnant> {
    let Some(opt) = host.path("/opt") else { return Vec::new() };
    let named = host.variable("ROCM_PATH").map(PathBuf::from);
    let mut found: Vec<Remnant> = named
        .iter()
        .filter(|dir| !dir.exists() && !dir.is_symlink())
        .map(|dir| Remnant {
            path: dir.display().to_string(),
            why: "ROCM_PATH is set to this directory, but it does not exist".to_owned(),
        })
        .collect();
    let cores = rocm::versioned_dirs(&opt.join("rocm"), "core-");
    let dirs = named
        .into_iter()
        .chain([opt.join("rocm")])
        .chain(cores)
        .chain(rocm::versioned_dirs(&opt, "rocm-"));
    let mut seen = Vec::new();
    for dir in dirs {
        let real = std::fs::canonicalize(&dir).unwrap_or_else(|_| dir.clone());
        if seen.contains(&real) {
            continue;
        }
        if let Some(why) = broken(&dir) {
            found.push(Remnant { path: dir.display().to_string(), why });
        }
        seen.push(real);
    }
    found
}

/// Returns the defect of an installation; `None` if it is complete or absent.
fn broken(dir: &Path) -> Option<String> {
    if dir.is_symlink() && !dir.exists() {
        let target = std::fs::read_link(dir).unwrap_or_default();
        return Some(format!("it is a link to {}, which does not exist", target.display()));
    }
    if !dir.is_dir() {
        return None;
    }
    // Since release 7.9, all files are one directory deeper.
    let deeper = std::iter::once(dir.join("core")).chain(rocm::versioned_dirs(dir, "core-"));
    let roots = std::iter::once(dir.to_owned()).chain(deeper);
    let holds_any = roots.flat_map(|root| rocm::library_dirs(&root)).any(|dir| has_hip(&dir));
    (!holds_any).then(|| "it contains no libamdhip64".to_owned())
}

/// Returns whether `dir` contains a HIP runtime.
fn has_hip(dir: &Path) -> bool {
    entries(dir)
        .iter()
        .any(|file| component_of(file).is_some_and(|(component, _)| component == "hip"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    fn find_in(tree: &Tree, cache: &[LinkerCache]) -> Vec<(String, Option<String>, Option<u32>)> {
        let root = tree.path("").display().to_string();
        let mut found = Vec::new();
        for library in find(&tree.host(), cache) {
            let path = library.path.map(|path| path.replacen(root.trim_end_matches('/'), "", 1));
            found.push((library.name, path, library.major));
        }
        found
    }

    #[test]
    fn the_directory_of_rocm_goes_before_the_cache_and_the_cache_before_the_default() {
        let tree = Tree::new(&[
            ("opt/rocm/lib/libamdhip64.so.6", ""),
            ("usr/lib64/libamdhip64.so.5", ""),
            ("data/librocblas.so.4", ""),
            ("usr/lib64/librocblas.so.0", ""),
            ("usr/lib64/libhsa-runtime64.so.1", ""),
        ]);
        let cache = [
            LinkerCache { name: "librocblas.so.4".into(), path: "/data/librocblas.so.4".into() },
            LinkerCache { name: "libhiprtc.so.6".into(), path: "/gone/libhiprtc.so.6".into() },
        ];
        let expected = [
            ("libamdhip64", Some("/opt/rocm/lib/libamdhip64.so.6"), Some(6)),
            ("libhiprtc", None, None),
            ("libhsa-runtime64", Some("/usr/lib64/libhsa-runtime64.so.1"), Some(1)),
            ("librocblas", Some("/data/librocblas.so.4"), Some(4)),
        ];
        let expected =
            expected.map(|(name, path, major)| (name.to_owned(), path.map(str::to_owned), major));
        assert_eq!(find_in(&tree, &cache), expected);
    }

    #[test]
    fn a_version_without_a_runtime_beside_others_is_named() {
        let tree = Tree::new(&[
            ("opt/rocm/core-7.14/lib/libamdhip64.so.7", ""),
            ("opt/rocm/core-7.9/share/doc/x", ""),
        ]);
        let left = remnants(&tree.host());
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(left[0].path.ends_with("opt/rocm/core-7.9"), "{left:?}");
        let libraries = find_in(&tree, &[]);
        assert_eq!(libraries[0].1.as_deref(), Some("/opt/rocm/core-7.14/lib/libamdhip64.so.7"));
    }

    #[test]
    #[cfg(unix)]
    fn what_is_left_of_an_installation_is_named() {
        let tree = Tree::new(&[
            ("opt/rocm-6.0.0/share/doc/x", ""),
            ("opt/rocm-6.4.3/lib/libamdhip64.so.6", ""),
            ("opt/rocm-10.0.0/core/lib/libamdhip64.so.7", ""),
        ]);
        std::os::unix::fs::symlink("/nowhere/rocm-5.0.0", tree.path("opt/rocm")).unwrap();
        let left = remnants(&tree.host());
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(left[0].path.ends_with("opt/rocm") && left[0].why.contains("/nowhere/rocm-5.0.0"));
        assert!(left[1].path.ends_with("opt/rocm-6.0.0") && left[1].why.contains("libamdhip64"));
    }
}
