//! The rule for the sensors of Intel GPUs, which are read from sysfs and hwmon during a
//! measurement.

use rsb_model::finding::{Finding, FindingSeverity};

use crate::gpu::intel::IntelSensors;

/// PCI address of the graphics in Intel CPUs, which have no hwmon.
const INTEGRATED: &str = "0000:00:02.0";

/// Returns the finding about the sensors of one GPU.
pub(super) fn about(found: &IntelSensors) -> Finding {
    let IntelSensors { place, has_hwmon, told, refused } = found;
    let readable = if told.is_empty() { "none".to_owned() } else { told.join(", ") };
    if !refused.is_empty() {
        return Finding::new(
            FindingSeverity::Note,
            format!("not every sensor of the Intel GPU at {place} can be read"),
            format!(
                "{}; measurements do not include their values. Readable: {readable}",
                refused.join("; ")
            ),
            "run as root, or make these files of its hwmon directory readable for the user (a udev \
             rule with `chmod a+r`)",
        );
    }
    if told.is_empty() || (!has_hwmon && place != INTEGRATED) {
        return Finding::new(
            FindingSeverity::Note,
            format!("the Intel GPU at {place} has no power and temperature sensors"),
            format!("its driver has not registered hwmon. Readable: {readable}"),
            "use a kernel with CONFIG_HWMON, 6.2 or later for i915 and 6.8 or later for xe; mount \
             /sys in a container",
        );
    }
    let why = if *has_hwmon {
        "from sysfs and hwmon"
    } else {
        "from sysfs; integrated graphics have no hwmon"
    };
    Finding::ok(format!("sensors of the Intel GPU at {place}: {readable}"), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_is_a_finding_and_each_bad_one_has_its_cure() {
        let sensors =
            |place: &str, has_hwmon: bool, told: &[&'static str], refused: &[&str]| IntelSensors {
                place: place.to_owned(),
                has_hwmon,
                told: told.to_vec(),
                refused: refused.iter().map(|file| (*file).to_owned()).collect(),
            };
        let (arc, denied) = ("0000:03:00.0", "energy1_input: permission denied");
        for (found, severity, word) in [
            (
                sensors(arc, true, &["clock", "power"], &[]),
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
                sensors(arc, false, &["clock"], &[]),
                FindingSeverity::Note,
                "no power and temperature sensors",
            ),
            (sensors(arc, true, &["clock"], &[denied]), FindingSeverity::Note, "not every sensor"),
        ] {
            let about = about(&found);
            assert!(about.severity == severity && about.what.contains(word), "{about:?}");
            assert_eq!(about.cure.is_none(), severity == FindingSeverity::Ok, "{about:?}");
            assert_eq!(about.why.contains(denied), !found.refused.is_empty(), "{about:?}");
        }
    }
}
