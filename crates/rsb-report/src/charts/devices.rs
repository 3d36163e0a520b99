//! Many devices of one backend as a grid of cells, to spot a slow device at a glance.

use rsb_model::{BackendId, BenchmarkResult, Better, DeviceRef, Field, Outcome, Run};
use rsb_stats::median;

use super::memory::{Words, heat_map_datasets};
use super::{axis, bars, slug};
use crate::chart::{Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::label::{benchmark_of, benchmarks, device_of, group_by_key, headline};
use crate::number::{format_count, format_percent, format_quantity};

/// Minimum number of devices for a grid. Fewer devices are compared with bars.
const MIN_DEVICES: usize = 8;
const MAX_DEVICE_INDEX: u32 = 256;

/// Returns a grid for each benchmark that ran one case on many devices, of `metric` or of the
/// headline metric if `None`.
pub fn device_grids(run: &Run, metric: Option<&'static Field>) -> Vec<Chart> {
    benchmarks(run).into_iter().filter_map(|benchmark| grid(run, benchmark, metric)).collect()
}

/// One case on the devices of one backend, with their device indices.
struct Fleet<'a> {
    backend: BackendId,
    point: &'a str,
    results: Vec<(u32, &'a BenchmarkResult)>,
}

/// Returns the case of `benchmark` that was attempted on most devices. If several are tied, returns
/// the last one, which is the largest because cases are listed by increasing size.
fn fleet<'a>(run: &'a Run, benchmark: &str) -> Option<Fleet<'a>> {
    let own = run.benchmarks.iter().filter(|result| benchmark_of(result) == benchmark);
    let devices = own.filter_map(|result| {
        let DeviceRef { backend, index } = device_of(&result.benchmark_id)?;
        let point = result.benchmark_id.parts()?.point;
        (index < MAX_DEVICE_INDEX).then_some(((backend, point), (index, result)))
    });
    let fleets = group_by_key(devices).into_iter();
    let fleets = fleets.map(|((backend, point), results)| Fleet { backend, point, results });
    fleets
        .max_by_key(|fleet| fleet.results.len())
        .filter(|fleet| fleet.results.len() >= MIN_DEVICES)
}

fn grid(run: &Run, benchmark: &str, metric: Option<&'static Field>) -> Option<Chart> {
    let Fleet { backend, point, results } = fleet(run, benchmark)?;
    let measured = || results.iter().filter(|(_, result)| result.outcome == Outcome::Measured);
    let field = metric
        .or_else(|| measured().find_map(|(_, result)| headline(result)).map(|(field, _)| field))?;
    let mut figures: Vec<(u32, f64)> = Vec::new();
    for (index, result) in measured() {
        let value = result.fields().and_then(|fields| fields.number(field.name));
        figures.extend(value.filter(|value| value.is_finite()).map(|value| (*index, value)));
    }
    let last = results.iter().map(|(index, _)| *index).max()?;
    let across = if last < 64 { 8 } else { 16 };
    let cells: Vec<(usize, usize, f64)> = figures
        .iter()
        .map(|&(index, value)| {
            let (column, row) = grid_position(index, across);
            (column, row, value)
        })
        .collect();
    let mut datasets = heat_map_datasets(&cells, field.unit.symbol(), Words::Hidden);
    for point in datasets.iter_mut().flat_map(|dataset| &mut dataset.points) {
        point.text = (point.y as u32 * across + point.x as u32).to_string();
    }
    datasets.extend(without_figure(&results, across));
    let row_names = (0..=last / across)
        .map(|row| format!("{backend}:{}–{}", row * across, ((row + 1) * across - 1).min(last)));
    let caption = bars::caption(field);
    Some(Chart {
        name: slug(&format!("devices-{benchmark}-{}", field.name)),
        title: format!("{benchmark} {point}: {caption} of {} devices", results.len()),
        subtitle: outlier(&figures, field, backend)?,
        place: ChartPlace::Benchmark(benchmark.to_owned()),
        x_axis: axis::rows((0..across).map(|column| format!("+{column}"))),
        y_axis: axis::rows(row_names),
        datasets,
        legend_position: Legend::Below,
    })
}

const fn grid_position(index: u32, across: u32) -> (usize, usize) {
    ((index % across) as usize, (index / across) as usize)
}

/// Returns the devices without a value, with a mark after their indices.
fn without_figure(results: &[(u32, &BenchmarkResult)], across: u32) -> Vec<Dataset> {
    let kinds = [
        (Outcome::Failed, Paint::Error, "!", "failed (!)"),
        (Outcome::Skipped, Paint::Warning, "-", "skipped (-)"),
    ];
    let mut datasets = Vec::new();
    for (outcome, paint, mark, name) in kinds {
        let mut points = Vec::new();
        for (index, result) in results {
            if result.outcome == outcome {
                let (column, row) = grid_position(*index, across);
                let point = Point::at(column as f64, row as f64);
                points.push(point.saying(format!("{index}{mark}")));
            }
        }
        if !points.is_empty() {
            datasets.push(Dataset::new(DatasetKind::Cells, paint, points).with_name(name));
        }
    }
    datasets
}

/// Describes the device with the worst value, and its difference from the median.
fn outlier(figures: &[(u32, f64)], field: &Field, backend: BackendId) -> Option<String> {
    let lower = field.better() == Some(Better::Lower);
    let &(index, value) = figures
        .iter()
        .max_by(|a, b| if lower { a.1.total_cmp(&b.1) } else { b.1.total_cmp(&a.1) })?;
    let middle = median(&figures.iter().map(|(_, value)| *value).collect::<Vec<_>>())?;
    let word = if lower { "highest" } else { "lowest" };
    let change = if middle == 0.0 { 0.0 } else { 100.0 * (value - middle) / middle };
    Some(format!(
        "{word}: {backend}:{index} with {}, {} from the median of {}",
        format_quantity(value, field.unit.symbol()),
        format_percent(change),
        format_count(figures.len(), "device", "devices"),
    ))
}

#[cfg(test)]
mod tests {
    use rsb_model::{CaseId, Fields, Reason};

    use super::*;
    use crate::{Glyphs, Style, picture, sample};

    /// Returns a run on 64 GPUs: number 17 is slow, 40 failed and 41 was skipped.
    fn many() -> Run {
        let mut run = sample::run();
        let first = run
            .benchmarks
            .iter()
            .find(|result| result.outcome == Outcome::Measured)
            .unwrap()
            .clone();
        run.benchmarks.clear();
        for index in 0..64_u32 {
            let mut result = first.clone();
            result.category = Some("memory-bandwidth".to_owned());
            result.benchmark_id = CaseId::from_segments(&[
                "gpu_performance",
                "memory-bandwidth",
                &format!("rocm:{index}"),
                "read/256MiB",
            ]);
            let rate = if index == 17 { 1100.0 } else { 1600.0 + f64::from(index % 5) };
            result.results = vec![Fields::new().with("bandwidth_gb_s", rate)];
            if matches!(index, 40 | 41) {
                result.outcome = if index == 40 { Outcome::Failed } else { Outcome::Skipped };
                result.reason = Some(Reason::new("rocm", "hung", "reset it"));
            }
            run.benchmarks.push(result);
        }
        run
    }

    #[test]
    fn the_device_that_falls_behind_is_named_and_none_is_left_out() {
        let run = many();
        let [chart] = device_grids(&run, None).try_into().unwrap();
        assert!(
            chart.subtitle.starts_with("lowest: rocm:17 with 1.10 TB/s, -31"),
            "{}",
            chart.subtitle
        );
        let mut numbers: Vec<u32> = chart
            .datasets
            .iter()
            .flat_map(|dataset| &dataset.points)
            .map(|point| point.text.trim_end_matches(['!', '-']).parse().unwrap())
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..64).collect::<Vec<_>>());
        insta::assert_snapshot!(picture(&chart, 78, 18, Glyphs::Unicode).text(Style::PLAIN));
        assert!(crate::svg(&chart).is_some());
    }

    #[test]
    fn few_devices_have_no_grid_and_wild_numbers_no_huge_one() {
        let mut run = many();
        run.benchmarks.truncate(7);
        assert!(device_grids(&run, None).is_empty());
        let mut run = many();
        run.benchmarks[0].benchmark_id = CaseId::from_segments(&[
            "gpu_performance",
            "memory-bandwidth",
            "rocm:4000000000",
            "read/256MiB",
        ]);
        let [chart] = device_grids(&run, None).try_into().unwrap();
        assert_eq!(chart.y_axis.labels.len(), 8);
    }
}
