//! Selection of a side of a comparison: a saved baseline, a branch, a commit or a stored run.

use rsb_report::number::format_count;
use rsb_report::{BaselineRow, RunRow};

/// Maximum number of commits to choose from, and the digits of one that are shown.
const COMMITS: usize = 10;
const COMMIT_DIGITS: usize = 7;

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

/// Returns the choices for `side`: branches, commits and runs, and for the baseline side also
/// baselines.
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
    let branches = groups(runs, |run| run.branch.as_deref());
    // Of a single branch, the newest run is the first of the runs.
    for (branch, count, newest) in branches.iter().filter(|_| branches.len() > 1) {
        choices.push(PickChoice {
            name: (*branch).to_owned(),
            text: format!("branch {branch}, {}", group_text(*count, newest)),
        });
    }
    let commits = groups(runs, |run| run.commit.as_deref());
    for (commit, count, newest) in commits.iter().filter(|(_, count, _)| *count > 1).take(COMMITS) {
        let short = commit.get(..COMMIT_DIGITS).unwrap_or(commit);
        choices.push(PickChoice {
            name: (*commit).to_owned(),
            text: format!("commit {short}, {}", group_text(*count, newest)),
        });
    }
    for row in runs {
        let text =
            format!("{}  {}, {} measured, {}", row.run_id, row.suite, row.measured, row.machine);
        choices.push(PickChoice { name: row.run_id.clone(), text });
    }
    choices
}

/// Returns the values of `key`, each once, the newest first, with the number of its runs and the
/// newest of them.
fn groups<'r>(
    runs: &'r [RunRow],
    key: impl Fn(&'r RunRow) -> Option<&'r str>,
) -> Vec<(&'r str, usize, &'r RunRow)> {
    let mut groups: Vec<(&str, usize, &RunRow)> = Vec::new();
    for run in runs.iter().filter(|run| run.measured > 0) {
        let Some(own) = key(run) else { continue };
        match groups.iter_mut().find(|(known, ..)| *known == own) {
            Some((_, count, _)) => *count += 1,
            None => groups.push((own, 1, run)),
        }
    }
    groups
}

fn group_text(count: usize, newest: &RunRow) -> String {
    let count = format_count(count, "run", "runs");
    format!("{count}, the newest of {}", newest.started.strftime("%Y-%m-%d %H:%M"))
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
