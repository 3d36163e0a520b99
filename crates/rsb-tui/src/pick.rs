//! Selection of a side of a comparison: a saved baseline or a stored run.

use rsb_report::{BaselineRow, RunRow};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PickedSide {
    /// Baseline side.
    Older,
    /// Current side.
    Newer,
    /// Neither side: the selected run is opened instead of compared.
    Opened,
}

impl PickedSide {
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Older => "Compare with which run or baseline? (Tab: the newer side)",
            Self::Newer => "Compare which run? (Tab: the older side)",
            Self::Opened => "Open which run?",
        }
    }

    /// Returns the other side of the comparison.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Older => Self::Newer,
            Self::Newer => Self::Older,
            Self::Opened => Self::Opened,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PickList {
    pub(crate) side: PickedSide,
    pub(crate) selected: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PickChoice {
    /// Name in the syntax of `compare`.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Returns the choices for `side`: runs, and for the baseline side also baselines.
pub(crate) fn choices(
    side: PickedSide,
    runs: &[RunRow],
    baselines: &[BaselineRow],
) -> Vec<PickChoice> {
    let mut choices = Vec::new();
    let saved = if side == PickedSide::Older { baselines } else { &[] };
    for row in saved {
        let BaselineRow { name, cases, machine, .. } = row;
        let saved = row.created.strftime("%Y-%m-%d %H:%M");
        let text = format!("baseline {name}, saved {saved}, {cases} cases, {machine}");
        choices.push(PickChoice { name: row.name.clone(), text });
    }
    for row in runs {
        let text =
            format!("{}  {}, {} measured, {}", row.run_id, row.suite, row.measured, row.machine);
        choices.push(PickChoice { name: row.run_id.clone(), text });
    }
    choices
}

/// Two sides to compare, of one suite on one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ComparablePair {
    pub(crate) older: String,
    pub(crate) newer: String,
}

impl ComparablePair {
    /// Returns the newest of `runs` that can be compared, with the older side that `older` returns
    /// for it.
    pub(crate) fn newest(
        runs: &[RunRow],
        older: impl Fn(&RunRow) -> Option<String>,
    ) -> Option<Self> {
        let measured = runs.iter().filter(|run| run.measured > 0);
        measured
            .into_iter()
            .find_map(|run| Some(Self { older: older(run)?, newer: run.run_id.clone() }))
    }
}

/// Returns the previous run of the same suite on the same machine.
pub(crate) fn earlier_run(runs: &[RunRow], run: &RunRow) -> Option<String> {
    run_before(runs, &run.run_id, &run.suite, None).map(|row| row.run_id.clone())
}

/// Returns the baseline for the suite and machine of `run`.
pub(crate) fn saved_baseline(baselines: &[BaselineRow], run: &RunRow) -> Option<String> {
    let found = baselines.iter().find(|row| row.name == run.suite && row.machine == run.machine);
    found.map(|row| row.name.clone())
}

/// Returns the previous run of the same suite on the same machine that measured at least one case.
/// If the run is not in `runs`, `machine` is its machine, if known.
pub(crate) fn run_before<'r>(
    runs: &'r [RunRow],
    run_id: &str,
    suite: &str,
    machine: Option<&str>,
) -> Option<&'r RunRow> {
    let at = runs.iter().position(|row| row.run_id == run_id);
    let machine = at.and_then(|at| runs.get(at)).map(|row| row.machine.as_str()).or(machine);
    let older = at.map_or(runs, |at| runs.get(at + 1..).unwrap_or_default());
    older.iter().find(|row| {
        row.suite == suite && row.measured > 0 && machine.is_none_or(|known| row.machine == known)
    })
}
