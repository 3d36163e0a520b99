//! The linker's cache of library locations: `/etc/ld.so.cache`.

use super::facts::Stale;
use crate::host::{Host, read_bytes};
use crate::rocm::component_of;

/// Upper limit of the cache's size in bytes.
const MAX_CACHE_BYTES: u64 = 16 << 20;
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;

/// An entry of the cache.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LinkerCache {
    /// Name that programs load, such as `libamdhip64.so.6`.
    pub(super) name: String,
    pub(super) path: String,
}

/// Reads the entries for ROCm libraries from the cache of `host`.
pub(super) fn read(host: &Host) -> Vec<LinkerCache> {
    let bytes = host
        .path("/etc/ld.so.cache")
        .and_then(|path| read_bytes(&path, MAX_CACHE_BYTES))
        .unwrap_or_default();
    let all = parse(&bytes).unwrap_or_default();
    all.into_iter().filter(|cached| component_of(&cached.name).is_some()).collect()
}

/// Returns the entries whose file no longer exists.
pub(super) fn stale(host: &Host, cache: &[LinkerCache]) -> Vec<Stale> {
    let is_gone =
        |cached: &&LinkerCache| host.path(&cached.path).is_some_and(|path| !path.exists());
    let gone = cache.iter().filter(is_gone);
    gone.map(|cached| Stale { name: cached.name.clone(), path: cached.path.clone() }).collect()
}

/// Parses every entry; returns `None` if the bytes are not a linker cache. Layout as in glibc's
/// `dl-cache.h`: 20 bytes of magic, the number of entries, and entries of 24 bytes from byte 48 on.
/// Entries contain the offsets of name and path, relative to the magic.
fn parse(bytes: &[u8]) -> Option<Vec<LinkerCache>> {
    // An older table, for older linkers, may precede the entries.
    let start = bytes.windows(MAGIC.len()).position(|window| window == MAGIC)?;
    let table = bytes.get(start..)?;
    let count = number(table, MAGIC.len())?;
    // Bound the count by the file size, in case it is corrupt.
    Some((0..count.min(table.len() / ENTRY)).filter_map(|index| entry(table, index)).collect())
}

fn entry(table: &[u8], index: usize) -> Option<LinkerCache> {
    let place = HEADER.checked_add(index.checked_mul(ENTRY)?)?;
    Some(LinkerCache {
        name: text(table, number(table, place + 4)?)?,
        path: text(table, number(table, place + 8)?)?,
    })
}

fn number(table: &[u8], place: usize) -> Option<usize> {
    let bytes: [u8; 4] = table.get(place..place.checked_add(4)?)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(bytes)).ok()
}

/// Returns the text before its zero byte.
fn text(table: &[u8], place: usize) -> Option<String> {
    let rest = table.get(place..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(rest.get(..end)?).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    /// Builds a cache file with these names and paths.
    fn cache(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut strings = Vec::new();
        let first = HEADER + ENTRY * entries.len();
        let mut table = MAGIC.to_vec();
        table.extend(u32::try_from(entries.len()).unwrap().to_le_bytes());
        table.resize(HEADER, 0);
        for (name, path) in entries {
            table.extend(3_u32.to_le_bytes());
            for text in [name, path] {
                table.extend(u32::try_from(first + strings.len()).unwrap().to_le_bytes());
                strings.extend(text.bytes().chain([0]));
            }
            table.extend([0; 12]);
        }
        table.extend(strings);
        table
    }

    fn read_bytes_of(bytes: &[u8]) -> Option<Vec<(String, String)>> {
        Some(parse(bytes)?.into_iter().map(|cached| (cached.name, cached.path)).collect())
    }

    #[test]
    fn names_and_paths_are_read_also_behind_an_older_table() {
        let expected =
            vec![("libamdhip64.so.6".to_owned(), "/opt/rocm/lib/libamdhip64.so.6".to_owned())];
        let plain = cache(&[("libamdhip64.so.6", "/opt/rocm/lib/libamdhip64.so.6")]);
        assert_eq!(read_bytes_of(&plain), Some(expected.clone()));
        let old = [b"ld.so-1.7.0\0\0\0\0\0".as_slice(), &plain].concat();
        assert_eq!(read_bytes_of(&old), Some(expected));
    }

    #[test]
    fn a_broken_cache_gives_what_can_be_read_and_never_more() {
        let whole = cache(&[("liba.so.1", "/lib/liba.so.1"), ("libb.so.1", "/lib/libb.so.1")]);
        for end in 0..whole.len() {
            assert!(parse(&whole[..end]).is_none_or(|found| found.len() <= 2));
        }
        let mut endless = whole.clone();
        endless[20..24].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(parse(&endless).unwrap().len() >= 2);
        assert_eq!(parse(b"no cache"), None);
    }

    #[test]
    fn entries_whose_file_is_gone_are_stale() {
        let tree = Tree::new(&[("opt/rocm/lib/librocblas.so.4", "")]);
        let bytes = cache(&[
            ("libamdhip64.so.6", "/opt/rocm-6.0.0/lib/libamdhip64.so.6"),
            ("libm.so.6", "/gone/libm.so.6"),
            ("librocblas.so.4", "/opt/rocm/lib/librocblas.so.4"),
        ]);
        std::fs::create_dir_all(tree.path("etc")).unwrap();
        std::fs::write(tree.path("etc/ld.so.cache"), bytes).unwrap();
        let host = tree.host();
        let cached = read(&host);
        assert_eq!(cached.len(), 2, "only ROCm libraries are listed");
        let gone = stale(&host, &cached);
        assert_eq!(
            gone,
            [Stale {
                name: "libamdhip64.so.6".into(),
                path: "/opt/rocm-6.0.0/lib/libamdhip64.so.6".into()
            }]
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_cache_of_this_machine_is_read() {
        let Ok(bytes) = std::fs::read("/etc/ld.so.cache") else {
            eprintln!("skipped: this machine has no cache of libraries");
            return;
        };
        let found = parse(&bytes).unwrap();
        assert!(found.iter().any(
            |cached| cached.name.starts_with("libc.so") && cached.path.ends_with(&cached.name)
        ));
    }
}
