//! Search path for the library. Places are searched in this order: the file set in
//! `RSB_DUCKDB_LIBRARY`, the directory set in `DUCKDB_LIB_DIR` (which other programs use too), and
//! the default path of the system's loader.

use std::env;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use runtime_loading::{Loaded, MissingPart, Unavailable};

use crate::raw::DuckdbApi;

const FILE: &str = "RSB_DUCKDB_LIBRARY";

/// Environment variable with the directory of the library; other programs use it too.
const DIR: &str = "DUCKDB_LIB_DIR";

const NAME: &str = "libduckdb.so";

const CURE: &str = "download libduckdb.so of DuckDB 1.2 or newer (libduckdb-linux-*.zip of its \
                    releases, or the npm package @duckdb/node-bindings-linux-x64) and set \
                    RSB_DUCKDB_LIBRARY to its path";

/// A search path for the library.
#[derive(Debug, Clone, Default)]
pub struct DuckdbPlaces {
    /// File set in the environment.
    pub file: Option<PathBuf>,
    /// Directory to search first.
    pub dir: Option<PathBuf>,
}

impl DuckdbPlaces {
    /// Returns the search path of this process.
    pub fn here() -> Self {
        let set =
            |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { file: set(FILE), dir: set(DIR) }
    }

    fn find(&self) -> Result<Loaded, Unavailable> {
        if let Some(file) = &self.file {
            return Loaded::first(std::slice::from_ref(file)).map_err(|refusal| {
                let reason = refusal.map(|reason| format!(": {reason}")).unwrap_or_default();
                unavailable(format!(
                    "{FILE} names {}, which cannot be loaded{reason}",
                    file.display()
                ))
            });
        }
        let in_dir = self.dir.as_deref().map(|dir| dir.join(NAME)).filter(|path| path.exists());
        let candidates: Vec<PathBuf> = in_dir.into_iter().chain([PathBuf::from(NAME)]).collect();
        Loaded::first(&candidates)
            .map_err(|refusal| unavailable(refusal.unwrap_or_else(|| self.nowhere())))
    }

    /// Returns the reason for a library that is in none of the searched places.
    fn nowhere(&self) -> String {
        let dir =
            self.dir.as_deref().map(|dir| format!("in {} or ", dir.display())).unwrap_or_default();
        format!("{NAME} is not {dir}on the library path")
    }
}

fn unavailable(why: String) -> Unavailable {
    Unavailable::new("DuckDB (libduckdb)", why, CURE)
}

/// The loaded DuckDB library.
#[derive(Clone)]
pub struct DuckdbLibrary {
    pub(crate) api: Arc<DuckdbApi>,
}

impl std::fmt::Debug for DuckdbLibrary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DuckdbLibrary").field("loaded", self.api.loaded()).finish()
    }
}

impl DuckdbLibrary {
    /// Loads the library from the search path of this process.
    ///
    /// # Errors
    /// If no library can be loaded, or it lacks a function.
    pub fn load() -> Result<Self, Unavailable> {
        Self::load_from(&DuckdbPlaces::here())
    }

    /// Loads the library from `places`.
    ///
    /// # Errors
    /// If no library can be loaded, or it lacks a function.
    pub fn load_from(places: &DuckdbPlaces) -> Result<Self, Unavailable> {
        let loaded = places.find()?;
        let path: &Path = loaded.path();
        let api = DuckdbApi::resolve(loaded).map_err(|name| Unavailable {
            lack: MissingPart::Function,
            ..unavailable(format!("{} does not have {name}", path.display()))
        })?;
        Ok(Self { api: Arc::new(api) })
    }

    /// Returns the version reported by the library.
    pub fn version(&self) -> String {
        // SAFETY: the function takes no arguments and returns a static zero-terminated text.
        let version = unsafe {
            let text = (self.api.duckdb_library_version)();
            if text.is_null() { None } else { Some(CStr::from_ptr(text)) }
        };
        version.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_miss_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(NAME);
        let named = DuckdbPlaces { file: Some(file.clone()), dir: None };
        let error = DuckdbLibrary::load_from(&named).unwrap_err();
        assert!(error.why.contains("RSB_DUCKDB_LIBRARY names") && error.cure == CURE, "{error}");
        std::fs::write(&file, "not a library").unwrap();
        let beside = DuckdbPlaces { file: None, dir: Some(dir.path().to_owned()) };
        // If the system has the library, the search falls back to it.
        if let Err(error) = DuckdbLibrary::load_from(&beside) {
            assert!(
                error.why.contains(&*file.to_string_lossy()),
                "the error must name the file found: {error}"
            );
        }
        // A library that can be loaded but is not DuckDB.
        let other = DuckdbPlaces { file: Some("libc.so.6".into()), dir: None };
        let error = DuckdbLibrary::load_from(&other).unwrap_err();
        assert!(error.why.contains("does not have duckdb_library_version"), "{error}");
        assert_eq!(error.lack, MissingPart::Function);
    }
}
