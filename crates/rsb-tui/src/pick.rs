//! Choosing a side of a comparison: a saved baseline or a stored run.

use rsb_report::{BaselineRow, RunRow};

/// Which side is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PickedSide {
    /// What is compared with.
    Older,
    /// What is compared.
    Newer,
    /// None: the run is opened.
    Opened,
}

impl PickedSide {
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Older => "Compare with which?",
            Self::Newer => "Compare which run?",
            Self::Opened => "Open which run?",
        }
    }
}

/// A list to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PickList {
    pub(crate) side: PickedSide,
    pub(crate) selected: usize,
}

/// One of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PickChoice {
    /// As `compare` takes it.
    pub(crate) name: String,
    /// For people.
    pub(crate) text: String,
}

/// What can be chosen for `side`: baselines too, where it is what is compared with.
pub(crate) fn choices(side: PickedSide, runs: &[RunRow], baselines: &[BaselineRow]) -> Vec<PickChoice> {
    let baseline = |row: &BaselineRow| PickChoice {
        name: row.name.clone(),
        text: format!(
            "baseline {}, saved {}, {} cases, {}",
            row.name,
            row.created.strftime("%Y-%m-%d %H:%M"),
            row.cases,
            row.machine
        ),
    };
    let run = |row: &RunRow| PickChoice {
        name: row.run_id.clone(),
        text: format!("{}  {}, {} measured, {}", row.run_id, row.suite, row.measured, row.machine),
    };
    let saved = if side == PickedSide::Older { baselines } else { &[] };
    saved.iter().map(baseline).chain(runs.iter().map(run)).collect()
}

/// The newest run before `run` of the same suite on the same machine: what a person means by "the run before".
pub(crate) fn run_before<'r>(
    runs: &'r [RunRow],
    run_id: &str,
    suite: &str,
    machine: Option<&str>,
) -> Option<&'r RunRow> {
    let at = runs.iter().position(|row| row.run_id == run_id);
    let machine = at.and_then(|at| runs.get(at)).map(|row| row.machine.as_str()).or(machine);
    let older = at.map_or(runs, |at| runs.get(at + 1..).unwrap_or_default());
    older.iter().find(|row| row.suite == suite && row.measured > 0 && machine.is_none_or(|known| row.machine == known))
}
