//! The roofline: the rate of each case over its operations per byte, below the limits of memory and
//! compute units.

use itertools::Itertools as _;
use rsb_model::{BenchmarkResult, Run};

use super::lines::dtype_paint;
use super::{axis, range, slug};
use crate::chart::{Chart, ChartPlace, DASHES, Dataset, DatasetKind, Legend, Paint, Point};
use crate::label::{benchmark_of, device_of, measured_results};
use crate::number::format_quantity;

struct Work<'a> {
    benchmark: &'a str,
    intensity: f64,
    gflops: f64,
    peak: Option<f64>,
    result: &'a BenchmarkResult,
}

/// Memory bandwidth limit and its origin.
struct MemoryRoof {
    gb_s: f64,
    how: &'static str,
}

impl MemoryRoof {
    /// Returns the arithmetic intensity from which `peak` is the limit instead of the memory
    /// bandwidth, clamped to `bounds`.
    fn ridge(&self, peak: f64, bounds: [f64; 2]) -> f64 {
        (peak / self.gb_s).clamp(bounds[0], bounds[1])
    }
}

/// Returns a chart for each device and thread count with cases whose arithmetic intensity is known.
pub fn roofline(run: &Run) -> Vec<Chart> {
    let devices = measured_results(run).map(device).unique();
    devices.filter_map(|device| chart(run, &device)).collect()
}

/// Returns the device and its number of CPU threads, which together determine the roofs.
fn device(result: &BenchmarkResult) -> String {
    let device = device_of(&result.benchmark_id)
        .map_or_else(|| "the device".to_owned(), |device| device.to_string());
    match number(result, "threads") {
        Some(threads) if threads > 1.0 => format!("{device}, {threads} threads"),
        _ => device,
    }
}

fn number(result: &BenchmarkResult, name: &str) -> Option<f64> {
    result.fields()?.number(name).filter(|value| value.is_finite() && *value > 0.0)
}

fn results_on<'a>(run: &'a Run, wanted: &str) -> impl Iterator<Item = &'a BenchmarkResult> {
    measured_results(run).filter(move |result| device(result) == wanted)
}

fn work(result: &BenchmarkResult) -> Option<Work<'_>> {
    let intensity = number(result, "arithmetic_intensity")?;
    Some(Work {
        benchmark: benchmark_of(result),
        intensity,
        gflops: gflops(result, intensity)?,
        peak: number(result, "peak_gflops"),
        result,
    })
}

/// Returns the rate of operations. If none is recorded, multiplies the byte rate by the operations
/// per byte.
fn gflops(result: &BenchmarkResult, intensity: f64) -> Option<f64> {
    if let Some(rate) = number(result, "gflops") {
        return Some(rate);
    }
    if let Some(rate) = number(result, "tflops") {
        return Some(rate * 1e3);
    }
    let bytes = number(result, "throughput_gb_s").or_else(|| number(result, "bandwidth_gb_s"))?;
    Some(intensity * bytes)
}

/// Returns the recorded peak bandwidth of the hardware, or the highest bandwidth measured at the
/// largest size if none is recorded.
fn memory_roof(run: &Run, wanted: &str) -> Option<MemoryRoof> {
    let known = results_on(run, wanted)
        .filter_map(|result| number(result, "peak_bandwidth_gb_s"))
        .reduce(f64::max);
    if let Some(gb_s) = known {
        return Some(MemoryRoof { gb_s, how: "the peak of the hardware" });
    }
    let rates: Vec<(f64, f64)> = results_on(run, wanted)
        .filter(|result| benchmark_of(result) == "memory-bandwidth")
        .filter_map(|result| {
            Some((number(result, "size_bytes")?, number(result, "bandwidth_gb_s")?))
        })
        .collect();
    let largest = rates.iter().map(|(size, _)| *size).reduce(f64::max)?;
    let at_largest = rates.iter().filter(|(size, _)| *size >= largest);
    let best = at_largest.map(|(_, rate)| *rate).reduce(f64::max)?;
    Some(MemoryRoof { gb_s: best, how: "the best measured at the largest size" })
}

fn chart(run: &Run, device: &str) -> Option<Chart> {
    let works: Vec<Work<'_>> = results_on(run, device).filter_map(work).collect();
    let memory = memory_roof(run, device);
    let peaks = peaks(&works);
    let peak = peaks.iter().map(|roof| roof.gflops).reduce(f64::max);
    let intensities = range(works.iter().map(|work| work.intensity))?;
    let rates = range(works.iter().map(|work| work.gflops))?;
    // A roofline needs at least one limit.
    let ridge = peak.zip(memory.as_ref()).map(|(peak, memory)| peak / memory.gb_s);
    if peak.is_none() && memory.is_none() {
        return None;
    }
    let x_axis = axis::powers_of_ten(
        "operations per byte",
        ridge.map_or(intensities.0, |ridge| ridge.min(intensities.0)) / 1.5,
        ridge.map_or(intensities.1, |ridge| ridge.max(intensities.1)) * 1.5,
    );
    let low = memory.as_ref().map_or(rates.0, |memory| rates.0.min(memory.gb_s * x_axis.bounds[0]));
    let y_axis = axis::powers_of_ten("GFLOP/s", low, 1.3 * peak.unwrap_or(0.0).max(rates.1));
    let mut datasets = roofs(&x_axis, memory.as_ref(), &peaks);
    datasets.extend(marks(&works));
    Some(Chart {
        name: slug(&format!("roofline-{device}")),
        title: title(device, &works, memory.as_ref()),
        subtitle: subtitle(memory.as_ref(), peak),
        place: ChartPlace::Other,
        x_axis,
        y_axis,
        datasets,
        legend_position: Legend::Below,
    })
}

fn dtype_of<'a>(work: &Work<'a>) -> &'a str {
    work.result.fields().and_then(|fields| fields.text("dtype")).unwrap_or("any type")
}

/// A limit of arithmetic, and the data types that share it.
struct ComputeRoof<'a> {
    gflops: f64,
    dtypes: Vec<&'a str>,
}

/// Returns the highest recorded peak for each data type, highest first: matrix units are several
/// times faster in bf16 than in f32. Equal peaks are one roof.
fn peaks<'a>(works: &[Work<'a>]) -> Vec<ComputeRoof<'a>> {
    let mut peaks: Vec<(&str, f64)> = Vec::new();
    for work in works {
        let Some(peak) = work.peak else { continue };
        match peaks.iter_mut().find(|(dtype, _)| *dtype == dtype_of(work)) {
            Some((_, known)) => *known = known.max(peak),
            None => peaks.push((dtype_of(work), peak)),
        }
    }
    peaks.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut roofs: Vec<ComputeRoof<'a>> = Vec::new();
    for (dtype, gflops) in peaks {
        match roofs.last_mut() {
            Some(roof) if gflops > roof.gflops * SAME_ROOF => roof.dtypes.push(dtype),
            _ => roofs.push(ComputeRoof { gflops, dtypes: vec![dtype] }),
        }
    }
    roofs
}

/// Percentage of a roof from which it does not limit a case.
const MOST_SHARE: f64 = 103.0;

/// Share of a roof from which another roof is drawn as the same.
const SAME_ROOF: f64 = 0.99;

/// Names the case that comes closest to the roof above it.
fn title(device: &str, works: &[Work<'_>], memory: Option<&MemoryRoof>) -> String {
    let shares = works.iter().filter_map(|work| {
        let slope = memory.map_or(f64::INFINITY, |memory| memory.gb_s * work.intensity);
        let roof = work.peak.unwrap_or(f64::INFINITY).min(slope);
        let share = 100.0 * work.gflops / roof;
        // Data in a cache is faster than the memory roof, which says nothing about such a case.
        (share < MOST_SHARE).then_some((work, share))
    });
    match shares.max_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((work, share)) => {
            let case = work.result.benchmark_id.parts().map_or("", |parts| parts.point);
            format!("{} {case} reaches {share:.0} % of its roof on {device}", work.benchmark)
        }
        None => format!("Roofline of {device}"),
    }
}

fn subtitle(memory: Option<&MemoryRoof>, peak: Option<f64>) -> String {
    let memory = memory.map(|memory| format!("memory roof: {}", memory.how));
    let peak = peak.map(|_| "arithmetic roofs: recorded with the cases".to_owned());
    [memory, peak].into_iter().flatten().join("; ")
}

/// Returns the memory slope up to the highest compute roof, and the flat roofs.
fn roofs(
    x_axis: &crate::chart::Axis,
    memory: Option<&MemoryRoof>,
    peaks: &[ComputeRoof<'_>],
) -> Vec<Dataset> {
    let [first, last] = x_axis.bounds;
    let mut roofs: Vec<(String, [Point; 2])> = Vec::new();
    if let Some(memory) = memory {
        let end = peaks.first().map_or(last, |peak| memory.ridge(peak.gflops, x_axis.bounds));
        let name = format!("memory, {}", format_quantity(memory.gb_s, "GB/s"));
        let ends = [first, end].map(|at| Point::at(at, at * memory.gb_s));
        roofs.push((name, ends));
    }
    for ComputeRoof { gflops, dtypes } in peaks {
        let start = memory.map_or(first, |memory| memory.ridge(*gflops, x_axis.bounds));
        let name = format!("{}, {}", dtypes.join(" and "), format_quantity(*gflops, "GFLOP/s"));
        roofs.push((name, [start, last].map(|at| Point::at(at, *gflops))));
    }
    let datasets = roofs.into_iter().enumerate().map(|(index, (name, [from, to]))| {
        let kind = DatasetKind::Roof { dash: index % DASHES };
        let paint = if index == 0 && memory.is_some() { Paint::DeviceCopy } else { Paint::Bad };
        let to = to.saying(name.as_str());
        Dataset::new(kind, paint, vec![from, to]).with_name(name)
    });
    datasets.collect()
}

/// Returns a dataset for each benchmark, or for each data type if there is only one benchmark. Each
/// point is labeled with its case; drawing omits labels that would overlap others.
fn marks(works: &[Work<'_>]) -> Vec<Dataset> {
    let one = works.iter().map(|work| work.benchmark).all_equal();
    let mut datasets: Vec<Dataset> = Vec::new();
    let mut others = 0;
    for work in works {
        let name = if one { dtype_of(work) } else { work.benchmark }.to_owned();
        let case = work.result.benchmark_id.parts().map_or("", |parts| parts.point);
        let point = Point::at(work.intensity, work.gflops).saying(case);
        if let Some(known) = datasets.iter_mut().find(|known| known.name == name) {
            known.points.push(point);
            continue;
        }
        let paint = dtype_paint(&name).filter(|_| one).unwrap_or_else(|| {
            others += 1;
            Paint::Series(others - 1)
        });
        datasets.push(Dataset::new(DatasetKind::Marks, paint, vec![point]).with_name(name));
    }
    datasets
}

#[cfg(test)]
mod tests {
    use rsb_model::Fields;

    use super::*;
    use crate::sample;

    #[test]
    fn equal_roofs_are_one_and_others_have_dashes_of_their_own() {
        let mut run = sample::run();
        run.benchmarks.retain(|result| result.category.as_deref() == Some("gemm"));
        run.benchmarks.truncate(3);
        for (result, (dtype, peak)) in
            run.benchmarks.iter_mut().zip([("f32", 100.0), ("f16", 100.2), ("f64", 50.0)])
        {
            result.benchmark_id = format!("cpu_performance/gemm/cpu:0/{dtype}").parse().unwrap();
            let fields = Fields::new().with("dtype", dtype).with("arithmetic_intensity", 20.0);
            result.results = vec![fields.with("gflops", 45.0).with("peak_gflops", peak)];
        }
        let chart = roofline(&run).remove(0);
        let roofs: Vec<(&str, DatasetKind)> = chart
            .datasets
            .iter()
            .filter(|set| matches!(set.kind, DatasetKind::Roof { .. }))
            .map(|set| (set.name.as_str(), set.kind))
            .collect();
        assert_eq!(
            roofs,
            [
                ("f16 and f32, 100 GFLOP/s", DatasetKind::Roof { dash: 0 }),
                ("f64, 50.0 GFLOP/s", DatasetKind::Roof { dash: 1 }),
            ]
        );
        assert_eq!(chart.title, "gemm f64 reaches 90 % of its roof on cpu:0");
    }
}
