//! What the compiler notes in a code object of each kernel: a map in `MessagePack` (LLVM, User Guide for AMDGPU Backend,
//! code object metadata), in a note of the ELF file. Whatever is not as expected reads as nothing.

use rsb_device::compiler::KernelNeeds;

/// The type of a section that holds notes.
const NOTES: u32 = 7;

/// The note with the metadata: its maker and its number.
const MAKER: &[u8] = b"AMDGPU\0";
const METADATA: u32 = 32;

/// Maps within lists within maps are four deep; more is not what it should be.
const DEEPEST: u32 = 8;

/// What each kernel of `code` needs.
pub(super) fn kernels(code: &[u8]) -> Vec<KernelNeeds> {
    let Some(mut note) = sections(code).filter(|(kind, _)| *kind == NOTES).find_map(|(_, notes)| metadata(notes))
    else {
        return Vec::new();
    };
    let Some(Value::Map(whole)) = value(&mut note, DEEPEST) else { return Vec::new() };
    match find(&whole, "amdhsa.kernels") {
        Some(Value::List(kernels)) => kernels.iter().filter_map(needs).collect(),
        _ => Vec::new(),
    }
}

fn needs(kernel: &Value) -> Option<KernelNeeds> {
    let Value::Map(kernel) = kernel else { return None };
    let number = |name| match find(kernel, name) {
        Some(Value::Number(number)) => u32::try_from(*number).ok(),
        _ => None,
    };
    let Some(Value::Text(symbol)) = find(kernel, ".name") else { return None };
    Some(KernelNeeds {
        symbol: symbol.clone(),
        registers: number(".vgpr_count")?,
        shared_bytes: number(".group_segment_fixed_size")?,
        wavefront: number(".wavefront_size")?,
    })
}

/// Types and contents of the sections.
fn sections(code: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let table = long(code, 0x28).unwrap_or(usize::MAX);
    let (size, count) = (usize::from(short(code, 0x3a).unwrap_or(0)), usize::from(short(code, 0x3c).unwrap_or(0)));
    (0..count).filter_map(move |index| {
        let header = code.get(table.checked_add(index * size)?..)?;
        let (from, bytes) = (long(header, 0x18)?, long(header, 0x20)?);
        Some((word(header, 4)?, code.get(from..from.checked_add(bytes)?)?))
    })
}

/// The metadata among `notes`.
fn metadata(mut notes: &[u8]) -> Option<&[u8]> {
    loop {
        let (name, bytes) = (word(notes, 0)? as usize, word(notes, 4)? as usize);
        let kind = word(notes, 8)?;
        let begin = 12 + name.next_multiple_of(4);
        let content = notes.get(begin..begin.checked_add(bytes)?)?;
        if kind == METADATA && notes.get(12..12 + name)? == MAKER {
            return Some(content);
        }
        notes = notes.get(begin + bytes.next_multiple_of(4)..)?;
    }
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?)).ok()
}

/// A value in `MessagePack`, as far as it matters here.
enum Value {
    Map(Vec<(String, Value)>),
    List(Vec<Value>),
    Text(String),
    Number(u64),
    Other,
}

fn find<'v>(map: &'v [(String, Value)], name: &str) -> Option<&'v Value> {
    map.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// Takes one value from the front of `bytes`.
fn value(bytes: &mut &[u8], depth: u32) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let first = *take(bytes, 1)?.first()?;
    Some(match first {
        0x00..=0x7f => Value::Number(u64::from(first)),
        0x80..=0x8f => map(bytes, u64::from(first & 0x0f), depth)?,
        0x90..=0x9f => list(bytes, u64::from(first & 0x0f), depth)?,
        0xa0..=0xbf => text(bytes, u64::from(first & 0x1f))?,
        0xc4..=0xc6 => {
            let length = number(bytes, 1 << (first - 0xc4))?;
            take(bytes, usize::try_from(length).ok()?)?;
            Value::Other
        }
        0xca | 0xd2 => skip(bytes, 4)?,
        0xcb | 0xd3 => skip(bytes, 8)?,
        0xcc..=0xcf => Value::Number(number(bytes, 1 << (first - 0xcc))?),
        0xd0 => skip(bytes, 1)?,
        0xd1 => skip(bytes, 2)?,
        0xd9..=0xdb => {
            let length = number(bytes, 1 << (first - 0xd9))?;
            text(bytes, length)?
        }
        0xdc | 0xdd => {
            let length = number(bytes, 2 << (first - 0xdc))?;
            list(bytes, length, depth)?
        }
        0xde | 0xdf => {
            let length = number(bytes, 2 << (first - 0xde))?;
            map(bytes, length, depth)?
        }
        _ => Value::Other,
    })
}

fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn skip(bytes: &mut &[u8], count: usize) -> Option<Value> {
    take(bytes, count).map(|_| Value::Other)
}

/// A whole number of `size` bytes, the highest first.
fn number(bytes: &mut &[u8], size: usize) -> Option<u64> {
    Some(take(bytes, size)?.iter().fold(0, |number, &byte| (number << 8) | u64::from(byte)))
}

fn text(bytes: &mut &[u8], length: u64) -> Option<Value> {
    let text = take(bytes, usize::try_from(length).ok()?)?;
    Some(Value::Text(String::from_utf8_lossy(text).into_owned()))
}

fn list(bytes: &mut &[u8], length: u64, depth: u32) -> Option<Value> {
    (0..length).map(|_| value(bytes, depth)).collect::<Option<_>>().map(Value::List)
}

fn map(bytes: &mut &[u8], length: u64, depth: u32) -> Option<Value> {
    let entry = |bytes: &mut &[u8]| {
        let Value::Text(name) = value(bytes, depth)? else { return None };
        Some((name, value(bytes, depth)?))
    };
    (0..length).map(|_| entry(bytes)).collect::<Option<_>>().map(Value::Map)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"amdhsa.kernels": [{".name": "k", ".vgpr_count": 300, ".group_segment_fixed_size": 70000,
    /// ".wavefront_size": 64, "x": [nil, -1, 1.5]}]}`
    fn packed() -> Vec<u8> {
        let text = |text: &str| [&[0xa0 | u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
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

    /// An ELF file with one section: a note of somebody else, then the metadata.
    fn file(metadata: &[u8]) -> Vec<u8> {
        let note = |name: &[u8], kind: u32, content: &[u8]| {
            let padded = |bytes: &[u8]| {
                let mut padded = bytes.to_vec();
                padded.resize(bytes.len().next_multiple_of(4), 0);
                padded
            };
            let lengths = [name.len() as u32, content.len() as u32, kind].map(u32::to_le_bytes).concat();
            [lengths, padded(name), padded(content)].concat()
        };
        let notes = [note(b"GNU\0", 32, b"else"), note(MAKER, METADATA, metadata)].concat();
        let mut file = vec![0; 64];
        file[0x28..0x30].copy_from_slice(&64_u64.to_le_bytes());
        file[0x3a..0x3e].copy_from_slice(&[64, 0, 1, 0]);
        let mut header = vec![0; 64];
        header[4] = 7;
        header[0x18..0x20].copy_from_slice(&128_u64.to_le_bytes());
        header[0x20..0x28].copy_from_slice(&(notes.len() as u64).to_le_bytes());
        [file, header, notes].concat()
    }

    #[test]
    fn what_the_compiler_noted_is_read() {
        let found = kernels(&file(&packed()));
        let expected = KernelNeeds { symbol: "k".into(), registers: 300, shared_bytes: 70_000, wavefront: 64 };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn damage_reads_as_nothing() {
        let whole = file(&packed());
        for length in 0..whole.len() {
            // Only a cut in the padding at the end may still hold everything.
            assert!(kernels(&whole[..length]).is_empty() || length + 4 > whole.len(), "{length}");
        }
        let deep = [vec![0x91; 100], vec![0]].concat();
        assert!(kernels(&file(&deep)).is_empty());
        assert!(kernels(b"\x7fELF").is_empty());
    }
}
