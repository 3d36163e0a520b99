//! Tables of power levels as written by the driver: `0: 300Mhz`, or `1: 16.0GT/s, x16 619Mhz *`, in
//! which a star marks the current level.

use std::path::Path;

use rsb_model::gpu::PcieLink;

use crate::host::read_text;
use crate::plausible::megahertz;

/// Clocks of a `pp_dpm_*` file.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Clocks {
    /// Highest level, in MHz.
    pub(crate) max_mhz: Option<f64>,
    /// Current level, in MHz.
    pub(crate) now_mhz: Option<f64>,
}

/// Reads a table of clocks.
pub(crate) fn clocks(path: &Path) -> Clocks {
    let text = read_text(path).unwrap_or_default();
    let levels: Vec<(f64, bool)> = text
        .lines()
        .filter_map(level)
        .filter_map(|(value, is_now)| Some((mhz(value)?, is_now)))
        .collect();
    Clocks {
        max_mhz: levels.iter().map(|level| level.0).reduce(f64::max),
        now_mhz: levels.iter().filter(|level| level.1).map(|level| level.0).reduce(f64::max),
    }
}

/// Returns the highest clock that overdrive allows, from the upper end of `OD_SCLK` in
/// `pp_od_clk_voltage`.
pub(crate) fn limit_mhz(path: &Path) -> Option<f64> {
    let text = read_text(path)?;
    let table = text.lines().skip_while(|line| line.trim() != "OD_SCLK:").skip(1);
    let levels = table.take_while(|line| !line.trim_end().ends_with(':'));
    levels.filter_map(level).filter_map(|(value, _)| mhz(value)).reduce(f64::max)
}

/// Links of `pp_dpm_pcie`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Links {
    pub(crate) max: Option<PcieLink>,
    pub(crate) now: Option<PcieLink>,
}

/// Reads a table of links.
pub(crate) fn links(path: &Path) -> Links {
    let text = read_text(path).unwrap_or_default();
    let levels: Vec<(PcieLink, bool)> = text
        .lines()
        .filter_map(level)
        .filter_map(|(value, is_now)| Some((link(value)?, is_now)))
        .collect();
    Links {
        max: levels.iter().map(|level| level.0).reduce(faster),
        now: levels.iter().filter(|level| level.1).map(|level| level.0).reduce(faster),
    }
}

/// Returns the link with the higher bandwidth.
fn faster(one: PcieLink, other: PcieLink) -> PcieLink {
    if other.gb_s > one.gb_s { other } else { one }
}

/// Returns the value of a level and whether it is the current one. Skips the level `S` (deep
/// sleep).
fn level(line: &str) -> Option<(&str, bool)> {
    let (name, value) = line.split_once(':')?;
    name.trim().parse::<u32>().ok()?;
    let value = value.trim_matches(['\0', ' ']);
    Some((value.trim_end_matches(['*', ' ']), value.ends_with('*')))
}

/// Parses a clock such as `300Mhz`; a voltage after it is ignored.
fn mhz(value: &str) -> Option<f64> {
    let figure = value.split_whitespace().next()?.to_ascii_lowercase();
    figure.strip_suffix("mhz")?.parse().ok().and_then(megahertz)
}

/// Parses a link such as `16.0GT/s, x16 619Mhz`.
fn link(value: &str) -> Option<PcieLink> {
    let (speed, rest) = value.split_once("GT/s")?;
    let width = rest.trim_start_matches([',', ' ']).strip_prefix('x')?.split_whitespace().next()?;
    valid(speed.trim().parse().ok()?, width.parse().ok()?)
}

/// Returns a plausible link: a GPU that fell off the bus reads as all ones.
pub(crate) fn valid(gt_s: f64, width: u32) -> Option<PcieLink> {
    ((2.5..=256.0).contains(&gt_s) && (1..=32).contains(&width)).then(|| PcieLink::new(gt_s, width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    fn of(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let tree = Tree::new(&[("levels", text)]);
        let path = tree.path("levels");
        (tree.dir, path)
    }

    #[test]
    fn clocks_have_a_highest_level_and_a_present_one() {
        for (text, max_mhz, now_mhz) in [
            ("0: 300Mhz \n1: 1000Mhz \n2: 1750Mhz *\n", Some(1750.0), Some(1750.0)),
            ("0: 500Mhz\n1: 31Mhz *\n2: 2219Mhz\n", Some(2219.0), Some(31.0)),
            ("S: 500Mhz *\n1: 789Mhz\n2: 2070Mhz\n\0\0", Some(2070.0), None),
            ("0: 0Mhz *\n1: 0Mhz *\n", None, None),
            ("0: 99999999999999999999Mhz\n1: 10001Mhz *\n2: 900Mhz\n", Some(900.0), None),
            ("", None, None),
            ("0: lots *\n: 5Mhz\n1 300Mhz", None, None),
        ] {
            let (_dir, path) = of(text);
            assert_eq!(clocks(&path), Clocks { max_mhz, now_mhz }, "{text:?}");
        }
    }

    #[test]
    fn the_limit_of_overdrive_is_that_of_the_compute_units() {
        let (_dir, path) = of(
            "OD_SCLK:\n0: 500Mhz\n1: 2735Mhz\nOD_MCLK:\n0: 97Mhz\n1: 3000MHz\nOD_RANGE:\nSCLK:     \
             500Mhz       5000Mhz\n",
        );
        assert_eq!(limit_mhz(&path), Some(2735.0));
        let (_dir, path) =
            of("OD_SCLK:\n0:        300MHz        750mV\n7:       1366MHz       1150mV\n");
        assert_eq!(limit_mhz(&path), Some(1366.0));
        let (_dir, path) = of("OD_SCLK_OFFSET:\n0Mhz\n");
        assert_eq!(limit_mhz(&path), None);
    }

    #[test]
    fn links_are_speed_and_width() {
        let (_dir, path) = of("0: 2.5GT/s, x1 310Mhz \n1: 16.0GT/s, x16 619Mhz *\n");
        assert_eq!(links(&path), Links { max: valid(16.0, 16), now: valid(16.0, 16) });
        let (_dir, path) = of("0: 2.5GT/s, x8 *\n1: 8.0GT/s, x16\n2: 8.0GT/s, x255\n");
        assert_eq!(links(&path), Links { max: valid(8.0, 16), now: valid(2.5, 8) });
        assert_eq!(
            (valid(0.0, 16), valid(16.0, 0), valid(16.0, 255), valid(f64::NAN, 1)),
            (None, None, None, None)
        );
    }
}
