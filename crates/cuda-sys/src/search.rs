//! Search path for CUDA libraries. Places are searched in this order: the file set in the library's
//! environment variable, the directories in `RSB_CUDA_PATH`, a toolkit (`CUDA_PATH`, `CUDA_HOME`),
//! the active Python or Conda environment, `/usr/local/cuda` and `/opt/cuda`, and the default path
//! of the system's loader.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use runtime_loading::{Loaded, Unavailable};

/// Environment variable with directories to search first, separated like `PATH`.
pub const PATH: &str = "RSB_CUDA_PATH";

/// Environment variable with the path of the driver library. Other libraries are also taken from
/// this file if it contains them.
pub const DRIVER: &str = "RSB_CUDA_LIBRARY";

/// A CUDA library to find.
#[derive(Debug, Clone, Copy)]
pub struct CudaLibrary {
    /// Name shown to users.
    pub name: &'static str,
    /// File names, newest version first. The number after `.so.` is the major version of CUDA.
    pub files: &'static [&'static str],
    /// Environment variable that names a file explicitly.
    pub variable: &'static str,
    /// A function that only this library exports.
    pub symbol: &'static str,
    /// Advice to the user if the library is missing.
    pub cure: &'static str,
}

/// A search path for CUDA libraries.
#[derive(Debug, Clone, Default)]
pub struct CudaPaths {
    /// Environment variables with the path of a library file, and their values.
    pub explicit: Vec<(&'static str, OsString)>,
    /// Installation directories, in search order.
    pub roots: Vec<PathBuf>,
    /// Newest major version of CUDA that the driver supports. Libraries of newer versions are tried
    /// last.
    pub newest: Option<u32>,
}

impl CudaPaths {
    /// Returns the search path of this process.
    pub fn here() -> Self {
        Self::of(|name| env::var_os(name).filter(|value| !value.is_empty()))
    }

    /// Returns the search path for an environment in which `variable` returns the values of
    /// variables; `None` for empty ones.
    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        const FILES: [&str; 6] = [
            DRIVER,
            "RSB_NVRTC_LIBRARY",
            "RSB_CUBLAS_LIBRARY",
            "RSB_CUBLASLT_LIBRARY",
            "RSB_NVML_LIBRARY",
            "RSB_NCCL_LIBRARY",
        ];
        let mut roots: Vec<PathBuf> = variable(PATH).iter().flat_map(env::split_paths).collect();
        let known = ["CUDA_PATH", "CUDA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX"];
        roots.extend(known.into_iter().filter_map(&variable).map(PathBuf::from));
        roots.extend(["/usr/local/cuda", "/opt/cuda"].map(PathBuf::from));
        let explicit = FILES.into_iter().filter_map(|name| Some((name, variable(name)?))).collect();
        Self { explicit, roots, newest: None }
    }

    /// Returns a search path with a single file that contains every library, for tests.
    pub fn only(file: &Path) -> Self {
        Self { explicit: vec![(DRIVER, file.into())], ..Self::default() }
    }

    /// Sets the major version of CUDA that the driver supports.
    #[must_use]
    pub fn up_to(self, newest: Option<u32>) -> Self {
        Self { newest, ..self }
    }

    /// Returns this search path with only system directories, for libraries that are part of the
    /// driver.
    pub(crate) fn of_the_system(&self) -> Self {
        // Windows Subsystem for Linux keeps the driver in a directory that the loader does not
        // search.
        Self { roots: vec![PathBuf::from("/usr/lib/wsl")], ..self.clone() }
    }

    fn explicit_path(&self, variable: &str) -> Option<PathBuf> {
        self.explicit
            .iter()
            .find(|(name, _)| *name == variable)
            .map(|(_, file)| PathBuf::from(file))
    }

    /// Returns every file to try, in order. A bare name is resolved by the system's loader.
    pub fn candidates(&self, files: &[&str]) -> Vec<PathBuf> {
        let dirs: Vec<PathBuf> = self.roots.iter().flat_map(|root| dirs(root)).collect();
        let in_dirs = dirs.iter().flat_map(|dir| files.iter().map(move |file| dir.join(file)));
        let by_name = files.iter().map(PathBuf::from);
        let mut found: Vec<PathBuf> = in_dirs.filter(|path| path.exists()).chain(by_name).collect();
        found.sort_by_key(|path| self.is_too_new(path));
        found
    }

    /// Returns whether `file` belongs to a newer CUDA version than the driver supports.
    fn is_too_new(&self, file: &Path) -> bool {
        major(file).is_some_and(|major| self.newest.is_some_and(|newest| major > newest))
    }
}

/// Returns the major version in a file name: 12 for `libx.so.12`.
fn major(file: &Path) -> Option<u32> {
    file.file_name()?.to_str()?.split(".so.").nth(1)?.split('.').next()?.parse().ok()
}

/// Returns the library directories below `root`: `lib64` and `lib` of a toolkit, and
/// `nvidia/<part>/lib` of Python packages.
fn dirs(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned(), root.join("lib64"), root.join("lib")];
    let packages =
        entries(&root.join("lib"), "python").into_iter().map(|python| python.join("site-packages"));
    for home in std::iter::once(root.to_owned()).chain(packages) {
        found.extend(entries(&home.join("nvidia"), "").into_iter().map(|part| part.join("lib")));
    }
    found.retain(|dir| dir.is_dir());
    found
}

/// Returns the entries of `dir` whose name begins with `start`, sorted by name.
fn entries(dir: &Path, start: &str) -> Vec<PathBuf> {
    let read = std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let fits = read.filter(|entry| entry.file_name().to_string_lossy().starts_with(start));
    let mut found: Vec<PathBuf> = fits.map(|entry| entry.path()).collect();
    found.sort_unstable();
    found
}

impl CudaLibrary {
    /// Loads the first candidate file that can be loaded.
    ///
    /// # Errors
    /// If no candidate can be loaded. The reason is the loader's message about the last existing
    /// file, or the list of searched places.
    pub fn find(&self, places: &CudaPaths) -> Result<Loaded, Unavailable> {
        if let Some(file) = places.explicit_path(self.variable) {
            return Loaded::first(std::slice::from_ref(&file)).map_err(|refusal| {
                let reason = refusal.map(|reason| format!(": {reason}")).unwrap_or_default();
                self.unavailable(format!(
                    "{} names {}, which cannot be loaded{reason}",
                    self.variable,
                    file.display()
                ))
            });
        }
        let beside = places.explicit_path(DRIVER).and_then(|file| Loaded::first(&[file]).ok());
        if let Some(whole) = beside.filter(|loaded| loaded.exports(self.symbol)) {
            return Ok(whole);
        }
        Loaded::first(&places.candidates(self.files))
            .map_err(|refusal| self.unavailable(refusal.unwrap_or_else(|| self.nowhere(places))))
    }

    fn unavailable(&self, why: String) -> Unavailable {
        Unavailable::new(self.name, why, self.cure)
    }

    /// Returns the reason for a library that is in none of the searched places.
    fn nowhere(&self, places: &CudaPaths) -> String {
        let roots: Vec<String> =
            places.roots.iter().map(|root| root.display().to_string()).collect();
        let names = self.files.join(", ");
        format!("none of {names} is in {} or on the library path", roots.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: CudaLibrary = CudaLibrary {
        name: "NVRTC",
        files: &["libx.so.13", "libx.so.12"],
        variable: "RSB_X_LIBRARY",
        symbol: "x",
        cure: "install it",
    };

    fn put(root: &Path, file: &str) {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "not a library").unwrap();
    }

    fn relative_candidates(root: &Path, places: &CudaPaths) -> Vec<String> {
        let candidates = places.candidates(WANTED.files);
        let short =
            |path: &PathBuf| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        candidates.iter().map(short).collect()
    }

    #[test]
    fn toolkits_and_packages_of_python_are_looked_into() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "toolkit/lib64/libx.so.12");
        put(root.path(), "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libx.so.12");
        put(root.path(), "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libx.so.13");
        let roots = vec![root.path().join("venv"), root.path().join("toolkit")];
        let places = CudaPaths { roots, ..CudaPaths::default() };
        let in_order = [
            "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libx.so.13",
            "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libx.so.12",
            "toolkit/lib64/libx.so.12",
            "libx.so.13",
            "libx.so.12",
        ];
        assert_eq!(relative_candidates(root.path(), &places), in_order);
        let [newest, python, toolkit, by_name, older] = in_order;
        let older_driver = relative_candidates(root.path(), &places.up_to(Some(12)));
        assert_eq!(older_driver, [python, toolkit, older, newest, by_name]);
    }

    /// Returns the directories that are searched if `RSB_CUDA_PATH` has this value and there is a
    /// toolkit.
    fn roots(path: &str) -> Vec<PathBuf> {
        let places = CudaPaths::of(|name| match name {
            PATH => Some(path.into()),
            "CUDA_PATH" => Some("/toolkit".into()),
            _ => None,
        });
        places.roots
    }

    #[test]
    fn the_variable_takes_a_list_and_its_old_name_counts_where_it_is_not_set() {
        assert_eq!(roots("/a:/b")[..3], ["/a", "/b", "/toolkit"].map(PathBuf::from));
        assert_eq!(roots("/new")[..2], ["/new", "/toolkit"].map(PathBuf::from));
    }

    #[test]
    fn each_way_to_miss_is_told() {
        let root = tempfile::tempdir().unwrap();
        let absent = CudaPaths { roots: vec![root.path().to_owned()], ..CudaPaths::default() };
        let error = WANTED.find(&absent).unwrap_err();
        assert!(
            error.why.contains("libx.so.13") && error.why.contains(&*root.path().to_string_lossy()),
            "{error}"
        );
        put(root.path(), "libx.so.12");
        let error = WANTED.find(&absent).unwrap_err();
        assert!(
            error.why.contains("libx.so.12:") || error.why.contains("ELF"),
            "the error must say that the file is not a library: {error}"
        );
        let named = CudaPaths {
            explicit: vec![("RSB_X_LIBRARY", "/a/b.so".into())],
            ..CudaPaths::default()
        };
        let error = WANTED.find(&named).unwrap_err();
        assert!(
            error.why.contains("RSB_X_LIBRARY names /a/b.so") && error.cure == "install it",
            "{error}"
        );
    }
}
