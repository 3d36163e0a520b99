//! Where a library of ROCm may lie, and in which order: the file that a variable names, `$ROCM_PATH/lib`,
//! `/opt/rocm*/lib` with the newest version first, then the default path of the system's loader.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use runtime_loading::{Loaded, Unavailable};

/// One library of ROCm.
#[derive(Debug, Clone, Copy)]
pub struct RocmLibrary {
    /// What people call it.
    pub name: &'static str,
    /// File names, the newest first.
    pub files: &'static [&'static str],
    /// The variable that names a file explicitly.
    pub variable: &'static str,
    /// What to do when there is none.
    pub cure: &'static str,
}

/// What the search depends on.
#[derive(Debug, Clone, Default)]
pub struct RocmPaths {
    /// The value of [`RocmLibrary::variable`].
    pub explicit: Option<OsString>,
    /// The value of `ROCM_PATH`.
    pub rocm_path: Option<OsString>,
    /// Where `rocm*` directories are: `/opt`.
    pub opt: PathBuf,
}

impl RocmPaths {
    /// Of this process.
    pub fn here(wanted: &RocmLibrary) -> Self {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        Self { explicit: set(wanted.variable), rocm_path: set("ROCM_PATH"), opt: PathBuf::from("/opt") }
    }

    /// Every file to try, in order. A bare name is for the system's loader.
    pub fn candidates(&self, files: &[&str]) -> Vec<PathBuf> {
        if let Some(file) = &self.explicit {
            return vec![PathBuf::from(file)];
        }
        let mut dirs: Vec<PathBuf> = self.rocm_path.iter().map(|root| Path::new(root).join("lib")).collect();
        dirs.extend(installations(&self.opt).into_iter().map(|root| root.join("lib")));
        let in_dirs = dirs.iter().flat_map(|dir| files.iter().map(move |file| dir.join(file)));
        in_dirs.filter(|path| path.exists()).chain(files.iter().map(PathBuf::from)).collect()
    }
}

/// The directories `rocm*` in `opt`: those with a version first, the newest leading, then `rocm` itself.
pub fn installations(opt: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(opt).into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<(Vec<u32>, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name.strip_prefix("rocm")?.trim_start_matches('-');
            let version = version.split('.').map_while(|part| part.parse().ok()).collect();
            Some((version, entry.path()))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

impl RocmLibrary {
    /// The first of the candidates that can be loaded.
    ///
    /// # Errors
    /// When none can: what the loader said of the last file that exists, or where it was looked for.
    pub fn find(&self, places: &RocmPaths) -> Result<Loaded, Unavailable> {
        let candidates = places.candidates(self.files);
        Loaded::first(&candidates).map_err(|refusal| {
            let nowhere = || {
                let names = self.files.join(", ");
                format!(
                    "none of {names} is in $ROCM_PATH/lib, {}/rocm*/lib or on the library path",
                    places.opt.display()
                )
            };
            let explicit =
                || format!("{} names {}, which cannot be loaded", self.variable, candidates_text(&candidates));
            let why = match (refusal, &places.explicit) {
                (Some(refusal), _) => refusal,
                (None, Some(_)) => explicit(),
                (None, None) => nowhere(),
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

    fn installed(opt: &Path, dir: &str, files: &[&str]) {
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
        installed(dir.path(), "rocm-6.0.0", &["libx.so.6", "libx.so"]);
        installed(dir.path(), "rocm-7.2.0", &["libx.so.7"]);
        installed(dir.path(), "own", &["libx.so.6"]);
        let own = dir.path().join("own");
        let places = RocmPaths { rocm_path: Some(own.clone().into()), opt: dir.path().to_owned(), explicit: None };
        let candidates = places.candidates(WANTED.files);
        let shown: Vec<String> = candidates
            .iter()
            .map(|path| path.strip_prefix(dir.path()).unwrap_or(path).to_string_lossy().into_owned())
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

    #[test]
    fn an_explicit_file_is_the_only_one() {
        let places =
            RocmPaths { explicit: Some("/a/b.so".into()), rocm_path: Some("/opt/rocm".into()), ..RocmPaths::default() };
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
        installed(dir.path(), "rocm-6.0.0", &["libx.so.6"]);
        let places = RocmPaths { opt: dir.path().to_owned(), ..RocmPaths::default() };
        let error = WANTED.find(&places).unwrap_err();
        assert!(error.why.contains("rocm-6.0.0/lib/libx.so.6"), "{error}");
    }
}
