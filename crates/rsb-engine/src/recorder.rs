//! Keeps a run while it is measured: every result is in the journal before the next case begins.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rsb_catalog::plan::Plan;
use rsb_model::run::ReplicateProgress;
use rsb_model::{BenchmarkResult, Environment, Event, Run, Timestamp};
use rsb_store::{Journal, Store, StoreError, new_run_id, programs};

use crate::measure::inject;

/// The SHA-256 of this program: two programs of one commit need not be the same.
pub fn program_hash() -> Option<String> {
    static HASH: OnceLock<Option<String>> = OnceLock::new();
    HASH.get_or_init(|| programs::hash(Path::new(programs::RUNNING)).ok()).clone()
}

/// A run on its way to the store.
pub struct Recorder {
    /// The run so far.
    pub run: Run,
    journal: Journal,
    /// The first thing that went wrong in keeping it; measuring goes on.
    problem: Option<StoreError>,
}

impl Recorder {
    /// Reserves an id and begins the journal.
    ///
    /// # Errors
    /// When the results directory cannot be written.
    pub fn begin(
        store: &Store,
        suite: &str,
        profile: &str,
        environment: Environment,
        plan: &Plan,
    ) -> Result<Self, StoreError> {
        let now = Timestamp::now();
        let commit = environment.git.as_ref().map(|git| git.commit.as_str());
        let mut run = Run::begin(new_run_id(now, commit), now, suite, profile, environment);
        run.program = program_hash();
        run.devices = plan.run_devices();
        run.notes.extend(inject::note());
        let mut journal = store.begin(&run)?;
        (run.run_id, run.sequence) = (journal.run().run_id.clone(), journal.run().sequence);
        let problem = journal.plan(plan.cases.len() + plan.without_figures().count()).err();
        Ok(Self { run, journal, problem })
    }

    /// Keeps the result that an event reports, and how far the run is.
    pub fn on_event(&mut self, event: &Event) {
        match event {
            Event::ReplicateStarted { step, steps, .. } => {
                self.journal.set_progress(ReplicateProgress { done: *step, total: *steps });
            }
            Event::CaseUpdated(result) => self.keep(result),
            _ => {}
        }
    }

    fn keep(&mut self, result: &BenchmarkResult) {
        self.run.keep(result.clone());
        if let Err(error) = self.journal.add(result) {
            tracing::error!("{error}");
            self.problem.get_or_insert(error);
        }
    }

    /// Writes the run's file. Where that fails, the run is written to the system's temporary
    /// directory, and the error says so.
    ///
    /// # Errors
    /// When it is not where it belongs.
    pub fn finish(&mut self) -> anyhow::Result<PathBuf> {
        self.run.finished = Some(Timestamp::now());
        let first = match self.journal.finish(&self.run) {
            Ok(path) => return Ok(path),
            Err(error) => self.problem.take().unwrap_or(error),
        };
        let rescued = self.journal.rescue(&std::env::temp_dir());
        Err(match rescued {
            Ok(path) => anyhow::Error::new(first).context(format!(
                "the run could not be stored where it belongs; nothing is lost, it was written to \
                 {}. Make room, then move that file into the directory `runs` of your results",
                path.display()
            )),
            Err(second) => anyhow::Error::new(first).context(format!(
                "the run could not be stored, nor rescued ({second}); its figures are printed only"
            )),
        })
    }
}
