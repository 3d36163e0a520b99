//! The Python sources that this program carries, and the directory where Python finds them.
//!
//! They must be files: compilers such as that of Triton read the source of the functions that they
//! are given.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

// `rsb_workloads` beside `src` is a link to `python/rsb_workloads`: a package holds only what lies
// within it.
macro_rules! sources {
    ($($name:literal),*) => {
        const SOURCES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../rsb_workloads/", $name)))),*];
    };
}

sources![
    "__init__.py",
    "attention.py",
    "core.py",
    "deepspeed.py",
    "execution.py",
    "flash_attention.py",
    "gpus.py",
    "memory.py",
    "migraphx.py",
    "model_build.py",
    "model_load.py",
    "model_metrics.py",
    "model_mps.py",
    "model_onnxruntime.py",
    "model_openvino.py",
    "model_openvino_steps.py",
    "model_openvino_text.py",
    "model_qnn.py",
    "model_ready.py",
    "model_runtimes.py",
    "models.py",
    "networks.py",
    "onnx_graphs.py",
    "onnxruntime.py",
    "powermetrics.py",
    "python_faults.py",
    "pytorch.py",
    "qnn_session.py",
    "ranks.py",
    "serving.py",
    "training.py",
    "transformer.py",
    "triton.py",
    "triton_kernels.py",
    "triton_operations.py",
    "vllm.py",
    "worker.py"
];

/// The directory to put in front of Python's search path. It is written once for each version of
/// the sources.
///
/// # Errors
/// When no directory can be written.
pub(crate) fn dir() -> io::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    SOURCES.hash(&mut hasher);
    let kept = cache().join(format!("{:016x}", hasher.finish()));
    if is_whole(&kept) {
        return Ok(kept);
    }
    // Several workers may do this at once: each writes a directory of its own, and the first to
    // rename it wins.
    let own = cache().join(format!("{}.part", std::process::id()));
    write(&own)?;
    let renamed = std::fs::rename(&own, &kept);
    if renamed.is_err() {
        // Somebody else was first, or what is there is not whole and may be replaced.
        write(&kept)?;
        let _ = std::fs::remove_dir_all(&own); // Left behind, it is only a few kilobytes.
    }
    Ok(kept)
}

fn is_whole(dir: &Path) -> bool {
    SOURCES.iter().all(|(name, text)| {
        std::fs::read(dir.join("rsb_workloads").join(name))
            .is_ok_and(|found| found == text.as_bytes())
    })
}

fn write(dir: &Path) -> io::Result<()> {
    let package = dir.join("rsb_workloads");
    std::fs::create_dir_all(&package)?;
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
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/rsb_workloads");
        let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
        let mut files: Vec<String> =
            files.map(|name| name.to_string_lossy().into_owned()).collect();
        files.retain(|name| name != "__pycache__");
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
        std::fs::write(dir.join("rsb_workloads/core.py"), "x").unwrap();
        assert!(!is_whole(&dir));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
