//! The files of a directory, compressed together by a build script and unpacked by the program: shaders and schemas are half a
//! megabyte as they are, and a quarter of that so.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib;

/// Of 0 to 10.
const LEVEL: u8 = 9;

/// For a build script: packs the files of `dir` whose names end with `ending` into `out`, which [`unpack`] reads. Cargo packs them
/// again when the directory changes.
///
/// # Errors
/// When a file cannot be read or written.
pub fn pack(dir: &Path, ending: &str, out: &Path) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", dir.display());
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(name) = name.strip_suffix(ending) {
            files.insert(name.to_owned(), fs::read(&path)?);
        }
    }
    let mut plain = Vec::new();
    for (name, bytes) in &files {
        for part in [name.as_bytes(), bytes] {
            plain.extend((part.len() as u32).to_le_bytes());
            plain.extend(part);
        }
    }
    fs::write(out, compress_to_vec_zlib(&plain, LEVEL))
}

/// The files that [`pack`] wrote, by their names without the ending; those before the first that is broken.
pub fn unpack(packed: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let plain = decompress_to_vec_zlib(packed).unwrap_or_default();
    let mut rest = plain.as_slice();
    let mut part = || {
        let (length, behind) = rest.split_first_chunk::<4>()?;
        let (part, behind) = behind.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        rest = behind;
        Some(part.to_vec())
    };
    std::iter::from_fn(|| Some((String::from_utf8(part()?).ok()?, part()?))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_was_packed_is_unpacked() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("b.txt", "two"), ("a.txt", ""), ("c.rs", "not asked for")] {
            fs::write(dir.path().join(name), text).unwrap();
        }
        let out = dir.path().join("out");
        pack(dir.path(), ".txt", &out).unwrap();
        let packed = fs::read(out).unwrap();
        let expected = [("a", ""), ("b", "two")].map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
        assert_eq!(unpack(&packed), BTreeMap::from(expected));
        assert_eq!(unpack(&packed[..packed.len() / 2]), BTreeMap::new());
        assert_eq!(unpack(b""), BTreeMap::new());
    }
}
