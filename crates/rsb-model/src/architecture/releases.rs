//! Which release of ROCm or CUDA has a runtime compiler that knows an architecture.

use super::ARCHITECTURES;
use crate::outcome::Reason;

/// A version of ROCm or CUDA, major and minor.
pub type ToolkitRelease = (u32, u32);

/// The releases whose compiler knows an architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Releases {
    /// The first.
    pub since: ToolkitRelease,
    /// The last, where a later one dropped it.
    pub until: Option<ToolkitRelease>,
}

/// NVIDIA's targets without peaks in the table: the release notes of CUDA 11.4, 12.8, 12.9 and
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
    // The same chip under two names.
    ("sm_101", (12, 8), Some((12, 9))),
    ("sm_110", (13, 0), None),
    ("sm_103", (12, 9), None),
    ("sm_121", (12, 9), None),
];

/// The releases that know `target`: `gfx942` since ROCm 6.0.
pub fn releases(target: &str) -> Option<Releases> {
    if let Some(row) = ARCHITECTURES.iter().find(|row| row.target == target) {
        return Some(Releases { since: row.since, until: None });
    }
    let &(_, since, until) = OTHERS.iter().find(|(known, ..)| *known == target)?;
    Some(Releases { since, until })
}

/// Every target that a release is known of, and these releases.
pub fn known_targets() -> impl Iterator<Item = (&'static str, Releases)> {
    let rows =
        ARCHITECTURES.iter().map(|row| (row.target, Releases { since: row.since, until: None }));
    rows.chain(OTHERS.iter().map(|&(target, since, until)| (target, Releases { since, until })))
}

impl Releases {
    /// Whether `release` is among them.
    pub fn contain(&self, release: ToolkitRelease) -> bool {
        self.since <= release && self.until.is_none_or(|last| release <= last)
    }
}

/// The vendor's toolkit whose versions are meant.
pub fn toolkit(target: &str) -> &'static str {
    if target.starts_with("sm_") { "CUDA" } else { "ROCm" }
}

/// Why `compiler`, which is of `release`, makes no code for `target`, and which one does; nothing
/// where the table has it that it does, or does not know the target.
pub fn unknown(compiler: &str, release: ToolkitRelease, target: &str) -> Option<Reason> {
    let Releases { since, until } = releases(target)?;
    let (toolkit, (major, minor)) = (toolkit(target), release);
    let (why, cure) = if release < since {
        let first = format!("{toolkit} {}.{}", since.0, since.1);
        (
            format!("{compiler} {major}.{minor} does not know {target}; {first} does"),
            format!("{first} or newer"),
        )
    } else {
        let last = until.filter(|last| release > *last)?;
        let last = format!("{toolkit} {}.{}", last.0, last.1);
        (
            format!(
                "{compiler} {major}.{minor} no longer knows {target}; {last} is the last that does"
            ),
            last,
        )
    };
    let cure = format!("install {cure}, or choose an architecture that this compiler knows");
    Some(Reason::new(format!("compilation for {target}"), why, cure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_release_does_not_know_names_the_one_that_does() {
        for (compiler, release, target, said) in [
            ("hiprtc", (5, 2), "gfx950", "hiprtc 5.2 does not know gfx950; ROCm 7.0 does"),
            ("nvrtc", (11, 8), "sm_120", "nvrtc 11.8 does not know sm_120; CUDA 12.8 does"),
            (
                "nvrtc",
                (13, 5),
                "sm_70",
                "nvrtc 13.5 no longer knows sm_70; CUDA 12.9 is the last that does",
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
