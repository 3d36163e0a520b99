//! Facts that require access to the GPU itself: links, clocks, power, sensors, errors. They are
//! never read while the GPU sleeps.

use std::path::{Path, PathBuf};

use rsb_model::gpu::{Ecc, EccCount, Pcie, PcieLink, SensorName};

use super::{intel, levels};
use crate::host::{entries, hexadecimal, read_line, read_number, read_text};
use crate::plausible;

/// Facts of a GPU that is awake.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Details {
    pub(crate) asleep: Option<bool>,
    pub(crate) pcie: Pcie,
    pub(crate) max_mhz: Option<f64>,
    pub(crate) limit_mhz: Option<f64>,
    pub(crate) memory_max_mhz: Option<f64>,
    pub(crate) performance_level: Option<String>,
    pub(crate) power_cap_w: Option<f64>,
    pub(crate) power_cap_default_w: Option<f64>,
    pub(crate) sensors: Vec<SensorName>,
    pub(crate) ecc: Option<Ecc>,
}

/// Returns whether the GPU sleeps; `None` if the kernel does not report it.
pub(crate) fn asleep(dir: &Path) -> Option<bool> {
    Some(read_line(&dir.join("power/runtime_status"))? == "suspended")
}

/// Reads the GPU in `dir`. Before each part, reports the facts known until then and the name of the
/// part to be read.
pub(crate) fn read(dir: &Path, report: &dyn Fn(Details, &'static str)) {
    let mut details = Details { asleep: asleep(dir), ..Details::default() };
    report(details.clone(), "its link");
    if details.asleep == Some(true) {
        return;
    }
    details.pcie = pcie(dir);
    report(details.clone(), "its clocks");
    let of_intel = intel::clocks(dir);
    details.max_mhz = levels::clocks(&dir.join("pp_dpm_sclk")).max_mhz.or(of_intel.max);
    details.memory_max_mhz = levels::clocks(&dir.join("pp_dpm_mclk")).max_mhz;
    details.limit_mhz = levels::limit_mhz(&dir.join("pp_od_clk_voltage")).or(of_intel.limit);
    details.performance_level = read_line(&dir.join("power_dpm_force_performance_level"));
    report(details.clone(), "its power and sensors");
    if let Some(monitor) = monitor(dir) {
        // In Intel's hwmon, `power1_cap` is the limit of a burst.
        (details.power_cap_w, details.power_cap_default_w) = match intel::power_limits(&monitor) {
            Some(limits) => limits,
            None => (
                read_watts(&monitor.join("power1_cap")),
                read_watts(&monitor.join("power1_cap_default")),
            ),
        };
        details.sensors = sensors(&monitor);
        report(details.clone(), "its error counters");
    }
    details.ecc = ecc(&dir.join("ras"));
    report(details, "nothing more");
}

/// Reads a plausible power in W; hwmon stores µW.
pub(super) fn read_watts(file: &Path) -> Option<f64> {
    read_number::<f64>(file).map(|microwatts| microwatts / 1e6).and_then(plausible::watts)
}

/// Returns the hwmon directory of the whole GPU. i915 also has one for each part, named `i915_gt0`.
pub(crate) fn monitor(dir: &Path) -> Option<PathBuf> {
    let dir = dir.join("hwmon");
    let all: Vec<PathBuf> = entries(&dir).into_iter().map(|name| dir.join(name)).collect();
    let is_whole =
        |path: &&PathBuf| read_line(&path.join("name")).is_none_or(|name| !name.contains("_gt"));
    all.iter().find(is_whole).or(all.first()).cloned()
}

/// Reads the `PCIe` link, which is limited by its slowest segment. A GPU is often behind a switch on
/// its board, with a link that is always wide.
fn pcie(dir: &Path) -> Pcie {
    let driver = levels::links(&dir.join("pp_dpm_pcie"));
    Pcie {
        now: narrowest(dir, "current_link_speed", "current_link_width", driver.now),
        max: narrowest(dir, "max_link_speed", "max_link_width", driver.max),
        saves_power: driver.now.zip(driver.max).map(|(now, max)| now.gb_s < max.gb_s),
        replays: read_number(&dir.join("pcie_replay_count")).and_then(plausible::count),
    }
}

/// Returns the slowest link of all segments in the files `speed` and `width` of the GPU in `dir`
/// and of the bridges above it, and of `by_driver`. Returns `None` if neither the GPU nor its
/// driver reports a link, as for virtual functions, because the slot may be faster than the GPU.
fn narrowest(
    dir: &Path,
    speed: &str,
    width: &str,
    by_driver: Option<PcieLink>,
) -> Option<PcieLink> {
    link(dir, speed, width).or(by_driver)?;
    let stretches = outside_of_board(dir, stretches(dir));
    let links = stretches.iter().filter_map(|stretch| link(stretch, speed, width));
    links.chain(by_driver).reduce(|one, other| if other.gb_s < one.gb_s { other } else { one })
}

/// Returns the directories of the GPU's own PCI function and the bridges above it, up to the CPU.
fn stretches(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![dir.to_owned()];
    let real = std::fs::canonicalize(dir).unwrap_or_default();
    let bridges = real.ancestors().skip(1).take_while(|path| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(super::pci::is_address)
    });
    found.extend(bridges.map(Path::to_owned));
    found
}

/// Returns `stretches` without those on the board of an Intel GPU. Behind the switch on the board,
/// the GPU and the port above it report 2.5 GT/s x1, independent of the slot. A slot that really
/// has one lane is also reported by the port above the board.
fn outside_of_board(dir: &Path, stretches: Vec<PathBuf>) -> Vec<PathBuf> {
    const INTEL: u32 = 0x8086;
    if read_line(&dir.join("vendor")).as_deref().and_then(hexadecimal) != Some(INTEL) {
        return stretches;
    }
    let inner = PcieLink::new(2.5, 1);
    let is_inner = |stretch: &PathBuf| {
        link(stretch, "max_link_speed", "max_link_width").is_none_or(|max| max == inner)
    };
    stretches.into_iter().skip_while(is_inner).collect()
}

/// Parses a link, such as `16.0 GT/s PCIe` and `16`.
fn link(dir: &Path, speed: &str, width: &str) -> Option<PcieLink> {
    let speed = read_line(&dir.join(speed))?;
    levels::valid(speed.split(' ').next()?.parse().ok()?, read_number(&dir.join(width))?)
}

/// Returns the sensors with a plausible value.
fn sensors(monitor: &Path) -> Vec<SensorName> {
    let mut found: Vec<SensorName> = Vec::new();
    for file in entries(monitor) {
        let Some((stem, kind)) = stem_and_kind(&file) else { continue };
        let figure = read_number::<f64>(&monitor.join(&file));
        let is_true = figure.is_some_and(|figure| can_be(kind, figure));
        let label = read_line(&monitor.join(format!("{stem}_label")));
        let name = match label.filter(|_| kind != "power") {
            Some(label) => format!("{kind} {label}"),
            None => kind.to_owned(),
        };
        // Other voltages, such as that of the supply, are not read.
        let is_read = kind != "voltage" || is_of_chip(&stem, name.strip_prefix("voltage "));
        if is_true && is_read && !found.contains(&name) {
            found.push(name);
        }
    }
    if read_number::<u32>(&monitor.join("fan1_input")).is_some() {
        found.push("fan".to_owned());
    }
    found
}

/// Splits a file name: `temp1_input` gives `temp1` and `temperature`.
fn stem_and_kind(file: &str) -> Option<(String, &'static str)> {
    const KINDS: [(&str, &str, &str); 6] = [
        ("temp", "_input", "temperature"),
        ("power", "_average", "power"),
        ("power", "_input", "power"),
        ("freq", "_input", "clock"),
        ("in", "_input", "voltage"),
        ("energy", "_input", "energy"),
    ];
    KINDS.into_iter().find_map(|(prefix, suffix, kind)| {
        let number = file.strip_prefix(prefix)?.strip_suffix(suffix)?;
        number.parse::<u32>().is_ok().then(|| (format!("{prefix}{number}"), kind))
    })
}

/// Returns whether the voltage `stem` with that label is that of the chip: `vddgfx` of AMD, `pkg`
/// of Intel's xe, or the one without a label of i915.
pub(crate) fn is_of_chip(stem: &str, label: Option<&str>) -> bool {
    matches!((stem, label), (_, Some("vddgfx" | "pkg")) | ("in0", None))
}

/// Returns whether `figure` is plausible for a sensor of that kind. Its unit is a millionth for
/// power and clocks, otherwise a thousandth.
fn can_be(kind: &str, figure: f64) -> bool {
    match kind {
        "temperature" => plausible::celsius(figure / 1e3).is_some(),
        "power" => plausible::now(figure / 1e6, plausible::watts).is_some(),
        "clock" => plausible::now(figure / 1e6, plausible::megahertz).is_some(),
        // Counts since the driver was loaded.
        "energy" => figure >= 0.0 && figure.is_finite(),
        _ => plausible::now(figure, plausible::millivolts).is_some(),
    }
}

/// Reads the error counters: a file per block, with lines `ue: 0`, `ce: 0`, `de: 0`.
fn ecc(dir: &Path) -> Option<Ecc> {
    let mut found: Option<Ecc> = None;
    for file in entries(dir) {
        let Some(block) = file.strip_suffix("_err_count") else { continue };
        let Some(text) = read_text(&dir.join(&file)) else { continue };
        let Some(uncorrectable) = error_count(&text, "ue") else { continue };
        let Some(correctable) = error_count(&text, "ce") else { continue };
        let deferred = error_count(&text, "de").unwrap_or(0);
        let count = EccCount { uncorrectable, correctable, deferred };
        let ecc = found.get_or_insert_default();
        ecc.total.uncorrectable = ecc.total.uncorrectable.saturating_add(count.uncorrectable);
        ecc.total.correctable = ecc.total.correctable.saturating_add(count.correctable);
        ecc.total.deferred = ecc.total.deferred.saturating_add(count.deferred);
        if count != EccCount::default() {
            ecc.blocks.insert(block.to_owned(), count);
        }
    }
    found
}

/// Returns the number in the line `name: number`.
fn error_count(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'))?;
    line.trim_matches(['\0', ' ']).parse().ok().and_then(plausible::count)
}

#[cfg(test)]
mod tests;
