//! Stages that can start runs: the offers on the left, details of the selected one on the right.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use rsb_model::Reason;
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
/// Minimum width for details next to the list.
const WITH_DETAILS: u16 = 58;
/// Backend of components, which choose their device themselves.
const ANYWHERE: &str = "any";

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
    if area.width < WITH_DETAILS {
        list(state, canvas, area);
        return;
    }
    let left = Rect { width: LIST, ..area };
    let right = Rect { x: area.x + LIST + 2, width: area.width - LIST - 3, ..area };
    list(state, canvas, left);
    if let Some(offer) = state.selected_offer() {
        let mut lines = details(state, offer, canvas, right.width);
        let room = right.height.saturating_sub(lines.len() as u16 + 1);
        let chart = picture(state, offer, canvas, right.width, room);
        if !chart.is_empty() {
            lines.push(Line::default());
            lines.extend(chart);
        }
        // The status of a component already has the reason.
        if component(state, offer).is_none() {
            lines.extend(obstacles(&offer.rows, canvas, right.width));
        }
        canvas.draw_details(&lines, state.place().scroll, right);
    }
}

/// Minimum height of a chart.
const LOWEST: u16 = 8;

/// Returns the chart of an offer from its newest results; empty if there is no room for it.
fn picture(
    state: &State,
    offer: &Offer,
    canvas: &Canvas<'_>,
    width: u16,
    height: u16,
) -> Vec<Line<'static>> {
    if height < LOWEST {
        return Vec::new();
    }
    let chart = if offer.stage == Stage::Components && offer.kind == OfferKind::Suite {
        state.components.present().and_then(|rows| component_bars(rows))
    } else {
        chart_of(state, offer).cloned()
    };
    chart.map_or_else(Vec::new, |chart| canvas.chart(&chart, width, height))
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
    let status = component(state, offer);
    // The mark of a component is that of its last run, so that it never contradicts the status.
    let (mark, tone) = match status.as_ref().map(|(word, ..)| word.as_str()) {
        Some("passed") => ("✓ ", Tone::Good),
        Some("failed") => ("✗ ", Tone::Bad),
        Some("warning") => ("! ", Tone::Caution),
        Some("running") => ("▸ ", Tone::Strong),
        Some(_) if offer.is_runnable() => ("· ", Tone::Dim),
        None if offer.is_runnable() => ("✓ ", Tone::Good),
        _ => ("✗ ", Tone::Caution),
    };
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
    if let Some((word, tone, _)) = status {
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
    if offer.is_runnable() {
        lines.extend(canvas.painted_lines(&places(&offer.rows).text(Canvas::painter(width))));
    }
    let absent: Vec<&str> = backends(&offer.rows)
        .into_iter()
        .filter(|backend| !backend.is_able())
        .map(|backend| backend.name)
        .collect();
    if !absent.is_empty() {
        let text = if absent == [ANYWHERE] {
            "cannot run here".to_owned()
        } else {
            format!("cannot run on {}", absent.join(", "))
        };
        lines.extend(canvas.wrap_text(&text, width, Tone::Caution));
    }
    lines
}

/// Rows of an offer on one backend.
struct BackendRows<'r> {
    name: &'r str,
    /// Rows with planned cases.
    planned: Vec<&'r CaseRow>,
    /// Reason why it cannot run, if none of its rows can.
    missing: Option<&'r Reason>,
}

impl BackendRows<'_> {
    fn is_able(&self) -> bool {
        self.planned.iter().any(|row| row.missing.is_none())
    }
}

fn backends(rows: &[CaseRow]) -> Vec<BackendRows<'_>> {
    let mut backends: Vec<BackendRows<'_>> = Vec::new();
    for row in rows {
        if backends.iter().any(|known| known.name == row.backend) {
            continue;
        }
        let own = || rows.iter().filter(|other| other.backend == row.backend);
        let planned = own().filter(|row| row.cases > 0).collect();
        let missing = own().find_map(|row| row.missing.as_ref());
        backends.push(BackendRows { name: &row.backend, planned, missing });
    }
    backends
}

/// Returns for each backend that cannot run why, and the cure.
fn obstacles(rows: &[CaseRow], canvas: &Canvas<'_>, width: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for backend in backends(rows).iter().filter(|backend| !backend.is_able()) {
        let Some(reason) = backend.missing else { continue };
        lines.push(Line::default());
        let why = match backend.name {
            ANYWHERE => reason.why.clone(),
            name => format!("{name}: {}", reason.why),
        };
        lines.extend(canvas.wrap_text(&why, width, Tone::Plain));
        lines.extend(canvas.wrap_text(&format!("cure: {}", reason.cure), width, Tone::Dim));
    }
    lines
}

/// Returns a table of the backends that an offer can run on: the numbers of benchmarks and cases,
/// and the devices.
fn places(rows: &[CaseRow]) -> Table {
    let mut table = Table::new([
        Column::left("on"),
        Column::right("benchmarks"),
        Column::right("cases"),
        Column::elided("devices"),
    ]);
    for backend in backends(rows).iter().filter(|backend| backend.is_able()) {
        let cases: usize = backend.planned.iter().map(|row| row.cases).sum();
        let devices =
            backend.planned.first().map_or_else(String::new, |row| row.devices.join(", "));
        table.push([
            Cell::from(backend.name),
            Cell::from(backend.planned.len().to_string()),
            Cell::from(cases.to_string()),
            Cell::from(devices),
        ]);
    }
    table
}
