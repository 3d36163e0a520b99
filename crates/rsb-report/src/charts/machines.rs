//! Several machines: the time of each case relative to the fastest machine.

use std::collections::BTreeMap;

use itertools::Itertools as _;
use rsb_model::{CaseId, Run};

use super::{axis, left_out};
use crate::chart::{Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::label::{Shortener, measured_results, time_ns};
use crate::number::format_time;

const MAX_CASES: usize = 14;
/// Relative time from which bars are drawn at the edge.
const SLOWEST: f64 = 10.0;

/// Returns a chart of the time of each case that at least two of `runs` measured. `runs` are pairs
/// of machine name and run. Empty if there is no such case.
pub fn machines(runs: &[(&str, &Run)]) -> Vec<Chart> {
    let mut times: BTreeMap<&CaseId, Vec<(usize, f64)>> = BTreeMap::new();
    for (machine, (_, run)) in runs.iter().enumerate() {
        for result in measured_results(run) {
            let time = time_ns(result).filter(|time| time.is_finite() && *time > 0.0);
            times.entry(&result.benchmark_id).or_default().extend(time.map(|time| (machine, time)));
        }
    }
    times.retain(|_, each| each.len() > 1);
    let hidden = times.len().saturating_sub(MAX_CASES);
    let rows: Vec<(&CaseId, Vec<(usize, f64)>)> = times.into_iter().take(MAX_CASES).collect();
    if rows.is_empty() { Vec::new() } else { vec![chart(runs, &rows, hidden)] }
}

fn chart(runs: &[(&str, &Run)], rows: &[(&CaseId, Vec<(usize, f64)>)], hidden: usize) -> Chart {
    let names = Shortener::of(rows.iter().map(|(id, _)| *id));
    let all = rows.iter().flat_map(|(_, each)| each.iter().map(|(_, time)| share(each, *time)));
    let top = all.fold(1.0, f64::max).min(SLOWEST);
    // Of equal times, none is the fastest.
    let fastest = rows.iter().filter_map(|(_, each)| {
        let mut first = each.iter().filter(|(_, time)| share(each, *time) <= 1.0);
        match (first.next(), first.next()) {
            (Some((machine, _)), None) => Some(*machine),
            _ => None,
        }
    });
    let first =
        fastest.counts().into_iter().max_by_key(|(machine, wins)| (*wins, usize::MAX - machine));
    let title = first.map_or_else(
        || "Time of each case by machine".to_owned(),
        |(machine, wins)| {
            let name = runs.get(machine).map_or("", |(name, _)| name);
            format!("{name} is fastest in {wins} of {} cases", rows.len())
        },
    );
    let thickness = 0.8 / runs.len() as f64;
    let mut datasets = Vec::new();
    for (machine, (name, _)) in runs.iter().enumerate() {
        let offset = (machine as f64 - (runs.len() as f64 - 1.0) / 2.0) * thickness;
        let mut points = Vec::new();
        for (row, (_, each)) in rows.iter().enumerate() {
            let Some((_, time)) = each.iter().find(|(known, _)| *known == machine) else {
                continue;
            };
            let point = Point::at(share(each, *time), row as f64 + offset);
            points.push(point.saying(format_time(*time)));
        }
        let kind = DatasetKind::Bars { thickness: thickness * 0.9 };
        datasets.push(Dataset::new(kind, Paint::Series(machine), points).with_name(*name));
    }
    let more = left_out(hidden, "case is", "cases are", "not drawn");
    Chart {
        name: "machines".to_owned(),
        title,
        subtitle: format!(
            "relative to the fastest machine, lower is better; the newest run of each{more}"
        ),
        place: ChartPlace::Other,
        x_axis: axis::linear("time relative to the fastest", 0.0, top, 6),
        y_axis: axis::rows(rows.iter().map(|(id, _)| names.full(id))),
        datasets,
        legend_position: Legend::Below,
    }
}

/// Returns `time` relative to the shortest time of `each`.
fn share(each: &[(usize, f64)], time: f64) -> f64 {
    time / each.iter().map(|(_, time)| *time).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_fastest_is_one_and_what_only_one_has_is_not_there() {
        let run = sample::run();
        let mut slower = run.clone();
        slower.benchmarks.remove(0);
        for result in &mut slower.benchmarks {
            if let Some(time) =
                result.results.first_mut().and_then(|fields| fields.number("time_ms"))
            {
                result.results[0].set("time_ms", 2.0 * time);
            }
        }
        let equal = machines(&[("one", &run), ("two", &run)]).remove(0);
        assert_eq!(equal.title, "Time of each case by machine");
        let chart = machines(&[("one", &run), ("two", &slower)]).remove(0);
        let [one, two] = chart.datasets.as_slice() else { panic!() };
        assert!(!one.points.is_empty() && one.points.len() == two.points.len());
        assert!(one.points.iter().all(|point| (point.x - 1.0).abs() < 1e-9));
        assert!(two.points.iter().all(|point| (point.x - 2.0).abs() < 1e-9));
        assert!(machines(&[("one", &run)]).is_empty() && crate::svg(&chart).is_some());
    }
}
