//! Kernel metadata that the compiler stores in a note of the code object, an ELF file. The metadata
//! is a map in `MessagePack` (LLVM, User Guide for AMDGPU Backend, code object metadata).
//! Unexpected data is ignored.

use object::LittleEndian;
use object::elf::{FileHeader64, NoteType};
use object::read::elf::{FileHeader as _, SectionHeader as _};
use rmpv::Value;

use rsb_device::compiler::KernelNeeds;

/// Vendor and type of the metadata note.
const VENDOR: &[u8] = b"AMDGPU";
const METADATA: NoteType = NoteType(32);

/// Maximum nesting depth. The maps and lists in valid metadata are six deep, and each level counts
/// twice.
const DEEPEST: usize = 32;

/// Returns the resources of each kernel of `code`.
pub(super) fn kernels(code: &[u8]) -> Vec<KernelNeeds> {
    let Some(mut note) = metadata(code) else { return Vec::new() };
    let whole = rmpv::decode::read_value_with_max_depth(&mut note, DEEPEST).ok();
    let kernels = whole.as_ref().and_then(|whole| find(whole, "amdhsa.kernels")?.as_array());
    kernels.into_iter().flatten().filter_map(needs).collect()
}

fn needs(kernel: &Value) -> Option<KernelNeeds> {
    Some(KernelNeeds {
        symbol: find(kernel, ".name")?.as_str()?.to_owned(),
        registers: number(kernel, ".vgpr_count")?,
        shared_bytes: number(kernel, ".group_segment_fixed_size")?,
        wavefront: number(kernel, ".wavefront_size")?,
    })
}

fn number(kernel: &Value, name: &str) -> Option<u32> {
    u32::try_from(find(kernel, name)?.as_u64()?).ok()
}

/// Returns the metadata among the notes of `code`.
fn metadata(code: &[u8]) -> Option<&[u8]> {
    let header = FileHeader64::<LittleEndian>::parse(code).ok()?;
    for section in header.section_headers(LittleEndian, code).ok()? {
        let Ok(Some(mut notes)) = section.notes(LittleEndian, code) else { continue };
        while let Ok(Some(note)) = notes.next() {
            if note.n_type(LittleEndian) == METADATA && note.name() == VENDOR {
                return Some(note.desc());
            }
        }
    }
    None
}

fn find<'v>(map: &'v Value, name: &str) -> Option<&'v Value> {
    map.as_map()?.iter().find(|(known, _)| known.as_str() == Some(name)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"amdhsa.kernels": [{".name": "k", ".vgpr_count": 300, ".group_segment_fixed_size": 70000,
    /// ".wavefront_size": 64, "x": [nil, -1, 1.5]}]}`
    fn sample_metadata() -> Vec<u8> {
        let text =
            |text: &str| [&[0xa0 | u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
        [
            vec![0x81],
            text("amdhsa.kernels"),
            vec![0x91, 0x85],
            text(".name"),
            text("k"),
            text(".vgpr_count"),
            vec![0xcd, 0x01, 0x2c],
            text(".group_segment_fixed_size"),
            vec![0xce, 0, 1, 0x11, 0x70],
            text(".wavefront_size"),
            vec![64],
            text("x"),
            vec![0x93, 0xc0, 0xff, 0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0],
        ]
        .concat()
    }

    /// Returns an ELF file with one section: another vendor's note, then the metadata.
    fn file(metadata: &[u8]) -> Vec<u8> {
        let notes = [note(b"GNU\0", 32, b"else"), note(b"AMDGPU\0", METADATA.0, metadata)].concat();
        let mut file = vec![0; 64];
        file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        file[0x28..0x30].copy_from_slice(&64_u64.to_le_bytes());
        file[0x3a..0x3e].copy_from_slice(&[64, 0, 1, 0]);
        let mut header = vec![0; 64];
        header[4] = 7;
        header[0x18..0x20].copy_from_slice(&128_u64.to_le_bytes());
        header[0x20..0x28].copy_from_slice(&(notes.len() as u64).to_le_bytes());
        [file, header, notes].concat()
    }

    fn note(name: &[u8], kind: u32, content: &[u8]) -> Vec<u8> {
        let lengths =
            [name.len() as u32, content.len() as u32, kind].map(u32::to_le_bytes).concat();
        [lengths, pad(name), pad(content)].concat()
    }

    fn pad(bytes: &[u8]) -> Vec<u8> {
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(4), 0);
        padded
    }

    #[test]
    fn what_the_compiler_noted_is_read() {
        let found = kernels(&file(&sample_metadata()));
        let expected =
            KernelNeeds { symbol: "k".into(), registers: 300, shared_bytes: 70_000, wavefront: 64 };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn damage_reads_as_nothing() {
        let whole = file(&sample_metadata());
        for length in 0..whole.len() {
            // A file cut only within its final padding may still be complete.
            assert!(kernels(&whole[..length]).is_empty() || length + 4 > whole.len(), "{length}");
        }
        let deep = [vec![0x91; 100], vec![0]].concat();
        assert!(kernels(&file(&deep)).is_empty());
        assert!(kernels(b"\x7fELF").is_empty());
    }
}
