//! Where metrics go over the stored runs, or over a CSV file.

use anyhow::anyhow;
use rsb_engine::gate;
use rsb_report::Style;
use rsb_stats::trend::{ChangeMethod, TrendSettings};
use rsb_stats::{SeriesInput, trend_with};
use rsb_store::{Series, SeriesFilter};

use super::settings;
use crate::cli::{ChangeMethodArg, TrendArgs, TrendSettingsArgs};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// The verb `trend`.
///
/// # Errors
/// When the input cannot be read.
pub fn run(args: &TrendArgs, style: Style) -> CliResult {
    let (_, directories) = settings::load(&args.places)?;
    let series = match &args.input {
        Some(path) => given(args, rsb_store::read_series(path).map_err(CliError::usage)?)?,
        None => stored(args, &gate::open(&directories, &mut console::tell)?)?,
    };
    let inputs: Vec<SeriesInput> = series.into_iter().map(input).collect();
    let document = trend_with(&inputs, &settings_of(&args.settings));
    if args.json {
        show::json(&document)?;
    } else if document.series.is_empty() {
        show::text("there is nothing to follow yet; each `rusty-stack-bench run` adds a point to every metric")?;
    } else {
        show::text(&rsb_report::trend::text(&document, style))?;
    }
    Ok(Exit::Pass)
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

fn stored(args: &TrendArgs, store: &rsb_store::Store) -> Result<Vec<Series>, CliError> {
    let metric = match args.metric.as_deref() {
        Some("all") | None => None,
        Some(name) => Some(name.to_owned()),
    };
    let filter =
        SeriesFilter { cases: args.case.as_deref().map(settings::anywhere), metric, ..SeriesFilter::default() };
    let mut series = store.series(&filter)?;
    if args.metric.is_none() {
        series.retain(|series| matches!(series.metric.as_str(), "time_ms" | "time_us" | "latency_ns"));
    }
    Ok(series)
}

/// Series that are named where none is asked for.
const SHOWN: usize = 5;

/// Those series of a file that are asked for. A wish that none of them fulfils is a mistake: the file is all there is.
fn given(args: &TrendArgs, all: Vec<Series>) -> Result<Vec<Series>, CliError> {
    let pattern = args.case.as_deref().map(|text| format!("*{text}*"));
    let metric = args.metric.as_deref().filter(|name| *name != "all");
    let is_asked = |series: &Series| {
        pattern.as_deref().is_none_or(|pattern| rsb_stats::glob::matches(pattern, &series.id))
            && metric.is_none_or(|name| name == series.metric)
    };
    let (asked, others): (Vec<Series>, Vec<Series>) = all.into_iter().partition(is_asked);
    if !asked.is_empty() || others.is_empty() {
        return Ok(asked);
    }
    let name = |series: &Series| match series.id.as_str() {
        "" => format!("one without an id ({})", series.metric),
        id => format!("{id} ({})", series.metric),
    };
    let more = others.len().saturating_sub(SHOWN);
    let there = others.iter().take(SHOWN).map(name).collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(CliError::usage(anyhow!("--case and --metric ask for no series of the file; there are {there}{more}")))
}

fn input(series: Series) -> SeriesInput {
    SeriesInput {
        id: series.id,
        metric: series.metric,
        unit: series.unit,
        better: series.better,
        points: series.points.into_iter().map(|point| (point.timestamp, point.value)).collect(),
    }
}
