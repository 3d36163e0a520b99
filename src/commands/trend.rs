//! Where metrics go over the stored runs, or over a CSV file; what changed there, and what people
//! said of it.

use std::path::Path;

use anyhow::anyhow;
use rsb_gate::gate;
use rsb_insight::trends::{self, TrackRequest, Tracked};
use rsb_model::Timestamp;
use rsb_model::record::{AlertState, TrendDocument};
use rsb_report::Style;
use rsb_stats::trend::{ChangeMethod, TrendSettings};
use rsb_stats::{SeriesInput, trend_with};
use rsb_store::{Series, SeriesFilter, Store};

use super::{health, next_step, report, settings};
use crate::cli::{
    AckState, ChangeMethodArg, FilterArgs, FollowedArgs, TrendArgs, TrendExportFormat,
    TrendSettingsArgs, TrendVerb,
};
use crate::exit::{CliError, CliResult, Exit, alert_error};
use crate::{console, show};

/// Metrics that are the time of an iteration.
pub(super) const TIMES: [&str; 3] = ["time_ms", "time_us", "latency_ns"];

/// What a history shows.
pub(super) struct TrendHistory {
    pub(super) series: Vec<Series>,
    pub(super) document: TrendDocument,
    /// Of a file of somebody else's: nothing is known from earlier looks.
    pub(super) tracked: Tracked,
    pub(super) now: Timestamp,
}

/// The verb `trend`.
///
/// # Errors
/// When the input cannot be read, or no alert has the name given.
pub fn run(args: &TrendArgs, style: Style) -> CliResult {
    match &args.verb {
        Some(TrendVerb::Ack { alert, because, state, places }) => {
            let (_, directories) = settings::load(places)?;
            let store = gate::open(&directories, &mut console::tell)?;
            let decided =
                trends::decide(&store, alert, state_of(*state), because).map_err(alert_error)?;
            show::text(&format!("{} is {}: {because}", decided.id, decided.state.as_str()))?;
            Ok(Exit::Pass)
        }
        Some(TrendVerb::Export { file, format, followed }) => export(file, *format, followed),
        None => show_trend(args, style),
    }
}

const fn state_of(state: AckState) -> AlertState {
    match state {
        AckState::Acknowledged => AlertState::Acknowledged,
        AckState::Downstream => AlertState::Downstream,
        AckState::Invalid => AlertState::Invalid,
    }
}

fn show_trend(args: &TrendArgs, style: Style) -> CliResult {
    let (store, look) = of(&args.followed)?;
    if args.json {
        show::json(&TrendDocument { changes: look.tracked.alerts, ..look.document })?;
        return Ok(Exit::Pass);
    }
    if look.document.series.is_empty() {
        let asked = &args.followed;
        let is_asked = asked.filter.is_given() || asked.metric.is_some();
        show::text(if is_asked {
            "no stored series matches --benchmark, --case and --metric; `rusty-stack-bench trend \
             --metric all` shows all"
        } else {
            "there is nothing to follow yet; each `rusty-stack-bench run` adds a point to every \
             metric"
        })?;
        return Ok(Exit::Pass);
    }
    let changes =
        store.is_some().then(|| rsb_report::tracked::text(&look.tracked.alerts, look.now, style));
    if args.summary {
        show::text(&rsb_report::trend::summary(&look.document, changes.as_deref(), style))?;
    } else {
        show::text(&rsb_report::trend::text(&look.document, changes.as_deref(), style))?;
    }
    if store.is_some() {
        for hint in next_step::after_changes(
            &look.tracked.alerts,
            &next_step::arguments_of(&args.followed.places),
        ) {
            console::say(&format!("hint: {hint}"));
        }
    }
    if args.summary {
        return Ok(Exit::Pass);
    }
    if let (true, Some(store)) = (args.dashboard, &store) {
        let page = health::page(store, &look, rsb_insight::health::HealthLimits::default())?;
        show::text(&format!("\n{}", rsb_report::health::text(&page, style)))?;
    }
    Ok(Exit::Pass)
}

fn export(file: &Path, format: TrendExportFormat, followed: &FollowedArgs) -> CliResult {
    let (_, look) = of(followed)?;
    let document = TrendDocument { changes: look.tracked.alerts, ..look.document };
    let text = match format {
        TrendExportFormat::Csv => rsb_report::trend::csv_rows(&document)?,
        TrendExportFormat::Json => rsb_report::json(&document)?,
        TrendExportFormat::Markdown => rsb_report::trend::markdown(&document),
        TrendExportFormat::Parquet => return parquet(file, &document, &look.series),
    };
    report::to(Some(file), &text)
}

#[cfg(feature = "parquet")]
fn parquet(path: &Path, document: &TrendDocument, series: &[Series]) -> CliResult {
    use std::io::Write as _;

    use anyhow::Context as _;

    let file = rsb_store::output::create(path).map_err(crate::exit::output_error)?;
    let written =
        rsb_store::parquet_file::write_trends(document, series, std::io::BufWriter::new(file));
    let mut written = written.with_context(|| format!("cannot write {}", path.display()))?;
    written.flush().with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Exit::Pass)
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &Path, _: &TrendDocument, _: &[Series]) -> CliResult {
    Err(super::export::without("Parquet", "parquet", super::export::TEXT_FORMATS))
}

/// What is asked for: of a file, or of the stored runs together with these.
fn of(followed: &FollowedArgs) -> Result<(Option<Store>, TrendHistory), CliError> {
    let (_, directories) = settings::load(&followed.places)?;
    let wanted = settings_of(&followed.settings);
    let (store, mut look) = if let Some(path) = &followed.input {
        let series =
            select_series(followed, rsb_store::read_series(path).map_err(CliError::usage)?)?;
        let document = trend_with(&inputs(&series), &wanted);
        (
            None,
            TrendHistory { series, document, tracked: Tracked::default(), now: Timestamp::now() },
        )
    } else {
        let store = gate::open(&directories, &mut console::tell)?;
        let series = stored_series(followed, &store)?;
        let look = over(&store, series, &wanted)?;
        (Some(store), look)
    };
    if followed.improvements {
        look.tracked.alerts.retain(|alert| alert.direction == "better");
        for series in &mut look.document.series {
            series.alerts.retain(|alert| alert.direction == "better");
        }
    }
    Ok((store, look))
}

/// The time of an iteration of every case in `store`, by the usual settings.
///
/// # Errors
/// When the results cannot be read.
pub(super) fn look(store: &Store) -> Result<TrendHistory, CliError> {
    over(store, times(store, None)?, &TrendSettings::DEFAULT)
}

/// The stored series that pass `filter`: of `metric`, else the time of an iteration. Nothing is
/// kept of the look.
///
/// # Errors
/// When the results cannot be read.
pub(super) fn history(
    store: &Store,
    filter: &FilterArgs,
    metric: Option<&str>,
) -> Result<TrendDocument, CliError> {
    let cases = filter.broadest().map(settings::anywhere);
    let mut series = match metric {
        Some(name) => store.series(&SeriesFilter {
            cases,
            metric: Some(name.to_owned()),
            ..SeriesFilter::default()
        })?,
        None => times(store, cases.as_deref())?,
    };
    series.retain(|series| filter.fits(&series.id));
    Ok(trend_with(&inputs(&series), &TrendSettings::DEFAULT))
}

/// The series of a CSV file that pass `filter`.
///
/// # Errors
/// When the file cannot be read, or holds no such series.
pub(super) fn history_in(file: &Path, filter: &FilterArgs) -> Result<TrendDocument, CliError> {
    let mut series = rsb_store::read_series(file).map_err(CliError::usage)?;
    series.retain(|series| filter.fits(&series.id));
    Ok(trend_with(&inputs(&series), &TrendSettings::DEFAULT))
}

fn over(
    store: &Store,
    series: Vec<Series>,
    wanted: &TrendSettings,
) -> Result<TrendHistory, CliError> {
    let mut document = trend_with(&inputs(&series), wanted);
    trends::name_levels(store, &series, &mut document);
    let now = Timestamp::now();
    let request = TrackRequest { series: &series, trends: &document, settings: wanted, now };
    let tracked = trends::track(store, &request, Path::new(".")).map_err(alert_error)?;
    for alert in &tracked.closed {
        let because = alert.because.as_deref().unwrap_or_default();
        console::say(&format!("note: {} is {} now: {because}", alert.id, alert.state.as_str()));
    }
    if let Some(why) = &tracked.not_kept {
        console::say(&format!("note: what was found is not kept, and is new the next time: {why}"));
    }
    Ok(TrendHistory { series, document, tracked, now })
}

fn settings_of(args: &TrendSettingsArgs) -> TrendSettings {
    let method = match args.method {
        ChangeMethodArg::Auto => ChangeMethod::Auto,
        ChangeMethodArg::Exact => ChangeMethod::Exact,
        ChangeMethodArg::Screened => ChangeMethod::Screened,
        ChangeMethodArg::Off => ChangeMethod::Off,
    };
    TrendSettings {
        method,
        min_size: args.min_size as usize,
        significance: args.significance,
        alert_threshold_percent: args.threshold,
        lookback_days: args.lookback_days,
        min_data_points: args.min_points as usize,
        recent_points: args.recent_points as usize,
        rolling_window: args.rolling_window as usize,
        days_ahead: args.days_ahead,
        confidence: args.confidence,
        anomaly_z: args.z_score,
        window_size: args.window as usize,
    }
}

fn stored_series(args: &FollowedArgs, store: &Store) -> Result<Vec<Series>, CliError> {
    let cases = args.filter.broadest().map(settings::anywhere);
    let mut series = match args.metric.as_deref() {
        Some("all") => store.series(&SeriesFilter { cases, ..SeriesFilter::default() })?,
        Some(name) => store.series(&SeriesFilter {
            cases,
            metric: Some(name.to_owned()),
            ..SeriesFilter::default()
        })?,
        None => times(store, cases.as_deref())?,
    };
    series.retain(|series| args.filter.fits(&series.id));
    Ok(series)
}

/// The time of an iteration of each case. Of a long history nothing else is read.
fn times(store: &Store, cases: Option<&str>) -> Result<Vec<Series>, CliError> {
    times_in(store, cases, None)
}

/// As [`times`], in the newest `runs` alone.
pub(super) fn times_in(
    store: &Store,
    cases: Option<&str>,
    runs: Option<usize>,
) -> Result<Vec<Series>, CliError> {
    let mut all = Vec::new();
    for metric in TIMES {
        let filter = SeriesFilter {
            cases: cases.map(str::to_owned),
            metric: Some(metric.to_owned()),
            runs,
            ..SeriesFilter::default()
        };
        all.extend(store.series(&filter)?);
    }
    all.sort_by(|a, b| (&a.id, &a.metric).cmp(&(&b.id, &b.metric)));
    Ok(all)
}

/// Series that are named where none is asked for.
const SHOWN: usize = 5;

/// Those series of a file that are asked for. A wish that none of them fulfils is a mistake: the
/// file is all there is.
fn select_series(args: &FollowedArgs, all: Vec<Series>) -> Result<Vec<Series>, CliError> {
    let metric = args.metric.as_deref().filter(|name| *name != "all");
    let (asked, others): (Vec<Series>, Vec<Series>) = all.into_iter().partition(|series| {
        args.filter.fits(&series.id) && metric.is_none_or(|name| name == series.metric)
    });
    if !asked.is_empty() || others.is_empty() {
        return Ok(asked);
    }
    let more = others.len().saturating_sub(SHOWN);
    let there = others.iter().take(SHOWN).map(describe_series).collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(CliError::usage(anyhow!(
        "no series of the file matches --benchmark, --case and --metric; there are {there}{more}"
    )))
}

fn describe_series(series: &Series) -> String {
    match series.id.as_str() {
        "" => format!("one without an id ({})", series.metric),
        id => format!("{id} ({})", series.metric),
    }
}

pub(super) fn inputs(series: &[Series]) -> Vec<SeriesInput> {
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
