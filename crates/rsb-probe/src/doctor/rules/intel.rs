//! The rule about Level Zero, through which the sensors of Intel's cards are read while something is measured.

use rsb_model::finding::{Finding, Severity};

use crate::level_zero::{LevelZero, Seen};

/// What is to be said of it.
pub(crate) fn about(found: &LevelZero) -> Finding {
    match found {
        LevelZero::Missing(reason) => Finding::new(
            Severity::Note,
            "Level Zero's loader is missing",
            format!(
                "{}; without it the sensors of Intel's cards say little or nothing while something is measured",
                reason.why
            ),
            reason.cure.clone(),
        ),
        LevelZero::Broken(reason) => Finding::new(
            Severity::Warning,
            "Level Zero's drivers do not start",
            format!("{}; the sensors of Intel's cards are not read through it", reason.why),
            reason.cure.clone(),
        ),
        LevelZero::Here(seen) => seen_by(seen),
    }
}

fn seen_by(seen: &Seen) -> Finding {
    let each = seen.devices.iter().map(|device| match &device.address {
        Some(address) => format!("{} at {address}", device.name),
        None => device.name.clone(),
    });
    let devices = each.collect::<Vec<_>>().join(", ");
    let loader = &seen.loader;
    match (&seen.sysman, seen.devices.iter().find_map(|device| device.sensors.as_ref().err())) {
        (Err(reason), _) if devices.is_empty() => warning(
            "Level Zero sees no device".to_owned(),
            format!("its loader is {loader}; {}: {}", reason.what, reason.why),
            &reason.cure,
        ),
        (Ok(()), _) if devices.is_empty() => warning(
            "Level Zero sees no device".to_owned(),
            format!("its loader is {loader}, and no driver behind it shows a card"),
            "install Intel's driver for it (Debian: libze-intel-gpu1; Intel's packages: intel-level-zero-gpu), and add \
             the user to the groups render and video",
        ),
        (Err(reason), _) | (_, Some(reason)) => warning(
            format!("Level Zero sees {devices}, and cannot read all sensors"),
            format!("its loader is {loader}; {}: {}", reason.what, reason.why),
            &reason.cure,
        ),
        (Ok(()), None) => Finding::ok(format!("Level Zero sees {devices}"), format!("its loader is {loader}")),
    }
}

fn warning(what: String, why: String, cure: &str) -> Finding {
    Finding::new(Severity::Warning, what, why, cure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level_zero::Device;
    use rsb_model::Reason;

    fn seen(devices: &[(&str, Result<(), Reason>)], sysman: Result<(), Reason>) -> LevelZero {
        let device = |(name, sensors): &(&str, Result<(), Reason>)| Device {
            name: (*name).to_owned(),
            address: Some("0000:03:00.0".to_owned()),
            sensors: sensors.clone(),
        };
        LevelZero::Here(Seen {
            loader: "/usr/lib/libze_loader.so.1".to_owned(),
            devices: devices.iter().map(device).collect(),
            sysman,
        })
    }

    #[test]
    fn each_state_is_a_finding_and_each_bad_one_has_its_cure() {
        let reason = || Reason::new("zesInit", "no driver has started", "install the driver");
        for (found, severity, word) in [
            (LevelZero::Missing(reason()), Severity::Note, "loader is missing"),
            (LevelZero::Broken(reason()), Severity::Warning, "do not start"),
            (seen(&[], Ok(())), Severity::Warning, "sees no device"),
            (seen(&[], Err(reason())), Severity::Warning, "sees no device"),
            (seen(&[("Arc", Err(reason()))], Err(reason())), Severity::Warning, "cannot read all sensors"),
            (seen(&[("Arc", Ok(())), ("Max", Err(reason()))], Ok(())), Severity::Warning, "cannot read all sensors"),
            (seen(&[("Arc", Ok(()))], Ok(())), Severity::Ok, "sees Arc at 0000:03:00.0"),
        ] {
            let about = about(&found);
            assert!(about.severity == severity && about.what.contains(word), "{about:?}");
            assert_eq!(about.cure.is_none(), severity == Severity::Ok, "{about:?}");
        }
    }
}
