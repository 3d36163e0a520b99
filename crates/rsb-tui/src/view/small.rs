//! Output on terminals that are too small: the required size, and the progress of a run.

use ratatui::layout::Rect;
use rsb_report::Tone;

use super::canvas::Canvas;
use super::{SMALLEST, run};
use crate::action::Action;
use crate::state::State;

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    let text = format!(
        "This page needs at least {} columns and {} rows, and is made for 80 and 24. The terminal \
         has {} and {}: make the window larger, or use a smaller font. Without this interface: \
         `rusty-stack-bench run`, `compare`, `trend`.",
        SMALLEST.0, SMALLEST.1, area.width, area.height
    );
    let mut lines = canvas.wrap_text(&text, area.width.max(1), Tone::Plain);
    if let Some(run) = &state.run
        && let Some(progress) = &run.progress
    {
        lines.insert(0, run::line(run, progress, canvas.palette()));
    }
    let room = Rect { height: area.height.saturating_sub(1), ..area };
    canvas.block(&lines, room);
    if area.height > 0 {
        canvas.button(
            (area.x, area.bottom() - 1),
            area.right(),
            "q",
            canvas.palette().key(),
            Action::Quit,
        );
        canvas.text(
            (area.x + 2, area.bottom() - 1),
            area.right(),
            "quit",
            canvas.palette().tone(Tone::Plain),
        );
    }
}
