//! Names and targets of common GPUs by PCI ID, for drivers that do not report them.

use std::str::SplitN;

use super::pci::PciId;
use crate::host::hexadecimal;

/// Lines of the form `vendor device revision target name`; `*` is any revision, `-` is no target.
const TABLE: &str = include_str!("known_gpus.txt");

/// Boards by their subsystem IDs, for models that share one PCI ID.
const BOARDS: &str = include_str!("boards.txt");

/// Entry of the table for a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownGpu {
    pub(crate) name: &'static str,
    /// Target, such as `gfx1100` or `sm_90`.
    pub(crate) target: Option<&'static str>,
}

impl KnownGpu {
    /// Returns whether it is a virtual function, by the end of AMD's name for it.
    pub(crate) fn is_virtual_function(self) -> bool {
        self.name.ends_with(" VF") || self.name.ends_with(" MxGPU")
    }
}

struct Row {
    id: PciId,
    revision: Option<u32>,
    known: KnownGpu,
}

/// Returns the entry for the revision of a GPU, or else for its model. If the board is known, the
/// name is that of the board.
pub(crate) fn find(id: PciId, revision: Option<u32>, board: Option<PciId>) -> Option<KnownGpu> {
    let exact =
        rows().find(|row| row.id == id && row.revision.is_some() && row.revision == revision);
    if let Some(row) = exact {
        return Some(row.known);
    }
    let known = rows().find(|row| row.id == id && row.revision.is_none())?.known;
    let name =
        boards().find(|known| (known.id, Some(known.own)) == (id, board)).map(|known| known.name);
    Some(KnownGpu { name: name.unwrap_or(known.name), ..known })
}

struct Board {
    id: PciId,
    /// Vendor and number of the board.
    own: PciId,
    name: &'static str,
}

fn boards() -> impl Iterator<Item = Board> {
    BOARDS.lines().filter(|line| !line.starts_with('#')).filter_map(parse_board)
}

fn parse_board(line: &'static str) -> Option<Board> {
    let mut parts = line.splitn(5, ' ');
    Some(Board { id: parse_id(&mut parts)?, own: parse_id(&mut parts)?, name: parts.next()? })
}

/// Parses vendor and model from the next two of `parts`.
fn parse_id(parts: &mut SplitN<'_, char>) -> Option<PciId> {
    Some(PciId { vendor: hexadecimal(parts.next()?)?, device: hexadecimal(parts.next()?)? })
}

fn rows() -> impl Iterator<Item = Row> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(parse)
}

fn parse(line: &'static str) -> Option<Row> {
    let mut parts = line.splitn(5, ' ');
    let id = parse_id(&mut parts)?;
    let revision = match parts.next()? {
        "*" => None,
        number => Some(hexadecimal(number)?),
    };
    let target = Some(parts.next()?).filter(|target| *target != "-");
    Some(Row { id, revision, known: KnownGpu { name: parts.next()?, target } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_row_and_no_two_speak_of_the_same_gpu() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        let all: Vec<Row> = rows().collect();
        assert_eq!(all.len(), lines, "a line does not parse");
        let mut keys: Vec<_> =
            all.iter().map(|row| (row.id.vendor, row.id.device, row.revision)).collect();
        assert!(keys.is_sorted(), "the table must be sorted, so that duplicates are found");
        keys.dedup();
        assert_eq!(keys.len(), lines);
        for row in all {
            let vendor = match row.id.vendor {
                0x1002 => "gfx",
                0x10de => "sm_",
                _ => "",
            };
            assert!(
                row.known
                    .target
                    .is_none_or(|target| !vendor.is_empty() && target.starts_with(vendor)),
                "{}",
                row.known.name
            );
        }
    }

    #[test]
    fn a_revision_is_told_apart_where_it_is_known() {
        let navi31 = PciId { vendor: 0x1002, device: 0x744c };
        for (revision, name) in [
            (Some(0xc8), "AMD Radeon RX 7900 XTX"),
            (Some(0xcc), "AMD Radeon RX 7900 XT"),
            (None, "AMD Radeon RX 7900 series"),
        ] {
            let found = find(navi31, revision, None).map(|known| known.name);
            assert_eq!(found, Some(name), "{revision:?}");
        }
        assert_eq!(find(navi31, None, None).and_then(|known| known.target), Some("gfx1100"));
        assert_eq!(find(PciId { vendor: 0x1002, device: 0xffff }, None, None), None);
    }

    #[test]
    fn models_that_share_an_id_are_named_by_their_revision() {
        for (device, revision, name) in [
            (0x7480, Some(0xc1), "AMD Radeon RX 7700S"),
            (0x7480, Some(0xc2), "AMD Radeon RX 7650 GRE"),
            (0x7480, Some(0xc3), "AMD Radeon RX 7600S"),
            (0x7480, Some(0xc7), "AMD Radeon RX 7600M XT"),
            (0x7480, Some(0xcf), "AMD Radeon RX 7600"),
            (0x7480, Some(0x99), "AMD Radeon RX 7600 series"),
            (0x7480, None, "AMD Radeon RX 7600 series"),
            (0x7550, Some(0xc2), "AMD Radeon RX 9070 GRE"),
            (0x747e, Some(0xff), "AMD Radeon RX 7700 XT"),
            (0x73df, Some(0xcf), "AMD Radeon RX 6700M"),
            (0x73ff, Some(0xcb), "AMD Radeon RX 6600S"),
            (0x15bf, Some(0xc3), "AMD Radeon 760M"),
            (0x1586, Some(0xc1), "AMD Radeon 8060S"),
        ] {
            let id = PciId { vendor: 0x1002, device };
            let found = find(id, revision, None).map(|known| known.name);
            assert_eq!(found, Some(name), "{device:04x} {revision:02x?}");
        }
    }

    #[test]
    fn virtual_functions_with_an_id_of_their_own_are_recognized() {
        for (device, is_virtual) in [(0x74b5, true), (0x73ae, true), (0x74a1, false)] {
            let known = find(PciId { vendor: 0x1002, device }, None, None).unwrap();
            assert_eq!(known.is_virtual_function(), is_virtual, "{}", known.name);
        }
    }

    #[test]
    fn a_board_tells_the_model_where_the_revision_is_not_known() {
        let navi31 = PciId { vendor: 0x1002, device: 0x744c };
        let nitro = Some(PciId { vendor: 0x1da2, device: 0xe471 });
        let found = find(navi31, None, nitro).unwrap();
        assert_eq!((found.name, found.target), ("AMD Radeon RX 7900 XTX", Some("gfx1100")));
        assert_eq!(
            find(navi31, Some(0xcc), nitro).map(|known| known.name),
            Some("AMD Radeon RX 7900 XT")
        );
        let lines = BOARDS.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(boards().count(), lines, "a line does not parse");
        for board in boards() {
            let is_a_model = rows().any(|row| row.id == board.id && row.known.name == board.name);
            assert!(is_a_model, "{} is not in the table of models", board.name);
        }
    }
}
