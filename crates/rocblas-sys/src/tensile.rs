//! Whether rocBLAS has kernels for an architecture. It ends the process when they are missing, so that the files are
//! looked at first.

use std::path::{Path, PathBuf};

use hip_runtime_sys::Unavailable;

/// The directories in which a library at `library` may keep its kernels: what `ROCBLAS_TENSILE_LIBPATH` says, else
/// `rocblas/library` beside it, or `rocblas/<version>/library` as Debian has it.
pub fn kernel_dirs(library: &Path, explicit: Option<&Path>) -> Vec<PathBuf> {
    if let Some(dir) = explicit {
        return vec![dir.to_owned()];
    }
    // Behind links such as librocblas.so.5 the file may lie elsewhere; both places count.
    let real = library.canonicalize().ok();
    let beside = [Some(library), real.as_deref()].into_iter().flatten().filter_map(Path::parent);
    let mut all: Vec<PathBuf> = Vec::new();
    for root in beside.map(|dir| dir.join("rocblas")) {
        let versions = std::fs::read_dir(&root).into_iter().flatten().filter_map(Result::ok);
        all.push(root.join("library"));
        all.extend(versions.map(|entry| entry.path().join("library")));
    }
    all.retain(|dir| dir.is_dir());
    all.sort_unstable();
    all.dedup();
    all
}

/// Checks that a file in one of `dirs` names `arch`, such as `gfx90a`.
///
/// # Errors
/// When none does.
pub fn check_kernels(arch: &str, dirs: &[PathBuf]) -> Result<(), Unavailable> {
    let files = dirs.iter().flat_map(|dir| std::fs::read_dir(dir).into_iter().flatten());
    let mut named = files.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    if named.any(|name| names(&name, arch)) {
        return Ok(());
    }
    let places = dirs.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(", ");
    let why = if dirs.is_empty() {
        format!("its directory of kernels was not found, so that it has none for {arch}")
    } else {
        format!("no file in {places} is for {arch}")
    };
    Err(Unavailable::new(
        format!("kernels of rocBLAS for {arch}"),
        why,
        "install the rocBLAS that supports this GPU, or set ROCBLAS_TENSILE_LIBPATH; `provider=native` needs none",
    ))
}

/// Whether `arch` stands in a file's name on its own: `gfx90a`, but not the `gfx90` in it.
fn names(file: &str, arch: &str) -> bool {
    file.match_indices(arch).any(|(at, found)| {
        let after = file.get(at + found.len()..).and_then(|rest| rest.chars().next());
        after.is_none_or(|next| !next.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_beside_the_library_in_both_layouts() {
        for layout in ["rocblas/library", "rocblas/5.2.0/library"] {
            let lib = tempfile::tempdir().unwrap();
            let dir = lib.path().join(layout);
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("TensileLibrary_lazy_gfx90a.dat"), "").unwrap();
            std::fs::write(dir.join("Kernels.so-000-gfx1100.hsaco"), "").unwrap();
            let dirs = kernel_dirs(&lib.path().join("librocblas.so.5"), None);
            assert_eq!(dirs, [dir]);
            check_kernels("gfx90a", &dirs).unwrap();
            check_kernels("gfx1100", &dirs).unwrap();
            for missing in ["gfx90", "gfx110", "gfx942"] {
                let error = check_kernels(missing, &dirs).unwrap_err();
                assert!(error.what.contains(missing) && !error.cure.is_empty(), "{error}");
            }
        }
    }

    #[test]
    fn without_a_directory_there_are_no_kernels() {
        let lib = tempfile::tempdir().unwrap();
        let dirs = kernel_dirs(&lib.path().join("librocblas.so.4"), None);
        assert!(check_kernels("gfx90a", &dirs).unwrap_err().why.contains("was not found"));
        assert_eq!(kernel_dirs(Path::new("/x"), Some(Path::new("/kernels"))), [PathBuf::from("/kernels")]);
    }
}
