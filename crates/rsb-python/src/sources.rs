//! The Python sources embedded in this program, and the directory where Python finds them.
//!
//! They must be files: compilers such as that of Triton read the source of the functions that they
//! are given.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// The import package that contains the workloads.
const PACKAGE: &str = "rusty_stack_bench";

// `rusty_stack_bench` next to `src` is a link to `python/rusty_stack_bench`, because a crate's
// package contains only files below its own directory.
macro_rules! sources {
    ($($name:literal),*) => {
        const SOURCES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../rusty_stack_bench/", $name)))),*];
    };
}

sources![
    "__init__.py",
    "workloads/__init__.py",
    "workloads/attention.py",
    "workloads/core.py",
    "workloads/deepspeed.py",
    "workloads/execution.py",
    "workloads/flash_attention.py",
    "workloads/gpus.py",
    "workloads/memory.py",
    "workloads/migraphx.py",
    "workloads/model_build.py",
    "workloads/model_load.py",
    "workloads/model_metrics.py",
    "workloads/model_mps.py",
    "workloads/model_onnxruntime.py",
    "workloads/model_openvino.py",
    "workloads/model_openvino_steps.py",
    "workloads/model_openvino_text.py",
    "workloads/model_qnn.py",
    "workloads/model_ready.py",
    "workloads/model_runtimes.py",
    "workloads/models.py",
    "workloads/networks.py",
    "workloads/onnx_graphs.py",
    "workloads/onnxruntime.py",
    "workloads/powermetrics.py",
    "workloads/python_faults.py",
    "workloads/pytorch.py",
    "workloads/qnn_session.py",
    "workloads/ranks.py",
    "workloads/registry.py",
    "workloads/serving.py",
    "workloads/training.py",
    "workloads/transformer.py",
    "workloads/triton.py",
    "workloads/triton_kernels.py",
    "workloads/triton_operations.py",
    "workloads/vllm.py",
    "workloads/worker.py"
];

/// Returns the directory to put first in Python's search path. The directory is written once for
/// each version of the sources.
///
/// # Errors
/// If no directory can be written.
pub(crate) fn dir() -> io::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    SOURCES.hash(&mut hasher);
    let kept = cache().join(format!("{:016x}", hasher.finish()));
    if is_whole(&kept) {
        return Ok(kept);
    }
    // Several workers may do this concurrently: each writes its own directory, and the first to
    // rename it wins.
    let own = cache().join(format!("{}.part", std::process::id()));
    write(&own)?;
    let renamed = std::fs::rename(&own, &kept);
    if renamed.is_err() {
        // Another worker was first, or the existing directory is incomplete and can be replaced.
        write(&kept)?;
        let _ = std::fs::remove_dir_all(&own); // Left behind, it is only a few kilobytes.
    }
    Ok(kept)
}

fn is_whole(dir: &Path) -> bool {
    SOURCES.iter().all(|(name, text)| {
        std::fs::read(dir.join(PACKAGE).join(name)).is_ok_and(|found| found == text.as_bytes())
    })
}

fn write(dir: &Path) -> io::Result<()> {
    let package = dir.join(PACKAGE);
    std::fs::create_dir_all(package.join("workloads"))?;
    SOURCES.iter().try_for_each(|(name, text)| std::fs::write(package.join(name), text))
}

fn cache() -> PathBuf {
    let dir =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = dir("XDG_CACHE_HOME").or_else(|| dir("HOME").map(|home| home.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("rusty-stack-bench").join("python")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_python_file_is_carried() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python").join(PACKAGE);
        let mut files = vec!["__init__.py".to_owned()];
        for entry in std::fs::read_dir(dir.join("workloads")).unwrap() {
            let name = entry.unwrap().file_name();
            if name != "__pycache__" {
                files.push(format!("workloads/{}", name.to_string_lossy()));
            }
        }
        files.sort();
        let carried: Vec<&str> = SOURCES.iter().map(|(name, _)| *name).collect();
        assert_eq!(carried, files);
    }

    #[test]
    fn what_is_written_is_whole() {
        let dir = std::env::temp_dir().join(format!("rsb-python-sources-{}", std::process::id()));
        assert!(!is_whole(&dir));
        write(&dir).unwrap();
        assert!(is_whole(&dir));
        std::fs::write(dir.join(PACKAGE).join("workloads/core.py"), "x").unwrap();
        assert!(!is_whole(&dir));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
