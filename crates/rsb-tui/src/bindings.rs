//! Key bindings by state: a single list from which the last line, the help and the keys are
//! derived.

use crate::action::Action;
use crate::action_list::ActionChoice;
use crate::message::Key::{self, Char};
use crate::pick::PickedSide;
use crate::run_page::RunPage;
use crate::stage::Stage;
use crate::state::{Overlay, State};

/// An action, its keys, and its descriptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// Action.
    pub action: Action,
    /// Keys, the displayed one first.
    pub keys: &'static [Key],
    /// Label of the first key.
    pub key: &'static str,
    /// Word in the last line; empty if not shown there.
    pub word: &'static str,
    /// Description in the help.
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

/// Returns the bindings available in `state`, most useful first.
pub fn bindings(state: &State) -> Vec<Binding> {
    match &state.overlay {
        Overlay::Help => vec![
            bind(Action::Back, &[Key::Esc, Char('?'), Key::Enter], "Esc", "back")
                .about("closes the help"),
            quit(),
        ],
        Overlay::Search => vec![
            bind(Action::EndSearch, ENTER, "Enter", "done").about("keeps the typed text"),
            bind(Action::Back, ESC, "Esc", "cancel").about("clears the filter"),
        ],
        Overlay::Start(_) => vec![
            bind(Action::Begin, ENTER, "Enter", "start").about("starts measuring"),
            bind(Action::ChangeProfile(1), &[Key::Right, Char('l'), Char('p')], "p", "profile")
                .about("selects a more thorough profile; after the last, the quickest"),
            bind(Action::ChangeProfile(-1), &[Key::Left, Char('h'), Char('<')], "←", "")
                .about("selects a less thorough profile"),
            bind(Action::Back, ESC, "Esc", "back").about("closes the plan without measuring"),
        ],
        Overlay::Actions(_) => {
            let mut all = vec![
                bind(Action::Choose, ENTER, "Enter", "do it").about("does the selected action"),
                bind(Action::Back, ESC, "Esc", "back").about("closes the list"),
            ];
            all.extend(moves());
            all
        }
        Overlay::Pick(list) => {
            let mut all = vec![
                bind(Action::Choose, ENTER, "Enter", "choose").about("chooses the selected entry"),
                bind(Action::Back, ESC, "Esc", "back").about("closes the list without choosing"),
            ];
            if list.side != PickedSide::Opened {
                all.push(
                    bind(Action::PickOtherSide, &[Key::Tab, Char('b')], "Tab", "other side")
                        .about("chooses the other side instead"),
                );
            }
            all.extend(moves());
            all
        }
        Overlay::Note(_) => vec![
            bind(Action::Acknowledge, ENTER, "Enter", "acknowledge")
                .about("acknowledges the change with the typed note"),
            bind(Action::Back, ESC, "Esc", "back").about("closes the note without recording it"),
        ],
        Overlay::Leave => vec![
            bind(Action::Quit, &[Char('q'), Key::Enter], "q", "quit anyway")
                .about("quits the program"),
            bind(Action::Back, ESC, "Esc", "stay").about("stays in the program"),
        ],
        Overlay::None => of_page(state),
    }
}

/// Returns the bindings of the page, regardless of overlays.
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

// In ASCII mode, the arrows in the last line are drawn as < and >, so the keys < and > work too.
fn of_stage(state: &State) -> Vec<Binding> {
    let search = bind(Action::Search, &[Char('/')], "/", "search")
        .about("shows only rows that contain the typed text");
    let find = bind(Action::Search, &[Char('/')], "/", "search").about("goes to the typed text");
    let next = bind(Action::NextMatch, &[Char('n')], "n", "").about("goes to the next match");
    let reload = bind(Action::Reload, &[Char('u')], "u", "update").about("reloads the page");
    let turns = [
        bind(Action::Turn(1), &[Key::Right, Char('l'), Char('>')], "→", "next view")
            .about("shows the next chart or page"),
        bind(Action::Turn(-1), &[Key::Left, Char('h'), Char('<')], "←", "")
            .about("shows the previous chart or page"),
    ];
    let copy_id = bind(Action::CopyId, &[Char('y')], "y", "copy").about("copies the id");
    let copy_command = bind(Action::CopyCommand, &[Char('Y')], "Y", "")
        .about("copies the command line that does the same");
    let mut all = Vec::new();
    match state.stage {
        stage if stage.offers_runs() => {
            all.extend([
                bind(Action::Choose, ENTER, "Enter", "run")
                    .about("runs the selected suite or benchmark after a confirmation"),
                bind(Action::Mark, &[Char(' ')], "Space", "mark")
                    .about("marks a benchmark; Enter runs all marked ones"),
                search,
            ]);
            all.extend(moves());
            all.extend([
                bind(Action::ScrollDetails(1), &[Key::Right, Char('l'), Char('>')], "→", "details")
                    .about("scrolls the details down: why the rest cannot run, and the cure"),
                bind(Action::ScrollDetails(-1), &[Key::Left, Char('h'), Char('<')], "←", "")
                    .about("scrolls the details up"),
                Binding { word: "", ..reload },
                Binding { word: "", ..copy_id },
                copy_command,
            ]);
        }
        Stage::Comparison => {
            all.extend([
                bind(Action::CompareWithPrevious, &[Char('p')], "p", "previous run")
                    .about("compares the latest run with the previous one"),
                bind(Action::CompareWithBaseline, &[Char('a')], "a", "baseline")
                    .about("compares the run with the baseline of its suite"),
                bind(Action::PickSide, &[Char('b')], "b", "both sides")
                    .about("chooses either side: a branch, commit, run or baseline"),
            ]);
            all.extend(turns);
            all.extend([find, next, reload, copy_id, copy_command]);
            all.extend(scrolls());
        }
        Stage::History => {
            let open = "shows the results and charts of any stored run";
            if state.lists_series() {
                all.extend([
                    bind(Action::CompareStep, ENTER, "Enter", "compare")
                        .about("compares the runs around the step of the series"),
                    bind(Action::WriteNote, &[Char('A')], "A", "acknowledge")
                        .about("acknowledges the step of the series, with a note"),
                    bind(Action::Sort, &[Char('s')], "s", "sort").about("sorts by the next column"),
                    bind(Action::ToggleSingle, &[Char('a')], "a", "all")
                        .about("shows or hides series of a single run"),
                    copy_id,
                    copy_command,
                    search,
                ]);
                all.extend(turns);
                all.push(bind(Action::PickOpened, &[Char('o')], "o", "open a run").about(open));
                all.extend(moves());
            } else {
                all.extend(turns);
                all.push(
                    bind(Action::PickOpened, &[Char('o'), Key::Enter], "o", "open a run")
                        .about(open),
                );
                all.push(search);
                all.extend(scrolls());
            }
            all.push(reload);
        }
        Stage::Fleet => {
            let copies = [
                bind(Action::CopyCommand, &[Char('y')], "y", "copy command")
                    .about("copies the drain command, or else `fleet resume` or `fleet report`"),
                bind(Action::CopyId, &[Char('Y')], "Y", "").about("copies the name of the node"),
            ];
            if state.lists_nodes() {
                all.push(
                    bind(Action::ShowNode, ENTER, "Enter", "evidence")
                        .about("shows the evidence about the node, and what to do"),
                );
                all.extend(copies);
                all.push(search);
                all.extend(turns);
                all.extend(moves());
            } else {
                all.push(bind(Action::Back, ESC, "Esc", "nodes").about("goes back to the nodes"));
                all.extend(copies);
                all.extend(turns);
                all.extend(scrolls());
            }
            all.push(reload);
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
                .about("stops after the current sample and keeps the results"),
        );
    } else {
        if state.run.as_ref().is_some_and(RunPage::can_resume) {
            all.push(
                bind(Action::ResumeRun, &[Char('m')], "m", "continue")
                    .about("measures the missing cases of this run and keeps the others"),
            );
        }
        all.push(
            bind(Action::CompareRun, &[Char('c'), Key::Enter], "c", "compare")
                .about("compares this run with the previous one"),
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
                    .about("stores this run with the other results"),
            );
        }
    }
    all.extend([
        bind(Action::CopyId, &[Char('y')], "y", "").about("copies the id of the run"),
        bind(Action::Turn(1), &[Key::Right, Char('l'), Char('>')], "→", "next chart")
            .about("shows the next chart"),
        bind(Action::Turn(-1), &[Key::Left, Char('h'), Char('<')], "←", "")
            .about("shows the previous chart"),
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
                .about("shows the current or last run"),
        );
    }
    let is_back_bound = state.stage == Stage::Fleet && !state.lists_nodes();
    if !state.shows_run && !state.place().search.is_empty() && !is_back_bound {
        let (word, about) = if state.filters_rows() {
            ("show all", "clears the filter")
        } else {
            ("clear search", "clears the search text")
        };
        all.push(bind(Action::Back, ESC, "Esc", word).about(about));
    }
    all.extend([
        bind(Action::OpenActions, &[Char(':')], ":", "actions")
            .about("lists all actions of this page, to find one by its words"),
        bind(Action::NextStage, &[Key::Tab], "Tab", "next page").about("goes to the next page"),
        bind(Action::PreviousStage, &[Key::BackTab], "Shift-Tab", "")
            .about("goes to the previous page"),
        bind(Action::Help, &[Char('?')], "?", "help").about("shows the keys of this page"),
        quit(),
    ]);
    for (stage, keys, key) in PAGES {
        if state.stages().contains(&stage) {
            all.push(bind(Action::GoTo(stage), keys, key, "").about(stage.title()));
        }
    }
    all
}

/// Keys of the pages.
const PAGES: [(Stage, &[Key], &str); 7] = [
    (Stage::Measure, &[Char('1')], "1"),
    (Stage::Components, &[Char('2')], "2"),
    (Stage::GpuPerformance, &[Char('3')], "3"),
    (Stage::Comparison, &[Char('4')], "4"),
    (Stage::History, &[Char('5')], "5"),
    (Stage::Doctor, &[Char('6')], "6"),
    (Stage::Fleet, &[Char('7')], "7"),
];

const fn quit() -> Binding {
    bind(Action::Quit, &[Char('q')], "q", "quit")
        .about("quits the program; asks first during a run")
}

/// Returns the action of `key` in `state`.
pub(crate) fn action_of(state: &State, key: Key) -> Option<Action> {
    if key == Key::Interrupt {
        return Some(Action::QuitAtOnce);
    }
    bindings(state)
        .into_iter()
        .find(|binding| binding.keys.contains(&key))
        .map(|binding| binding.action)
}

/// Returns the actions of the page whose description contains every typed word.
pub(crate) fn action_choices(state: &State, typed: &str) -> Vec<ActionChoice> {
    let typed = typed.to_lowercase();
    let mut choices = Vec::new();
    for binding in of_page(state) {
        let is_listed = !binding.action.is_move() && binding.action != Action::OpenActions;
        let about = binding.about.to_lowercase();
        if is_listed && typed.split_whitespace().all(|word| about.contains(word)) {
            let (action, key) = (binding.action, binding.key);
            choices.push(ActionChoice { action, key, about: binding.about });
        }
    }
    choices
}

/// Returns the side that the selection overlay is open for.
pub(crate) const fn picked_side(state: &State) -> Option<PickedSide> {
    match &state.overlay {
        Overlay::Pick(list) => Some(list.side),
        _ => None,
    }
}
