//! Reference values shared by the processes of a run: they are computed once, and every process
//! compares its own result with them.
//!
//! A file contains numbers in f64 and a checksum over the numbers and their key. The numbers are
//! computed again if the file is missing, damaged or of another length. If the file cannot be
//! written, every process computes the numbers itself.

use std::path::{Path, PathBuf};

use rsb_model::protocol::REFERENCES;
use rsb_model::random::mix64;

/// Returns the `count` numbers for `key`, from the directory shared by the run or computed by
/// `compute`.
pub(super) fn numbers(key: &str, count: usize, compute: impl FnOnce() -> Vec<f64>) -> Vec<f64> {
    let Some(directory) = std::env::var_os(REFERENCES) else { return compute() };
    let file = file_of(Path::new(&directory), key);
    if let Some(kept) = std::fs::read(&file).ok().and_then(|bytes| read(&bytes, key, count)) {
        return kept;
    }
    let found = compute();
    let _ = write(&file, key, &found);
    found
}

fn file_of(directory: &Path, key: &str) -> PathBuf {
    directory.join(format!("{:016x}", checksum(0, key.as_bytes())))
}

fn read(bytes: &[u8], key: &str, count: usize) -> Option<Vec<f64>> {
    let (numbers, sum) = bytes.split_last_chunk::<8>()?;
    let words = numbers.as_chunks::<8>().0;
    let whole = words.len() == count && numbers.len() == 8 * count;
    (whole && u64::from_le_bytes(*sum) == checksum_of(key, numbers))
        .then(|| words.iter().map(|&word| f64::from_le_bytes(word)).collect())
}

/// Writes under a temporary name first, so that no process reads a partial file.
fn write(file: &Path, key: &str, numbers: &[f64]) -> std::io::Result<()> {
    let mut bytes = crate::convert::encode(rsb_model::Dtype::F64, numbers);
    bytes.extend(checksum_of(key, &bytes).to_le_bytes());
    let own = file.with_extension(std::process::id().to_string());
    std::fs::write(&own, bytes)?;
    std::fs::rename(own, file)
}

fn checksum_of(key: &str, numbers: &[u8]) -> u64 {
    checksum(checksum(1, key.as_bytes()), numbers)
}

fn checksum(seed: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
    let sum = words.iter().fold(seed, |sum, &word| mix64(sum ^ u64::from_le_bytes(word)));
    mix64(sum ^ u64::from_le_bytes(last) ^ bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [f64; 3] = [1.0, -0.25, 1e300];

    #[test]
    fn what_is_kept_is_read_and_what_is_damaged_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let file = file_of(directory.path(), "case");
        write(&file, "case", &NUMBERS).unwrap();
        let bytes = std::fs::read(&file).unwrap();
        assert_eq!(read(&bytes, "case", 3).unwrap(), NUMBERS);
        assert_eq!(read(&bytes, "case", 2), None, "a different length must not match");
        assert_eq!(read(&bytes, "another case", 3), None);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(read(&damaged, "case", 3), None, "byte {at}");
            assert_eq!(read(&bytes[..at], "case", 3), None, "cut at {at}");
        }
        assert_eq!(
            std::fs::read_dir(directory.path()).unwrap().count(),
            1,
            "no temporary file may remain"
        );
        assert!(write(Path::new("/nonexistent/file"), "case", &NUMBERS).is_err());
    }

    #[test]
    fn without_a_run_everything_is_computed() {
        assert_eq!(numbers("case", 3, || NUMBERS.to_vec()), NUMBERS);
    }
}
