//! Handling of results that arrive from the driver.

use rsb_model::RunStatus;

use super::act::compare_run;
use super::{enter, reload};
use crate::command::{Command, Subject};
use crate::message::{LoadedDocument, PlanSummary, RunEnd, StoredRun};
use crate::run_page::RunPage;
use crate::state::{Loadable, MachinePage, NotePanel, Overlay, State, StoredLists};

pub(super) fn on_loaded(state: &mut State, document: LoadedDocument) -> Vec<Command> {
    match document {
        LoadedDocument::Offers(offers) => state.offers = Loadable::Present(offers),
        LoadedDocument::Components(rows) => state.components = Loadable::Present(rows),
        LoadedDocument::Runs { runs, baselines } => {
            state.stored = Loadable::Present(StoredLists { runs, baselines });
            if std::mem::take(&mut state.compares_next) && state.shows_run {
                return compare_run(state);
            }
        }
        LoadedDocument::Run(run) => {
            state.run = Some(RunPage::from_stored(*run, state.settings.draws_simulated));
            state.shows_run = true;
        }
        LoadedDocument::Recent(run) => state.keep_charts(&run),
        LoadedDocument::Comparison(result) => state.comparison = Loadable::Present(result),
        LoadedDocument::History(page) => {
            let is_recorded = |note: &NotePanel| {
                let mut alerts = page.alerts.iter();
                alerts.any(|alert| alert.id == note.alert && alert.decisions.len() > note.seen)
            };
            state.note.take_if(|note| is_recorded(note));
            state.history = Loadable::Present(page);
        }
        LoadedDocument::Fleet(document) => state.fleet = Loadable::Present(document),
        LoadedDocument::Machine { findings, environment } => {
            state.machine = Loadable::Present(MachinePage { findings, environment });
        }
    }
    // A stage may need several kinds of data, so request the next one.
    enter(state)
}

pub(super) fn unavailable(state: &mut State, subject: Subject, why: &str) -> Vec<Command> {
    let why = rsb_report::clean(why);
    match subject {
        Subject::Offers => state.offers = Loadable::Unavailable(why),
        Subject::Components => state.components = Loadable::Unavailable(why),
        Subject::Runs => state.stored = Loadable::Unavailable(why),
        Subject::Comparison => state.comparison = Loadable::Unavailable(why),
        Subject::History => state.history = Loadable::Unavailable(why),
        Subject::Machine => state.machine = Loadable::Unavailable(why),
        Subject::Fleet => state.fleet = Loadable::Unavailable(why),
        Subject::Run => state.remember(&why),
    }
    Vec::new()
}

pub(super) fn on_plan(state: &mut State, plan: Result<PlanSummary, String>) -> Vec<Command> {
    if let Overlay::Start(panel) = &mut state.overlay {
        panel.plan = plan
            .map_or_else(|why| Loadable::Unavailable(rsb_report::clean(&why)), Loadable::Present);
    }
    Vec::new()
}

pub(super) fn on_run_end(state: &mut State, end: Result<Box<RunEnd>, String>) -> Vec<Command> {
    if matches!(state.overlay, Overlay::Leave) {
        state.overlay = Overlay::None;
    }
    let is_whole = match end {
        Ok(end) => {
            let is_whole =
                end.status == RunStatus::Complete && !matches!(end.stored, StoredRun::Failed(_));
            state.keep_charts(&end.run);
            if let Some(run) = &mut state.run {
                run.finish(*end);
            }
            is_whole
        }
        Err(why) => {
            state.remember(&why);
            if let Some(run) = state.run.as_mut().filter(|run| run.run.finished.is_some()) {
                // The run could not be resumed and is unchanged.
                run.progress = None;
            } else {
                (state.run, state.shows_run) = (None, false);
            }
            false
        }
    };
    let is_unkept = state.run.as_ref().is_some_and(RunPage::is_unkept);
    match state.leaves_after_run.take() {
        // Quitting must not lose the run without confirmation.
        Some(0) if is_unkept => state.overlay = Overlay::Leave,
        Some(code) => return vec![Command::Quit(code)],
        None => {}
    }
    // The stored data has changed: each page loads it again, and the comparison opens on the newest
    // pair.
    (state.history, state.components, state.stored) =
        (Loadable::Absent, Loadable::Absent, Loadable::Absent);
    (state.comparison, state.sides) = (Loadable::Absent, None);
    state.compares_next = is_whole && state.settings.compares_after_run;
    let mut commands = reload(state, Subject::Runs);
    commands.extend(enter(state));
    commands
}

pub(super) fn on_stored(state: &mut State, path: String) -> Vec<Command> {
    if let Some((_, stored)) = state.run.as_mut().and_then(|run| run.end.as_mut()) {
        *stored = StoredRun::Kept(path);
    }
    reload(state, Subject::Runs)
}
