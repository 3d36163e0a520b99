//! A comparison: one line per case, worst first, and the verdict as a sentence.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use itertools::Itertools as _;
use rsb_model::record::{ChangeStatus, Comparison};
use rsb_model::{Better, CaseId, ComparisonResult, ReasonCode, Verdict};

use crate::compared;
use crate::document::{CsvColumn, ReportError, csv_number, csv_of};
use crate::label::{Shortener, group_by_key};
use crate::markdown::escape;
use crate::number::{
    format_count, format_interval, format_percent, format_quantity, format_threshold,
};
use crate::style::{Style, Tone, clean};
use crate::table::{Cell, Column, Table};
use crate::targets;
use crate::trend::short;

/// Level of detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Unchanged cases, and groups of cases that have no verdict for the same reason, are counted
    /// instead of listed.
    Brief,
    /// Every case.
    Full,
}

/// Minimum number of cases without a verdict that are folded into one line if they share a reason.
const FOLD: usize = 4;

/// Returns the color of `verdict`.
pub const fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Improved => Tone::Good,
        Verdict::Regressed => Tone::Bad,
        Verdict::Unchanged => Tone::Plain,
        Verdict::Inconclusive | Verdict::NotComparable => Tone::Caution,
    }
}

/// Returns the difference in percent, positive if worse.
pub fn worsening(comparison: &Comparison) -> Option<f64> {
    comparison.difference_percent.map(|percent| match comparison.better {
        Better::Lower => percent,
        Better::Higher => -percent,
    })
}

/// Returns all comparisons, worst first: Regressed, undecided, Improved, Unchanged; within each, the
/// metrics that the policy gives the largest weight, and the largest changes, first.
pub fn by_importance(result: &ComparisonResult) -> Vec<&Comparison> {
    let weight =
        |row: &Comparison| result.summary.metric_weights.get(&row.metric).copied().unwrap_or(1.0);
    let mut sorted: Vec<&Comparison> = result.comparisons.iter().collect();
    sorted.sort_by(|a, b| {
        importance_rank(a.verdict)
            .cmp(&importance_rank(b.verdict))
            .then(weight(b).total_cmp(&weight(a)))
            .then(size(b).total_cmp(&size(a)))
    });
    sorted
}

/// Returns the sort position of `verdict` in a listing; 0 comes first.
const fn importance_rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Regressed => 0,
        Verdict::Inconclusive => 1,
        Verdict::NotComparable => 2,
        Verdict::Improved => 3,
        Verdict::Unchanged => 4,
    }
}

/// Returns the absolute change in percent; infinite for a change from zero.
fn size(comparison: &Comparison) -> f64 {
    let from_nothing = comparison.baseline_value == Some(0.0)
        && comparison.current_value.is_some_and(|now| now != 0.0);
    comparison.difference_percent.map_or(if from_nothing { f64::INFINITY } else { 0.0 }, f64::abs)
}

/// Comparisons that are listed individually, and those that are only counted.
#[derive(Default)]
pub(crate) struct Listing<'a> {
    pub(crate) shown: Vec<&'a Comparison>,
    pub(crate) folded: Vec<(Verdict, &'a str, usize)>,
    pub(crate) hidden: Vec<&'a Comparison>,
}

pub(crate) fn listing(result: &ComparisonResult, detail: Detail) -> Listing<'_> {
    let mut listing = Listing::default();
    let sorted = by_importance(result);
    let mut alike: HashMap<(&str, String), usize> = HashMap::new();
    for comparison in &sorted {
        *alike.entry(group_key(comparison)).or_default() += 1;
    }
    alike.retain(|_, count| *count >= FOLD);
    let common: HashSet<_> = alike.keys().cloned().collect();
    for comparison in sorted {
        let brief = detail == Detail::Brief;
        if brief && comparison.verdict == Verdict::Unchanged {
            listing.hidden.push(comparison);
        } else if brief
            && !comparison.verdict.is_decided()
            && common.contains(&group_key(comparison))
        {
            // The first row of a group represents the whole group.
            if let Some(count) = alike.remove(&group_key(comparison)) {
                listing.folded.push((comparison.verdict, &comparison.reason, count));
            }
        } else {
            listing.shown.push(comparison);
        }
    }
    listing
}

/// Returns the verdict and the reason, which identify rows that are counted together.
fn group_key(comparison: &Comparison) -> (&'static str, String) {
    (comparison.verdict.as_str(), comparison.reason.clone())
}

/// Index of the case column in [`table()`].
pub const CASE_COLUMN: usize = 0;

/// Metric of most rows; not shown if all rows have it.
const TIME: &str = "time_ms";

/// Returns a row for each of `shown`, with the whole reason as its note.
pub fn table(shown: &[&Comparison]) -> Table {
    let mut table = empty_table();
    let names = Shortener::of(shown.iter().map(|row| &row.id));
    let has_metrics = has_metrics(shown);
    for comparison in shown {
        let verdict = comparison.verdict.as_str();
        table.push(cells(comparison, names.full(&comparison.id), verdict, has_metrics));
        if is_explained(comparison) {
            table.note(&comparison.reason);
        }
    }
    table
}

/// Returns a row for each of `shown` for a terminal, and the reasons that the verdicts refer to by
/// number.
fn table_with_reasons(shown: &[&Comparison], style: Style) -> (Table, Vec<String>) {
    let (mut table, mut reasons) = (empty_table(), Vec::new());
    let names = Shortener::of(shown.iter().map(|row| &row.id));
    let has_metrics = has_metrics(shown);
    for comparison in shown {
        let mut verdict = comparison.verdict.to_string();
        let why = comparison.why();
        if is_explained(comparison) && !why.is_empty() {
            let known = reasons.iter().position(|reason| *reason == why);
            let index = known.unwrap_or(reasons.len());
            if known.is_none() {
                reasons.push(why);
            }
            verdict.push_str(&format!(" [{}]", index + 1));
        }
        table.push(cells(comparison, names.full(&comparison.id), &verdict, has_metrics));
    }
    // If the table is too narrow for both values, drop both: one is of little use without the
    // other.
    if !table.shows(NOW_COLUMN, style.width) {
        table.clear(BEFORE_COLUMN);
    }
    (table, reasons)
}

const BEFORE_COLUMN: usize = 2;
const NOW_COLUMN: usize = 3;

fn empty_table() -> Table {
    Table::new([
        Column::elided("case"),
        Column::left("metric"),
        Column::right("before").optional(),
        Column::right("now").optional(),
        Column::right("change"),
        Column::right("95 % interval"),
        Column::left("verdict"),
    ])
}

fn has_metrics(shown: &[&Comparison]) -> bool {
    shown.iter().any(|row| row.metric != TIME)
}

fn cells(comparison: &Comparison, name: String, verdict: &str, has_metrics: bool) -> [Cell; 7] {
    let tone = tone(comparison.verdict);
    let change = comparison.difference_percent.map_or_else(String::new, format_percent);
    let interval = comparison.confidence_interval.map_or_else(String::new, format_interval);
    [
        Cell::from(name),
        Cell::from(if has_metrics { comparison.metric.as_str() } else { "" }),
        Cell::from(quantity_or_empty(comparison.baseline_value, &comparison.unit)),
        Cell::from(quantity_or_empty(comparison.current_value, &comparison.unit)),
        Cell::with_tone(change, tone),
        Cell::with_tone(interval, Tone::Dim),
        Cell::with_tone(verdict, tone),
    ]
}

pub(crate) fn quantity_or_empty(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(String::new, |value| format_quantity(value, unit))
}

/// Returns whether the reason is worth showing: "within the noise" on each Unchanged row is not.
fn is_explained(comparison: &Comparison) -> bool {
    comparison.verdict != Verdict::Unchanged || comparison.reason_code == ReasonCode::BelowThreshold
}

/// Returns a line for each folded group, such as `30 cases: the cpus differ`, and the counts of
/// Unchanged rows.
pub(crate) fn folded_lines(listing: &Listing<'_>) -> Vec<(Tone, String)> {
    let mut lines: Vec<(Tone, String)> = Vec::new();
    for (verdict, reason, count) in &listing.folded {
        let cases = format_count(*count, "case", "cases");
        lines.push((tone(*verdict), format!("{verdict}, {cases}: {reason}")));
    }
    let is_excused = |row: &&&Comparison| {
        row.verdict == Verdict::Unchanged && row.reason_code == ReasonCode::MachineMoved
    };
    let excused = listing.hidden.iter().filter(is_excused).count();
    if excused > 0 {
        let count = format_count(excused, "comparison is", "comparisons are");
        let why = "slower than the baseline, and so is the program that measured it: the machine \
                   changed, not the code";
        lines.push((Tone::Caution, format!("{count} {why}")));
    }
    if !listing.hidden.is_empty() {
        let count = format_count(listing.hidden.len(), "comparison", "comparisons");
        lines.push((Tone::Dim, format!("Unchanged: {count}")));
    }
    lines
}

/// Returns the mean change in time. With [`Detail::Full`], adds the slowdown that half of the
/// comparisons could have detected: a pass does not rule out smaller slowdowns.
pub fn overall_line(result: &ComparisonResult, detail: Detail) -> Option<String> {
    let mean = result.summary.weighted_change_percent;
    let mean = mean.map(|percent| format!("mean change of time {}", format_percent(percent)));
    let detectable = if detail == Detail::Full { detectable(result) } else { None };
    let parts: Vec<String> = mean.into_iter().chain(detectable).collect();
    (!parts.is_empty()).then(|| format!("Overall: {}", parts.join(", ")))
}

fn detectable(result: &ComparisonResult) -> Option<String> {
    let mut found: Vec<f64> =
        result.comparisons.iter().filter_map(|row| row.detectable_percent).collect();
    found.sort_by(f64::total_cmp);
    let median = *found.get(found.len() / 2)?;
    let percent = match median {
        // Too few measurements for a meaningful number.
        100.0.. => "> 100".to_owned(),
        10.0.. => format!("≥ {median:.0}"),
        _ => format!("≥ {median:.1}"),
    };
    Some(format!("could detect {percent} % (median case)"))
}

/// Returns the ids that only one side has, as (title, tone, ids), without empty lists.
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

/// Returns the verdict as a sentence, and its color.
pub fn verdict_sentence(result: &ComparisonResult) -> (Tone, String) {
    let all = format_count(result.comparisons.len(), "comparison", "comparisons");
    let sentence = match result.verdict {
        Verdict::Regressed => format!("REGRESSED: {}.", describe_regressions(result, &all)),
        Verdict::Inconclusive | Verdict::NotComparable => {
            let undecided =
                count_verdicts(result, &[Verdict::Inconclusive, Verdict::NotComparable]);
            format!("NO VERDICT: {}.", undecided_parts(result, undecided, &all))
        }
        Verdict::Improved => {
            let improved = count_verdicts(result, &[Verdict::Improved]);
            format!("PASS: none of {all} regressed, {improved} improved.")
        }
        Verdict::Unchanged => format!("PASS: none of {all} regressed."),
    };
    (tone(result.verdict), sentence)
}

pub(crate) fn count_verdicts(result: &ComparisonResult, wanted: &[Verdict]) -> usize {
    result.comparisons.iter().filter(|row| wanted.contains(&row.verdict)).count()
}

fn describe_regressions(result: &ComparisonResult, all: &str) -> String {
    let mut parts = Vec::new();
    let worse = regressions(result);
    if let Some(worst) = worse.first() {
        let verb = if worse.len() == 1 { "is" } else { "are" };
        let is_time = worse.iter().all(|row| row.metric == TIME);
        let how = if is_time { "slower" } else { "worse" };
        parts.push(format!("{} of {all} {verb} {how} than allowed", worse.len()));
        let metric =
            if worst.metric == TIME { String::new() } else { format!(" {}", worst.metric) };
        let name = format!("{}{metric}", short(worst.id.as_str()));
        parts.push(format!("the worst is {}{}", clean(&name), change_note(worst)));
    }
    let missed = result.threshold_checks.iter().filter(|check| check.passed == Some(false)).count();
    if missed > 0 {
        parts.push(format!("{} missed", format_count(missed, "target is", "targets are")));
    }
    parts.extend(missing(result));
    let undecided = result
        .comparisons
        .iter()
        .filter(|row| !row.verdict.is_decided() && row.reason_code != ReasonCode::Missing)
        .count();
    if undecided > 0 {
        let count = format_count(undecided, "comparison has", "comparisons have");
        parts.push(format!("{count} no verdict"));
    }
    parts.join("; ")
}

/// Returns the rows that Regressed, worst first. Missed targets are excluded: they are counted
/// separately.
pub(crate) fn regressions(result: &ComparisonResult) -> Vec<&Comparison> {
    by_importance(result)
        .into_iter()
        .filter(|row| {
            row.verdict == Verdict::Regressed && row.reason_code != ReasonCode::TargetMissed
        })
        .collect()
}

/// Formats a change: ` (+12.3 %)`, or ` (10 % after 0 %)` if the baseline is zero.
pub fn change_note(comparison: &Comparison) -> String {
    let unit = &comparison.unit;
    match (comparison.difference_percent, comparison.baseline_value, comparison.current_value) {
        (Some(percent), ..) => format!(" ({})", format_percent(percent)),
        (None, Some(before), Some(now)) => {
            format!(" ({} after {})", format_quantity(now, unit), format_quantity(before, unit))
        }
        (None, ..) => String::new(),
    }
}

fn undecided_parts(result: &ComparisonResult, undecided: usize, all: &str) -> String {
    let mut parts = Vec::new();
    if undecided > 0 {
        let verb = if undecided == 1 { "is" } else { "are" };
        let why = causes(result).join(", ");
        let slower = looks_slower(&result.comparisons);
        parts.push(format!("{undecided} of {all} {verb} undecided ({why}){slower}"));
    }
    parts.extend(missing(result));
    if parts.is_empty() {
        parts.push("there is nothing to compare".to_owned());
    }
    parts.join("; ")
}

/// Returns how many undecided rows have an interval that is entirely worse than allowed, to follow
/// their total: `, of which 1 looks slower`. Empty if none has.
pub(crate) fn looks_slower<'r>(rows: impl IntoIterator<Item = &'r Comparison>) -> String {
    let looks_worse = |row: &&Comparison| {
        let [low, high] = row.confidence_interval.unwrap_or_default();
        let least = if row.better == Better::Lower { low } else { -high };
        !row.verdict.is_decided() && least > row.threshold_percent
    };
    let rows: Vec<&Comparison> = rows.into_iter().filter(looks_worse).collect();
    if rows.is_empty() {
        return String::new();
    }
    let verb = if rows.len() == 1 { "looks" } else { "look" };
    let how = if rows.iter().all(|row| row.metric == TIME) { "slower" } else { "worse" };
    format!(", of which {} {verb} {how}", rows.len())
}

fn missing(result: &ComparisonResult) -> Option<String> {
    let count = result.missing.len();
    (count > 0).then(|| {
        format!("{} missing from the current run", format_count(count, "case is", "cases are"))
    })
}

/// Maximum number of causes that the verdict names; the footnotes list the rest.
const MAX_CAUSES: usize = 3;

/// Returns why rows are undecided, the most common cause first: `20 too noisy`, without the count
/// if it is the only one.
fn causes(result: &ComparisonResult) -> Vec<String> {
    let undecided = result.comparisons.iter().filter(|row| !row.verdict.is_decided());
    let mut causes = group_by_key(undecided.map(|row| (cause(row), row)));
    if let [(only, _)] = causes.as_slice() {
        return vec![only.clone()];
    }
    causes.sort_by_key(|(_, rows)| Reverse(rows.len()));
    let named = causes.into_iter().take(MAX_CAUSES);
    named.map(|(cause, rows)| format!("{} {cause}", rows.len())).collect()
}

fn cause(row: &Comparison) -> String {
    if row.reason_code == ReasonCode::UnlikeMachine {
        return without_parentheses(row.reason.split(';').next().unwrap_or_default());
    }
    row.reason_code.cause().to_owned()
}

/// Removes parentheses and their contents: `another machine: rocm (5.2 before, none now) differs`
/// becomes `another machine: rocm differs`.
fn without_parentheses(text: &str) -> String {
    let mut depth = 0_usize;
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(letter),
            _ => {}
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ").replace(" ,", ",")
}

/// Formats the heading: `RUN against BASELINE, threshold 10 %`.
pub fn head(result: &ComparisonResult) -> String {
    let (now, before) = (clean(&result.current_run_id), clean(&result.baseline_run_id));
    format!("{now} against {before}, {}", thresholds(result))
}

/// Formats the thresholds of the rows with a change: `threshold 2 %`, or `thresholds 2 % to 10 %`
/// if they differ. Without such a row, formats the default threshold.
pub(crate) fn thresholds(result: &ComparisonResult) -> String {
    let changed = result.comparisons.iter().filter(|row| row.difference_percent.is_some());
    let (low, high) = changed
        .map(|row| row.threshold_percent)
        .minmax_by(f64::total_cmp)
        .into_option()
        .unwrap_or((result.threshold_percent, result.threshold_percent));
    let [low, high] = [low, high].map(format_threshold);
    if low == high { format!("threshold {low}") } else { format!("thresholds {low} to {high}") }
}

const TITLE: &str = "Comparison";

/// Formats the comparison for a terminal, with the verdict last.
pub fn text(result: &ComparisonResult, style: Style, detail: Detail) -> String {
    let listing = listing(result, detail);
    let head = style.wrap(&format!("{TITLE} {}", head(result)), 0);
    let mut out = head.replacen(TITLE, &style.paint(Tone::Strong, TITLE), 1) + "\n";
    let (table, reasons) = table_with_reasons(&listing.shown, style);
    if !table.is_empty() {
        out.push_str(&table.text(style));
        for (index, reason) in reasons.iter().enumerate() {
            let number = format!("[{}] ", index + 1);
            let text = style.wrap(reason, number.len());
            out.push_str(&style.paint(Tone::Dim, &format!("{number}{}", text.trim())));
            out.push('\n');
        }
        out.push('\n');
    }
    if detail == Detail::Full {
        out.push_str(&compared::text(&listing.shown, style));
    }
    for (tone, line) in folded_lines(&listing) {
        out.push_str(&style.line(tone, &line));
    }
    out.extend(overall_line(result, detail).map(|line| style.line(Tone::Dim, &line)));
    for (title, tone, ids) in one_sided(result) {
        out.push_str(&(style.paint(tone, &format!("{title}: {}", ids.len())) + "\n"));
        out.extend(ids.iter().map(|id| format!("  {}\n", clean(id))));
    }
    if !result.threshold_checks.is_empty() {
        out.push('\n');
        out.push_str(targets::text(&result.threshold_checks, style).trim_end());
        out.push('\n');
    }
    for note in &result.notes {
        out.push_str(&style.line(Tone::Dim, &format!("note: {}", clean(&note.text))));
    }
    let (tone, sentence) = verdict_sentence(result);
    out.push_str(&format!("\n{}", style.line(tone, &sentence)));
    out
}

/// Formats the comparison as Markdown, with the verdict first and without the targets.
pub fn markdown(result: &ComparisonResult, detail: Detail) -> String {
    format!("**{}**\n\n{}", escape(&verdict_sentence(result).1), markdown_body(result, detail))
}

/// Formats the comparison as [`markdown`] does, without the verdict, for a document that begins
/// with it.
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
    let lines: String =
        folded_lines(&listing).iter().map(|(_, line)| format!("- {}\n", escape(line))).collect();
    out.push_str(&lines);
    out.extend(overall_line(result, detail).map(|line| format!("- {}\n", escape(&line))));
    for (title, _, ids) in one_sided(result) {
        out.push_str(&format!("- {title}:\n"));
        out.extend(ids.iter().map(|id| format!("  - {}\n", escape(id))));
    }
    out.extend(result.notes.iter().map(|note| format!("- Note: {}\n", escape(&note.text))));
    out
}

const COLUMNS: [CsvColumn<Comparison>; 15] = [
    ("id", |row| row.id.to_string()),
    ("metric", |row| row.metric.clone()),
    ("unit", |row| row.unit.clone()),
    ("better", |row| row.better.to_string()),
    ("baseline_value", |row| csv_number(row.baseline_value)),
    ("current_value", |row| csv_number(row.current_value)),
    ("difference_percent", |row| csv_number(row.difference_percent)),
    ("interval_low_percent", |row| csv_number(row.confidence_interval.map(|[low, _]| low))),
    ("interval_high_percent", |row| csv_number(row.confidence_interval.map(|[_, high]| high))),
    ("change_status", |row| row.change_status.map_or("", ChangeStatus::as_str).to_owned()),
    ("verdict", |row| row.verdict.to_string()),
    ("reason_code", |row| row.reason_code.as_str().to_owned()),
    ("reason", |row| row.reason.clone()),
    ("threshold_percent", |row| csv_number(Some(row.threshold_percent))),
    ("detectable_percent", |row| csv_number(row.detectable_percent)),
];

/// Formats the comparison as CSV: a row for each metric of each case, in the order of the
/// comparison.
///
/// # Errors
/// If the CSV writer fails, which the data of a comparison cannot cause.
pub fn csv_rows(result: &ComparisonResult) -> Result<String, ReportError> {
    csv_of(&COLUMNS, &result.comparisons)
}

#[cfg(test)]
mod tests {
    use rsb_model::record::Comparison;
    use rsb_model::{ReasonCode, Verdict};

    use super::{Detail, by_importance, detectable, head, text, verdict_sentence};
    use crate::sample;
    use crate::style::Style;

    #[test]
    fn the_heading_names_the_thresholds_that_were_used() {
        let mut result = sample::comparison();
        for row in &mut result.comparisons {
            row.threshold_percent = 2.0;
        }
        assert!(head(&result).ends_with(" against main, threshold 2 %"), "{}", head(&result));
        // Computed from a fraction, as the gate computes thresholds.
        result.comparisons[0].threshold_percent = 100.0 * (7.0 / 100.0);
        assert!(head(&result).ends_with(", thresholds 2 % to 7 %"), "{}", head(&result));
        result.comparisons.clear();
        assert!(head(&result).ends_with(", threshold 10 %"), "{}", head(&result));
    }

    #[test]
    fn the_worst_is_what_regressed_whatever_else_changed_more() {
        let missed = Comparison {
            reason_code: ReasonCode::TargetMissed,
            baseline_value: None,
            ..regressed(0.0, 3.0, None)
        };
        let time = sample::comparison().comparisons[2].clone();
        for (rows, said) in [
            (
                vec![time.clone(), regressed(0.0, 100.0, None)],
                "2 of 3 comparisons are worse than allowed; the worst is tensor-ops \
                 cpu:0/gelu/f32/64MiB failed_runs_percent (100 % after 0 %)",
            ),
            (vec![regressed(5.0, 10.0, Some(100.0)), time.clone()], "failed_runs_percent (+100 %)"),
            (
                vec![time, missed.clone()],
                "1 of 3 comparisons is slower than allowed; the worst is gemm \
                 cpu:0/f32/1024x1024x1024 (+15.9 %)",
            ),
            (vec![missed], "REGRESSED: 1 target is missed"),
        ] {
            let mut result = sample::comparison();
            // An improvement that is larger than any regression.
            let improved =
                Comparison { difference_percent: Some(-98.0), ..result.comparisons[1].clone() };
            result.comparisons = rows.into_iter().chain([improved]).collect();
            let sentence = verdict_sentence(&result).1;
            assert!(sentence.contains(said), "{sentence}");
        }
    }

    fn regressed(before: f64, now: f64, percent: Option<f64>) -> Comparison {
        Comparison {
            metric: "failed_runs_percent".into(),
            unit: "%".into(),
            baseline_value: Some(before),
            current_value: Some(now),
            difference_percent: percent,
            verdict: Verdict::Regressed,
            ..sample::comparison().comparisons[1].clone()
        }
    }

    #[test]
    fn a_metric_with_more_weight_comes_first_among_equal_verdicts() {
        let mut result = sample::comparison();
        result.comparisons = vec![
            regressed(5.0, 10.0, Some(100.0)),
            Comparison { metric: "memory_used_mb".into(), ..regressed(5.0, 6.0, Some(20.0)) },
            Comparison { verdict: Verdict::Unchanged, ..regressed(5.0, 5.0, Some(0.0)) },
        ];
        for (weight, first) in [(None, "failed_runs_percent"), (Some(2.0), "memory_used_mb")] {
            let weights = &mut result.summary.metric_weights;
            weights.extend(weight.map(|weight| ("memory_used_mb".to_owned(), weight)));
            let order = by_importance(&result);
            assert_eq!(order[0].metric, first);
            assert_eq!(order[2].verdict, Verdict::Unchanged);
        }
    }

    #[test]
    fn detectable_gives_the_median_case() {
        assert_eq!(
            detectable_line(&[3.0, 11.1, 47358.6]).as_deref(),
            Some("could detect ≥ 11 % (median case)")
        );
        assert_eq!(detectable_line(&[3.04]).as_deref(), Some("could detect ≥ 3.0 % (median case)"));
        assert_eq!(
            detectable_line(&[500.0]).as_deref(),
            Some("could detect > 100 % (median case)")
        );
        assert_eq!(detectable_line(&[]), None);
    }

    fn detectable_line(percents: &[f64]) -> Option<String> {
        let mut result = sample::comparison();
        let row = result.comparisons[0].clone();
        let rows = percents
            .iter()
            .map(|percent| Comparison { detectable_percent: Some(*percent), ..row.clone() });
        result.comparisons = rows.collect();
        detectable(&result)
    }

    #[test]
    fn a_reason_that_many_cases_share_is_printed_once() {
        let mut result = sample::comparison();
        let noisy = result.comparisons[5].clone();
        result.comparisons.clear();
        for percent in 1..=12 {
            result.comparisons.push(Comparison {
                id: format!("cpu_performance/gemm/cpu:0/f32/{percent}").parse().unwrap(),
                reason: format!(
                    "{percent} % slower (95 % interval -2 to 30 %), too noisy to exclude a change \
                     above the threshold of 10 %"
                ),
                ..noisy.clone()
            });
        }
        result.verdict = Verdict::Inconclusive;
        result.missing.clear();
        let shown = text(&result, Style::PLAIN, Detail::Brief);
        assert_eq!(shown.matches("too noisy to exclude").count(), 1, "{shown}");
        assert_eq!(shown.matches("Inconclusive [1]").count(), 12, "{shown}");
        assert!(
            shown.ends_with("\nNO VERDICT: 12 of 12 comparisons are undecided (too noisy).\n"),
            "{shown}"
        );
    }

    #[test]
    fn a_verdict_that_is_missing_names_its_causes() {
        let mut result = sample::comparison();
        let unlike = Comparison {
            verdict: Verdict::NotComparable,
            reason_code: ReasonCode::UnlikeMachine,
            reason:
                "another machine: cpu (Intel(R) Xeon(R) before, AMD now), rocm (5.2 before, none \
                 now) differ; save a \
                     baseline on this machine"
                    .to_owned(),
            ..result.comparisons[5].clone()
        };
        result.comparisons = vec![unlike.clone(), unlike];
        result.verdict = Verdict::NotComparable;
        result.missing.clear();
        assert_eq!(
            verdict_sentence(&result).1,
            "NO VERDICT: 2 of 2 comparisons are undecided (another machine: cpu, rocm differ)."
        );
    }
}
