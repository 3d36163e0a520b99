//! State of the interface.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rsb_model::finding::Finding;
use rsb_model::record::{CampaignDocument, CampaignNode, SeriesTrend};
use rsb_model::{ComparisonResult, Environment, Run};
use rsb_report::charts::ChartSelection;
use rsb_report::{BaselineRow, Chart, Report, RunRow};

use crate::action_list::ActionList;
use crate::command::{RunSelection, Subject};
use crate::drawn_page::DrawnPage;
use crate::history::{self, SeriesOrder};
use crate::message::{ComponentRow, HistoryPage, PlanSummary};
use crate::pick::{self, PickChoice, PickList, PickedSide};
use crate::run_page::RunPage;
use crate::settings::InterfaceSettings;
use crate::stage::{Offer, Stage};

/// Maximum number of program messages to keep.
const MOST_SAID: usize = 200;

/// Data that is loaded on first use.
#[derive(Debug, Default)]
pub(crate) enum Loadable<T> {
    /// Not requested yet.
    #[default]
    Absent,
    /// Requested.
    Loading,
    /// Loaded.
    Present(T),
    /// Not available, for this reason.
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
    /// None.
    #[default]
    None,
    /// Help for the current page.
    Help,
    /// Input of a search text.
    Search,
    /// The plan of a run, for confirmation.
    Start(StartPanel),
    /// List of all actions of the page.
    Actions(ActionList),
    /// Selection of a run or baseline.
    Pick(PickList),
    /// Input of a note, to acknowledge a change.
    Note(NotePanel),
    /// Confirmation to quit during a run, or without keeping the last one.
    Leave,
}

/// Note on a change that the user acknowledges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotePanel {
    /// Id of the alert.
    pub(crate) alert: String,
    /// Number of its decisions when the panel was opened.
    pub(crate) seen: usize,
    pub(crate) typed: String,
}

#[derive(Debug)]
pub(crate) struct StartPanel {
    pub(crate) wish: RunSelection,
    pub(crate) plan: Loadable<PlanSummary>,
}

/// Cursor of a list or text on a stage.
#[derive(Debug, Clone, Default)]
pub(crate) struct StageCursor {
    pub(crate) selected: usize,
    /// Number of lines above the first visible one.
    pub(crate) scroll: usize,
    pub(crate) view: usize,
    pub(crate) search: String,
    /// Order of the series of the history.
    pub(crate) order: SeriesOrder,
    /// Whether series of a single run are listed, too.
    pub(crate) shows_all: bool,
    /// Names of the marked entries.
    pub(crate) marked: BTreeSet<String>,
}

/// The environment, and the findings of the machine check.
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

/// State of the interface.
#[derive(Debug)]
pub struct State {
    pub(crate) settings: InterfaceSettings,
    pub(crate) stage: Stage,
    /// Whether the run is shown instead of its stage.
    pub(crate) shows_run: bool,
    pub(crate) overlay: Overlay,
    pub(crate) places: BTreeMap<Stage, StageCursor>,
    pub(crate) offers: Loadable<Vec<Offer>>,
    pub(crate) components: Loadable<Vec<ComponentRow>>,
    /// Charts of the newest results, shown next to the lists.
    pub(crate) charts: Vec<Chart>,
    pub(crate) stored: Loadable<StoredLists>,
    pub(crate) comparison: Loadable<Box<ComparisonResult>>,
    /// Baseline and current side of the comparison, in the syntax of `compare`.
    pub(crate) sides: Option<(String, String)>,
    pub(crate) history: Loadable<Box<HistoryPage>>,
    pub(crate) machine: Loadable<MachinePage>,
    /// The last note, until the history shows it.
    pub(crate) note: Option<NotePanel>,
    pub(crate) fleet: Loadable<Box<CampaignDocument>>,
    pub(crate) run: Option<RunPage>,
    /// Whether to compare the run that just ended once the list of runs is loaded.
    pub(crate) compares_next: bool,
    /// Exit code with which the program quits after the run, if requested.
    pub(crate) leaves_after_run: Option<u8>,
    pub(crate) messages: VecDeque<String>,
    /// Message for the user, shown until the next key.
    pub(crate) notice: Option<String>,
    pub(crate) shown: DrawnPage,
}

impl State {
    /// Returns the initial state, without data.
    pub fn new(settings: InterfaceSettings) -> Self {
        Self {
            settings,
            stage: Stage::Measure,
            shows_run: false,
            overlay: Overlay::None,
            places: BTreeMap::new(),
            offers: Loadable::Absent,
            components: Loadable::Absent,
            charts: Vec::new(),
            stored: Loadable::Absent,
            comparison: Loadable::Absent,
            sides: None,
            history: Loadable::Absent,
            machine: Loadable::Absent,
            note: None,
            fleet: Loadable::Absent,
            run: None,
            compares_next: false,
            leaves_after_run: None,
            messages: VecDeque::new(),
            notice: None,
            shown: DrawnPage::default(),
        }
    }

    /// Stores the layout of the drawn page, for clicks and scrolling.
    pub fn drawn(&mut self, shown: DrawnPage) {
        self.shown = shown;
    }

    /// Returns whether a run is being measured. Nothing else may use the machine during a run.
    pub fn is_measuring(&self) -> bool {
        self.run.as_ref().is_some_and(|page| page.progress.is_some())
    }

    /// Keeps the charts of `run` for the lists, instead of older ones of the same benchmarks.
    pub(crate) fn keep_charts(&mut self, run: &Run) {
        let report = Report::new(run).with_simulated(self.settings.draws_simulated);
        let new = ChartSelection::of(&report).shown;
        self.charts.retain(|old| new.iter().all(|one| one.place != old.place));
        self.charts.extend(new);
    }

    pub(crate) fn place(&self) -> StageCursor {
        self.places.get(&self.stage).cloned().unwrap_or_default()
    }

    pub(crate) fn place_mut(&mut self) -> &mut StageCursor {
        self.places.entry(self.stage).or_default()
    }

    /// Returns whether a search on this page hides the rows that do not match. On other pages, a
    /// search scrolls to the match.
    pub(crate) fn filters_rows(&self) -> bool {
        self.stage.offers_runs() || matches!(self.stage, Stage::History | Stage::Fleet)
    }

    /// Returns whether the page lists the series of the history.
    pub(crate) fn lists_series(&self) -> bool {
        self.stage == Stage::History && self.place().view == 0
    }

    /// Returns whether the page lists the nodes of a campaign.
    pub(crate) fn lists_nodes(&self) -> bool {
        self.stage == Stage::Fleet && self.place().view == 0
    }

    /// Returns the nodes of the campaign that match the search.
    pub(crate) fn listed_nodes(&self) -> Vec<&CampaignNode> {
        let search = self.place().search.to_lowercase();
        let nodes = self.fleet.present().map_or(&[][..], |document| &document.nodes);
        nodes.iter().filter(|node| node.name.to_lowercase().contains(&search)).collect()
    }

    pub(crate) fn selected_node(&self) -> Option<&CampaignNode> {
        let listed = self.listed_nodes();
        listed.get(self.place().selected.min(listed.len().saturating_sub(1))).copied()
    }

    /// Returns the shown stages, in the order of the tabs.
    pub(crate) const fn stages(&self) -> &'static [Stage] {
        Stage::shown(self.settings.has_fleet)
    }

    /// Returns the listed series of the history, in order.
    pub(crate) fn listed_series(&self) -> Vec<&SeriesTrend> {
        let place = self.place();
        self.history.present().map_or_else(Vec::new, |page| {
            history::listed(page, &place.search, place.shows_all, place.order)
        })
    }

    pub(crate) fn selected_series(&self) -> Option<&SeriesTrend> {
        let listed = self.listed_series();
        listed.get(self.place().selected.min(listed.len().saturating_sub(1))).copied()
    }

    /// Returns the history with only what matches the search.
    pub(crate) fn matching_history(&self) -> Option<Cow<'_, HistoryPage>> {
        let (page, search) = (self.history.present()?, self.place().search);
        Some(if search.is_empty() {
            Cow::Borrowed(page)
        } else {
            Cow::Owned(history::filtered(page, &search))
        })
    }

    /// Returns the offers of the stage that match the search: those that can run here, then the
    /// others.
    pub(crate) fn matching_offers(&self) -> Vec<&Offer> {
        let search = self.place().search.to_lowercase();
        let Some(offers) = self.offers.present() else { return Vec::new() };
        let own = offers.iter().filter(|offer| offer.stage == self.stage);
        let mut matching: Vec<&Offer> = own
            .filter(|offer| {
                offer.name.to_lowercase().contains(&search)
                    || offer.about.to_lowercase().contains(&search)
            })
            .collect();
        matching.sort_by_key(|offer| !offer.is_runnable());
        matching
    }

    pub(crate) fn selected_offer(&self) -> Option<&Offer> {
        let listed = self.matching_offers();
        listed.get(self.place().selected.min(listed.len().saturating_sub(1))).copied()
    }

    /// Returns the loaded runs and baselines; empty if not loaded.
    pub(crate) fn stored_lists(&self) -> (&[RunRow], &[BaselineRow]) {
        self.stored.present().map_or((&[], &[]), |lists| (&lists.runs, &lists.baselines))
    }

    pub(crate) fn pick_choices(&self, side: PickedSide) -> Vec<PickChoice> {
        let (runs, baselines) = self.stored_lists();
        pick::choices(side, runs, baselines)
    }

    /// Returns the next data that a stage needs and that has not been requested yet.
    pub(crate) fn lacks(&self, stage: Stage) -> Option<Subject> {
        let has_no_offers = matches!(self.offers, Loadable::Absent);
        let (subject, is_absent) = match stage {
            Stage::Measure | Stage::GpuPerformance => (Subject::Offers, has_no_offers),
            Stage::Components if has_no_offers => (Subject::Offers, true),
            Stage::Components => (Subject::Components, matches!(self.components, Loadable::Absent)),
            Stage::Comparison => (Subject::Runs, matches!(self.stored, Loadable::Absent)),
            Stage::History => (Subject::History, matches!(self.history, Loadable::Absent)),
            Stage::Doctor => (Subject::Machine, matches!(self.machine, Loadable::Absent)),
            Stage::Fleet => (Subject::Fleet, matches!(self.fleet, Loadable::Absent)),
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
            Subject::Fleet => self.fleet = Loadable::Loading,
            Subject::Run => {}
        }
    }

    pub(crate) fn remember(&mut self, text: &str) {
        let text = rsb_report::clean(text);
        if text.trim().is_empty() {
            return;
        }
        self.notice = Some(text.trim().to_owned());
        // Skip repeats: planning each offer emits the same configuration note.
        if self.messages.back() == Some(&text) {
            return;
        }
        self.messages.push_back(text);
        if self.messages.len() > MOST_SAID {
            self.messages.pop_front();
        }
    }
}
