//! Series that changed together: they are one finding, because one cause is likely.

use std::collections::BTreeSet;

use rsb_model::record::{ChangePoint, CommonChange, CommonMember, SeriesTrend};
use rsb_model::{Better, Timestamp};

use super::SeriesInput;

/// Maximum distance, in runs, between changes of several series that are one finding.
const TOGETHER: usize = 2;

/// Minimum number of series with a common change.
const FEWEST: usize = 3;

/// A confirmed change of one series.
struct Step<'a> {
    series: &'a SeriesTrend,
    change: &'a ChangePoint,
    direction: &'static str,
    /// Position of the run that changed among the runs of all series.
    run: usize,
}

/// Returns the changes that at least three series have in the same direction within two runs, in
/// order of time.
pub(super) fn common(inputs: &[SeriesInput], trends: &[SeriesTrend]) -> Vec<CommonChange> {
    let runs: BTreeSet<Timestamp> =
        inputs.iter().flat_map(|input| input.points.iter().map(|point| point.0)).collect();
    let runs: Vec<Timestamp> = runs.into_iter().collect();
    let mut steps: Vec<Step<'_>> = Vec::new();
    for series in trends.iter().filter(|series| !series.change_points.is_empty()) {
        let input = inputs.iter().find(|input| is_of(input, series));
        let better = input.and_then(|input| input.better);
        for change in &series.change_points {
            let direction = direction(better, change.change_percent);
            let run = runs.partition_point(|time| *time < change.timestamp);
            steps.push(Step { series, change, direction, run });
        }
    }
    steps.sort_by_key(|step| (step.direction, step.run));
    let mut found = Vec::new();
    let mut rest = steps.as_slice();
    while let Some(first) = rest.first() {
        let is_near =
            |step: &Step<'_>| step.direction == first.direction && step.run - first.run <= TOGETHER;
        let count = rest.iter().take_while(|step| is_near(step)).count();
        let (group, others) = rest.split_at(count);
        found.extend(one_finding(group));
        rest = others;
    }
    found.sort_by_key(|change| change.from_timestamp);
    found
}

fn is_of(input: &SeriesInput, trend: &SeriesTrend) -> bool {
    input.id == trend.id && input.metric == trend.metric && input.unit == trend.unit
}

fn direction(better: Option<Better>, change_percent: f64) -> &'static str {
    match better {
        Some(better) if (better == Better::Lower) == (change_percent > 0.0) => "worse",
        Some(_) => "better",
        None => "changed",
    }
}

fn one_finding(group: &[Step<'_>]) -> Option<CommonChange> {
    let series: BTreeSet<_> =
        group.iter().map(|step| (&step.series.id, &step.series.metric)).collect();
    if series.len() < FEWEST {
        return None;
    }
    let members = group.iter().map(|step| CommonMember {
        id: step.series.id.clone(),
        metric: step.series.metric.clone(),
        index: step.change.index,
        change_percent: step.change.change_percent,
    });
    Some(CommonChange {
        direction: group.first()?.direction.to_owned(),
        from_timestamp: group.first()?.change.timestamp,
        to_timestamp: group.last()?.change.timestamp,
        series: members.collect(),
    })
}
