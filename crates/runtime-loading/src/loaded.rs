//! A loaded library, and lookup of its functions by name.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use libloading::Library;

/// A loaded library. It is never unloaded, because the vendors' libraries have threads and handlers
/// that outlive any handle; so every function pointer stays valid.
#[derive(Clone, Copy)]
pub struct Loaded {
    library: &'static Library,
    path: &'static Path,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Loaded {
    /// Loads the first of `candidates` that can be loaded.
    ///
    /// # Errors
    /// If none can be loaded: the loader's message about a file that exists, if there is one.
    pub fn first(candidates: &[PathBuf]) -> Result<Self, Option<String>> {
        let mut refusal = None;
        for candidate in candidates {
            // SAFETY: loading runs the library's initializers. The user installed the library under
            // its well-known name or named it explicitly, and so trusts its code.
            match unsafe { Library::new(candidate) } {
                Ok(library) => {
                    let path = full_path(candidate);
                    return Ok(Self {
                        library: Box::leak(Box::new(library)),
                        path: Box::leak(path.into_boxed_path()),
                    });
                }
                // An error about an existing file is more useful than one about a missing file.
                Err(error) => refusal = loader_error(candidate, refusal_text(&error)).or(refusal),
            }
        }
        Err(refusal)
    }

    /// Returns the path of the file if it is known, or else the name given to the system's loader.
    pub fn path(&self) -> &'static Path {
        self.path
    }

    /// Returns whether the library exports `name`.
    pub fn exports(&self, name: &str) -> bool {
        // SAFETY: `get` only looks up the address, which is neither called nor dereferenced.
        unsafe { self.library.get::<*const ()>(name.as_bytes()) }.is_ok()
    }

    /// Returns the function `name`, if the library has it. `F` must be its type; the macro
    /// [`crate::function_table`] writes both from one prototype.
    pub fn function<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: `F` is the documented prototype of the function `name`, as this method requires,
        // and the library is never unloaded, so the pointer stays valid.
        unsafe { self.library.get::<F>(name.as_bytes()).ok().map(|found| *found) }
    }
}

/// Returns the loader's message, unless it is that the file does not exist.
fn loader_error(candidate: &Path, text: String) -> Option<String> {
    if let Some(why) = of_another_architecture(candidate, &text) {
        return Some(why);
    }
    // For a bare name, the loader's message begins with the file that could not be opened. If that
    // is a different file, it is a dependency of this library.
    let itself =
        text.starts_with(&format!("{}:", candidate.display())) && text.contains("No such file");
    (candidate.is_file() || (!candidate.is_absolute() && !itself)).then_some(text)
}

/// Returns the message about a file built for another architecture, for which the loader's `text`
/// may report that the file does not exist.
fn of_another_architecture(candidate: &Path, text: &str) -> Option<String> {
    if !candidate.is_file() {
        return None;
    }
    let found = Architecture::of(candidate)?;
    let own = Architecture::of(Path::new("/proc/self/exe"))?;
    (found != own).then(|| {
        let file = candidate.display();
        format!(
            "{file} exists, but is built for {found}, not for {own}; the loader reports: {text}"
        )
    })
}

/// Architecture of an ELF file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Architecture {
    /// 1 for 32 bits, 2 for 64 bits.
    class: u8,
    /// Number of the processor family.
    machine: u16,
}

impl Architecture {
    /// Reads the header of `file`; `None` if it is not an ELF file.
    fn of(file: &Path) -> Option<Self> {
        let mut header = [0; 20];
        File::open(file).ok()?.read_exact(&mut header).ok()?;
        let [b'\x7f', b'E', b'L', b'F', class, order, .., first, second] = header else {
            return None;
        };
        let is_big_endian = order == 2;
        let machine = [first, second];
        let machine =
            if is_big_endian { u16::from_be_bytes(machine) } else { u16::from_le_bytes(machine) };
        Some(Self { class, machine })
    }
}

impl std::fmt::Display for Architecture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bits = if self.class == 1 { 32 } else { 64 };
        let family = match self.machine {
            3 => "x86",
            21 => "PowerPC",
            40 => "Arm",
            62 => "x86-64",
            183 => "AArch64",
            243 => "RISC-V",
            other => return write!(f, "processor {other} with {bits} bits"),
        };
        write!(f, "{family} with {bits} bits")
    }
}

/// Returns the message of the system's loader, which is the source of `error`.
fn refusal_text(error: &libloading::Error) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    cause.unwrap_or_else(|| error.to_string())
}

/// Returns the file that the system's loader used for `candidate`, from the process's memory map.
fn full_path(candidate: &Path) -> PathBuf {
    if candidate.is_absolute() {
        return candidate.to_owned();
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let name = candidate.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    find_mapped_path(&maps, name).unwrap_or_else(|| candidate.to_owned())
}

/// Returns the path in a process's memory map whose file name is `name`, possibly followed by a
/// version.
fn find_mapped_path(maps: &str, name: &str) -> Option<PathBuf> {
    maps.lines()
        .filter_map(|line| line.find('/').and_then(|at| line.get(at..)))
        .map(Path::new)
        .find(|path| {
            let rest = path
                .file_name()
                .and_then(|file| file.to_str())
                .and_then(|file| file.strip_prefix(name));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
        .map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_of_memory_tells_the_file() {
        let maps = "7f00-7f01 r-xp 00000000 08:01 11 /usr/lib/libxy.so.6\n\
                    7f02-7f03 r-xp 00000000 08:01 12 /usr/lib/libx.so.6.4.1\n";
        assert_eq!(
            find_mapped_path(maps, "libx.so.6"),
            Some(PathBuf::from("/usr/lib/libx.so.6.4.1"))
        );
        assert_eq!(find_mapped_path(maps, "libx.so.7"), None);
    }
}
