//! Selecting stored runs for deletion, and deleting them.

use std::collections::{HashMap, HashSet};
use std::fs;

use rsb_model::record::ACCEPTED_FROM;
use rsb_model::{RunId, Timestamp};

use crate::baselines::Baselines;
use crate::error::{ReadError, StoreError};
use crate::files;
use crate::store::{RunSummary, Store};

/// Rule for the runs that may be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneRule {
    /// Delete only runs that began before this time.
    pub before: Timestamp,
    /// Number of newest runs to keep for each machine and suite.
    pub keep: usize,
}

/// Result of applying a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrunePlan {
    /// Runs to delete, oldest first.
    pub deleted: Vec<RunSummary>,
    /// Runs that the rule would delete, but that are kept because a baseline was made from them.
    pub of_baselines: Vec<RunId>,
    /// Number of runs kept for other reasons.
    pub kept: usize,
}

impl Baselines {
    /// Returns the runs from which baselines were made, and those whose samples were accepted into
    /// one.
    ///
    /// # Errors
    /// If a baseline cannot be read, because then the runs that it was made from are unknown.
    pub fn run_ids(&self) -> Result<HashSet<RunId>, ReadError> {
        self.check_readable()?;
        let mut ids = HashSet::new();
        for info in self.list() {
            for run in self.read(&info.path)?.runs {
                for case in &run.benchmarks {
                    let accepted = case.metadata.get(ACCEPTED_FROM).and_then(|id| id.as_str());
                    ids.extend(accepted.map(|id| RunId(id.to_owned())));
                }
                ids.insert(run.run_id);
            }
        }
        Ok(ids)
    }
}

impl Store {
    /// Returns the runs that `rule` deletes. Runs in `of_baselines` and the latest runs, by start
    /// time and by sequence number, are kept.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn plan_prune(
        &self,
        rule: PruneRule,
        of_baselines: &HashSet<RunId>,
    ) -> Result<PrunePlan, StoreError> {
        // The run measured last is kept as well: if the clock was set back, its start time is old.
        let latest = [self.latest_id()?, self.last_in_sequence()?];
        let runs = self.runs()?;
        // Imported runs are counted separately, so that they do not displace runs measured here.
        let mut newer: HashMap<(&str, &str, bool), usize> = HashMap::new();
        let mut plan = PrunePlan { deleted: Vec::new(), of_baselines: Vec::new(), kept: 0 };
        for run in &runs {
            let newer =
                newer.entry((run.slug.as_str(), run.suite.as_str(), run.imported)).or_default();
            *newer += 1;
            let is_old = *newer > rule.keep
                && run.started < rule.before
                && latest.iter().flatten().all(|latest| *latest != run.run_id);
            if !is_old {
                plan.kept += 1;
            } else if of_baselines.contains(&run.run_id) {
                plan.of_baselines.push(run.run_id.clone());
            } else {
                plan.deleted.push(run.clone());
            }
        }
        plan.deleted.reverse();
        plan.of_baselines.reverse();
        Ok(plan)
    }

    /// Deletes the files of `runs` and their index entries. The callback is called for each deleted
    /// run.
    ///
    /// # Errors
    /// If a file cannot be deleted. The runs before it are deleted and were reported.
    pub fn delete(
        &self,
        runs: &[RunSummary],
        mut report: impl FnMut(&RunSummary),
    ) -> Result<(), StoreError> {
        // In a working tree, the directory may be a link that another user created; this call
        // refuses links.
        files::create_dir(&self.results_dir().join(files::RUNS))?;
        // Blocks reserving ids, recovery and repair during the deletion.
        let guard =
            files::lock_file(self.results_dir()).and_then(|file| file.lock().map(|()| file));
        let deleted = runs.iter().try_for_each(|run| {
            fs::remove_file(&run.path).map_err(|source| StoreError::write(&run.path, source))?;
            let profiles = self.profiles_of(&run.run_id);
            if profiles.is_dir() {
                fs::remove_dir_all(&profiles)
                    .map_err(|source| StoreError::write(&profiles, source))?;
            }
            report(run);
            Ok(())
        });
        drop(guard);
        self.refresh()?;
        deleted
    }
}
