//! Everything that is known and shown.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rsb_model::finding::Finding;
use rsb_model::{ComparisonResult, Environment};
use rsb_report::{BaselineRow, RunRow};

use crate::command::{RunSelection, Subject};
use crate::drawn_page::DrawnPage;
use crate::message::{ComponentRow, HistoryPage, PlanSummary};
use crate::pick::{self, PickChoice, PickList, PickedSide};
use crate::run_page::RunPage;
use crate::settings::InterfaceSettings;
use crate::stage::{Offer, Stage};

/// Sentences of the program that are kept.
const MOST_SAID: usize = 200;

/// Something that is loaded when it is first looked at.
#[derive(Debug, Default)]
pub(crate) enum Loadable<T> {
    /// Nobody asked for it.
    #[default]
    Absent,
    /// It was asked for.
    Loading,
    /// Here it is.
    Present(T),
    /// It is not to be had, and why.
    Unavailable(String),
}

impl<T> Loadable<T> {
    pub(crate) const fn present(&self) -> Option<&T> {
        match self {
            Self::Present(value) => Some(value),
            _ => None,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) enum Overlay {
    /// Nothing.
    #[default]
    None,
    /// What can be done here.
    Help,
    /// Text to look for is being typed.
    Search,
    /// What would be measured, and whether to begin.
    Start(StartPanel),
    /// A run or baseline is chosen.
    Pick(PickList),
    /// Whether to end while a run is measured.
    Leave,
}

#[derive(Debug)]
pub(crate) struct StartPanel {
    pub(crate) wish: RunSelection,
    pub(crate) plan: Loadable<PlanSummary>,
}

/// A list or a text on a stage.
#[derive(Debug, Clone, Default)]
pub(crate) struct StageCursor {
    pub(crate) selected: usize,
    /// Lines above the first that is shown.
    pub(crate) scroll: usize,
    pub(crate) view: usize,
    pub(crate) search: String,
    /// What is marked, by name.
    pub(crate) marked: BTreeSet<String>,
}

/// What the machine is and what is wrong with it.
#[derive(Debug)]
pub(crate) struct MachinePage {
    pub(crate) findings: Vec<Finding>,
    pub(crate) environment: Box<Environment>,
}

#[derive(Debug, Default)]
pub(crate) struct StoredLists {
    pub(crate) runs: Vec<RunRow>,
    pub(crate) baselines: Vec<BaselineRow>,
}

/// Everything that is known and shown.
#[derive(Debug)]
pub struct State {
    pub(crate) settings: InterfaceSettings,
    pub(crate) stage: Stage,
    /// Whether the run is shown in place of its stage.
    pub(crate) shows_run: bool,
    pub(crate) overlay: Overlay,
    pub(crate) places: BTreeMap<Stage, StageCursor>,
    pub(crate) offers: Loadable<Vec<Offer>>,
    pub(crate) components: Loadable<Vec<ComponentRow>>,
    pub(crate) stored: Loadable<StoredLists>,
    pub(crate) comparison: Loadable<Box<ComparisonResult>>,
    /// Both sides of what is compared, as `compare` takes them.
    pub(crate) sides: Option<(String, String)>,
    pub(crate) history: Loadable<Box<HistoryPage>>,
    pub(crate) machine: Loadable<MachinePage>,
    pub(crate) run: Option<RunPage>,
    /// A run has just ended, and is to be compared once the list of runs is here.
    pub(crate) compares_next: bool,
    /// Whether the program ends with the run.
    pub(crate) leaves_after_run: Option<u8>,
    pub(crate) said: VecDeque<String>,
    /// A sentence for the person, until the next key.
    pub(crate) notice: Option<String>,
    pub(crate) shown: DrawnPage,
}

impl State {
    /// Before anything is known.
    pub fn new(settings: InterfaceSettings) -> Self {
        Self {
            settings,
            stage: Stage::PreInstallation,
            shows_run: false,
            overlay: Overlay::None,
            places: BTreeMap::new(),
            offers: Loadable::Absent,
            components: Loadable::Absent,
            stored: Loadable::Absent,
            comparison: Loadable::Absent,
            sides: None,
            history: Loadable::Absent,
            machine: Loadable::Absent,
            run: None,
            compares_next: false,
            leaves_after_run: None,
            said: VecDeque::new(),
            notice: None,
            shown: DrawnPage::default(),
        }
    }

    /// Takes over what was drawn: where a click falls, and how far a page can be scrolled.
    pub fn drawn(&mut self, shown: DrawnPage) {
        self.shown = shown;
    }

    /// Whether a run is being measured: then nothing else may work on this machine.
    pub fn is_measuring(&self) -> bool {
        self.run.as_ref().is_some_and(|page| page.progress.is_some())
    }

    pub(crate) fn place(&self) -> StageCursor {
        self.places.get(&self.stage).cloned().unwrap_or_default()
    }

    pub(crate) fn place_mut(&mut self) -> &mut StageCursor {
        self.places.entry(self.stage).or_default()
    }

    /// Whether the page lists only the rows that match the search. Other pages scroll to the match.
    pub(crate) fn filters_rows(&self) -> bool {
        self.stage.offers_runs() || self.stage == Stage::History && self.place().view == 0
    }

    /// What the stage lists that fits what is looked for.
    pub(crate) fn matching_offers(&self) -> Vec<&Offer> {
        let search = self.place().search.to_lowercase();
        let Some(offers) = self.offers.present() else { return Vec::new() };
        let own = offers.iter().filter(|offer| offer.stage == self.stage);
        own.filter(|offer| {
            offer.name.to_lowercase().contains(&search)
                || offer.about.to_lowercase().contains(&search)
        })
        .collect()
    }

    pub(crate) fn selected_offer(&self) -> Option<&Offer> {
        let listed = self.matching_offers();
        listed.get(self.place().selected.min(listed.len().saturating_sub(1))).copied()
    }

    /// Runs and baselines, as far as they are known.
    pub(crate) fn stored_lists(&self) -> (&[RunRow], &[BaselineRow]) {
        self.stored.present().map_or((&[], &[]), |lists| (&lists.runs, &lists.baselines))
    }

    pub(crate) fn pick_choices(&self, side: PickedSide) -> Vec<PickChoice> {
        let (runs, baselines) = self.stored_lists();
        pick::choices(side, runs, baselines)
    }

    /// What a stage needs that is not here yet.
    pub(crate) fn lacks(&self, stage: Stage) -> Option<Subject> {
        let has_no_offers = matches!(self.offers, Loadable::Absent);
        let (subject, is_absent) = match stage {
            Stage::PreInstallation | Stage::GpuPerformance => (Subject::Offers, has_no_offers),
            Stage::Components if has_no_offers => (Subject::Offers, true),
            Stage::Components => (Subject::Components, matches!(self.components, Loadable::Absent)),
            Stage::Comparison => (Subject::Runs, matches!(self.stored, Loadable::Absent)),
            Stage::History => (Subject::History, matches!(self.history, Loadable::Absent)),
            Stage::Doctor => (Subject::Machine, matches!(self.machine, Loadable::Absent)),
        };
        is_absent.then_some(subject)
    }

    pub(crate) fn expect(&mut self, subject: Subject) {
        match subject {
            Subject::Offers => self.offers = Loadable::Loading,
            Subject::Components => self.components = Loadable::Loading,
            Subject::Runs => self.stored = Loadable::Loading,
            Subject::Comparison => self.comparison = Loadable::Loading,
            Subject::History => self.history = Loadable::Loading,
            Subject::Machine => self.machine = Loadable::Loading,
            Subject::Run => {}
        }
    }

    pub(crate) fn remember(&mut self, text: &str) {
        let text = rsb_report::clean(text);
        if text.trim().is_empty() {
            return;
        }
        self.notice = Some(text.trim().to_owned());
        // Planning each offer repeats a note of the configuration.
        if self.said.back() == Some(&text) {
            return;
        }
        self.said.push_back(text);
        if self.said.len() > MOST_SAID {
            self.said.pop_front();
        }
    }
}
