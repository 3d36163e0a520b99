//! Search path for ROCm libraries. Places are searched in this order: the file set in the library's
//! environment variable, `$ROCM_PATH/lib`, `/opt/rocm*/lib` and `/opt/rocm/core-*/lib` (newest
//! version first), and the default path of the system's loader. If ROCm is not installed outside
//! Python, the wheels `_rocm_sdk_core` and `_rocm_sdk_libraries*` follow.
//!
//! Since ROCm 7.9, packages install to `/opt/rocm/core-X.Y`. The directory `/opt/rocm/lib` is a
//! link created by update-alternatives, which tarballs lack (ROCm/TheRock issue 6716 and pull
//! request 2728).

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use runtime_loading::{Loaded, Unavailable};

/// A ROCm library to find.
#[derive(Debug, Clone, Copy)]
pub struct RocmLibrary {
    /// Name shown to users.
    pub name: &'static str,
    /// File names, newest first.
    pub files: &'static [&'static str],
    /// Environment variable that names a file explicitly.
    pub variable: &'static str,
    /// Advice to the user if the library is missing.
    pub cure: &'static str,
}

/// A search path for ROCm libraries.
#[derive(Debug, Clone, Default)]
pub struct RocmPaths {
    /// Value of [`RocmLibrary::variable`].
    pub explicit: Option<OsString>,
    /// Value of `ROCM_PATH`.
    pub rocm_path: Option<OsString>,
    /// Directory that contains the `rocm*` directories: `/opt`.
    pub opt: PathBuf,
    /// Python package directories to search. Empty if ROCm is also installed outside Python, since
    /// its libraries must not be mixed with those of wheels in one process.
    pub packages: Vec<PathBuf>,
}

impl RocmPaths {
    /// Returns the search path of this process for `wanted`.
    pub fn here(wanted: &RocmLibrary) -> Self {
        let opt = PathBuf::from("/opt");
        let rocm_path = variable("ROCM_PATH");
        let is_installed =
            rocm_path.is_some() || !installations(&opt).is_empty() || is_in_distribution();
        let packages =
            if is_installed { Vec::new() } else { package_dirs(&python_prefixes(variable)) };
        Self { explicit: variable(wanted.variable), rocm_path, opt, packages }
    }

    /// Returns every file to try, in order. A bare name is resolved by the system's loader.
    pub fn candidates(&self, files: &[&str]) -> Vec<PathBuf> {
        if let Some(file) = &self.explicit {
            return vec![PathBuf::from(file)];
        }
        let mut roots: Vec<PathBuf> = Vec::new();
        if let Some(root) = self.rocm_path.as_deref().map(Path::new) {
            roots.push(root.to_owned());
            roots.extend(newest_first(versioned_dirs(root, "core")));
        }
        roots.extend(installations(&self.opt));
        let mut found = existing(&roots, files);
        found.extend(files.iter().map(PathBuf::from));
        found.extend(self.packages.iter().flat_map(|dir| existing(&wheels(dir), files)));
        found
    }

    /// Returns the reason for a library with the names `files` that is in none of the searched
    /// places.
    pub(crate) fn nowhere(&self, files: &[&str]) -> String {
        format!(
            "none of {} is in $ROCM_PATH/lib, {opt}/rocm*/lib, {opt}/rocm/core-*/lib, a wheel of \
             rocm-sdk-core or on the \
             library path",
            files.join(", "),
            opt = self.opt.display()
        )
    }
}

/// Returns the value of an environment variable, if it is set and not empty.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the existing files among `files` in `lib` of each of `roots`.
fn existing(roots: &[PathBuf], files: &[&str]) -> Vec<PathBuf> {
    let in_roots =
        roots.iter().flat_map(|root| files.iter().map(move |file| root.join("lib").join(file)));
    in_roots.filter(|path| path.exists()).collect()
}

/// Returns the directories `rocm*` in `opt` and `core*` in each of them: newest version first,
/// those without a version last.
pub fn installations(opt: &Path) -> Vec<PathBuf> {
    let mut found = versioned_dirs(opt, "rocm");
    let cores: Vec<_> = found.iter().flat_map(|(_, root)| versioned_dirs(root, "core")).collect();
    found.extend(cores);
    newest_first(found)
}

/// Returns the directories in `dir` whose names begin with `prefix`, with their versions:
/// `rocm-6.4.3`, `core-7.14`, `core`.
fn versioned_dirs(dir: &Path, prefix: &str) -> Vec<(Vec<u32>, PathBuf)> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name.strip_prefix(prefix)?.trim_start_matches('-');
            let version = version.split('.').map_while(|part| part.parse().ok()).collect();
            Some((version, entry.path()))
        })
        .collect()
}

fn newest_first(mut found: Vec<(Vec<u32>, PathBuf)>) -> Vec<PathBuf> {
    found.sort_unstable();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// Returns whether a distribution package has installed the HIP runtime in a directory of the
/// system's loader.
fn is_in_distribution() -> bool {
    const DIRS: [&str; 4] =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"];
    const FILES: [&str; 3] = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"];
    DIRS.iter().any(|dir| FILES.iter().any(|file| Path::new(dir).join(file).exists()))
}

/// Returns the prefixes of Python installations, the active environment first.
fn python_prefixes(set: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(&set).map(PathBuf::from);
    let home = set("HOME").map(|home| Path::new(&home).join(".local"));
    active.chain(home).chain([PathBuf::from("/usr/local"), PathBuf::from("/usr")]).collect()
}

/// Returns the package directories below `prefixes`: `lib/python3.12/site-packages`, and
/// `dist-packages` on Debian.
fn package_dirs(prefixes: &[PathBuf]) -> Vec<PathBuf> {
    let pythons = prefixes
        .iter()
        .flat_map(|prefix| newest_first(versioned_dirs(&prefix.join("lib"), "python3")));
    let dirs =
        pythons.flat_map(|python| [python.join("site-packages"), python.join("dist-packages")]);
    dirs.filter(|dir| dir.is_dir()).collect()
}

/// Returns the directories of ROCm wheels in a Python package directory: first the core, then the
/// libraries, which have a wheel per GPU family (`_rocm_sdk_libraries_gfx94X_dcgpu`).
fn wheels(packages: &Path) -> Vec<PathBuf> {
    let core = packages.join("_rocm_sdk_core");
    if !core.is_dir() {
        return Vec::new();
    }
    std::iter::once(core)
        .chain(newest_first(versioned_dirs(packages, "_rocm_sdk_libraries")))
        .collect()
}

impl RocmLibrary {
    /// Loads the first candidate file that can be loaded.
    ///
    /// # Errors
    /// If no candidate can be loaded. The reason is the loader's message about the last existing
    /// file, or the list of searched places.
    pub fn find(&self, places: &RocmPaths) -> Result<Loaded, Unavailable> {
        let candidates = places.candidates(self.files);
        Loaded::first(&candidates).map_err(|refusal| {
            let why = match (refusal, &places.explicit) {
                (Some(refusal), _) => refusal,
                (None, Some(_)) => format!(
                    "{} names {}, which cannot be loaded",
                    self.variable,
                    candidates_text(&candidates)
                ),
                (None, None) => places.nowhere(self.files),
            };
            Unavailable::new(self.name, why, self.cure)
        })
    }
}

fn candidates_text(candidates: &[PathBuf]) -> String {
    candidates.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: RocmLibrary = RocmLibrary {
        name: "HIP",
        files: &["libx.so.7", "libx.so.6", "libx.so"],
        variable: "RSB_X_LIBRARY",
        cure: "install ROCm",
    };

    fn write_fake_libraries(opt: &Path, dir: &str, files: &[&str]) {
        let lib = opt.join(dir).join("lib");
        std::fs::create_dir_all(&lib).unwrap();
        for file in files {
            std::fs::write(lib.join(file), "not a library").unwrap();
        }
    }

    #[test]
    fn the_newest_installation_comes_first() {
        let opt = tempfile::tempdir().unwrap();
        for dir in ["rocm", "rocm-5.7.1", "rocm-6.10.0", "rocm-6.4.3", "other"] {
            std::fs::create_dir(opt.path().join(dir)).unwrap();
        }
        let found: Vec<String> = installations(opt.path())
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(found, ["rocm-6.10.0", "rocm-6.4.3", "rocm-5.7.1", "rocm"]);
    }

    #[test]
    fn rocm_path_leads_and_the_loader_comes_last() {
        let dir = tempfile::tempdir().unwrap();
        write_fake_libraries(dir.path(), "rocm-6.0.0", &["libx.so.6", "libx.so"]);
        write_fake_libraries(dir.path(), "rocm-7.2.0", &["libx.so.7"]);
        write_fake_libraries(dir.path(), "own", &["libx.so.6"]);
        let own = dir.path().join("own");
        let places = RocmPaths {
            rocm_path: Some(own.into()),
            opt: dir.path().to_owned(),
            ..RocmPaths::default()
        };
        let candidates = places.candidates(WANTED.files);
        let shown: Vec<String> = candidates
            .iter()
            .map(|path| {
                path.strip_prefix(dir.path()).unwrap_or(path).to_string_lossy().into_owned()
            })
            .collect();
        assert_eq!(
            shown,
            [
                "own/lib/libx.so.6",
                "rocm-7.2.0/lib/libx.so.7",
                "rocm-6.0.0/lib/libx.so.6",
                "rocm-6.0.0/lib/libx.so",
                "libx.so.7",
                "libx.so.6",
                "libx.so"
            ]
        );
    }

    /// Returns the candidates in `places`, relative to `dir`.
    fn relative_candidates(places: &RocmPaths, dir: &Path) -> Vec<String> {
        let relative =
            |path: PathBuf| path.strip_prefix(dir).unwrap_or(&path).to_string_lossy().into_owned();
        places.candidates(WANTED.files).into_iter().map(relative).collect()
    }

    #[test]
    fn installations_of_rocm_7_9_and_later_are_found_without_links_newest_first() {
        let dir = tempfile::tempdir().unwrap();
        write_fake_libraries(dir.path(), "rocm/core-7.14", &["libx.so.7"]);
        write_fake_libraries(dir.path(), "rocm/core-10.0", &["libx.so.7"]);
        write_fake_libraries(dir.path(), "rocm/core-7.9", &[]);
        write_fake_libraries(dir.path(), "rocm-7.2.0", &["libx.so.7"]);
        let places = RocmPaths { opt: dir.path().to_owned(), ..RocmPaths::default() };
        let expected = [
            "rocm/core-10.0/lib/libx.so.7",
            "rocm/core-7.14/lib/libx.so.7",
            "rocm-7.2.0/lib/libx.so.7",
            "libx.so.7",
            "libx.so.6",
            "libx.so",
        ];
        assert_eq!(relative_candidates(&places, dir.path()), expected);
        let named =
            RocmPaths { rocm_path: Some(dir.path().join("rocm").into()), ..RocmPaths::default() };
        assert_eq!(relative_candidates(&named, dir.path())[..2], expected[..2]);
    }

    #[test]
    fn wheels_come_last_with_libraries_apart_from_the_core() {
        let dir = tempfile::tempdir().unwrap();
        let packages = "venv/lib/python3.12/site-packages";
        write_fake_libraries(dir.path(), &format!("{packages}/_rocm_sdk_core"), &["libx.so.7"]);
        write_fake_libraries(
            dir.path(),
            &format!("{packages}/_rocm_sdk_libraries_gfx94X_dcgpu"),
            &["libx.so.6"],
        );
        // An uninstalled package has left libraries without the core that they need; they must be
        // ignored.
        write_fake_libraries(
            dir.path(),
            "venv/lib/python3.10/site-packages/_rocm_sdk_libraries",
            &["libx.so.6"],
        );
        let packages = package_dirs(&[dir.path().join("venv"), dir.path().join("nowhere")]);
        assert_eq!(packages.len(), 2);
        let places = RocmPaths { packages, ..RocmPaths::default() };
        let found =
            relative_candidates(&places, &dir.path().join("venv/lib/python3.12/site-packages"));
        assert_eq!(
            found[3..],
            ["_rocm_sdk_core/lib/libx.so.7", "_rocm_sdk_libraries_gfx94X_dcgpu/lib/libx.so.6"],
            "{found:?}"
        );
        let active = python_prefixes(|name| (name == "VIRTUAL_ENV").then(|| "/venv".into()));
        assert_eq!(active, ["/venv", "/usr/local", "/usr"].map(PathBuf::from));
    }

    #[test]
    fn an_explicit_file_is_the_only_one() {
        let places = RocmPaths {
            explicit: Some("/a/b.so".into()),
            rocm_path: Some("/opt/rocm".into()),
            ..RocmPaths::default()
        };
        assert_eq!(places.candidates(WANTED.files), [PathBuf::from("/a/b.so")]);
        let error = WANTED.find(&places).unwrap_err();
        assert!(error.why.contains("RSB_X_LIBRARY") && error.why.contains("/a/b.so"), "{error}");
    }

    #[test]
    fn what_is_missing_says_where_it_was_looked_for() {
        let dir = tempfile::tempdir().unwrap();
        let places = RocmPaths { opt: dir.path().to_owned(), ..RocmPaths::default() };
        let error = WANTED.find(&places).unwrap_err();
        assert!(error.why.contains("libx.so.7") && error.why.contains("ROCM_PATH"), "{error}");
        assert_eq!(error.cure, "install ROCm");
    }

    #[test]
    fn a_file_that_is_no_library_says_so() {
        let dir = tempfile::tempdir().unwrap();
        write_fake_libraries(dir.path(), "rocm-6.0.0", &["libx.so.6"]);
        let places = RocmPaths { opt: dir.path().to_owned(), ..RocmPaths::default() };
        let error = WANTED.find(&places).unwrap_err();
        assert!(error.why.contains("rocm-6.0.0/lib/libx.so.6"), "{error}");
    }
}
