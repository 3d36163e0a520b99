//! What was drawn, as far as the next click and key depend on it.

use ratatui::layout::Rect;

use crate::action::Action;

/// What was drawn: where a click falls, and how far the page can be scrolled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DrawnPage {
    pub(crate) targets: Vec<(Rect, Action)>,
    /// Lines or rows that there are.
    pub(crate) rows: usize,
    /// How many of them there is room for.
    pub(crate) height: usize,
    /// How wide they may be.
    pub(crate) width: usize,
}

impl DrawnPage {
    /// What a click there does: what lies on top counts.
    pub(crate) fn action_at(&self, column: u16, row: u16) -> Option<Action> {
        let target =
            self.targets.iter().rev().find(|(area, _)| area.contains((column, row).into()));
        target.map(|(_, action)| *action)
    }

    /// Where clicks do something, and what.
    pub fn targets(&self) -> &[(Rect, Action)] {
        &self.targets
    }
}
