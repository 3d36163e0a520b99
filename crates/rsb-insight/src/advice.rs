//! Recommendations based on stored runs, each with its evidence. Pure, and independent of the
//! current machine: runs from another machine or from last year can be analyzed as well.

mod roofline;

use std::collections::BTreeMap;

use itertools::Itertools as _;
use rsb_model::gpu::Gpu;
use rsb_model::record::Recommendation;
use rsb_model::telemetry::{self, GpuTelemetry};
use rsb_model::{
    BackendId, BenchmarkResult, BenchmarkType, CaseDevice, DeviceRef, Fields, Fingerprint, Outcome,
    Reason, Run,
};
use rsb_probe::doctor;

use roofline::memory_bound;

/// Minimum utilization of the memory unit at which it counts as the bottleneck of a kernel.
const MEMORY_BUSY_PERCENT: f64 = 80.0;
/// Minimum occupancy that usually hides memory latency.
const LOW_OCCUPANCY_PERCENT: f64 = 50.0;
/// Share of a link's rated bandwidth, in percent, below which large pinned copies count as slow.
const SLOW_LINK_PERCENT: f64 = 60.0;
/// Minimum size of a copy that shows a link's bandwidth.
const LARGE_COPY_BYTES: f64 = 16.0 * 1024.0 * 1024.0;
const NAMED: usize = 3;

fn advise(action: impl Into<String>, evidence: impl Into<String>) -> Recommendation {
    Recommendation { action: action.into(), evidence: evidence.into() }
}

/// Returns advice about the machine of `run`, compared with `earlier` runs on it.
pub fn of_machine(run: &Run, earlier: &[Run]) -> Vec<Recommendation> {
    let warnings = run.environment.state.iter().flat_map(|state| &state.warnings).map(|warning| {
        let (evidence, action) =
            split_warning(warning).unwrap_or((warning, "check it before the next run"));
        advise(action, at_start(run, evidence))
    });
    let gpus: &[Gpu] = &run.environment.gpus;
    let limits = doctor::limits(gpus).into_iter().filter_map(|finding| {
        let evidence = at_start(run, &format!("{}: {}", finding.what, finding.why));
        Some(advise(finding.cure?, evidence))
    });
    warnings.chain(limits).chain(older_software(run, earlier)).collect()
}

fn at_start(run: &Run, observation: &str) -> String {
    format!("at the start of {}: {observation}", run.run_id)
}

/// Returns advice about `run`: its machine, as [`of_machine`], and its cases.
pub fn of_run(run: &Run, earlier: &[Run]) -> Vec<Recommendation> {
    let mut found = of_machine(run, earlier);
    found.extend(held_back(run));
    found.extend(disturbances(run));
    found.extend(slow_link(run));
    found.extend(memory_bound(run));
    found.extend(memory_busy(run));
    found.extend(low_occupancy(run));
    found.extend(missing(run));
    found
}

/// Splits a warning of the form `observation; action`.
fn split_warning(warning: &str) -> Option<(&str, &str)> {
    warning.split_once("; ")
}

/// Returns the measured cases, each with its fields.
fn measured_cases(run: &Run) -> impl Iterator<Item = (&BenchmarkResult, &Fields)> {
    run.benchmarks
        .iter()
        .filter(|result| result.outcome == Outcome::Measured)
        .filter_map(|result| Some((result, result.fields()?)))
}

/// Returns a short name such as `gemm rocm:0/f16/64x64x64`.
fn name(result: &BenchmarkResult) -> String {
    let id = &result.benchmark_id;
    id.parts().map_or_else(|| id.to_string(), |parts| format!("{} {}", parts.benchmark, parts.case))
}

fn cases(count: usize) -> String {
    format!("{count} {}", if count == 1 { "case" } else { "cases" })
}

/// Joins the findings; only the first ones are written out.
fn evidence(found: &[String]) -> String {
    let shown = found.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
    match found.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

/// Returns advice about software that is older in `run` than in an earlier run.
fn older_software(run: &Run, earlier: &[Run]) -> Vec<Recommendation> {
    let now = Fingerprint::of(&run.environment).factors;
    let mut newest: BTreeMap<String, (Version, String, &Run)> = BTreeMap::new();
    for run in earlier {
        for (field, text) in Fingerprint::of(&run.environment).factors {
            let Some(version) = Version::of(&text) else { continue };
            let is_newer =
                newest.get(&field).is_none_or(|(known, ..)| version.is_newer_than(known));
            if is_newer {
                newest.insert(field, (version, text, run));
            }
        }
    }
    let older = newest.into_iter().filter_map(|(field, (version, text, before))| {
        let own = now.get(&field)?;
        version.is_newer_than(&Version::of(own)?).then(|| {
            advise(
                format!("install {field} {text} again, or save a new baseline"),
                format!("{field} is {own} in {} and was {text} in {}", run.run_id, before.run_id),
            )
        })
    });
    older.collect()
}

/// A version such as `6.3`, or `amdgpu 6.3`.
struct Version {
    name: String,
    numbers: Vec<u64>,
}

impl Version {
    fn of(text: &str) -> Option<Self> {
        let (name, number) = text.rsplit_once(' ').unwrap_or(("", text));
        let numbers = number.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        Some(Self { name: name.to_owned(), numbers })
    }

    /// Returns whether this version is newer. Versions of different drivers are not comparable.
    fn is_newer_than(&self, other: &Self) -> bool {
        self.name == other.name && self.numbers > other.numbers
    }
}

/// Returns advice if GPUs were throttled while cases were measured on them.
fn held_back(run: &Run) -> Option<Recommendation> {
    let all: Vec<&BenchmarkResult> =
        run.benchmarks.iter().filter(|result| has_throttled_replicates(result)).collect();
    let first = all.first()?;
    let known: Vec<GpuTelemetry> = all
        .iter()
        .flat_map(|result| telemetry::of_replicates(&result.metadata))
        .flatten()
        .collect();
    let reasons = known
        .iter()
        .flat_map(|one| &one.throttle_reasons)
        .map(String::as_str)
        .sorted_unstable()
        .dedup()
        .collect_vec();
    let by = if reasons.is_empty() { String::new() } else { format!(" by {}", reasons.join(", ")) };
    let hottest =
        known.iter().filter_map(|one| one.temperature_c).map(|spread| spread.max).reduce(f64::max);
    let hottest = hottest
        .map_or_else(String::new, |celsius| format!("; the hottest reading was {celsius:.0} °C"));
    Some(advise(
        "improve the cooling or raise the power limit, and measure again: these values are below \
         what the GPU can reach",
        format!(
            "the GPU was throttled{by} in {}, {} the first{hottest}",
            cases(all.len()),
            name(first)
        ),
    ))
}

fn has_throttled_replicates(result: &BenchmarkResult) -> bool {
    let replicates = result.metadata.get("throttled_replicates").and_then(|value| value.as_array());
    replicates.is_some_and(|replicates| !replicates.is_empty())
}

fn disturbances(run: &Run) -> Vec<Recommendation> {
    let notes = run.case_notes().into_iter().filter_map(|note| {
        let (seen, action) = split_warning(&note.worst)?;
        let extent = if note.varies { "the worst of" } else { "in" };
        Some(advise(action, format!("{seen} ({extent} {})", cases(note.cases))))
    });
    notes.collect()
}

/// Returns advice about links that are slower than rated, by the best of the large copies from and
/// to pinned memory.
fn slow_link(run: &Run) -> Option<Recommendation> {
    let mut best: BTreeMap<String, (f64, &BenchmarkResult, &Fields)> = BTreeMap::new();
    for (result, fields) in measured_cases(run).filter(|(_, fields)| is_large_copy(fields)) {
        let Some(percent) = fields.number("link_percent") else { continue };
        let route = [fields.text("operation"), fields.text("memory_tier")]
            .into_iter()
            .flatten()
            .collect::<String>();
        let key = format!("{:?} {route}", result.benchmark_id.device());
        if best.get(&key).is_none_or(|(known, ..)| percent > *known) {
            best.insert(key, (percent, result, fields));
        }
    }
    let slow = best.into_values().filter(|(percent, ..)| *percent < SLOW_LINK_PERCENT);
    let findings: Vec<String> = slow
        .filter_map(|(percent, result, fields)| {
            let (rate, link) = fields.number("bandwidth_gb_s").zip(fields.number("link_gb_s"))?;
            Some(format!(
                "{}: {rate:.1} GB/s, {percent:.0} % of the {link:.1} GB/s that the link can carry",
                name(result)
            ))
        })
        .collect();
    (!findings.is_empty()).then(|| {
        let action = "check the link under load with `rusty-stack-bench doctor`, use the slot next \
                      to the CPU, and check risers";
        advise(action, evidence(&findings))
    })
}

/// Returns whether a copy is large enough to show the link's bandwidth, and not from pageable
/// memory.
fn is_large_copy(fields: &Fields) -> bool {
    fields.number("size_bytes").is_some_and(|bytes| bytes >= LARGE_COPY_BYTES)
        && fields.text("host_memory").is_none_or(|memory| memory == "pinned")
}

/// Returns advice about kernels that keep the memory unit busy, according to a profiler.
fn memory_busy(run: &Run) -> Option<Recommendation> {
    let mut busy_cases: Vec<String> = Vec::new();
    for (result, fields) in measured_cases(run) {
        let Some(busy) = fields.number("memory_busy_percent") else { continue };
        if busy >= MEMORY_BUSY_PERCENT {
            busy_cases.push(format!(
                "{}: the memory unit was busy {busy:.0} % of the time",
                name(result)
            ));
        }
    }
    if busy_cases.is_empty() {
        return None;
    }
    Some(advise(
        "reduce the memory traffic of these kernels: faster arithmetic does not help there",
        evidence(&busy_cases),
    ))
}

/// Returns advice about kernels with low occupancy. The `occupancy` benchmark has some on purpose.
fn low_occupancy(run: &Run) -> Option<Recommendation> {
    let mut found: Vec<(f64, String)> = Vec::new();
    for (result, fields) in measured_cases(run) {
        let percent = fields
            .number("measured_occupancy_percent")
            .or_else(|| calculated_occupancy(result, fields))
            .filter(|percent| *percent < LOW_OCCUPANCY_PERCENT);
        let Some(percent) = percent else { continue };
        let needs = [
            ("registers", "registers per thread"),
            ("shared_bytes", "bytes of shared memory per block"),
        ];
        let needs = needs
            .iter()
            .filter_map(|(field, what)| Some(format!(", {:.0} {what}", fields.number(field)?)));
        let (name, needs) = (name(result), needs.collect::<String>());
        let text = format!("{name}: {percent:.0} % of the possible waves are resident{needs}");
        found.push((percent, text));
    }
    found.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let findings: Vec<String> = found.into_iter().map(|(_, text)| text).collect();
    (!findings.is_empty()).then(|| {
        let action =
            "try blocks of another size, fewer registers or less shared memory, so that more waves \
             hide the latency";
        advise(action, evidence(&findings))
    })
}

/// Returns the occupancy computed from the kernel's resources, except for `occupancy`, which varies
/// it on purpose.
fn calculated_occupancy(result: &BenchmarkResult, fields: &Fields) -> Option<f64> {
    if result.category.as_deref() == Some("occupancy") {
        return None;
    }
    fields.number("occupancy_percent")
}

/// Returns advice about missing software for the installed hardware and the requested components.
fn missing(run: &Run) -> Vec<Recommendation> {
    let mut reasons: Vec<(&Reason, usize)> = Vec::new();
    for result in &run.benchmarks {
        if result.outcome != Outcome::Skipped || !is_called_for(result, run) {
            continue;
        }
        let Some(reason) = &result.reason else { continue };
        match reasons.iter_mut().find(|(known, _)| known.cure == reason.cure) {
            Some((_, count)) => *count += 1,
            None => reasons.push((reason, 1)),
        }
    }
    let advice = reasons.into_iter().map(|(reason, count)| {
        advise(
            reason.cure.clone(),
            format!("{} skipped: {}: {}", cases(count), reason.what, reason.why),
        )
    });
    advice.collect()
}

/// Returns whether a skipped case is relevant on this machine; a driver for an absent GPU need not
/// be installed.
fn is_called_for(result: &BenchmarkResult, run: &Run) -> bool {
    let gpus = &run.environment.gpus;
    match result.benchmark_id.device() {
        _ if result.benchmark_type == BenchmarkType::ComponentSpecific => true,
        CaseDevice::Device(device) => device != DeviceRef::CPU,
        CaseDevice::Backend(BackendId::Rocm) => gpus.iter().any(Gpu::is_amd),
        CaseDevice::Backend(BackendId::Cuda) => gpus.iter().any(|gpu| has_pci_vendor(gpu, "10de:")),
        CaseDevice::Backend(BackendId::Oneapi) => {
            gpus.iter().any(|gpu| has_pci_vendor(gpu, "8086:"))
        }
        CaseDevice::Backend(_) => !gpus.is_empty(),
        CaseDevice::None => false,
    }
}

fn has_pci_vendor(gpu: &Gpu, vendor: &str) -> bool {
    gpu.pci_id.as_deref().is_some_and(|id| id.starts_with(vendor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::environment::{MachineState, PcieLink};
    use rsb_model::{Environment, RunId, Timestamp};
    use serde_json::json;

    fn run(benchmarks: Vec<BenchmarkResult>) -> Run {
        let run = Run::begin(
            RunId("now".into()),
            Timestamp::UNIX_EPOCH,
            "quick",
            "quick",
            Environment::default(),
        );
        Run { benchmarks, ..run }
    }

    fn case(id: &str, fields: &Fields) -> BenchmarkResult {
        let record = json!({
            "benchmark_id": format!("gpu_performance/{id}"), "timestamp": "2026-11-23T00:00:00Z",
            "benchmark_type": BenchmarkType::GpuPerformance, "category": id.split('/').next(), "results": [fields]
        });
        serde_json::from_value(record).unwrap()
    }

    fn only(advice: &[Recommendation]) -> &str {
        match advice {
            [one] => &one.evidence,
            several => panic!("{several:?}"),
        }
    }

    #[test]
    fn a_figure_within_its_limits_is_no_advice_and_one_beyond_them_is_told() {
        for (good, bad, told) in [
            (
                kernel("triton", occupancy(75.0)),
                kernel("triton", occupancy(25.0)),
                "25 % of the possible waves are resident, 128 registers",
            ),
            (
                kernel("occupancy", occupancy(25.0)),
                kernel("occupancy", Fields::new().with("measured_occupancy_percent", 20.0)),
                "20 % of the possible waves",
            ),
            (copy(80.0, "pinned"), copy(25.4, "pinned"), "8.0 GB/s, 25 % of the 31.5 GB/s"),
            (
                kernel("occupancy", Fields::new().with("memory_busy_percent", 20.0)),
                kernel("occupancy", Fields::new().with("memory_busy_percent", 93.0)),
                "93 % of the time",
            ),
        ] {
            assert_eq!(of_run(&run(vec![good]), &[]), []);
            let advice = of_run(&run(vec![bad]), &[]);
            assert!(only(&advice).contains(told), "{advice:?}");
        }
        // Copies from pageable memory do not show the link's bandwidth; of several copies the best
        // one counts.
        assert_eq!(of_run(&run(vec![copy(10.0, "pageable")]), &[]), []);
        assert_eq!(of_run(&run(vec![copy(25.0, "pinned"), copy(90.0, "pinned")]), &[]), []);
        let simulated = BenchmarkResult { outcome: Outcome::Simulated, ..copy(25.0, "pinned") };
        assert_eq!(of_run(&run(vec![simulated]), &[]), []);
    }

    fn kernel(name: &str, fields: Fields) -> BenchmarkResult {
        case(&format!("{name}/rocm:0/add"), &fields.with("registers", 128))
    }

    fn copy(percent: f64, memory: &str) -> BenchmarkResult {
        let fields = Fields::new()
            .with("link_percent", percent)
            .with("link_gb_s", 31.5)
            .with("bandwidth_gb_s", 8.0);
        case(
            "memory-transfer/rocm:0/h2d/64MiB",
            &fields.with("size_bytes", 64 << 20).with("host_memory", memory),
        )
    }

    fn occupancy(percent: f64) -> Fields {
        Fields::new().with("occupancy_percent", percent)
    }

    #[test]
    fn what_held_a_gpu_back_is_told_once_for_all_cases() {
        let mut hot = case("gemm/rocm:0/f16", &Fields::new());
        let telemetry = GpuTelemetry {
            throttled: Some(true),
            throttle_reasons: vec!["power limit".into()],
            temperature_c: rsb_model::telemetry::Spread::of([Some(97.0)]),
            ..GpuTelemetry::default()
        };
        hot.metadata.insert("throttled_replicates".into(), json!([0]));
        hot.metadata.insert("telemetry".into(), json!([telemetry, null]));
        let loud =
            "the load average reached 9 on 2 threads: other work ran; stop it and measure again";
        hot.metadata.insert("notes".into(), json!([loud, "something without advice"]));
        let advice = of_run(&run(vec![hot.clone(), hot]), &[]);
        assert_eq!(
            advice[0].evidence,
            "the GPU was throttled by power limit in 2 cases, gemm rocm:0/f16 the first; the \
             hottest reading was 97 °C"
        );
        assert_eq!((advice[1].action.as_str(), advice.len()), ("stop it and measure again", 2));
        assert!(advice[1].evidence.ends_with("other work ran (in 2 cases)"), "{advice:?}");
    }

    #[test]
    fn the_machine_is_judged_as_it_was_recorded() {
        let mut now = run(Vec::new());
        let gpu = Gpu {
            name: Some("AMD Radeon RX 7900 XTX".into()),
            driver: Some("amdgpu 6.8.5".into()),
            power_cap_w: Some(200.0),
            power_cap_default_w: Some(339.0),
            pcie: rsb_model::gpu::Pcie {
                now: Some(PcieLink::new(16.0, 4)),
                max: Some(PcieLink::new(16.0, 16)),
                ..rsb_model::gpu::Pcie::default()
            },
            ..Gpu::default()
        };
        now.environment.gpus = vec![gpu.clone()];
        let mut before = run(Vec::new());
        before.environment.gpus = vec![Gpu { driver: Some("amdgpu 6.10.5".into()), ..gpu.clone() }];
        let advice = of_machine(&now, std::slice::from_ref(&before));
        let told: Vec<&str> = advice.iter().map(|one| one.evidence.as_str()).collect();
        assert!(
            told[0].contains("its link runs at 16 GT/s x4")
                && told[1].contains("capped at 200 W of 339 W"),
            "{told:?}"
        );
        // A factor keeps the driver's name: `amdgpu 6.8`.
        assert!(
            told[2].contains("driver is amdgpu 6.8 in now and was amdgpu 6.10 in now"),
            "{told:?}"
        );
        assert_eq!(told.len(), 3);
        let idle = rsb_model::gpu::Pcie { saves_power: Some(true), ..gpu.pcie.clone() };
        now.environment.gpus = vec![Gpu { pcie: idle, power_cap_w: Some(339.0), ..gpu }];
        assert_eq!(of_machine(&now, &[]), []);
        let warnings =
            vec!["the machine runs on its battery, which lowers its clocks; plug it in".to_owned()];
        now.environment.state = Some(MachineState { warnings, ..MachineState::default() });
        assert_eq!(of_machine(&now, &[])[0].action, "plug it in");
    }

    #[test]
    fn what_is_missing_is_told_once_with_its_cure_and_only_where_it_is_called_for() {
        let both = run(vec![skipped_case("gemm/rocm:0/a"), skipped_case("gemm/rocm:0/b")]);
        let told = [advise("install ROCm", "2 cases skipped: ROCm: libamdhip64.so was not found")];
        assert_eq!(of_run(&both, &[]), told);
        for (id, pci, advice) in [
            ("all/rocm", "1002:744c", 1),
            ("all/rocm", "10de:2684", 0),
            ("all/cuda", "10de:2684", 1),
            ("all/oneapi", "1002:744c", 0),
            ("cache-hit-rate/cpu:0/1MiB", "1002:744c", 0),
        ] {
            assert_eq!(advice_count(id, pci), advice, "{id} with {pci}");
        }
    }

    fn skipped_case(id: &str) -> BenchmarkResult {
        BenchmarkResult {
            outcome: Outcome::Skipped,
            reason: Some(Reason::new("ROCm", "libamdhip64.so was not found", "install ROCm")),
            results: Vec::new(),
            ..case(id, &Fields::new())
        }
    }

    /// Counts the advice about a skipped case on a machine with one GPU.
    fn advice_count(id: &str, pci: &str) -> usize {
        let mut run = run(vec![skipped_case(id)]);
        let driver = Some("amdgpu 6.10.5".into());
        run.environment.gpus = vec![Gpu { pci_id: Some(pci.into()), driver, ..Gpu::default() }];
        of_run(&run, &[]).len()
    }
}
