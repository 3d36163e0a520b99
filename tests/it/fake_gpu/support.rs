//! A temporary directory in which the program finds the fake GPU instead of a vendor's runtime.

use std::path::Path;

use serde_json::Value;

use crate::common::{Arguments, Bench, ProgramOutput, SMALL};

/// A runtime that the fake GPU replaces.
#[derive(Debug, Clone, Copy)]
pub struct Runtime {
    /// Backend.
    pub backend: &'static str,
    /// Name of the compiler in faults.
    pub compiler: &'static str,
    /// Name of the library for matrix products, in faults and as a provider.
    pub products: &'static str,
    /// Name of the second library for matrix products, in faults and as a provider.
    pub light: &'static str,
    /// Environment variable with the path of the second library.
    pub light_variable: &'static str,
    /// Environment variables with the paths of the runtime's libraries.
    variables: &'static [&'static str],
}

pub const ROCM: Runtime = Runtime {
    backend: "rocm",
    compiler: "hiprtc",
    products: "rocblas",
    light: "hipblaslt",
    light_variable: "RSB_HIPBLASLT_LIBRARY",
    variables: &["RSB_HIP_LIBRARY", "RSB_ROCBLAS_LIBRARY", "RSB_HIPBLASLT_LIBRARY"],
};

#[cfg(feature = "cuda")]
pub const CUDA: Runtime = Runtime {
    backend: "cuda",
    compiler: "nvrtc",
    products: "cublas",
    light: "cublaslt",
    light_variable: "RSB_CUBLASLT_LIBRARY",
    variables: &["RSB_CUDA_LIBRARY"],
};

pub const RUNTIMES: &[Runtime] = &[
    ROCM,
    #[cfg(feature = "cuda")]
    CUDA,
];

/// Pairs each runtime with its value in `own`: ROCm first, then CUDA.
pub fn each<T>(own: [T; 2]) -> impl Iterator<Item = (Runtime, T)> {
    RUNTIMES.iter().copied().zip(own)
}

impl Runtime {
    /// Returns `bench` with `library` as each of this runtime's libraries.
    pub fn loaded(self, bench: Bench, library: &Path) -> Bench {
        let caches = bench.path("caches").display().to_string();
        let library = library.display().to_string();
        let named = |bench: Bench, variable: &&str| bench.set(variable, &library);
        self.variables.iter().fold(bench, named).set("XDG_CACHE_HOME", &caches)
    }

    /// Returns a bench with `library` as each of this runtime's libraries, with caches in the
    /// temporary directory.
    pub fn with_library(self, library: &Path) -> Bench {
        self.loaded(Bench::new(), library)
    }

    /// Returns a bench with the fake GPU.
    pub fn fake_gpu(self) -> Bench {
        self.with_library(&rsb_fake_gpu::file::library().unwrap())
    }

    /// Returns a bench with the fake GPU and an injected fault.
    pub fn with_fault(self, fault: &str) -> Bench {
        self.fake_gpu().set("FAKE_GPU_FAULT", fault)
    }

    /// Returns a bench with a copy of the library that lacks functions.
    pub fn without(self, names: &[&str]) -> (tempfile::TempDir, Bench) {
        let dir = tempfile::tempdir().unwrap();
        let torn = dir.path().join("librsb_fake_gpu.so");
        rsb_fake_gpu::file::copy_without(names, &torn).unwrap();
        let bench = self.with_library(&torn);
        (dir, bench)
    }

    /// Runs small benchmarks on the runtime's backend, with JSON output.
    pub fn run(self, bench: &Bench, arguments: &(impl Arguments + ?Sized)) -> ProgramOutput {
        let fixed = ["run", "--backend", self.backend, "--json"];
        bench.run(&[&fixed[..], &arguments.words(), &SMALL].concat())
    }

    /// Runs small products with the runtime's library and with a native kernel.
    pub fn run_products(self, bench: &Bench) -> ProgramOutput {
        let provider = format!("provider={},native", self.products);
        let sizes =
            ["gemm", "--axis", "shape=64x48x32", "--axis", "dtype=f32", "--axis", &provider];
        self.run(bench, &sizes)
    }
}

/// Returns a bench with the fake GPU as ROCm.
pub fn fake_gpu() -> Bench {
    ROCM.fake_gpu()
}

/// Runs small benchmarks on the ROCm backend, with JSON output.
pub fn run(bench: &Bench, arguments: &(impl Arguments + ?Sized)) -> ProgramOutput {
    ROCM.run(bench, arguments)
}

/// Small cases of `tensor-ops` for most faults: gelu fails, the others succeed.
pub const THREE: [&str; 5] =
    ["tensor-ops", "--axis", "shape=32x1024", "--axis", "operation=relu,gelu,sum"];

/// Returns every case of a document.
pub fn cases(document: &Value) -> &[Value] {
    document["benchmarks"].as_array().unwrap()
}

/// Returns the only case whose id contains `part`.
pub fn case<'d>(document: &'d Value, part: &str) -> &'d Value {
    let found: Vec<&Value> =
        cases(document).iter().filter(|case| id(case).contains(part)).collect();
    assert_eq!(found.len(), 1, "{part}: {document:#}");
    found[0]
}

/// Returns the id of a case.
pub fn id(case: &Value) -> &str {
    case["benchmark_id"].as_str().unwrap()
}

/// Returns the outcome of a case.
pub fn outcome(case: &Value) -> &str {
    case["outcome"].as_str().unwrap()
}

/// Checks that a case has no results, but `what`, `why` and `cure`; `why` must contain `word`.
pub fn assert_reason(case: &Value, expected: &str, word: &str) {
    assert_eq!(outcome(case), expected, "{case:#}");
    let text = |name: &str| {
        case[name].as_str().unwrap_or_else(|| panic!("no {name}: {case:#}")).to_owned()
    };
    assert!(!text("what").is_empty() && !text("cure").is_empty(), "{case:#}");
    assert!(
        format!("{}: {}", text("what"), text("why")).contains(word),
        "{word} is not in {case:#}"
    );
}

/// Checks that every case was simulated, except those whose id contains `but`.
pub fn assert_rest_stands(document: &Value, but: &str) {
    let mut rest = cases(document).iter().filter(|case| !id(case).contains(but)).peekable();
    assert!(rest.peek().is_some(), "{document:#}");
    for case in rest {
        assert_eq!(outcome(case), "simulated", "{case:#}");
        assert_eq!(case["device_type"], "simulated");
    }
}

/// Checks that no process is left whose current directory is that of the bench.
pub fn assert_no_process_left(bench: &Bench) {
    let here = bench.dir.path().canonicalize().unwrap();
    let at_home = |process: &std::fs::DirEntry| {
        std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == here)
    };
    let left = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter(at_home).count();
    assert_eq!(left, 0, "a worker outlived its run");
}
