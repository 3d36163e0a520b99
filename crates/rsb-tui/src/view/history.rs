//! The series of the history page: the list, the step of the selected one, and its chart.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use rsb_model::CaseId;
use rsb_model::record::SeriesTrend;
use rsb_report::label::Shortener;
use rsb_report::names::shorten_names;
use rsb_report::number::format_moment;
use rsb_report::spark::sparkline;
use rsb_report::{Tone, charts, format_percent, format_quantity};

use super::canvas::{Canvas, first_shown};
use crate::action::Action;
use crate::history::{self, SeriesOrder, SeriesStep};
use crate::message::HistoryPage;
use crate::state::State;

/// Minimum width in columns for the dates of steps.
const DATED: usize = 70;
/// Minimum width in columns for the commits of steps.
const WIDE: usize = 96;
/// Minimum height of the chart of the selected series.
const CHART: usize = 8;
/// Maximum number of lines about the step of the selected series.
const STEP: usize = 2;
/// Length of a shown commit.
const COMMIT: usize = 10;

/// Returns the title of the list: its order, and how many series it hides.
pub(super) fn title(state: &State) -> String {
    let place = state.place();
    let hidden = state.history.present().map_or(0, |page| history::single_count(page));
    let all = state.history.present().map_or(0, |page| page.trends.series.len());
    let hidden = if place.shows_all || hidden == 0 || hidden == all {
        String::new()
    } else {
        format!(", {hidden} of one run hidden")
    };
    format!("trend of each case, {}{hidden}", place.order.about())
}

/// Draws the list over as much of `area` as the chart leaves.
pub(super) fn draw(state: &State, page: &HistoryPage, canvas: &mut Canvas<'_>, area: Rect) {
    let (listed, place) = (state.listed_series(), state.place());
    if listed.is_empty() {
        let text = if place.shows_all {
            "no series matches"
        } else {
            "no series of several runs matches: `a` shows those of one run, too"
        };
        let lines = canvas.wrap_text(text, area.width, Tone::Dim);
        canvas.block(&lines, area);
        return;
    }
    let width = usize::from(area.width);
    heading(place.order, canvas, area);
    let selected = place.selected.min(listed.len() - 1);
    let height = usize::from(area.height);
    let chart = (height * 2 / 5).max(CHART);
    let most = height.saturating_sub(1).clamp(1, listed.len().max(1));
    let rows = height.saturating_sub(1 + STEP + chart).max(3).min(most);
    canvas.lists(listed.len(), rows);
    let ids: Vec<CaseId> = listed.iter().filter_map(|series| series.id.parse().ok()).collect();
    let names = Shortener::of(&ids);
    let first = first_shown(selected, listed.len(), rows);
    let visible: Vec<String> =
        listed.iter().skip(first).take(rows).map(|series| full_name(series, &names)).collect();
    let room = Columns::of(width).name;
    let short = shorten_names(visible.iter().map(String::as_str), room);
    let visible = visible.iter().map(|name| short.get(name).unwrap_or(name));
    for ((row, series), name) in listed.iter().enumerate().skip(first).zip(visible) {
        let whole = Rect { y: area.y + 1 + (row - first) as u16, height: 1, ..area };
        if whole.y >= area.bottom() {
            return;
        }
        let line = entry(name, series, history::step_of(page, series), canvas, width);
        canvas.line((whole.x, whole.y), whole.width, &line);
        if row == selected {
            canvas.select(whole);
        }
        canvas.target(whole, Action::Select(row));
    }
    let Some(series) = listed.get(selected) else { return };
    let below = below(area, rows as u16 + 1);
    let step = about_step(page, series, canvas, below.width);
    let used = canvas.block(&step, Rect { height: below.height.min(STEP as u16), ..below });
    let below = self::below(below, used);
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

/// Returns `area` without its first `rows` rows.
fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// Widths of the columns of the list.
struct Columns {
    name: usize,
    since: usize,
    commit: usize,
    spark: usize,
}

impl Columns {
    /// Returns the columns that fit `width`, next to the last value, the step and the mark.
    fn of(width: usize) -> Self {
        let since = if width < DATED { 0 } else { 11 };
        let (commit, spark) = if width < WIDE { (0, 0) } else { (COMMIT + 1, 15) };
        Self { name: width.saturating_sub(30 + since + commit + spark), since, commit, spark }
    }

    fn line(&self, cells: [&str; 6]) -> String {
        let [name, last, step, since, commit, spark] = cells;
        let cell = |text: &str, width: usize| {
            if width == 0 { String::new() } else { format!("{text:<width$}") }
        };
        let step = format!("{name:<0$} {last:>10} {step:>9} ", self.name);
        step + &cell(since, self.since) + &cell(commit, self.commit) + &cell(spark, self.spark)
    }
}

/// Draws the names of the columns, the one of the order with an arrow.
fn heading(order: SeriesOrder, canvas: &mut Canvas<'_>, area: Rect) {
    let named = |name: &str, own: SeriesOrder| {
        if own == order { format!("↓{name}") } else { name.to_owned() }
    };
    let columns = Columns::of(usize::from(area.width));
    let line = columns.line([
        &named("case", SeriesOrder::Name),
        &named("last", SeriesOrder::Last),
        &named("step", SeriesOrder::Moved),
        &named("since", SeriesOrder::Newest),
        "commit",
        "oldest to newest",
    ]);
    let look = canvas.palette().tone(Tone::Dim);
    canvas.button((area.x, area.y), area.right(), line.trim_end(), look, Action::Sort);
}

fn full_name(series: &SeriesTrend, names: &Shortener) -> String {
    series.id.parse().map_or_else(|_| rsb_report::clean(&series.id), |id| names.full(&id))
}

fn entry(
    name: &str,
    series: &SeriesTrend,
    step: Option<SeriesStep<'_>>,
    canvas: &Canvas<'_>,
    width: usize,
) -> Line<'static> {
    let palette = canvas.palette();
    let direction = step.map_or("", |step| step.direction);
    // The newest step counts; alerts also report drifts and older steps.
    let is = |word: &str| match direction {
        "worse" | "better" => direction == word,
        _ => has_alert(series, word),
    };
    let (mark, tone) = if step.is_some_and(|step| step.is_known()) {
        ("known", Tone::Dim)
    } else if is("worse") {
        ("worse", Tone::Bad)
    } else if is("better") {
        ("better", Tone::Good)
    } else if step.is_some() {
        ("changed", Tone::Caution)
    } else if series.two_levels.is_some() {
        ("2 levels", Tone::Plain)
    } else {
        ("", Tone::Plain)
    };
    let columns = Columns::of(width);
    let percent = step.map(|step| step.percent).or_else(|| history::drift_percent(series));
    let commit = step.and_then(|step| step.range?.first_after.commit.as_deref()).unwrap_or("");
    let line = columns.line([
        name,
        &format_quantity(series.last, &series.unit),
        &percent.map_or_else(String::new, format_percent),
        &step.map_or_else(String::new, |step| step.since.strftime("%Y-%m-%d").to_string()),
        &short(commit),
        &sparkline(&series.values, columns.spark.saturating_sub(1)),
    ]);
    Line::from(vec![Span::raw(line), Span::styled(mark, palette.tone(tone))])
}

fn short(commit: &str) -> String {
    rsb_report::clean(commit).chars().take(COMMIT).collect()
}

/// Describes the step of a series: its size, date, commit and runs.
fn about_step(
    page: &HistoryPage,
    series: &SeriesTrend,
    canvas: &Canvas<'_>,
    width: u16,
) -> Vec<Line<'static>> {
    let Some(step) = history::step_of(page, series) else {
        let alert = series.alerts.first().map_or("no change of level", |alert| &alert.message);
        return canvas.wrap_text(alert, width, Tone::Dim);
    };
    let (percent, since) = (format_percent(step.percent), format_moment(step.since));
    let standing = step.alert.map_or_else(String::new, rsb_report::tracked::standing);
    let from = match step.range {
        Some(range) => {
            let commit = range.first_after.commit.as_deref().map_or_else(
                || ", commit unknown".to_owned(),
                |commit| format!(", commit {}", short(commit)),
            );
            format!("{commit}: Enter compares with the run before")
        }
        None => String::new(),
    };
    canvas.wrap_text(&format!("{percent} since {since}{standing}{from}"), width, Tone::Strong)
}

fn has_alert(series: &SeriesTrend, direction: &str) -> bool {
    series.alerts.iter().any(|alert| alert.direction == direction)
}
