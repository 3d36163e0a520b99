//! A comparison: one line a case, the worst first, and the verdict in words.

use std::collections::{HashMap, HashSet};

use rsb_model::record::{ChangeStatus, Comparison};
use rsb_model::{Better, CaseId, ComparisonResult, ReasonCode, Verdict};

use crate::compared;
use crate::document::{ReportError, csv, csv_number};
use crate::label::Shortener;
use crate::markdown::escape;
use crate::number::{format_count, format_interval, format_percent, format_quantity, format_threshold};
use crate::run::better_word;
use crate::style::{Style, Tone, clean};
use crate::table::{Cell, Column, Table};
use crate::targets;
use crate::trend::short;

/// How much to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What is Unchanged is counted, and cases without a verdict for one common reason are counted together.
    Brief,
    /// Every case.
    Full,
}

/// Cases without a verdict that share a reason are folded from this many on.
const FOLD: usize = 4;

/// How `verdict` looks.
pub const fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Improved => Tone::Good,
        Verdict::Regressed => Tone::Bad,
        Verdict::Unchanged => Tone::Plain,
        Verdict::Inconclusive | Verdict::NotComparable => Tone::Caution,
    }
}

/// The difference in the bad direction in percent: positive is worse.
pub fn worsening(comparison: &Comparison) -> Option<f64> {
    comparison.difference_percent.map(|percent| match comparison.better {
        Better::Lower => percent,
        Better::Higher => -percent,
    })
}

/// Every comparison, the worst first: Regressed, undecided, Improved, Unchanged; the largest change first within each.
pub fn by_importance(result: &ComparisonResult) -> Vec<&Comparison> {
    let rank = |verdict| match verdict {
        Verdict::Regressed => 0,
        Verdict::Inconclusive => 1,
        Verdict::NotComparable => 2,
        Verdict::Improved => 3,
        Verdict::Unchanged => 4,
    };
    let mut sorted: Vec<&Comparison> = result.comparisons.iter().collect();
    rsb_model::order::by(&mut sorted, |a, b| rank(a.verdict).cmp(&rank(b.verdict)).then(size(b).total_cmp(&size(a))));
    sorted
}

/// How large a change is: beyond every percentage where something came of nothing.
fn size(comparison: &Comparison) -> f64 {
    let from_nothing = comparison.baseline_value == Some(0.0) && comparison.current_value.is_some_and(|now| now != 0.0);
    comparison.difference_percent.map_or(if from_nothing { f64::INFINITY } else { 0.0 }, f64::abs)
}

/// What is said one by one, and what is only counted.
#[derive(Default)]
pub(crate) struct Listing<'a> {
    pub(crate) shown: Vec<&'a Comparison>,
    pub(crate) folded: Vec<(Verdict, &'a str, usize)>,
    pub(crate) hidden: Vec<&'a Comparison>,
}

pub(crate) fn listing(result: &ComparisonResult, detail: Detail) -> Listing<'_> {
    let mut listing = Listing::default();
    let key = |comparison: &&'_ Comparison| (comparison.verdict.as_str(), comparison.reason.clone());
    let sorted = by_importance(result);
    let mut alike: HashMap<(&str, String), usize> = HashMap::new();
    for comparison in &sorted {
        *alike.entry(key(comparison)).or_default() += 1;
    }
    alike.retain(|_, count| *count >= FOLD);
    let common: HashSet<_> = alike.keys().cloned().collect();
    for comparison in sorted {
        let brief = detail == Detail::Brief;
        if brief && comparison.verdict == Verdict::Unchanged {
            listing.hidden.push(comparison);
        } else if brief && !comparison.verdict.is_decided() && common.contains(&key(&comparison)) {
            // The first of a group speaks for all of it.
            if let Some(count) = alike.remove(&key(&comparison)) {
                listing.folded.push((comparison.verdict, &comparison.reason, count));
            }
        } else {
            listing.shown.push(comparison);
        }
    }
    listing
}

/// Where the case stands in [`table()`].
pub const CASE_COLUMN: usize = 1;

/// A row for each of `shown`, with the reason under those that need one.
pub fn table(shown: &[&Comparison]) -> Table {
    let names = Shortener::of(shown.iter().map(|comparison| &comparison.id));
    let mut table = Table::new([
        Column::left("verdict"),
        Column::elided("case"),
        Column::left("metric"),
        Column::right("baseline").optional(),
        Column::right("current").optional(),
        Column::right("change"),
        Column::right("95 % interval").optional(),
    ]);
    for comparison in shown {
        let tone = tone(comparison.verdict);
        let quantity = |value: Option<f64>| value.map_or_else(String::new, |v| format_quantity(v, &comparison.unit));
        table.push([
            Cell::toned(comparison.verdict.as_str(), tone),
            Cell::from(names.full(&comparison.id)),
            Cell::from(&comparison.metric),
            Cell::from(quantity(comparison.baseline_value)),
            Cell::from(quantity(comparison.current_value)),
            Cell::toned(comparison.difference_percent.map_or_else(String::new, format_percent), tone),
            Cell::toned(comparison.confidence_interval.map_or_else(String::new, format_interval), Tone::Dim),
        ]);
        // `no clear change` in each row of what is Unchanged would say nothing; a small clear change is worth a line.
        if comparison.verdict != Verdict::Unchanged || comparison.reason_code == ReasonCode::BelowThreshold {
            table.note(&comparison.reason);
        }
    }
    table
}

/// `30 cases: the cpus differ`, for each folded group, and the count of what is Unchanged.
pub(crate) fn folded_lines(listing: &Listing<'_>) -> Vec<(Tone, String)> {
    let group = |(verdict, reason, count): &(Verdict, &str, usize)| {
        (tone(*verdict), format!("{verdict}: {}: {reason}", format_count(*count, "case", "cases")))
    };
    let mut lines: Vec<(Tone, String)> = listing.folded.iter().map(group).collect();
    let is_excused =
        |row: &&&Comparison| row.verdict == Verdict::Unchanged && row.reason_code == ReasonCode::MachineMoved;
    let excused = listing.hidden.iter().filter(is_excused).count();
    if excused > 0 {
        let count = format_count(excused, "comparison is", "comparisons are");
        let why = "slower than the record, and so is the program that made it: the machine changed, not the code";
        lines.push((Tone::Caution, format!("{count} {why}")));
    }
    if !listing.hidden.is_empty() {
        lines.push((
            Tone::Dim,
            format!("Unchanged: {}", format_count(listing.hidden.len(), "comparison", "comparisons")),
        ));
    }
    lines
}

/// How all cases moved together, and what could have been found: a pass says no more than that.
pub fn overall_line(result: &ComparisonResult) -> Option<String> {
    let mut found: Vec<f64> = result.comparisons.iter().filter_map(|row| row.detectable_percent).collect();
    rsb_model::order::numbers(&mut found);
    let (median, worst) = (found.get(found.len() / 2)?, found.last()?);
    let overall = result
        .summary
        .weighted_change_percent
        .map_or_else(String::new, |percent| format!("Time over all: {}. ", format_percent(percent)));
    let found = found_from(*median, *worst);
    Some(format!("{overall}Without measuring again, a slow-down would have been called Regressed {found}."))
}

/// From where on a slow-down is found in half of the comparisons, and in all.
fn found_from(median: f64, worst: f64) -> String {
    // Beyond twice the time the figure says nothing but that little was measured.
    let told = |percent: f64| {
        if percent > 100.0 { "from more than 100 % on".to_owned() } else { format!("from {percent:.1} % on") }
    };
    let [median, worst] = [median, worst].map(told);
    if median == worst { median } else { format!("{median} in half of the comparisons, {worst} in all") }
}

/// What only one side has: `(title, ids)`, without empty ones.
pub fn one_sided(result: &ComparisonResult) -> Vec<(&'static str, Tone, Vec<&str>)> {
    [
        ("Missing from the current run", Tone::Caution, &result.missing),
        ("New, without a baseline", Tone::Dim, &result.new),
    ]
    .into_iter()
    .filter(|(_, _, list)| !list.is_empty())
    .map(|(title, tone, list)| (title, tone, list.iter().map(CaseId::as_str).collect()))
    .collect()
}

/// The verdict in a sentence, and how it looks.
pub fn verdict_sentence(result: &ComparisonResult) -> (Tone, String) {
    let count = |wanted: &[Verdict]| result.comparisons.iter().filter(|c| wanted.contains(&c.verdict)).count();
    let all = format_count(result.comparisons.len(), "comparison", "comparisons");
    let sentence = match result.verdict {
        Verdict::Regressed => format!("REGRESSED: {}.", regressed(result, &all)),
        Verdict::Inconclusive | Verdict::NotComparable => {
            let undecided = count(&[Verdict::Inconclusive, Verdict::NotComparable]);
            format!("NO VERDICT: {}.", undecided_parts(result, undecided, &all))
        }
        Verdict::Improved => format!("PASS: none of {all} regressed, {} improved.", count(&[Verdict::Improved])),
        Verdict::Unchanged => format!("PASS: none of {all} regressed."),
    };
    (tone(result.verdict), sentence)
}

fn regressed(result: &ComparisonResult, all: &str) -> String {
    let mut parts = Vec::new();
    // A missed target is counted with the targets.
    let is_worse =
        |each: &&Comparison| each.verdict == Verdict::Regressed && each.reason_code != ReasonCode::TargetMissed;
    let worse: Vec<&Comparison> = by_importance(result).into_iter().filter(is_worse).collect();
    if let Some(worst) = worse.first() {
        parts.push(format!("{} of {all} {} worse by the threshold", worse.len(), is_are(worse.len())));
        let (name, change) = (format!("{} {}", short(worst.id.as_str()), worst.metric), change_told(worst));
        parts.push(format!("the worst is {}{change}", clean(&name)));
    }
    let missed = result.threshold_checks.iter().filter(|check| check.passed == Some(false)).count();
    if missed > 0 {
        parts.push(format!("{} missed", format_count(missed, "target is", "targets are")));
    }
    parts.extend(missing(result));
    parts.join("; ")
}

/// ` (+12.3 %)`; ` (10 % after 0 %)` where there is no percentage of nothing.
pub fn change_told(comparison: &Comparison) -> String {
    let quantity = |value: f64| format_quantity(value, &comparison.unit);
    match (comparison.difference_percent, comparison.baseline_value, comparison.current_value) {
        (Some(percent), ..) => format!(" ({})", format_percent(percent)),
        (None, Some(before), Some(now)) => format!(" ({} after {})", quantity(now), quantity(before)),
        (None, ..) => String::new(),
    }
}

fn undecided_parts(result: &ComparisonResult, undecided: usize, all: &str) -> String {
    let mut parts = Vec::new();
    if undecided > 0 {
        parts.push(format!("{undecided} of {all} {} undecided", is_are(undecided)));
    }
    parts.extend(missing(result));
    if parts.is_empty() {
        parts.push("there is nothing to compare".to_owned());
    }
    parts.join("; ")
}

fn missing(result: &ComparisonResult) -> Option<String> {
    let count = result.missing.len();
    (count > 0).then(|| format!("{} missing from the current run", format_count(count, "case is", "cases are")))
}

const fn is_are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// `RUN against BASELINE, threshold 10 %`.
pub fn head(result: &ComparisonResult) -> String {
    format!(
        "{} against {}, threshold {}",
        clean(&result.current_run_id),
        clean(&result.baseline_run_id),
        format_threshold(result.threshold_percent)
    )
}

/// For a terminal; the last line is the verdict.
pub fn text(result: &ComparisonResult, style: Style, detail: Detail) -> String {
    let listing = listing(result, detail);
    let mut out = format!("{} {}\n\n", style.paint(Tone::Strong, "Comparison"), head(result));
    let table = table(&listing.shown);
    if !table.is_empty() {
        out.push_str(&table.text(style));
        out.push('\n');
    }
    if detail == Detail::Full {
        out.push_str(&compared::text(&listing.shown, style));
    }
    for (tone, line) in folded_lines(&listing) {
        out.push_str(&style.paint(tone, style.wrap(&line, 0).trim_end()));
        out.push('\n');
    }
    if let Some(line) = overall_line(result) {
        out.push_str(&style.paint(Tone::Dim, style.wrap(&line, 0).trim_end()));
        out.push('\n');
    }
    for (title, tone, ids) in one_sided(result) {
        out.push_str(&style.paint(tone, &format!("{title}: {}", ids.len())));
        out.push('\n');
        out.extend(ids.iter().map(|id| format!("  {}\n", clean(id))));
    }
    if !result.threshold_checks.is_empty() {
        out.push('\n');
        out.push_str(targets::text(&result.threshold_checks, style).trim_end());
        out.push('\n');
    }
    for note in &result.notes {
        let line = format!("note: {}", clean(&note.text));
        out.push_str(&style.paint(Tone::Dim, style.wrap(&line, 0).trim_end()));
        out.push('\n');
    }
    let (tone, sentence) = verdict_sentence(result);
    out.push_str(&format!("\n{}\n", style.paint(tone, &sentence)));
    out
}

/// In Markdown, the verdict first; the targets are not in it.
pub fn markdown(result: &ComparisonResult, detail: Detail) -> String {
    format!("**{}**\n\n{}", escape(&verdict_sentence(result).1), markdown_body(result, detail))
}

/// [`markdown`] without the verdict, for a document that begins with it.
pub(crate) fn markdown_body(result: &ComparisonResult, detail: Detail) -> String {
    let listing = listing(result, detail);
    let mut out = format!("{}\n\n", escape(&head(result)));
    let table = table(&listing.shown);
    if !table.is_empty() {
        out.push_str(&table.markdown());
        out.push('\n');
    }
    if detail == Detail::Full {
        out.push_str(&compared::markdown(&listing.shown));
    }
    let lines: String = folded_lines(&listing).iter().map(|(_, line)| format!("- {}\n", escape(line))).collect();
    out.push_str(&lines);
    out.extend(overall_line(result).map(|line| format!("- {}\n", escape(&line))));
    for (title, _, ids) in one_sided(result) {
        out.push_str(&format!("- {title}:\n"));
        out.extend(ids.iter().map(|id| format!("  - {}\n", escape(id))));
    }
    out.extend(result.notes.iter().map(|note| format!("- Note: {}\n", escape(&note.text))));
    out
}

const COLUMNS: [&str; 15] = [
    "id",
    "metric",
    "unit",
    "better",
    "baseline_value",
    "current_value",
    "difference_percent",
    "interval_low_percent",
    "interval_high_percent",
    "change_status",
    "verdict",
    "reason_code",
    "reason",
    "threshold_percent",
    "detectable_percent",
];

/// A row for each metric of each case, in the order of the comparison.
///
/// # Errors
/// Never for data that the model can hold.
pub fn csv_rows(result: &ComparisonResult) -> Result<String, ReportError> {
    csv(&COLUMNS, result.comparisons.iter().map(csv_row))
}

fn csv_row(comparison: &Comparison) -> Vec<String> {
    let bound = |index: usize| csv_number(comparison.confidence_interval.and_then(|i| i.get(index).copied()));
    vec![
        comparison.id.to_string(),
        comparison.metric.clone(),
        comparison.unit.clone(),
        better_word(comparison.better).to_owned(),
        csv_number(comparison.baseline_value),
        csv_number(comparison.current_value),
        csv_number(comparison.difference_percent),
        bound(0),
        bound(1),
        comparison.change_status.map_or("", change_word).to_owned(),
        comparison.verdict.to_string(),
        comparison.reason_code.as_str().to_owned(),
        comparison.reason.clone(),
        csv_number(Some(comparison.threshold_percent)),
        csv_number(comparison.detectable_percent),
    ]
}

const fn change_word(status: ChangeStatus) -> &'static str {
    match status {
        ChangeStatus::Improved => "improved",
        ChangeStatus::Degraded => "degraded",
        ChangeStatus::Unchanged => "unchanged",
    }
}

#[cfg(test)]
mod tests {
    use rsb_model::record::Comparison;
    use rsb_model::{ReasonCode, Verdict};

    use super::{found_from, verdict_sentence};
    use crate::sample;

    #[test]
    fn the_worst_is_what_regressed_whatever_else_changed_more() {
        let regressed = |unit: &str, (before, now), percent| Comparison {
            metric: "failed_runs_percent".into(),
            unit: unit.into(),
            baseline_value: Some(before),
            current_value: Some(now),
            difference_percent: percent,
            verdict: Verdict::Regressed,
            ..sample::comparison().comparisons[1].clone()
        };
        let missed = Comparison {
            reason_code: ReasonCode::TargetMissed,
            baseline_value: None,
            ..regressed("%", (0.0, 3.0), None)
        };
        let time = || sample::comparison().comparisons[2].clone();
        for (rows, said) in [
            (
                vec![time(), regressed("%", (0.0, 100.0), None)],
                "2 of 3 comparisons are worse by the threshold; the worst is tensor-ops cpu:0/gelu/f32/64MiB failed_runs_percent (100 % after 0 %)",
            ),
            (vec![regressed("%", (5.0, 10.0), Some(100.0)), time()], "failed_runs_percent (+100 %)"),
            (
                vec![time(), missed.clone()],
                "1 of 3 comparisons is worse by the threshold; the worst is gemm cpu:0/f32/1024x1024x1024 time_ms (+15.9 %)",
            ),
            (vec![missed], "REGRESSED: 1 target is missed"),
        ] {
            let mut result = sample::comparison();
            // An improvement that is larger than any of them.
            let improved = Comparison { difference_percent: Some(-98.0), ..result.comparisons[1].clone() };
            result.comparisons = rows.into_iter().chain([improved]).collect();
            let sentence = verdict_sentence(&result).1;
            assert!(sentence.contains(said), "{sentence}");
        }
    }

    #[test]
    fn what_would_have_been_found_is_said_once_and_not_beyond_sense() {
        assert_eq!(found_from(3.0, 12.34), "from 3.0 % on in half of the comparisons, from 12.3 % on in all");
        assert_eq!(
            found_from(3.0, 47358.6),
            "from 3.0 % on in half of the comparisons, from more than 100 % on in all"
        );
        assert_eq!(found_from(500.0, 47358.6), "from more than 100 % on");
        assert_eq!(found_from(4.0, 4.0), "from 4.0 % on");
    }
}
