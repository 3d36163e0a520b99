//! Memory-bound cases, by the roofline of their device: its rated or measured memory bandwidth, its
//! highest measured arithmetic rate, and the operations per byte of each case.

use std::collections::BTreeMap;

use rsb_model::record::Recommendation;
use rsb_model::unit::figure;
use rsb_model::{BenchmarkResult, Fields, Outcome, Run};

/// Minimum share of the bandwidth at which a case counts as memory bound; below it, something else
/// takes the time.
const MIN_BANDWIDTH_SHARE: f64 = 0.6;

/// Maximum share of the bandwidth. A share slightly above 1 may be measurement error; higher ones
/// come from caches.
const MAX_BANDWIDTH_SHARE: f64 = 1.1;

const NAMED: usize = 3;

/// Maximum memory bandwidth.
struct Bandwidth<'r> {
    gb_s: f64,
    /// Result that contains the value.
    of: &'r BenchmarkResult,
    is_stated: bool,
}

struct Bound<'r> {
    result: &'r BenchmarkResult,
    intensity: f64,
    gb_s: f64,
    share: f64,
    /// Highest rate of its data type in GFLOP/s, and the operations per byte from which on that
    /// rate is the limit.
    peak_gflops: f64,
    ridge: f64,
}

/// Returns advice about memory-bound cases of `run`, per device and data type.
pub(crate) fn memory_bound(run: &Run) -> Vec<Recommendation> {
    let mut devices: BTreeMap<String, Vec<(&BenchmarkResult, &Fields)>> = BTreeMap::new();
    for result in run.benchmarks.iter().filter(|result| result.outcome == Outcome::Measured) {
        let fields = result.fields().map(|fields| (result, fields));
        devices.entry(result.benchmark_id.device().to_string()).or_default().extend(fields);
    }
    let each = devices.iter().flat_map(|(device, results)| {
        let Some(bandwidth) = bandwidth(results) else { return Vec::new() };
        let mut types: BTreeMap<&str, Vec<Bound<'_>>> = BTreeMap::new();
        for (dtype, bound) in results.iter().filter_map(|case| bound(case, results, &bandwidth)) {
            types.entry(dtype).or_default().push(bound);
        }
        types
            .into_iter()
            .map(|(dtype, cases)| recommend(device, dtype, cases, &bandwidth))
            .collect()
    });
    each.collect()
}

/// Returns the bandwidth from the data sheet if it is known, or else the highest one over the
/// largest arrays, because smaller ones fit in caches.
fn bandwidth<'r>(results: &[(&'r BenchmarkResult, &'r Fields)]) -> Option<Bandwidth<'r>> {
    let stated = results.iter().filter_map(|&(of, fields)| {
        Some(Bandwidth { gb_s: fields.number("peak_bandwidth_gb_s")?, of, is_stated: true })
    });
    let mut arrays = Vec::new();
    for &(of, fields) in results {
        if of.benchmark_id.benchmark() != Some("memory-bandwidth") {
            continue;
        }
        let Some(size) = fields.number("size_bytes") else { continue };
        let Some(gb_s) = fields.number("bandwidth_gb_s") else { continue };
        arrays.push((size, Bandwidth { gb_s, of, is_stated: false }));
    }
    let (least, largest) = arrays
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(a, b), (size, _)| (a.min(*size), b.max(*size)));
    // If there is only one size, it is unknown whether the arrays exceed the caches.
    let measured = arrays
        .into_iter()
        .filter(|(size, _)| least < largest && *size >= largest)
        .map(|(_, found)| found);
    stated
        .max_by(|a, b| a.gb_s.total_cmp(&b.gb_s))
        .or_else(|| measured.max_by(|a, b| a.gb_s.total_cmp(&b.gb_s)))
        .filter(|found| found.gb_s > 0.0)
}

/// Returns the data type of a case and its position on the roofline, if it is memory bound.
fn bound<'r>(
    case: &(&'r BenchmarkResult, &'r Fields),
    results: &[(&'r BenchmarkResult, &'r Fields)],
    bandwidth: &Bandwidth<'_>,
) -> Option<(&'r str, Bound<'r>)> {
    let &(result, fields) = case;
    let intensity = fields.number("arithmetic_intensity").filter(|intensity| *intensity > 0.0)?;
    let dtype = fields.text("dtype")?;
    let of_type = results.iter().filter(|(_, fields)| fields.text("dtype") == Some(dtype));
    let peaks = of_type
        .filter_map(|(_, fields)| fields.number("peak_gflops").or_else(|| fields.number("gflops")));
    let peak_gflops = peaks.max_by(f64::total_cmp)?;
    let ridge = peak_gflops / bandwidth.gb_s;
    let gb_s =
        fields.number("throughput_gb_s").or_else(|| Some(fields.number("gflops")? / intensity))?;
    let share = gb_s / bandwidth.gb_s;
    let is_bound =
        intensity < ridge && (MIN_BANDWIDTH_SHARE..=MAX_BANDWIDTH_SHARE).contains(&share);
    is_bound.then_some((dtype, Bound { result, intensity, gb_s, share, peak_gflops, ridge }))
}

fn recommend(
    device: &str,
    dtype: &str,
    mut cases: Vec<Bound<'_>>,
    bandwidth: &Bandwidth<'_>,
) -> Recommendation {
    cases.sort_by(|a, b| b.share.total_cmp(&a.share));
    let named: Vec<String> = cases.iter().take(NAMED).map(describe_case).collect();
    let more = cases.len().saturating_sub(NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    // All cases of a type have the same roof.
    let (peak, ridge) = cases.first().map_or((0.0, 0.0), |case| (case.peak_gflops, case.ridge));
    let from = if bandwidth.is_stated { "by its data sheet" } else { "measured" };
    Recommendation {
        action: format!(
            "reduce the memory traffic of the memory-bound {dtype} cases on {device}: fuse them \
             with the operations before or after, or use a smaller type; faster arithmetic does \
             not help there"
        ),
        evidence: format!(
            "memory moves {} GB/s ({from}, {}), arithmetic does {} GFLOP/s in {dtype}, so memory \
             is the limit below {} operations per byte; {}{more}",
            figure(bandwidth.gb_s),
            bandwidth.of.benchmark_id,
            figure(peak),
            figure(ridge),
            named.join("; ")
        ),
    }
}

fn describe_case(case: &Bound<'_>) -> String {
    format!(
        "{} has {} operations per byte and moves {} GB/s ({:.0} %)",
        case.result.benchmark_id,
        figure(case.intensity),
        figure(case.gb_s),
        100.0 * case.share
    )
}

#[cfg(test)]
mod tests {
    use rsb_model::{CaseId, DeviceType, Environment, RunId, Timestamp};

    use super::*;

    fn case(name: &str, fields: Fields) -> BenchmarkResult {
        let (benchmark, point) = name.split_once('/').unwrap();
        BenchmarkResult {
            device_type: Some(DeviceType::Cpu),
            results: vec![fields.with("dtype", "f32")],
            ..BenchmarkResult::new(
                CaseId::from_segments(&["cpu_performance", benchmark, "cpu:0", point]),
                Timestamp::UNIX_EPOCH,
                Outcome::Measured,
            )
        }
    }

    fn array(name: &str, mebibytes: u64, gb_s: f64) -> BenchmarkResult {
        case(name, Fields::new().with("size_bytes", mebibytes << 20).with("bandwidth_gb_s", gb_s))
    }

    fn elementwise(name: &str, intensity: f64, gb_s: f64) -> BenchmarkResult {
        case(
            name,
            Fields::new().with("arithmetic_intensity", intensity).with("throughput_gb_s", gb_s),
        )
    }

    fn product(intensity: f64, gflops: f64) -> BenchmarkResult {
        case(
            "gemm/x",
            Fields::new()
                .with("arithmetic_intensity", intensity)
                .with("gflops", gflops)
                .with("peak_gflops", 100.0),
        )
    }

    fn advice(benchmarks: Vec<BenchmarkResult>) -> Vec<Recommendation> {
        let begun = Run::begin(
            RunId("r".to_owned()),
            Timestamp::UNIX_EPOCH,
            "quick",
            "quick",
            Environment::default(),
        );
        memory_bound(&Run { benchmarks, ..begun })
    }

    #[test]
    fn what_memory_holds_back_is_told_with_its_figures() {
        let found = advice_beside_arrays(vec![
            product(50.0, 90.0),
            elementwise("tensor-ops/add", 0.1, 20.0),
            elementwise("tensor-ops/gelu", 1.0, 10.0),
            elementwise("tensor-ops/cached", 0.1, 120.0),
        ]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].evidence,
            "memory moves 25 GB/s (measured, cpu_performance/memory-bandwidth/cpu:0/large), \
             arithmetic does 100 GFLOP/s in f32, \
             so memory is the limit below 4 operations per byte; \
             cpu_performance/tensor-ops/cpu:0/add has 0.1 operations per byte \
             and moves 20 GB/s (80 %)"
        );
        // A product with few operations per byte, judged by the bytes that its rate implies.
        assert!(
            advice_beside_arrays(vec![product(2.0, 45.0)])[0]
                .evidence
                .contains("has 2 operations per byte and moves 22.5 GB/s (90 %)")
        );
        let many =
            (0..5).map(|at| elementwise(&format!("tensor-ops/{at}"), 0.1, 16.0 + f64::from(at)));
        assert!(
            advice_beside_arrays(many.chain([product(50.0, 90.0)]).collect())[0]
                .evidence
                .ends_with("/2 has 0.1 operations per byte and moves 18 GB/s (72 %); and 2 more")
        );
    }

    /// Returns the advice for small and large arrays and `more` cases.
    fn advice_beside_arrays(more: Vec<BenchmarkResult>) -> Vec<Recommendation> {
        let mut all = vec![
            array("memory-bandwidth/small", 1, 200.0),
            array("memory-bandwidth/large", 64, 25.0),
        ];
        all.extend(more);
        advice(all)
    }

    fn add() -> BenchmarkResult {
        elementwise("tensor-ops/add", 0.1, 20.0)
    }

    #[test]
    fn without_a_roof_nothing_is_said() {
        let one_size =
            vec![array("memory-bandwidth/a", 64, 25.0), array("memory-bandwidth/b", 64, 24.0)];
        assert_eq!(advice(vec![add(), product(50.0, 90.0)]), []);
        assert_eq!(advice(one_size.into_iter().chain([add(), product(50.0, 90.0)]).collect()), []);
        let no_rate = vec![
            array("memory-bandwidth/a", 1, 99.0),
            array("memory-bandwidth/b", 64, 25.0),
            add(),
        ];
        assert_eq!(advice(no_rate), []);
        let stated = case("memory-transfer/x", Fields::new().with("peak_bandwidth_gb_s", 25.0));
        let mut simulated = add();
        simulated.outcome = Outcome::Simulated;
        assert_eq!(advice(vec![stated.clone(), simulated, product(50.0, 90.0)]), []);
        assert!(
            advice(vec![stated, add(), product(50.0, 90.0)])[0]
                .evidence
                .contains("by its data sheet")
        );
    }
}
