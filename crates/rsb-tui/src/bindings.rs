//! What can be done where, and by which key: one list, from which the last line, the help and the
//! keys themselves follow.

use crate::action::Action;
use crate::message::Key::{self, Char};
use crate::pick::PickedSide;
use crate::run_page::RunPage;
use crate::stage::Stage;
use crate::state::{Overlay, State};

/// An action, the keys that do it, and what a person reads about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// What is done.
    pub action: Action,
    /// The keys, the one that is shown first.
    pub keys: &'static [Key],
    /// How the first is called.
    pub key: &'static str,
    /// What the last line says of it; empty where it says nothing.
    pub word: &'static str,
    /// What the help says of it.
    pub about: &'static str,
}

impl Binding {
    const fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }
}

const fn bind(
    action: Action,
    keys: &'static [Key],
    key: &'static str,
    word: &'static str,
) -> Binding {
    Binding { action, keys, key, word, about: "" }
}

const ENTER: &[Key] = &[Key::Enter];
const ESC: &[Key] = &[Key::Esc];

/// What can be done in `state`, the most useful first.
pub fn bindings(state: &State) -> Vec<Binding> {
    match &state.overlay {
        Overlay::Help => vec![
            bind(Action::Back, &[Key::Esc, Char('?'), Key::Enter], "Esc", "back")
                .about("closes the help"),
            quit(),
        ],
        Overlay::Search => vec![
            bind(Action::EndSearch, ENTER, "Enter", "done").about("keeps what was typed"),
            bind(Action::Back, ESC, "Esc", "cancel").about("clears the filter"),
        ],
        Overlay::Start(_) => vec![
            bind(Action::Begin, ENTER, "Enter", "start").about("begins to measure"),
            bind(Action::ChangeProfile(1), &[Key::Right, Char('l'), Char('p')], "p", "profile")
                .about("measures more thoroughly, or again as quickly"),
            bind(Action::ChangeProfile(-1), &[Key::Left, Char('h'), Char('<')], "←", "")
                .about("measures less thoroughly"),
            bind(Action::Back, ESC, "Esc", "back").about("measures nothing"),
        ],
        Overlay::Pick(_) => {
            let mut all = vec![
                bind(Action::Choose, ENTER, "Enter", "choose").about("takes the selected one"),
                bind(Action::Back, ESC, "Esc", "back").about("leaves everything as it is"),
            ];
            all.extend(moves());
            all
        }
        Overlay::Leave => vec![
            bind(Action::Quit, &[Char('q'), Key::Enter], "q", "quit all the same")
                .about("ends the program"),
            bind(Action::Back, ESC, "Esc", "stay").about("nothing ends"),
        ],
        Overlay::None => of_page(state),
    }
}

/// What can be done on the page, whatever covers it.
pub(crate) fn of_page(state: &State) -> Vec<Binding> {
    let mut all = Vec::new();
    if state.shows_run && state.run.is_some() {
        all.extend(of_run(state));
        all.extend(scrolls());
    } else {
        all.extend(of_stage(state));
    }
    all.extend(everywhere(state));
    all
}

// In ASCII the arrows of the last line are drawn as < and >, which therefore work too.
fn of_stage(state: &State) -> Vec<Binding> {
    let search = bind(Action::Search, &[Char('/')], "/", "search")
        .about("shows only what holds the text that you type");
    let find =
        bind(Action::Search, &[Char('/')], "/", "search").about("goes to the text that you type");
    let next = bind(Action::NextMatch, &[Char('n')], "n", "")
        .about("goes to the next place with that text");
    let reload = bind(Action::Reload, &[Char('u')], "u", "update").about("loads the page again");
    let turns = [
        bind(Action::Turn(1), &[Key::Right, Char('l'), Char('>')], "→", "next view")
            .about("shows the next chart or page"),
        bind(Action::Turn(-1), &[Key::Left, Char('h'), Char('<')], "←", "")
            .about("shows the chart or page before"),
    ];
    let mut all = Vec::new();
    match state.stage {
        stage if stage.offers_runs() => {
            all.extend([
                bind(Action::Choose, ENTER, "Enter", "run")
                    .about("runs the selected suite or benchmark, and asks first"),
                bind(Action::Mark, &[Char(' ')], "Space", "mark")
                    .about("marks a benchmark: Enter then runs all that are marked"),
                search,
            ]);
            all.extend(moves());
            all.push(reload);
        }
        Stage::Comparison => {
            all.extend([
                bind(Action::CompareWithPrevious, &[Char('p')], "p", "run before")
                    .about("compares the latest run with the run before it"),
                bind(Action::CompareWithBaseline, &[Char('a')], "a", "baseline")
                    .about("compares the run with the baseline of its suite"),
                bind(Action::PickOlder, &[Char('1')], "1", "older")
                    .about("chooses what to compare with: any run or baseline"),
                bind(Action::PickNewer, &[Char('2')], "2", "newer")
                    .about("chooses the run that is compared"),
            ]);
            all.extend(turns);
            all.extend([find, next, reload]);
            all.extend(scrolls());
        }
        Stage::History => {
            all.extend(turns);
            all.push(
                bind(Action::PickOpened, &[Char('o'), Key::Enter], "o", "open a run")
                    .about("shows the results and charts of any stored run"),
            );
            all.extend([if state.filters_rows() { search } else { find }, next, reload]);
            all.extend(moves());
        }
        _ => {
            all.extend(turns);
            all.extend([find, next, reload]);
            all.extend(scrolls());
        }
    }
    all
}

fn of_run(state: &State) -> Vec<Binding> {
    let mut all = Vec::new();
    if state.is_measuring() {
        all.push(
            bind(Action::StopRun, &[Char('s')], "s", "stop")
                .about("stops after the present sample; what was measured is kept"),
        );
    } else {
        if state.run.as_ref().is_some_and(RunPage::can_resume) {
            all.push(
                bind(Action::ResumeRun, &[Char('m')], "m", "measure on")
                    .about("measures what this run still lacks; what it has stays"),
            );
        }
        all.push(
            bind(Action::CompareRun, &[Char('c'), Key::Enter], "c", "compare")
                .about("compares this run with the run before it"),
        );
        if state.run.as_ref().is_some_and(RunPage::is_stored) {
            all.extend([
                bind(Action::SaveBaseline, &[Char('b')], "b", "baseline")
                    .about("saves this run as the baseline of its suite"),
                bind(Action::WriteReport, &[Char('w')], "w", "report")
                    .about("writes the report of this run, with its charts"),
            ]);
        } else {
            all.push(
                bind(Action::KeepRun, &[Char('s')], "s", "keep")
                    .about("keeps this run among the results"),
            );
        }
    }
    all.extend([
        bind(Action::Turn(1), &[Key::Right, Char('l'), Char('>')], "→", "next chart")
            .about("shows the next chart"),
        bind(Action::Turn(-1), &[Key::Left, Char('h'), Char('<')], "←", "")
            .about("shows the chart before"),
        bind(Action::Back, ESC, "Esc", "list")
            .about("goes back to the list; `r` shows the run again"),
    ]);
    all
}

fn moves() -> [Binding; 6] {
    moving("selects the row above", "selects the row below")
}

fn scrolls() -> [Binding; 6] {
    moving("scrolls up", "scrolls down")
}

fn moving(up: &'static str, down: &'static str) -> [Binding; 6] {
    [
        bind(Action::Move(-1), &[Key::Up, Char('k')], "↑", "").about(up),
        bind(Action::Move(1), &[Key::Down, Char('j')], "↓", "").about(down),
        bind(Action::MovePage(-1), &[Key::PageUp], "PgUp", "").about("a page up"),
        bind(Action::MovePage(1), &[Key::PageDown], "PgDn", "").about("a page down"),
        bind(Action::First, &[Key::Home, Char('g')], "g", "").about("to the top"),
        bind(Action::Last, &[Key::End, Char('G')], "G", "").about("to the end"),
    ]
}

fn everywhere(state: &State) -> Vec<Binding> {
    let mut all = Vec::new();
    if state.run.is_some() && !state.shows_run {
        all.push(
            bind(Action::ShowRun, &[Char('r')], "r", "the run")
                .about("shows the run that is measured, or was last"),
        );
    }
    if !state.shows_run && !state.place().search.is_empty() {
        let (word, about) = if state.filters_rows() {
            ("show all", "clears the filter")
        } else {
            ("clear search", "clears the search text")
        };
        all.push(bind(Action::Back, ESC, "Esc", word).about(about));
    }
    all.extend([
        bind(Action::NextStage, &[Key::Tab], "Tab", "next page")
            .about("goes to the next page of the first line"),
        bind(Action::PreviousStage, &[Key::BackTab], "Shift-Tab", "")
            .about("goes to the page before"),
        bind(Action::Help, &[Char('?')], "?", "help").about("says what can be done on this page"),
        quit(),
    ]);
    all
}

const fn quit() -> Binding {
    bind(Action::Quit, &[Char('q')], "q", "quit")
        .about("ends the program; asks first while a run is measured")
}

/// What `key` does in `state`.
pub(crate) fn action_of(state: &State, key: Key) -> Option<Action> {
    if key == Key::Interrupt {
        return Some(Action::QuitAtOnce);
    }
    bindings(state)
        .into_iter()
        .find(|binding| binding.keys.contains(&key))
        .map(|binding| binding.action)
}

/// The list that an overlay for choosing shows.
pub(crate) const fn picked_side(state: &State) -> Option<PickedSide> {
    match &state.overlay {
        Overlay::Pick(list) => Some(list.side),
        _ => None,
    }
}
