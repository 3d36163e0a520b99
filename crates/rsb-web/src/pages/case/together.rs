//! The case in one chart with its other data types, branches or machines, or with the geometric
//! mean of its benchmark.

use std::collections::BTreeMap;

use rsb_model::{Dtype, Timestamp};
use rsb_report::charts::{TimeSeries, geometric_mean, over_time};
use rsb_report::html::element::escape;
use rsb_report::{Chart, trend::short};

use super::{choice_item, choice_list, scaled};
use crate::address::{CaseView, SeriesBy};
use crate::figure::{Zoom, figure};
use crate::names::case_parts;
use crate::site::Site;
use crate::source::{CaseHistory, SourceError, SourceResult};

/// Maximum number of series in a chart; more lines look alike.
const SERIES: usize = 8;
/// Number of the chart in the page, whose first one is that of the case alone.
const NUMBER: usize = 2;
/// Newest runs that are grouped by branch.
const RUNS: usize = 5_000;

/// Returns the links that draw other series together with the case, and to ratios.
pub(super) fn choices(
    site: &Site<'_>,
    query: &CaseView,
    history: &CaseHistory,
) -> SourceResult<String> {
    let plain = CaseView { window: None, page: 0, ..query.clone() };
    let mut items = Vec::new();
    let (benchmark, _) = case_parts(&query.id);
    let offered = [
        (SeriesBy::Nothing, "none", true),
        (SeriesBy::Dtype, "data types", dtypes(site, &query.id)?.len() > 1),
        (SeriesBy::Branch, "branches", site.branches().len() > 1),
        (SeriesBy::Machine, "machines", history.machines.len() > 1),
        (SeriesBy::Mean, &format!("geometric mean of {benchmark}"), !benchmark.is_empty()),
    ];
    for (by, title, is_offered) in offered {
        if is_offered || by == query.by {
            let ratio = query.ratio && by != SeriesBy::Nothing;
            let view = CaseView { by, ratio, ..plain.clone() };
            items.push(choice_item(site, title, by == query.by, view));
        }
    }
    let mut ratios = Vec::new();
    if !matches!(query.by, SeriesBy::Nothing | SeriesBy::Mean) {
        for (ratio, title) in [(false, "as measured"), (true, "ratio to the first series")] {
            let view = CaseView { ratio, ..plain.clone() };
            ratios.push(choice_item(site, title, ratio == query.ratio, view));
        }
    }
    Ok(choice_list("Overlay", &items) + &choice_list("Values", &ratios))
}

/// Returns the section of the chart; empty if no other series is asked for.
pub(super) fn section(
    site: &Site<'_>,
    view: &crate::address::PageView,
    query: &CaseView,
    history: &CaseHistory,
    points: usize,
) -> SourceResult<String> {
    if query.by == SeriesBy::Nothing {
        return Ok(String::new());
    }
    let Some(chart) = chart(site, query, history, points)? else {
        return Ok("<p>No series to overlay has at least two runs.</p>\n".to_owned());
    };
    let names = chart.datasets.iter().map(|one| escape(&one.name)).collect::<Vec<_>>().join(", ");
    Ok(figure(site, view, NUMBER, &chart, &Zoom::Fixed)
        + &format!("<p class=\"hint\">Series: {names}.</p>\n"))
}

/// Returns the chart of the case with the other series of `query.by`.
pub(super) fn chart(
    site: &Site<'_>,
    query: &CaseView,
    history: &CaseHistory,
    points: usize,
) -> SourceResult<Option<Chart>> {
    let trend = scaled::in_shown_unit(&history.trend);
    let factor = trend.last / history.trend.last;
    let factor = if factor.is_finite() { factor } else { 1.0 };
    let name = format!("{} {}", short(&query.id), history.trend.metric);
    let mut series = match query.by {
        SeriesBy::Nothing => return Ok(None),
        SeriesBy::Dtype => by_dtype(site, query, history)?,
        SeriesBy::Branch => by_branch(site, history)?,
        SeriesBy::Machine => by_machine(site, query, history)?,
        SeriesBy::Mean => with_mean(site, query, history)?,
    };
    series.truncate(SERIES);
    let is_ratio = query.ratio || query.by == SeriesBy::Mean;
    if let (true, Some(first)) =
        (query.ratio && query.by != SeriesBy::Mean, series.first().cloned())
    {
        series = series.iter().map(|one| one.ratio_to(&first)).collect();
    } else if !is_ratio {
        for (_, value) in series.iter_mut().flat_map(|one| &mut one.points) {
            *value *= factor;
        }
    }
    let title = match query.by {
        SeriesBy::Mean => format!("{name}, relative to the first run"),
        _ if is_ratio => {
            let first = series.first().map_or("", |one| one.name.as_str());
            format!("{name}, ratio to {first}")
        }
        by => format!("{name} by {}", by.title()),
    };
    let unit = if is_ratio { "ratio" } else { &trend.unit };
    Ok(over_time(&title, unit, &series, points))
}

fn line(name: &str, history: &CaseHistory) -> TimeSeries {
    let times = history.keys.iter().map(|key| key.started);
    let points = times.zip(history.trend.values.iter().copied());
    TimeSeries {
        name: name.to_owned(),
        points: points.filter(|(_, value)| value.is_finite()).collect(),
    }
}

/// Returns the cases that differ from `id` only in the data type, each with it; the case itself
/// first. Empty if `id` has no segment that is one.
fn dtypes(site: &Site<'_>, id: &str) -> SourceResult<Vec<(String, String)>> {
    let is_dtype = |segment: &str| segment.parse::<Dtype>().is_ok();
    let segments: Vec<&str> = id.split('/').collect();
    let Some(place) = segments.iter().position(|segment| is_dtype(segment)) else {
        return Ok(Vec::new());
    };
    let own = segments.get(place).copied().unwrap_or_default();
    let mut found = vec![(own.to_owned(), id.to_owned())];
    for case in site.source().cases()?.iter().filter(|case| case.id != id) {
        let other: Vec<&str> = case.id.split('/').collect();
        let is_sibling = other.len() == segments.len()
            && other
                .iter()
                .zip(&segments)
                .enumerate()
                .all(|(at, (one, own))| if at == place { is_dtype(one) } else { one == own });
        if is_sibling {
            let dtype = other.get(place).copied().unwrap_or_default();
            found.push((dtype.to_owned(), case.id.clone()));
        }
    }
    Ok(found)
}

fn by_dtype(
    site: &Site<'_>,
    query: &CaseView,
    history: &CaseHistory,
) -> SourceResult<Vec<TimeSeries>> {
    let mut series = Vec::new();
    for (dtype, id) in dtypes(site, &query.id)?.into_iter().take(SERIES) {
        let other = site.source().history(&id, &history.trend.metric, &history.machine);
        series.extend(there(other)?.map(|history| line(&dtype, &history)));
    }
    Ok(series)
}

fn by_machine(
    site: &Site<'_>,
    query: &CaseView,
    history: &CaseHistory,
) -> SourceResult<Vec<TimeSeries>> {
    let mut series = vec![line(&site.machine(&history.machine), history)];
    let others = history.machines.iter().filter(|slug| **slug != history.machine);
    for slug in others.take(SERIES) {
        let other = site.source().history(&query.id, &history.trend.metric, slug);
        series.extend(there(other)?.map(|history| line(&site.machine(slug), &history)));
    }
    Ok(series)
}

/// Returns `None` for a series that does not exist.
fn there<T>(found: SourceResult<T>) -> SourceResult<Option<T>> {
    match found {
        Err(SourceError::NotThere(_)) => Ok(None),
        found => found.map(Some),
    }
}

/// Groups the newest runs of the case by branch; the main branch comes first.
fn by_branch(site: &Site<'_>, history: &CaseHistory) -> SourceResult<Vec<TimeSeries>> {
    let first = history.keys.len().saturating_sub(RUNS);
    let keys = history.keys.get(first..).unwrap_or_default();
    let values = history.trend.values.get(first..).unwrap_or_default();
    let branches: BTreeMap<&str, &str> = site
        .runs()
        .iter()
        .filter_map(|run| Some((run.run_id.as_str(), run.branch.as_deref()?)))
        .collect();
    let mut by_branch: BTreeMap<&str, Vec<(Timestamp, f64)>> = BTreeMap::new();
    for ((key, value), run) in keys.iter().zip(values).zip(site.source().points(keys)?) {
        if let (Some(branch), true) = (branches.get(run.run_id.as_str()), value.is_finite()) {
            by_branch.entry(branch).or_default().push((key.started, *value));
        }
    }
    let mut series = Vec::new();
    for (name, points) in by_branch {
        series.push(TimeSeries { name: name.to_owned(), points });
    }
    let main = site.main_branch().map(str::to_owned);
    series
        .sort_by_key(|one| (main.as_ref() != Some(&one.name), std::cmp::Reverse(one.points.len())));
    Ok(series)
}

/// Returns the case relative to its first value, and the geometric mean of its benchmark in the
/// newest runs.
fn with_mean(
    site: &Site<'_>,
    query: &CaseView,
    history: &CaseHistory,
) -> SourceResult<Vec<TimeSeries>> {
    let (benchmark, _) = case_parts(&query.id);
    let lines = site.source().lines("")?;
    let mut of_benchmark = Vec::new();
    for line in lines.iter().filter(|line| line.metric == history.trend.metric) {
        if case_parts(&line.id).0 == benchmark {
            of_benchmark.push(line.points.as_slice());
        }
    }
    let name = format!("geometric mean of {} cases of {benchmark}", of_benchmark.len());
    let mean = geometric_mean(&name, &of_benchmark);
    let mut own = line("this case", history);
    // Both begin where the mean does, so that their ratios are comparable.
    let begun = mean.points.first().map(|(at, _)| *at);
    own.points.retain(|(at, _)| begun.is_none_or(|begun| *at >= begun));
    let mut series = vec![own.ratio_to_start()];
    series.extend((mean.points.len() > 1).then_some(mean));
    Ok(series)
}
