//! Clocks, limits and throttle reasons of Intel GPUs, from the drivers i915 and xe; other sensors
//! are in hwmon.
//!
//! Sources: the kernel's `Documentation/ABI/testing/sysfs-driver-intel-i915-hwmon`,
//! `sysfs-driver-intel-xe-hwmon`, and `intel_gt_sysfs_pm.c`, `xe_gt_freq.c`, `xe_gt_throttle.c`.
//! Never tested on a real Intel GPU; the tests write the trees.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::details;
use crate::host::{entries, read_line, read_number, refusal};
use crate::plausible;

/// Clocks in MHz.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct IntelClocks {
    /// Current clock; 0 while the GPU idles and its clock is stopped.
    pub(crate) now: Option<f64>,
    /// Highest clock of the hardware (RP0).
    pub(crate) max: Option<f64>,
    /// Highest clock that the driver may request.
    pub(crate) limit: Option<f64>,
}

/// File names of a driver for a GT, the driver's term for the graphics unit of a tile.
struct Names {
    actual: &'static str,
    requested: &'static str,
    max: &'static str,
    limit: &'static str,
    /// Directory of the throttle reasons below that of the clocks, and the prefix of their files.
    throttle: (&'static str, &'static str),
}

const XE: Names = Names {
    actual: "act_freq",
    requested: "cur_freq",
    max: "rp0_freq",
    limit: "max_freq",
    throttle: ("throttle", "reason_"),
};

const I915: Names = Names {
    actual: "rps_act_freq_mhz",
    requested: "rps_cur_freq_mhz",
    max: "rps_RP0_freq_mhz",
    limit: "rps_max_freq_mhz",
    throttle: ("", "throttle_reason_"),
};

/// Kernels before 5.19 have no GT directories and no throttle reasons.
const I915_DEVICE: Names = Names {
    actual: "gt_act_freq_mhz",
    requested: "gt_cur_freq_mhz",
    max: "gt_RP0_freq_mhz",
    limit: "gt_max_freq_mhz",
    throttle: ("", "throttle_reason_"),
};

/// Returns the compute GT of each tile; the others are for video.
fn gts(dir: &Path) -> Vec<(PathBuf, &'static Names)> {
    let mut of_xe = Vec::new();
    for tile in numbered_dirs(dir, "tile") {
        let Some(gt) = numbered_dirs(&tile, "gt").into_iter().next() else { continue };
        let path = gt.join("freq0");
        if has_clock(&path, &XE) {
            of_xe.push((path, &XE));
        }
    }
    if !of_xe.is_empty() {
        return of_xe;
    }
    let Some(minor) = minor(dir) else { return Vec::new() };
    let gt = minor.join("gt/gt0");
    if has_clock(&gt, &I915) {
        return vec![(gt, &I915)];
    }
    if has_clock(&minor, &I915_DEVICE) {
        return vec![(minor, &I915_DEVICE)];
    }
    Vec::new()
}

/// Returns the directories in `path` whose name is `prefix` followed by a number.
fn numbered_dirs(path: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in entries(path) {
        let number = name.strip_prefix(prefix);
        if number.is_some_and(|number| number.parse::<u32>().is_ok()) {
            found.push(path.join(name));
        }
    }
    found
}

/// Returns whether `path` has clock files with these names.
fn has_clock(path: &Path, names: &Names) -> bool {
    [names.actual, names.requested, names.max].iter().any(|file| path.join(file).exists())
}

/// Returns the directory of the card, such as `card0`, given that of its device.
fn minor(dir: &Path) -> Option<PathBuf> {
    let below = dir.join("drm");
    let gpu = entries(&below)
        .into_iter()
        .find(|name| name.starts_with("card"))
        .map(|name| below.join(name));
    gpu.or_else(|| dir.ends_with("device").then(|| dir.parent().map(Path::to_owned)).flatten())
}

/// Returns whether an Intel driver provides the clocks of the GPU in `dir`.
pub(crate) fn is_here(dir: &Path) -> bool {
    !gts(dir).is_empty()
}

/// Returns the clocks of the GPU in `dir`; the highest of several tiles.
pub(crate) fn clocks(dir: &Path) -> IntelClocks {
    let mut clocks = IntelClocks::default();
    for (path, names) in gts(dir) {
        // The clock of a sleeping GT is 0.
        let now = read_number(&path.join(now_file(&path, names)))
            .and_then(|mhz| plausible::now(mhz, plausible::megahertz));
        let max = read_number(&path.join(names.max)).and_then(plausible::megahertz);
        let limit = read_number(&path.join(names.limit)).and_then(plausible::megahertz);
        clocks.now = higher(clocks.now, now);
        clocks.max = higher(clocks.max, max);
        clocks.limit = higher(clocks.limit, limit);
    }
    clocks
}

fn higher(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

/// Returns the name of the file with the actual clock, or with the requested one if the driver does
/// not report that.
fn now_file(path: &Path, names: &Names) -> &'static str {
    if path.join(names.actual).exists() { names.actual } else { names.requested }
}

/// Returns the reasons why the GPU in `dir` is throttled; `None` if the driver does not report
/// them.
pub(crate) fn throttle_reasons(dir: &Path) -> Option<Vec<String>> {
    let mut found: Option<Vec<String>> = None;
    for (path, names) in gts(dir) {
        let (below, prefix) = names.throttle;
        let path = path.join(below);
        for file in entries(&path) {
            let Some(reason) = file.strip_prefix(prefix).filter(|reason| *reason != "status")
            else {
                continue;
            };
            let Some(state) = read_number::<u8>(&path.join(&file)) else { continue };
            let found = found.get_or_insert_default();
            let name = reason_name(reason);
            if state != 0 && !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found
}

/// Returns a reason in words; an unknown reason of a later kernel keeps its name.
fn reason_name(reason: &str) -> String {
    let known = REASONS.iter().find(|(known, _)| *known == reason);
    known.map_or_else(|| reason.replace('_', " "), |(_, words)| (*words).to_owned())
}

const REASONS: [(&str, &str); 18] = [
    ("pl1", "sustained power limit"),
    ("pl2", "burst power limit"),
    ("pl4", "peak power limit"),
    ("psys_pl1", "sustained power limit of the system"),
    ("psys_pl2", "burst power limit of the system"),
    ("psys_crit", "critical power limit of the system"),
    ("iccmax", "peak current"),
    ("thermal", "temperature of the GPU"),
    ("soc_thermal", "temperature of the chip"),
    ("soc_avg_thermal", "average temperature of the chip"),
    ("mem_thermal", "temperature of the memory"),
    ("prochot", "PROCHOT signal"),
    ("ratl", "running average temperature limit"),
    ("vr_thermal", "temperature of the voltage regulator"),
    ("vr_thermalert", "temperature of the voltage regulator"),
    ("vr_tdc", "current of the voltage regulator"),
    ("fastvmode", "fast voltage mode"),
    ("p0_freq", "P0 frequency"),
];

/// Returns the power limits in W: the one in force (PL1) and the factory default. hwmon lists the
/// limits of the GPU, then those of its package; some GPUs have only the latter. A disabled limit
/// reads 0. Returns `None` with a different driver.
pub(crate) fn power_limits(monitor: &Path) -> Option<(Option<f64>, Option<f64>)> {
    let channel = ["power1", "power2"]
        .into_iter()
        .find(|channel| monitor.join(format!("{channel}_max")).exists())?;
    let in_force = details::read_watts(&monitor.join(format!("{channel}_max")));
    let as_delivered = details::read_watts(&monitor.join(format!("{channel}_rated_max")));
    Some((in_force, as_delivered))
}

/// Returns the energy counter in µJ of the GPU, or of its package if only that has one.
pub(crate) fn energy_file(monitor: &Path) -> Option<PathBuf> {
    ["energy1_input", "energy2_input"]
        .into_iter()
        .map(|file| monitor.join(file))
        .find(|file| file.exists())
}

/// Returns why `file` cannot be read, such as `energy1_input: permission denied`; `None` if it can.
pub(crate) fn read_problem(file: &Path) -> Option<String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    refusal(file).map(|kind| match kind {
        ErrorKind::PermissionDenied => format!("{name}: permission denied"),
        kind => format!("{name}: {kind}"),
    })
}

/// Sensors that the driver provides for a GPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IntelSensors {
    /// PCI address, or the name of the directory.
    pub place: String,
    /// Whether the driver has registered sensors in hwmon.
    pub has_hwmon: bool,
    /// Quantities that can be read, such as `clock` or `power`.
    pub readable: Vec<&'static str>,
    /// Files that exist but cannot be read, with the reason.
    pub refused: Vec<String>,
}

impl IntelSensors {
    /// Records that `what` can be read from `file`, or why it cannot.
    fn check(&mut self, what: &'static str, file: &Path) {
        match read_problem(file) {
            Some(refused) => self.refused.push(refused),
            None if read_line(file).is_some() && !self.readable.contains(&what) => {
                self.readable.push(what);
            }
            None => {}
        }
    }
}

/// Checks the files of the GPU in `dir`, named `place`, and of its hwmon.
pub(crate) fn sensors(dir: &Path, monitor: Option<&Path>, place: String) -> IntelSensors {
    let mut found = IntelSensors { place, has_hwmon: monitor.is_some(), ..IntelSensors::default() };
    for (path, names) in gts(dir) {
        found.check("clock", &path.join(now_file(&path, names)));
        let (below, prefix) = names.throttle;
        found.check("throttle reasons", &path.join(below).join(format!("{prefix}pl1")));
    }
    if let Some(monitor) = monitor {
        if let Some(energy) = energy_file(monitor) {
            found.check("power", &energy);
        }
        for file in entries(monitor).iter().filter(|file| file.ends_with("_input")) {
            let kinds = [("temp", "temperature"), ("fan", "fan")];
            if let Some((_, what)) = kinds.iter().find(|(prefix, _)| file.starts_with(prefix)) {
                found.check(what, &monitor.join(file));
            }
        }
        for file in ["power1_max", "power2_max"] {
            found.check("power limit", &monitor.join(file));
        }
    }
    found
}

#[cfg(test)]
mod tests;
