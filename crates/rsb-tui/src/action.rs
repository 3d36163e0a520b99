//! User actions.

use crate::stage::Stage;

/// A user action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Action {
    Quit,
    /// Quit immediately, even during a run.
    QuitAtOnce,
    Help,
    /// Close the overlay, or go back.
    Back,
    NextStage,
    PreviousStage,
    GoTo(Stage),
    Move(isize),
    MovePage(isize),
    First,
    Last,
    /// Select the row, counted from 0.
    Select(usize),
    /// Scroll the details of the selected entry by half their height.
    ScrollDetails(isize),
    /// Go to the next or previous chart or view.
    Turn(isize),
    Mark,
    /// Start or open the selected row.
    Choose,
    /// Start, after confirmation.
    Begin,
    ChangeProfile(isize),
    StopRun,
    /// Continue a stopped run.
    ResumeRun,
    ShowRun,
    CompareRun,
    CompareWithPrevious,
    CompareWithBaseline,
    /// Choose a side of the comparison from a list.
    PickSide,
    /// Choose the other side instead.
    PickOtherSide,
    PickOpened,
    SaveBaseline,
    WriteReport,
    KeepRun,
    Reload,
    /// Sort the series by the next column.
    Sort,
    /// Show or hide series of a single run.
    ToggleSingle,
    /// Show the evidence about the selected node.
    ShowNode,
    /// Compare the runs around the step of the selected series.
    CompareStep,
    /// Ask for a note on the step of the selected series, to acknowledge it.
    WriteNote,
    /// Acknowledge the change with the typed note.
    Acknowledge,
    /// Copy the id of the selected or shown entry.
    CopyId,
    /// Copy the command line that shows or measures it.
    CopyCommand,
    /// Show the list of all actions of the page.
    OpenActions,
    Search,
    NextMatch,
    EndSearch,
}

impl Action {
    /// Returns whether the action only moves within a page.
    pub(crate) const fn is_move(self) -> bool {
        matches!(self, Self::Move(_) | Self::MovePage(_) | Self::First | Self::Last)
    }
}
