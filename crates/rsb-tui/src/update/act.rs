//! Handling of user actions.

use rsb_model::Profile;

use super::{copy, enter, go_to, leave, reload, show_run};
use crate::action::Action;
use crate::action_list::ActionList;
use crate::bindings::{action_choices, picked_side};
use crate::command::{Command, RunSelection, Subject};
use crate::history;
use crate::pick::{self, ComparablePair, PickList, PickedSide};
use crate::run_page::{RunPage, cycle_index};
use crate::stage::{Offer, OfferKind, Stage};
use crate::state::{Loadable, NotePanel, Overlay, StartPanel, State};

pub(super) fn act(state: &mut State, action: Action) -> Vec<Command> {
    match action {
        Action::Quit | Action::QuitAtOnce => return leave(state, action),
        Action::Help => state.overlay = Overlay::Help,
        Action::Back => return back(state),
        Action::NextStage => return go_to(state, state.stage.next(state.stages())),
        Action::PreviousStage => return go_to(state, state.stage.previous(state.stages())),
        Action::GoTo(stage) => return go_to(state, stage),
        Action::Move(by) => go(state, by),
        Action::MovePage(pages) => {
            let page = isize::try_from(state.shown.height.saturating_sub(1).max(1)).unwrap_or(1);
            go(state, pages.saturating_mul(page));
        }
        Action::First => go(state, isize::MIN / 2),
        Action::Last => go(state, isize::MAX / 2),
        Action::Select(row) => return select(state, row),
        Action::ScrollDetails(by) => scroll_details(state, by),
        Action::Turn(by) => turn(state, by),
        Action::Mark => return mark(state),
        Action::Choose => return choose(state),
        Action::Begin => return begin(state),
        Action::ChangeProfile(by) => return change_profile(state, by),
        Action::StopRun => return stop(state),
        Action::ResumeRun => return resume(state),
        Action::ShowRun => show_run(state),
        Action::CompareRun => return compare_run(state),
        Action::CompareWithPrevious => return compare_latest(state, Against::Previous),
        Action::CompareWithBaseline => return compare_latest(state, Against::Baseline),
        Action::PickSide => return open_pick(state, PickedSide::Older),
        Action::PickOtherSide => {
            let side = picked_side(state).unwrap_or(PickedSide::Older);
            return open_pick(state, side.other());
        }
        Action::PickOpened => return open_pick(state, PickedSide::Opened),
        Action::SaveBaseline => return of_run(state, Command::SaveBaseline),
        Action::WriteReport => return of_run(state, Command::WriteReport),
        Action::KeepRun => return vec![Command::KeepRun],
        Action::Reload => return reload_stage(state),
        Action::Sort => {
            let place = state.place_mut();
            (place.order, place.selected) = (place.order.next(), 0);
        }
        Action::ToggleSingle => {
            let place = state.place_mut();
            (place.shows_all, place.selected) = (!place.shows_all, 0);
        }
        Action::ShowNode => {
            let place = state.place_mut();
            (place.view, place.scroll) = (1, 0);
        }
        Action::CompareStep => return compare_step(state),
        Action::WriteNote => write_note(state),
        Action::Acknowledge => return acknowledge(state),
        Action::CopyId => return copy::copy(state, copy::id(state)),
        Action::CopyCommand => return copy::copy(state, copy::command(state)),
        Action::OpenActions => state.overlay = Overlay::Actions(ActionList::default()),
        Action::Search => {
            state.overlay = Overlay::Search;
            state.place_mut().search.clear();
        }
        Action::EndSearch => state.overlay = Overlay::None,
        Action::NextMatch => find(state, 1),
    }
    Vec::new()
}

fn back(state: &mut State) -> Vec<Command> {
    match std::mem::take(&mut state.overlay) {
        Overlay::None if state.shows_run => {
            state.shows_run = false;
            return enter(state);
        }
        Overlay::None if state.stage == Stage::Fleet && state.place().view > 0 => {
            let place = state.place_mut();
            (place.view, place.scroll) = (0, 0);
        }
        Overlay::None | Overlay::Search => state.place_mut().search.clear(),
        Overlay::Help
        | Overlay::Start(_)
        | Overlay::Actions(_)
        | Overlay::Pick(_)
        | Overlay::Note(_)
        | Overlay::Leave => {}
    }
    Vec::new()
}

/// Returns the number of selectable rows on the page; `None` if the page scrolls instead.
fn rows(state: &State) -> Option<usize> {
    if let Some(side) = picked_side(state) {
        return Some(state.pick_choices(side).len());
    }
    if let Overlay::Actions(list) = &state.overlay {
        return Some(action_choices(state, &list.typed).len());
    }
    match state.stage {
        _ if state.shows_run => None,
        Stage::History if state.lists_series() => Some(state.listed_series().len()),
        Stage::Fleet if state.lists_nodes() => Some(state.listed_nodes().len()),
        stage if stage.offers_runs() => Some(state.matching_offers().len()),
        _ => None,
    }
}

fn move_index(at: usize, by: isize, most: usize) -> usize {
    let to = isize::try_from(at).unwrap_or(isize::MAX).saturating_add(by).max(0);
    usize::try_from(to).unwrap_or(0).min(most)
}

fn go(state: &mut State, by: isize) {
    if let Some(count) = rows(state) {
        let most = count.saturating_sub(1);
        let selected = match &mut state.overlay {
            Overlay::Pick(list) => &mut list.selected,
            Overlay::Actions(list) => &mut list.selected,
            _ => {
                let place = state.place_mut();
                place.scroll = 0;
                &mut place.selected
            }
        };
        *selected = move_index((*selected).min(most), by, most);
        return;
    }
    let most = state.shown.rows.saturating_sub(state.shown.height);
    if let (true, Some(run)) = (state.shows_run, &mut state.run) {
        run.scroll = move_index(run.scroll.min(most), by, most);
    } else {
        let place = state.place_mut();
        place.scroll = move_index(place.scroll.min(most), by, most);
    }
}

fn scroll_details(state: &mut State, by: isize) {
    let range = state.shown.details;
    let step = isize::try_from((range.height / 2).max(1)).unwrap_or(1);
    let place = state.place_mut();
    place.scroll = move_index(place.scroll, by.saturating_mul(step), range.below);
}

fn select(state: &mut State, row: usize) -> Vec<Command> {
    if let Overlay::Pick(list) = &mut state.overlay {
        list.selected = row;
        return choose(state);
    }
    if let Overlay::Actions(list) = &mut state.overlay {
        list.selected = row;
        return choose(state);
    }
    let was = state.place().selected;
    (state.place_mut().selected, state.place_mut().scroll) = (row, 0);
    let again = was == row || state.settings.runs_on_selection;
    if !again {
        return Vec::new();
    }
    if state.lists_nodes() {
        return act(state, Action::ShowNode);
    }
    if state.lists_series() { compare_step(state) } else { choose(state) }
}

fn turn(state: &mut State, by: isize) {
    if let (true, Some(run)) = (state.shows_run, &mut state.run) {
        run.turn(by);
        return;
    }
    let count = crate::view::titles(state).len();
    let place = state.place_mut();
    place.view = cycle_index(place.view, by, count);
    place.scroll = 0;
}

fn mark(state: &mut State) -> Vec<Command> {
    let Some((name, kind)) = state.selected_offer().map(|offer| (offer.name.clone(), offer.kind))
    else {
        return Vec::new();
    };
    if kind == OfferKind::Suite {
        state.notice =
            Some("a suite cannot be marked: press Enter to run it, or mark benchmarks".to_owned());
        return Vec::new();
    }
    let place = state.place_mut();
    if !place.marked.remove(&name) {
        place.marked.insert(name);
    }
    if state.settings.runs_on_selection { choose(state) } else { Vec::new() }
}

/// Returns the selection that Enter starts: all marked entries, or the selected offer if none is
/// marked.
fn wish(state: &State) -> Option<RunSelection> {
    let marked = state.place().marked;
    if !marked.is_empty() {
        return Some(RunSelection {
            names: marked.into_iter().collect(),
            ..RunSelection::default()
        });
    }
    state.selected_offer().map(Offer::run_selection)
}

fn choose(state: &mut State) -> Vec<Command> {
    if let Some(side) = picked_side(state) {
        return confirm_pick(state, side);
    }
    if let Overlay::Actions(list) = std::mem::take(&mut state.overlay) {
        let choices = action_choices(state, &list.typed);
        let chosen = choices.get(list.selected.min(choices.len().saturating_sub(1)));
        return chosen.map_or_else(Vec::new, |choice| act(state, choice.action));
    }
    if !state.stage.offers_runs() {
        return Vec::new();
    }
    if state.is_measuring() {
        state.notice =
            Some("a run is in progress: `r` shows it, and `s` on its page stops it".to_owned());
        return Vec::new();
    }
    if state.run.as_ref().is_some_and(RunPage::is_unkept) {
        state.notice = Some(
            "the last run is not kept yet and would be lost: `r` shows it, and `s` on its page \
             keeps it"
                .to_owned(),
        );
    }
    let Some(wish) = wish(state) else { return Vec::new() };
    state.overlay = Overlay::Start(StartPanel { wish: wish.clone(), plan: Loadable::Loading });
    if state.settings.runs_on_selection { begin(state) } else { vec![Command::Plan(wish)] }
}

fn begin(state: &mut State) -> Vec<Command> {
    let Overlay::Start(panel) = std::mem::take(&mut state.overlay) else { return Vec::new() };
    // The panel explains why nothing can be measured, and how to fix it.
    if panel.plan.present().is_some_and(|plan| plan.cases == 0) {
        state.notice = Some(
            "nothing in this selection can run here: each line shows how to fix it".to_owned(),
        );
        state.overlay = Overlay::Start(panel);
        return Vec::new();
    }
    if let Loadable::Unavailable(_) = panel.plan {
        return Vec::new();
    }
    let profile = panel.plan.present().map_or("", |plan| &plan.profile);
    let draws_simulated = state.settings.draws_simulated;
    state.run = Some(RunPage::begin(&panel.wish.title(), profile, draws_simulated));
    state.place_mut().marked.clear();
    show_run(state);
    vec![Command::Measure(panel.wish)]
}

fn change_profile(state: &mut State, by: isize) -> Vec<Command> {
    let Overlay::Start(panel) = &mut state.overlay else { return Vec::new() };
    let planned = panel.plan.present().and_then(|plan| plan.profile.parse().ok());
    let now = panel.wish.profile.or(planned).unwrap_or(Profile::Quick);
    let at = Profile::ALL.iter().position(|profile| *profile == now).unwrap_or(0);
    let next = Profile::ALL.get(cycle_index(at, by, Profile::ALL.len())).copied();
    (panel.wish.profile, panel.plan) = (next, Loadable::Loading);
    vec![Command::Plan(panel.wish.clone())]
}

pub(super) fn stop(state: &mut State) -> Vec<Command> {
    match state.run.as_mut().and_then(|run| run.progress.as_mut()) {
        Some(progress) => {
            progress.is_stopping = true;
            vec![Command::Stop]
        }
        None => Vec::new(),
    }
}

/// Continues the stopped run of the page.
fn resume(state: &mut State) -> Vec<Command> {
    match state.run.as_mut().filter(|run| run.can_resume()) {
        Some(run) => {
            run.resume();
            vec![Command::Resume(run.run.run_id.0.clone())]
        }
        None => Vec::new(),
    }
}

fn of_run(state: &mut State, command: fn(String) -> Command) -> Vec<Command> {
    match &state.run {
        Some(run) if !state.is_measuring() => vec![command(run.run.run_id.0.clone())],
        _ => Vec::new(),
    }
}

/// Default baseline side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Against {
    Previous,
    Baseline,
}

/// Compares the run of the page with the previous run.
pub(super) fn compare_run(state: &mut State) -> Vec<Command> {
    let Some(run) = &state.run else { return Vec::new() };
    let (name, suite) = (run.name(), run.run.suite.clone());
    let machine = rsb_model::Fingerprint::of(&run.run.environment).slug();
    let (runs, _) = state.stored_lists();
    let older = pick::run_before(runs, &run.run.run_id.0, &suite, Some(&machine))
        .map(|row| row.run_id.clone());
    compare_or_say(
        state,
        older.map(|older| ComparablePair { older, newer: name }),
        Against::Previous,
    )
}

fn compare_latest(state: &mut State, against: Against) -> Vec<Command> {
    let (runs, baselines) = state.stored_lists();
    if runs.is_empty() {
        state.notice =
            Some("no run is stored yet: Enter on the first page measures one".to_owned());
        return Vec::new();
    }
    let chosen =
        state.sides.as_ref().and_then(|(_, newer)| runs.iter().find(|row| row.run_id == *newer));
    let pair = match (against, chosen) {
        (Against::Previous, _) => ComparablePair::newest(runs, |run| pick::earlier_run(runs, run)),
        (Against::Baseline, Some(run)) => pick::saved_baseline(baselines, run)
            .map(|older| ComparablePair { older, newer: run.run_id.clone() }),
        (Against::Baseline, None) => {
            ComparablePair::newest(runs, |run| pick::saved_baseline(baselines, run))
        }
    };
    compare_or_say(state, pair, against)
}

/// Compares the last run before the step of the selected series with the first one after it.
fn compare_step(state: &mut State) -> Vec<Command> {
    let range = state.history.present().zip(state.selected_series());
    let step = range.and_then(|(page, series)| history::step_of(page, series));
    let pair = step.and_then(|step| {
        let range = step.range?;
        let older = range.last_before.run_id.as_ref()?.0.clone();
        Some(ComparablePair { older, newer: range.first_after.run_id.as_ref()?.0.clone() })
    });
    let Some(pair) = pair else {
        state.notice =
            Some("this series has no tracked step to compare: `o` opens a run".to_owned());
        return Vec::new();
    };
    compare(state, pair)
}

/// Asks for a note on the step of the selected series. A note that was not recorded is kept.
fn write_note(state: &mut State) {
    let series = state.history.present().zip(state.selected_series());
    let step = series.and_then(|(page, series)| history::step_of(page, series));
    let Some(alert) = step.and_then(|step| step.alert) else {
        state.notice = Some("this series has no tracked step to acknowledge".to_owned());
        return;
    };
    if state.is_measuring() {
        state.notice = Some("a run is in progress: acknowledge the change after it".to_owned());
        return;
    }
    let kept = state.note.as_ref().filter(|note| note.alert == alert.id);
    let typed = kept.map_or_else(String::new, |note| note.typed.clone());
    let (alert, seen) = (alert.id.clone(), alert.decisions.len());
    state.overlay = Overlay::Note(NotePanel { alert, seen, typed });
}

/// Acknowledges the change of the open note.
fn acknowledge(state: &mut State) -> Vec<Command> {
    let Overlay::Note(note) = std::mem::take(&mut state.overlay) else { return Vec::new() };
    if note.typed.trim().is_empty() {
        state.notice = Some("write a note for later readers, or press Esc".to_owned());
        state.overlay = Overlay::Note(note);
        return Vec::new();
    }
    state.note = Some(note.clone());
    vec![Command::Acknowledge { alert: note.alert, because: note.typed, seen: note.seen }]
}

/// Opens the comparison page on the newest pair of one suite and machine, unless a pair is already
/// shown.
pub(super) fn open_comparison(state: &mut State) -> Vec<Command> {
    if state.stage != Stage::Comparison || state.shows_run || state.sides.is_some() {
        return Vec::new();
    }
    let (runs, baselines) = state.stored_lists();
    let pair = ComparablePair::newest(runs, |run| {
        pick::earlier_run(runs, run).or_else(|| pick::saved_baseline(baselines, run))
    });
    match pair {
        Some(pair) => compare(state, pair),
        None => Vec::new(),
    }
}

fn compare_or_say(
    state: &mut State,
    pair: Option<ComparablePair>,
    against: Against,
) -> Vec<Command> {
    let Some(pair) = pair else {
        let why = match against {
            Against::Previous => {
                "there is no earlier run of this suite on this machine: measure it again"
            }
            Against::Baseline => {
                "no baseline of this suite is saved for this machine: `b` on the page of a run \
                 saves one"
            }
        };
        state.notice = Some(why.to_owned());
        return Vec::new();
    };
    compare(state, pair)
}

fn compare(state: &mut State, pair: ComparablePair) -> Vec<Command> {
    if state.is_measuring() {
        state.notice =
            Some("compare after the run: nothing else runs while a case is timed".to_owned());
        return Vec::new();
    }
    let ComparablePair { older: baseline, newer: current } = pair;
    state.sides = Some((baseline.clone(), current.clone()));
    state.expect(Subject::Comparison);
    (state.stage, state.shows_run, state.overlay) = (Stage::Comparison, false, Overlay::None);
    (state.place_mut().scroll, state.place_mut().view) = (0, 0);
    let mut commands = enter(state);
    commands.push(Command::Compare { baseline, current });
    commands
}

fn open_pick(state: &mut State, side: PickedSide) -> Vec<Command> {
    if state.is_measuring() {
        state.notice = Some(
            "stored runs can be read after the run: nothing else runs while a case is timed"
                .to_owned(),
        );
        return Vec::new();
    }
    let compared = state.sides.as_ref().and_then(|(older, newer)| match side {
        PickedSide::Older => Some(older),
        PickedSide::Newer => Some(newer),
        PickedSide::Opened => None,
    });
    let choices = state.pick_choices(side);
    let selected = choices.iter().position(|choice| Some(&choice.name) == compared).unwrap_or(0);
    state.overlay = Overlay::Pick(PickList { side, selected });
    if matches!(state.stored, Loadable::Absent) { reload(state, Subject::Runs) } else { Vec::new() }
}

fn confirm_pick(state: &mut State, side: PickedSide) -> Vec<Command> {
    let Overlay::Pick(list) = &state.overlay else { return Vec::new() };
    let Some(choice) = state.pick_choices(side).into_iter().nth(list.selected) else {
        return Vec::new();
    };
    let latest = state.stored_lists().0.first().map(|row| row.run_id.clone());
    let (older, newer) =
        state.sides.clone().map_or((None, latest), |(older, newer)| (Some(older), Some(newer)));
    state.overlay = Overlay::None;
    let pair = match side {
        PickedSide::Opened => return vec![Command::OpenRun(choice.name)],
        PickedSide::Older => Some(choice.name).zip(newer),
        PickedSide::Newer => older.zip(Some(choice.name)),
    };
    match pair {
        Some((older, newer)) if older == newer => {
            state.notice =
                Some("a run cannot be compared with itself: `b` chooses another".to_owned());
            Vec::new()
        }
        Some((older, newer)) => compare(state, ComparablePair { older, newer }),
        None => open_pick(state, PickedSide::Older),
    }
}

fn reload_stage(state: &mut State) -> Vec<Command> {
    let subjects: &[Subject] = match state.stage {
        Stage::Measure | Stage::GpuPerformance => &[Subject::Offers],
        Stage::Components => &[Subject::Components],
        Stage::Comparison => &[Subject::Runs],
        Stage::History => &[Subject::History, Subject::Runs],
        Stage::Doctor => &[Subject::Machine],
        Stage::Fleet => &[Subject::Fleet],
    };
    subjects.iter().flat_map(|subject| reload(state, *subject)).collect()
}

/// Scrolls to the next line that contains the search text, starting `after` lines below the current
/// one and wrapping around.
pub(super) fn find(state: &mut State, after: usize) {
    let search = state.place().search.to_lowercase();
    if search.is_empty() || state.filters_rows() {
        return;
    }
    let from = state.place().scroll + after;
    let found =
        crate::view::find(state, &search, from).or_else(|| crate::view::find(state, &search, 0));
    match found {
        Some(line) => state.place_mut().scroll = line,
        None => state.notice = Some(format!("`{search}` is not on this page")),
    }
}
