//! Names of ARM cores, for which the kernel reports only vendor and part numbers.
//!
//! Sources: Arm's technical reference manuals (register `MIDR_EL1`) and the kernel's
//! `arch/arm64/include/asm/cputype.h`.

use crate::host::hexadecimal;

const VENDORS: [(u32, &str); 9] = [
    (0x41, "ARM"),
    (0x43, "Cavium"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x51, "Qualcomm"),
    (0x61, "Apple"),
    (0x6d, "Microsoft"),
    (0xc0, "Ampere"),
];

const PARTS: [(u32, u32, &str); 29] = [
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd04, "Cortex-A35"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd09, "Cortex-A73"),
    (0x41, 0xd0a, "Cortex-A75"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd0d, "Cortex-A77"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd42, "Cortex-A78AE"),
    (0x41, 0xd44, "Cortex-X1"),
    (0x41, 0xd46, "Cortex-A510"),
    (0x41, 0xd47, "Cortex-A710"),
    (0x41, 0xd48, "Cortex-X2"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd84, "Neoverse-V3"),
    (0x41, 0xd8e, "Neoverse-N3"),
    (0x43, 0x0af, "ThunderX2"),
    (0x46, 0x001, "A64FX"),
    (0x48, 0xd01, "TaiShan v110"),
    (0x4e, 0x004, "Carmel"),
    (0x61, 0x022, "M1 (Icestorm)"),
    (0x61, 0x023, "M1 (Firestorm)"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1a"),
];

/// Returns the name of a core. The name of an unknown core consists of its numbers, so that models
/// remain distinguishable.
pub(crate) fn name(implementer: &str, part: &str) -> Option<String> {
    let (vendor, part) = (hexadecimal(implementer)?, hexadecimal(part)?);
    let vendor_name = VENDORS
        .iter()
        .find(|row| row.0 == vendor)
        .map_or_else(|| format!("vendor {vendor:#04x}"), row_name);
    let part_name = PARTS.iter().find(|row| (row.0, row.1) == (vendor, part));
    let part_name = part_name.map_or_else(|| format!("part {part:#05x}"), |row| row.2.to_owned());
    Some(format!("{vendor_name} {part_name}"))
}

fn row_name(row: &(u32, &str)) -> String {
    row.1.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_named_or_keep_their_numbers() {
        for (implementer, part, expected) in [
            ("0x41", "0xd0c", Some("ARM Neoverse-N1")),
            ("0x41", "0xeee", Some("ARM part 0xeee")),
            ("0x99", "0x001", Some("vendor 0x99 part 0x001")),
            ("what", "0x001", None),
        ] {
            assert_eq!(name(implementer, part).as_deref(), expected);
        }
    }
}
