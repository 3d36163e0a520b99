//! Output of the fake GPU's compiler: the ELF header of a code object for the target architecture,
//! followed by the source. Nothing is compiled; a kernel exists if the source contains its name.

use crate::gpu::{self, Vendor};

/// Magic bytes after the ELF header. The length of the remaining data follows, in eight bytes.
const MARK: &[u8; 16] = b"rsb-fake-gpu-001";
const HEADER: usize = 64;
/// Offset of the architecture and the source.
const TEXT: usize = HEADER + MARK.len() + 8;

/// A parsed code object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    /// Target architecture.
    pub(crate) arch: String,
    /// Source code.
    pub(crate) source: String,
}

impl Image {
    /// Returns whether the source defines the kernel `symbol`; `stem` is the part of the symbol
    /// before the data type. Macros define most kernels by appending the type to the stem.
    pub(crate) fn holds(&self, symbol: &str, stem: &str) -> bool {
        [format!("{symbol}("), format!("{stem}_##")].iter().any(|text| self.source.contains(text))
    }

    /// Encodes the image as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let model = gpu::find(&self.arch);
        let machine = model.map_or(0, |model| model.machine);
        // ELF identification: 64 bits, little-endian, version 1. Then the system, the file type and
        // the machine: HSA, shared object and AMDGPU for AMD; CUDA, executable and CUDA for NVIDIA.
        // The flags hold the architecture number.
        let (system, kind) = match model.map_or(Vendor::Amd, |model| model.vendor) {
            Vendor::Amd => ([0x40, 2], [3, 0, 224, 0, 1]),
            Vendor::Nvidia => ([0x33, 7], [2, 0, 190, 0, 1]),
        };
        let mut bytes = vec![0; HEADER];
        for (at, field) in [
            (0, &b"\x7fELF\x02\x01\x01"[..]),
            (7, &system),
            (16, &kind),
            (48, &machine.to_le_bytes()),
        ] {
            bytes.iter_mut().skip(at).zip(field).for_each(|(to, &from)| *to = from);
        }
        let text = format!("{}\n{}", self.arch, self.source);
        bytes.extend(MARK);
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
        with_section(bytes)
    }

    /// Reads the code object at `address`; `None` if this compiler did not create it.
    ///
    /// # Safety
    /// `address` must be null, or point to at least as many bytes as the headers have. If these are
    /// the headers of this compiler, all bytes of the code object must be readable.
    pub(crate) unsafe fn read(address: *const u8) -> Option<Self> {
        if address.is_null() {
            return None;
        }
        // SAFETY: guaranteed by the caller.
        let head = unsafe { std::slice::from_raw_parts(address, TEXT) };
        let length = head.get(HEADER + MARK.len()..)?.first_chunk()?;
        if !head.starts_with(b"\x7fELF") || head.get(HEADER..)?.first_chunk() != Some(MARK) {
            return None;
        }
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        // SAFETY: guaranteed by the caller.
        let text = unsafe { std::slice::from_raw_parts(address.wrapping_add(TEXT), length) };
        let (arch, source) = std::str::from_utf8(text).ok()?.split_once('\n')?;
        Some(Self { arch: arch.to_owned(), source: source.to_owned() })
    }
}

/// Appends a section table with one section, all data after the header, so that the file specifies
/// its length.
fn with_section(mut bytes: Vec<u8>) -> Vec<u8> {
    const ENTRY: usize = 64;
    let (table, contents) = (bytes.len() as u64, (bytes.len() - HEADER) as u64);
    let mut section = [0; ENTRY];
    for (at, number) in [(0x04, 1), (0x18, HEADER as u64), (0x20, contents)] {
        section.iter_mut().skip(at).zip(number.to_le_bytes()).for_each(|(to, from)| *to = from);
    }
    for (at, field) in [(0x28, table.to_le_bytes().as_slice()), (0x3a, &[ENTRY as u8, 0, 1, 0])] {
        bytes.iter_mut().skip(at).zip(field).for_each(|(to, &from)| *to = from);
    }
    bytes.extend(section);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_object_names_its_cpu_and_its_kernels() {
        let image = Image { arch: "gfx90a".into(), source: "rsb_add_##NAME(x) rsb_copy(y)".into() };
        let bytes = image.encode();
        assert_eq!((bytes[18], bytes[48]), (224, 0x3f));
        // The section table is last and has one entry.
        assert_eq!(usize::from(bytes[0x28]) + 256 * usize::from(bytes[0x29]) + 64, bytes.len());
        assert_eq!(bytes[0x3a..0x3e], [64, 0, 1, 0]);
        // SAFETY: the pointer is to a complete code object, which lives until the end of the test.
        assert_eq!(unsafe { Image::read(bytes.as_ptr()) }, Some(image.clone()));
        assert!(image.holds("rsb_add_f32", "rsb_add") && image.holds("rsb_copy", "rsb_copy"));
        assert!(!image.holds("rsb_sub_f32", "rsb_sub"));
        let bytes = Image { arch: "sm_90".into(), ..image }.encode();
        assert_eq!((bytes[18], bytes[48]), (190, 90));
        let other = [0; 200];
        // SAFETY: the array is longer than the headers and does not begin with them.
        assert_eq!(unsafe { Image::read(other.as_ptr()) }, None);
    }
}
