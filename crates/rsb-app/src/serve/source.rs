//! Data source of the pages, which reads the store with the functions of the subcommands.
//! Read-only.
//!
//! Names come from anyone who can reach the server: they are looked up among the stored runs and
//! saved baselines, and never become paths.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rsb_engine::{Event, Listener};
use rsb_gate::gate::{self, Judge};
use rsb_insight::health::{HealthInput, HealthLimits, health, median_noise};
use rsb_insight::model_results::{self, RecommendRequest};
use rsb_insight::trends::{self, TrackRequest};
use rsb_model::finding::Finding;
use rsb_model::record::{RecommendDocument, TrackedAlert};
use rsb_model::{Fingerprint, Run, Timestamp};
use rsb_probe::ProbeOptions;
use rsb_report::metrics::MetricsInput;
use rsb_report::{BaselineRow, MetricsFormat, RunRow};
use rsb_stats::{SeriesInput, TrendSettings, trend_with};
use rsb_store::{Baseline, Baselines, LinePoint, Series, SeriesName, Store, StoreError};
use rsb_web::source::{
    CampaignData, CaseHistory, CaseLine, ComparedRuns, LatestVerdict, LiveRun, OverviewData,
    PageSource, PointKey, PointRun, RunReportData, SourceError, SourceResult, StoredCampaign,
    StoredCase, StoredMachine,
};
use rsb_web::{NameBook, PageResponse};

use super::campaigns::PATIENCE;
use super::stored::{AnalyzedSeries, Stamp, Stored};
use crate::history::NewestRun;
use crate::report;
use crate::{
    AppError, alert_error, baseline, error_chain, fleet, history, metrics, recommend, trend,
};

/// Number of runs in the overview; older changes are on the page of their case.
const NEWEST: usize = 200;
/// Number of earlier runs whose cases are compared with those of the latest run.
const EARLIER: usize = 20;
/// Maximum number of points searched for changes of level; the newest are used.
const ANALYZED: usize = 100_000;

/// Time for which the states of a campaign are cached, so that many requests are few queries of the
/// scheduler.
pub(super) const CAMPAIGN_SECONDS: i64 = 30;

/// Connection of one thread to the store.
pub(super) struct StoreSource {
    stored: Arc<Stored>,
    judge: Judge,
    /// State of the stored files when the store was last refreshed.
    stamp: RefCell<Stamp>,
    /// Time for which a page waits for the state of a campaign.
    patience: Duration,
}

impl StoreSource {
    /// Opens the store. Problems are reported to `listener`, and also shown in the overview.
    pub(super) fn open(
        stored: &Arc<Stored>,
        listener: &mut Listener<'_>,
    ) -> Result<Self, AppError> {
        let stamp = RefCell::new(stored.stamp());
        let judge = stored.judge(listener)?;
        Ok(Self { stored: Arc::clone(stored), judge, stamp, patience: PATIENCE })
    }

    /// Waits until the state of a campaign is read completely, as an export requires.
    #[must_use]
    pub(super) const fn with_complete_campaigns(mut self) -> Self {
        self.patience = Duration::MAX;
        self
    }

    /// Returns the configured names.
    pub(super) fn names(&self) -> NameBook {
        self.stored.names.clone()
    }

    /// Returns the arguments of commands on the pages.
    pub(super) fn arguments(&self) -> &str {
        &self.stored.arguments
    }

    fn store(&self) -> &Store {
        &self.judge.store
    }

    /// Returns the stamp of the stored files, and refreshes the store if it has changed.
    fn now(&self) -> SourceResult<Stamp> {
        let stamp = self.stored.stamp();
        if *self.stamp.borrow() != stamp {
            self.store().refresh().map_err(unreadable)?;
            self.stamp.replace(stamp.clone());
        }
        Ok(stamp)
    }

    /// Returns the id of the run that `text` refers to.
    fn id_of(&self, text: &str) -> SourceResult<String> {
        self.now()?;
        let found = self.store().named(text).map_err(|error| not_named(&error, text))?;
        found.into_newest().map(|run| run.run_id.0).ok_or_else(|| no_run(text))
    }

    /// Returns the ids of the runs that `from` and `to` refer to; `from` may be a baseline.
    fn sides(&self, from: &str, to: &str) -> SourceResult<[String; 2]> {
        let saved = Baselines::new(&self.stored.project.directories.baselines).list();
        if saved.iter().any(|info| info.name == from) {
            return Ok([from.to_owned(), self.id_of(to)?]);
        }
        // Each is looked up on its own first, so that the error names the one that is missing.
        for text in [from, to] {
            self.id_of(text)?;
        }
        let pair = self.store().pair(from, to).map_err(|error| not_named(&error, to))?;
        Ok(pair.map(|run| run.run_id.0))
    }

    fn read(&self, id: &str) -> SourceResult<Run> {
        self.store().run(id).map_err(unreadable)
    }

    /// Returns the changes of level that the pages show.
    pub(super) fn changes(&self) -> SourceResult<Vec<TrackedAlert>> {
        Ok(self.overview("")?.alerts.clone())
    }

    /// Returns the results directory.
    pub(super) fn results(&self) -> &Path {
        &self.stored.project.directories.results
    }

    /// Returns the metrics in `format`.
    pub(super) fn metrics(&self, format: MetricsFormat) -> PageResponse {
        match self.metrics_text(format) {
            Ok(text) => PageResponse::ok(format.content_type(), text),
            Err(error) => super::server::broken(&error.to_string()),
        }
    }

    /// Only what is stored is cached until it changes: a run being measured, and the nodes of a
    /// campaign, make progress in between.
    fn metrics_text(&self, format: MetricsFormat) -> SourceResult<String> {
        let (answers, stamp) = (&self.stored.answers, self.now()?);
        let stored = answers.metrics.get((), &stamp, || {
            metrics::stored(self.store(), metrics::DEFAULT_MAX_SERIES)
                .map_err(|error| source_error(&error))
        })?;
        let period = Timestamp::now().as_second() / CAMPAIGN_SECONDS;
        // The metrics of cases do not depend on the configuration of a fleet.
        let campaign = answers.campaign.get(period, &stamp, || {
            Ok(fleet::metrics().unwrap_or_else(|error| {
                let text = format!("no metrics of campaigns: {}", source_error(&error));
                (self.stored.tell)(&Event::note(text));
                None
            }))
        })?;
        let stored = MetricsInput::clone(&stored);
        Ok(metrics::text(stored, self.store(), Option::clone(&campaign), format))
    }

    fn material(&self, id: &str) -> SourceResult<RunReportData> {
        let run = self.read(id)?;
        let tell = self.stored.tell;
        let mut listener = |event: &Event| tell(event);
        let input = report::input(&self.stored.project, self.store(), &run, &mut listener)
            .map_err(|error| source_error(&error))?;
        let previous = self.previous(&run)?;
        Ok(RunReportData { run, input, previous })
    }

    /// Returns the run of the same machine and suite before `run`.
    fn previous(&self, run: &Run) -> SourceResult<Option<String>> {
        let runs = self.runs()?;
        let own = runs.iter().find(|row| row.run_id == run.run_id.0).cloned();
        let Some(own) = own else { return Ok(None) };
        let before = runs.iter().find(|row| {
            row.machine == own.machine
                && row.suite == own.suite
                && row.started < own.started
                && row.measured > 0
        });
        Ok(before.map(|row| row.run_id.clone()))
    }

    /// Returns the runs of the saved baseline `name`. If several machines have one, prefers that of
    /// the machine of `run`.
    fn saved_baseline(&self, name: &str, run: &Run) -> SourceResult<Option<Vec<Run>>> {
        let all = Baselines::new(&self.stored.project.directories.baselines).list();
        let own = Fingerprint::of(&run.environment).slug();
        let named: Vec<_> = all.iter().filter(|info| info.name == name).collect();
        let Some(info) = named.iter().find(|info| info.slug == own).or(named.first()) else {
            return Ok(None);
        };
        Baseline::read(&info.path).map(|baseline| Some(baseline.into_runs())).map_err(unreadable)
    }

    fn compare_runs(&self, from: &str, to: &str) -> SourceResult<ComparedRuns> {
        let current = vec![self.read(to)?];
        let current_run = current
            .first()
            .ok_or_else(|| SourceError::NotThere(format!("no run has the id `{to}`")))?;
        let baseline = match self.saved_baseline(from, current_run)? {
            Some(runs) => runs,
            None => vec![self.read(from)?],
        };
        if let Some(why) = gate::is_itself(&baseline, &current, &self.judge.directories) {
            return Err(SourceError::Senseless(why));
        }
        let checked = self.judge.check(&baseline, &current);
        checked.map_err(|error| SourceError::Senseless(error_chain(&error.error)))?;
        let environment =
            |runs: &[Run]| runs.first().map(|run| run.environment.clone()).unwrap_or_default();
        let environments = [environment(&baseline), environment(&current)];
        Ok(ComparedRuns { result: self.judge.judge(&baseline, &current), environments })
    }

    /// Returns the time of each case over the newest runs, of `branch` unless it is empty.
    fn analyzed(&self, branch: &str) -> SourceResult<Arc<AnalyzedSeries>> {
        self.stored.answers.analyzed.get(branch.to_owned(), &self.now()?, || {
            let of = Some(branch).filter(|branch| !branch.is_empty());
            let series = trend::times_in(self.store(), None, of, Some(NEWEST))
                .map_err(|error| source_error(&error))?;
            let document = trend_with(&trend::inputs(&series), &TrendSettings::DEFAULT);
            Ok(AnalyzedSeries { series, document })
        })
    }

    /// Returns the content of the overview, from the runs of `branch` unless it is empty.
    fn look(&self, branch: &str) -> SourceResult<OverviewData> {
        let store = self.store();
        let is_whole = branch.is_empty();
        let latest = if is_whole {
            store.latest().map_err(unreadable)?
        } else {
            Some(self.read(&self.id_of(branch)?)?)
        };
        let analyzed = self.analyzed(branch)?;
        let AnalyzedSeries { series, document } = &*analyzed;
        let now = Timestamp::now();
        let request =
            TrackRequest { series, trends: document, settings: &TrendSettings::DEFAULT, now };
        let alerts = trends::track_read_only(store, &request, Path::new("."))
            .map_err(|error| source_error(&alert_error(error)))?;
        let earlier =
            latest.as_ref().map_or_else(|| Ok(Vec::new()), |run| store.runs_before(run, EARLIER));
        let mut earlier = earlier.map_err(unreadable)?;
        let is_shown = |of: Option<&str>| is_whole || of == Some(branch);
        earlier.retain(|run| {
            is_shown(run.environment.git.as_ref().and_then(|git| git.branch.as_deref()))
        });
        let mut all = Vec::clone(&*self.runs()?);
        all.retain(|run| is_shown(run.branch.as_deref()));
        let own = latest
            .as_ref()
            .map(|run| store.slugs_of(&Fingerprint::of(&run.environment)))
            .transpose();
        let own = own.map_err(unreadable)?.unwrap_or_default();
        let input = HealthInput {
            latest: latest.as_ref(),
            earlier: &earlier,
            runs: all.iter().filter(|run| own.contains(&run.machine)).count(),
            series,
            trends: &document.series,
            alerts: &alerts,
            limits: HealthLimits::default(),
            now,
        };
        let health = health(&input);
        let latest = latest.map(|run| self.verdict(&run.run_id.0)).transpose()?;
        let notices = rsb_store::notes(&store.notices());
        Ok(OverviewData {
            health,
            alerts,
            latest,
            notices,
            only_newest: (all.len() > NEWEST).then_some(NEWEST),
            noise_percent: median_noise(series),
            alert_percent: TrendSettings::DEFAULT.alert_threshold_percent,
        })
    }

    fn verdict(&self, id: &str) -> SourceResult<LatestVerdict> {
        let material = self.run(id)?;
        let (comparison, not_compared) =
            (material.input.comparison.clone(), material.input.not_compared.clone());
        Ok(LatestVerdict { run_id: id.to_owned(), comparison, not_compared })
    }

    fn line(&self, id: &str, metric: &str, machine: &str) -> SourceResult<CaseHistory> {
        let names = self.store().series_of(id).map_err(unreadable)?;
        let nothing =
            || SourceError::NotThere(format!("no measurements of the case `{id}` are stored"));
        let latest = self.store().latest().map_err(unreadable)?;
        let own =
            latest.map(|run| self.store().slugs_of(&Fingerprint::of(&run.environment))).transpose();
        let own = own.map_err(unreadable)?.unwrap_or_default();
        let name =
            select_series(&names, metric, machine, &own).ok_or_else(|| match names.first() {
                None => nothing(),
                Some(_) => SourceError::NotThere(format!(
                    "`{id}` has no values of `{metric}` on the machine `{machine}`"
                )),
            })?;
        let points = self.store().line(&name).map_err(unreadable)?;
        if points.is_empty() {
            return Err(nothing());
        }
        let shared = self.analyzed("")?;
        let shared =
            shared.document.series.iter().find(|trend| {
                trend.id == id && trend.metric == name.metric && trend.n == points.len()
            });
        let (trend, not_analyzed) = match shared.filter(|_| own.contains(&name.machine)) {
            // The significance depends on the number of series: the overview's changes must be
            // those of this page.
            Some(trend) => (trend.clone(), 0),
            None => analyze_trend(id, &name, &points).ok_or_else(nothing)?,
        };
        let mut machines: Vec<String> = names.iter().map(|name| name.machine.clone()).collect();
        machines.dedup();
        let metrics = names
            .iter()
            .filter(|one| one.machine == name.machine)
            .map(|one| one.metric.clone())
            .collect();
        let alerts = self.overview("")?.alerts.clone().into_iter().filter(|alert| {
            alert.machine == name.machine
                && alert.moves.iter().any(|one| one.id == id && one.metric == name.metric)
        });
        Ok(CaseHistory {
            alerts: alerts.collect(),
            keys: points
                .iter()
                .map(|point| PointKey { started: point.started, run: point.run })
                .collect(),
            machine: name.machine,
            machines,
            metrics,
            trend,
            not_analyzed,
        })
    }

    fn side_by_side(&self) -> SourceResult<Vec<StoredMachine>> {
        let newest = history::newest_by_machine(self.store(), &self.runs()?)
            .map_err(|error| source_error(&error))?;
        let machine = |newest: NewestRun| StoredMachine {
            slug: newest.machine,
            runs: newest.runs,
            latest: Arc::new(newest.run),
        };
        Ok(newest.into_iter().map(machine).collect())
    }
}

/// Returns the series of `machine` and `metric`. If `machine` is empty, prefers the names in `own`,
/// those of the machine that measured last. If `metric` is empty, prefers the time per iteration.
fn select_series(
    names: &[SeriesName],
    metric: &str,
    machine: &str,
    own: &[String],
) -> Option<SeriesName> {
    let mut there: Vec<&SeriesName> = if machine.is_empty() {
        names.iter().filter(|name| own.contains(&name.machine)).collect()
    } else {
        names.iter().filter(|name| name.machine == machine).collect()
    };
    if there.is_empty() && machine.is_empty() {
        let first = &names.first()?.machine;
        there = names.iter().filter(|name| name.machine == *first).collect();
    }
    let found = if metric.is_empty() {
        let time = there.iter().find(|name| trend::TIMES.contains(&name.metric.as_str()));
        time.or(there.first())
    } else {
        there.iter().find(|name| name.metric == metric)
    };
    let mut name = SeriesName::clone(found?);
    // A machine may have had several names.
    let others =
        there.iter().filter(|other| other.metric == name.metric && other.unit == name.unit);
    let others: Vec<SeriesName> = others
        .filter(|other| other.machine != name.machine)
        .map(|other| SeriesName::clone(other))
        .collect();
    for other in &others {
        name.join(other);
    }
    Some(name)
}

/// Returns the trend of all points, and how many of the oldest were not searched for changes of
/// level. Positions are counted from the oldest.
fn analyze_trend(
    id: &str,
    name: &SeriesName,
    points: &[LinePoint],
) -> Option<(rsb_model::record::SeriesTrend, usize)> {
    let left_out = points.len().saturating_sub(ANALYZED);
    let input = SeriesInput {
        id: id.to_owned(),
        metric: name.metric.clone(),
        unit: name.unit.clone(),
        better: name.better,
        points: points.get(left_out..)?.iter().map(|point| (point.started, point.value)).collect(),
    };
    let mut trend = trend_with(&[input], &TrendSettings::DEFAULT).series.into_iter().next()?;
    trend
        .change_points
        .iter_mut()
        .chain(&mut trend.suspected)
        .for_each(|point| point.index += left_out);
    if let Some(ramp) = &mut trend.ramp {
        (ramp.from_index, ramp.to_index) = (ramp.from_index + left_out, ramp.to_index + left_out);
    }
    trend.values = points.iter().map(|point| point.value).collect();
    Some((trend, left_out))
}

fn no_run(text: &str) -> SourceError {
    SourceError::NotThere(format!("no run, branch or commit is called `{text}`"))
}

/// Returns the error for `text`, which the store could not resolve.
fn not_named(error: &StoreError, text: &str) -> SourceError {
    match error {
        StoreError::UnknownRun { .. } => no_run(text),
        StoreError::AmbiguousRun { .. } | StoreError::NoPair { .. } => {
            SourceError::Senseless(error.to_string())
        }
        _ => SourceError::Unreadable(error.to_string()),
    }
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> SourceError {
    SourceError::Unreadable(error_chain(&anyhow::Error::new(error)))
}

pub(super) fn source_error(error: &AppError) -> SourceError {
    SourceError::Unreadable(error_chain(&error.error))
}

impl PageSource for StoreSource {
    fn runs(&self) -> SourceResult<Arc<Vec<RunRow>>> {
        self.stored.answers.runs.get((), &self.now()?, || {
            history::runs(self.store())
                .map_err(|error| SourceError::Unreadable(error_chain(&error)))
        })
    }

    fn run(&self, id: &str) -> SourceResult<Arc<RunReportData>> {
        let id = self.id_of(id)?;
        self.stored.answers.run.get(id.clone(), &self.now()?, || self.material(&id))
    }

    fn compare(&self, from: &str, to: &str) -> SourceResult<Arc<ComparedRuns>> {
        let [from, to] = self.sides(from, to)?;
        let key = (from.clone(), to.clone());
        self.stored.answers.compare.get(key, &self.now()?, || self.compare_runs(&from, &to))
    }

    fn cases(&self) -> SourceResult<Arc<Vec<StoredCase>>> {
        self.stored.answers.cases.get((), &self.now()?, || {
            let mut cases = Vec::new();
            for case in self.store().cases().map_err(unreadable)? {
                cases.push(StoredCase { id: case.id, outcome: case.outcome, last: case.last });
            }
            Ok(cases)
        })
    }

    fn history(&self, id: &str, metric: &str, machine: &str) -> SourceResult<Arc<CaseHistory>> {
        let key = (id.to_owned(), metric.to_owned(), machine.to_owned());
        self.stored.answers.history.get(key, &self.now()?, || self.line(id, metric, machine))
    }

    fn points(&self, keys: &[PointKey]) -> SourceResult<Vec<PointRun>> {
        let runs: Vec<i64> = keys.iter().map(|key| key.run).collect();
        let named = self.store().named_runs(&runs).map_err(unreadable)?;
        Ok(named.into_iter().map(|(run_id, commit)| PointRun { run_id, commit }).collect())
    }

    fn lines(&self, branch: &str) -> SourceResult<Arc<Vec<CaseLine>>> {
        self.stored.answers.lines.get(branch.to_owned(), &self.now()?, || {
            let line = |one: &Series| CaseLine {
                points: one.points.iter().map(|point| (point.timestamp, point.value)).collect(),
                id: one.id.clone(),
                metric: one.metric.clone(),
                unit: one.unit.clone(),
            };
            Ok(self.analyzed(branch)?.series.iter().map(line).collect())
        })
    }

    fn overview(&self, branch: &str) -> SourceResult<Arc<OverviewData>> {
        self.stored.answers.overview.get(branch.to_owned(), &self.now()?, || self.look(branch))
    }

    fn machines(&self) -> SourceResult<Arc<Vec<StoredMachine>>> {
        self.stored.answers.machines.get((), &self.now()?, || self.side_by_side())
    }

    fn advice(&self) -> SourceResult<Arc<RecommendDocument>> {
        self.stored.answers.advice.get((), &self.now()?, || {
            let runs = recommend::of_models(self.store()).map_err(|error| source_error(&error))?;
            Ok(model_results::recommend(&runs, RecommendRequest::LATENCY))
        })
    }

    fn baselines(&self) -> SourceResult<Arc<Vec<BaselineRow>>> {
        self.stored.answers.baselines.get((), &self.now()?, || {
            Ok({
                let tell = self.stored.tell;
                baseline::rows(&self.stored.project.directories, &mut |event| tell(event))
            })
        })
    }

    fn doctor(&self) -> SourceResult<Arc<Vec<Finding>>> {
        Ok(Arc::new(rsb_probe::doctor::examine(&ProbeOptions::default())))
    }

    fn live(&self) -> SourceResult<Vec<LiveRun>> {
        let mut live = Vec::new();
        for one in self.store().progress() {
            live.push(LiveRun { run: one.run, planned: one.planned, progress: one.progress });
        }
        Ok(live)
    }

    fn campaigns(&self) -> SourceResult<Arc<Vec<StoredCampaign>>> {
        self.stored.campaigns.list(self.patience)
    }

    fn campaign(&self, name: &str) -> SourceResult<Arc<dyn CampaignData>> {
        self.stored.campaigns.state(name, self.patience)
    }
}
