//! What can be done where, and by which key: one list, from which the last line, the help and the
//! keys themselves follow.

use crate::action::Action;
use crate::message::Key;
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

const fn binding(
    action: Action,
    keys: &'static [Key],
    key: &'static str,
    word: &'static str,
    about: &'static str,
) -> Binding {
    Binding { action, keys, key, word, about }
}

const ENTER: &[Key] = &[Key::Enter];
const ESC: &[Key] = &[Key::Esc];

/// What can be done in `state`, the most useful first.
pub fn bindings(state: &State) -> Vec<Binding> {
    match &state.overlay {
        Overlay::Help => vec![
            binding(
                Action::Back,
                &[Key::Esc, Key::Char('?'), Key::Enter],
                "Esc",
                "back",
                "closes the help",
            ),
            quit(),
        ],
        Overlay::Search => vec![
            binding(Action::EndSearch, ENTER, "Enter", "done", "keeps what was typed"),
            binding(Action::Back, ESC, "Esc", "cancel", "clears the filter"),
        ],
        Overlay::Start(_) => vec![
            binding(Action::Begin, ENTER, "Enter", "start", "begins to measure"),
            binding(
                Action::ChangeProfile(1),
                &[Key::Right, Key::Char('l'), Key::Char('p')],
                "p",
                "profile",
                "measures more thoroughly, or again as quickly",
            ),
            binding(
                Action::ChangeProfile(-1),
                &[Key::Left, Key::Char('h'), Key::Char('<')],
                "←",
                "",
                "measures less thoroughly",
            ),
            binding(Action::Back, ESC, "Esc", "back", "measures nothing"),
        ],
        Overlay::Pick(_) => {
            let mut all = vec![
                binding(Action::Choose, ENTER, "Enter", "choose", "takes the selected one"),
                binding(Action::Back, ESC, "Esc", "back", "leaves everything as it is"),
            ];
            all.extend(moves());
            all
        }
        Overlay::Leave => vec![
            binding(
                Action::Quit,
                &[Key::Char('q'), Key::Enter],
                "q",
                "quit all the same",
                "ends the program",
            ),
            binding(Action::Back, ESC, "Esc", "stay", "nothing ends"),
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
    let search = binding(
        Action::Search,
        &[Key::Char('/')],
        "/",
        "search",
        "shows only what holds the text that you type",
    );
    let find =
        binding(Action::Search, &[Key::Char('/')], "/", "search", "goes to the text that you type");
    let next = binding(
        Action::NextMatch,
        &[Key::Char('n')],
        "n",
        "",
        "goes to the next place with that text",
    );
    let reload = binding(Action::Reload, &[Key::Char('u')], "u", "update", "loads the page again");
    let turns = [
        binding(
            Action::Turn(1),
            &[Key::Right, Key::Char('l'), Key::Char('>')],
            "→",
            "next view",
            "shows the next chart or page",
        ),
        binding(
            Action::Turn(-1),
            &[Key::Left, Key::Char('h'), Key::Char('<')],
            "←",
            "",
            "shows the chart or page before",
        ),
    ];
    let mut all = Vec::new();
    match state.stage {
        stage if stage.offers_runs() => {
            all.push(binding(
                Action::Choose,
                ENTER,
                "Enter",
                "run",
                "runs the selected suite or benchmark, and asks first",
            ));
            all.push(binding(
                Action::Mark,
                &[Key::Char(' ')],
                "Space",
                "mark",
                "marks a benchmark: Enter then runs all that are marked",
            ));
            all.push(search);
            all.extend(moves());
            all.push(reload);
        }
        Stage::Comparison => {
            all.push(binding(
                Action::CompareWithPrevious,
                &[Key::Char('p')],
                "p",
                "run before",
                "compares the latest run with the run before it",
            ));
            all.push(binding(
                Action::CompareWithBaseline,
                &[Key::Char('a')],
                "a",
                "baseline",
                "compares the run with the baseline of its suite",
            ));
            all.push(binding(
                Action::PickOlder,
                &[Key::Char('1')],
                "1",
                "older",
                "chooses what to compare with: any run or baseline",
            ));
            all.push(binding(
                Action::PickNewer,
                &[Key::Char('2')],
                "2",
                "newer",
                "chooses the run that is compared",
            ));
            all.extend(turns);
            all.extend([find, next, reload]);
            all.extend(scrolls());
        }
        Stage::History => {
            all.extend(turns);
            all.push(binding(
                Action::PickOpened,
                &[Key::Char('o'), Key::Enter],
                "o",
                "open a run",
                "shows the results and charts of any stored run",
            ));
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
        all.push(binding(
            Action::StopRun,
            &[Key::Char('s')],
            "s",
            "stop",
            "stops after the present sample; what was measured is kept",
        ));
    } else {
        if state.run.as_ref().is_some_and(RunPage::can_resume) {
            all.push(binding(
                Action::ResumeRun,
                &[Key::Char('m')],
                "m",
                "measure on",
                "measures what this run still lacks; what it has stays",
            ));
        }
        all.push(binding(
            Action::CompareRun,
            &[Key::Char('c'), Key::Enter],
            "c",
            "compare",
            "compares this run with the run before it",
        ));
        if state.run.as_ref().is_some_and(RunPage::is_stored) {
            all.push(binding(
                Action::SaveBaseline,
                &[Key::Char('b')],
                "b",
                "baseline",
                "saves this run as the baseline of its suite",
            ));
            all.push(binding(
                Action::WriteReport,
                &[Key::Char('w')],
                "w",
                "report",
                "writes the report of this run, with its charts",
            ));
        } else {
            all.push(binding(
                Action::KeepRun,
                &[Key::Char('s')],
                "s",
                "keep",
                "keeps this run among the results",
            ));
        }
    }
    all.push(binding(
        Action::Turn(1),
        &[Key::Right, Key::Char('l'), Key::Char('>')],
        "→",
        "next chart",
        "shows the next chart",
    ));
    all.push(binding(
        Action::Turn(-1),
        &[Key::Left, Key::Char('h'), Key::Char('<')],
        "←",
        "",
        "shows the chart before",
    ));
    all.push(binding(
        Action::Back,
        ESC,
        "Esc",
        "list",
        "goes back to the list; `r` shows the run again",
    ));
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
        binding(Action::Move(-1), &[Key::Up, Key::Char('k')], "↑", "", up),
        binding(Action::Move(1), &[Key::Down, Key::Char('j')], "↓", "", down),
        binding(Action::MovePage(-1), &[Key::PageUp], "PgUp", "", "a page up"),
        binding(Action::MovePage(1), &[Key::PageDown], "PgDn", "", "a page down"),
        binding(Action::First, &[Key::Home, Key::Char('g')], "g", "", "to the top"),
        binding(Action::Last, &[Key::End, Key::Char('G')], "G", "", "to the end"),
    ]
}

fn everywhere(state: &State) -> Vec<Binding> {
    let mut all = Vec::new();
    if state.run.is_some() && !state.shows_run {
        all.push(binding(
            Action::ShowRun,
            &[Key::Char('r')],
            "r",
            "the run",
            "shows the run that is measured, or was last",
        ));
    }
    if !state.shows_run && !state.place().search.is_empty() {
        let (word, about) = if state.filters_rows() {
            ("show all", "clears the filter")
        } else {
            ("clear search", "clears the search text")
        };
        all.push(binding(Action::Back, ESC, "Esc", word, about));
    }
    all.push(binding(
        Action::NextStage,
        &[Key::Tab],
        "Tab",
        "next page",
        "goes to the next page of the first line",
    ));
    all.push(binding(
        Action::PreviousStage,
        &[Key::BackTab],
        "Shift-Tab",
        "",
        "goes to the page before",
    ));
    all.push(binding(
        Action::Help,
        &[Key::Char('?')],
        "?",
        "help",
        "says what can be done on this page",
    ));
    all.push(quit());
    all
}

const fn quit() -> Binding {
    binding(
        Action::Quit,
        &[Key::Char('q')],
        "q",
        "quit",
        "ends the program; asks first while a run is measured",
    )
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
