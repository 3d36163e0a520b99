//! State changes in response to messages, and the resulting commands.

mod act;
mod arrive;
mod copy;

use rsb_model::{Event, Timestamp};

use crate::action::Action;
use crate::bindings::action_of;
use crate::command::{Command, Subject};
use crate::message::{Key, Message};
use crate::run_page::RunPage;
use crate::stage::Stage;
use crate::state::{Loadable, Overlay, State};

/// Applies `message` to `state`, and returns the commands to execute in order.
pub fn update(state: &mut State, message: Message) -> Vec<Command> {
    match message {
        Message::Key(key) => with_picture(on_key(state, key)),
        Message::Pasted(text) => {
            state.notice = None;
            if !type_text(state, &text) {
                state.notice =
                    Some("pasted text is not read as keys: `/` searches for it".to_owned());
            }
            vec![Command::Draw]
        }
        Message::Click { column, row } => match state.shown.action_at(column, row) {
            Some(action) => with_picture(act::act(state, action)),
            None => Vec::new(),
        },
        Message::Resized => {
            let wanted = enter(state);
            with_picture(wanted)
        }
        Message::Happened { event, at } => on_event(state, event, at),
        Message::Said(text) => {
            state.remember(&text);
            // The message is shown with the next step: nothing is drawn while a case is timed.
            if state.is_measuring() { Vec::new() } else { vec![Command::Draw] }
        }
        Message::Loaded(document) => with_picture(arrive::on_loaded(state, document)),
        Message::Unavailable { subject, why } => {
            with_picture(arrive::unavailable(state, subject, &why))
        }
        Message::Planned(plan) => with_picture(arrive::on_plan(state, plan)),
        Message::Ended(end) => with_picture(arrive::on_run_end(state, end)),
        Message::Kept(path) => with_picture(arrive::on_stored(state, path)),
        Message::Due(subject) => due(state, subject),
        Message::Done => {
            let wanted = reload(state, Subject::Runs);
            with_picture(wanted)
        }
    }
}

fn with_picture(mut commands: Vec<Command>) -> Vec<Command> {
    commands.push(Command::Draw);
    commands
}

fn on_event(state: &mut State, event: Event, at: Timestamp) -> Vec<Command> {
    if let Event::Notice(notice) = &event {
        state.remember(&format!("{}: {}", notice.level.as_str(), notice.text));
    }
    let is_end = matches!(event, Event::RunStarted { .. } | Event::RunEnded(_));
    let Some(run) = &mut state.run else { return Vec::new() };
    let is_for_eyes = run.on_event(event, at);
    if is_for_eyes && (state.settings.shows_live_progress || is_end) {
        vec![Command::Draw]
    } else {
        Vec::new()
    }
}

fn on_key(state: &mut State, key: Key) -> Vec<Command> {
    state.notice = None;
    match key {
        Key::Char(letter) if type_text(state, letter.encode_utf8(&mut [0; 4])) => {
            return Vec::new();
        }
        Key::Backspace => {
            match &mut state.overlay {
                Overlay::Search => drop(state.place_mut().search.pop()),
                Overlay::Actions(list) => drop(list.typed.pop()),
                Overlay::Note(note) => drop(note.typed.pop()),
                _ => {}
            }
            return Vec::new();
        }
        _ => {}
    }
    let Some(action) = action_of(state, key) else { return Vec::new() };
    act::act(state, action)
}

/// Maximum length of a note in characters.
const MAX_NOTE_CHARS: usize = 500;

/// Adds `text` to the text that is being typed, without control characters. Returns whether there
/// is one.
fn type_text(state: &mut State, text: &str) -> bool {
    let typed = text.chars().filter(|letter| !letter.is_control());
    match &mut state.overlay {
        Overlay::Search => {
            let place = state.place_mut();
            place.search.extend(typed);
            (place.selected, place.scroll) = (0, 0);
            act::find(state, 0);
        }
        Overlay::Actions(list) => {
            list.typed.extend(typed);
            list.selected = 0;
        }
        Overlay::Note(note) => {
            let room = MAX_NOTE_CHARS.saturating_sub(note.typed.chars().count());
            note.typed.extend(typed.take(room));
        }
        _ => return false,
    }
    true
}

/// Requests data that the current stage needs. Requests nothing during a run, so as not to disturb
/// it; the data is requested after the run.
fn enter(state: &mut State) -> Vec<Command> {
    if state.is_measuring() {
        return Vec::new();
    }
    let Some(subject) = state.lacks(state.stage) else { return act::open_comparison(state) };
    state.expect(subject);
    vec![Command::Load(subject)]
}

/// Loads `subject` again, unless a run is being measured.
fn reload(state: &mut State, subject: Subject) -> Vec<Command> {
    if state.is_measuring() {
        return Vec::new();
    }
    state.expect(subject);
    vec![Command::Load(subject)]
}

/// Reloads `subject` now if its page is visible, else when the page is opened.
fn due(state: &mut State, subject: Subject) -> Vec<Command> {
    if subject != Subject::Fleet {
        return Vec::new();
    }
    if state.stage == Stage::Fleet && !state.shows_run && !state.is_measuring() {
        return vec![Command::Load(subject)];
    }
    state.fleet = Loadable::Absent;
    Vec::new()
}

fn go_to(state: &mut State, stage: Stage) -> Vec<Command> {
    (state.stage, state.shows_run, state.overlay) = (stage, false, Overlay::None);
    enter(state)
}

fn show_run(state: &mut State) {
    state.shows_run = state.run.is_some();
    state.overlay = Overlay::None;
}

/// Exit code after an interrupt.
const INTERRUPTED: u8 = 130;

fn leave(state: &mut State, action: Action) -> Vec<Command> {
    let code = if action == Action::QuitAtOnce { INTERRUPTED } else { 0 };
    let loses_a_run = state.run.as_ref().is_some_and(RunPage::is_unkept) && action == Action::Quit;
    if loses_a_run && !matches!(state.overlay, Overlay::Leave) {
        state.overlay = Overlay::Leave;
        return Vec::new();
    }
    let insists = code == INTERRUPTED && state.leaves_after_run == Some(INTERRUPTED);
    if !state.is_measuring() || insists {
        return vec![Command::Quit(code)];
    }
    if action == Action::QuitAtOnce || matches!(state.overlay, Overlay::Leave) {
        state.leaves_after_run = Some(code);
        state.overlay = Overlay::None;
        return act::stop(state);
    }
    state.overlay = Overlay::Leave;
    Vec::new()
}
