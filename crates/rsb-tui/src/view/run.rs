//! The page of a run: progress, results, charts, and program messages.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use rsb_model::{BenchmarkResult, CaseId, Fields, RunStatus};
use rsb_report::label::{Shortener, headline_text, roofline_text, spread_text, time_text};
use rsb_report::number::format_count;
use rsb_report::spark::sparkline;
use rsb_report::{Tone, format_quantity};

use super::canvas::Canvas;
use crate::action::Action;
use crate::message::StoredRun;
use crate::palette::Palette;
use crate::run_page::{RunPage, RunProgress, RunView};
use crate::settings::AnimationStyle;
use crate::state::State;

/// Maximum number of blocks of a sparkline.
const SPARK: usize = 24;
const BAR: usize = 24;

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    let Some(run) = &state.run else { return };
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let lines = match &run.progress {
        Some(progress) => under_way(state, run, progress, canvas.palette()),
        None => over(run, canvas.palette()),
    };
    let used = canvas.block(&lines, inner);
    let is_hidden = run.progress.is_some() && !state.settings.shows_live_progress;
    let rest =
        Rect { y: inner.y + used + 1, height: inner.height.saturating_sub(used + 1), ..inner };
    if is_hidden {
        let why = "results and charts are shown at the end (show_live_progress = false)";
        canvas.line(
            (rest.x, rest.y),
            rest.width,
            &Line::styled(why, canvas.palette().tone(Tone::Dim)),
        );
        return;
    }
    heading(run, canvas, Rect { height: 1, ..rest });
    let body = Rect { y: rest.y + 1, height: rest.height.saturating_sub(1), ..rest };
    let lines = match &run.view {
        RunView::Said => {
            let messages = state.messages.iter();
            let lines: Vec<_> =
                messages.flat_map(|text| canvas.wrap_text(text, body.width, Tone::Plain)).collect();
            if lines.is_empty() {
                canvas.wrap_text("nothing yet", body.width, Tone::Dim)
            } else {
                lines
            }
        }
        RunView::Results => {
            canvas.painted_lines(&rsb_report::run::text(&run.run, Canvas::painter(body.width)))
        }
        RunView::Chart(_) => {
            run.chart().map_or_else(Vec::new, |chart| canvas.chart(chart, body.width, body.height))
        }
    };
    canvas.draw_scrolled(&lines, run.scroll, body);
}

/// Draws a heading such as `‹ 2/7 gemm: arithmetic rate ›`.
fn heading(run: &RunPage, canvas: &mut Canvas<'_>, area: Rect) {
    let title = match (&run.view, run.chart()) {
        (RunView::Chart(_), Some(chart)) => chart.title.clone(),
        (RunView::Said, _) => "program messages".to_owned(),
        _ => "results".to_owned(),
    };
    turning(canvas, area, run.at() + 1, run.views().len(), &title);
}

/// Draws the index and number of views, between the buttons that switch views.
pub(super) fn turning(canvas: &mut Canvas<'_>, area: Rect, at: usize, count: usize, title: &str) {
    let key = canvas.palette().key();
    let end = area.right();
    let x = canvas.button((area.x, area.y), end, "‹", key, Action::Turn(-1));
    let title = format!(" {at}/{count} {} ", rsb_report::clean(title));
    let x = canvas.text(
        (x, area.y),
        end.saturating_sub(1),
        &title,
        canvas.palette().tone(Tone::Strong),
    );
    canvas.button((x, area.y), end, "›", key, Action::Turn(1));
}

/// Returns one line about a run in progress, for other pages and small terminals.
pub(super) fn line(run: &RunPage, progress: &RunProgress, palette: Palette) -> Line<'static> {
    let (step, steps) = (progress.step.min(progress.steps), progress.steps);
    let step = format!("measuring {}, step {step} of {steps}", run.run.suite);
    let left = progress.time_left().map_or_else(String::new, |left| format!(", {left}"));
    Line::styled(step + &left, palette.tone(Tone::Strong))
}

fn under_way(
    state: &State,
    run: &RunPage,
    progress: &RunProgress,
    palette: Palette,
) -> Vec<Line<'static>> {
    let strong = palette.tone(Tone::Strong);
    let stopping =
        if progress.is_stopping { "stopping after this sample; the results are kept" } else { "" };
    let head = Line::from(vec![
        Span::styled(format!("Measuring {}  ", run.run.suite), strong),
        Span::styled(stopping, palette.tone(Tone::Caution)),
    ]);
    let mut counted = animation(state, progress, palette);
    counted.push(Span::raw(match progress.steps {
        0 => "starting: hashing this program, claiming the machine …".to_owned(),
        steps => {
            let cases = format_count(progress.cases, "case", "cases");
            format!("step {} of {steps}, {cases}", progress.step.min(steps))
        }
    }));
    counted.extend(progress.time_left().map(|left| Span::raw(format!(", {left}"))));
    let mut lines = vec![head, Line::from(counted)];
    if !state.settings.shows_live_progress {
        return lines;
    }
    let names = Shortener::of_run(&run.run);
    let now = progress.case.as_ref().map(|case| case.id.clone());
    lines.push(labeled_line("now ", now.map_or_else(String::new, |id| names.full(&id)), strong));
    lines.extend(last(run, progress.last.as_ref(), &names, palette));
    let counts = rsb_report::run::counts_line(&run.run);
    lines.push(Line::styled(counts, palette.tone(Tone::Dim)));
    lines
}

fn labeled_line(label: &'static str, text: String, style: Style) -> Line<'static> {
    Line::from(vec![Span::raw(label), Span::styled(text, style)])
}

fn animation(state: &State, progress: &RunProgress, palette: Palette) -> Vec<Span<'static>> {
    match state.settings.animation {
        AnimationStyle::Bar => {
            let filled = ((progress.share() * BAR as f64).round() as usize).min(BAR);
            vec![
                Span::styled("━".repeat(filled), palette.tone(Tone::Good)),
                Span::styled("─".repeat(BAR - filled), palette.tone(Tone::Dim)),
                Span::raw(" "),
            ]
        }
        AnimationStyle::Spinner => {
            let turn = ["|", "/", "-", "\\"].get(progress.step % 4).copied().unwrap_or("|");
            vec![Span::styled(format!("{turn} "), palette.tone(Tone::Good))]
        }
        AnimationStyle::None => Vec::new(),
    }
}

/// Returns the results of the most recently measured case: time, spread, headline metric, roofline,
/// sensors, samples.
fn last(
    run: &RunPage,
    id: Option<&CaseId>,
    names: &Shortener,
    palette: Palette,
) -> [Line<'static>; 2] {
    let Some(result) = id.and_then(|id| run.result(id)) else {
        return [Line::default(), Line::default()];
    };
    let mut figures = vec![time_text(result), spread_text(result), headline_text(result)];
    let mut state = vec![match roofline_text(result) {
        share if share.is_empty() => share,
        share => format!("{share} of the roofline"),
    }];
    state.extend(result.fields().map(sensors).unwrap_or_default());
    for parts in [&mut figures, &mut state] {
        parts.retain(|part| !part.is_empty());
    }
    let outcome = result
        .reason
        .as_ref()
        .map_or_else(String::new, |reason| format!("{}: {}", result.outcome, reason.why));
    let named = Line::from(vec![
        Span::raw(format!("last {}  ", names.full(&result.benchmark_id))),
        Span::raw(figures.join("  ")),
        Span::styled(rsb_report::clean(&outcome), palette.tone(Tone::Caution)),
    ]);
    let samples = Line::from(vec![
        Span::raw("     "),
        Span::styled(
            format!("{:<SPARK$}  ", sparkline(&times(result), SPARK)),
            palette.tone(Tone::Good),
        ),
        Span::raw(state.join("  ")),
    ]);
    [named, samples]
}

/// Returns the samples of a case in measurement order.
fn times(result: &BenchmarkResult) -> Vec<f64> {
    result.samples.iter().filter_map(|samples| samples.per_iteration().ok()).flatten().collect()
}

/// Returns the GPU sensor readings recorded with the case. This page does not query the sensors
/// itself.
fn sensors(fields: &Fields) -> Vec<String> {
    const NAMES: [(&str, &str); 3] =
        [("gpu_clock_mhz", "MHz"), ("gpu_power_w", "W"), ("gpu_temperature_c", "°C")];
    let known =
        NAMES.iter().filter_map(|(name, unit)| Some(format_quantity(fields.number(name)?, unit)));
    let is_held_back =
        fields.get("gpu_throttled").is_some_and(|value| value.as_bool() == Some(true));
    known.chain(is_held_back.then(|| "throttled".to_owned())).collect()
}

fn over(run: &RunPage, palette: Palette) -> Vec<Line<'static>> {
    let id = rsb_report::clean(&run.run.run_id.0);
    let Some((status, stored)) = &run.end else {
        return vec![Line::styled(format!("The run {id}"), palette.tone(Tone::Strong))];
    };
    let (word, tone) = match status {
        RunStatus::Complete => ("is complete", Tone::Good),
        RunStatus::Interrupted => ("was stopped and is kept", Tone::Caution),
        RunStatus::OutOfTime => ("ran out of time: cases are missing", Tone::Caution),
    };
    let place = match stored {
        StoredRun::Kept(path) => {
            Line::styled(format!("stored in {}", rsb_report::clean(path)), palette.tone(Tone::Dim))
        }
        StoredRun::NotKept(_) => {
            Line::styled("not kept yet: `s` keeps it", palette.tone(Tone::Caution))
        }
        StoredRun::Failed(why) => Line::styled(rsb_report::clean(why), palette.tone(Tone::Bad)),
    };
    let summary = Line::from(vec![
        Span::styled(format!("The run {id} {word}: "), palette.tone(tone)),
        Span::raw(rsb_report::run::counts_line(&run.run)),
    ]);
    vec![summary, place]
}
