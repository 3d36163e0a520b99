//! Code passed to a driver as a pointer without a length. A driver reads as far as the headers in
//! the code specify, so truncated code must never be passed to it.

use rsb_device::device::DeviceError;
use rsb_model::Reason;

/// Code that is at least as long as its own headers specify.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Image<'a>(&'a [u8]);

impl<'a> Image<'a> {
    /// Checks `code` against its own headers: an ELF file (as from hiprtc and NVRTC), a clang
    /// offload bundle, plain or compressed, or a CUDA fat binary.
    ///
    /// # Errors
    /// If it has none of these formats, or is shorter than its headers specify.
    pub(crate) fn of(code: &'a [u8]) -> Result<Self, DeviceError> {
        match own_length(code) {
            Some(length) if length <= code.len() as u64 => Ok(Self(code)),
            Some(length) => Err(unusable(format!(
                "the code has {} bytes, but its header specifies {length}",
                code.len()
            ))),
            None => Err(unusable(format!(
                "the {} bytes of code are truncated, or not in a format that drivers accept",
                code.len()
            ))),
        }
    }

    /// Returns the pointer that a driver reads from.
    pub(crate) fn as_ptr(self) -> *const std::ffi::c_void {
        self.0.as_ptr().cast()
    }
}

fn unusable(why: String) -> DeviceError {
    DeviceError::Failed(Reason::new(
        "code of a kernel",
        why,
        "reinstall the compiler (hiprtc or NVRTC)",
    ))
}

/// Returns the length in bytes that the headers of `code` specify.
fn own_length(code: &[u8]) -> Option<u64> {
    const ELF: &[u8] = b"\x7fELF";
    const BUNDLE: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
    const COMPRESSED: &[u8] = b"CCOB";
    const FAT_BINARY: &[u8] = &0xba55_ed50_u32.to_le_bytes();
    if code.starts_with(ELF) {
        elf(code)
    } else if code.starts_with(BUNDLE) {
        bundle(code, BUNDLE.len())
    } else if code.starts_with(COMPRESSED) {
        compressed_size(code)
    } else if code.starts_with(FAT_BINARY) {
        // Magic, version and the size of this header, then the size of the rest.
        number::<2>(code, 6)?.checked_add(number::<8>(code, 8)?)
    } else {
        None
    }
}

/// Returns the length of a 64-bit little-endian ELF file: the largest end of the header, the two
/// tables and their entries.
fn elf(code: &[u8]) -> Option<u64> {
    const HEADER: u64 = 64;
    /// A section that takes no space in the file.
    const EMPTY: u64 = 8;
    if code.get(4..6) != Some(&[2, 1]) {
        return None;
    }
    let mut end = HEADER;
    for (table, [size, count], [kind, from, bytes], none) in [
        // Segments; type 0 is unused.
        (0x20, [0x36, 0x38], [0x00, 0x08, 0x20], 0),
        (0x28, [0x3a, 0x3c], [0x04, 0x18, 0x20], EMPTY),
    ] {
        let (start, size, count) =
            (number::<8>(code, table)?, number::<2>(code, size)?, number::<2>(code, count)?);
        end = end.max(if count == 0 { 0 } else { start.checked_add(size.checked_mul(count)?)? });
        for index in 0..count {
            let entry = start.checked_add(index.checked_mul(size)?)?;
            if number::<4>(code, entry.checked_add(kind)?)? != none {
                let from = number::<8>(code, entry.checked_add(from)?)?;
                let bytes = number::<8>(code, entry.checked_add(bytes)?)?;
                end = end.max(from.checked_add(bytes)?);
            }
        }
    }
    Some(end)
}

/// Returns the length of a clang offload bundle: the number of entries, and for each the offset and
/// length of its code, and its name preceded by the name's length.
fn bundle(code: &[u8], magic: usize) -> Option<u64> {
    let count = number::<8>(code, magic as u64)?;
    let mut at = magic as u64 + 8;
    let mut end = at;
    for _ in 0..count {
        let (from, bytes, name) =
            (number::<8>(code, at)?, number::<8>(code, at + 8)?, number::<8>(code, at + 16)?);
        at = at.checked_add(24)?.checked_add(name)?;
        end = end.max(at).max(from.checked_add(bytes)?);
    }
    Some(end)
}

/// Returns the length of a compressed clang bundle: from version 2 on the header contains the size
/// of the whole file, from version 3 on in 64 bits.
fn compressed_size(code: &[u8]) -> Option<u64> {
    match number::<2>(code, 4)? {
        0 | 1 => None,
        2 => number::<4>(code, 8),
        _ => number::<8>(code, 8),
    }
}

/// Reads an `N`-byte little-endian number at `at`.
fn number<const N: usize>(code: &[u8], at: u64) -> Option<u64> {
    let bytes = code.get(usize::try_from(at).ok()?..)?.first_chunk::<N>()?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns an ELF file with a segment and a section. The section is last and has `bytes` bytes.
    pub(in crate::common) fn elf_with(bytes: u64) -> Vec<u8> {
        let mut file = vec![0_u8; 64 + 56 + 64];
        file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        for (at, value, width) in [
            (0x20, 64, 8),
            (0x36, 56, 2),
            (0x38, 1, 2), // the table of segments
            (0x28, 120, 8),
            (0x3a, 64, 2),
            (0x3c, 1, 2), // the table of sections
            (64, 1, 4),
            (64 + 0x08, 0, 8),
            (64 + 0x20, 64, 8), // a segment: the header
            (120 + 4, 1, 4),
            (120 + 0x18, 184, 8),
            (120 + 0x20, bytes, 8), // a section
        ] {
            file[at..at + width].copy_from_slice(&u64::to_le_bytes(value)[..width]);
        }
        file.extend(std::iter::repeat_n(7, bytes as usize));
        file
    }

    fn says(code: &[u8]) -> Result<(), String> {
        Image::of(code).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn whatever_is_cut_off_an_elf_file_is_missed() {
        let whole = elf_with(100);
        assert_eq!(own_length(&whole), Some(284));
        assert_eq!(says(&whole), Ok(()));
        assert_eq!(
            says(&[whole.clone(), vec![0; 9]].concat()),
            Ok(()),
            "additional bytes are harmless"
        );
        for length in 0..whole.len() {
            assert!(says(&whole[..length]).is_err(), "{length} bytes of {}", whole.len());
        }
        assert!(
            says(&whole[..200])
                .unwrap_err()
                .contains("the code has 200 bytes, but its header specifies 284")
        );
    }

    /// Output of the available compilers has exactly the length that its headers specify.
    #[test]
    fn real_code_says_how_long_it_is() {
        use rsb_device::Backend;
        use rsb_device::compiler::{Job, Level};

        let backends: &[(&dyn Backend, &str)] = &[
            #[cfg(feature = "rocm")]
            (&crate::hip::HipBackend, "gfx90a"),
            #[cfg(feature = "cuda")]
            (&crate::cuda::CudaBackend, "sm_90"),
        ];
        for (backend, arch) in backends {
            let compiler = match backend.compiler() {
                Ok(compiler) => compiler,
                Err(reason) => {
                    eprintln!("skipped: {reason}");
                    continue;
                }
            };
            let job = Job::cold("memory", *arch, Level::O0);
            let code = compiler.compile(&job).unwrap().bytes;
            let length = own_length(&code).unwrap();
            assert!(length <= code.len() as u64, "{arch}: {length} of {}", code.len());
            assert!(length + 64 > code.len() as u64, "{arch}: {length} of {}", code.len());
        }
    }

    #[test]
    fn a_section_without_contents_takes_no_place() {
        let mut file = elf_with(0);
        file[120 + 4] = 8;
        file[120 + 0x20 + 4] = 1; // 4 GiB of shared memory
        assert_eq!(says(&file), Ok(()));
    }

    #[test]
    fn bundles_and_fat_binaries_say_their_length_too() {
        let words =
            |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        let bundle = [
            b"__CLANG_OFFLOAD_BUNDLE__".to_vec(),
            words(&[1, 60, 20, 4]),
            b"host".to_vec(),
            vec![0; 20],
        ]
        .concat();
        let fat =
            [0xba55_ed50_u32.to_le_bytes().to_vec(), vec![1, 0, 16, 0], words(&[8]), vec![0; 8]]
                .concat();
        let compressed =
            [b"CCOB\x02\x00\x01\x00".to_vec(), 40_u32.to_le_bytes().to_vec(), vec![0; 28]].concat();
        let later = [b"CCOB\x03\x00\x01\x00".to_vec(), words(&[40]), vec![0; 24]].concat();
        for whole in [bundle, fat, compressed, later] {
            assert_eq!(says(&whole), Ok(()), "{whole:?}");
            for length in 0..whole.len() {
                assert!(says(&whole[..length]).is_err(), "{length} bytes of {whole:?}");
            }
        }
    }

    #[test]
    fn nonsense_is_refused_without_a_panic() {
        let mut huge = elf_with(8);
        huge[0x28..0x30].fill(0xff);
        let mut many = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
        many.extend([0xff; 64]);
        for code in [&b""[..], b"\x7fELF", b"// PTX", &huge, &many, b"CCOB\x01\x00"] {
            assert!(says(code).is_err(), "{code:?}");
        }
    }
}
