//! Overlays: the help, the plan of a run, a list to choose from.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use rsb_report::Tone;
use rsb_report::number::format_count;

use super::canvas::{Canvas, first_shown};
use crate::action::Action;
use crate::action_list::ActionList;
use crate::bindings::{Binding, action_choices};
use crate::pick::PickList;
use crate::state::{Loadable, NotePanel, Overlay, StartPanel, State};

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, body: Rect) {
    match &state.overlay {
        Overlay::None | Overlay::Search => {}
        Overlay::Help => help(state, canvas, body),
        Overlay::Start(panel) => start(panel, canvas, body),
        Overlay::Actions(list) => actions(state, list, canvas, body),
        Overlay::Pick(list) => pick(state, list, canvas, body),
        Overlay::Note(panel) => note(state, panel, canvas, body),
        Overlay::Leave => leave(state, canvas, body),
    }
}

/// Draws the help of the page with all its actions; each line is clickable.
fn help(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    canvas.clear(area);
    let palette = canvas.palette();
    let below = crate::bindings::of_page(state);
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let title = if state.shows_run { "The run" } else { state.stage.title() };
    let about = if state.shows_run {
        "its results and charts, and cases that were not measured, with how to fix them"
    } else {
        state.stage.about()
    };
    let mut lines = canvas.wrap_text(&format!("{title}: {about}"), inner.width, Tone::Strong);
    lines.push(Line::default());
    let mut y = inner.y + canvas.block(&lines, inner);
    // Movement keys are familiar to most users and come last, in one paragraph.
    let (main, moves): (Vec<&Binding>, Vec<&Binding>) =
        below.iter().partition(|binding| !binding.word.is_empty() || !is_common(binding.action));
    for binding in &main {
        if y >= inner.bottom() {
            break;
        }
        let line = Line::from(vec![
            Span::styled(binding.key, palette.key()),
            Span::raw(" ".repeat(11_usize.saturating_sub(binding.key.chars().count()))),
            Span::raw(binding.about),
        ]);
        canvas.line((inner.x, y), inner.width, &line);
        canvas.target(Rect { y, height: 1, ..inner }, binding.action);
        y += 1;
    }
    let keys: Vec<String> =
        moves.iter().map(|binding| format!("{} {}", binding.key, binding.about)).collect();
    let rest = Rect { y, height: inner.bottom().saturating_sub(y), ..inner };
    let keys = keys.join(", ");
    let text =
        format!("{keys}. The letters h j k l work as arrow keys; underlined items can be clicked.");
    let lines = canvas.wrap_text(text.trim_start_matches(". "), inner.width, Tone::Dim);
    canvas.block(&lines, rest);
}

const fn is_common(action: Action) -> bool {
    action.is_move() || matches!(action, Action::GoTo(_))
}

/// Clears and frames a part of the page, and returns the area inside the frame.
fn frame(canvas: &mut Canvas<'_>, body: Rect, height: u16, title: &str) -> Rect {
    let width = body.width.saturating_sub(4).min(96);
    let height = (height + 2).min(body.height);
    let area = Rect {
        x: body.x + (body.width - width) / 2,
        y: body.y + (body.height - height) / 2,
        width,
        height,
    };
    canvas.clear(area);
    let line = "─".repeat(usize::from(width.saturating_sub(2)));
    let look = crate::palette::Palette::line();
    canvas.text((area.x, area.y), area.right(), &format!("┌{line}┐"), look);
    for y in area.y + 1..area.bottom().saturating_sub(1) {
        canvas.text((area.x, y), area.right(), "│", look);
        canvas.text((area.right() - 1, y), area.right(), "│", look);
    }
    canvas.text((area.x, area.bottom() - 1), area.right(), &format!("└{line}┘"), look);
    let strong = canvas.palette().tone(Tone::Strong);
    canvas.text((area.x + 2, area.y), area.right(), &format!(" {title} "), strong);
    Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: width.saturating_sub(4),
        height: height.saturating_sub(2),
    }
}

fn start(panel: &StartPanel, canvas: &mut Canvas<'_>, body: Rect) {
    let width = body.width.saturating_sub(8).min(92);
    let mut lines = Vec::new();
    match &panel.plan {
        Loadable::Absent | Loadable::Loading => {
            lines.extend(canvas.wrap_text("planning …", width, Tone::Dim));
        }
        Loadable::Unavailable(why) => lines.extend(canvas.wrap_text(why, width, Tone::Bad)),
        Loadable::Present(plan) => {
            let tone = if plan.cases == 0 { Tone::Caution } else { Tone::Good };
            let cases = format_count(plan.cases, "case", "cases");
            let text = format!("{cases} to measure, profile {}", plan.profile);
            lines.extend(canvas.wrap_text(&text, width, tone));
            for (count, reason) in &plan.without {
                let cases = format_count(*count, "case", "cases");
                let text = format!("{cases} cannot run: {}: {}", reason.what, reason.why);
                lines.extend(canvas.wrap_text(&text, width, Tone::Caution));
                lines.extend(canvas.wrap_text(
                    &format!("  cure: {}", reason.cure),
                    width,
                    Tone::Plain,
                ));
            }
            lines.extend(
                plan.notes
                    .iter()
                    .flat_map(|note| canvas.wrap_text(&format!("note: {note}"), width, Tone::Dim)),
            );
        }
    }
    let title = rsb_report::clean(&panel.wish.title());
    let inside = frame(canvas, body, lines.len() as u16 + 1, &title);
    let room = Rect { height: inside.height.saturating_sub(1), ..inside };
    let used = canvas.block(&lines, room);
    let left = lines.len() - usize::from(used);
    if left > 0 {
        let more = format!("… {left} more lines: `rusty-stack-bench run --dry-run` prints all");
        canvas.text((room.x, room.bottom()), room.right(), &more, canvas.palette().tone(Tone::Dim));
    }
}

fn pick(state: &State, list: &PickList, canvas: &mut Canvas<'_>, body: Rect) {
    let nothing = match state.stored {
        Loadable::Loading => "reading …",
        _ => "no run is stored yet",
    };
    let choices: Vec<String> = state
        .pick_choices(list.side)
        .iter()
        .map(|choice| rsb_report::clean(&choice.text))
        .collect();
    choose(
        &ChoiceRows { rows: &choices, selected: list.selected, nothing },
        list.side.title(),
        canvas,
        body,
    );
}

/// Draws the actions of the page, and the typed text.
fn actions(state: &State, list: &ActionList, canvas: &mut Canvas<'_>, body: Rect) {
    let rows: Vec<String> = action_choices(state, &list.typed)
        .iter()
        .map(|choice| match choice.action {
            Action::GoTo(_) => format!("{:<9} goes to {}", choice.key, choice.about),
            _ => format!("{:<9} {}", choice.key, choice.about),
        })
        .collect();
    let title = format!("Action: {}▏", rsb_report::clean(&list.typed));
    let nothing = "no action has these words";
    choose(&ChoiceRows { rows: &rows, selected: list.selected, nothing }, &title, canvas, body);
}

/// Rows of a list to choose from.
struct ChoiceRows<'r> {
    rows: &'r [String],
    selected: usize,
    /// Text if there are no rows.
    nothing: &'r str,
}

fn choose(choices: &ChoiceRows<'_>, title: &str, canvas: &mut Canvas<'_>, body: Rect) {
    let ChoiceRows { rows, selected, nothing } = *choices;
    let height = (rows.len() as u16).min(body.height.saturating_sub(2)).max(1);
    let inside = frame(canvas, body, height, title);
    if rows.is_empty() {
        let look = canvas.palette().tone(Tone::Dim);
        canvas.text((inside.x, inside.y), inside.right(), nothing, look);
        return;
    }
    let selected = selected.min(rows.len() - 1);
    let height = usize::from(inside.height);
    canvas.lists(rows.len(), height);
    let first = first_shown(selected, rows.len(), height);
    for (row, text) in rows.iter().enumerate().skip(first).take(height) {
        let whole = Rect { y: inside.y + (row - first) as u16, height: 1, ..inside };
        let look = canvas.palette().tone(Tone::Plain);
        canvas.text((whole.x, whole.y), whole.right(), text, look);
        if row == selected {
            canvas.select(whole);
        }
        canvas.target(whole, Action::Select(row));
    }
}

/// Draws the change, the typed note, and the name that is recorded with it.
fn note(state: &State, panel: &NotePanel, canvas: &mut Canvas<'_>, body: Rect) {
    let width = body.width.saturating_sub(8).min(92);
    let alerts = state.history.present().map_or(&[][..], |page| &page.alerts);
    let alert = alerts.iter().find(|alert| alert.id == panel.alert);
    let headline = alert.map_or_else(String::new, rsb_report::tracked::headline);
    let mut lines = canvas.wrap_text(&headline, width, Tone::Dim);
    let typed = format!("Note: {}▏", rsb_report::clean(&panel.typed));
    lines.extend(canvas.wrap_text(&typed, width, Tone::Strong));
    let author = rsb_report::clean(&state.settings.author);
    let text = format!("Recorded as by {author}; History then lists the change as known.");
    lines.extend(canvas.wrap_text(&text, width, Tone::Dim));
    let title = format!("Acknowledge {}", rsb_report::clean(&panel.alert));
    let inside = frame(canvas, body, lines.len() as u16, &title);
    canvas.block(&lines, inside);
}

fn leave(state: &State, canvas: &mut Canvas<'_>, body: Rect) {
    let (title, text) = if state.is_measuring() {
        ("A run is in progress", "Quitting stops it; its results are kept.")
    } else {
        ("The last run is not kept", "Quitting loses it; `s` on its page keeps it.")
    };
    let inside = frame(canvas, body, 2, title);
    canvas.text((inside.x, inside.y), inside.right(), text, canvas.palette().tone(Tone::Plain));
}
