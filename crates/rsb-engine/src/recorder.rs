//! Recording of a run in progress: every result is in the journal before the next case begins.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rsb_catalog::plan::Plan;
use rsb_model::run::ReplicateProgress;
use rsb_model::{BenchmarkResult, Environment, Event, Run, Timestamp};
use rsb_store::{Journal, Store, StoreError, new_run_id, programs};

use crate::measure::inject;

/// Returns the SHA-256 of this program. Two builds of one commit can differ.
pub fn program_hash() -> Option<String> {
    static HASH: OnceLock<Option<String>> = OnceLock::new();
    HASH.get_or_init(|| programs::hash(Path::new(programs::RUNNING)).ok()).clone()
}

/// A run in progress that is being recorded in the store.
pub struct Recorder {
    /// The run with the results recorded until now.
    pub run: Run,
    journal: Journal,
    /// First error while recording; measuring continues.
    problem: Option<StoreError>,
}

impl Recorder {
    /// Reserves a run ID and begins the journal.
    ///
    /// # Errors
    /// If the results directory cannot be written.
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
        run.selection = plan.selection.clone();
        run.devices = plan.run_devices();
        run.notes.extend(inject::note());
        let mut journal = store.begin(&run)?;
        (run.run_id, run.sequence) = (journal.run().run_id.clone(), journal.run().sequence);
        let problem = journal.plan(plan.cases.len() + plan.without_figures().count()).err();
        Ok(Self { run, journal, problem })
    }

    /// Records the result in an event, and the progress of the run.
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

    /// Writes the run's file. If that fails, writes the run to the system's temporary directory;
    /// the error contains the path.
    ///
    /// # Errors
    /// If the run could not be written to its place in the store.
    pub fn finish(&mut self) -> anyhow::Result<PathBuf> {
        self.run.finished = Some(Timestamp::now());
        let first = match self.journal.finish(&self.run) {
            Ok(path) => return Ok(path),
            Err(error) => self.problem.take().unwrap_or(error),
        };
        let rescued = self.journal.rescue(&std::env::temp_dir());
        Err(match rescued {
            Ok(path) => anyhow::Error::new(first).context(format!(
                "cannot store the run in the results directory; it was written to {} instead: free \
                 some space, then move that file to `runs` in the results directory",
                path.display()
            )),
            Err(second) => anyhow::Error::new(first).context(format!(
                "cannot store the run, nor write it to a temporary file ({second}); its values are \
                 only printed"
            )),
        })
    }
}
