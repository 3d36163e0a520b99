//! What a person can do.

use crate::stage::Stage;

/// Something that a person can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Action {
    Quit,
    /// Quit whatever is going on.
    QuitAtOnce,
    Help,
    /// Close what covers the page, or go back.
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
    /// The next chart or view, or the one before.
    Turn(isize),
    Mark,
    /// What a row is there for: start it, open it.
    Choose,
    /// Start, once it was asked about.
    Begin,
    ChangeProfile(isize),
    StopRun,
    /// Measure on where it was stopped.
    ResumeRun,
    ShowRun,
    CompareRun,
    CompareWithPrevious,
    CompareWithBaseline,
    PickOlder,
    PickNewer,
    PickOpened,
    SaveBaseline,
    WriteReport,
    KeepRun,
    Reload,
    Search,
    NextMatch,
    EndSearch,
}
