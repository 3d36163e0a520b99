//! A synthetic store: two machines, twelve runs, a step in one case, and a test-defined name in
//! every text.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use rsb_model::environment::Git;
use rsb_model::finding::{Finding, FindingSeverity};
use rsb_model::record::{
    AlertState, CampaignDocument, ChangeRange, EnvironmentSummary, HealthDocument, HealthItem,
    OverallStatus, RecommendDocument, Recommendation, RunPoint, SeriesMove, Severity, TrackedAlert,
};
use rsb_model::run::ReplicateProgress;
use rsb_model::{
    BenchmarkResult, BenchmarkType, Better, ComparisonResult, DeviceType, Environment, Fields,
    Outcome, Reason, Run, RunId, Samples, Timestamp,
};
use rsb_report::{BaselineRow, ReportInput, RunRow};
use rsb_stats::{Policy, SeriesInput, trend};

use super::fleet::{self, MadeUpCampaign};
use crate::source::{
    CampaignData, CaseHistory, CaseLine, ComparedRuns, LatestVerdict, LiveRun, OverviewData,
    PageSource, PointKey, PointRun, RunReportData, SourceError, SourceResult, StoredCampaign,
    StoredCase, StoredMachine,
};

const RUNS: usize = 11;
pub(super) const CASES: usize = 12;
/// Run from which the first case is slower.
const STEP: usize = 6;
const MACHINES: [&str; 2] = ["amd-epyc-2c", "other-4c"];

pub(super) struct MadeUp {
    /// Content of texts that are untrusted input.
    name: String,
    count: usize,
    runs: Vec<(usize, Run)>,
    judged: RefCell<HashMap<(String, String), ComparisonResult>>,
    is_healthy: bool,
    pub(super) campaigns: Vec<CampaignDocument>,
    /// Branch of the newest run; the others are of `main`. Empty if all have one branch.
    branch: &'static str,
}

fn moment(run: usize) -> Timestamp {
    Timestamp::from_second(1_795_251_792 + 86_400 * i64::try_from(run).unwrap_or(0)).unwrap()
}

fn id_of(machine: usize, run: usize) -> String {
    format!("202611{:02}T090312Z_{machine}a2b3c4", run + 1)
}

fn commit(run: usize) -> String {
    format!("{run:02x}").repeat(20)
}

impl MadeUp {
    pub(super) fn new(name: &str) -> Self {
        Self::with_runs(name, RUNS)
    }

    /// Returns a store with `count` runs of the first machine.
    pub(super) fn with_runs(name: &str, count: usize) -> Self {
        let of_first = (0..count).rev().map(|run| (0, made_up(name, 0, run)));
        let judged = RefCell::default();
        Self {
            name: name.to_owned(),
            count,
            judged,
            is_healthy: false,
            campaigns: ["torn", "large", "first"]
                .map(|campaign| fleet::campaign(campaign, name))
                .into(),
            branch: "",
            runs: of_first.chain([(1, made_up(name, 1, 0))]).collect(),
        }
    }

    /// Returns a store without changes, noise or missing cases.
    pub(super) fn healthy(name: &str) -> Self {
        Self { is_healthy: true, ..Self::new(name) }
    }

    /// Returns a store whose newest run is of the branch `branch`, and all others of `main`.
    pub(super) fn with_branch(name: &str, branch: &'static str) -> Self {
        Self { branch, ..Self::new(name) }
    }

    /// Returns an id that no run has, and two that runs have.
    pub(super) fn ids() -> [String; 3] {
        ["nothing".to_owned(), id_of(0, STEP - 1), id_of(0, STEP)]
    }

    /// Returns the id of the case that became slower.
    pub(super) fn slower(&self) -> String {
        case_id(&self.name, 0)
    }

    fn find(&self, id: &str) -> SourceResult<&Run> {
        let found = self.runs.iter().map(|(_, run)| run).find(|run| run.run_id.0 == id);
        found.ok_or_else(|| SourceError::NotThere(format!("no run is called `{id}`")))
    }

    fn judged(&self, from: &str, to: &str) -> SourceResult<ComparisonResult> {
        let key = (from.to_owned(), to.to_owned());
        if let Some(known) = self.judged.borrow().get(&key) {
            return Ok(known.clone());
        }
        let (before, now) = (self.find(from)?.clone(), self.find(to)?.clone());
        let mut result = rsb_stats::gate(&[before], &[now], &Policy::default(), &[], moment(RUNS));
        result.baseline_run_id = format!("{from} {}", self.name);
        self.judged.borrow_mut().insert(key, result.clone());
        Ok(result)
    }

    fn alert(&self) -> TrackedAlert {
        let point = |run| RunPoint {
            timestamp: moment(run),
            run_id: Some(RunId(id_of(0, run))),
            commit: Some(commit(run)),
        };
        TrackedAlert {
            id: format!("a-1f2e3d4c {}", self.name),
            state: AlertState::New,
            machine: MACHINES[0].to_owned(),
            direction: "worse".to_owned(),
            severity: Severity::Critical,
            range: ChangeRange { last_before: point(STEP - 1), first_after: point(STEP) },
            moves: vec![SeriesMove {
                range: None,
                id: self.slower(),
                metric: "time_ms".into(),
                change_percent: 30.0,
                confirmed: true,
            }],
            environment_changes: Vec::new(),
            commits: vec![format!("0808080 {}", self.name)],
            first_seen: moment(RUNS),
            because: Some(self.name.clone()),
            decisions: Vec::new(),
        }
    }

    fn health(&self) -> HealthDocument {
        let item = |at: usize, evidence: &str| HealthItem {
            id: case_id(&self.name, at),
            metric: Some("time_ms".to_owned()),
            percent: Some(30.0),
            alert: (at == 0).then(|| "a-1f2e3d4c".to_owned()),
            evidence: format!("{evidence} {}", self.name),
        };
        HealthDocument {
            format_version: rsb_model::format::FORMAT_VERSION,
            status: OverallStatus::Critical,
            machine: Some(MACHINES[0].to_owned()),
            latest: Some(RunPoint { timestamp: moment(RUNS), run_id: None, commit: None }),
            runs: RUNS,
            degraded: vec![item(0, "since a run")],
            improving: Vec::new(),
            noisy: vec![item(1, "noise")],
            missing: vec![item(2, "absent")],
            unmeasured: Vec::new(),
            recommendations: vec![Recommendation {
                action: self.name.clone(),
                evidence: self.name.clone(),
            }],
        }
    }
}

/// Returns `name` without control characters, which ids never contain.
fn in_id(name: &str) -> String {
    name.replace(char::is_control, "")
}

fn case_id(name: &str, case: usize) -> String {
    format!("cpu_performance/gemm/cpu:0/f32/{case}x{}", in_id(name))
}

fn made_up(name: &str, machine: usize, run: usize) -> Run {
    let environment = Environment {
        os: Some(name.to_owned()),
        git: Some(Git { commit: commit(run), branch: Some(name.to_owned()), ..Git::default() }),
        ..Environment::default()
    };
    let mut made = Run::begin(RunId(id_of(machine, run)), moment(run), name, "quick", environment);
    let slow = if run >= STEP { 1.3 } else { 1.0 };
    made.benchmarks = (0..CASES)
        .map(|case| measured(name, case, run, if case == 0 { slow } else { 1.0 }))
        .collect();
    made.benchmarks.push(unmeasured(name, Outcome::Skipped));
    made.benchmarks.push(unmeasured(name, Outcome::Failed));
    made.finished = Some(moment(run));
    made
}

fn measured(name: &str, case: usize, run: usize, factor: f64) -> BenchmarkResult {
    let level = 1000.0 * (case + 1) as f64 * factor * (1.0 + 1e-3 * ((run * 5 + case) % 7) as f64);
    let samples = (0..3).map(|replicate| Samples {
        replicate,
        iters: vec![1; 20],
        times_ns: (0..20)
            .map(|sample| level * (1.0 + 1e-3 * f64::from((sample + replicate) % 5)))
            .collect(),
    });
    BenchmarkResult {
        benchmark_id: case_id(name, case).parse().unwrap(),
        timestamp: moment(run),
        benchmark_type: BenchmarkType::CpuPerformance,
        category: Some("gemm".to_owned()),
        outcome: Outcome::Measured,
        reason: None,
        device_type: Some(DeviceType::Cpu),
        environment: EnvironmentSummary::of(&Environment::default()),
        results: vec![
            Fields::new()
                .with("dtype", "f32")
                .with("time_ms", level / 1e6)
                .with("gflops", 1e3 / level),
        ],
        statistics: None,
        samples: samples.collect(),
        factors: None,
        metadata: serde_json::Map::new(),
    }
}

fn unmeasured(name: &str, outcome: Outcome) -> BenchmarkResult {
    BenchmarkResult {
        benchmark_id: format!(
            "cpu_performance/memory-bandwidth/cpu:0/{}/{}",
            outcome.as_str(),
            in_id(name)
        )
        .parse()
        .unwrap(),
        outcome,
        reason: Some(Reason::new(name, name, name)),
        results: Vec::new(),
        samples: Vec::new(),
        ..measured(name, 0, 0, 1.0)
    }
}

impl PageSource for MadeUp {
    fn runs(&self) -> SourceResult<Arc<Vec<RunRow>>> {
        let newest = id_of(0, self.count - 1);
        let branch = |run: &Run| match self.branch {
            "" => run.environment.git.as_ref().and_then(|git| git.branch.clone()),
            branch if run.run_id.0 == newest => Some(branch.to_owned()),
            _ => Some("main".to_owned()),
        };
        let row = |(machine, run): &(usize, Run)| RunRow {
            run_id: run.run_id.0.clone(),
            started: run.started,
            finished: run.finished,
            suite: run.suite.clone(),
            profile: run.profile.clone(),
            commit: run.environment.git.as_ref().map(|git| git.commit.clone()),
            branch: branch(run),
            machine: MACHINES[*machine].to_owned(),
            measured: CASES,
            skipped: 1,
            failed: 1,
        };
        Ok(Arc::new(self.runs.iter().map(row).collect()))
    }

    fn run(&self, id: &str) -> SourceResult<Arc<RunReportData>> {
        let run = self.find(id)?.clone();
        Ok(Arc::new(RunReportData {
            input: ReportInput {
                comparison: if id == id_of(0, 0) {
                    None
                } else {
                    Some(self.judged(&id_of(0, 0), id)?)
                },
                not_compared: (id == id_of(0, 0)).then(|| self.name.clone()),
                baseline: Some(Environment::default()),
                checks: Vec::new(),
                recommendations: self.health().recommendations,
                draws_simulated: false,
            },
            previous: (id != id_of(0, 0)).then(|| id_of(0, 0)),
            run,
        }))
    }

    fn compare(&self, from: &str, to: &str) -> SourceResult<Arc<ComparedRuns>> {
        if from == to {
            return Err(SourceError::Senseless("both are one run".to_owned()));
        }
        let newest = |back: usize| id_of(0, self.count - back);
        let from = match from {
            "main" => &newest(2),
            from if from == self.name => &id_of(0, 0),
            from => from,
        };
        let to = if to == self.branch { &newest(1) } else { to };
        let environments =
            [self.find(from)?.environment.clone(), self.find(to)?.environment.clone()];
        Ok(Arc::new(ComparedRuns { result: self.judged(from, to)?, environments }))
    }

    fn cases(&self) -> SourceResult<Arc<Vec<StoredCase>>> {
        let case = |case| StoredCase {
            id: case_id(&self.name, case),
            outcome: Outcome::Measured,
            last: moment(RUNS),
        };
        let measured = (0..CASES).map(case);
        let others = [Outcome::Skipped, Outcome::Failed].map(|outcome| StoredCase {
            id: unmeasured(&self.name, outcome).benchmark_id.to_string(),
            outcome,
            last: moment(RUNS),
        });
        Ok(Arc::new(measured.chain(others).collect()))
    }

    fn history(&self, id: &str, metric: &str, machine: &str) -> SourceResult<Arc<CaseHistory>> {
        let metric = if metric.is_empty() { "time_ms" } else { metric };
        let is_there = |machine: &str| machine.is_empty() || machine == MACHINES[0];
        let own = self.runs.iter().rev().filter(|(machine, _)| *machine == 0);
        let points: Vec<(usize, Timestamp, f64)> = own
            .enumerate()
            .filter_map(|(at, (_, run))| {
                let result =
                    run.benchmarks.iter().find(|result| result.benchmark_id.as_str() == id)?;
                Some((at, run.started, result.fields()?.number(metric)?))
            })
            .collect();
        let input = SeriesInput {
            id: id.to_owned(),
            metric: metric.to_owned(),
            unit: "ms".to_owned(),
            better: Some(Better::Lower),
            points: points.iter().map(|(_, time, value)| (*time, *value)).collect(),
        };
        let trend = trend(&[input]).series.pop().filter(|_| is_there(machine));
        let trend = trend
            .ok_or_else(|| SourceError::NotThere(format!("nothing was measured of `{id}`")))?;
        Ok(Arc::new(CaseHistory {
            machine: MACHINES[0].to_owned(),
            machines: MACHINES[..1].iter().map(|&slug| slug.to_owned()).collect(),
            metrics: vec!["gflops".to_owned(), "time_ms".to_owned()],
            trend,
            not_analyzed: 0,
            keys: points
                .iter()
                .map(|(at, time, _)| PointKey { started: *time, run: i64::try_from(*at).unwrap() })
                .collect(),
            alerts: if id == self.slower() { vec![self.alert()] } else { Vec::new() },
        }))
    }

    fn points(&self, keys: &[PointKey]) -> SourceResult<Vec<PointRun>> {
        let run = |key: &PointKey| usize::try_from(key.run).unwrap_or(0);
        Ok(keys
            .iter()
            .map(|key| PointRun { run_id: id_of(0, run(key)), commit: Some(commit(run(key))) })
            .collect())
    }

    fn overview(&self, _: &str) -> SourceResult<Arc<OverviewData>> {
        let id = id_of(0, self.count - 1);
        let (mut health, mut alerts) = (self.health(), vec![self.alert()]);
        if self.is_healthy {
            (health.degraded, health.noisy, health.missing) = Default::default();
            alerts.clear();
        }
        Ok(Arc::new(OverviewData {
            health,
            alerts,
            latest: Some(LatestVerdict {
                comparison: Some(self.judged(&id_of(0, 0), &id)?),
                run_id: id,
                not_compared: None,
            }),
            notices: vec![self.name.clone()],
            only_newest: None,
            noise_percent: Some(0.8),
            alert_percent: 10.0,
        }))
    }

    fn lines(&self, _: &str) -> SourceResult<Arc<Vec<CaseLine>>> {
        let own = || self.runs.iter().rev().filter(|(machine, _)| *machine == 0);
        let line = |case| CaseLine {
            id: case_id(&self.name, case),
            metric: "time_ms".to_owned(),
            unit: "ms".to_owned(),
            points: own()
                .filter_map(|(_, run)| {
                    let time = run.benchmarks.get(case)?.fields()?.number("time_ms")?;
                    Some((run.started, time))
                })
                .collect(),
        };
        Ok(Arc::new((0..CASES).map(line).collect()))
    }

    fn machines(&self) -> SourceResult<Arc<Vec<StoredMachine>>> {
        let machine = |at: usize| {
            let latest = self
                .runs
                .iter()
                .find(|(machine, _)| *machine == at)
                .map(|(_, run)| Arc::new(run.clone()));
            StoredMachine { slug: MACHINES[at].to_owned(), runs: RUNS, latest: latest.unwrap() }
        };
        Ok(Arc::new(vec![machine(0), machine(1)]))
    }

    fn advice(&self) -> SourceResult<Arc<RecommendDocument>> {
        Ok(Arc::new(RecommendDocument {
            format_version: 1,
            goal: self.name.clone(),
            currency: None,
            models: Vec::new(),
        }))
    }

    fn baselines(&self) -> SourceResult<Arc<Vec<BaselineRow>>> {
        Ok(Arc::new(vec![BaselineRow {
            name: self.name.clone(),
            created: moment(0),
            commit: None,
            machine: self.name.clone(),
            cases: CASES,
            replicates: 3,
        }]))
    }

    fn doctor(&self) -> SourceResult<Arc<Vec<Finding>>> {
        Ok(Arc::new(vec![Finding::new(FindingSeverity::Error, &self.name, &self.name, &self.name)]))
    }

    fn live(&self) -> SourceResult<Vec<LiveRun>> {
        let progress = Some(ReplicateProgress { done: 10, total: 35 });
        Ok(vec![LiveRun { run: made_up(&self.name, 0, 0), planned: Some(CASES + 2), progress }])
    }

    fn campaigns(&self) -> SourceResult<Arc<Vec<StoredCampaign>>> {
        let mut campaigns = Vec::new();
        for document in &self.campaigns {
            let campaign = document.campaign.clone();
            campaigns.push(StoredCampaign { campaign, planned: document.planned });
        }
        Ok(Arc::new(campaigns))
    }

    fn campaign(&self, name: &str) -> SourceResult<Arc<dyn CampaignData>> {
        match name {
            "torn" => Err(SourceError::Unreadable("`campaign.json` is not a campaign".into())),
            "large" => Err(SourceError::NotReady("The campaign large is being read".into())),
            _ => match self.campaigns.iter().find(|one| one.campaign == name) {
                Some(document) => Ok(Arc::new(MadeUpCampaign(document.clone()))),
                None => Err(SourceError::NotThere(format!("no campaign is called `{name}`"))),
            },
        }
    }
}
