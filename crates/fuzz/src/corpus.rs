//! Inputs from which mutations start: `corpus/TARGET/*`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Returns the directory of the corpus of `target`.
pub fn directory(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// Reads the corpus of `target`, in the order of the names. That of `index` is a new database,
/// because its tables change with the program.
///
/// # Errors
/// If the directory or one of its files cannot be read, or it is empty.
pub fn read(target: &str) -> Result<Vec<Vec<u8>>> {
    if target == "index" {
        let results = tempfile::tempdir()?;
        rsb_store::Store::open_for_writing(results.path())?;
        return Ok(vec![std::fs::read(results.path().join("benchmarks.db"))?]);
    }
    let directory = directory(target);
    let entries = std::fs::read_dir(&directory)
        .with_context(|| format!("cannot read the corpus {}", directory.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry?.path());
    }
    paths.sort();
    let mut inputs = Vec::new();
    for path in paths {
        let bytes = std::fs::read(&path)
            .with_context(|| format!("cannot read the input {}", path.display()))?;
        inputs.push(bytes);
    }
    anyhow::ensure!(!inputs.is_empty(), "the corpus {} is empty", directory.display());
    Ok(inputs)
}
