//! Stages that only show data: comparison, history, doctor.

use ratatui::layout::Rect;
use ratatui::text::Line;
use rsb_model::record::Comparison;
use rsb_model::{ComparisonResult, Verdict};
use rsb_report::chart::Chart;
use rsb_report::comparison::{self, Detail};
use rsb_report::label::Shortener;
use rsb_report::number::format_count;
use rsb_report::{RunRow, Tone, charts, format_percent};

use super::canvas::Canvas;
use super::history;
use super::run::turning;
use crate::command::Subject;
use crate::stage::Stage;
use crate::state::{Loadable, State, StoredLists};

/// Slowdown in percent from which the comparison page shows an alert at the top.
const ALERT: f64 = 5.0;

pub(crate) fn titles(state: &State) -> Vec<String> {
    match state.stage {
        Stage::Comparison => {
            let chart = state.comparison.present().and_then(|result| charts::comparison(result));
            let mut all = vec!["verdicts".to_owned(), "every case".to_owned()];
            all.extend(chart.map(|chart| chart.title));
            all
        }
        Stage::History => {
            let mut all = vec![history::title(state)];
            all.extend(["changes", "health", "runs"].map(str::to_owned));
            let page = state.history.present().filter(|page| !page.models.models.is_empty());
            all.extend(page.map(|_| "models".to_owned()));
            all
        }
        Stage::Fleet => super::fleet::titles(state),
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
    if let (true, Some(page)) = (state.lists_series(), state.history.present()) {
        history::draw(state, page, canvas, body);
    } else if let (true, Some(document)) = (state.lists_nodes(), state.fleet.present()) {
        super::fleet::draw(state, document, canvas, body);
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
                "There is no history yet: each run adds a point to every case. 1 goes to \
                 Measure; Enter there starts a run."
                    .to_owned(),
            ),
            history => of(history, Subject::History),
        },
        Stage::Fleet => of(&state.fleet, Subject::Fleet),
        _ => of(&state.machine, Subject::Machine),
    }
}

/// Explains why no stored runs or baselines are compared.
fn no_pair(lists: &StoredLists) -> String {
    let Some(newest) = lists.runs.first() else {
        return "No run is stored yet. 1 goes to Measure; Enter there measures one.".to_owned();
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
        "{lacking} Measure that suite again on the same machine, or press b to choose both \
         sides."
    )
}

fn chart(state: &State, view: usize) -> Option<Chart> {
    match (state.stage, view) {
        (Stage::Comparison, 2) => charts::comparison(state.comparison.present()?),
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
            let Some(page) = state.matching_history() else { return Vec::new() };
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
                _ => rsb_report::list::runs(&matching_runs(state), painter),
            })
        }
        Stage::Fleet => {
            let Some(document) = state.fleet.present() else { return Vec::new() };
            canvas.painted_lines(&match (view, state.selected_node()) {
                (1, Some(node)) => rsb_report::campaign::node_text(node, painter),
                (1, None) => "no node matches\n".to_owned(),
                _ => rsb_report::campaign::classes_text(document, painter),
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

/// Returns the stored runs that match the search.
fn matching_runs(state: &State) -> Vec<RunRow> {
    let search = state.place().search.to_lowercase();
    let (runs, _) = state.stored_lists();
    let matching = runs.iter().filter(|row| {
        let commit = row.commit.as_deref().unwrap_or_default();
        [&row.run_id, &row.suite, &row.profile, &row.machine, commit]
            .iter()
            .any(|text| text.to_lowercase().contains(&search))
    });
    matching.cloned().collect()
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
