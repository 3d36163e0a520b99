//! Metadata of a code object: an ELF file whose header names the architecture.

mod metadata;

use object::LittleEndian;
use object::elf::{EM_AMDGPU, FileHeader64};
use object::read::elf::FileHeader as _;

use rsb_device::compiler::KernelNeeds;

/// Mask of the ELF header flags that identify the architecture.
const CPU: u32 = 0xff;

/// Architecture numbers in the ELF header flags (LLVM, User Guide for AMDGPU Backend, table
/// `EF_AMDGPU_MACH`).
const ARCHITECTURES: &[(u32, &str)] = &[
    (0x2c, "gfx900"),
    (0x2d, "gfx902"),
    (0x2e, "gfx904"),
    (0x2f, "gfx906"),
    (0x30, "gfx908"),
    (0x31, "gfx909"),
    (0x32, "gfx90c"),
    (0x33, "gfx1010"),
    (0x34, "gfx1011"),
    (0x35, "gfx1012"),
    (0x36, "gfx1030"),
    (0x37, "gfx1031"),
    (0x38, "gfx1032"),
    (0x39, "gfx1033"),
    (0x3d, "gfx1035"),
    (0x3e, "gfx1034"),
    (0x3f, "gfx90a"),
    (0x40, "gfx940"),
    (0x41, "gfx1100"),
    (0x42, "gfx1013"),
    (0x43, "gfx1150"),
    (0x44, "gfx1103"),
    (0x45, "gfx1036"),
    (0x46, "gfx1101"),
    (0x47, "gfx1102"),
    (0x48, "gfx1200"),
    (0x4a, "gfx1151"),
    (0x4b, "gfx941"),
    (0x4c, "gfx942"),
    (0x4e, "gfx1201"),
    (0x4f, "gfx950"),
];

/// Returns the target architecture of `code`; `None` if it is not a code object or the architecture
/// is not in the table.
pub fn target(code: &[u8]) -> Option<&'static str> {
    let header = FileHeader64::<LittleEndian>::parse(code).ok()?;
    let number = header.e_flags(LittleEndian).0 & CPU;
    let is_code = header.e_machine(LittleEndian) == EM_AMDGPU;
    ARCHITECTURES.iter().find(|(known, _)| is_code && *known == number).map(|(_, name)| *name)
}

/// Returns the resources of each kernel of `code` as noted by the compiler, or none if there are no
/// notes.
pub(super) fn kernels(code: &[u8]) -> Vec<KernelNeeds> {
    metadata::kernels(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_names_the_architecture() {
        let mut header = vec![0_u8; 64];
        header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        header[18] = 224;
        header[48] = 0x3f;
        assert_eq!(target(&header), Some("gfx90a"));
        header[48] = 0xff;
        assert_eq!(target(&header), None, "an unknown architecture");
        header[18] = 62;
        assert_eq!(target(&header), None, "a program for x86-64");
        assert_eq!(target(b"\x7fELF"), None);
    }

    #[test]
    fn numbers_and_names_are_unique() {
        for (at, (number, name)) in ARCHITECTURES.iter().enumerate() {
            let others = &ARCHITECTURES[at + 1..];
            assert!(
                others.iter().all(|(other, called)| other != number && called != name),
                "{name}"
            );
        }
    }
}
