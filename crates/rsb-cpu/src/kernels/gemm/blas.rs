//! BLAS libraries found at run time, and their search paths. The program is not linked to them, so
//! a missing library or symbol is only an error with a suggested fix.
#![allow(unsafe_code)]

use std::env;
use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use libloading::Library;
use rsb_model::Reason;

/// `cblas_?gemm`: layout, transposes, sizes, alpha, A, B, beta, C, with elements of `E` in A and B
/// and of `C` in C.
type GemmFn<E, C> = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    C,
    *const E,
    c_int,
    *const E,
    c_int,
    C,
    *mut C,
    c_int,
);

/// Functions of a BLAS library with 32-bit integers (LP64).
pub(super) struct Blas {
    pub(super) name: &'static str,
    pub(super) sgemm: Option<GemmFn<f32, f32>>,
    pub(super) dgemm: Option<GemmFn<f64, f64>>,
    /// bf16 inputs, f32 output.
    pub(super) sbgemm: Option<GemmFn<u16, f32>>,
    set_threads: Option<unsafe extern "C" fn(c_int)>,
    /// Last thread count passed to the library, which keeps one count for the whole process.
    threads: AtomicUsize,
}

/// Function names that differ between libraries.
struct Kind {
    name: &'static str,
    files: &'static [&'static str],
    sbgemm: &'static str,
    set_threads: &'static str,
    cure: &'static str,
}

const OPENBLAS: Kind = Kind {
    name: "openblas",
    files: &["libopenblas.so.0", "libopenblas.so", "libopenblas.0.dylib", "libopenblas.dll"],
    sbgemm: "cblas_sbgemm",
    set_threads: "openblas_set_num_threads",
    cure: "install OpenBLAS (Debian and Ubuntu: libopenblas0-pthread; Fedora: openblas-threads)",
};

const MKL: Kind = Kind {
    name: "mkl",
    files: &["libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so", "mkl_rt.2.dll"],
    sbgemm: "cblas_gemm_bf16bf16f32",
    set_threads: "MKL_Set_Num_Threads",
    cure: "install oneMKL (for example with `pip install mkl` in the active environment) or set \
           MKLROOT",
};

impl Blas {
    /// Returns OpenBLAS, loaded on first use. It is never unloaded, since it has threads of its
    /// own.
    pub(super) fn openblas() -> Result<&'static Self, Reason> {
        static LIBRARY: OnceLock<Result<Blas, Reason>> = OnceLock::new();
        LIBRARY.get_or_init(|| load(&OPENBLAS)).as_ref().map_err(Clone::clone)
    }

    /// Returns oneMKL, loaded on first use and never unloaded.
    pub(super) fn mkl() -> Result<&'static Self, Reason> {
        static LIBRARY: OnceLock<Result<Blas, Reason>> = OnceLock::new();
        LIBRARY.get_or_init(|| load(&MKL)).as_ref().map_err(Clone::clone)
    }

    /// Sets the number of threads of the next products. Calls the library only on changes, since
    /// the call takes a lock.
    pub(super) fn set_threads(&self, threads: usize) {
        if self.threads.swap(threads, Ordering::Relaxed) == threads {
            return;
        }
        if let Some(set) = self.set_threads {
            // SAFETY: both functions take a positive number and can be called at any time.
            unsafe { set(c_int::try_from(threads).unwrap_or(1)) };
        }
    }
}

/// Opens the first of `files` that exists. It is never unloaded, since its threads and pointers
/// live as long as the process.
pub(super) fn open(files: &[&str]) -> Option<&'static Library> {
    let mut candidates = files.iter().flat_map(|file| {
        std::iter::once(PathBuf::from(file))
            .chain(dirs().into_iter().map(move |dir| dir.join(file)))
    });
    // SAFETY: loading runs the initializers of a library that the user installed under its
    // well-known name.
    let library = candidates.find_map(|path| unsafe { Library::new(path) }.ok())?;
    Some(Box::leak(Box::new(library)))
}

fn load(kind: &Kind) -> Result<Blas, Reason> {
    let library = open(kind.files).ok_or_else(|| {
        let files = kind.files.iter().take(2).copied().collect::<Vec<_>>().join(" or ");
        Reason::new(
            kind.name,
            format!("{files} is neither on the library path nor in the active environment"),
            kind.cure,
        )
    })?;
    if kind.name == MKL.name {
        choose_threading(library);
    }
    let blas = Blas {
        name: kind.name,
        sgemm: symbol(library, "cblas_sgemm"),
        dgemm: symbol(library, "cblas_dgemm"),
        sbgemm: symbol(library, kind.sbgemm),
        set_threads: symbol(library, kind.set_threads),
        threads: AtomicUsize::new(0),
    };
    if blas.sgemm.is_none() && blas.dgemm.is_none() {
        return Err(Reason::new(kind.name, "the library has no CBLAS interface", kind.cure));
    }
    Ok(blas)
}

/// Returns a function of the library, if it exists.
pub(super) fn symbol<F: Copy>(library: &Library, name: &str) -> Option<F> {
    // SAFETY: every caller names a documented function of these libraries, and `F` is its
    // signature.
    unsafe { library.get::<F>(name.as_bytes()).ok().map(|found| *found) }
}

/// Selects an available threading runtime for oneMKL, which otherwise exits the process if its
/// default runtime is missing.
fn choose_threading(library: &'static Library) {
    const SEQUENTIAL: c_int = 1;
    const GNU: c_int = 3;
    let layer = if dirs().iter().any(|dir| load_runtime(&dir.join("libiomp5.so").to_string_lossy()))
        || load_runtime("libiomp5.so")
    {
        return;
    } else if load_runtime("libgomp.so.1") {
        GNU
    } else {
        SEQUENTIAL
    };
    if let Some(set) =
        symbol::<unsafe extern "C" fn(c_int) -> c_int>(library, "MKL_Set_Threading_Layer")
    {
        // SAFETY: the value is documented, and no other function of the library has been called
        // yet.
        unsafe { set(layer) };
    }
}

/// Loads an OpenMP runtime permanently. Returns whether it is available.
fn load_runtime(file: &str) -> bool {
    // SAFETY: OpenMP runtimes have initializers without requirements, and they stay loaded for
    // oneMKL.
    unsafe { Library::new(file) }.map(std::mem::forget).is_ok()
}

/// Returns directories to search in addition to the library path: those in environment variables,
/// and those of pip user installs and Intel's packages.
fn dirs() -> Vec<PathBuf> {
    dirs_by(|variable| env::var_os(variable).filter(|root| !root.is_empty()).map(PathBuf::from))
}

fn dirs_by(root_in: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    const PLACES: [(&str, &str); 6] = [
        ("MKLROOT", "lib"),
        ("MKLROOT", "lib/intel64"),
        ("DNNLROOT", "lib"),
        ("VIRTUAL_ENV", "lib"),
        ("CONDA_PREFIX", "lib"),
        ("HOME", ".local/lib"),
    ];
    let named = PLACES.iter().filter_map(|(variable, below)| Some(root_in(variable)?.join(below)));
    named.chain(std::iter::once(PathBuf::from("/opt/intel/oneapi/mkl/latest/lib"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_missing_is_a_reason_with_a_cure() {
        let nowhere = Kind { files: &["libno-such-blas.so.7"], ..OPENBLAS };
        let reason = load(&nowhere).err().unwrap();
        assert!(
            reason.why.contains("libno-such-blas.so.7") && reason.cure.contains("install"),
            "{reason}"
        );
    }

    #[test]
    fn a_library_is_looked_for_where_its_packages_put_it() {
        assert_eq!(dirs_with(&[]), ["/opt/intel/oneapi/mkl/latest/lib"]);
        let found =
            dirs_with(&[("HOME", "/home/a"), ("MKLROOT", "/mkl"), ("VIRTUAL_ENV", "/venv")]);
        let expected = ["/mkl/lib", "/mkl/lib/intel64", "/venv/lib", "/home/a/.local/lib"];
        assert_eq!(found[..4], expected, "explicitly named directories come first");
    }

    fn dirs_with(set: &[(&str, &str)]) -> Vec<String> {
        let dirs = dirs_by(|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, root)| PathBuf::from(root))
        });
        dirs.iter().map(|dir| dir.display().to_string()).collect()
    }

    #[test]
    fn a_library_without_cblas_is_refused() {
        let c_library = Kind { files: &["libc.so.6", "libSystem.dylib", "msvcrt.dll"], ..OPENBLAS };
        let reason = load(&c_library).err().unwrap();
        assert!(reason.why.contains("CBLAS"), "{reason}");
    }
}
