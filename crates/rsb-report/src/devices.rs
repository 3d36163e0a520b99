//! Tables of several devices: the best value of each benchmark on each of them, and one case on many
//! devices of one backend, slowest first.

use itertools::Itertools as _;
use rsb_model::{BackendId, BenchmarkResult, Better, DeviceRef, Field, Outcome, Run};
use rsb_stats::median;

use crate::label::{benchmark_of, benchmarks, device_of, group_by_key, headline, is_better};
use crate::number::{format_count, format_percent, format_quantity};
use crate::style::Tone;
use crate::table::{Cell, Column, Table};

/// Minimum number of devices with a table of one case. Fewer devices are columns of one table.
const MIN_DEVICES: usize = 8;

/// A table with its title.
#[derive(Debug, Clone)]
pub(crate) struct DeviceTable {
    pub(crate) title: String,
    pub(crate) table: Table,
}

/// Returns the tables of a run on two devices or more.
pub(crate) fn tables(run: &Run) -> Vec<DeviceTable> {
    let of_case = benchmarks(run).into_iter().filter_map(|benchmark| case_table(run, benchmark));
    by_device(run).into_iter().chain(of_case).collect()
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
        Some(((backend, point), (index, result)))
    });
    let fleets = group_by_key(devices).into_iter();
    let fleets = fleets.map(|((backend, point), results)| Fleet { backend, point, results });
    fleets
        .max_by_key(|fleet| fleet.results.len())
        .filter(|fleet| fleet.results.len() >= MIN_DEVICES)
}

/// Returns a row for each device that one case of `benchmark` was attempted on, slowest first.
fn case_table(run: &Run, benchmark: &str) -> Option<DeviceTable> {
    let Fleet { backend, point, results } = fleet(run, benchmark)?;
    let measured = || results.iter().filter(|(_, result)| result.outcome == Outcome::Measured);
    let field = measured().find_map(|(_, result)| headline(result)).map(|(field, _)| field)?;
    let mut values: Vec<(u32, f64)> = Vec::new();
    for (index, result) in measured() {
        let value = result.fields().and_then(|fields| fields.number(field.name));
        values.extend(value.filter(|value| value.is_finite()).map(|value| (*index, value)));
    }
    sort_worst_first(&mut values, field);
    let middle = median(&values.iter().map(|(_, value)| *value).collect::<Vec<_>>())?;
    let mut table = Table::new([
        Column::left("device"),
        Column::right("value"),
        Column::right("from the median"),
    ]);
    for (index, result) in &results {
        if matches!(result.outcome, Outcome::Failed | Outcome::Skipped) {
            let word = Cell::with_tone(result.outcome.as_str(), Tone::Caution);
            table.push([Cell::from(format!("{backend}:{index}")), word, Cell::default()]);
        }
    }
    for (index, value) in &values {
        let change = if middle == 0.0 { 0.0 } else { 100.0 * (value - middle) / middle };
        table.push([
            Cell::from(format!("{backend}:{index}")),
            Cell::from(format_quantity(*value, field.unit.symbol())),
            Cell::from(format_percent(change)),
        ]);
    }
    let count = format_count(results.len(), "device", "devices");
    Some(DeviceTable { title: format!("{benchmark} {point} on {count}"), table })
}

fn sort_worst_first(values: &mut [(u32, f64)], field: &Field) {
    values.sort_by(|a, b| a.1.total_cmp(&b.1));
    if field.better() == Some(Better::Lower) {
        values.reverse();
    }
}

/// Returns a table with a row for each benchmark and a column for each device: the best value, or
/// why there is none. `None` if there is one device, or too many for columns.
fn by_device(run: &Run) -> Option<DeviceTable> {
    let devices: Vec<DeviceRef> = run
        .benchmarks
        .iter()
        .filter_map(|result| device_of(&result.benchmark_id))
        .unique()
        .collect();
    if devices.len() < 2 || devices.len() >= MIN_DEVICES {
        return None;
    }
    let mut columns = vec![Column::left("benchmark")];
    columns.extend(devices.iter().map(|device| Column::right(&device.to_string())));
    let mut table = Table::new(columns);
    for benchmark in benchmarks(run) {
        let mut cells = vec![Cell::from(benchmark)];
        for device in &devices {
            let own: Vec<&BenchmarkResult> = run
                .benchmarks
                .iter()
                .filter(|result| benchmark_of(result) == benchmark)
                .filter(|result| device_of(&result.benchmark_id) == Some(*device))
                .collect();
            cells.push(best_cell(&own));
        }
        if cells.iter().skip(1).any(|cell| !cell.text.is_empty()) {
            table.push(cells);
        }
    }
    (!table.is_empty()).then(|| DeviceTable { title: "Best value by device".to_owned(), table })
}

/// Returns the best value of `own`, and how many failed; without a value, the outcome.
fn best_cell(own: &[&BenchmarkResult]) -> Cell {
    let count = |outcome| own.iter().filter(|result| result.outcome == outcome).count();
    let measured = own.iter().filter(|result| result.outcome == Outcome::Measured);
    let best = measured.filter_map(|result| headline(result)).reduce(|best, other| {
        let wins = best.0.name == other.0.name && is_better(best.0, other.1, best.1);
        if wins { other } else { best }
    });
    let value = best.map(|(field, value)| format_quantity(value, field.unit.symbol()));
    match (count(Outcome::Failed), value) {
        (1.., Some(value)) => {
            let failed = count(Outcome::Failed);
            Cell::with_tone(format!("{value}, {failed} failed"), Tone::Bad)
        }
        (failed @ 1.., None) => Cell::with_tone(format!("{failed} failed"), Tone::Bad),
        (0, Some(value)) => Cell::from(value),
        (0, None) => {
            let others = [Outcome::Measured, Outcome::Simulated, Outcome::Skipped];
            let outcome = others.into_iter().find(|outcome| count(*outcome) > 0);
            Cell::with_tone(outcome.map_or("", Outcome::as_str), Tone::Dim)
        }
    }
}

#[cfg(test)]
mod tests {
    use rsb_model::{CaseId, Fields, Reason};

    use super::*;
    use crate::{Style, sample};

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
    fn devices_without_a_value_come_first_then_the_slowest() {
        let [table] = tables(&many()).try_into().unwrap();
        assert_eq!(table.title, "memory-bandwidth read/256MiB on 64 devices");
        let rows: Vec<Vec<&str>> = table
            .table
            .rows()
            .iter()
            .map(|row| row.cells.iter().map(|cell| cell.text.as_str()).collect())
            .collect();
        assert_eq!(rows.len(), 64);
        assert_eq!(rows[0][..2], ["rocm:40", "failed"]);
        assert_eq!(rows[1][..2], ["rocm:41", "skipped"]);
        assert_eq!(rows[2], ["rocm:17", "1.10 TB/s", "-31.3 %"]);
    }

    #[test]
    fn few_devices_are_columns() {
        let mut run = many();
        run.benchmarks.drain(..16);
        run.benchmarks.truncate(3);
        let [table] = tables(&run).try_into().unwrap();
        let text = table.table.text(Style::PLAIN);
        for part in ["rocm:16", "rocm:17", "rocm:18", "1.10 TB/s"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        run.benchmarks.truncate(1);
        assert!(tables(&run).is_empty());
    }
}
