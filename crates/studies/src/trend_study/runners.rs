//! Real series from hosted runners: the reported alerts, and whether the trend agrees with the
//! gate.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use rsb_model::{Timestamp, Verdict};
use rsb_stats::compare::ErrorRates;
use rsb_stats::history::{LEVEL, Question, QuestionRole, RUNS, Rule, judge};
use rsb_stats::{SeriesInput, trend};

use crate::history_study::series::{RecordedSeries, read};

/// Number of last runs on which trend and gate are compared.
const LAST: usize = 5;

/// Returns the table of series, points, change points and alerts of `file`, and how often a change
/// point is among runs that the gate's history rule calls Unchanged.
pub(super) fn table(file: Option<&Path>) -> Result<String> {
    let Some(file) = file else {
        return Ok(
            "skipped: no `--series FILE`, a CSV with the columns id, timestamp, value and unit\n"
                .to_owned(),
        );
    };
    let series = read(file)?;
    let document = trend(&series.iter().map(input).collect::<Vec<_>>());
    let trends = &document.series;
    let mut text = "| series | points | change points | suspected | alerts | points that the gate \
                    calls unchanged: judged | a change point there \
                    |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    let (mut judged, mut against) = (0, 0);
    for one in &series {
        for end in (LEVEL + LAST..=one.values.len()).step_by(LAST) {
            if !is_unchanged(one, end) {
                continue;
            }
            judged += 1;
            let found = trend(&[input(&one.first(end))]).series;
            against += usize::from(found.iter().any(|one| {
                one.change_points.iter().any(|c| c.index + LAST >= end && c.index + 1 < end)
            }));
        }
    }
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {} | {judged} | {against} |",
        series.len(),
        trends.iter().map(|one| one.n).sum::<usize>(),
        trends.iter().map(|one| one.change_points.len()).sum::<usize>(),
        trends.iter().map(|one| one.suspected.len()).sum::<usize>(),
        trends.iter().map(|one| one.alerts.len()).sum::<usize>(),
    );
    Ok(text)
}

fn input(series: &RecordedSeries) -> SeriesInput {
    let times =
        series.times.iter().map(|time| Timestamp::from_millisecond(*time).unwrap_or_default());
    SeriesInput {
        id: series.id.clone(),
        metric: "value".to_owned(),
        unit: String::new(),
        better: Some(series.better),
        points: times.zip(series.values.iter().copied()).collect(),
    }
}

/// Returns whether the gate's rule calls the last runs of the first `end` Unchanged, taken as
/// repeats of the same code.
fn is_unchanged(series: &RecordedSeries, end: usize) -> bool {
    let (before, now) = (end.saturating_sub(LAST + RUNS)..end - LAST, end - LAST..end);
    let question = Question {
        before: series.values[before].to_vec(),
        accepted_from: None,
        now: series.values[now].to_vec(),
        better: series.better,
        threshold: 0.1,
        slack: 0.0,
        role: QuestionRole::Case,
    };
    let judged = judge(&[question], &Rule::DEFAULT, ErrorRates::USUAL);
    judged.each.iter().all(|one| one.verdict == Verdict::Unchanged)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the series, which are outside the repository, in `RSB_SHARED` or `../shared`.
    fn shared_series() -> Option<Vec<RecordedSeries>> {
        let shared = std::env::var_os("RSB_SHARED").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
            std::path::PathBuf::from,
        );
        let file = shared.join("series/github-runners.csv");
        if !file.is_file() {
            test_needs::missing("series", &format!("{} is not here", file.display()));
            return None;
        }
        Some(read(&file).unwrap())
    }

    #[test]
    fn alerts_on_hosted_runners_explain_themselves() {
        let Some(series) = shared_series() else { return };
        let document = trend(&series.iter().map(input).collect::<Vec<_>>());
        let alerts: Vec<_> = document.series.iter().flat_map(|one| &one.alerts).collect();
        assert!(!alerts.is_empty());
        for alert in alerts {
            assert!(alert.change_percent.abs() >= 9.999, "{alert:?}");
            let texts = [&alert.description, &alert.recommendation, &alert.message];
            assert!(
                texts.iter().all(|text| !text.is_empty()) && alert.baseline_mean > 0.0,
                "{alert:?}"
            );
        }
    }

    #[test]
    fn what_the_gate_calls_unchanged_there_is_no_step() {
        let Some(series) = shared_series() else { return };
        for one in series.iter().filter(|one| one.values.len() >= LEVEL + LAST) {
            if is_unchanged(one, one.values.len()) {
                let found = trend(&[input(one)]).series;
                let from = one.values.len() - LAST;
                assert!(
                    found
                        .iter()
                        .all(|found| found.change_points.iter().all(|change| change.index < from)),
                    "{}",
                    one.id
                );
            }
        }
    }
}
