//! The cases, grouped by benchmark: last value, changes over a week and a month, the series, and
//! when each was measured.

use std::cmp::Reverse;
use std::collections::HashMap;

use rsb_model::{Outcome, Timestamp};
use rsb_report::html::element::{class, escape};
use rsb_report::run::outcome_cell;
use rsb_report::{format_percent, format_quantity};

use super::listing::{branches, filter, holds, outside, paginate};
use crate::address::{Address, CaseOrder, CaseView, ListFilter, PageView};
use crate::cards::{CardColumn, CardTable, number, text};
use crate::names::{case_parts, shared_prefix};
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::{CaseLine, SourceResult, StoredCase};
use crate::spark::spark;

const DAY: i64 = 86_400;
/// Number of values whose median stands for a moment.
const AROUND: usize = 3;

/// A case with what its row shows.
struct CaseEntry<'c> {
    case: &'c StoredCase,
    line: Option<&'c CaseLine>,
    benchmark: String,
    name: String,
    week: Option<f64>,
    month: Option<f64>,
}

impl<'c> CaseEntry<'c> {
    fn of(case: &'c StoredCase, line: Option<&'c CaseLine>) -> Self {
        let (benchmark, name) = case_parts(&case.id);
        let change = |days| line.and_then(|line| change_over(&line.points, days));
        Self { case, line, benchmark, name, week: change(7), month: change(30) }
    }

    fn runs(&self) -> usize {
        self.line.map_or(0, |line| line.points.len())
    }

    /// Returns the last value in nanoseconds if it is a time.
    fn value(&self) -> f64 {
        let last = self.line.and_then(|line| line.points.last()).map_or(0.0, |(_, value)| *value);
        match self.line.map(|line| line.unit.as_str()) {
            Some("ms") => last * 1e6,
            Some("µs" | "us") => last * 1e3,
            _ => last,
        }
    }
}

pub(super) fn page<'v>(
    site: &Site<'_>,
    view: &'v PageView,
    query: &ListFilter,
) -> SourceResult<Sheet<'v>> {
    let (all, lines) = (site.source().cases()?, site.source().lines(&query.branch)?);
    let lines: HashMap<&str, &CaseLine> =
        lines.iter().rev().map(|line| (line.id.as_str(), line)).collect();
    // The list of cases is that of all runs.
    let is_of_branch =
        |case: &&StoredCase| query.branch.is_empty() || lines.contains_key(case.id.as_str());
    let matching = all.iter().filter(|case| holds(&case.id, &query.find)).filter(is_of_branch);
    let mut entries: Vec<CaseEntry<'_>> =
        matching.map(|case| CaseEntry::of(case, lines.get(case.id.as_str()).copied())).collect();
    sort(&mut entries, query.sort);
    let mut sheet = Sheet::new("Cases", Some(view));
    sheet.push(&branches(site, &query.branch, |branch| {
        PageView::Cases(ListFilter { branch, page: 0, ..query.clone() })
    }));
    sheet.push(&filter(site, view, "part of a case's name"));
    sheet.push(&orders(site, query));
    let (shown, pages) = paginate(site, &entries, query, PageView::Cases);
    for group in shown.chunk_by(|a, b| a.benchmark == b.benchmark) {
        sheet.push(&benchmark_group(site, group));
    }
    if all.is_empty() {
        sheet.say(
            rsb_report::Tone::Caution,
            "No case was measured yet: `rusty-stack-bench run` makes the first run.",
        );
    }
    sheet.push(&outside(all.len() - entries.len(), "case is", "cases are"));
    sheet.push(&pages);
    Ok(sheet)
}

/// Sorts by benchmark, and within each by `order`.
fn sort(entries: &mut [CaseEntry<'_>], order: CaseOrder) {
    let size = |change: Option<f64>| change.map_or(-1.0, f64::abs);
    entries.sort_by(|a, b| {
        let within = match order {
            CaseOrder::Name => std::cmp::Ordering::Equal,
            CaseOrder::Value => b.value().total_cmp(&a.value()),
            CaseOrder::Week => size(b.week).total_cmp(&size(a.week)),
            CaseOrder::Month => size(b.month).total_cmp(&size(a.month)),
            CaseOrder::Runs => Reverse(a.runs()).cmp(&Reverse(b.runs())),
            CaseOrder::Last => a.case.last.cmp(&b.case.last),
        };
        a.benchmark.cmp(&b.benchmark).then(within).then_with(|| a.name.cmp(&b.name))
    });
}

/// Returns the links that sort by each column.
fn orders(site: &Site<'_>, query: &ListFilter) -> String {
    if !site.answers() {
        return String::new();
    }
    let mut items = String::new();
    for (sort, _, title) in CaseOrder::ALL {
        let here = if sort == query.sort { " aria-current=\"true\"" } else { "" };
        let view = PageView::Cases(ListFilter { sort, page: 0, ..query.clone() });
        let link = escape(&site.link(Address::page(view)));
        items.push_str(&format!("<li><a href=\"{link}\"{here}>{title}</a>"));
    }
    format!(
        "<nav aria-label=\"Order of cases\"><ul class=\"choice\"><li>Sort by:{items}</ul></nav>\n"
    )
}

const COLUMNS: &[CardColumn] = &[
    text("case"),
    number("last"),
    number("7 days"),
    number("30 days"),
    text("over the runs"),
    number("runs"),
    text("measured"),
];

/// Returns the cases of one benchmark, with what their names share in the heading.
fn benchmark_group(site: &Site<'_>, group: &[CaseEntry<'_>]) -> String {
    let shared = shared_prefix(group.iter().map(|entry| entry.name.as_str()));
    let mut table = CardTable::new("Cases that were measured", COLUMNS);
    for entry in group {
        let name = entry.name.strip_prefix(shared).unwrap_or(&entry.name);
        let last = entry.line.and_then(|line| line.points.last());
        let value = match (last, entry.line) {
            (Some((_, value)), Some(line)) => escape(&format_quantity(*value, &line.unit)),
            _ => String::new(),
        };
        let values: Vec<f64> = entry
            .line
            .map_or_else(Vec::new, |line| line.points.iter().map(|(_, value)| *value).collect());
        let runs = if values.is_empty() { String::new() } else { values.len().to_string() };
        table.push(&[
            site.case_link(CaseView::of(&entry.case.id), name),
            value,
            change_html(entry.week),
            change_html(entry.month),
            spark(&values, "values over the runs, oldest first"),
            runs,
            measured(site, entry.case),
        ]);
    }
    let benchmark = match group.first().map(|entry| entry.benchmark.as_str()) {
        None | Some("") => "Other projects",
        Some(name) => name,
    };
    let shared = shared.trim_end_matches('/');
    let shared = if shared.is_empty() {
        String::new()
    } else {
        format!(" <span class=\"dim\">{}</span>", escape(shared))
    };
    format!("<h2 class=\"group\">{}{shared}</h2>\n{}", escape(benchmark), table.html())
}

/// Returns when a case was last measured, and its outcome unless it has a value.
fn measured(site: &Site<'_>, case: &StoredCase) -> String {
    let at = escape(&site.moment(case.last));
    if case.outcome == Outcome::Measured {
        return at;
    }
    let cell = outcome_cell(case.outcome);
    let class = class(cell.tone).unwrap_or_default();
    format!("{at} <span class=\"{class}\">{}</span>", escape(&cell.text))
}

fn change_html(change: Option<f64>) -> String {
    change.map_or_else(String::new, |change| escape(&format_percent(change)))
}

/// Returns the change in percent from the values before the last `days` to the last ones; medians
/// of three on each side. `None` if there are none so old.
fn change_over(points: &[(Timestamp, f64)], days: i64) -> Option<f64> {
    let (last, _) = points.last()?;
    let limit = last.as_second() - days * DAY;
    let old = points.iter().rposition(|(at, _)| at.as_second() <= limit)?;
    let median = |points: &[(Timestamp, f64)]| {
        let mut values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    let before = median(points.get((old + 1).saturating_sub(AROUND)..=old)?)?;
    let now = median(points.get(points.len().saturating_sub(AROUND).max(old + 1)..)?)?;
    let change = 100.0 * (now - before) / before.abs();
    change.is_finite().then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_from_the_values_before_that_time() {
        let day = |day: i64| Timestamp::from_second(day * DAY).unwrap();
        let points: Vec<(Timestamp, f64)> =
            (0..40).map(|at| (day(at), if at < 35 { 100.0 } else { 110.0 })).collect();
        let percent = |days| change_over(&points, days).map(f64::round);
        assert_eq!([percent(7), percent(30), percent(2)], [Some(10.0), Some(10.0), Some(0.0)]);
        assert_eq!(change_over(&points, 60), None);
        assert_eq!(change_over(&points[..1], 7), None);
    }
}
