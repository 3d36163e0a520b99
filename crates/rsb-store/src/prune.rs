//! Which stored runs may go, and letting them go.

use std::collections::{HashMap, HashSet};
use std::fs;

use rsb_model::record::ACCEPTED_FROM;
use rsb_model::{RunId, Timestamp};

use crate::baselines::Baselines;
use crate::error::{ReadError, StoreError};
use crate::files;
use crate::store::{RunSummary, Store};

/// Which runs may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneRule {
    /// Only those that began before.
    pub before: Timestamp,
    /// Of each machine and suite so many of the newest stay.
    pub keep: usize,
}

/// What a rule comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrunePlan {
    /// The runs to delete, oldest first.
    pub deleted: Vec<RunSummary>,
    /// Those that are old enough and stay because a baseline was made from them.
    pub of_baselines: Vec<RunId>,
    /// Those that stay otherwise.
    pub kept: usize,
}

impl Baselines {
    /// The runs that baselines were made from, and those whose samples were accepted into one.
    ///
    /// # Errors
    /// When a baseline cannot be read: nobody knows then what it was made from.
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
    /// What `rule` deletes, where those of `of_baselines` stay, and so does the latest run, by time
    /// and by the sequence.
    ///
    /// # Errors
    /// When the index does not answer.
    pub fn plan_prune(
        &self,
        rule: PruneRule,
        of_baselines: &HashSet<RunId>,
    ) -> Result<PrunePlan, StoreError> {
        // By a clock that was set back the run that was just made is an old one.
        let latest = [self.latest_id()?, self.last_in_sequence()?];
        let runs = self.runs()?;
        // Imported runs are no measurements of this directory: they push none out.
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

    /// Deletes the files of `runs`, and what the index has of them; `told` hears of each once it is
    /// gone.
    ///
    /// # Errors
    /// When a file cannot be deleted: those before it are gone, and told.
    pub fn delete(
        &self,
        runs: &[RunSummary],
        mut told: impl FnMut(&RunSummary),
    ) -> Result<(), StoreError> {
        // In a working tree the directory may be a link of somebody else's.
        files::create_dir(&self.results_dir().join(files::RUNS))?;
        // Nobody reserves an id meanwhile, nor recovers or repairs.
        let guard =
            files::lock_file(self.results_dir()).and_then(|file| file.lock().map(|()| file));
        let deleted = runs.iter().try_for_each(|run| {
            fs::remove_file(&run.path).map_err(|source| StoreError::write(&run.path, source))?;
            let profiles = self.profiles_of(&run.run_id);
            if profiles.is_dir() {
                fs::remove_dir_all(&profiles)
                    .map_err(|source| StoreError::write(&profiles, source))?;
            }
            told(run);
            Ok(())
        });
        drop(guard);
        self.refresh()?;
        deleted
    }
}
