//! Trends of metrics in the stored runs or in a CSV file, and their changes.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use rsb_engine::{Event, Listener};
use rsb_insight::trends::{self, TrackRequest, Tracked};
use rsb_model::Timestamp;
use rsb_model::record::TrendDocument;
use rsb_stats::trend::TrendSettings;
use rsb_stats::{SeriesInput, trend_with};
use rsb_store::{Series, SeriesFilter, Store};

use crate::project::anywhere;
use crate::{AppError, CaseFilter, ProjectContext, alert_error, history};

/// Metrics that are the time of an iteration.
pub const TIMES: [&str; 3] = ["time_ms", "time_us", "latency_ns"];

/// Series of a history with their trends.
pub struct TrendHistory {
    /// The series.
    pub series: Vec<Series>,
    /// Their trends.
    pub document: TrendDocument,
    /// Tracked alerts; empty for a CSV file, which has no earlier state.
    pub tracked: Tracked,
    /// Time of the analysis.
    pub now: Timestamp,
}

/// Series to analyze, and changes to report.
#[derive(Debug, Clone, Default)]
pub struct TrendQuery {
    /// A CSV file, instead of the stored runs.
    pub input: Option<PathBuf>,
    /// The cases.
    pub filter: CaseFilter,
    /// The metric, or `all`; `None` for the time of an iteration.
    pub metric: Option<String>,
    /// The branch whose runs are used; `None` for all.
    pub branch: Option<String>,
    /// Whether only improvements are reported.
    pub improvements: bool,
    /// Thresholds of a change.
    pub settings: TrendSettings,
}

/// Analyzes the series of `query`: of a file, or of the stored runs together with their store.
///
/// # Errors
/// If the input cannot be read, or the file has no such series.
pub fn follow(
    project: &ProjectContext,
    query: &TrendQuery,
    listener: &mut Listener<'_>,
) -> Result<(Option<Store>, TrendHistory), AppError> {
    let (store, mut look) = if let Some(path) = &query.input {
        let series = select_series(query, rsb_store::read_series(path).map_err(AppError::usage)?)?;
        let document = trend_with(&inputs(&series), &query.settings);
        (
            None,
            TrendHistory { series, document, tracked: Tracked::default(), now: Timestamp::now() },
        )
    } else {
        let store = project.store(listener)?;
        let branch = query.branch.as_deref();
        if let Some(branch) = branch {
            history::check_branch(&store, branch)?;
        }
        let series = stored_series(&store, &query.filter, query.metric.as_deref(), branch)?;
        let look = if branch.is_some() {
            over_branch(&store, series, &query.settings)?
        } else {
            over(&store, series, &query.settings, listener)?
        };
        (Some(store), look)
    };
    if query.improvements {
        look.tracked.alerts.retain(|alert| alert.direction == "better");
        for series in &mut look.document.series {
            series.alerts.retain(|alert| alert.direction == "better");
        }
    }
    Ok((store, look))
}

/// Analyzes the time of an iteration of every case in `store`, with the default settings.
///
/// # Errors
/// If the results cannot be read.
pub fn look(store: &Store, listener: &mut Listener<'_>) -> Result<TrendHistory, AppError> {
    over(store, times_in(store, None, None, None)?, &TrendSettings::DEFAULT, listener)
}

/// Returns the trends of the stored series that pass `filter`: of `metric`, else the time of an
/// iteration, in the runs of `branch`, else in all. Stores nothing.
///
/// # Errors
/// If the results cannot be read.
pub fn history(
    store: &Store,
    filter: &CaseFilter,
    metric: Option<&str>,
    branch: Option<&str>,
) -> Result<TrendDocument, AppError> {
    let series = stored_series(store, filter, metric, branch)?;
    Ok(trend_with(&inputs(&series), &TrendSettings::DEFAULT))
}

/// Returns the trends of the series of a CSV file that pass `filter`.
///
/// # Errors
/// If the file cannot be read.
pub fn history_in(file: &Path, filter: &CaseFilter) -> Result<TrendDocument, AppError> {
    let mut series = rsb_store::read_series(file).map_err(AppError::usage)?;
    series.retain(|series| filter.fits(&series.id));
    Ok(trend_with(&inputs(&series), &TrendSettings::DEFAULT))
}

fn over(
    store: &Store,
    series: Vec<Series>,
    wanted: &TrendSettings,
    listener: &mut Listener<'_>,
) -> Result<TrendHistory, AppError> {
    let mut document = trend_with(&inputs(&series), wanted);
    trends::name_levels(store, &series, &mut document);
    let now = Timestamp::now();
    let request = TrackRequest { series: &series, trends: &document, settings: wanted, now };
    let tracked = trends::track(store, &request, Path::new(".")).map_err(alert_error)?;
    for alert in &tracked.closed {
        let because = alert.because.as_deref().unwrap_or_default();
        let (id, state) = (&alert.id, alert.state.as_str());
        listener(&Event::note(format!("{id} is now {state}: {because}")));
    }
    if let Some(why) = &tracked.not_kept {
        let text =
            format!("alerts were not stored and will be reported as new the next time: {why}");
        listener(&Event::note(text));
    }
    Ok(TrendHistory { series, document, tracked, now })
}

/// Analyzes the series of one branch. The tracked alerts are those of all branches, so they are
/// matched, but not changed.
fn over_branch(
    store: &Store,
    series: Vec<Series>,
    wanted: &TrendSettings,
) -> Result<TrendHistory, AppError> {
    let mut document = trend_with(&inputs(&series), wanted);
    trends::name_levels(store, &series, &mut document);
    let now = Timestamp::now();
    let request = TrackRequest { series: &series, trends: &document, settings: wanted, now };
    let alerts = trends::track_read_only(store, &request, Path::new(".")).map_err(alert_error)?;
    let tracked = Tracked { alerts, ..Tracked::default() };
    Ok(TrendHistory { series, document, tracked, now })
}

fn stored_series(
    store: &Store,
    filter: &CaseFilter,
    metric: Option<&str>,
    branch: Option<&str>,
) -> Result<Vec<Series>, AppError> {
    let cases = filter.broadest().map(anywhere);
    let wanted =
        SeriesFilter { cases, branch: branch.map(str::to_owned), ..SeriesFilter::default() };
    let mut series = match metric {
        Some("all") => store.series(&wanted)?,
        Some(name) => store.series(&SeriesFilter { metric: Some(name.to_owned()), ..wanted })?,
        None => times_in(store, wanted.cases.as_deref(), branch, None)?,
    };
    series.retain(|series| filter.fits(&series.id));
    Ok(series)
}

/// Returns the time of an iteration of each case, only in runs of `branch` if given, and only for
/// the newest `runs` if given, so that a long history is not read completely.
///
/// # Errors
/// If the results cannot be read.
pub fn times_in(
    store: &Store,
    cases: Option<&str>,
    branch: Option<&str>,
    runs: Option<usize>,
) -> Result<Vec<Series>, AppError> {
    let mut all = Vec::new();
    for metric in TIMES {
        let filter = SeriesFilter {
            cases: cases.map(str::to_owned),
            metric: Some(metric.to_owned()),
            branch: branch.map(str::to_owned),
            runs,
            ..SeriesFilter::default()
        };
        all.extend(store.series(&filter)?);
    }
    all.sort_by(|a, b| (&a.id, &a.metric).cmp(&(&b.id, &b.metric)));
    Ok(all)
}

/// Maximum number of series named in an error.
const SHOWN: usize = 5;

/// Returns the matching series of a file. If none matches, that is an error, because the file is
/// complete.
fn select_series(query: &TrendQuery, all: Vec<Series>) -> Result<Vec<Series>, AppError> {
    let metric = query.metric.as_deref().filter(|name| *name != "all");
    let (matching, others): (Vec<Series>, Vec<Series>) = all.into_iter().partition(|series| {
        query.filter.fits(&series.id) && metric.is_none_or(|name| name == series.metric)
    });
    if !matching.is_empty() || others.is_empty() {
        return Ok(matching);
    }
    let more = others.len().saturating_sub(SHOWN);
    let there = others.iter().take(SHOWN).map(describe_series).collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(AppError::usage(anyhow!(
        "no series of the file matches --benchmark, --case and --metric; the file has {there}{more}"
    )))
}

fn describe_series(series: &Series) -> String {
    match series.id.as_str() {
        "" => format!("a series without an id ({})", series.metric),
        id => format!("{id} ({})", series.metric),
    }
}

/// Converts `series` to the input of the statistics.
pub fn inputs(series: &[Series]) -> Vec<SeriesInput> {
    let mut inputs = Vec::new();
    for series in series {
        inputs.push(SeriesInput {
            id: series.id.clone(),
            metric: series.metric.clone(),
            unit: series.unit.clone(),
            better: series.better,
            points: series.points.iter().map(|point| (point.timestamp, point.value)).collect(),
        });
    }
    inputs
}

/// Writes the points of the trends to a Parquet file.
///
/// # Errors
/// If it cannot be written, or this build has no Parquet.
#[cfg(feature = "parquet")]
pub fn write_parquet(
    path: &Path,
    document: &TrendDocument,
    series: &[Series],
) -> Result<(), AppError> {
    use anyhow::Context as _;

    let file = rsb_store::output::OutputFile::create(path).map_err(crate::output_error)?;
    let written = rsb_store::parquet_file::write_trends(document, series, file);
    let file = written.with_context(|| format!("cannot write {}", path.display()))?;
    file.finish().map_err(crate::output_error)
}

/// Returns an error, because this build has no Parquet.
///
/// # Errors
/// Always.
#[cfg(not(feature = "parquet"))]
pub fn write_parquet(_: &Path, _: &TrendDocument, _: &[Series]) -> Result<(), AppError> {
    Err(crate::without_feature("Parquet", "parquet", crate::export::TEXT_FORMATS))
}
