//! Checks by file name whether a library has kernels for an architecture. This check is made before
//! using the library: without kernels, rocBLAS terminates the process, and hipBLASLt reports only
//! an invalid value.

use std::path::{Path, PathBuf};

use runtime_loading::Unavailable;

/// Location of a library's kernel files.
#[derive(Debug, Clone, Copy)]
pub struct KernelFiles {
    /// Name of the library.
    pub name: &'static str,
    /// Name of the kernel directory next to the library, such as `rocblas`.
    pub directory: &'static str,
    /// Environment variable with the path of another kernel directory.
    pub variable: &'static str,
}

impl KernelFiles {
    /// Returns the directories that may contain kernels of the library file `library`. This is the
    /// value of the environment variable if it is set; otherwise, next to the library,
    /// `<directory>/library` or, on Debian, `<directory>/<version>/library`.
    pub fn dirs(&self, library: &Path) -> Vec<PathBuf> {
        match std::env::var_os(self.variable).filter(|dir| !dir.is_empty()) {
            Some(dir) => vec![dir.into()],
            None => beside(library, self.directory),
        }
    }

    /// Checks that one of `dirs` contains a file for `arch`, such as `gfx90a`.
    ///
    /// # Errors
    /// If no file name contains `arch`.
    pub fn check(&self, arch: &str, dirs: &[PathBuf]) -> Result<(), Unavailable> {
        let files = dirs.iter().flat_map(|dir| std::fs::read_dir(dir).into_iter().flatten());
        let mut named = files.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        if named.any(|name| names(&name, arch)) {
            return Ok(());
        }
        let places =
            dirs.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(", ");
        let why = if dirs.is_empty() {
            format!("the kernel directory was not found, so there are no kernels for {arch}")
        } else {
            format!("no file in {places} is for {arch}")
        };
        let cure = format!(
            "install the {} that supports this GPU, set {}, or choose `provider=native`",
            self.name, self.variable
        );
        Err(Unavailable::new(format!("kernels of {} for {arch}", self.name), why, cure))
    }
}

fn beside(library: &Path, directory: &str) -> Vec<PathBuf> {
    // The library may be a link to a file in another directory, such as librocblas.so.5; search
    // both directories.
    let real = library.canonicalize().ok();
    let beside = [Some(library), real.as_deref()].into_iter().flatten().filter_map(Path::parent);
    let mut all: Vec<PathBuf> = Vec::new();
    for root in beside.map(|dir| dir.join(directory)) {
        let versions = std::fs::read_dir(&root).into_iter().flatten().filter_map(Result::ok);
        all.push(root.join("library"));
        all.extend(versions.map(|entry| entry.path().join("library")));
    }
    all.retain(|dir| dir.is_dir());
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns whether a file name contains `arch` as a whole word. The word `gfx90` is not in a name
/// that contains only `gfx90a`.
fn names(file: &str, arch: &str) -> bool {
    file.match_indices(arch).any(|(at, found)| {
        let after = file.get(at + found.len()..).and_then(|rest| rest.chars().next());
        after.is_none_or(|next| !next.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROCBLAS: KernelFiles = KernelFiles {
        name: "rocBLAS",
        directory: "rocblas",
        variable: "RSB_TEST_KERNELS_OF_NO_LIBRARY",
    };

    #[test]
    fn kernels_are_found_beside_the_library_in_both_layouts() {
        for layout in ["rocblas/library", "rocblas/5.2.0/library"] {
            let lib = tempfile::tempdir().unwrap();
            let dir = lib.path().join(layout);
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("TensileLibrary_lazy_gfx90a.dat"), "").unwrap();
            std::fs::write(dir.join("Kernels.so-000-gfx1100.hsaco"), "").unwrap();
            let dirs = ROCBLAS.dirs(&lib.path().join("librocblas.so.5"));
            assert_eq!(dirs, [dir]);
            ROCBLAS.check("gfx90a", &dirs).unwrap();
            ROCBLAS.check("gfx1100", &dirs).unwrap();
            for missing in ["gfx90", "gfx110", "gfx942"] {
                let error = ROCBLAS.check(missing, &dirs).unwrap_err();
                assert!(
                    error.what.contains(missing) && error.cure.contains(ROCBLAS.variable),
                    "{error}"
                );
            }
            let of_another = KernelFiles { directory: "hipblaslt", ..ROCBLAS };
            assert!(of_another.dirs(&lib.path().join("libhipblaslt.so.1")).is_empty());
        }
    }

    #[test]
    fn without_a_directory_there_are_no_kernels() {
        let lib = tempfile::tempdir().unwrap();
        let dirs = ROCBLAS.dirs(&lib.path().join("librocblas.so.4"));
        assert!(ROCBLAS.check("gfx90a", &dirs).unwrap_err().why.contains("was not found"));
    }
}
