//! Code on disk, under a name made of all that they depend on: source, architecture, compiler.

use std::path::{Path, PathBuf};

/// What a code object depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    arch: String,
    hash: u128,
}

impl Key {
    /// For this source, architecture and compiler.
    pub(super) fn new(source: &str, arch: &str, compiler: &str) -> Self {
        // A zero between the parts: no part holds one.
        let whole = [source.as_bytes(), &[0], arch.as_bytes(), &[0], compiler.as_bytes()].concat();
        Self { arch: arch.replace(|c: char| !c.is_ascii_alphanumeric(), "-"), hash: fnv(&whole) }
    }

    fn file(&self) -> String {
        format!("{}-{:032x}.co", self.arch, self.hash)
    }
}

/// The hash FNV-1a of 128 bits: stable between versions of this program, unlike the standard library's.
fn fnv(bytes: &[u8]) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(BASIS, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

/// `rusty-stack-bench/kernels` in the user's folder for caches; none where there is no home.
pub(super) fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches =
        set("XDG_CACHE_HOME").filter(|path| path.is_absolute()).or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(caches.join("rusty-stack-bench").join("kernels"))
}

/// The code object of `key`, when it is there and is one.
pub(super) fn read(folder: &Path, key: &Key) -> Option<Vec<u8>> {
    std::fs::read(folder.join(key.file())).ok().filter(|code| code.starts_with(b"\x7fELF"))
}

/// Keeps a code object. Other processes see all of it or nothing.
pub(super) fn write(folder: &Path, key: &Key, code: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let temporary = folder.join(format!("{}.{}", key.file(), std::process::id()));
    let written = std::fs::write(&temporary, code).and_then(|()| std::fs::rename(&temporary, folder.join(key.file())));
    if written.is_err() {
        // What is left of a failed write would lie there for ever; it may not even exist.
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
        // The published value for one letter.
        assert_eq!(fnv(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

    #[test]
    fn what_is_kept_is_found_and_what_is_damaged_is_not() {
        let folder = std::env::temp_dir().join(format!("rsb-kernels-{}", std::process::id()));
        let key = Key::new("x", "gfx906", "y");
        assert_eq!(read(&folder, &key), None);
        write(&folder, &key, b"\x7fELF and more").unwrap();
        assert_eq!(read(&folder, &key).as_deref(), Some(b"\x7fELF and more".as_slice()));
        write(&folder, &key, b"cut").unwrap();
        assert_eq!(read(&folder, &key), None);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "no temporary file is left");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
