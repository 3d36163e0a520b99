//! Inputs from which mutations start: `corpus/TARGET/*`.
//!
//! `found` is a list of inputs that `--keep` found: the length of each in a line, then its bytes
//! and a line break.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const FOUND: &str = "found";

/// Returns the directory of the corpus of `target`.
pub fn directory(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// Reads the inputs of `target` that people wrote, in the order of the names. That of `index` is a
/// new database, because its tables change with the program.
///
/// # Errors
/// If the directory or one of its files cannot be read, or it is empty.
pub fn read_written(target: &str) -> Result<Vec<Vec<u8>>> {
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
    paths.retain(|path| !path.ends_with(FOUND));
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

/// Reads the inputs of `target` that were found; none if there is no such file.
///
/// # Errors
/// If the file cannot be read, or is not such a list.
pub fn read_found(target: &str) -> Result<Vec<Vec<u8>>> {
    let path = directory(target).join(FOUND);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let bytes = std::fs::read(&path)?;
    unpack(&bytes).with_context(|| format!("{} is not a list of inputs", path.display()))
}

/// Replaces the inputs of `target` that were found.
///
/// # Errors
/// If the file cannot be written.
pub fn write_found(target: &str, inputs: &[Vec<u8>]) -> Result<()> {
    let path = directory(target).join(FOUND);
    std::fs::create_dir_all(directory(target))?;
    std::fs::write(&path, pack(inputs)).with_context(|| format!("cannot write {}", path.display()))
}

fn pack(inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for input in inputs {
        bytes.extend_from_slice(format!("{}\n", input.len()).as_bytes());
        bytes.extend_from_slice(input);
        bytes.push(b'\n');
    }
    bytes
}

fn unpack(mut bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut inputs = Vec::new();
    while !bytes.is_empty() {
        let end = bytes.iter().position(|&byte| byte == b'\n')?;
        let length: usize = std::str::from_utf8(&bytes[..end]).ok()?.parse().ok()?;
        let (input, rest) = bytes.get(end + 1..)?.split_at_checked(length)?;
        inputs.push(input.to_vec());
        bytes = rest.strip_prefix(b"\n")?;
    }
    Some(inputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_unpacked_as_they_were_and_damage_is_refused() {
        let inputs = vec![b"".to_vec(), b"3\nabc\n".to_vec(), vec![0, 255, b'\n']];
        let packed = pack(&inputs);
        assert_eq!(unpack(&packed), Some(inputs));
        assert_eq!(unpack(&packed[..packed.len() - 2]), None);
        assert_eq!(unpack(b"x"), None);
    }
}
