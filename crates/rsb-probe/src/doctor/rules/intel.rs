//! The rule for the sensors of Intel GPUs, which are read from sysfs and hwmon during a
//! measurement.

use rsb_model::finding::{Finding, FindingSeverity};
use rsb_model::gpu::{Gpu, GpuKind};

use crate::gpu::intel::IntelSensors;

/// Returns the finding about the sensors of one of `gpus`. The drivers register hwmon only for
/// discrete GPUs, except virtual functions, and a guest may not know whether its virtual function
/// is discrete.
pub(super) fn about(gpus: &[Gpu], found: &IntelSensors) -> Finding {
    let IntelSensors { place, has_hwmon, readable, refused } = found;
    let listed = if readable.is_empty() { "none".to_owned() } else { readable.join(", ") };
    if !refused.is_empty() {
        return Finding::new(
            FindingSeverity::Note,
            format!("not every sensor of the Intel GPU at {place} can be read"),
            format!(
                "{}; measurements do not include their values. Readable: {listed}",
                refused.join("; ")
            ),
            "run as root, or make these files of its hwmon directory readable for the user (a udev \
             rule with `chmod a+r`)",
        );
    }
    let gpu = gpus.iter().find(|gpu| gpu.pci_address.as_ref() == Some(place));
    let is_discrete = gpu.is_some_and(|gpu| gpu.kind == Some(GpuKind::Discrete));
    if readable.is_empty() || (!has_hwmon && is_discrete) {
        return Finding::new(
            FindingSeverity::Note,
            format!("the Intel GPU at {place} has no power and temperature sensors"),
            format!("its driver has not registered hwmon. Readable: {listed}"),
            "no action for a virtual function in a guest, which has none; else use a kernel with \
             CONFIG_HWMON, 6.2 or later for i915 and 6.8 or later for xe, and mount /sys in a \
             container",
        );
    }
    let why = if *has_hwmon {
        "from sysfs and hwmon"
    } else {
        "from sysfs; only discrete GPUs have hwmon"
    };
    Finding::ok(format!("sensors of the Intel GPU at {place}: {listed}"), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARC: &str = "0000:03:00.0";
    const INTEGRATED: &str = "0000:00:02.0";

    fn gpus() -> [Gpu; 2] {
        [(INTEGRATED, GpuKind::Integrated), (ARC, GpuKind::Discrete)].map(|(address, kind)| Gpu {
            pci_address: Some(address.to_owned()),
            kind: Some(kind),
            ..Gpu::default()
        })
    }

    #[test]
    fn each_state_is_a_finding_and_each_bad_one_has_its_cure() {
        let sensors =
            |place: &str, has_hwmon: bool, read: &[&'static str], refused: &[&str]| IntelSensors {
                place: place.to_owned(),
                has_hwmon,
                readable: read.to_vec(),
                refused: refused.iter().map(|file| (*file).to_owned()).collect(),
            };
        let denied = "energy1_input: permission denied";
        for (found, severity, word) in [
            (
                sensors(ARC, true, &["clock", "power"], &[]),
                FindingSeverity::Ok,
                "0000:03:00.0: clock, power",
            ),
            (
                sensors(INTEGRATED, false, &["clock"], &[]),
                FindingSeverity::Ok,
                "0000:00:02.0: clock",
            ),
            (
                sensors(INTEGRATED, false, &[], &[]),
                FindingSeverity::Note,
                "no power and temperature sensors",
            ),
            (
                sensors(ARC, false, &["clock"], &[]),
                FindingSeverity::Note,
                "no power and temperature sensors",
            ),
            (
                sensors("0000:06:10.0", false, &["clock"], &[]),
                FindingSeverity::Ok,
                "0000:06:10.0: clock",
            ),
            (sensors(ARC, true, &["clock"], &[denied]), FindingSeverity::Note, "not every sensor"),
        ] {
            let about = about(&gpus(), &found);
            assert!(about.severity == severity && about.what.contains(word), "{about:?}");
            assert_eq!(about.cure.is_none(), severity == FindingSeverity::Ok, "{about:?}");
            assert_eq!(about.why.contains(denied), !found.refused.is_empty(), "{about:?}");
        }
    }
}
