//! What a cubin says of itself: an ELF file whose header names the architecture, and notes on each kernel.

use rsb_device::compiler::KernelNeeds;

/// The machine CUDA in an ELF header.
const CUDA: [u8; 2] = [190, 0];

/// From this version of its layout on, which CUDA 13 writes, the number stands a byte further up in the flags.
const LATER_LAYOUT: u8 = 8;

/// The architecture that `code` is for, such as `sm_90`; `None` when it is no cubin.
pub fn target(code: &[u8]) -> Option<String> {
    let is_cubin = code.starts_with(b"\x7fELF") && code.get(18..20) == Some(CUDA.as_slice());
    let place = if *code.get(8).filter(|_| is_cubin)? >= LATER_LAYOUT { 49 } else { 48 };
    Some(format!("sm_{}", code.get(place)?))
}

/// The note with the registers of a thread: its format and number, then the length of what follows, which is the
/// kernel's place in the table of symbols, and the registers.
const REGISTERS: [u8; 4] = [0x04, 0x2f, 8, 0];

/// What each kernel of `code` needs; nothing where it is not as expected.
pub(super) fn kernels(code: &[u8]) -> Vec<KernelNeeds> {
    read(code).unwrap_or_default()
}

fn read(code: &[u8]) -> Option<Vec<KernelNeeds>> {
    let sections = sections(code)?;
    let named = |name: &str| sections.iter().find(|section| section.name == name);
    let (symbols, names) = (named(".symtab")?.bytes, named(".strtab")?.bytes);
    let notes = named(".nv.info")?.bytes;
    let kept = kept_by_the_system(&target(code)?);
    let counted = notes.windows(12).step_by(4).filter(|note| note.starts_with(&REGISTERS));
    let needs = counted.filter_map(|note| {
        // An entry of the table of symbols has 24 bytes and begins with where its name is.
        let symbol = symbols.get(24 * word(note, 4)? as usize..)?;
        let symbol = text(names, word(symbol, 0)? as usize)?;
        let shared = named(&format!(".nv.shared.{symbol}")).map_or(0, |section| section.size.saturating_sub(kept));
        named(&format!(".text.{symbol}"))?;
        Some(KernelNeeds {
            symbol,
            registers: word(note, 8)?,
            shared_bytes: u32::try_from(shared).ok()?,
            wavefront: 32,
        })
    });
    Some(needs.collect())
}

/// Bytes at the beginning of a kernel's shared memory that are not its own: from Hopper on they are counted with it.
fn kept_by_the_system(arch: &str) -> u64 {
    let number = arch.strip_prefix("sm_").and_then(|number| number.parse::<u32>().ok());
    if number.is_some_and(|number| number >= 90) { 1024 } else { 0 }
}

/// A section: of one without contents, such as shared memory, only the size is told.
struct Section<'a> {
    name: String,
    size: u64,
    bytes: &'a [u8],
}

fn sections(code: &[u8]) -> Option<Vec<Section<'_>>> {
    let table = usize::try_from(long(code, 0x28)?).ok()?;
    let (size, count, names) = (short(code, 0x3a)?, short(code, 0x3c)?, short(code, 0x3e)?);
    let header = |index: usize| code.get(table.checked_add(index.checked_mul(size)?)?..);
    let contents = |header: &[u8]| {
        let (from, bytes) = (usize::try_from(long(header, 0x18)?).ok()?, usize::try_from(long(header, 0x20)?).ok()?);
        code.get(from..from.checked_add(bytes)?)
    };
    let names = contents(header(names)?)?;
    let section = |index| {
        let header = header(index)?;
        let name = text(names, word(header, 0)? as usize)?;
        Some(Section { name, size: long(header, 0x20)?, bytes: contents(header).unwrap_or_default() })
    };
    Some((0..count).filter_map(section).collect())
}

fn text(bytes: &[u8], from: usize) -> Option<String> {
    let rest = bytes.get(from..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    Some(String::from_utf8_lossy(rest.get(..end)?).into_owned())
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?)))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_of_the_header_name_the_architecture() {
        let header = |layout: u8, flags: [u8; 4]| {
            let mut header = vec![0_u8; 64];
            header[..4].copy_from_slice(b"\x7fELF");
            (header[8], header[18]) = (layout, 190);
            header[48..52].copy_from_slice(&flags);
            header
        };
        // As the compilers of CUDA 12.9 and 13.5 write them.
        assert_eq!(target(&header(7, [0x5a, 0x05, 0x5a, 0x00])).as_deref(), Some("sm_90"));
        assert_eq!(target(&header(8, [0x04, 0x50, 0x00, 0x06])).as_deref(), Some("sm_80"));
        assert_eq!(target(&header(8, [0x02, 0x78, 0x00, 0x06])).as_deref(), Some("sm_120"));
        let mut other = header(7, [0x5a, 0x05, 0x5a, 0x00]);
        other[18] = 62;
        assert_eq!(target(&other), None, "a program for x86-64");
        assert_eq!(target(b"\x7fELF"), None);
        assert!(kernels(&header(7, [0; 4])).is_empty(), "without sections");
    }
}
