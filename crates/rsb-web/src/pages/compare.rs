//! Comparison of any two runs: the verdict, and the rows with a filter and an order. Rows that the
//! filter hides are counted, and regressions among them are as prominent as those shown.

use rsb_model::record::Comparison;
use rsb_model::{ComparisonResult, Verdict};
use rsb_report::comparison::{self, Detail, by_importance};
use rsb_report::html::element::{anchor, class, escape, list, prose, table};
use rsb_report::label::Shortener;
use rsb_report::number::{count_words, format_count, format_interval};
use rsb_report::{
    BaselineRow, Chart, RunRow, Tone, charts as all_charts, environment, format_percent,
    format_quantity, trend::short,
};

use super::{listing::holds, verdict_tone};
use crate::address::{Address, CaseView, CompareView, Order, PageView, ShownVerdicts};
use crate::cards::{CardColumn, CardTable, number, text};
use crate::figure::{Zoom, figures};
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::{ComparedRuns, SourceError, SourceResult};

const ROWS: usize = 1000;
/// Number of runs that the choice offers by name; others can be entered by id.
const OFFERED: usize = 100;

pub(super) fn page<'v>(
    site: &Site<'_>,
    view: &'v PageView,
    query: &CompareView,
) -> SourceResult<Sheet<'v>> {
    let newest = newest_pair(site, query);
    let query = newest.as_ref().unwrap_or(query);
    if query.from.is_empty() || query.to.is_empty() {
        let mut sheet = Sheet::new("Compare", Some(view));
        sheet.paragraph(
            "No two runs of one suite and machine are stored yet. Choose a run or a saved baseline, \
             and the run to compare with it.",
        );
        sheet.push(&pairs(site, query)?);
        sheet.push(&choice(site, query)?);
        return Ok(sheet);
    }
    let compared = match site.source().compare(&query.from, &query.to) {
        // Other runs may be comparable.
        Err(SourceError::Senseless(why)) => {
            let mut sheet = Sheet::new("Compare", Some(view));
            sheet.say(Tone::Caution, &why);
            sheet.push(&pairs(site, query)?);
            sheet.push(&choice(site, query)?);
            return Ok(sheet);
        }
        compared => compared?,
    };
    let result = &compared.result;
    let mut sheet = Sheet::new("Comparison", Some(view)).under(&sides(site, query, result));
    sheet.say(verdict_tone(result), &comparison::verdict_sentence(result).1);
    sheet.push(&pairs(site, query)?);
    sheet.push(&choice(site, query)?);
    sheet.push(&filters(site, query, result));
    let (shown, hidden) = select_rows(query, result);
    let kept = shown.get(..shown.len().min(ROWS)).unwrap_or_default();
    let cut = shown.get(kept.len()..).unwrap_or_default();
    let rows = row_table(site, kept);
    let rows = if rows.is_empty() { format!("<p>{}</p>\n", no_rows(query)) } else { rows };
    sheet.section(
        "rows",
        "Cases",
        rows + &outside(site, query, "beyond the rows of this page", cut)
            + &outside(site, query, "outside this filter", &hidden),
    );
    sheet.section("more", "Summary", summary_list(result));
    sheet.section("environment", "Differences of the machine", differences(&compared));
    let view = PageView::Compare(query.clone());
    sheet.section(
        "charts",
        "Charts",
        figures(site, &view, &drawn(site, query, result), &Zoom::Fixed),
    );
    Ok(sheet)
}

pub(super) fn charts(site: &Site<'_>, query: &CompareView) -> SourceResult<Vec<Chart>> {
    Ok(drawn(site, query, &site.source().compare(&query.from, &query.to)?.result))
}

/// Returns the charts of a comparison, whose titles name the sides as the page does.
fn drawn(site: &Site<'_>, query: &CompareView, result: &ComparisonResult) -> Vec<Chart> {
    let [baseline_run_id, current_run_id] = side_names(site, query, result);
    let result = ComparisonResult { baseline_run_id, current_run_id, ..result.clone() };
    [all_charts::comparison, all_charts::delta, all_charts::before_after]
        .iter()
        .filter_map(|draw| draw(&result))
        .collect()
}

/// Returns the newest run and the one before it of the same suite and machine, if no run is named.
/// If only the newer side is named, it is compared with the run before it.
fn newest_pair(site: &Site<'_>, query: &CompareView) -> Option<CompareView> {
    if !query.from.is_empty() {
        return None;
    }
    let measured = || site.runs().iter().filter(|run| run.measured > 0);
    let pairs = measured().filter(|run| {
        query.to.is_empty() || run.run_id == query.to || run.branch.as_ref() == Some(&query.to)
    });
    for to in pairs {
        let before = measured().find(|run| {
            run.machine == to.machine && run.suite == to.suite && run.started < to.started
        });
        if let Some(from) = before {
            let sides = CompareView::of(&from.run_id, &to.run_id);
            return Some(CompareView { from: sides.from, to: sides.to, ..query.clone() });
        }
    }
    None
}

/// Returns the names of both sides and the threshold.
fn sides(site: &Site<'_>, query: &CompareView, result: &ComparisonResult) -> String {
    let [from, to] = side_names(site, query, result);
    let head = comparison::head(result);
    let threshold = head.rsplit_once(", ").map_or("", |(_, threshold)| threshold);
    format!("{to} against {from}, {threshold}")
}

const COLUMNS: &[CardColumn] = &[
    text("case"),
    number("before"),
    number("now"),
    number("change"),
    number("95 % interval"),
    text("verdict"),
    text("why"),
];

fn row_table(site: &Site<'_>, rows: &[&Comparison]) -> String {
    let names = Shortener::of(rows.iter().map(|row| &row.id));
    let is_time = rows.iter().all(|row| row.metric == "time_ms");
    let quantity = |value: Option<f64>, unit: &str| {
        value.map_or_else(String::new, |value| escape(&format_quantity(value, unit)))
    };
    let mut table = CardTable::new("Cases that were compared", COLUMNS);
    for row in rows {
        let name = names.full(&row.id);
        let name = if is_time { name } else { format!("{name} {}", row.metric) };
        let view = CaseView { metric: row.metric.clone(), ..CaseView::of(row.id.as_str()) };
        // An export has one page for each case.
        let view = if site.answers() { view } else { CaseView::of(row.id.as_str()) };
        let class = class(comparison::tone(row.verdict)).unwrap_or_default();
        let toned = |text: &str| format!("<span class=\"{class}\">{}</span>", escape(text));
        let why = if row.verdict == Verdict::Unchanged { String::new() } else { row.why() };
        table.push(&[
            site.case_link(view, &name),
            quantity(row.baseline_value, &row.unit),
            quantity(row.current_value, &row.unit),
            row.difference_percent
                .map_or_else(String::new, |change| toned(&format_percent(change))),
            row.confidence_interval.map_or_else(String::new, format_interval),
            toned(row.verdict.as_str()),
            prose(&why),
        ]);
    }
    table.html()
}

const fn no_rows(query: &CompareView) -> &'static str {
    match query.show {
        ShownVerdicts::Changed if query.find.is_empty() => "No case changed.",
        _ => "No row matches this filter.",
    }
}

/// Returns the names of the baseline side and of the current side.
fn side_names(site: &Site<'_>, query: &CompareView, result: &ComparisonResult) -> [String; 2] {
    let baselines = site.source().baselines().unwrap_or_default();
    let name = |name: &str, id: &str| {
        let mut runs = site.runs().iter();
        if runs.clone().any(|run| run.run_id.starts_with(name)) {
            return site.name_of_run(name);
        }
        // A branch or a commit is its run in this comparison, whose name may contain it.
        let of_run = site.name_of_run(id);
        let is_its = runs.any(|run| run.run_id == id && run.branch.as_deref() == Some(name));
        if is_its { of_run } else { format!("{name}, {of_run}") }
    };
    let from = if baselines.iter().any(|row| row.name == query.from) {
        format!("baseline {}", query.from)
    } else {
        name(&query.from, &result.baseline_run_id)
    };
    [from, name(&query.to, &result.current_run_id)]
}

/// Returns the links to the pairs that are compared most often: the last run with the one before it
/// and with the baseline, and the branch measured last with the main branch.
fn pairs(site: &Site<'_>, query: &CompareView) -> SourceResult<String> {
    if !site.answers() {
        return Ok(String::new());
    }
    let baselines = site.source().baselines()?;
    let measured = || site.runs().iter().filter(|run| run.measured > 0);
    let saved = measured().find_map(|run| {
        let own = |row: &&BaselineRow| row.name == run.suite && row.machine == run.machine;
        Some(CompareView::of(&baselines.iter().find(own)?.name, &run.run_id))
    });
    let branch = site.main_branch().and_then(|main| {
        let other =
            measured().find_map(|run| run.branch.as_deref().filter(|name| *name != main))?;
        Some((format!("{other} and {main}"), CompareView::of(main, other)))
    });
    let mut all = Vec::new();
    let previous = newest_pair(site, &CompareView::default());
    all.extend(previous.map(|pair| ("last and previous".to_owned(), pair)));
    all.extend(saved.map(|pair| ("last and baseline".to_owned(), pair)));
    all.extend(branch);
    if all.len() < 2 {
        return Ok(String::new());
    }
    let mut items = String::new();
    for (title, pair) in all {
        let is_here = pair.from == query.from && pair.to == query.to;
        let view = CompareView { from: pair.from, to: pair.to, ..query.clone() };
        items.push_str(&item(site, is_here, &title, view));
    }
    Ok(format!("<nav aria-label=\"Pair\"><ul class=\"choice\"><li>Pair:{items}</ul></nav>\n"))
}

/// Returns whether `row` matches the filter `show`.
const fn is_among(show: ShownVerdicts, row: &Comparison) -> bool {
    match show {
        ShownVerdicts::All => true,
        ShownVerdicts::Changed => !matches!(row.verdict, Verdict::Unchanged),
        ShownVerdicts::Regressed => matches!(row.verdict, Verdict::Regressed),
        ShownVerdicts::Improved => matches!(row.verdict, Verdict::Improved),
        ShownVerdicts::Undecided => {
            matches!(row.verdict, Verdict::Inconclusive | Verdict::NotComparable)
        }
    }
}

/// Returns the requested rows in order, and all others.
fn select_rows<'r>(
    query: &CompareView,
    result: &'r ComparisonResult,
) -> (Vec<&'r Comparison>, Vec<&'r Comparison>) {
    let (mut shown, hidden): (Vec<_>, Vec<_>) =
        by_importance(result).into_iter().partition(|row| {
            let name = format!("{} {}", short(row.id.as_str()), row.metric);
            is_among(query.show, row)
                && (holds(&name, &query.find) || holds(row.id.as_str(), &query.find))
        });
    match query.sort {
        // What changed comes first, then what may have changed.
        Order::Importance => shown.sort_by_key(|row| match row.verdict {
            Verdict::Regressed => 0,
            Verdict::Improved => 1,
            Verdict::Inconclusive | Verdict::NotComparable => 2,
            Verdict::Unchanged => 3,
        }),
        Order::Change => shown.sort_by(|a, b| change_size(b).total_cmp(&change_size(a))),
        Order::Case => {
            shown.sort_by(|a, b| (a.id.as_str(), &a.metric).cmp(&(b.id.as_str(), &b.metric)));
        }
    }
    (shown, hidden)
}

fn change_size(row: &Comparison) -> f64 {
    row.difference_percent.map_or(0.0, f64::abs)
}

/// Returns the number of hidden rows by verdict. Rows that regressed or have no verdict are as
/// prominent as if they were shown.
fn outside(site: &Site<'_>, query: &CompareView, place: &str, hidden: &[&Comparison]) -> String {
    if hidden.is_empty() {
        return String::new();
    }
    let regressed = count_among(ShownVerdicts::Regressed, hidden);
    let undecided = count_among(ShownVerdicts::Undecided, hidden);
    let improved = count_among(ShownVerdicts::Improved, hidden);
    let text = [(regressed, "regressed"), (undecided, "without a verdict"), (improved, "improved")];
    let mut text = count_words(&text);
    if text.is_empty() {
        text.push_str("all unchanged");
    }
    let tone = match (regressed, undecided) {
        (1.., _) => Tone::Bad,
        (0, 1..) => Tone::Caution,
        _ => Tone::Dim,
    };
    let all = CompareView { show: ShownVerdicts::All, find: String::new(), ..query.clone() };
    let link = anchor(&site.link(Address::page(PageView::Compare(all))), "show every row");
    let is_linked = site.answers() && query.show != ShownVerdicts::All;
    let link = if is_linked { format!("; {link}") } else { String::new() };
    let (class, count) = (class(tone).unwrap_or_default(), hidden.len());
    format!("<p class=\"{class}\">{count} more {place}: {text}{link}</p>\n")
}

fn count_among(show: ShownVerdicts, rows: &[&Comparison]) -> usize {
    rows.iter().filter(|row| is_among(show, row)).count()
}

/// Returns the filters by verdict with their counts, the order, and the text filter for names.
fn filters(site: &Site<'_>, query: &CompareView, result: &ComparisonResult) -> String {
    if !site.answers() {
        return String::new();
    }
    let mut shows = String::new();
    for (show, _, title) in ShownVerdicts::ALL {
        let count = result.comparisons.iter().filter(|row| is_among(show, row)).count();
        let title = format!("{title} ({count})");
        let view = CompareView { show, ..query.clone() };
        shows.push_str(&item(site, query.show == show, &title, view));
    }
    let mut orders = String::new();
    for (sort, _, title) in Order::ALL {
        let view = CompareView { sort, ..query.clone() };
        orders.push_str(&item(site, query.sort == sort, title, view));
    }
    format!(
        "<nav aria-label=\"Which rows\"><ul class=\"choice\"><li>Show:{shows}</ul></nav>\n\
         <nav aria-label=\"Order of rows\"><ul class=\"choice\"><li>Order:{orders}</ul></nav>\n{}",
        find(query),
    )
}

fn item(site: &Site<'_>, is_here: bool, title: &str, view: CompareView) -> String {
    let here = if is_here { " aria-current=\"true\"" } else { "" };
    let link = escape(&site.link(Address::page(PageView::Compare(view))));
    format!("<li><a href=\"{link}\"{here}>{}</a>", escape(title))
}

fn find(query: &CompareView) -> String {
    let plain = CompareView { find: String::new(), ..query.clone() };
    let hidden = PageView::Compare(plain).pairs().into_iter();
    let hidden: String = hidden
        .map(|(key, value)| {
            format!("<input type=\"hidden\" name=\"{key}\" value=\"{}\">", escape(&value))
        })
        .collect();
    format!(
        "<form action=\"compare\" method=\"get\" class=\"filter\">{hidden}<label for=\"find\">Only \
         cases with</label> \
         <input type=\"search\" id=\"find\" name=\"find\" value=\"{}\"> \
         <button>Show</button></form>\n",
        escape(&query.find)
    )
}

fn choice(site: &Site<'_>, query: &CompareView) -> SourceResult<String> {
    if !site.answers() {
        return Ok(String::new());
    }
    let (runs, baselines) = (site.source().runs()?, site.source().baselines()?);
    let branches = site.branches();
    let mut saved = String::new();
    for row in baselines.iter() {
        saved.push_str(&option(&row.name, &format!("saved baseline {}", row.name), &query.from));
    }
    let stored = |chosen: &str| {
        let is_offered = |run: &&RunRow| run.measured > 0 || run.run_id == chosen;
        let offered = runs.iter().filter(is_offered).take(OFFERED);
        // A link may name an older run, or the beginning of an id.
        let is_listed = |text: &str| {
            offered.clone().any(|run| run.run_id == text)
                || branches.contains(&text)
                || baselines.iter().any(|row| row.name == text)
        };
        let mut options = String::new();
        if !chosen.is_empty() && !is_listed(chosen) {
            options.push_str(&option(chosen, &site.name_of_run(chosen), chosen));
        }
        for branch in &branches {
            options.push_str(&option(branch, &format!("branch {branch}"), chosen));
        }
        for run in offered.clone() {
            let text = format!("{} on {}", site.run_name(run), site.machine(&run.machine));
            options.push_str(&option(&run.run_id, &text, chosen));
        }
        options
    };
    Ok(format!(
        "<form action=\"compare\" method=\"get\" class=\"filter\">{}{}<button>Compare</button>\
         </form>\n",
        side("from", "Before", &(saved + &stored(&query.from))),
        side("to", "Now", &stored(&query.to)),
    ))
}

fn option(value: &str, text: &str, chosen: &str) -> String {
    let is_chosen = if value == chosen { " selected" } else { "" };
    format!("<option value=\"{}\"{is_chosen}>{}</option>", escape(value), escape(text))
}

/// Returns the field for one side.
fn side(name: &str, title: &str, options: &str) -> String {
    format!(
        "<label for=\"{name}\">{title}</label> <select id=\"{name}\" name=\"{name}\">{options}</select> "
    )
}

/// Returns the list below the rows: the overall change, cases of one side only, and notes.
fn summary_list(result: &ComparisonResult) -> String {
    let one_sided = comparison::one_sided(result).into_iter().map(|(title, tone, ids)| {
        let class = class(tone).unwrap_or_default();
        format!("<span class=\"{class}\">{title}: {}</span> {}", ids.len(), escape(&ids.join(", ")))
    });
    let overall = comparison::overall_line(result, Detail::Full).map(|line| prose(&line));
    let notes = result.notes.iter().map(|note| format!("Note: {}", prose(&note.text)));
    let missed = result.threshold_checks.iter().filter(|check| check.passed == Some(false)).count();
    let missed = (missed > 0).then(|| {
        let count = format_count(missed, "target is missed", "targets are missed");
        format!("<span class=\"bad\">{count}</span>")
    });
    list(overall.into_iter().chain(missed).chain(one_sided).chain(notes))
}

fn differences(compared: &ComparedRuns) -> String {
    let [before, now] = &compared.environments;
    let rows = table(&environment::differences(before, now), "Differences of the machine");
    if rows.is_empty() { "<p>No recorded property differs.</p>\n".to_owned() } else { rows }
}
