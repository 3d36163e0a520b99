//! Campaigns in the PostgreSQL store of `fleet.toml`: `[store]`.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use rsb_fleet::{FleetConfig, StoreSection};
use rsb_model::format;
use rsb_store::shared::{CampaignNumber, CampaignRow, CampaignRun, SharedStore, SharedStoreError};
use serde::{Deserialize, Serialize};

use super::campaign::{Campaign, CampaignDir, CollectedJob};
use super::measured::{CollectCounts, CollectedRun, StepRun, StepRuns};
use crate::AppError;

/// Maximum number of runs, and of samples, that are sent in one transaction.
const BATCH_RUNS: usize = 100;
const BATCH_SAMPLES: usize = 1_000_000;

/// Description of a campaign in the store.
#[derive(Debug, Serialize, Deserialize)]
struct Description {
    campaign: Campaign,
    jobs: Vec<CollectedJob>,
}

/// A campaign that is read from the store.
#[derive(Debug)]
pub(super) struct DatabaseCampaign {
    description: Description,
    /// Positions of its jobs by id.
    positions: HashMap<u64, usize>,
    number: CampaignNumber,
    shared: RefCell<SharedStore>,
}

impl DatabaseCampaign {
    /// Opens the campaign called `name`, or the latest; `None` if there is none.
    pub(super) fn open(config: &FleetConfig, name: Option<&str>) -> Result<Option<Self>, AppError> {
        let Some(section) = &config.store else { return Ok(None) };
        let mut shared = connect(section)?;
        let Some((number, document)) = shared.campaign(name).map_err(shared_error)? else {
            return Ok(None);
        };
        let document = rsb_model::json::parse(&document.text).map_err(AppError::usage)?;
        format::check(document.get("campaign").unwrap_or(&document)).map_err(AppError::usage)?;
        let description: Description = serde_json::from_value(document)?;
        let jobs = description.jobs.iter().enumerate();
        let positions = jobs.map(|(at, job)| (job.record.job, at)).collect();
        Ok(Some(Self { description, positions, number, shared: RefCell::new(shared) }))
    }

    pub(super) const fn campaign(&self) -> &Campaign {
        &self.description.campaign
    }

    pub(super) fn jobs(&self) -> &[CollectedJob] {
        &self.description.jobs
    }

    pub(super) fn job(&self, id: u64) -> Option<&CollectedJob> {
        self.positions.get(&id).and_then(|at| self.description.jobs.get(*at))
    }

    /// Returns the runs of the job in the directory `place` of the campaign.
    pub(super) fn step_runs(&self, place: &str) -> Result<StepRuns, AppError> {
        let runs = self.shared.borrow_mut().campaign_runs(self.number, place);
        let mut steps = StepRuns::new();
        for CampaignRun { job, step, attempt, run } in runs.map_err(shared_error)? {
            let results = Path::new(&job).join(attempt).join(step.to_string());
            steps.insert(step, StepRun { run, results });
        }
        Ok(steps)
    }
}

/// Connects to the store with the password from its file, or from the environment.
fn connect(section: &StoreSection) -> Result<SharedStore, AppError> {
    let Some(file) = &section.password_file else {
        return SharedStore::connect(&section.address).map_err(shared_error);
    };
    let password = read_password(Path::new(file))?;
    SharedStore::connect_with(&section.address, &password).map_err(shared_error)
}

/// Reads the first line of a file that no other user can read.
fn read_password(file: &Path) -> Result<String, AppError> {
    let shown = file.display();
    let refused = |problem: String| AppError::usage(anyhow!("`store.password_file`: {problem}"));
    let text = rsb_store::read_text(file)
        .map_err(|error| refused(format!("cannot read `{shown}`: {error}")))?;
    let mode = std::fs::metadata(file).map_or(0, |data| data.permissions().mode());
    if mode & 0o077 != 0 {
        return Err(refused(format!("others can read `{shown}`; run `chmod 600 {shown}`")));
    }
    match text.lines().next() {
        Some(password) if !password.is_empty() => Ok(password.to_owned()),
        _ => Err(refused(format!("`{shown}` is empty; write the password into it"))),
    }
}

/// Converts an error. One that the user corrects in the configuration is a usage error.
fn shared_error(error: SharedStoreError) -> AppError {
    match error {
        SharedStoreError::Unreachable { shown, problem } if problem.contains("password") => {
            AppError::usage(anyhow!(
                "{shown} refuses the login: {problem}; correct `store.password_file` or PGPASSWORD"
            ))
        }
        SharedStoreError::Unreachable { shown, problem } => anyhow!(
            "cannot reach {shown}: {problem}; nothing was lost; start the server and repeat the \
             command"
        )
        .into(),
        SharedStoreError::Address { .. } | SharedStoreError::Newer { .. } => AppError::usage(error),
        other => other.into(),
    }
}

/// Adds runs of a campaign to the store, a batch per transaction.
pub(super) struct StoreSink {
    shared: SharedStore,
    number: CampaignNumber,
    batch: Vec<CampaignRun>,
    samples: usize,
}

impl StoreSink {
    /// Connects, and stores the plan and the jobs of the campaign.
    pub(super) fn open(section: &StoreSection, dir: &CampaignDir) -> Result<Self, AppError> {
        let mut shared = connect(section)?;
        let mut jobs = Vec::new();
        for record in dir.jobs()? {
            let attempt = dir.attempt(&record);
            jobs.push(CollectedJob { start: attempt.start, end: attempt.end, record });
        }
        let campaign = dir.campaign.clone();
        let (name, created) = (campaign.name.clone(), campaign.created);
        let text = serde_json::to_string(&Description { campaign, jobs })?;
        let number =
            shared.put_campaign(&CampaignRow { name, created, text }).map_err(shared_error)?;
        Ok(Self { shared, number, batch: Vec::new(), samples: 0 })
    }

    /// Returns the jobs and numbers of the runs that were collected before.
    pub(super) fn known(&mut self) -> Result<HashSet<(String, usize)>, AppError> {
        self.shared.campaign_steps(self.number).map_err(shared_error)
    }

    /// Adds a run, with others in one transaction.
    pub(super) fn add(
        &mut self,
        collected: CollectedRun,
        counts: &mut CollectCounts,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), AppError> {
        let CollectedRun { place, step, attempt, run } = collected;
        let samples = run.benchmarks.iter().flat_map(|case| &case.samples);
        self.samples += samples.map(|samples| samples.times_ns.len()).sum::<usize>();
        self.batch.push(CampaignRun { job: place, step, attempt, run });
        if self.batch.len() >= BATCH_RUNS || self.samples >= BATCH_SAMPLES {
            return self.flush(counts, say);
        }
        Ok(())
    }

    /// Sends the runs that were not sent yet. If the server refuses one, the others are sent one by
    /// one.
    pub(super) fn flush(
        &mut self,
        counts: &mut CollectCounts,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), AppError> {
        let batch = Arc::new(std::mem::take(&mut self.batch));
        self.samples = 0;
        let refusal = match self.shared.add_campaign_runs(self.number, &batch) {
            Ok(added) => {
                counts.new += added;
                counts.known += batch.len() - added;
                return Ok(());
            }
            Err(error) => error,
        };
        if self.shared.is_closed() {
            return Err(shared_error(refusal));
        }
        for run in batch.iter() {
            let one = Arc::new(vec![run.clone()]);
            match self.shared.add_campaign_runs(self.number, &one) {
                Ok(added) => {
                    counts.new += added;
                    counts.known += 1 - added;
                }
                Err(error) if self.shared.is_closed() => return Err(shared_error(error)),
                Err(error) => {
                    counts.unreadable += 1;
                    say(&format!("left out: {} of {}: {error}", run.run.run_id, run.job));
                }
            }
        }
        Ok(())
    }
}
