//! Bits of `indep_throttle_status`, which are the same for all generations of GPUs.

/// Bit and reason. Source: the kernel's `amdgpu_smu.h`, `SMU_THROTTLER_*_BIT`.
const BITS: [(u32, &str); 32] = [
    (0, "power limit"),
    (1, "power limit 1"),
    (2, "power limit 2"),
    (3, "power limit 3"),
    (4, "sustained power limit"),
    (5, "fast power limit"),
    (6, "slow power limit"),
    (7, "slow power limit of the CPU"),
    (16, "current of the compute units"),
    (17, "current of the chip"),
    (18, "current of the memory"),
    (19, "current of the supply"),
    (20, "current of the camera unit"),
    (21, "peak current of the CPU"),
    (22, "peak current of the compute units"),
    (23, "peak current control"),
    (32, "temperature of the GPU"),
    (33, "temperature of the cores"),
    (34, "temperature of the memory"),
    (35, "temperature at the edge"),
    (HOTSPOT, "temperature of the hot spot"),
    (37, "temperature of the chip"),
    (38, "temperature of the regulator (compute units)"),
    (39, "temperature of the regulator (chip)"),
    (40, "temperature of the regulator (memory 0)"),
    (41, "temperature of the regulator (memory 1)"),
    (42, "temperature of the liquid 0"),
    (43, "temperature of the liquid 1"),
    (44, "hot regulator 0"),
    (45, "hot regulator 1"),
    (46, "CPU hot signal (CPU)"),
    (47, "CPU hot signal (GPU)"),
];

/// Bits that are always active and do not throttle by themselves: frequency and voltage guards.
const ALWAYS: u64 = 1 << 56 | 1 << 57;

const HOTSPOT: u32 = 36;
/// Junction temperature in °C above which the hot spot bit is reported. GPUs of the RX 7000 series
/// set this bit almost always, at any temperature. Their limit is 110 °C, and no AMD GPU throttles
/// for this reason below 85 °C.
const HOTSPOT_COUNTS_FROM_C: f64 = 85.0;

/// Returns the reasons in `status`. A bit without a name is reported by its number.
pub(super) fn reasons(status: u64, junction_c: Option<f64>) -> Vec<String> {
    let is_cool = junction_c.is_some_and(|celsius| celsius < HOTSPOT_COUNTS_FROM_C);
    let ignored = ALWAYS | if is_cool { 1 << HOTSPOT } else { 0 };
    let counts = status & !ignored;
    let set = (0..u64::BITS).filter(|bit| counts >> bit & 1 == 1);
    set.map(|bit| match BITS.iter().find(|(known, _)| *known == bit) {
        Some((_, reason)) => (*reason).to_owned(),
        None => format!("throttle bit {bit}"),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_reasons() {
        for (status, junction, expected) in [
            (0, None, vec![]),
            (1 | 1 << 34, Some(60.0), vec!["power limit", "temperature of the memory"]),
            (1 << 36, Some(60.0), vec![]),
            (1 << 36, Some(105.0), vec!["temperature of the hot spot"]),
            (1 << 36, None, vec!["temperature of the hot spot"]),
            (ALWAYS, None, vec![]),
            (1 << 60, None, vec!["throttle bit 60"]),
        ] {
            assert_eq!(reasons(status, junction), expected, "{status:#x} {junction:?}");
        }
    }

    #[test]
    fn every_bit_has_one_name() {
        assert!(BITS.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1));
    }
}
