//! What a bisection found, for people and for programs. Pure.

use std::ops::RangeInclusive;

use rsb_model::format::FORMAT_VERSION;
use rsb_model::{CaseId, Verdict};
use rsb_report::number::{format_count, format_interval};
use rsb_report::{Cell, Column, Style, Table, Tone, format_percent};
use serde::Serialize;

use super::line::{Commit, Line};
use super::search::Outcome;
use super::trial::Finding;
use crate::exit::Exit;

/// Everything that was found.
pub(super) struct Bisection<'a> {
    pub(super) line: &'a Line,
    pub(super) case: CaseId,
    /// Places on the line and what was found there, in the order in which they were tried.
    pub(super) steps: Vec<(usize, Finding)>,
    pub(super) conclusion: Conclusion,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Conclusion {
    /// The bad commit is not slower, or nobody can tell.
    NotRegressed { outcome: Outcome },
    /// The first bad commit is one of these.
    Searched { left: RangeInclusive<usize> },
    /// Somebody pressed Ctrl-C while these were left.
    Interrupted { left: RangeInclusive<usize> },
}

impl Conclusion {
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::NotRegressed { outcome: Outcome::Good } => Exit::Pass,
            Self::Searched { left } if left.start() == left.end() => Exit::Pass,
            Self::NotRegressed { .. } | Self::Searched { .. } => Exit::NoVerdict,
            Self::Interrupted { .. } => Exit::Interrupted,
        }
    }
}

impl Bisection<'_> {
    /// The first bad commit and what was found there.
    fn first_bad(&self) -> Option<(&Commit, &Finding)> {
        let Conclusion::Searched { left } = &self.conclusion else { return None };
        let found = *left.end();
        let (_, finding) = self.steps.iter().find(|(index, _)| *index == found)?;
        (left.start() == left.end()).then_some((self.line.after.get(found)?, finding))
    }

    /// The commits among which the first bad one is, unless it is found.
    fn left(&self) -> Vec<&Commit> {
        let left = match &self.conclusion {
            Conclusion::Searched { left } if left.start() < left.end() => left,
            Conclusion::Interrupted { left } => left,
            _ => return Vec::new(),
        };
        left.clone().filter_map(|index| self.line.after.get(index)).collect()
    }

    fn of(&self, wanted: Outcome) -> Vec<&str> {
        let these = self.steps.iter().filter(|(_, finding)| finding.outcome == wanted);
        these.filter_map(|(index, _)| Some(self.line.after.get(*index)?.hash.as_str())).collect()
    }
}

/// For programs.
#[derive(Serialize)]
pub(super) struct Document<'a> {
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

/// `bisection` for programs.
pub(super) fn document<'a>(bisection: &'a Bisection<'a>) -> Document<'a> {
    let line = bisection.line;
    let step = |(index, finding): &'a (usize, Finding)| Step {
        commit: line.after.get(*index).map_or("", |commit| commit.hash.as_str()),
        outcome: word(finding.outcome),
        verdict: finding.verdict,
        reason: &finding.reason,
        change_percent: finding.change_percent,
        confidence_interval: finding.confidence_interval,
    };
    Document {
        format_version: FORMAT_VERSION,
        good: &line.good.hash,
        bad: line.after.last().map_or("", |commit| commit.hash.as_str()),
        case: &bisection.case,
        first_bad: bisection.first_bad().map(|(commit, finding)| FirstBad {
            commit: &commit.hash,
            subject: &commit.subject,
            date: &commit.date,
            change_percent: finding.change_percent,
            confidence_interval: finding.confidence_interval,
        }),
        steps: bisection.steps.iter().map(step).collect(),
        skipped: bisection.of(Outcome::Skipped),
        undecided: bisection.of(Outcome::Undecided),
        remaining: bisection.left().into_iter().map(|commit| commit.hash.as_str()).collect(),
    }
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Good => "good",
        Outcome::Bad => "bad",
        Outcome::Skipped => "skipped",
        Outcome::Undecided => "undecided",
    }
}

const fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Good => Tone::Good,
        Outcome::Bad => Tone::Bad,
        Outcome::Skipped => Tone::Dim,
        Outcome::Undecided => Tone::Caution,
    }
}

/// For a terminal; what was found comes last.
pub(super) fn text(bisection: &Bisection<'_>, style: Style) -> String {
    let head = format!("Bisection of {} against {}\n\n", bisection.case, bisection.line.good.short());
    let (tone, sentence) = sentence(bisection);
    [head, steps(bisection).text(style), "\n".to_owned(), style.paint(tone, sentence.trim_end())].concat()
}

/// The commits that were tried, the oldest first.
fn steps(bisection: &Bisection<'_>) -> Table {
    let mut table = Table::new([
        Column::left("commit"),
        Column::left("outcome"),
        Column::right("change"),
        Column::right("95 % interval").optional(),
        Column::elided("subject"),
    ]);
    let mut tried: Vec<&(usize, Finding)> = bisection.steps.iter().collect();
    tried.sort_by_key(|(index, _)| *index);
    for (index, finding) in tried {
        let Some(commit) = bisection.line.after.get(*index) else { continue };
        table.push([
            Cell::from(commit.short()),
            Cell::toned(word(finding.outcome), tone(finding.outcome)),
            Cell::from(finding.change_percent.map_or_else(String::new, format_percent)),
            Cell::toned(finding.confidence_interval.map_or_else(String::new, format_interval), Tone::Dim),
            Cell::from(&commit.subject),
        ]);
        if finding.change_percent.is_none() || finding.outcome == Outcome::Undecided {
            table.note(&finding.reason);
        }
    }
    table
}

fn sentence(bisection: &Bisection<'_>) -> (Tone, String) {
    if let Some((commit, finding)) = bisection.first_bad() {
        let Commit { hash, date, subject, .. } = commit;
        let (case, reason) = (&bisection.case, &finding.reason);
        return (Tone::Bad, format!("FOUND: {hash}\n  {date}  {subject}\n  {case}: {reason}"));
    }
    let left = bisection.left();
    let list: Vec<String> = left.iter().map(|each| format!("\n  {}  {}", each.short(), each.subject)).collect();
    let list = list.concat();
    match &bisection.conclusion {
        Conclusion::NotRegressed { outcome } => {
            let reason = bisection.steps.first().map_or("", |(_, finding)| finding.reason.as_str());
            let (tone, what) = match outcome {
                Outcome::Undecided => (Tone::Caution, "NO VERDICT: whether the bad commit is slower is not clear"),
                _ => (Tone::Good, "NOT REGRESSED: there is nothing to search"),
            };
            let cure = if tone == Tone::Caution { "; allow more with --budget" } else { "" };
            (tone, format!("{what}: {reason}{cure}"))
        }
        Conclusion::Interrupted { .. } => {
            let so_far = if bisection.steps.is_empty() {
                "it is not known yet whether the bad commit is slower; these commits"
            } else {
                "the first bad one is among those that"
            };
            (Tone::Caution, format!("INTERRUPTED: {so_far} were left:{list}"))
        }
        Conclusion::Searched { .. } => {
            let count = format_count(left.len(), "commit", "commits");
            let cure = if bisection.of(Outcome::Undecided).is_empty() { "" } else { " (--budget allows more time)" };
            (
                Tone::Caution,
                format!("NO VERDICT: those between cannot be judged{cure}; the first bad one is among {count}:{list}"),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        let commit = |name: &str| Commit {
            hash: name.repeat(40),
            tree: String::new(),
            date: "2026-01-01T00:00:00Z".to_owned(),
            subject: format!("commit {name}"),
        };
        Line { good: commit("0"), after: ["a", "b", "c"].map(commit).to_vec() }
    }

    fn found(outcome: Outcome) -> Finding {
        let figures = matches!(outcome, Outcome::Good | Outcome::Bad);
        Finding {
            outcome,
            verdict: None,
            reason: format!("it is {}", word(outcome)),
            change_percent: figures.then_some(12.3),
            confidence_interval: figures.then_some([10.0, 14.0]),
        }
    }

    #[test]
    fn each_conclusion_has_its_words_and_its_exit_code() {
        let line = line();
        let bad = (2, found(Outcome::Bad));
        let searched = |left| Conclusion::Searched { left };
        let not = |outcome| (vec![(2, found(outcome))], Conclusion::NotRegressed { outcome });
        for ((steps, conclusion), exit, words, remaining) in [
            ((vec![bad.clone(), (1, found(Outcome::Good))], searched(2..=2)), Exit::Pass, "FOUND: cccc", 0),
            ((vec![bad.clone(), (1, found(Outcome::Skipped))], searched(1..=2)), Exit::NoVerdict, "among 2 commits", 2),
            ((vec![bad.clone(), (1, found(Outcome::Undecided))], searched(1..=2)), Exit::NoVerdict, "--budget", 2),
            (
                (vec![bad], Conclusion::Interrupted { left: 0..=2 }),
                Exit::Interrupted,
                "is among those that were left",
                3,
            ),
            ((vec![], Conclusion::Interrupted { left: 0..=2 }), Exit::Interrupted, "not known yet", 3),
            (not(Outcome::Good), Exit::Pass, "NOT REGRESSED", 0),
            (not(Outcome::Undecided), Exit::NoVerdict, "NO VERDICT", 0),
        ] {
            let bisection = Bisection { line: &line, case: CaseId::from_segments(&["x"]), steps, conclusion };
            assert_eq!(bisection.conclusion.exit(), exit, "{words}");
            let text = text(&bisection, Style::PLAIN);
            assert!(text.contains(words), "{text}");
            let document = serde_json::to_value(document(&bisection)).unwrap();
            assert_eq!(document["remaining"].as_array().map(Vec::len), Some(remaining), "{document:#}");
            assert_eq!(document["first_bad"].is_null(), !words.starts_with("FOUND"), "{document:#}");
        }
    }
}
