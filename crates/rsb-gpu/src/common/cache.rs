//! Disk cache of compiled code. The name of a file is derived from everything that affects the
//! code: source, architecture, compiler.
//!
//! A file contains a mark, the length of the code, its checksum, and the code. Files damaged by a
//! full disk, a crash or a bad sector are ignored. So are files of earlier versions, which
//! contained only the code.

use std::path::{Path, PathBuf};

/// Key of a code object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    arch: String,
    hash: u128,
}

impl Key {
    /// Creates the key of this source, architecture and compiler.
    pub(super) fn new(source: &str, arch: &str, compiler: &str) -> Self {
        // A zero separates the parts, none of which contains one.
        let whole = [source.as_bytes(), &[0], arch.as_bytes(), &[0], compiler.as_bytes()].concat();
        Self { arch: arch.replace(|c: char| !c.is_ascii_alphanumeric(), "-"), hash: fnv(&whole) }
    }

    fn file(&self) -> String {
        format!("{}-{:032x}.co", self.arch, self.hash)
    }
}

/// Computes the 128-bit FNV-1a hash, which is stable between versions of this program, unlike the
/// standard library's.
fn fnv(bytes: &[u8]) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(BASIS, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

/// Returns `rusty-stack-bench/kernels` in the user's cache directory, or `None` without a home
/// directory.
pub(super) fn dir() -> Option<PathBuf> {
    let set =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = set("XDG_CACHE_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(caches.join("rusty-stack-bench").join("kernels"))
}

/// First bytes of a file, with a number that changes with the layout.
const MARK: &[u8; 16] = b"rsb-kernel-co-01";

/// Returns the code of `key`, if it is present and undamaged.
pub(super) fn read(dir: &Path, key: &Key) -> Option<Vec<u8>> {
    decode(&std::fs::read(dir.join(key.file())).ok()?).map(<[u8]>::to_vec)
}

/// Returns the contents of a file with `code`.
fn encode(code: &[u8]) -> Vec<u8> {
    [MARK.as_slice(), &(code.len() as u64).to_le_bytes(), &fnv(code).to_le_bytes(), code].concat()
}

/// Returns the code in `file`, if it is undamaged.
fn decode(file: &[u8]) -> Option<&[u8]> {
    let (length, rest) = file.strip_prefix(MARK)?.split_first_chunk()?;
    let (sum, code) = rest.split_first_chunk()?;
    let is_whole =
        code.len() as u64 == u64::from_le_bytes(*length) && fnv(code) == u128::from_le_bytes(*sum);
    is_whole.then_some(code)
}

/// Stores the code of `key`. Other processes see the complete file or none.
pub(super) fn write(dir: &Path, key: &Key, code: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let temporary = dir.join(format!("{}.{}", key.file(), std::process::id()));
    let written = std::fs::write(&temporary, encode(code))
        .and_then(|()| std::fs::rename(&temporary, dir.join(key.file())));
    if written.is_err() {
        // Remove an incomplete file, if there is one.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_changes_the_code_changes_its_name() {
        let key = Key::new("source", "gfx90a", "rocm 6");
        assert_eq!(key, Key::new("source", "gfx90a", "rocm 6"));
        for other in [
            Key::new("source2", "gfx90a", "rocm 6"),
            Key::new("source", "gfx942", "rocm 6"),
            Key::new("source", "gfx90a", "rocm 7"),
        ] {
            assert_ne!(key.file(), other.file());
        }
        assert!(key.file().starts_with("gfx90a-"));
        // Published value for one letter.
        assert_eq!(fnv(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

    #[test]
    fn what_is_kept_is_found_and_what_is_damaged_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (dir, key) = (dir.path(), Key::new("x", "gfx906", "y"));
        assert_eq!(read(dir, &key), None);
        let code = b"\x7fELF and more".as_slice();
        write(dir, &key, code).unwrap();
        assert_eq!(read(dir, &key).as_deref(), Some(code));
        assert_eq!(std::fs::read_dir(dir).unwrap().count(), 1, "no temporary file may remain");
        let file = dir.join(key.file());
        let whole = std::fs::read(&file).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&file, &whole[..length]).unwrap();
            assert_eq!(read(dir, &key), None, "cut to {length}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert_eq!(decode(&damaged), None, "one bit of byte {at} flipped");
        }
        assert_eq!(decode(&[whole.as_slice(), b"x"].concat()), None, "one byte appended");
        std::fs::write(&file, code).unwrap();
        assert_eq!(read(dir, &key), None, "a file of an earlier version");
    }
}
