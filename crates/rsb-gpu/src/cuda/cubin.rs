//! Metadata of a cubin: an ELF file whose header names the architecture, with notes on each kernel.

use object::elf::{EM_CUDA, FileHeader64, SHT_SYMTAB};
use object::read::elf::{FileHeader as _, SectionHeader as _};
use object::{LittleEndian, SymbolIndex};

use rsb_device::compiler::KernelNeeds;

/// First layout version, written by CUDA 13, that has the architecture number one byte higher in
/// the flags.
const LATER_LAYOUT: u8 = 8;

/// Returns the target architecture of `code`, such as `sm_90`; `None` if it is not a cubin.
pub fn target(code: &[u8]) -> Option<String> {
    let header = FileHeader64::<LittleEndian>::parse(code).ok()?;
    if header.e_machine(LittleEndian) != EM_CUDA {
        return None;
    }
    let place = if header.e_ident().abi_version >= LATER_LAYOUT { 8 } else { 0 };
    Some(format!("sm_{}", (header.e_flags(LittleEndian).0 >> place) & 0xff))
}

/// Header of the note with the registers per thread: format, number, and length of the contents,
/// which are the kernel's index in the symbol table and the register count.
const REGISTERS: [u8; 4] = [0x04, 0x2f, 8, 0];

/// Returns the resources of each kernel of `code`; empty if the file is not as expected.
pub(super) fn kernels(code: &[u8]) -> Vec<KernelNeeds> {
    read(code).unwrap_or_default()
}

fn read(code: &[u8]) -> Option<Vec<KernelNeeds>> {
    let header = FileHeader64::<LittleEndian>::parse(code).ok()?;
    let sections = header.sections(LittleEndian, code).ok()?;
    let named = |name: &str| {
        sections.section_by_name(LittleEndian, name.as_bytes()).map(|(_, section)| section)
    };
    let symbols = sections.symbols(LittleEndian, code, SHT_SYMTAB).ok()?;
    let notes = named(".nv.info")?.data(LittleEndian, code).ok()?;
    let kept = kept_by_the_system(&target(code)?);
    let counted = notes.windows(12).step_by(4).filter(|note| note.starts_with(&REGISTERS));
    let needs = counted.filter_map(|note| {
        let symbol = symbols.symbol(SymbolIndex(word(note, 4)? as usize)).ok()?;
        let symbol =
            String::from_utf8_lossy(symbols.symbol_name(LittleEndian, symbol).ok()?).into_owned();
        // A section without contents, such as shared memory, has only a size.
        let size = named(&format!(".nv.shared.{symbol}"))
            .map_or(0, |section| section.sh_size(LittleEndian));
        named(&format!(".text.{symbol}"))?;
        Some(KernelNeeds {
            symbol,
            registers: word(note, 8)?,
            shared_bytes: u32::try_from(size.saturating_sub(kept)).ok()?,
            wavefront: 32,
        })
    });
    Some(needs.collect())
}

/// Returns the bytes that the system reserves at the start of a kernel's shared memory. From Hopper
/// on, the kernel's size includes them.
fn kept_by_the_system(arch: &str) -> u64 {
    let number = arch.strip_prefix("sm_").and_then(|number| number.parse::<u32>().ok());
    if number.is_some_and(|number| number >= 90) { 1024 } else { 0 }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_of_the_header_name_the_architecture() {
        // As written by the compilers of CUDA 12.9 and 13.5.
        assert_eq!(target(&header(7, [0x5a, 0x05, 0x5a, 0x00])).as_deref(), Some("sm_90"));
        assert_eq!(target(&header(8, [0x04, 0x50, 0x00, 0x06])).as_deref(), Some("sm_80"));
        assert_eq!(target(&header(8, [0x02, 0x78, 0x00, 0x06])).as_deref(), Some("sm_120"));
        let mut other = header(7, [0x5a, 0x05, 0x5a, 0x00]);
        other[18] = 62;
        assert_eq!(target(&other), None, "a program for x86-64");
        assert_eq!(target(b"\x7fELF"), None);
        assert!(kernels(&header(7, [0; 4])).is_empty(), "without sections");
    }

    fn header(layout: u8, flags: [u8; 4]) -> Vec<u8> {
        let mut header = vec![0_u8; 64];
        header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        (header[8], header[18]) = (layout, 190);
        header[48..52].copy_from_slice(&flags);
        header
    }

    /// Returns a cubin for `sm_90` with one kernel, `k`, which needs 40 registers and 512 bytes of
    /// shared memory.
    fn cubin() -> Vec<u8> {
        let names = b"\0.shstrtab\0.strtab\0.symtab\0.nv.info\0.nv.shared.k\0.text.k\0";
        let symbols = [vec![0; 24], [&1_u32.to_le_bytes()[..], &[0; 20]].concat()].concat();
        let notes = [&REGISTERS[..], &1_u32.to_le_bytes(), &40_u32.to_le_bytes()].concat();
        let sections: [(u32, u32, &[u8], u64, u32); 6] = [
            (place_of(names, ".shstrtab"), 3, names, names.len() as u64, 0),
            (place_of(names, ".strtab"), 3, b"\0k\0", 3, 0),
            (place_of(names, ".symtab"), 2, &symbols, 48, 2),
            (place_of(names, ".nv.info"), 0x7000_0000, &notes, 12, 3),
            (place_of(names, ".nv.shared.k"), 8, &[], 1024 + 512, 0),
            (place_of(names, ".text.k"), 1, &[0; 16], 16, 0),
        ];
        let (mut contents, mut table) = (vec![0_u8; 64], vec![0_u8; 64]);
        for (name, kind, bytes, size, link) in sections {
            let from = (contents.len() as u64).to_le_bytes();
            contents.extend(bytes);
            table.extend(
                [
                    &name.to_le_bytes()[..],
                    &kind.to_le_bytes(),
                    &[0; 16],
                    &from,
                    &size.to_le_bytes(),
                ]
                .concat(),
            );
            table.extend(
                [
                    &link.to_le_bytes()[..],
                    &[0; 12],
                    &if kind == 2 { 24_u64 } else { 0 }.to_le_bytes(),
                ]
                .concat(),
            );
        }
        let place = (contents.len() as u64).to_le_bytes();
        contents[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\x33\x07");
        (contents[18], contents[48]) = (190, 90);
        contents[0x28..0x30].copy_from_slice(&place);
        contents[0x3a..0x40].copy_from_slice(&[64, 0, 7, 0, 1, 0]);
        [contents, table].concat()
    }

    fn place_of(names: &[u8], name: &str) -> u32 {
        let place = names.windows(name.len()).position(|window| window == name.as_bytes());
        u32::try_from(place.unwrap()).unwrap()
    }

    #[test]
    fn what_the_compiler_noted_is_read_and_damage_reads_as_nothing() {
        let whole = cubin();
        let needs =
            KernelNeeds { symbol: "k".into(), registers: 40, shared_bytes: 512, wavefront: 32 };
        assert_eq!(kernels(&whole), std::slice::from_ref(&needs));
        // The file may start at an unaligned address.
        let moved = [&[0], whole.as_slice()].concat();
        assert_eq!(kernels(&moved[1..]), [needs]);
        for length in 0..whole.len() {
            assert!(kernels(&whole[..length]).is_empty(), "{length}");
        }
    }
}
