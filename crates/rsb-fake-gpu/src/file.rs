//! Path of the library in the build directory, for tests of dependent crates, and copies of the
//! library without some functions.

use std::path::{Path, PathBuf};

/// Returns the path of the library, which cargo builds next to the running test.
///
/// # Errors
/// If the library is missing. The message contains its file name.
pub fn library() -> Result<PathBuf, String> {
    let own = std::env::current_exe()
        .map_err(|error| format!("cannot find the path of this program: {error}"))?;
    // Tests and cargo's libraries are in `deps`; programs are one directory above.
    let dirs = own.ancestors().skip(1).take(2).flat_map(|dir| [dir.to_owned(), dir.join("deps")]);
    let name =
        format!("{}rsb_fake_gpu{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let mut candidates = dirs.map(|dir| dir.join(&name));
    candidates
        .find(|path| path.exists())
        .ok_or_else(|| format!("{name} is not next to {}", own.display()))
}

/// Copies the library to `to` and overwrites the symbol names `names`, so that the copy lacks these
/// functions.
///
/// # Errors
/// If a file cannot be read or written, or the library does not export one of `names`.
pub fn copy_without(names: &[&str], to: &Path) -> Result<(), String> {
    let from = library()?;
    let mut bytes = std::fs::read(&from).map_err(|error| format!("{}: {error}", from.display()))?;
    for name in names {
        if strike_out(&mut bytes, name) == 0 {
            return Err(format!("{} has no function {name}", from.display()));
        }
    }
    std::fs::write(to, bytes).map_err(|error| format!("{}: {error}", to.display()))
}

/// Overwrites every occurrence of `name` between zero bytes, as in a symbol name table. Returns the
/// number of occurrences.
fn strike_out(bytes: &mut [u8], name: &str) -> usize {
    let pattern = [&[0], name.as_bytes(), &[0]].concat();
    let mut count = 0;
    while let Some(at) = bytes.windows(pattern.len()).position(|window| window == pattern) {
        let Some(first) = bytes.get_mut(at + 1) else { break };
        *first = b'-';
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_name_is_struck_out() {
        let mut bytes = b"\0hipFree\0hipFreeHost\0hipFree\0".to_vec();
        assert_eq!(strike_out(&mut bytes, "hipFree"), 2);
        assert_eq!(bytes, b"\0-ipFree\0hipFreeHost\0-ipFree\0");
        assert_eq!(strike_out(&mut bytes, "hipFree"), 0);
    }
}
