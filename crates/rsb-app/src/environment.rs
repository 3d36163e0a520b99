//! The environment variables that count. One that looks like ours but is not known is an error: a
//! typo never means the default.

use anyhow::anyhow;

use crate::AppError;

/// Every variable that is read, with the flag that goes before it.
pub const KNOWN: &[(&str, &str)] = &[
    ("RSB_SUITE", "--suite"),
    ("RSB_BACKEND", "--backend"),
    ("RSB_DEVICE", "--device"),
    ("RSB_PROFILE", "--profile"),
    ("RSB_RUNS", "--runs"),
    ("RSB_WARMUP", "--warmup"),
    ("RSB_REPLICATES", "--replicates"),
    ("RSB_TIMEOUT", "--timeout"),
    ("RSB_RESULTS_DIR", "--results-dir"),
    ("RSB_BASELINES_DIR", "--baselines-dir"),
    ("RSB_POLICY", "--policy"),
    ("RSB_CONFIG", "--config"),
    (rsb_catalog::custom::VARIABLE, "--custom"),
    (
        "RSB_CACHE_DIR",
        "where the programs that made baselines are kept, in place of ~/.cache/rusty-stack-bench",
    ),
    ("RSB_LOG", "how much is logged: error, warn, info, debug or trace"),
    ("RSB_HIP_LIBRARY", "the file of the HIP runtime, in place of the usual search"),
    ("RSB_ROCBLAS_LIBRARY", "the file of rocBLAS, in place of the usual search"),
    ("RSB_HIPBLASLT_LIBRARY", "the file of hipBLASLt, in place of the usual search"),
    ("RSB_RCCL_LIBRARY", "the file of RCCL, in place of the usual search"),
    ("RSB_OPENCL_LIBRARY", "the file of OpenCL's loader, in place of the usual search"),
    ("RSB_VULKAN_LIBRARY", "the file of Vulkan's loader, in place of the usual search"),
    ("RSB_CUDA_LIBRARY", "the file of NVIDIA's driver (libcuda), in place of the usual search"),
    ("RSB_NVRTC_LIBRARY", "the file of NVRTC, in place of the usual search"),
    ("RSB_CUBLAS_LIBRARY", "the file of cuBLAS, in place of the usual search"),
    ("RSB_CUBLASLT_LIBRARY", "the file of cuBLASLt, in place of the usual search"),
    ("RSB_NCCL_LIBRARY", "the file of NCCL, in place of the usual search"),
    ("RSB_NVML_LIBRARY", "the file of NVIDIA's sensors, in place of the usual search"),
    ("RSB_CUDA_PATH", "directories to look for NVRTC and cuBLAS in first, separated as in PATH"),
    ("RSB_DUCKDB_LIBRARY", "the file of DuckDB, in place of the usual search"),
    (
        "RSB_PDF_WORKER",
        "the program that typesets reports as PDF, in place of the one beside this program",
    ),
    (
        "RSB_QNN_PYTHON",
        "the interpreter that has Qualcomm's QNN, in place of that of `python setup qnn`",
    ),
    (
        "RSB_SYSFS_ROOT",
        "a directory that stands for /sys where GPUs' sensors are read while measuring",
    ),
    ("RSB_TEST_SLOWDOWN", "only honored by builds with the feature `fault-injection`"),
    ("RSB_TEST_PANIC", "only honored by builds with the feature `fault-injection`"),
    ("RSB_AXE_CORE", "only read by tests: the file axe.min.js of axe-core"),
    ("RSB_REQUIRE", "only read by tests: what must not be missing"),
    ("RSB_SKIPPED", "only read by tests: a file for what is missing"),
];

/// Refuses variables that begin with `RSB_` and are not known.
///
/// # Errors
/// Names the variable and the nearest known one.
pub fn check() -> Result<(), AppError> {
    check_names(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))
}

/// What is set and does not count under `cargo bench`, each with what does there.
pub fn not_of_bench() -> Vec<String> {
    not_of_bench_in(|name| std::env::var_os(name).is_some())
}

fn not_of_bench_in(is_set: impl Fn(&str) -> bool) -> Vec<String> {
    const FILTER: &str = "filter by id, such as `-- rocm:0`";
    let others = [
        ("RSB_SUITE", "choose the target with --bench"),
        ("RSB_BACKEND", FILTER),
        ("RSB_DEVICE", FILTER),
        ("RSB_RUNS", "use Criterion's --sample-size"),
        ("RSB_WARMUP", "use Criterion's --warm-up-time"),
        ("RSB_REPLICATES", "one process measures each case; `run` has replicates"),
        ("RSB_TIMEOUT", "use Criterion's --measurement-time"),
    ];
    let set = others.into_iter().filter(|(name, _)| is_set(name));
    set.map(|(name, instead)| format!("{name} does not count under cargo bench: {instead}"))
        .collect()
}

fn check_names(names: impl Iterator<Item = String>) -> Result<(), AppError> {
    for name in names.filter(|name| name.starts_with("RSB_")) {
        if KNOWN.iter().all(|(known, _)| *known != name) {
            let nearest = KNOWN.iter().max_by(|a, b| {
                strsim::jaro_winkler(&name, a.0).total_cmp(&strsim::jaro_winkler(&name, b.0))
            });
            let near =
                nearest.map(|(known, _)| format!(", did you mean {known}?")).unwrap_or_default();
            return Err(AppError::usage(anyhow!("unknown environment variable {name}{near}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_count_under_cargo_bench_says_what_does() {
        let notes = not_of_bench_in(|name| ["RSB_RUNS", "RSB_PROFILE"].contains(&name));
        assert_eq!(
            notes,
            ["RSB_RUNS does not count under cargo bench: use Criterion's --sample-size"]
        );
    }

    #[test]
    fn a_typo_is_an_error_that_names_the_right_one() {
        for right in ["RSB_RUNS", "PATH"] {
            assert!(check_names(std::iter::once(right.to_owned())).is_ok(), "{right}");
        }
        let wrong = check_names(std::iter::once("RSB_RUNZ".to_owned()));
        let error = wrong.unwrap_err().error.to_string();
        assert!(error.contains("RSB_RUNS"), "{error}");
    }
}
