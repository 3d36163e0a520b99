//! One metric of one case over its runs: the line with its noise and levels, the changes with their
//! origins, and each run with its commit and the commands for a closer look.

mod scaled;
mod together;

use std::ops::Range;
use std::sync::Arc;

use rsb_model::Timestamp;
use rsb_model::record::{AlertBasis, AlertState, Direction, SeriesTrend, TrackedAlert};
use rsb_report::chart::{DatasetKind, Legend};
use rsb_report::charts::trend_window;
use rsb_report::html::element::{anchor, escape};
use rsb_report::number::format_count;
use rsb_report::{Chart, Tone, chart_places, format_percent, format_quantity, trend::short};

use super::{listing::page_links, origin};
use crate::address::{Address, CaseView, CompareView, PageView};
use crate::cards::{CardColumn, CardTable, number, text};
use crate::figure::{RunPoints, RunTip, Zoom, figures};
use crate::names;
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::{CaseHistory, PageSource, PointKey, PointRun, SourceError, SourceResult};

/// Newest runs in the table of a page.
const ROWS: usize = 200;
/// Maximum number of points of the chart.
const MOST_POINTS: usize = 2_000;
/// The same in an export, whose size should grow by little for each run.
const EXPORTED_ROWS: usize = 25;
const EXPORTED_POINTS: usize = 200;
const WINDOWS: [usize; 3] = [50, 500, 5_000];

pub(super) fn page<'v>(
    site: &Site<'_>,
    view: &'v PageView,
    query: &CaseView,
) -> SourceResult<Sheet<'v>> {
    let Some(history) = history(site.source(), query)? else {
        let mut sheet = Sheet::new(&short(&query.id), Some(view));
        sheet.say(
            Tone::Caution,
            "This case was never measured. Its runs show what is missing and how to fix it.",
        );
        return Ok(sheet);
    };
    let trend = &history.trend;
    let window = window(query, trend.values.len());
    let runs = format_count(trend.values.len(), "run", "runs");
    let under = format!("{} on {}, {runs}", trend.metric, site.machine(&history.machine));
    let mut sheet = Sheet::new(&short(&query.id), Some(view)).under(&under);
    let (tone, sentence) = standing(site, &history);
    sheet.say(tone, &sentence);
    sheet.push(&choices(site, query, &history));
    if site.answers() {
        sheet.push(&together::choices(site, query, &history)?);
    }
    let most = if site.answers() { MOST_POINTS } else { EXPORTED_POINTS };
    let mut drawn = drawn(site, &history, window.clone(), most);
    for chart in &mut drawn {
        // On a narrow screen, entries of a legend would overlap.
        chart.legend_position = Legend::Hidden;
    }
    let chart = match drawn.first() {
        None => "<p>A line needs at least two runs.</p>\n".to_owned(),
        Some(chart) => {
            let points = points(site, query, &history, chart)?;
            figures(site, view, &drawn, &Zoom::Runs(points))
                + "<p class=\"hint\">Lines: each run, and the level of its time. Band: 90 % of the \
                   runs of a level. Dashed: a change.</p>\n"
        }
    };
    let together = together::section(site, view, query, &history, most)?;
    sheet.section("together", "Overlay", together);
    sheet.section(
        "line",
        "Over the runs",
        windows(site, query, &window, trend.values.len()) + &chart + &caveat(&history),
    );
    sheet.section("changes", "Change points", changes(site, query, &history));
    sheet.section("figures", "Each run", each_run(site, query, &history, &window)?);
    Ok(sheet)
}

/// Returns the requested history; `None` if the case is known but has no values.
pub(crate) fn history(
    source: &dyn PageSource,
    query: &CaseView,
) -> SourceResult<Option<Arc<CaseHistory>>> {
    match source.history(&query.id, &query.metric, &query.machine) {
        Err(SourceError::NotThere(_)) if is_without_figures(source, &query.id)? => Ok(None),
        other => other.map(Some),
    }
}

/// Returns whether `id` is known, but has never been measured.
fn is_without_figures(source: &dyn PageSource, id: &str) -> SourceResult<bool> {
    let is_known = source.cases()?.iter().any(|case| case.id == id);
    Ok(is_known && matches!(source.history(id, "", ""), Err(SourceError::NotThere(_))))
}

pub(super) fn charts(site: &Site<'_>, query: &CaseView, points: usize) -> SourceResult<Vec<Chart>> {
    let history = site.source().history(&query.id, &query.metric, &query.machine)?;
    let window = window(query, history.trend.values.len());
    // The file has every value, in the stored unit.
    if points == usize::MAX {
        let together = together::chart(site, query, &history, points)?;
        return Ok(trend_window(&history.trend, window, points)
            .into_iter()
            .chain(together)
            .collect());
    }
    let mut charts = drawn(site, &history, window, MOST_POINTS);
    charts.extend(together::chart(site, query, &history, MOST_POINTS)?);
    Ok(charts)
}

/// Returns the chart of the runs `window`, in the unit that the page shows, with dates, and with
/// the state of changes that were reviewed.
fn drawn(
    site: &Site<'_>,
    history: &CaseHistory,
    window: Range<usize>,
    points: usize,
) -> Vec<Chart> {
    let trend = scaled::in_shown_unit(&history.trend);
    let Some(mut chart) = trend_window(&trend, window, points) else { return Vec::new() };
    "began, oldest run first".clone_into(&mut chart.x_axis.title);
    let now = site.now();
    for label in &mut chart.x_axis.labels {
        let at = (label.at.round() as usize).saturating_sub(1);
        if let Some(key) = history.keys.get(at) {
            label.text = names::date(key.started, now);
        }
    }
    for dataset in chart.datasets.iter_mut().filter(|dataset| dataset.kind == DatasetKind::Rules) {
        for point in &mut dataset.points {
            // A rule is drawn before the first run of the new level.
            let key = history.keys.get(point.x.floor() as usize);
            let state = key.and_then(|key| reviewed_as(history, key.started));
            point.text.push_str(&state.map_or_else(String::new, |state| format!(", {state}")));
        }
    }
    vec![chart]
}

/// Returns the state of the change that began in the run of `started`, unless it is new.
fn reviewed_as(history: &CaseHistory, started: Timestamp) -> Option<&'static str> {
    let alert = alert_at(history, started)?;
    (alert.state != AlertState::New).then(|| alert.state.as_str())
}

/// Returns the alert on the change that began in the run of `started`.
fn alert_at(history: &CaseHistory, started: Timestamp) -> Option<&TrackedAlert> {
    let trend = &history.trend;
    history.alerts.iter().find(|alert| {
        let own = alert.moves.iter().find(|one| one.id == trend.id && one.metric == trend.metric);
        own.map_or(&alert.range, |own| alert.range_of(own)).first_after.timestamp == started
    })
}

/// Returns the runs in the chart, each with the text of its tooltip.
fn points(
    site: &Site<'_>,
    query: &CaseView,
    history: &CaseHistory,
    chart: &Chart,
) -> SourceResult<RunPoints> {
    let values = &history.trend.values;
    let mut kept: Vec<usize> = Vec::new();
    for place in chart_places(chart, usize::MAX) {
        kept.push((place.round() as usize).saturating_sub(1));
    }
    kept.sort_unstable();
    kept.dedup();
    let keys: Vec<PointKey> = kept.iter().filter_map(|at| history.keys.get(*at).copied()).collect();
    let runs = site.source().points(&keys)?;
    let now = site.now();
    let mut points = Vec::new();
    for ((at, key), run) in kept.into_iter().zip(&keys).zip(runs) {
        let commit = run.commit.as_deref().map(|commit| names::short_commit(commit).to_owned());
        let value = values.get(at).copied().unwrap_or(f64::NAN);
        let value = format_quantity(value, &history.trend.unit);
        let change = change_from_previous(values, at);
        let change = change.map_or_else(String::new, |change| format!(" ({change})"));
        let parts =
            [Some(names::moment(key.started, now)), commit, Some(format!("{value}{change}"))];
        let text = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        let id = if site.answers() { run.run_id } else { String::new() };
        points.push(RunTip { number: at + 1, text, id });
    }
    let all = CaseView { window: None, page: 0, ..query.clone() };
    let [window, run] = if site.answers() {
        [link(site, all), format!("{}?id=", PageView::Run { id: String::new() }.name())]
    } else {
        Default::default()
    };
    Ok(RunPoints { window, run, points })
}

/// Returns the change of a value from the one before it.
fn change_from_previous(values: &[f64], at: usize) -> Option<String> {
    let (before, now) = (values.get(at.checked_sub(1)?)?, values.get(at)?);
    let change = 100.0 * (now - before) / before.abs();
    change.is_finite().then(|| format_percent(change))
}

/// Returns the runs to show, counted from 0: the requested ones, clamped to those that exist.
fn window(query: &CaseView, runs: usize) -> Range<usize> {
    let Some((first, last)) = query.window else { return 0..runs };
    let last = last.min(runs);
    first.saturating_sub(1).min(last.saturating_sub(2))..last
}

fn link(site: &Site<'_>, view: CaseView) -> String {
    site.link(Address::page(PageView::Case(view)))
}

fn direction_tone(direction: &str) -> Tone {
    match direction {
        "worse" => Tone::Bad,
        "better" => Tone::Good,
        _ => Tone::Caution,
    }
}

/// Returns the headline: an open change if there is any, otherwise the direction of the trend.
fn standing(site: &Site<'_>, history: &CaseHistory) -> (Tone, String) {
    let trend = &history.trend;
    let last = format_quantity(trend.last, &trend.unit);
    let open = history.alerts.iter().find(|alert| !alert.state.is_closed());
    if let Some(alert) = open {
        let tone = direction_tone(&alert.direction);
        let own = alert.moves.iter().find(|one| one.id == trend.id && one.metric == trend.metric);
        let sentence = origin::headline(site, alert, own);
        return (tone, format!("{sentence}; the last run has {last}."));
    }
    if let Some(drift) = trend.alerts.iter().find(|alert| alert.basis == AlertBasis::Drift) {
        return (
            direction_tone(&drift.direction),
            format!("{}; the last run has {last}.", drift.description),
        );
    }
    let sentence = match trend.direction {
        _ if trend.n < 2 => "One run, no trend yet",
        Direction::Increasing => "Increasing",
        Direction::Decreasing => "Decreasing",
        Direction::Stable => "Stable",
    };
    let shifts = trend.change_points.len();
    let shifts = if shifts > 0 {
        format!(" since {}", format_count(shifts, "change point", "change points"))
    } else {
        String::new()
    };
    (Tone::Strong, format!("{sentence}{shifts}: the last run has {last}."))
}

/// Returns the links to other metrics of the case, and to other machines that measured it.
fn choices(site: &Site<'_>, query: &CaseView, history: &CaseHistory) -> String {
    if !site.answers() {
        return String::new();
    }
    let plain = CaseView { window: None, page: 0, ..query.clone() };
    let mut metrics = Vec::new();
    for metric in &history.metrics {
        let view = CaseView { metric: metric.clone(), ..plain.clone() };
        metrics.push(choice_item(site, metric, *metric == history.trend.metric, view));
    }
    let mut machines = Vec::new();
    for machine in &history.machines {
        let view = CaseView { machine: machine.clone(), ..plain.clone() };
        machines.push(choice_item(site, &site.machine(machine), *machine == history.machine, view));
    }
    choice_list("Metric", &metrics) + &choice_list("Machine", &machines)
}

fn choice_item(site: &Site<'_>, name: &str, is_here: bool, view: CaseView) -> String {
    let here = if is_here { " aria-current=\"true\"" } else { "" };
    format!("<li><a href=\"{}\"{here}>{}</a>", escape(&link(site, view)), escape(name))
}

fn choice_list(title: &str, items: &[String]) -> String {
    if items.len() < 2 {
        return String::new();
    }
    format!(
        "<nav aria-label=\"{title}\"><ul class=\"choice\"><li>{title}:{}</ul></nav>\n",
        items.concat()
    )
}

/// Returns the links to nearby windows, and the form for any other.
fn windows(site: &Site<'_>, query: &CaseView, window: &Range<usize>, runs: usize) -> String {
    if !site.answers() || runs < 3 {
        return String::new();
    }
    let mut choices = vec![("all runs".to_owned(), None)];
    for count in WINDOWS.iter().filter(|count| **count < runs) {
        choices.push((format!("the last {count}"), Some((runs - count + 1, runs))));
    }
    let (first, last, wide) = (window.start + 1, window.end, window.len());
    if first > 1 {
        let from = first.saturating_sub(wide / 2).max(1);
        choices.push(("earlier".to_owned(), Some((from, (from + wide - 1).min(runs)))));
    }
    if last < runs {
        let until = (last + wide / 2).min(runs);
        choices.push(("later".to_owned(), Some((until.saturating_sub(wide - 1).max(1), until))));
    }
    if wide >= 8 {
        choices.push(("nearer".to_owned(), Some((first + wide / 4, last - wide / 4))));
    }
    let mut items = String::new();
    for (title, window) in choices {
        let target = link(site, CaseView { window, page: 0, ..query.clone() });
        items.push_str(&format!("<li>{}", anchor(&target, &title)));
    }
    format!(
        "<nav aria-label=\"Window of runs\"><ul class=\"choice\">{items}</ul></nav>\n{}",
        window_form(query, first, last, runs)
    )
}

fn window_form(query: &CaseView, first: usize, last: usize, runs: usize) -> String {
    let plain = CaseView { window: None, page: 0, ..query.clone() };
    let hidden = PageView::Case(plain).pairs().into_iter();
    let hidden: String = hidden
        .map(|(key, value)| {
            format!("<input type=\"hidden\" name=\"{key}\" value=\"{}\">", escape(&value))
        })
        .collect();
    format!(
        "<form action=\"case\" method=\"get\" \
         class=\"filter\">{hidden}{}{}<button>Show</button></form>\n",
        run_input("first", "From run", first, runs),
        run_input("last", "to run", last, runs)
    )
}

fn run_input(name: &str, title: &str, value: usize, runs: usize) -> String {
    format!(
        "<label for=\"{name}\">{title}</label> <input type=\"number\" id=\"{name}\" \
         name=\"{name}\" min=\"1\" max=\"{runs}\" value=\"{value}\"> "
    )
}

/// Returns a note on the part of a very long history that was not analyzed.
fn caveat(history: &CaseHistory) -> String {
    match history.not_analyzed {
        0 => String::new(),
        count => {
            format!("<p>All except the oldest {count} runs were searched for change points.</p>\n")
        }
    }
}

fn changes(site: &Site<'_>, query: &CaseView, history: &CaseHistory) -> String {
    let tiles: String =
        history.alerts.iter().map(|alert| origin::change(site, alert, Some(&query.id))).collect();
    let alerts = if tiles.is_empty() {
        String::new()
    } else {
        format!("<div class=\"tiles\">\n{tiles}</div>\n")
    };
    let trend = &history.trend;
    let lone =
        trend.change_points.iter().filter(|point| alert_at(history, point.timestamp).is_none());
    let steps = rsb_report::html::element::list(lone.map(|point| step(trend, point)));
    let suspected = rsb_report::html::element::list(trend.suspected.iter().map(|point| {
        let runs = format_count(point.points, "run", "runs");
        format!("{}, not confirmed yet: seen in {runs}", step(trend, point))
    }));
    let levels = rsb_report::trend::two_levels(trend).map_or_else(String::new, |levels| {
        format!("<p>The runs alternate between {}.</p>\n", escape(&levels))
    });
    if alerts.is_empty() && steps.is_empty() && suspected.is_empty() {
        return levels + "<p>None found.</p>\n";
    }
    levels + &alerts + &steps + &suspected
}

fn step(trend: &SeriesTrend, point: &rsb_model::record::ChangePoint) -> String {
    let [before, after] =
        [point.before, point.after].map(|value| format_quantity(value, &trend.unit));
    escape(&format!(
        "from run {} on, {}: {} ({before} → {after})",
        point.index + 1,
        point.timestamp.strftime("%Y-%m-%d"),
        format_percent(point.change_percent)
    ))
}

/// Returns the runs of the window, the newest first, one page at a time.
fn each_run(
    site: &Site<'_>,
    query: &CaseView,
    history: &CaseHistory,
    window: &Range<usize>,
) -> SourceResult<String> {
    let most = if site.answers() { ROWS } else { EXPORTED_ROWS };
    let pages = window.len().div_ceil(most).max(1);
    let page = query.page.min(pages - 1);
    let end = window.end - page * most;
    let range = end.saturating_sub(most).max(window.start)..end;
    // One more run, for comparison with the oldest of the page.
    let from = range.start.saturating_sub(1);
    let runs = site.source().points(history.keys.get(from..range.end).unwrap_or_default())?;
    let mut table = CardTable::new("Each run", COLUMNS);
    for at in range.clone().rev() {
        table.push_as(&format!("run-{}", at + 1), &row(site, query, history, at, &runs, from));
    }
    let links = if site.answers() {
        page_links(page, pages, |page| link(site, CaseView { page, ..query.clone() }))
    } else {
        left_out(window.len() - range.len())
    };
    Ok(table.html() + &links)
}

const COLUMNS: &[CardColumn] =
    &[text("run"), text("commit"), number("value"), number("change"), text("what next")];

fn left_out(count: usize) -> String {
    if count == 0 {
        String::new()
    } else {
        let count = format_count(count, "earlier run is not", "earlier runs are not");
        format!("<p>{count} in this copy.</p>\n")
    }
}

/// Returns the row of a run: its value, the change from the run before, and the commands that
/// measure it again or explain it.
fn row(
    site: &Site<'_>,
    query: &CaseView,
    history: &CaseHistory,
    at: usize,
    runs: &[PointRun],
    from: usize,
) -> [String; 5] {
    let trend = &history.trend;
    let nobody = PointRun { run_id: String::new(), commit: None };
    let run = at.checked_sub(from).and_then(|place| runs.get(place)).unwrap_or(&nobody);
    let before = at.checked_sub(from + 1).and_then(|place| runs.get(place));
    let value = trend.values.get(at).copied().unwrap_or(f64::NAN);
    let began = history.keys.get(at).map_or_else(String::new, |key| site.moment(key.started));
    [
        site.run_link(&run.run_id, &began),
        run.commit.as_deref().map_or_else(String::new, |commit| site.commit(commit)),
        escape(&format_quantity(value, &trend.unit)),
        escape(&change_from_previous(&trend.values, at).unwrap_or_default()),
        if site.answers() { next_commands(site, query, run, before) } else { String::new() },
    ]
}

/// Returns the commands that measure this run again, and that explain its change from the run
/// before.
fn next_commands(
    site: &Site<'_>,
    query: &CaseView,
    run: &PointRun,
    before: Option<&PointRun>,
) -> String {
    let again = origin::again(&query.id, run.commit.as_deref());
    let again = again.map(|command| {
        format!("Measure it again: <code>{}</code>", escape(&site.command(command)))
    });
    let bisect = before.and_then(|before| {
        origin::bisect(before.commit.as_deref(), run.commit.as_deref(), &query.id)
    });
    let bisect = match bisect {
        Some(command) => Some(format!(
            "Find the commit since the previous run: <code>{}</code>",
            escape(&site.command(command))
        )),
        None => before
            .map(|_| "No commit is recorded between this run and the previous one.".to_owned()),
    };
    let compare = before.filter(|_| site.answers()).map(|before| {
        let view = PageView::Compare(CompareView::of(&before.run_id, &run.run_id));
        anchor(&site.link(Address::page(view)), "Compare with the previous run")
    });
    let parts: Vec<String> = [again, bisect, compare].into_iter().flatten().collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!("<details><summary>commands</summary>{}</details>", parts.join("<br>"))
    }
}
