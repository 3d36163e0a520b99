//! The directory of a campaign: its plan, its submitted jobs and their markers.

use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow};
use rsb_fleet::{
    CampaignPlan, FleetConfig, FleetNode, NodeTask, SkippedNode, is_campaign_name, node_directory,
    pair_directory,
};
use rsb_model::Timestamp;
use rsb_model::format::FORMAT_VERSION;
use rsb_store::output;
use serde::{Deserialize, Serialize};

use super::state::CampaignEntry;
use super::stored::DatabaseCampaign;
use crate::AppError;

const PLAN_FILE: &str = "campaign.json";
const JOBS_FILE: &str = "jobs.jsonl";

/// A campaign as it was planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Campaign {
    /// Version of the document format.
    pub format_version: u32,
    /// Name.
    pub name: String,
    /// Creation time; distinguishes campaigns with the same name.
    #[serde(default)]
    pub created: Timestamp,
    /// Output of the program's `--version`.
    pub version: String,
    /// Nodes as the scheduler listed them.
    pub nodes: Vec<FleetNode>,
    /// Tasks of the nodes, with the suites to measure.
    pub tasks: Vec<NodeTask>,
    /// Nodes without a task.
    pub skipped: Vec<SkippedNode>,
    /// Burn-in: time for which the suites are repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_seconds: Option<u64>,
}

/// A submitted job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Job id.
    pub job: u64,
    /// Node that runs it.
    pub node: String,
    /// Turn in the paired measurements of a suspect; `None` for the node's own measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<PairTurn>,
}

/// One job of the paired measurements, in which a suspect and a node that passed are measured
/// alternately.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairTurn {
    /// Name of the suspect.
    pub suspect: String,
    /// Case in which the suspect was slow.
    pub metric: String,
    /// Slowdown of the suspect in this case, in percent.
    pub slower_percent: f64,
    /// Number of the turn, from 1.
    pub turn: usize,
}

/// A submitted job with its markers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CollectedJob {
    #[serde(flatten)]
    pub(super) record: JobRecord,
    pub(super) start: Option<String>,
    pub(super) end: Option<String>,
}

/// The directory of a campaign.
#[derive(Debug)]
pub struct CampaignDir {
    /// The plan.
    pub campaign: Campaign,
    /// `results_dir` of the configuration.
    results_dir: String,
    /// The collected campaign, if there is no directory.
    stored: Option<DatabaseCampaign>,
}

/// Markers and results of the latest attempt of a job.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    pub(super) start: Option<String>,
    pub(super) end: Option<String>,
    pub(super) started: Option<SystemTime>,
    /// Its results, a directory per suite.
    pub(super) results: PathBuf,
}

impl CampaignDir {
    /// Creates the directory of a campaign.
    pub(super) fn create(
        config: &FleetConfig,
        name: Option<&str>,
        version: &str,
        nodes: &[FleetNode],
        plan: CampaignPlan,
    ) -> Result<Self, AppError> {
        let name = match name {
            Some(name) => name.to_owned(),
            None => free_name(&config.results_dir),
        };
        if !is_campaign_name(&name) {
            return Err(AppError::usage(anyhow!(
                "`{name}` cannot name a campaign; use at most 20 lowercase letters, digits and \
                 inner hyphens"
            )));
        }
        let campaign = Campaign {
            format_version: FORMAT_VERSION,
            name,
            created: Timestamp::now(),
            version: version.to_owned(),
            nodes: nodes.to_vec(),
            tasks: plan.tasks,
            skipped: plan.skipped,
            duration_seconds: config.duration.map(|duration| duration.as_secs()),
        };
        let dir = Self { campaign, results_dir: config.results_dir.clone(), stored: None };
        let root = dir.root();
        let parent = Path::new(&config.results_dir);
        let made = fs::create_dir_all(parent).and_then(|()| fs::create_dir(&root));
        made.map_err(|error| {
            let shown = root.display();
            AppError::usage(match error.kind() {
                std::io::ErrorKind::AlreadyExists => anyhow!(
                    "campaign `{}` exists in `{shown}`; choose another name, or continue it with \
                     `fleet resume`",
                    dir.campaign.name
                ),
                _ => anyhow!(
                    "cannot create `{shown}`: {error}; set `results_dir` to a directory that you \
                     can write and every node sees"
                ),
            })
        })?;
        output::write(&root.join(PLAN_FILE), &serde_json::to_string_pretty(&dir.campaign)?)?;
        Ok(dir)
    }

    /// Opens the campaign called `name`, or the latest: its directory, or if there is none, what
    /// was collected in the store of the configuration.
    ///
    /// # Errors
    /// If there is none, its plan cannot be read, or the store does not answer.
    pub fn open(config: &FleetConfig, name: Option<&str>) -> Result<Self, AppError> {
        let results_dir = &config.results_dir;
        let known = names(results_dir);
        if name.map_or(known.is_empty(), |name| !known.iter().any(|one| one == name))
            && let Some(stored) = DatabaseCampaign::open(config, name)?
        {
            let (campaign, results_dir) = (stored.campaign().clone(), results_dir.clone());
            return Ok(Self { campaign, results_dir, stored: Some(stored) });
        }
        let name = match name {
            Some(name) => name.to_owned(),
            None => names(results_dir).pop().ok_or_else(|| {
                let cure = "`fleet submit` starts one";
                AppError::usage(anyhow!("no campaign in `{results_dir}`; {cure}"))
            })?,
        };
        let path = Path::new(results_dir).join(&name).join(PLAN_FILE);
        let text = rsb_store::read_text(&path).map_err(|error| {
            let known = names(results_dir).join(", ");
            AppError::usage(anyhow!(
                "cannot read campaign `{name}` in `{results_dir}`: {error}; campaigns: {known}"
            ))
        })?;
        let is_none = || format!("`{}` is not the plan of a campaign", path.display());
        let document = rsb_model::json::parse(&text).with_context(is_none);
        let document = document.map_err(AppError::usage)?;
        rsb_model::format::check(&document).with_context(is_none).map_err(AppError::usage)?;
        let campaign =
            serde_json::from_value(document).with_context(is_none).map_err(AppError::usage)?;
        Ok(Self { campaign, results_dir: results_dir.clone(), stored: None })
    }

    /// Returns the collected campaign, if there is no directory.
    pub(super) const fn stored(&self) -> Option<&DatabaseCampaign> {
        self.stored.as_ref()
    }

    /// Opens the latest campaign; `None` if there is none.
    pub(super) fn latest(config: &FleetConfig) -> Result<Option<Self>, AppError> {
        let name = names(&config.results_dir).pop();
        name.map(|name| Self::open(config, Some(&name))).transpose()
    }

    /// Opens every campaign that can be read except this one, oldest first.
    pub(super) fn others(config: &FleetConfig, except: Option<&str>) -> Vec<Self> {
        let mut others = names(&config.results_dir);
        others.retain(|name| Some(name.as_str()) != except);
        others.iter().filter_map(|name| Self::open(config, Some(name)).ok()).collect()
    }

    fn root(&self) -> PathBuf {
        Path::new(&self.results_dir).join(&self.campaign.name)
    }

    /// Returns the time of the plan, if known.
    pub(super) fn planned(&self) -> Option<Timestamp> {
        let file = fs::metadata(self.root().join(PLAN_FILE)).ok()?;
        Timestamp::try_from(file.modified().ok()?).ok()
    }

    /// Returns the directory of a node's own measurement.
    pub(super) fn of_node(&self, node: &str) -> String {
        node_directory(&self.results_dir, &self.campaign.name, node)
    }

    /// Returns the directory of a job of paired measurements.
    pub(super) fn of_pair(&self, pair: &PairTurn) -> String {
        pair_directory(&self.results_dir, &self.campaign.name, &pair.suspect, pair.turn)
    }

    /// Returns the directory of a job.
    pub(super) fn of_job(&self, record: &JobRecord) -> String {
        record.pair.as_ref().map_or_else(|| self.of_node(&record.node), |pair| self.of_pair(pair))
    }

    /// Returns the directory of a job below that of the campaign, which names it in the store.
    pub(super) fn place<'a>(&self, job_dir: &'a str) -> &'a str {
        let place = job_dir.strip_prefix(&*self.root().to_string_lossy()).unwrap_or(job_dir);
        place.trim_start_matches('/')
    }

    /// Returns the submitted jobs, oldest first. A line that was not written completely is left
    /// out.
    pub(super) fn jobs(&self) -> Result<Vec<JobRecord>, AppError> {
        if let Some(stored) = &self.stored {
            return Ok(stored.jobs().iter().map(|job| job.record.clone()).collect());
        }
        let path = self.root().join(JOBS_FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()))?;
            }
        };
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        Ok(lines.collect())
    }

    /// Records a submitted job, which is on disk when this returns. The record starts with a line
    /// break, so that an incomplete previous line does not damage it.
    pub(super) fn record(&self, record: &JobRecord) -> Result<(), AppError> {
        let path = self.root().join(JOBS_FILE);
        let line = format!("\n{}", serde_json::to_string(record)?);
        let append = || -> std::io::Result<()> {
            let mut file = File::options().create(true).append(true).open(&path)?;
            file.write_all(line.as_bytes())?;
            file.sync_all()
        };
        append().with_context(|| {
            format!("cannot record job {} in {}; cancel it by hand", record.job, path.display())
        })?;
        Ok(())
    }

    /// Reserves the submission of jobs for this process, until the returned file is closed.
    ///
    /// # Errors
    /// If another process has reserved it, or the directory cannot be written.
    pub(super) fn lock(&self) -> Result<File, AppError> {
        self.check_directory()?;
        let path = self.root().join(".lock");
        let file = File::create(&path).map_err(|error| {
            AppError::usage(anyhow!("cannot write `{}`: {error}", path.display()))
        })?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(AppError::usage(anyhow!(
                "another process submits jobs of campaign {}; wait until it has, or end it \
                 (Ctrl-C leaves started jobs alone)",
                self.campaign.name
            ))),
            // Without locks on the shared directory, the user has to take care.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
        }
    }

    /// Checks that there is a directory.
    pub(super) fn check_directory(&self) -> Result<(), AppError> {
        if self.stored.is_none() {
            return Ok(());
        }
        let (name, results_dir) = (&self.campaign.name, &self.results_dir);
        Err(AppError::usage(anyhow!(
            "campaign `{name}` is not in `{results_dir}`, only in PostgreSQL; restore the \
             directory, or use `fleet report`, `fleet status`, `fleet compare` or `fleet advice`"
        )))
    }

    /// Returns the time of the shared directory's server, with which the times of its files are
    /// compared: the clocks of nodes may differ.
    pub(super) fn now(&self) -> SystemTime {
        let path = self.root().join(".now");
        let touched = fs::write(&path, b"").and_then(|()| fs::metadata(&path)?.modified());
        touched.unwrap_or_else(|_| SystemTime::now())
    }

    /// Returns whether any job of the node itself ended with success.
    pub(super) fn has_succeeded(&self, node: &str) -> bool {
        let is_success = |end: &str| end.lines().any(|line| line == "exit=0");
        if let Some(stored) = &self.stored {
            let mut own = stored
                .jobs()
                .iter()
                .filter(|job| job.record.pair.is_none() && job.record.node == node);
            return own.any(|job| job.end.as_deref().is_some_and(is_success));
        }
        let dir = PathBuf::from(self.of_node(node));
        let mut ends = file_names(&dir).into_iter().filter(|name| name.starts_with("end."));
        ends.any(|name| is_success(&fs::read_to_string(dir.join(name)).unwrap_or_default()))
    }

    /// Returns the latest attempt of a job.
    pub(super) fn attempt(&self, record: &JobRecord) -> Attempt {
        if let Some(stored) = &self.stored {
            let job = stored.job(record.job);
            let [start, end] =
                job.map_or([None, None], |job| [&job.start, &job.end].map(Clone::clone));
            return Attempt { start, end, ..Attempt::default() };
        }
        let dir = PathBuf::from(self.of_job(record));
        let prefix = format!("start.{}.", record.job);
        let restarts = file_names(&dir)
            .into_iter()
            .filter_map(|name| name.strip_prefix(&prefix)?.parse::<u32>().ok());
        let name = format!("{}.{}", record.job, restarts.max().unwrap_or(0));
        let start = dir.join(format!("start.{name}"));
        Attempt {
            started: fs::metadata(&start).and_then(|file| file.modified()).ok(),
            start: fs::read_to_string(&start).ok(),
            end: fs::read_to_string(dir.join(format!("end.{name}"))).ok(),
            results: dir.join(format!("results.{name}")),
        }
    }
}

/// Returns the time from `earlier` to `now`; zero if it is later.
pub(super) fn age(now: SystemTime, earlier: SystemTime) -> Duration {
    now.duration_since(earlier).unwrap_or_default()
}

/// Returns the names of the files in `dir`, sorted.
pub(super) fn file_names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Returns the names of the campaigns, oldest first.
fn names(results_dir: &str) -> Vec<String> {
    let mut names = Vec::new();
    for entry in entries(results_dir).unwrap_or_default() {
        names.push(entry.name);
    }
    names
}

/// Returns the campaigns in `results_dir`, oldest first; none if it does not exist.
///
/// # Errors
/// If it cannot be read.
pub(super) fn entries(results_dir: &str) -> Result<Vec<CampaignEntry>, AppError> {
    let root = Path::new(results_dir);
    if let Err(error) = fs::read_dir(root)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(AppError::usage(anyhow!(
            "cannot read `{results_dir}`: {error}; set `results_dir` to a directory that you can \
             read"
        )));
    }
    let mut found: Vec<(SystemTime, String)> = Vec::new();
    for name in file_names(root) {
        if let Ok(file) = fs::metadata(root.join(&name).join(PLAN_FILE)) {
            found.push((file.modified().unwrap_or(SystemTime::UNIX_EPOCH), name));
        }
    }
    found.sort();
    let mut entries = Vec::new();
    for (time, name) in found {
        entries.push(CampaignEntry { name, planned: Timestamp::try_from(time).ok() });
    }
    Ok(entries)
}

/// Returns an unused campaign name for today: `20261129`, `20261129-2`.
fn free_name(results_dir: &str) -> String {
    let today = Timestamp::now().strftime("%Y%m%d").to_string();
    let mut name = today.clone();
    let mut number = 1;
    while Path::new(results_dir).join(&name).exists() {
        number += 1;
        name = format!("{today}-{number}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(results_dir: &Path, name: Option<&str>) -> Result<CampaignDir, AppError> {
        let text = format!(
            "results_dir = \"{}\"\n[slurm]\n[[suite]]\nsuite = \"quick\"\nminutes = 1\n",
            results_dir.display()
        );
        let config = FleetConfig::parse(&text).unwrap();
        let plan = CampaignPlan { tasks: Vec::new(), skipped: Vec::new(), seconds: 0 };
        CampaignDir::create(&config, name, "rusty-stack-bench 0.1.0", &[FleetNode::new("n1")], plan)
    }

    #[test]
    fn a_torn_line_costs_no_other_job() {
        let dir = tempfile::tempdir().unwrap();
        let campaign = create(dir.path(), Some("c")).unwrap();
        assert_eq!(campaign.jobs().unwrap(), []);
        let record = |job| JobRecord { job, node: "n1".to_owned(), pair: None };
        campaign.record(&record(7)).unwrap();
        let path = dir.path().join("c").join(JOBS_FILE);
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("\n{\"job\":8,\"no");
        fs::write(&path, text).unwrap();
        campaign.record(&record(9)).unwrap();
        assert_eq!(campaign.jobs().unwrap(), [record(7), record(9)]);
    }

    #[test]
    fn one_process_submits_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let campaign = create(dir.path(), Some("c")).unwrap();
        let lock = campaign.lock().unwrap();
        let error = campaign.lock().unwrap_err().error.to_string();
        assert!(error.contains("Ctrl-C"), "{error}");
        drop(lock);
        campaign.lock().unwrap();
    }

    #[test]
    fn names_are_valid_and_used_once() {
        let dir = tempfile::tempdir().unwrap();
        create(dir.path(), Some("c")).unwrap();
        for (name, expected) in [("c", "`fleet resume`"), ("../c", "cannot name a campaign")] {
            let error = create(dir.path(), Some(name)).unwrap_err().error.to_string();
            assert!(error.contains(expected), "{error}");
        }
        let first = create(dir.path(), None).unwrap().campaign.name;
        let second = create(dir.path(), None).unwrap().campaign.name;
        assert_eq!(second, format!("{first}-2"));
    }

    #[test]
    fn the_latest_restart_of_a_job_counts() {
        let dir = tempfile::tempdir().unwrap();
        let campaign = create(dir.path(), Some("c")).unwrap();
        let record = JobRecord { job: 7, node: "n1".to_owned(), pair: None };
        let path = PathBuf::from(campaign.of_job(&record));
        fs::create_dir_all(&path).unwrap();
        for (name, text) in
            [("start.7.0", "old"), ("end.7.0", "old"), ("start.7.1", "new"), ("end.70.2", "other")]
        {
            fs::write(path.join(name), text).unwrap();
        }
        let attempt = campaign.attempt(&record);
        assert_eq!((attempt.start.as_deref(), attempt.end), (Some("new"), None));
    }
}
