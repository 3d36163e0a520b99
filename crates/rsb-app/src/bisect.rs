//! Formats the result of a bisection as text or as a JSON document. No I/O.

use rsb_gate::revisions::bisect::{Bisection, Commit, Conclusion, StepFinding, StepOutcome};
use rsb_model::format::FORMAT_VERSION;
use rsb_model::{CaseId, Verdict};
use rsb_report::number::{format_count, format_interval};
use rsb_report::{Cell, Column, Style, Table, Tone, format_percent};
use serde::Serialize;

use crate::Exit;

/// Returns the exit code of a bisection with this conclusion.
pub fn exit_of(conclusion: &Conclusion) -> Exit {
    match conclusion {
        Conclusion::NotRegressed { outcome: StepOutcome::Good } => Exit::Pass,
        Conclusion::Searched { left } if left.start() == left.end() => Exit::Pass,
        Conclusion::NotRegressed { .. } | Conclusion::Searched { .. } => Exit::NoVerdict,
        Conclusion::Interrupted { .. } => Exit::Interrupted,
    }
}

/// Result of a bisection, as a JSON document.
#[derive(Serialize)]
pub struct BisectDocument<'a> {
    format_version: u32,
    good: &'a str,
    bad: &'a str,
    case: &'a CaseId,
    first_bad: Option<FirstBad<'a>>,
    steps: Vec<Step<'a>>,
    skipped: Vec<&'a str>,
    undecided: Vec<&'a str>,
    remaining: Vec<&'a str>,
}

#[derive(Serialize)]
struct FirstBad<'a> {
    commit: &'a str,
    subject: &'a str,
    date: &'a str,
    change_percent: Option<f64>,
    confidence_interval: Option<[f64; 2]>,
}

#[derive(Serialize)]
struct Step<'a> {
    commit: &'a str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    change_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence_interval: Option<[f64; 2]>,
}

/// Returns `bisection` as a JSON document.
pub fn document<'a>(bisection: &'a Bisection, case: &'a CaseId) -> BisectDocument<'a> {
    let range = &bisection.range;
    let mut steps = Vec::new();
    for (index, finding) in &bisection.steps {
        steps.push(Step {
            commit: range.after.get(*index).map_or("", |commit| commit.hash.as_str()),
            outcome: finding.outcome.as_str(),
            verdict: finding.verdict,
            reason: &finding.reason,
            change_percent: finding.change_percent,
            confidence_interval: finding.confidence_interval,
        });
    }
    BisectDocument {
        format_version: FORMAT_VERSION,
        good: &range.good.hash,
        bad: range.after.last().map_or("", |commit| commit.hash.as_str()),
        case,
        first_bad: bisection.first_bad().map(|(commit, finding)| FirstBad {
            commit: &commit.hash,
            subject: &commit.subject,
            date: &commit.date,
            change_percent: finding.change_percent,
            confidence_interval: finding.confidence_interval,
        }),
        steps,
        skipped: bisection.of(StepOutcome::Skipped),
        undecided: bisection.of(StepOutcome::Undecided),
        remaining: bisection
            .suspect_commits()
            .into_iter()
            .map(|commit| commit.hash.as_str())
            .collect(),
    }
}

const fn tone(outcome: StepOutcome) -> Tone {
    match outcome {
        StepOutcome::Good => Tone::Good,
        StepOutcome::Bad => Tone::Bad,
        StepOutcome::Skipped => Tone::Dim,
        StepOutcome::Undecided => Tone::Caution,
    }
}

/// Formats `bisection` for a terminal, with the result last.
pub fn text(bisection: &Bisection, case: &CaseId, style: Style) -> String {
    let head = format!("Bisection of {case} against {}\n\n", bisection.range.good.short());
    let (tone, sentence) = sentence(bisection, case);
    [head, steps(bisection).text(style), "\n".to_owned(), style.paint(tone, sentence.trim_end())]
        .concat()
}

/// Lists the tried commits, oldest first.
fn steps(bisection: &Bisection) -> Table {
    let mut table = Table::new([
        Column::left("commit"),
        Column::left("outcome"),
        Column::right("change"),
        Column::right("95 % interval").optional(),
        Column::elided("subject"),
    ]);
    let mut tried: Vec<&(usize, StepFinding)> = bisection.steps.iter().collect();
    tried.sort_by_key(|(index, _)| *index);
    for (index, finding) in tried {
        let Some(commit) = bisection.range.after.get(*index) else { continue };
        table.push([
            Cell::from(commit.short()),
            Cell::with_tone(finding.outcome.as_str(), tone(finding.outcome)),
            Cell::from(finding.change_percent.map_or_else(String::new, format_percent)),
            Cell::with_tone(
                finding.confidence_interval.map_or_else(String::new, format_interval),
                Tone::Dim,
            ),
            Cell::from(&commit.subject),
        ]);
        if finding.change_percent.is_none() || finding.outcome == StepOutcome::Undecided {
            table.note(&finding.reason);
        }
    }
    table
}

fn sentence(bisection: &Bisection, case: &CaseId) -> (Tone, String) {
    if let Some((commit, finding)) = bisection.first_bad() {
        let Commit { hash, date, subject, .. } = commit;
        let reason = &finding.reason;
        return (Tone::Bad, format!("FOUND: {hash}\n  {date}  {subject}\n  {case}: {reason}"));
    }
    let left = bisection.suspect_commits();
    let list: Vec<String> =
        left.iter().map(|each| format!("\n  {}  {}", each.short(), each.subject)).collect();
    let list = list.concat();
    match &bisection.conclusion {
        Conclusion::NotRegressed { outcome } => {
            let reason = bisection.steps.first().map_or("", |(_, finding)| finding.reason.as_str());
            let (tone, what) = match outcome {
                StepOutcome::Undecided => {
                    (Tone::Caution, "NO VERDICT: it is unclear whether the bad commit is slower")
                }
                _ => (Tone::Good, "NOT REGRESSED: there is nothing to search"),
            };
            let cure =
                if tone == Tone::Caution { "; allow more time with --budget 3m" } else { "" };
            (tone, format!("{what}: {reason}{cure}"))
        }
        Conclusion::Interrupted { .. } => {
            let so_far = if bisection.steps.is_empty() {
                "it is not yet clear whether the bad commit is slower; remaining commits"
            } else {
                "the first bad commit is among these"
            };
            (Tone::Caution, format!("INTERRUPTED: {so_far}:{list}"))
        }
        Conclusion::Searched { .. } => {
            let count = format_count(left.len(), "commit", "commits");
            let cure = if bisection.of(StepOutcome::Undecided).is_empty() {
                ""
            } else {
                " (allow more time with --budget 3m)"
            };
            (
                Tone::Caution,
                format!(
                    "NO VERDICT: the commits in between cannot be judged{cure}; the first bad \
                     commit is among {count}:{list}"
                ),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_gate::revisions::bisect::CommitRange;

    fn range() -> CommitRange {
        CommitRange { good: commit("0"), after: ["a", "b", "c"].map(commit).to_vec() }
    }

    fn commit(name: &str) -> Commit {
        Commit {
            hash: name.repeat(40),
            tree: String::new(),
            date: "2026-01-01T00:00:00Z".to_owned(),
            subject: format!("commit {name}"),
        }
    }

    fn finding(outcome: StepOutcome) -> StepFinding {
        let figures = matches!(outcome, StepOutcome::Good | StepOutcome::Bad);
        StepFinding {
            outcome,
            verdict: None,
            reason: format!("it is {outcome}"),
            change_percent: figures.then_some(12.3),
            confidence_interval: figures.then_some([10.0, 14.0]),
        }
    }

    #[test]
    fn each_conclusion_has_its_words_and_its_exit_code() {
        let (range, case) = (range(), CaseId::from_segments(&["x"]));
        let bad = (2, finding(StepOutcome::Bad));
        for ((steps, conclusion), exit, words, remaining) in [
            (
                (
                    vec![bad.clone(), (1, finding(StepOutcome::Good))],
                    Conclusion::Searched { left: 2..=2 },
                ),
                Exit::Pass,
                "FOUND: cccc",
                0,
            ),
            (
                (
                    vec![bad.clone(), (1, finding(StepOutcome::Skipped))],
                    Conclusion::Searched { left: 1..=2 },
                ),
                Exit::NoVerdict,
                "among 2 commits",
                2,
            ),
            (
                (
                    vec![bad.clone(), (1, finding(StepOutcome::Undecided))],
                    Conclusion::Searched { left: 1..=2 },
                ),
                Exit::NoVerdict,
                "--budget",
                2,
            ),
            (
                (vec![bad], Conclusion::Interrupted { left: 0..=2 }),
                Exit::Interrupted,
                "the first bad commit is among these",
                3,
            ),
            (
                (vec![], Conclusion::Interrupted { left: 0..=2 }),
                Exit::Interrupted,
                "not yet clear",
                3,
            ),
            (not_regressed(StepOutcome::Good), Exit::Pass, "NOT REGRESSED", 0),
            (not_regressed(StepOutcome::Undecided), Exit::NoVerdict, "NO VERDICT", 0),
        ] {
            let bisection = Bisection {
                range: range.clone(),
                case: Some(CaseId::from_segments(&["x"])),
                steps,
                conclusion,
            };
            assert_eq!(exit_of(&bisection.conclusion), exit, "{words}");
            let text = text(&bisection, &case, Style::PLAIN);
            assert!(text.contains(words), "{text}");
            let document = serde_json::to_value(document(&bisection, &case)).unwrap();
            assert_eq!(
                document["remaining"].as_array().map(Vec::len),
                Some(remaining),
                "{document:#}"
            );
            assert_eq!(
                document["first_bad"].is_null(),
                !words.starts_with("FOUND"),
                "{document:#}"
            );
        }
    }

    /// Returns one step with this outcome, and the resulting conclusion.
    fn not_regressed(outcome: StepOutcome) -> (Vec<(usize, StepFinding)>, Conclusion) {
        (vec![(2, finding(outcome))], Conclusion::NotRegressed { outcome })
    }
}
