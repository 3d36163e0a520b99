//! Environment variables. An unknown variable with the prefix `RSB_` is an error, so that a typo is
//! not ignored.

use anyhow::anyhow;

use crate::AppError;

/// Every variable that is read, with the flag that takes precedence, or a description.
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
    ("RSB_STORE", "--store"),
    (rsb_catalog::custom::VARIABLE, "--custom"),
    ("RSB_LOG_DIR", "--log-dir"),
    ("RSB_LOG_FORMAT", "--log-format"),
    (
        "RSB_CACHE_DIR",
        "directory for the programs that measured baselines, instead of ~/.cache/rusty-stack-bench",
    ),
    ("RSB_LOG", "log level: error, warn, info, debug or trace"),
    ("RSB_HIP_LIBRARY", "path of the HIP runtime, instead of the usual search"),
    ("RSB_ROCBLAS_LIBRARY", "path of rocBLAS, instead of the usual search"),
    ("RSB_HIPBLASLT_LIBRARY", "path of hipBLASLt, instead of the usual search"),
    ("RSB_RCCL_LIBRARY", "path of RCCL, instead of the usual search"),
    ("RSB_OPENCL_LIBRARY", "path of OpenCL's loader, instead of the usual search"),
    ("RSB_VULKAN_LIBRARY", "path of Vulkan's loader, instead of the usual search"),
    ("RSB_CUDA_LIBRARY", "path of NVIDIA's driver (libcuda), instead of the usual search"),
    ("RSB_NVRTC_LIBRARY", "path of NVRTC, instead of the usual search"),
    ("RSB_CUBLAS_LIBRARY", "path of cuBLAS, instead of the usual search"),
    ("RSB_CUBLASLT_LIBRARY", "path of cuBLASLt, instead of the usual search"),
    ("RSB_NCCL_LIBRARY", "path of NCCL, instead of the usual search"),
    ("RSB_NVML_LIBRARY", "path of NVIDIA's sensor library (NVML), instead of the usual search"),
    ("RSB_CUDA_PATH", "directories to search first for NVRTC and cuBLAS, separated as in PATH"),
    ("RSB_DUCKDB_LIBRARY", "path of DuckDB, instead of the usual search"),
    (
        "RSB_PDF_WORKER",
        "program that typesets reports as PDF, instead of the one next to this program",
    ),
    (
        "RSB_QNN_PYTHON",
        "Python interpreter with Qualcomm's QNN, instead of that of `python setup qnn`",
    ),
    ("RSB_SYSFS_ROOT", "directory to read GPU sensors from while measuring, instead of /sys"),
    ("RSB_TEST_SLOWDOWN", "only honored by builds with the feature `fault-injection`"),
    ("RSB_TEST_PANIC", "only honored by builds with the feature `fault-injection`"),
    ("RSB_AXE_CORE", "only read by tests: path of axe.min.js of axe-core"),
    ("RSB_GRAFANA_SCHEMA", "only read by tests: node_modules with @grafana/schema and typescript"),
    ("RSB_KUBERNETES_VALIDATE", "only read by tests: the program kubernetes-validate"),
    ("RSB_REQUIRE", "only read by tests: requirements that must be present"),
    ("RSB_SMTP_PYTHON", "only read by tests: Python interpreter with aiosmtpd"),
    ("RSB_SKIPPED", "only read by tests: file that lists missing requirements"),
];

/// Refuses unknown variables that begin with `RSB_`.
///
/// # Errors
/// If a variable is unknown. The error names the nearest known variable.
pub fn check() -> Result<(), AppError> {
    check_names(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))
}

/// Lists the set variables that have no effect under `cargo bench`, with the replacement of each.
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
        ("RSB_REPLICATES", "one process measures each case; use `run` for replicates"),
        ("RSB_TIMEOUT", "use Criterion's --measurement-time"),
        ("RSB_STORE", "send the runs with `store copy`"),
    ];
    let set = others.into_iter().filter(|(name, _)| is_set(name));
    set.map(|(name, instead)| format!("{name} has no effect under cargo bench: {instead}"))
        .collect()
}

fn check_names(names: impl Iterator<Item = String>) -> Result<(), AppError> {
    // A benchmark of another project that starts this program passes on its own `RSB_CLOCK_*`
    // variables.
    let of_clock = |name: &String| name.starts_with("RSB_CLOCK_");
    for name in names.filter(|name| name.starts_with("RSB_") && !of_clock(name)) {
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
            ["RSB_RUNS has no effect under cargo bench: use Criterion's --sample-size"]
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
