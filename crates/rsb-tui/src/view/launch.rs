//! Stages that can start runs: the offers on the left, details of the selected one on the right.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use rsb_report::chart::{
    Axis, AxisScale, ChartPlace, Dataset, DatasetKind, Label, Legend, Paint, Point,
};
use rsb_report::number::format_count;
use rsb_report::{CaseRow, Cell, Chart, Column, Table, Tone};

use super::canvas::{Canvas, first_shown};
use crate::action::Action;
use crate::message::ComponentRow;
use crate::stage::{Offer, OfferKind, Stage};
use crate::state::{Loadable, State};

const LIST: u16 = 28;

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    let why = match &state.offers {
        Loadable::Present(_) => None,
        Loadable::Unavailable(why) => Some(why.clone()),
        Loadable::Loading => {
            Some("detecting devices and the benchmarks that they can run …".to_owned())
        }
        Loadable::Absent => {
            Some("loaded after the run: nothing else runs while a case is timed".to_owned())
        }
    };
    if let Some(why) = why {
        let lines = canvas.wrap_text(&why, area.width.saturating_sub(2), Tone::Dim);
        canvas.block(
            &lines,
            Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 1 },
        );
        return;
    }
    let left = Rect { width: LIST, ..area };
    let right = Rect { x: area.x + LIST + 2, width: area.width - LIST - 3, ..area };
    list(state, canvas, left);
    if let Some(offer) = state.selected_offer() {
        let lines = details(state, offer, canvas, right.width);
        let room = usize::from(right.height);
        let used = canvas.block(&lines, right);
        picture(state, offer, canvas, lower_part(right, used + 1));
        if lines.len() > room {
            let more =
                format!(" {} more lines: `rusty-stack-bench list` prints all ", lines.len() - room);
            canvas.text(
                (right.x, right.bottom() - 1),
                right.right(),
                &more,
                canvas.palette().tone(Tone::Caution),
            );
        }
    }
}

/// Returns `area` without its first `rows` rows.
fn lower_part(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// Minimum height of a chart.
const LOWEST: u16 = 8;

/// Draws the chart of an offer from its newest results, if there is room for it.
fn picture(state: &State, offer: &Offer, canvas: &mut Canvas<'_>, area: Rect) {
    if area.height < LOWEST {
        return;
    }
    let chart = if offer.stage == Stage::Components && offer.kind == OfferKind::Suite {
        state.components.present().and_then(|rows| component_bars(rows))
    } else {
        chart_of(state, offer).cloned()
    };
    if let Some(chart) = chart {
        let lines = canvas.chart(&chart, area.width, area.height);
        canvas.block(&lines, area);
    }
}

/// Returns the first chart of the benchmarks of `offer`.
fn chart_of<'s>(state: &'s State, offer: &Offer) -> Option<&'s Chart> {
    offer.rows.iter().find_map(|row| {
        let place = ChartPlace::Benchmark(row.benchmark.clone());
        state.charts.iter().find(|chart| chart.place == place)
    })
}

/// Returns a chart with a bar per component, in the color of its status: the share of its targets
/// that it met.
fn component_bars(rows: &[ComponentRow]) -> Option<Chart> {
    let mut datasets: Vec<Dataset> = Vec::new();
    for (row, component) in rows.iter().enumerate() {
        let known = component.checks.iter().filter_map(|check| check.passed);
        let (met, count) = known.fold((0_usize, 0_usize), |(met, count), passed| {
            (met + usize::from(passed), count + 1)
        });
        let share = if count > 0 { 100.0 * met as f64 / count as f64 } else { 0.0 };
        let paint = match component.status.as_str() {
            "passed" => Paint::Good,
            "warning" => Paint::Warning,
            "failed" => Paint::Error,
            _ => Paint::Faded,
        };
        let targets = if count > 0 { format!(", {met} of {count} targets") } else { String::new() };
        let text = component.status.replace('_', " ") + &targets;
        let bar = Point::at(share, row as f64).saying(text);
        datasets.push(Dataset::new(DatasetKind::Bars { thickness: 0.6 }, paint, vec![bar]));
    }
    let label = |at: f64, text: &str| Label { at, text: text.to_owned() };
    let names = rows.iter().enumerate();
    (!rows.is_empty()).then(|| Chart {
        name: "components".to_owned(),
        title: "Components: targets met".to_owned(),
        subtitle: "in the last run of each".to_owned(),
        place: ChartPlace::Other,
        x_axis: Axis {
            title: "%".to_owned(),
            bounds: [0.0, 100.0],
            labels: [0.0, 50.0, 100.0].map(|at| label(at, &at.to_string())).to_vec(),
            scale: AxisScale::Linear,
        },
        y_axis: Axis {
            title: String::new(),
            bounds: [-0.5, rows.len() as f64 - 0.5],
            labels: names.map(|(row, one)| label(row as f64, &one.name)).collect(),
            scale: AxisScale::Rows,
        },
        datasets,
        legend_position: Legend::Hidden,
    })
}

fn list(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    let (listed, place) = (state.matching_offers(), state.place());
    if listed.is_empty() {
        canvas.text(
            (area.x + 1, area.y),
            area.right(),
            "no match",
            canvas.palette().tone(Tone::Dim),
        );
        return;
    }
    let height = usize::from(area.height);
    let selected = place.selected.min(listed.len() - 1);
    canvas.lists(listed.len(), height);
    let first = first_shown(selected, listed.len(), height);
    for (row, offer) in listed.iter().enumerate().skip(first).take(height) {
        let y = area.y + (row - first) as u16;
        let line = entry(state, offer, place.marked.contains(&offer.name), canvas);
        canvas.line((area.x + 1, y), area.width - 1, &line);
        let whole = Rect { y, height: 1, ..area };
        if row == selected {
            canvas.select(whole);
        }
        canvas.target(whole, Action::Select(row));
    }
}

fn entry(state: &State, offer: &Offer, is_marked: bool, canvas: &Canvas<'_>) -> Line<'static> {
    let palette = canvas.palette();
    let (mark, tone) =
        if offer.is_runnable() { ("✓ ", Tone::Good) } else { ("✗ ", Tone::Caution) };
    let chosen = if is_marked { "● " } else { "" };
    let name = match offer.kind {
        OfferKind::Suite => format!("suite {}", offer.name),
        OfferKind::Benchmark => offer.name.clone(),
    };
    let weight = if offer.kind == OfferKind::Suite { Tone::Strong } else { Tone::Plain };
    let mut spans = vec![
        Span::styled(mark, palette.tone(tone)),
        Span::styled(chosen, palette.tone(Tone::Caution)),
        Span::styled(name, palette.tone(weight)),
    ];
    if let Some((word, tone)) = component(state, offer).map(|(word, tone, _)| (word, tone)) {
        spans.push(Span::styled(format!(" {word}"), palette.tone(tone)));
    }
    Line::from(spans)
}

/// Returns the status of a component as a word, its color, and its loaded data.
fn component<'s>(
    state: &'s State,
    offer: &Offer,
) -> Option<(String, Tone, Option<&'s ComponentRow>)> {
    if offer.stage != Stage::Components || offer.kind == OfferKind::Suite {
        return None;
    }
    let running = state.run.as_ref().and_then(|run| run.progress.as_ref()?.case.as_ref());
    let known =
        state.components.present().and_then(|rows| rows.iter().find(|row| row.name == offer.name));
    if running.is_some_and(|case| case.benchmark == offer.name) {
        return Some(("running".to_owned(), Tone::Strong, known));
    }
    let status = known?.status.as_str();
    let tone = match status {
        "passed" => Tone::Good,
        "failed" => Tone::Bad,
        "warning" => Tone::Caution,
        "running" => Tone::Strong,
        _ => Tone::Dim,
    };
    Some((status.replace('_', " "), tone, known))
}

fn details(state: &State, offer: &Offer, canvas: &Canvas<'_>, width: u16) -> Vec<Line<'static>> {
    let palette = canvas.palette();
    let mut lines = vec![Line::styled(offer.name.clone(), palette.tone(Tone::Strong))];
    lines.extend(canvas.wrap_text(&offer.about, width, Tone::Plain));
    lines.push(Line::default());
    if let Some((word, tone, known)) = component(state, offer) {
        lines.push(Line::from(vec![Span::raw("status: "), Span::styled(word, palette.tone(tone))]));
        if let Some(row) = known {
            lines.extend(
                row.text.lines().flat_map(|line| canvas.wrap_text(line.trim(), width, Tone::Plain)),
            );
            lines.push(Line::default());
            lines.extend(
                canvas
                    .painted_lines(&rsb_report::targets::text(&row.checks, Canvas::painter(width))),
            );
        }
        return lines;
    }
    if offer.is_runnable() {
        let cases = format_count(offer.cases, "case", "cases");
        let planned = format!("{cases}, profile {}", offer.profile.as_str());
        lines.push(Line::styled(planned, palette.tone(Tone::Good)));
    }
    lines.extend(canvas.painted_lines(&places(&offer.rows).text(Canvas::painter(width))));
    lines
}

/// Returns a table of the backends of an offer: the numbers of benchmarks and cases, the devices,
/// or why none can run.
fn places(rows: &[CaseRow]) -> Table {
    let mut table = Table::new([
        Column::left("on"),
        Column::left("here"),
        Column::right("benchmarks"),
        Column::right("cases"),
        Column::elided("devices"),
    ]);
    let mut backends: Vec<&str> = Vec::new();
    for row in rows {
        if !backends.contains(&row.backend.as_str()) {
            backends.push(&row.backend);
        }
    }
    for backend in backends {
        let of_backend: Vec<&CaseRow> = rows.iter().filter(|row| row.backend == backend).collect();
        let able: Vec<&CaseRow> = of_backend
            .iter()
            .copied()
            .filter(|row| row.missing.is_none() && row.cases > 0)
            .collect();
        let cases: usize = able.iter().map(|row| row.cases).sum();
        let devices = able.first().map_or_else(String::new, |row| row.devices.join(", "));
        let (word, tone) =
            if able.is_empty() { ("no", Tone::Caution) } else { ("yes", Tone::Good) };
        table.push([
            Cell::from(backend),
            Cell::with_tone(word, tone),
            Cell::from(count_or_empty(able.len())),
            Cell::from(count_or_empty(cases)),
            Cell::from(devices),
        ]);
        let reason = of_backend.iter().find_map(|row| row.missing.as_ref());
        if let (true, Some(reason)) = (able.is_empty(), reason) {
            table.note(format!("{}; cure: {}", reason.why, reason.cure));
        }
    }
    table
}

fn count_or_empty(count: usize) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}
