//! Drawing of the state. The output depends only on the state, not on previous frames.

mod canvas;
mod fleet;
mod history;
mod launch;
mod overlay;
mod pages;
mod run;
mod small;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use rsb_report::Tone;

use crate::action::Action;
use crate::bindings::bindings;
use crate::drawn_page::DrawnPage;
use crate::palette::Palette;
use crate::stage::Stage;
use crate::state::{Overlay, State};
use canvas::Canvas;

pub(crate) use pages::{find, titles};

/// Minimum size of a page in columns and rows.
pub(crate) const SMALLEST: (u16, u16) = (24, 6);

/// Draws `state`, and returns the layout for [`State::drawn`].
pub fn view(state: &State, frame: &mut Frame<'_>) -> DrawnPage {
    let area = frame.area();
    let mut canvas = Canvas::new(frame.buffer_mut(), &state.settings);
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        small::draw(state, &mut canvas, area);
    } else {
        page(state, &mut canvas, area);
    }
    canvas.finish()
}

fn page(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    tabs(state, canvas, row(area, 0));
    let said = MOST_SAID.min(area.height / 4).max(1);
    let used = status(state, canvas, Rect { y: area.y + 1, height: said, ..area });
    let body = Rect { y: area.y + 1 + used, height: area.height - 2 - used, ..area };
    match state.stage {
        _ if state.shows_run && state.run.is_some() => run::draw(state, canvas, body),
        stage if stage.offers_runs() => launch::draw(state, canvas, body),
        _ => pages::draw(state, canvas, body),
    }
    overlay::draw(state, canvas, body);
    footer(state, canvas, row(area, area.height - 1));
}

const fn row(area: Rect, at: u16) -> Rect {
    Rect { y: area.y + at, height: 1, ..area }
}

/// Draws the stages side by side. If there is not enough room, draws only the current stage and its
/// position.
fn tabs(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    let (stages, width) = (state.stages(), usize::from(area.width));
    let fits = |title: &dyn Fn(Stage) -> &'static str| {
        stages.iter().map(|stage| title(*stage).len() + 4).sum::<usize>() <= width
    };
    let is_short = !fits(&Stage::title);
    let mut x = area.x;
    if is_short && !fits(&Stage::short_title) {
        let at = stages.iter().position(|stage| *stage == state.stage).unwrap_or(0) + 1;
        let parts = [
            (" ‹ ".to_owned(), Action::PreviousStage),
            (format!(" {at}/{} {} ", stages.len(), state.stage.title()), Action::GoTo(state.stage)),
            (" › ".to_owned(), Action::NextStage),
        ];
        for (text, action) in parts {
            let look = if action == Action::GoTo(state.stage) {
                Palette::selection_style()
            } else {
                canvas.palette().key()
            };
            x = canvas.button((x, area.y), area.right(), &text, look, action);
        }
        return;
    }
    for (number, stage) in (1..).zip(stages.iter().copied()) {
        let title = if is_short { stage.short_title() } else { stage.title() };
        let is_shown = stage == state.stage;
        let look = if is_shown { Palette::selection_style() } else { canvas.palette().key() };
        x = canvas.button(
            (x, area.y),
            area.right(),
            &format!(" {number} {title} "),
            look,
            Action::GoTo(stage),
        );
    }
}

/// Maximum number of lines of a message.
const MOST_SAID: u16 = 4;

/// Draws the status: the message for the user, otherwise the progress of a run or the description
/// of the page. Returns the number of lines used.
fn status(state: &State, canvas: &mut Canvas<'_>, area: Rect) -> u16 {
    let palette = canvas.palette();
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    if let (Some(notice), false) = (&state.notice, matches!(state.overlay, Overlay::Search)) {
        let lines = canvas.wrap_text(notice, inner.width, Tone::Caution);
        return canvas.block(&lines, inner).max(1);
    }
    let measured =
        state.run.as_ref().and_then(|run| Some(run::line(run, run.progress.as_ref()?, palette)));
    let line = if let Overlay::Search = state.overlay {
        Line::from(vec![
            Span::styled("search: ", palette.tone(Tone::Strong)),
            Span::raw(state.place().search),
            Span::styled("▏", palette.tone(Tone::Caution)),
        ])
    } else if let (Some(measured), false) = (measured, state.shows_run) {
        measured
    } else if state.shows_run {
        Line::default()
    } else if !state.place().search.is_empty() && state.filters_rows() {
        Line::styled(
            format!("only rows that contain `{}`", state.place().search),
            palette.tone(Tone::Caution),
        )
    } else {
        Line::styled(state.stage.about(), palette.tone(Tone::Dim))
    };
    canvas.line((inner.x, inner.y), inner.width, &line);
    1
}

/// Draws the keys, most useful first, as many as fit. Back, help and quit are always shown.
fn footer(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    let all = bindings(state);
    let shown: Vec<_> = all.iter().filter(|binding| !binding.word.is_empty()).collect();
    let reserved: u16 = shown
        .iter()
        .filter(|binding| is_always_shown(binding.action))
        .map(|binding| binding_width(binding.word, binding.key))
        .sum();
    let (mut x, mut room) = (area.x + 1, area.width.saturating_sub(reserved + 1));
    for binding in &shown {
        let needed = binding_width(binding.word, binding.key);
        if !is_always_shown(binding.action) {
            let Some(left) = room.checked_sub(needed) else { continue };
            room = left;
        }
        let from = x;
        x = canvas.text((x, area.y), area.right(), binding.key, canvas.palette().key());
        x = canvas.text((x + 1, area.y), area.right(), binding.word, Style::new());
        canvas.target(Rect { x: from, y: area.y, width: x - from, height: 1 }, binding.action);
        x += 2;
    }
}

fn binding_width(word: &str, key: &str) -> u16 {
    (word.chars().count() + key.chars().count() + 3) as u16
}

const fn is_always_shown(action: Action) -> bool {
    matches!(action, Action::Help | Action::Quit | Action::Back)
}
