//! Layout of the drawn page, as needed to handle clicks and scrolling.

use ratatui::layout::Rect;

use crate::action::Action;

/// Layout of the drawn page: click targets, and the range of scrolling.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DrawnPage {
    pub(crate) targets: Vec<(Rect, Action)>,
    /// Total number of lines or rows.
    pub(crate) rows: usize,
    /// Number of visible lines or rows.
    pub(crate) height: usize,
    /// Range of scrolling of the details of the selected entry.
    pub(crate) details: DetailRange,
    /// Width of the lines in columns.
    pub(crate) width: usize,
}

/// Range of scrolling of the details next to a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DetailRange {
    /// Number of lines below the first screen.
    pub(crate) below: usize,
    /// Number of visible lines.
    pub(crate) height: usize,
}

impl DrawnPage {
    /// Returns the action of a click at a position. The topmost target wins.
    pub(crate) fn action_at(&self, column: u16, row: u16) -> Option<Action> {
        let target =
            self.targets.iter().rev().find(|(area, _)| area.contains((column, row).into()));
        target.map(|(_, action)| *action)
    }

    /// Returns the click targets and their actions.
    pub fn targets(&self) -> &[(Rect, Action)] {
        &self.targets
    }
}
