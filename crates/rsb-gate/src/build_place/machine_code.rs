//! Compares executables: two executables behave the same if their loaded parts are equal, except
//! for the source locations in panic messages.
//!
//! A comment that moves lines changes only these locations (`core::panic::Location`: a file, a
//! line, a column). Any other difference, in code or data, may change the speed of a program, so it
//! always counts as a change.

use object::elf::{SHF_ALLOC, SHT_NOBITS, SHT_NOTE};
use object::read::elf::{ElfFile64, FileHeader as _};
use object::{Object as _, ObjectSection as _, SectionFlags};

/// Size of a `Location` on 64-bit machines: the file's address and length, then line and column.
const LOCATION: usize = 24;
/// Offset of the line and the column in a `Location`.
const LINE: usize = 16;

/// Returns whether the executables `one` and `other` behave the same. Files that cannot be read as
/// ELF must be equal byte for byte.
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    one == other
        || matches!((LoadedImage::of(one), LoadedImage::of(other)), (Some(one), Some(other)) if one.does_as(&other))
}

/// Returns the size in bytes of the section `.text` of an executable; `None` without one.
pub(crate) fn code_size(bytes: &[u8]) -> Option<u64> {
    let file = ElfFile64::<object::LittleEndian>::parse(bytes).ok()?;
    Some(file.section_by_name(".text")?.size())
}

/// Returns the versions of rustc that the section `.comment` of an executable names, such as `rustc
/// 1.95.0 (59807616e 2026-04-14)`.
pub(crate) fn compilers(bytes: &[u8]) -> Vec<String> {
    let Ok(file) = ElfFile64::<object::LittleEndian>::parse(bytes) else { return Vec::new() };
    let comment = file.section_by_name(".comment").and_then(|section| section.data().ok());
    let texts = comment.unwrap_or_default().split(|byte| *byte == 0);
    let versions =
        texts.filter_map(|text| std::str::from_utf8(text).ok()?.strip_prefix("rustc version "));
    versions.map(|version| format!("rustc {version}")).collect()
}

/// Parts of an executable that the system loads.
struct LoadedImage<'a> {
    entry: u64,
    sections: Vec<Section<'a>>,
}

struct Section<'a> {
    name: &'a str,
    address: u64,
    size: u64,
    data: &'a [u8],
}

impl<'a> LoadedImage<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let file = ElfFile64::<object::LittleEndian>::parse(bytes).ok()?;
        let mut sections = Vec::new();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, sh_type } = section.flags() else { continue };
            // Skip notes, which only describe the build.
            if sh_flags.0 & SHF_ALLOC.0 == 0 || sh_type == SHT_NOTE {
                continue;
            }
            let data = if sh_type == SHT_NOBITS { &[][..] } else { section.data().ok()? };
            sections.push(Section {
                name: section.name().ok()?,
                address: section.address(),
                size: section.size(),
                data,
            });
        }
        Some(Self { entry: file.elf_header().e_entry(file.endian()), sections })
    }

    fn does_as(&self, other: &Self) -> bool {
        self.entry == other.entry
            && self.sections.len() == other.sections.len()
            && self.sections.iter().zip(&other.sections).all(|(a, b)| {
                (a.name, a.address, a.size, a.data.len())
                    == (b.name, b.address, b.size, b.data.len())
            })
            && self.sections.iter().zip(&other.sections).all(|(a, b)| {
                a.data == b.data || (a.name == ".data.rel.ro" && self.places_alone(a, b))
            })
    }

    /// Returns whether `a` and `b` differ only in lines and columns of source locations.
    fn places_alone(&self, a: &Section<'_>, b: &Section<'_>) -> bool {
        let mut at = 0;
        while let Some(offset) = a.data[at..].iter().zip(&b.data[at..]).position(|(a, b)| a != b) {
            let differs = at + offset;
            // A location begins at a multiple of eight and ends with its line and column, so the
            // byte that differs must be in its last eight bytes.
            let begin = (differs & !7).checked_sub(LINE);
            match begin {
                Some(begin) if self.is_place(a, begin) && begin + LOCATION <= a.data.len() => {
                    at = begin + LOCATION;
                }
                _ => return false,
            }
        }
        true
    }

    /// Returns whether `section` has a location in a Rust file at `begin`: its name ends in `.rs`,
    /// and line and column are counted from one.
    fn is_place(&self, section: &Section<'_>, begin: usize) -> bool {
        half_word_at(section.data, begin + LINE).is_some_and(|line| line > 0)
            && half_word_at(section.data, begin + LINE + 4).is_some_and(|column| column > 0)
            && self.name_at(section, begin).is_some_and(|name| name.ends_with(b".rs"))
    }

    /// Returns the text whose address and length are at `begin` of `section`.
    fn name_at(&self, section: &Section<'_>, begin: usize) -> Option<&[u8]> {
        let address = match word_at(section.data, begin)? {
            // In a position-independent program, the address is filled in when it is loaded, by a
            // relocation.
            0 => self.relocated_to(section.address + begin as u64)?,
            address => address,
        };
        self.text_at(address, word_at(section.data, begin + 8)?)
    }

    /// Returns the value that a relative relocation stores at `address`.
    fn relocated_to(&self, address: u64) -> Option<u64> {
        const ENTRY: usize = 24; // Elf64_Rela: where, which kind, what.
        let table = self.sections.iter().find(|section| section.name == ".rela.dyn")?;
        let found =
            table.data.chunks_exact(ENTRY).find(|entry| word_at(entry, 0) == Some(address))?;
        word_at(found, 16)
    }

    fn text_at(&self, address: u64, length: u64) -> Option<&[u8]> {
        let section = self.sections.iter().find(|section| {
            let end = address.checked_add(length);
            section.address <= address
                && end.is_some_and(|end| end <= section.address + section.data.len() as u64)
        })?;
        let begin = (address - section.address) as usize;
        section.data.get(begin..begin + length as usize)
    }
}

fn word_at(data: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(data.get(at..at + 8)?.try_into().ok()?))
}

fn half_word_at(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(data.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executable_names_its_compiler() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let found = compilers(&own);
        assert!(found.iter().all(|version| version.starts_with("rustc 1.")), "{found:?}");
        assert_eq!(found.len(), usize::from(cfg!(target_os = "linux")), "{found:?}");
        assert!(compilers(b"#!/bin/sh").is_empty());
    }
}
