//! Highest temperature of all sensors, in °C.

use std::path::Path;

use crate::host::{Host, entries, read_line, read_number};

/// Reads every sensor; reports the highest temperature whenever it rises.
pub(super) fn read(host: &Host, report: &dyn Fn(f64)) {
    let mut highest = f64::NEG_INFINITY;
    if let Some(zones) = host.path("/sys/class/thermal") {
        for zone in entries(&zones).into_iter().filter(|name| name.starts_with("thermal_zone")) {
            read_sensor(&zones.join(zone).join("temp"), &mut highest, report);
        }
    }
    if let Some(chips) = host.path("/sys/class/hwmon") {
        for chip in
            entries(&chips).into_iter().map(|name| chips.join(name)).filter(|chip| !sleeps(chip))
        {
            for file in entries(&chip) {
                if file.starts_with("temp") && file.ends_with("_input") {
                    read_sensor(&chip.join(file), &mut highest, report);
                }
            }
        }
    }
}

/// Reads one sensor; if its temperature is above `highest`, updates that and reports it.
fn read_sensor(sensor: &Path, highest: &mut f64, report: &dyn Fn(f64)) {
    if let Some(celsius) = read_number(sensor).and_then(plausible)
        && celsius > *highest
    {
        *highest = celsius;
        report(celsius);
    }
}

/// Returns whether the device is suspended; reading its sensor would wake it.
fn sleeps(chip: &Path) -> bool {
    read_line(&chip.join("device/power/runtime_status")).is_some_and(|status| status == "suspended")
}

/// Converts thousandths of a degree; faulty sensors report 0, −273 or 2¹⁶.
fn plausible(thousandths: i64) -> Option<f64> {
    ((1_000..=150_000).contains(&thousandths)).then(|| thousandths as f64 / 1e3)
}
