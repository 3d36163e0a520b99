//! Installed frameworks, by the names of the directories that installers leave
//! (`torch-2.9.1.dist-info`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::host::entries;

/// Packages whose version affects results, by normalized name. Each package found becomes a factor
/// that must agree between two runs, so packages that no benchmark uses are excluded.
pub const FRAMEWORKS: [&str; 29] = [
    "aiter",
    "bitsandbytes",
    "composable-kernel",
    "cupy",
    "deepspeed",
    "flash-attn",
    "flash-attn-3",
    "intel-extension-for-pytorch",
    "jax",
    "jaxlib",
    "migraphx",
    "numpy",
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-migraphx",
    "onnxruntime-openvino",
    "onnxruntime-rocm",
    "openvino",
    "pytorch-triton-rocm",
    "sglang",
    "tensorflow",
    "tensorflow-rocm",
    "tensorrt",
    "torch",
    "transformers",
    "triton",
    "triton-rocm",
    "vllm",
    "xformers",
];

/// Returns versions by package name; the first directory with a package wins, as in Python.
pub(crate) fn frameworks(search_path: &[PathBuf]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for dir in search_path {
        // If a package is listed twice (after an interrupted upgrade), take the highest version,
        // independent of the order on disk.
        let mut here: BTreeMap<String, (Vec<u64>, String)> = BTreeMap::new();
        for (name, version) in entries(dir).iter().filter_map(|entry| parse(entry)) {
            let candidate = (numbers(&version), version);
            if here.get(&name).is_none_or(|present| *present < candidate) {
                here.insert(name, candidate);
            }
        }
        for (name, (_, version)) in here {
            found.entry(name).or_insert(version);
        }
    }
    found
}

/// Parses a directory name such as `flash_attn-2.8.3.dist-info`; returns name and version if it is
/// a framework.
fn parse(entry: &str) -> Option<(String, String)> {
    let stem = entry.strip_suffix(".dist-info").or_else(|| entry.strip_suffix(".egg-info"))?;
    let mut parts = stem.split('-');
    let (name, version) = (parts.next()?, parts.next()?);
    let name = name.to_ascii_lowercase().replace(['_', '.'], "-");
    let known =
        FRAMEWORKS.contains(&name.as_str()) && version.starts_with(|c: char| c.is_ascii_digit());
    known.then(|| (name, version.to_owned()))
}

fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_installers_are_understood() {
        for (entry, expected) in [
            ("torch-2.9.1+rocm6.4.dist-info", Some(("torch", "2.9.1+rocm6.4"))),
            ("flash_attn-2.8.3.dist-info", Some(("flash-attn", "2.8.3"))),
            ("Triton-3.5.0.dist-info", Some(("triton", "3.5.0"))),
            ("numpy-1.24.2.egg-info", Some(("numpy", "1.24.2"))),
            ("torch-2.5.0a0+git123-py3.11.egg-info", Some(("torch", "2.5.0a0+git123"))),
            ("torchmetrics-1.0.dist-info", None),
            ("~orch-2.9.1.dist-info", None),
            ("torch", None),
            ("torch.dist-info", None),
            ("torch-.dist-info", None),
        ] {
            let expected = expected.map(|(name, version)| (name.to_owned(), version.to_owned()));
            assert_eq!(parse(entry), expected, "{entry}");
        }
    }

    #[test]
    fn the_list_is_sorted_and_normalized() {
        assert!(FRAMEWORKS.is_sorted(), "the list must be sorted, so that duplicates are found");
        assert!(
            FRAMEWORKS
                .iter()
                .all(|name| !name.contains(['_', '.']) && *name == name.to_ascii_lowercase())
        );
    }

    #[test]
    fn the_first_directory_wins_and_in_it_the_highest() {
        let dir = tempfile::tempdir().unwrap();
        for path in [
            "a/torch-2.9.1.dist-info",
            "a/torch-2.10.0.dist-info",
            "b/torch-3.0.0.dist-info",
            "b/vllm-0.1.dist-info",
        ] {
            std::fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        let found = frameworks(&["a", "b", "missing"].map(|name| dir.path().join(name)));
        let expected = [("torch", "2.10.0"), ("vllm", "0.1")]
            .map(|(name, version)| (name.to_owned(), version.to_owned()));
        assert_eq!(found, BTreeMap::from(expected));
    }
}
