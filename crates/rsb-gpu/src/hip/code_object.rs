//! What a code object says of itself: an ELF file whose header names the processor.

mod metadata;

use rsb_device::compiler::KernelNeeds;

/// The machine AMDGPU in an ELF header.
const AMD_GPU: [u8; 2] = [224, 0];

/// Numbers of processors in the flags of an ELF header (LLVM, User Guide for AMDGPU Backend, table `EF_AMDGPU_MACH`).
const PROCESSORS: &[(u8, &str)] = &[
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

/// The processor that `code` is for; `None` when it is no code object or the processor is not in the table.
pub(super) fn target(code: &[u8]) -> Option<&'static str> {
    let is_code = code.starts_with(b"\x7fELF") && code.get(18..20) == Some(AMD_GPU.as_slice());
    let number = code.get(48).filter(|_| is_code)?;
    PROCESSORS.iter().find(|(known, _)| known == number).map(|(_, name)| *name)
}

/// What each kernel of `code` needs, as its compiler noted it; nothing where it noted nothing.
pub(super) fn kernels(code: &[u8]) -> Vec<KernelNeeds> {
    metadata::kernels(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_names_the_processor() {
        let mut header = vec![0_u8; 64];
        header[..4].copy_from_slice(b"\x7fELF");
        header[18] = 224;
        header[48] = 0x3f;
        assert_eq!(target(&header), Some("gfx90a"));
        header[48] = 0xff;
        assert_eq!(target(&header), None, "a processor of the future");
        header[18] = 62;
        assert_eq!(target(&header), None, "a program for x86-64");
        assert_eq!(target(b"\x7fELF"), None);
    }

    #[test]
    fn numbers_and_names_are_unique() {
        for (at, (number, name)) in PROCESSORS.iter().enumerate() {
            let others = &PROCESSORS[at + 1..];
            assert!(others.iter().all(|(other, called)| other != number && called != name), "{name}");
        }
    }
}
