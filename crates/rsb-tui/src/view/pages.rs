//! Stages that only show data: comparison, history, doctor.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use rsb_model::record::{Comparison, SeriesTrend};
use rsb_model::{ComparisonResult, Verdict};
use rsb_report::chart::Chart;
use rsb_report::comparison::{self, Detail};
use rsb_report::label::Shortener;
use rsb_report::number::format_count;
use rsb_report::spark::sparkline;
use rsb_report::{Tone, charts, format_percent, format_quantity};

use super::canvas::{Canvas, first_shown};
use super::run::turning;
use crate::action::Action;
use crate::command::Subject;
use crate::stage::Stage;
use crate::state::{Loadable, State, StoredLists};

/// Slowdown in percent from which the comparison page shows an alert at the top.
const ALERT: f64 = 5.0;
const SPARK: usize = 14;
/// Minimum width in columns for full-length sparklines.
const WIDE: usize = 76;

pub(crate) fn titles(state: &State) -> Vec<String> {
    match state.stage {
        Stage::Comparison => {
            let chart = state.comparison.present().and_then(|result| charts::comparison(result));
            let mut all = vec!["verdicts".to_owned(), "every case".to_owned()];
            all.extend(chart.map(|chart| chart.title));
            all
        }
        Stage::History => {
            let always = ["trend of each case", "changes", "health", "runs"];
            let mut all = Vec::from(always.map(str::to_owned));
            let page = state.history.present().filter(|page| !page.models.models.is_empty());
            if let Some(page) = page {
                all.push("models".to_owned());
                all.extend(charts::recommendation(&page.models).map(|chart| chart.title));
            }
            all
        }
        Stage::Doctor => ["findings", "the machine"].map(str::to_owned).into(),
        _ => Vec::new(),
    }
}

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    if let Some(why) = missing(state) {
        let lines = canvas.wrap_text(&why, inner.width, Tone::Dim);
        canvas.block(&lines, Rect { y: inner.y + 1, height: inner.height - 1, ..inner });
        return;
    }
    let titles = titles(state);
    let view = state.place().view.min(titles.len().saturating_sub(1));
    let title = titles.get(view).map_or("", String::as_str);
    turning(canvas, Rect { height: 1, ..inner }, view + 1, titles.len(), title);
    let body = Rect { y: inner.y + 1, height: inner.height - 1, ..inner };
    if state.stage == Stage::History && view == 0 {
        series(state, canvas, body);
    } else if let Some(chart) = chart(state, view) {
        let lines = canvas.chart(&chart, body.width, body.height);
        canvas.draw_scrolled(&lines, 0, body);
    } else {
        let lines = text(state, canvas, body.width);
        canvas.draw_scrolled(&lines, state.place().scroll, body);
    }
}

/// Returns why there is nothing to show yet.
fn missing(state: &State) -> Option<String> {
    fn of<T>(loadable: &Loadable<T>, subject: Subject) -> Option<String> {
        match loadable {
            Loadable::Present(_) => None,
            Loadable::Loading => Some(format!("reading {} …", subject.title())),
            Loadable::Unavailable(why) => {
                Some(format!("{} cannot be shown: {why}", subject.title()))
            }
            Loadable::Absent => Some(format!(
                "{}: loaded after the run, because nothing else runs while a case is timed",
                subject.title()
            )),
        }
    }
    match state.stage {
        Stage::Comparison => match (&state.comparison, state.stored.present()) {
            (Loadable::Absent, Some(lists)) if !state.is_measuring() => Some(no_pair(lists)),
            (Loadable::Absent, None) => of(&state.stored, Subject::Runs),
            (comparison, _) => of(comparison, Subject::Comparison),
        },
        Stage::History => match &state.history {
            Loadable::Present(page) if page.trends.series.is_empty() => Some(
                "There is no history yet: each run adds a point to every case. Tab goes to \
                 Measure; Enter there starts a run."
                    .to_owned(),
            ),
            history => of(history, Subject::History),
        },
        _ => of(&state.machine, Subject::Machine),
    }
}

/// Explains why no stored runs or baselines are compared.
fn no_pair(lists: &StoredLists) -> String {
    let Some(newest) = lists.runs.first() else {
        return "No run is stored yet. Tab goes to Measure; Enter there measures one.".to_owned();
    };
    let (id, suite) = (rsb_report::clean(&newest.run_id), rsb_report::clean(&newest.suite));
    let lacking = match lists.runs.len() {
        1 => format!(
            "One run is stored, {id} of suite {suite}, and no baseline of that suite on its \
             machine."
        ),
        count => format!(
            "No two of the {count} stored runs are of the same suite on the same machine, and none \
             has a saved baseline. \
             The newest is {id} of suite {suite}."
        ),
    };
    format!(
        "{lacking} Measure that suite again on the same machine, or press 1 and 2 to choose both \
         sides."
    )
}

fn chart(state: &State, view: usize) -> Option<Chart> {
    match (state.stage, view) {
        (Stage::Comparison, 2) => charts::comparison(state.comparison.present()?),
        (Stage::History, 5) => charts::recommendation(&state.history.present()?.models),
        _ => None,
    }
}

/// Returns the text of the current view.
fn text(state: &State, canvas: &Canvas<'_>, width: u16) -> Vec<Line<'static>> {
    let painter = Canvas::painter(width);
    let view = state.place().view;
    match state.stage {
        Stage::Comparison => {
            let Some(result) = state.comparison.present() else { return Vec::new() };
            let mut lines = alert(result, canvas, width);
            let detail = if view == 0 { Detail::Brief } else { Detail::Full };
            lines.extend(canvas.painted_lines(&comparison::text(result, painter, detail)));
            lines
        }
        Stage::History => {
            let Some(page) = state.history.present() else { return Vec::new() };
            let (runs, _) = state.stored_lists();
            canvas.painted_lines(&match view {
                1 => rsb_report::trend::text(
                    &page.trends,
                    Some(&rsb_report::tracked::text(&page.alerts, page.now, painter)),
                    painter,
                ),
                2 => rsb_report::health::text(&page.health, painter),
                4 => rsb_report::recommended::table(&page.models).text(painter),
                _ if state.stored.present().is_none() => {
                    "`o` reads the stored runs and opens one.\n".to_owned()
                }
                _ => rsb_report::list::runs(runs, painter),
            })
        }
        _ => {
            let Some(page) = state.machine.present() else { return Vec::new() };
            canvas.painted_lines(&match view {
                0 => rsb_report::doctor::text(&page.findings, painter),
                _ => rsb_report::environment::text(&page.environment, painter),
            })
        }
    }
}

/// Returns the verdict, and an alert for slowdowns above [`ALERT`] regardless of the verdict, so
/// that the user does not have to search for them.
fn alert(result: &ComparisonResult, canvas: &Canvas<'_>, width: u16) -> Vec<Line<'static>> {
    let (tone, verdict) = comparison::verdict_sentence(result);
    let mut lines = canvas.wrap_text(&verdict, width, tone);
    let mut slower: Vec<(f64, &Comparison)> = result
        .comparisons
        .iter()
        .filter_map(|row| Some((comparison::worsening(row)?, row)))
        .filter(|(worse, _)| *worse > ALERT)
        .collect();
    slower.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    if let Some((_, worst)) = slower.first() {
        let names = Shortener::of(result.comparisons.iter().map(|row| &row.id));
        let text = format!(
            "⚠ {} worse by more than {ALERT} %, the worst is {} {} ({}). {}",
            format_count(slower.len(), "value is", "values are"),
            names.full(&worst.id),
            worst.metric,
            worst.difference_percent.map_or_else(String::new, format_percent),
            "The verdict shows which of them exceed the noise."
        );
        lines.extend(canvas.wrap_text(&text, width, Tone::Bad));
    } else if matches!(result.verdict, Verdict::Improved | Verdict::Unchanged) {
        let sides =
            [&result.current_run_id, &result.baseline_run_id].map(|id| rsb_report::clean(id));
        let [now, before] = &sides;
        let text = format!("✓ nothing in {now} is worse by more than {ALERT} % than in {before}");
        lines.extend(canvas.wrap_text(&text, width, Tone::Good));
    }
    lines.push(Line::default());
    lines
}

/// Returns the series that match the search.
fn matching_series(state: &State) -> Vec<&SeriesTrend> {
    let search = state.place().search.to_lowercase();
    let Some(page) = state.history.present() else { return Vec::new() };
    let all = page.trends.series.iter();
    all.filter(|series| {
        series.id.to_lowercase().contains(&search) || series.metric.contains(&search)
    })
    .collect()
}

pub(crate) fn series_count(state: &State) -> usize {
    matching_series(state).len()
}

/// Draws the list of series, and a chart of the selected one below.
fn series(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    let listed = matching_series(state);
    if listed.is_empty() {
        canvas.text(
            (area.x, area.y),
            area.right(),
            "no series matches",
            canvas.palette().tone(Tone::Dim),
        );
        return;
    }
    let selected = state.place().selected.min(listed.len() - 1);
    let rows = (usize::from(area.height) * 2 / 5).clamp(3, 16).min(listed.len());
    canvas.lists(listed.len(), rows);
    let ids: Vec<rsb_model::CaseId> =
        listed.iter().filter_map(|series| series.id.parse().ok()).collect();
    let names = Shortener::of(&ids);
    let first = first_shown(selected, listed.len(), rows);
    for (row, series) in listed.iter().enumerate().skip(first).take(rows) {
        let whole = Rect { y: area.y + (row - first) as u16, height: 1, ..area };
        let line = entry(series, &names, canvas, usize::from(area.width));
        canvas.line((whole.x, whole.y), whole.width, &line);
        if row == selected {
            canvas.select(whole);
        }
        canvas.target(whole, Action::Select(row));
    }
    let below = Rect {
        y: area.y + rows as u16 + 1,
        height: area.height.saturating_sub(rows as u16 + 1),
        ..area
    };
    let Some(series) = listed.get(selected) else { return };
    let lines = match charts::trend_chart(series) {
        Some(chart) => canvas.chart(&chart, below.width, below.height),
        None => canvas.wrap_text(
            "one run has no trend: measure again to get a chart",
            below.width,
            Tone::Dim,
        ),
    };
    canvas.block(&lines, below);
}

fn entry(
    series: &SeriesTrend,
    names: &Shortener,
    canvas: &Canvas<'_>,
    width: usize,
) -> Line<'static> {
    let palette = canvas.palette();
    let name =
        series.id.parse().map_or_else(|_| rsb_report::clean(&series.id), |id| names.full(&id));
    let (mark, tone) = match (has_alert(series, "worse"), has_alert(series, "better")) {
        (true, _) => ("worse", Tone::Bad),
        (false, true) => ("better", Tone::Good),
        _ if !series.change_points.is_empty() => ("changed", Tone::Caution),
        _ if series.two_levels.is_some() => ("2 levels", Tone::Plain),
        _ => ("", Tone::Plain),
    };
    let last = format_quantity(series.last, &series.unit);
    let change = series.last_change_percent.map_or_else(String::new, format_percent);
    let spark = if width < WIDE { SPARK / 2 } else { SPARK };
    let room = width.saturating_sub(spark + 30);
    Line::from(vec![
        Span::raw(format!("{:<room$} ", end_of(&name, room))),
        Span::raw(format!("{last:>10} {change:>9} ")),
        Span::styled(
            format!("{:<spark$} ", sparkline(&series.values, spark)),
            palette.tone(Tone::Plain),
        ),
        Span::styled(mark, palette.tone(tone)),
    ])
}

fn has_alert(series: &SeriesTrend, direction: &str) -> bool {
    series.alerts.iter().any(|alert| alert.direction == direction)
}

/// Returns the last `room` characters of `name`. Cases differ at the end; the chart below shows the
/// full name.
fn end_of(name: &str, room: usize) -> String {
    let count = name.chars().count();
    if count <= room {
        return name.to_owned();
    }
    std::iter::once('…').chain(name.chars().skip(count + 1 - room.max(1))).collect()
}

/// Returns the first line of the current text, from `from` on, that contains `search`, which is in
/// lower case.
pub(crate) fn find(state: &State, search: &str, from: usize) -> Option<usize> {
    let mut buffer = ratatui::buffer::Buffer::empty(Rect::new(0, 0, 1, 1));
    let canvas = Canvas::new(&mut buffer, &state.settings);
    let width = state.shown.width as u16;
    let lines = text(state, &canvas, width);
    (from..lines.len()).find(|at| {
        lines.get(*at).is_some_and(|line| line.to_string().to_lowercase().contains(search))
    })
}
