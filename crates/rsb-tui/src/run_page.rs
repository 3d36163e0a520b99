//! The page of a run: one in progress, the latest one, or one opened from the history.

use std::time::Duration;

use rsb_model::{
    BenchmarkResult, Case, CaseId, Environment, Event, Note, Run, RunId, RunStatus, Timestamp,
};
use rsb_report::{Chart, Report, charts};

use crate::message::{RunEnd, StoredRun};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum RunView {
    /// All cases, including those that were not measured, with how to fix each problem.
    #[default]
    Results,
    /// The chart of this name.
    Chart(String),
    /// Messages of the program during the run.
    Said,
}

#[derive(Debug)]
pub(crate) struct RunPage {
    pub(crate) run: Run,
    /// Progress; `None` after the run has ended.
    pub(crate) progress: Option<RunProgress>,
    /// Final status and location; `None` for a stored run.
    pub(crate) end: Option<(RunStatus, StoredRun)>,
    pub(crate) charts: Vec<Chart>,
    /// Whether the charts include simulated results.
    draws_simulated: bool,
    pub(crate) view: RunView,
    /// Number of lines above the first visible one.
    pub(crate) scroll: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunProgress {
    /// Number of cases that will run.
    pub(crate) cases: usize,
    /// Current step, from 1; 0 before the first.
    pub(crate) step: usize,
    pub(crate) steps: usize,
    /// Case that is being measured.
    pub(crate) case: Option<Case>,
    /// Case that was measured before.
    pub(crate) last: Option<CaseId>,
    /// Start time of the first step.
    began: Option<Timestamp>,
    /// Start time of the current step.
    now: Option<Timestamp>,
    pub(crate) is_stopping: bool,
}

impl RunProgress {
    const fn new() -> Self {
        Self {
            cases: 0,
            step: 0,
            steps: 0,
            case: None,
            last: None,
            began: None,
            now: None,
            is_stopping: false,
        }
    }

    /// Returns the remaining time at the current pace: `80 s left`.
    pub(crate) fn time_left(&self) -> Option<String> {
        let elapsed = Duration::try_from(self.now?.duration_since(self.began?)).ok()?;
        rsb_report::number::format_left(elapsed, self.step, self.steps)
    }

    /// Returns the share of finished steps, from 0 to 1.
    pub(crate) fn share(&self) -> f64 {
        if self.steps == 0 { 0.0 } else { self.step.saturating_sub(1) as f64 / self.steps as f64 }
    }
}

impl RunPage {
    pub(crate) fn begin(suite: &str, profile: &str, draws_simulated: bool) -> Self {
        let id = RunId("not started yet".to_owned());
        let run = Run::begin(id, Timestamp::UNIX_EPOCH, suite, profile, Environment::default());
        Self::new(run, Some(RunProgress::new()), draws_simulated)
    }

    pub(crate) fn from_stored(run: Run, draws_simulated: bool) -> Self {
        let mut page = Self::new(run, None, draws_simulated);
        page.draw_charts();
        page
    }

    fn new(run: Run, progress: Option<RunProgress>, draws_simulated: bool) -> Self {
        let (charts, view) = (Vec::new(), RunView::default());
        Self { run, progress, end: None, charts, draws_simulated, view, scroll: 0 }
    }

    /// Handles an engine event. Returns whether to redraw, which is never during a case.
    pub(crate) fn on_event(&mut self, event: Event, at: Timestamp) -> bool {
        let Some(progress) = &mut self.progress else { return false };
        match event {
            Event::RunStarted { run_id, cases } => {
                progress.cases = cases;
                // A resumed run keeps its id and start time.
                if self.run.finished.is_none() {
                    (self.run.run_id, self.run.started) = (run_id, at);
                }
                true
            }
            Event::ReplicateStarted { case, step, steps } => {
                progress.began.get_or_insert(at);
                (progress.step, progress.steps, progress.now) = (step, steps, Some(at));
                progress.last = progress
                    .case
                    .replace(*case)
                    .map(|case| case.id)
                    .or_else(|| progress.last.take());
                self.draw_charts();
                true
            }
            Event::CaseUpdated(result) => {
                self.run.keep(*result);
                false
            }
            Event::RunEnded(_) => {
                progress.step = progress.steps + 1;
                self.draw_charts();
                true
            }
            _ => false,
        }
    }

    /// Returns whether the run was stopped and is stored, so that it can be continued.
    pub(crate) fn can_resume(&self) -> bool {
        let is_stopped =
            self.run.notes.iter().any(|note| matches!(note, Note::Interrupted | Note::OutOfTime));
        self.progress.is_none() && is_stopped && self.is_stored()
    }

    /// Starts continuing the run; its results stay visible.
    pub(crate) fn resume(&mut self) {
        self.progress = Some(RunProgress::new());
    }

    /// Returns whether the run is stored among the results.
    pub(crate) const fn is_stored(&self) -> bool {
        !matches!(self.end, Some((_, StoredRun::NotKept(_) | StoredRun::Failed(_))))
    }

    pub(crate) fn finish(&mut self, end: RunEnd) {
        self.run = end.run;
        self.progress = None;
        self.end = Some((end.status, end.stored));
        self.draw_charts();
    }

    fn draw_charts(&mut self) {
        let report = Report::new(&self.run).with_simulated(self.draws_simulated);
        self.charts = charts::all(&report);
    }

    pub(crate) fn views(&self) -> Vec<RunView> {
        let charts = self.charts.iter().map(|chart| RunView::Chart(chart.name.clone()));
        std::iter::once(RunView::Results).chain(charts).chain([RunView::Said]).collect()
    }

    /// Returns the index of [`RunPage::view`] in [`RunPage::views`]; 0, the results, if its chart
    /// no longer exists.
    pub(crate) fn at(&self) -> usize {
        self.views().iter().position(|view| *view == self.view).unwrap_or(0)
    }

    /// Goes to the next or previous view.
    pub(crate) fn turn(&mut self, by: isize) {
        let views = self.views();
        let at = cycle_index(self.at(), by, views.len());
        self.view = views.into_iter().nth(at).unwrap_or_default();
        self.scroll = 0;
    }

    pub(crate) fn chart(&self) -> Option<&Chart> {
        let RunView::Chart(name) = &self.view else { return None };
        self.charts.iter().find(|chart| chart.name == *name)
    }

    pub(crate) fn result(&self, id: &CaseId) -> Option<&BenchmarkResult> {
        self.run.benchmarks.iter().find(|result| result.benchmark_id == *id)
    }

    /// Returns the name of the run in the syntax of `compare`: its id if it is stored permanently,
    /// otherwise its file.
    pub(crate) fn name(&self) -> String {
        match &self.end {
            Some((_, StoredRun::NotKept(path))) => path.clone(),
            _ => self.run.run_id.0.clone(),
        }
    }

    /// Returns whether the run was measured by this process and its file is deleted on exit.
    pub(crate) const fn is_unkept(&self) -> bool {
        matches!(&self.end, Some((_, StoredRun::NotKept(_))))
    }
}

/// Returns the index `by` steps from `at` among `count`, wrapping around.
pub(crate) fn cycle_index(at: usize, by: isize, count: usize) -> usize {
    let steps =
        isize::try_from(count).ok().and_then(|count| by.checked_rem_euclid(count)).unwrap_or(0);
    (at + steps.unsigned_abs()).checked_rem(count).unwrap_or(0)
}
