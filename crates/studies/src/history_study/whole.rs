//! Judges whole runs as the product does: all cases of a run together, with one exit code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use rsb_model::Verdict;
use rsb_stats::compare::ErrorRates;
use rsb_stats::distribution::share_at_most;
use rsb_stats::history::{LEVEL, Question, QuestionRole, RUNS, Rule, judge};

use super::replay::{THRESHOLD, slower};
use super::series::{Part, RecordedSeries};

/// A run of a suite, as a question for each case that has enough earlier runs.
pub(super) struct WholeRun {
    questions: Vec<Question>,
}

/// Returns every run in `part` with at least one case that has [`LEVEL`] earlier runs. All values
/// of a suite with the same time are one run.
pub(super) fn runs_of(series: &[RecordedSeries], part: Part) -> Vec<WholeRun> {
    let mut suites: BTreeMap<&str, Vec<&RecordedSeries>> = BTreeMap::new();
    for one in series {
        suites.entry(one.group()).or_default().push(one);
    }
    let mut runs = Vec::new();
    for cases in suites.values() {
        let times: BTreeSet<i64> = cases.iter().flat_map(|one| one.times.iter().copied()).collect();
        let times: Vec<i64> = times.into_iter().collect();
        for (at, time) in times.iter().enumerate() {
            let before = times.get(at.saturating_sub(RUNS)..at).unwrap_or_default();
            let questions: Vec<Question> =
                cases.iter().filter_map(|case| question(case, before, *time, part)).collect();
            if !questions.is_empty() {
                runs.push(WholeRun { questions });
            }
        }
    }
    runs
}

/// Returns the question that compares the value of `case` at `time` with those at the times
/// `before`. `None` if fewer than [`LEVEL`] of them have the case.
fn question(case: &RecordedSeries, before: &[i64], time: i64, part: Part) -> Option<Question> {
    let at = case.times.binary_search(&time).ok().filter(|at| case.part_of(*at) == part)?;
    let before: Vec<f64> = before.iter().map(|time| value_at(case, *time)).collect();
    let known = before.iter().filter(|value| value.is_finite()).count();
    let now = vec![*case.values.get(at)?];
    let (better, threshold) = (case.better, THRESHOLD);
    (known >= LEVEL).then_some(Question {
        before,
        accepted_from: None,
        now,
        better,
        threshold,
        slack: 0.0,
        role: QuestionRole::Case,
    })
}

/// Returns the value of the case at `time`; NaN if the run does not have the case.
fn value_at(case: &RecordedSeries, time: i64) -> f64 {
    let at = case.times.binary_search(&time).ok();
    at.and_then(|at| case.values.get(at).copied()).unwrap_or(f64::NAN)
}

/// Cases of a run that are slowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slowed {
    One(usize),
    Every,
}

impl WholeRun {
    /// Returns the verdict of each case and of all cases together, with the `slowed` cases slower
    /// by `factor`.
    fn verdicts(&self, slowed: Slowed, factor: f64) -> Vec<Verdict> {
        let mut questions = self.questions.clone();
        for (at, question) in questions.iter_mut().enumerate() {
            if slowed == Slowed::Every || slowed == Slowed::One(at) {
                question
                    .now
                    .iter_mut()
                    .for_each(|value| *value = slower(*value, factor, question.better));
            }
        }
        let judged = judge(&questions, &Rule::DEFAULT, ErrorRates::USUAL);
        let common = judged.common.map(|(_, found)| found.verdict);
        judged.each.iter().map(|found| found.verdict).chain(common).collect()
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ExitCounts {
    /// Runs that exit with 3; if a single case was slowed, only those that name it.
    found: usize,
    undecided: usize,
    passed: usize,
    all: usize,
}

impl ExitCounts {
    fn count(&mut self, verdicts: &[Verdict], wanted: Option<usize>) {
        let has_regressed = verdicts.contains(&Verdict::Regressed);
        let named =
            wanted.map_or(has_regressed, |at| verdicts.get(at) == Some(&Verdict::Regressed));
        self.all += 1;
        self.found += usize::from(named);
        let is_undecided =
            verdicts.contains(&Verdict::Inconclusive) || verdicts.contains(&Verdict::NotComparable);
        self.undecided += usize::from(!has_regressed && is_undecided);
        self.passed += usize::from(!has_regressed && !is_undecided);
    }

    /// Returns the shares of found, undecided and passed runs, in percent.
    pub(super) fn percent(self) -> [f64; 3] {
        [self.found, self.undecided, self.passed]
            .map(|count| 100.0 * count as f64 / self.all as f64)
    }

    fn table_cells(self) -> String {
        let [found, undecided, passed] = self.percent();
        format!("{found:.1} % | {undecided:.1} % | {passed:.2} %")
    }
}

/// Returns the exits of unchanged runs, and the numbers of false alarms and of checks.
pub(super) fn judge_unchanged(runs: &[WholeRun]) -> (ExitCounts, (usize, usize)) {
    let (mut exits, mut false_alarms, mut checks) = (ExitCounts::default(), 0, 0);
    for run in runs {
        let verdicts = run.verdicts(Slowed::Every, 1.0);
        exits.count(&verdicts, None);
        checks += verdicts.len();
        false_alarms += verdicts.iter().filter(|verdict| **verdict == Verdict::Regressed).count();
    }
    (exits, (false_alarms, checks))
}

/// Returns the exits of runs with one case slowed by `factor`, for each case in turn.
pub(super) fn one_slower(runs: &[WholeRun], factor: f64) -> ExitCounts {
    let mut exits = ExitCounts::default();
    for run in runs {
        for at in 0..run.questions.len() {
            exits.count(&run.verdicts(Slowed::One(at), factor), Some(at));
        }
    }
    exits
}

fn every_slower(runs: &[WholeRun], factor: f64) -> ExitCounts {
    let mut exits = ExitCounts::default();
    for run in runs {
        exits.count(&run.verdicts(Slowed::Every, factor), None);
    }
    exits
}

/// Returns the table of exits of whole runs, unchanged and slowed by each of `factors`.
pub(super) fn table(runs: &[WholeRun], factors: &[f64]) -> String {
    let (exits, (false_alarms, checks)) = judge_unchanged(runs);
    let cases: usize = runs.iter().map(|run| run.questions.len()).sum();
    let mut text = format!(
        "{} runs of {:.1} cases on average. Unchanged, {} of the runs have a false alarm; of the \
         checks, {} are one.\n\n| slowdown | one case: named, exit 3 | exit 4 | exit 0 | every \
         case: exit 3 | exit 4 | exit 0 |\n|---|---|---|---|---|---|---|\n| none | | | | {} |\n",
        runs.len(),
        cases as f64 / runs.len() as f64,
        format_bounded_share(exits.found, exits.all),
        format_bounded_share(false_alarms, checks),
        exits.table_cells(),
    );
    for factor in factors {
        let (one, every) =
            (one_slower(runs, *factor).table_cells(), every_slower(runs, *factor).table_cells());
        let _ = writeln!(text, "| +{:.0} % | {one} | {every} |", 100.0 * (factor - 1.0));
    }
    text
}

/// Formats a share in percent with its exact one-sided 95 % upper bound (Clopper and Pearson).
pub(super) fn format_bounded_share(count: usize, all: usize) -> String {
    let share = 100.0 * count as f64 / all as f64;
    format!(
        "{share:.2} % ({count} of {all}, at most {:.2} %)",
        100.0 * share_at_most(count, all, 0.95)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history_study::series::every_second;
    use rsb_model::Better;

    #[test]
    fn figures_of_one_suite_and_time_are_one_run_of_one_part() {
        let series = [wobbling("a/x", 40), wobbling("a/y", 40), wobbling("b/z", 20)];
        let [first, second] = [Part::First, Part::Second].map(|part| runs_of(&series, part));
        // Suites `a`: 40 runs, the first 24 for tuning, of which the first `LEVEL` (15) cannot be
        // judged. Suite `b`: 20 runs, the last 8 for reporting, of which 5 have at least 15 runs
        // before them.
        assert_eq!((first.len(), second.len()), (24 - LEVEL, 16 + 5));
        assert_eq!(first.iter().map(|run| run.questions.len()).max(), Some(2));
        let table = table(&second, &[1.5]);
        assert!(table.contains("| none | | | | 0.0 % | 0.0 % | 100.00 % |"), "{table}");
        assert!(
            table.contains("| +50 % | 100.0 % | 0.0 % | 0.00 % | 100.0 % | 0.0 % | 0.00 % |"),
            "{table}"
        );
    }

    fn wobbling(id: &str, runs: usize) -> RecordedSeries {
        let values = (0..runs).map(|at| 1.0 + 0.01 * ((at * 7 % 13) as f64 / 6.0 - 1.0));
        every_second(id, Better::Lower, values.collect())
    }
}
