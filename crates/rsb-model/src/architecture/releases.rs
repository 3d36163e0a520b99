//! Releases of ROCm and CUDA whose runtime compiler supports an architecture.

use super::ARCHITECTURES;
use crate::outcome::Reason;

/// Version of ROCm or CUDA: major and minor.
pub type ToolkitRelease = (u32, u32);

/// Range of releases whose compiler supports an architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Releases {
    /// First release.
    pub since: ToolkitRelease,
    /// Last release, if a later one dropped support.
    pub until: Option<ToolkitRelease>,
}

/// NVIDIA targets without peaks in the table, from the release notes of CUDA 11.4, 12.8, 12.9 and
/// 13.0.
const OTHERS: &[(&str, ToolkitRelease, Option<ToolkitRelease>)] = &[
    ("sm_50", (6, 0), Some((12, 9))),
    ("sm_52", (6, 5), Some((12, 9))),
    ("sm_53", (7, 0), Some((12, 9))),
    ("sm_60", (8, 0), Some((12, 9))),
    ("sm_61", (8, 0), Some((12, 9))),
    ("sm_62", (8, 0), Some((12, 9))),
    ("sm_70", (9, 0), Some((12, 9))),
    ("sm_72", (9, 2), Some((12, 9))),
    ("sm_87", (11, 4), None),
    // Two names of the same chip.
    ("sm_101", (12, 8), Some((12, 9))),
    ("sm_110", (13, 0), None),
    ("sm_103", (12, 9), None),
    ("sm_121", (12, 9), None),
];

/// Returns the releases that support `target`, such as ROCm 6.0 and later for `gfx942`.
pub fn releases(target: &str) -> Option<Releases> {
    if let Some(row) = ARCHITECTURES.iter().find(|row| row.target == target) {
        return Some(Releases { since: row.since, until: None });
    }
    let &(_, since, until) = OTHERS.iter().find(|(known, ..)| *known == target)?;
    Some(Releases { since, until })
}

/// Returns all targets with known releases.
pub fn known_targets() -> impl Iterator<Item = (&'static str, Releases)> {
    let rows =
        ARCHITECTURES.iter().map(|row| (row.target, Releases { since: row.since, until: None }));
    rows.chain(OTHERS.iter().map(|&(target, since, until)| (target, Releases { since, until })))
}

impl Releases {
    /// Returns whether `release` is in the range.
    pub fn contain(&self, release: ToolkitRelease) -> bool {
        self.since <= release && self.until.is_none_or(|last| release <= last)
    }
}

/// Returns the toolkit that the releases for `target` refer to.
fn toolkit(target: &str) -> &'static str {
    if target.starts_with("sm_") { "CUDA" } else { "ROCm" }
}

/// Returns why `compiler` of version `release` cannot compile for `target`, and which release can.
/// `None` if it can, or if the table does not contain the target.
pub fn unknown(compiler: &str, release: ToolkitRelease, target: &str) -> Option<Reason> {
    let Releases { since, until } = releases(target)?;
    let (toolkit, (major, minor)) = (toolkit(target), release);
    let (why, cure) = if release < since {
        let first = format!("{toolkit} {}.{}", since.0, since.1);
        (
            format!("{compiler} {major}.{minor} does not support {target}; {first} does"),
            format!("{first} or newer"),
        )
    } else {
        let last = until.filter(|last| release > *last)?;
        let last = format!("{toolkit} {}.{}", last.0, last.1);
        (
            format!(
                "{compiler} {major}.{minor} no longer supports {target}; {last} is the last that \
                 does"
            ),
            last,
        )
    };
    let cure = format!("install {cure}, or choose an architecture that this compiler supports");
    Some(Reason::new(format!("compilation for {target}"), why, cure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_release_does_not_know_names_the_one_that_does() {
        for (compiler, release, target, said) in [
            ("hiprtc", (5, 2), "gfx950", "hiprtc 5.2 does not support gfx950; ROCm 7.0 does"),
            ("nvrtc", (11, 8), "sm_120", "nvrtc 11.8 does not support sm_120; CUDA 12.8 does"),
            (
                "nvrtc",
                (13, 5),
                "sm_70",
                "nvrtc 13.5 no longer supports sm_70; CUDA 12.9 is the last that does",
            ),
        ] {
            let reason = unknown(compiler, release, target).unwrap();
            assert_eq!(reason.why, said);
            assert!(
                reason.what.contains(target) && reason.cure.starts_with("install "),
                "{reason}"
            );
        }
        for (release, target) in
            [((7, 0), "gfx950"), ((12, 9), "sm_70"), ((5, 2), "gfx1999"), ((12, 8), "sm_120")]
        {
            assert_eq!(unknown("any", release, target), None, "{target}");
        }
    }

    #[test]
    fn each_target_has_one_row() {
        for (at, (target, releases)) in known_targets().enumerate() {
            assert!(
                known_targets().skip(at + 1).all(|(other, _)| other != target),
                "{target} twice"
            );
            assert!(releases.until.is_none_or(|last| releases.since < last), "{target}");
        }
    }
}
