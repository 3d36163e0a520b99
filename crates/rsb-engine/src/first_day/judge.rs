//! Evaluation of evidence into values with a status. Pure: records in, values out.

use std::collections::BTreeMap;

use rsb_model::finding::FindingSeverity;
use rsb_model::record::{CheckResult, CheckStatus, CheckValue, ExpectedRange};
use rsb_model::{BenchmarkResult, DeviceRef, Obstacle, Outcome, Reason, Unit};

use super::Check;
use super::evidence::{CheckEvidence, DeviceMutants, LoadPath, OwnCase};
use super::expected::{self, AUTHOR};

/// Judges `evidence` with the function of `check`.
pub fn conclude(check: &Check, evidence: &CheckEvidence, seconds: f64) -> CheckResult {
    let mut values = (check.judge)(evidence);
    values.extend(unreached_cases(evidence));
    let status = values.iter().map(|value| value.status).max().unwrap_or(CheckStatus::Skipped);
    let reason = (status == CheckStatus::Skipped).then(|| why_skipped(check, evidence));
    CheckResult {
        number: check.number,
        name: check.name.to_owned(),
        status,
        meaning: check.meaning.to_owned(),
        values,
        reason,
        seconds,
    }
}

/// Returns why `check` was skipped: the reason in the evidence, or else that of its first case.
fn why_skipped(check: &Check, evidence: &CheckEvidence) -> Reason {
    let known = evidence
        .reason
        .clone()
        .or_else(|| evidence.results.iter().find_map(|result| result.reason.clone()));
    known.unwrap_or_else(|| {
        Reason::new(
            check.name,
            "no device here has a case for this check",
            "run the check on a machine with a GPU and its runtime",
        )
    })
}

// Helpers.

fn plain(what: impl Into<String>, status: CheckStatus) -> CheckValue {
    CheckValue {
        device: None,
        what: what.into(),
        status,
        measured: None,
        unit: None,
        found: None,
        expected: None,
        note: None,
    }
}

fn ok_value(what: impl Into<String>, found: impl Into<String>) -> CheckValue {
    CheckValue { found: Some(found.into()), ..plain(what, CheckStatus::Ok) }
}

fn with_note(value: CheckValue, status: CheckStatus, note: impl Into<String>) -> CheckValue {
    CheckValue { status, note: Some(note.into()), ..value }
}

fn on(value: CheckValue, device: DeviceRef) -> CheckValue {
    CheckValue { device: Some(device.to_string()), ..value }
}

/// Creates a value. The status is `Ok` if it is inside its range or has none, otherwise `Look`.
fn number(
    what: impl Into<String>,
    measured: f64,
    unit: Unit,
    expected: Option<ExpectedRange>,
) -> CheckValue {
    let is_inside = expected.as_ref().is_none_or(|range| range.contains(measured));
    let status = if is_inside { CheckStatus::Ok } else { CheckStatus::Look };
    CheckValue { measured: Some(measured), unit: Some(unit), expected, ..plain(what, status) }
}

fn by_author(low: Option<f64>, high: Option<f64>) -> ExpectedRange {
    ExpectedRange { low, high, source: AUTHOR.to_owned() }
}

fn has_value(result: &BenchmarkResult) -> bool {
    matches!(result.outcome, Outcome::Measured | Outcome::Simulated)
}

fn device_of(result: &BenchmarkResult) -> Option<DeviceRef> {
    result.benchmark_id.device().device()
}

/// Returns the value of an axis of the case.
fn param<'r>(result: &'r BenchmarkResult, name: &str) -> &'r str {
    result
        .metadata
        .get("parameters")
        .and_then(|params| params.get(name)?.as_str())
        .unwrap_or_default()
}

fn field(result: &BenchmarkResult, name: &str) -> Option<f64> {
    result.fields().and_then(|fields| fields.number(name))
}

/// Returns a short name of the case: its ID without type and device.
fn short(result: &BenchmarkResult) -> String {
    let id = result.benchmark_id.as_str();
    let device = result.benchmark_id.device().to_string();
    let words: Vec<&str> = id.split('/').skip(1).filter(|word| *word != device).collect();
    words.join(" ")
}

/// Returns a value for each failed case, and for each case skipped for a reason other than time.
fn without_values(evidence: &CheckEvidence) -> Vec<CheckValue> {
    let mut found = Vec::new();
    for result in &evidence.results {
        let status = match result.outcome {
            Outcome::Failed => CheckStatus::Failed,
            Outcome::Skipped if !is_unreached(result) => CheckStatus::Skipped,
            _ => continue,
        };
        let reason = result.reason.as_ref().map(ToString::to_string).unwrap_or_default();
        let value = with_note(plain(short(result), status), status, reason);
        found.push(match device_of(result) {
            Some(device) => on(value, device),
            None => value,
        });
    }
    found
}

fn is_unreached(result: &BenchmarkResult) -> bool {
    result.reason.as_ref().is_some_and(|reason| reason.obstacle == Some(Obstacle::NotReached))
}

/// Returns a value that counts the cases not run before the check ran out of time.
fn unreached_cases(evidence: &CheckEvidence) -> Option<CheckValue> {
    let count = evidence.results.iter().filter(|result| is_unreached(result)).count();
    if count == 0 {
        return None;
    }
    let note = "the check ran out of time; run it with --check N";
    Some(with_note(ok_value("cases not run", count.to_string()), CheckStatus::Look, note))
}

/// A quantity that a check reads from each case.
struct Reading {
    /// Name of the quantity in the tables of expected ranges.
    quantity: String,
    /// Field with the value.
    field: &'static str,
    /// Unit of the field.
    unit: Unit,
}

/// Converts every case to a value: `read` selects the quantity, and the table provides its range.
fn values(
    evidence: &CheckEvidence,
    read: impl Fn(&BenchmarkResult) -> Option<Reading>,
) -> Vec<CheckValue> {
    let mut values = Vec::new();
    for result in evidence.results.iter().filter(|result| has_value(result)) {
        let (Some(device), Some(reading)) = (device_of(result), read(result)) else { continue };
        let range = range_of(evidence, result, device, &reading.quantity);
        let what =
            reading.quantity.split_once(' ').map_or(reading.quantity.as_str(), |(_, what)| what);
        let value = if let Some(measured) = field(result, reading.field) {
            number(what, measured, reading.unit, range)
        } else {
            let note = format!("its result has no {}", reading.field);
            with_note(plain(what, CheckStatus::Look), CheckStatus::Look, note)
        };
        values.push(on(value, device));
    }
    values.extend(without_values(evidence));
    values
}

/// Returns the expected range of `quantity`; `None` for a simulated device, whose times are
/// meaningless.
fn range_of(
    evidence: &CheckEvidence,
    result: &BenchmarkResult,
    device: DeviceRef,
    quantity: &str,
) -> Option<ExpectedRange> {
    if result.outcome == Outcome::Simulated {
        return None;
    }
    expected::range(evidence.device(device)?, quantity)
}

// The checks.

pub(super) fn inventory(evidence: &CheckEvidence) -> Vec<CheckValue> {
    let mut values = Vec::new();
    for (backend, reason) in &evidence.broken {
        let value = plain(format!("library of {backend}"), CheckStatus::Failed);
        values.push(with_note(value, CheckStatus::Failed, reason.to_string()));
    }
    for inventory in &evidence.inventories {
        let listed = match &inventory.listed {
            Ok(listed) => listed,
            Err(reason) => {
                let value = plain(inventory.tool, CheckStatus::Look);
                values.push(with_note(value, CheckStatus::Look, reason.to_string()));
                continue;
            }
        };
        let counts = ok_value(
            format!("GPUs by {}", inventory.tool),
            format!(
                "{} listed, {} reached by {}",
                listed.len(),
                inventory.here.len(),
                inventory.backend
            ),
        );
        values.push(match (listed.len() == inventory.here.len(), inventory.hidden_by.as_slice()) {
            (true, _) => counts,
            (false, []) => CheckValue { status: CheckStatus::Failed, ..counts },
            (false, names) => {
                with_note(counts, CheckStatus::Look, format!("{} hides GPUs", names.join(", ")))
            }
        });
        for (position, device) in inventory.here.iter().enumerate() {
            let at_address = listed.iter().find(|gpu| {
                gpu.pci_address.is_some()
                    && gpu.pci_address == device.pci_address.as_ref().map(|it| it.to_lowercase())
            });
            let Some(gpu) = at_address.or_else(|| listed.get(position)) else { continue };
            let is_same_arch = gpu.arch.is_none() || gpu.arch.as_deref() == expected::arch(device);
            let is_same_units = gpu.units.is_none_or(|units| units == device.units);
            let is_same_clock = match (gpu.max_clock_mhz, device.max_clock_mhz) {
                (Some(listed), Some(here)) => (listed / here - 1.0).abs() <= 0.01,
                _ => true,
            };
            let arch = expected::arch(device).unwrap_or("architecture unknown");
            let value = on(
                ok_value(gpu.name.clone(), format!("{arch}, {} units", device.units)),
                device.device,
            );
            values.push(match (is_same_arch && is_same_units, is_same_clock) {
                (true, true) => value,
                (true, false) => {
                    let clocks =
                        [gpu.max_clock_mhz, device.max_clock_mhz].map(Option::unwrap_or_default);
                    let note = format!(
                        "{} lists {} MHz, the runtime {}",
                        inventory.tool, clocks[0], clocks[1]
                    );
                    with_note(value, CheckStatus::Look, note)
                }
                (false, _) => {
                    let units =
                        gpu.units.map_or_else(String::new, |units| format!(", {units} units"));
                    let arch = gpu.arch.as_deref().unwrap_or(arch);
                    with_note(
                        value,
                        CheckStatus::Failed,
                        format!("{} lists {arch}{units}", inventory.tool),
                    )
                }
            });
        }
    }
    let errors =
        evidence.findings.iter().filter(|finding| finding.severity == FindingSeverity::Error);
    values.extend(errors.map(|error| {
        let cure = error.cure.as_deref().map(|cure| format!("; {cure}")).unwrap_or_default();
        with_note(
            plain("doctor", CheckStatus::Look),
            CheckStatus::Look,
            format!("{}: {}{cure}", error.what, error.why),
        )
    }));
    values
}

pub(super) fn modules(evidence: &CheckEvidence) -> Vec<CheckValue> {
    let mut values = Vec::new();
    for device in evidence.devices.iter().map(|device| device.device) {
        let own: Vec<_> =
            evidence.modules.iter().filter(|module| module.device == device).collect();
        if own.is_empty() {
            continue;
        }
        let compiled = own.iter().filter(|module| module.error.is_none()).count();
        values
            .push(on(ok_value("modules", format!("{compiled} of {} compile", own.len())), device));
        for module in own {
            let Some(error) = &module.error else { continue };
            let value = plain(format!("module {}", module.source), CheckStatus::Failed);
            values.push(on(with_note(value, CheckStatus::Failed, error.to_string()), device));
        }
    }
    for chase in &evidence.chases {
        let value = match &chase.loads {
            LoadPath::Vector => ok_value("pointer chase", "vector loads"),
            LoadPath::Scalar => with_note(
                ok_value("pointer chase", "scalar loads"),
                CheckStatus::Failed,
                "memory-latency measures the scalar cache instead of the vector caches",
            ),
            LoadPath::Unknown(reason) => with_note(
                plain("pointer chase", CheckStatus::Skipped),
                CheckStatus::Skipped,
                reason.to_string(),
            ),
        };
        values.push(on(value, chase.device));
    }
    values
}

/// Maximum spread of the processes of one control case, in percent.
const CONTROL_SPREAD: f64 = 10.0;

pub(super) fn control(evidence: &CheckEvidence) -> Vec<CheckValue> {
    let mut values = Vec::new();
    for result in evidence.results.iter().filter(|result| has_value(result)) {
        let Some(device) = device_of(result) else { continue };
        let times: Vec<f64> =
            result.samples.iter().filter_map(|samples| samples.location().ok()).collect();
        let lowest = times.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = times.iter().copied().fold(0.0, f64::max);
        if times.len() < 2 || lowest <= 0.0 {
            continue;
        }
        let is_simulated = result.outcome == Outcome::Simulated;
        let range = Some(by_author(None, Some(CONTROL_SPREAD))).filter(|_| !is_simulated);
        let what = format!("spread of {} processes, {}", times.len(), param(result, "size"));
        values
            .push(on(number(what, 100.0 * (highest / lowest - 1.0), Unit::Percent, range), device));
    }
    values.extend(without_values(evidence));
    values
}

pub(super) fn quick(evidence: &CheckEvidence) -> Vec<CheckValue> {
    let mut values = Vec::new();
    for device in evidence.devices.iter().map(|device| device.device) {
        let own =
            || evidence.results.iter().filter(move |result| device_of(result) == Some(device));
        if own().next().is_none() {
            continue;
        }
        let verified = own().filter(|result| has_value(result)).count();
        let failed = own().filter(|result| result.outcome == Outcome::Failed).count();
        let skipped = own()
            .filter(|result| result.outcome == Outcome::Skipped && !is_unreached(result))
            .count();
        let text = format!("{verified} verified, {skipped} skipped, {failed} failed");
        let status = if verified + failed == 0 { CheckStatus::Skipped } else { CheckStatus::Ok };
        values.push(on(CheckValue { status, ..ok_value("cases", text) }, device));
    }
    values.extend(
        without_values(evidence).into_iter().filter(|value| value.status == CheckStatus::Failed),
    );
    values
}

pub(super) fn mutants(evidence: &CheckEvidence) -> Vec<CheckValue> {
    let mut values = Vec::new();
    for DeviceMutants { device, outcome } in &evidence.mutants {
        let operations = match outcome {
            Ok(operations) => operations,
            Err(reason) => {
                let value = plain("mutants", CheckStatus::Failed);
                values.push(on(with_note(value, CheckStatus::Failed, reason.to_string()), *device));
                continue;
            }
        };
        let tried: usize = operations.iter().map(|operation| operation.tried).sum();
        let survived: usize = operations.iter().map(|operation| operation.survived.len()).sum();
        if tried > 0 {
            let of = operations.iter().filter(|operation| operation.tried > 0).count();
            let text =
                format!("{} of {tried} rejected, {of} operations", tried - survived.min(tried));
            values.push(on(ok_value("mutants", text), *device));
        }
        for operation in operations {
            for mutant in &operation.survived {
                let value = plain(operation.operation.clone(), CheckStatus::Failed);
                let note = format!("verification accepted a wrong result: {mutant}");
                values.push(on(with_note(value, CheckStatus::Failed, note), *device));
            }
            let ended = [
                (&operation.skipped, CheckStatus::Skipped),
                (&operation.failed, CheckStatus::Failed),
            ];
            for (reason, status) in
                ended.into_iter().filter_map(|(reason, status)| Some((reason.as_ref()?, status)))
            {
                let value = plain(operation.operation.clone(), status);
                values.push(on(with_note(value, status, reason.to_string()), *device));
            }
        }
    }
    values
}

pub(super) fn launch(evidence: &CheckEvidence) -> Vec<CheckValue> {
    values(evidence, |result| {
        let quantity = format!("launch {}", param(result, "launch_mode"));
        Some(Reading { quantity, field: "latency_us", unit: Unit::Microseconds })
    })
}

pub(super) fn bandwidth(evidence: &CheckEvidence) -> Vec<CheckValue> {
    let mut values = values(evidence, |result| {
        let quantity = format!("bandwidth {}", param(result, "operation"));
        Some(Reading { quantity, field: "bandwidth_gb_s", unit: Unit::GigabytesPerSecond })
    });
    values.extend(rivals(evidence));
    values
}

/// Compares this program's rates with those of other programs, as a difference in percent.
fn rivals(evidence: &CheckEvidence) -> Vec<CheckValue> {
    let mut values = Vec::new();
    for rival in &evidence.rivals {
        let what = format!("{} over {}", rival.own.benchmark, rival.tool);
        let value = match (&rival.rate, own_rate(evidence, rival.device, &rival.own)) {
            (Ok(rate), Some(own)) if *rate > 0.0 => {
                let range = Some(by_author(Some(-rival.below_percent), rival.above_percent));
                let theirs = format!(
                    "{} here, {} by {}",
                    rival.own.unit.quantity(own),
                    rival.own.unit.quantity(*rate),
                    rival.tool
                );
                CheckValue {
                    note: Some(theirs),
                    ..number(what, 100.0 * (own / rate - 1.0), Unit::Percent, range)
                }
            }
            (Ok(_), _) => with_note(
                plain(what, CheckStatus::Skipped),
                CheckStatus::Skipped,
                "this program measured no value to compare",
            ),
            (Err(reason), _) => with_note(
                plain(what, CheckStatus::Skipped),
                CheckStatus::Skipped,
                reason.to_string(),
            ),
        };
        values.push(on(value, rival.device));
    }
    values
}

/// Returns this program's highest rate for the case.
fn own_rate(evidence: &CheckEvidence, device: DeviceRef, own: &OwnCase) -> Option<f64> {
    evidence
        .results
        .iter()
        .filter(|result| {
            result.category.as_deref() == Some(own.benchmark)
                && result.outcome == Outcome::Measured
                && device_of(result) == Some(device)
                && own.params.iter().all(|(name, value)| param(result, name) == *value)
        })
        .filter_map(|result| field(result, own.field))
        .reduce(f64::max)
}

/// Maximum difference between the time of a case and that of its kernel, in microseconds.
const EVENT_OVERHEAD_US: f64 = 1.0;

pub(super) fn cold(evidence: &CheckEvidence) -> Vec<CheckValue> {
    let mut found_values = values(evidence, |result| {
        let quantity = format!("cold {}, 1 MiB copy", param(result, "cache"));
        Some(Reading { quantity, field: "time_us", unit: Unit::Microseconds })
    });
    for device in evidence.devices.iter().map(|device| device.device) {
        let Some(hot) = cache_result(evidence, device, "hot") else { continue };
        let Some(cold) = cache_result(evidence, device, "cold") else { continue };
        let (Some(hot_us), Some(cold_us)) = (field(hot, "time_us"), field(cold, "time_us")) else {
            continue;
        };
        let range = Some(by_author(Some(1.0), None)).filter(|_| cold.outcome == Outcome::Measured);
        found_values.push(on(number("cold over hot", cold_us / hot_us, Unit::One, range), device));
    }
    for kernel in &evidence.kernel_times {
        let what = format!("{} event time beyond {}", kernel.cache, kernel.tool);
        let event = cache_result(evidence, kernel.device, &kernel.cache)
            .and_then(|result| field(result, "time_us"));
        let value = match (&kernel.time_us, event) {
            (Ok(kernel_us), Some(event_us)) => {
                let range = Some(by_author(None, Some(EVENT_OVERHEAD_US)));
                number(what, event_us - kernel_us, Unit::Microseconds, range)
            }
            (Ok(_), None) => plain(what, CheckStatus::Skipped),
            (Err(reason), _) => with_note(
                plain(what, CheckStatus::Skipped),
                CheckStatus::Skipped,
                reason.to_string(),
            ),
        };
        found_values.push(on(value, kernel.device));
    }
    found_values
}

/// Returns the value of the copy on `device` with a hot or cold cache, if there is one.
fn cache_result<'e>(
    evidence: &'e CheckEvidence,
    device: DeviceRef,
    cache: &str,
) -> Option<&'e BenchmarkResult> {
    evidence
        .results
        .iter()
        .find(|result| device_of(result) == Some(device) && param(result, "cache") == cache)
        .filter(|result| has_value(result))
}

pub(super) fn latency(evidence: &CheckEvidence) -> Vec<CheckValue> {
    let mut found_values = values(evidence, |result| {
        let quantity = format!("latency {}", param(result, "size"));
        Some(Reading { quantity, field: "latency_ns", unit: Unit::Nanoseconds })
    });
    for device in evidence.devices.iter().map(|device| device.device) {
        let own = evidence.results.iter().filter(|result| device_of(result) == Some(device));
        let measured = own.filter(|result| result.outcome == Outcome::Measured);
        let mut steps: Vec<(f64, f64)> = measured
            .filter_map(|result| Some((field(result, "size_bytes")?, field(result, "latency_ns")?)))
            .collect();
        steps.sort_by(|left, right| left.0.total_cmp(&right.0));
        if steps.len() < 2 {
            continue;
        }
        // A larger working set cannot have a lower latency, so a decrease below 5 % is noise.
        let falls = steps
            .windows(2)
            .filter(|pair| matches!(pair, [near, far] if far.1 < 0.95 * near.1))
            .count();
        let text = if falls == 0 {
            "rises with the size".to_owned()
        } else {
            format!("falls {falls} times")
        };
        let status = if falls == 0 { CheckStatus::Ok } else { CheckStatus::Look };
        found_values.push(on(CheckValue { status, ..ok_value("steps", text) }, device));
    }
    found_values
}

pub(super) fn compute(evidence: &CheckEvidence) -> Vec<CheckValue> {
    values(evidence, |result| {
        let quantity = format!("compute {}", param(result, "dtype"));
        Some(Reading { quantity, field: "tflops", unit: Unit::Teraflops })
    })
}

pub(super) fn matrix(evidence: &CheckEvidence) -> Vec<CheckValue> {
    values(evidence, |result| {
        let dtype = param(result, "dtype");
        let quantity = match (param(result, "engine"), param(result, "sparsity")) {
            ("vector", _) => format!("matrix {dtype}, vector unit"),
            (_, "2:4") => format!("matrix {dtype}, 2:4 sparse"),
            _ => format!("matrix {dtype}"),
        };
        Some(Reading { quantity, field: "tflops", unit: Unit::Teraflops })
    })
}

pub(super) fn products(evidence: &CheckEvidence) -> Vec<CheckValue> {
    let mut all = Vec::new();
    for result in evidence.results.iter().filter(|result| has_value(result)) {
        let (Some(device), Some(rate)) = (device_of(result), field(result, "tflops")) else {
            continue;
        };
        let dtype = param(result, "dtype");
        let provider =
            result.fields().and_then(|fields| fields.text("provider")).unwrap_or("default");
        let range = range_of(evidence, result, device, &format!("gemm {dtype}"));
        let what = format!("{dtype} {}, {provider}", param(result, "shape"));
        all.push(on(number(what, rate, Unit::Teraflops, range), device));
    }
    all.extend(without_values(evidence));
    all.extend(rivals(evidence));
    all
}

/// Minimum and maximum of the expected rate of one large transfer of pinned memory, as shares of
/// the PCI Express link's rate.
const LINK_SHARE: [f64; 2] = [0.76, 0.91];

pub(super) fn transfers(evidence: &CheckEvidence) -> Vec<CheckValue> {
    let mut found_values = Vec::new();
    for result in evidence.results.iter().filter(|result| has_value(result)) {
        let (Some(device), Some(measured)) = (device_of(result), field(result, "bandwidth_gb_s"))
        else {
            continue;
        };
        let (direction, memory) = (param(result, "direction"), param(result, "host_memory"));
        let is_ranged = memory == "pinned"
            && direction != "bidirectional"
            && result.outcome == Outcome::Measured;
        let link = field(result, "link_gb_s").filter(|_| is_ranged);
        let range =
            link.map(|link| by_author(Some(LINK_SHARE[0] * link), Some(LINK_SHARE[1] * link)));
        let what = format!("{direction}, {memory}");
        found_values.push(on(number(what, measured, Unit::GigabytesPerSecond, range), device));
        if memory == "pinned" && direction == "bidirectional" {
            let Some(one_way) = upload_rate(evidence, device) else { continue };
            let range = Some(by_author(Some(1.6), Some(1.95)))
                .filter(|_| result.outcome == Outcome::Measured);
            found_values.push(on(
                number("both ways over one", measured / one_way, Unit::One, range),
                device,
            ));
        }
    }
    found_values.extend(without_values(evidence));
    found_values
}

/// Returns the rate of transfers from pinned memory to `device`.
fn upload_rate(evidence: &CheckEvidence, device: DeviceRef) -> Option<f64> {
    let result = evidence.results.iter().find(|result| {
        device_of(result) == Some(device)
            && param(result, "direction") == "host-to-device"
            && param(result, "host_memory") == "pinned"
    })?;
    field(result, "bandwidth_gb_s")
}

pub(super) fn decode(evidence: &CheckEvidence) -> Vec<CheckValue> {
    let mut found_values = values(evidence, |result| {
        let quantity = format!("decode {}", param(result, "launch_mode"));
        Some(Reading { quantity, field: "tokens_per_second", unit: Unit::PerSecond })
    });
    for graph in results_by_mode(evidence, "graph") {
        let Some(device) = device_of(graph) else { continue };
        let stream = results_by_mode(evidence, "stream").find(|stream| {
            device_of(stream) == Some(device) && other_params(stream) == other_params(graph)
        });
        let Some(stream) = stream else { continue };
        let speeds = (field(graph, "tokens_per_second"), field(stream, "tokens_per_second"));
        let (Some(by_graph), Some(by_stream)) = speeds else { continue };
        let range =
            Some(by_author(Some(0.98), None)).filter(|_| graph.outcome == Outcome::Measured);
        found_values
            .push(on(number("graph over stream", by_graph / by_stream, Unit::One, range), device));
    }
    found_values
}

fn results_by_mode<'e>(
    evidence: &'e CheckEvidence,
    mode: &str,
) -> impl Iterator<Item = &'e BenchmarkResult> {
    evidence
        .results
        .iter()
        .filter(move |result| has_value(result) && param(result, "launch_mode") == mode)
}

/// Returns the parameters of a case without its launch mode.
fn other_params(result: &BenchmarkResult) -> Option<serde_json::Map<String, serde_json::Value>> {
    let mut params = result.metadata.get("parameters")?.as_object()?.clone();
    params.remove("launch_mode");
    Some(params)
}

pub(super) fn collectives(evidence: &CheckEvidence) -> Vec<CheckValue> {
    let mut found_values = Vec::new();
    for result in evidence.results.iter().filter(|result| has_value(result)) {
        let (Some(device), Some(rate)) = (device_of(result), field(result, "bandwidth_gb_s"))
        else {
            continue;
        };
        let (gpus, size) = (param(result, "num_gpus"), param(result, "size"));
        let (operation, library) =
            (param(result, "operation"), param(result, "communication_backend"));
        let is_ranged = operation == "all-reduce" && library != "ring";
        let quantity = format!("all-reduce {gpus} x {size}");
        let range = range_of(evidence, result, device, &quantity).filter(|_| is_ranged);
        let what = format!("{operation} {gpus} x {size}, {library}");
        found_values.push(on(number(what, rate, Unit::GigabytesPerSecond, range), device));
    }
    found_values.extend(without_values(evidence));
    found_values
}

/// Maximum change of a case after ten minutes, in percent: on a card, and on other devices.
const AGAIN_PERCENT: [f64; 2] = [2.0, 10.0];

pub(super) fn again(evidence: &CheckEvidence) -> Vec<CheckValue> {
    let mut found_values = Vec::new();
    let before: BTreeMap<&str, &BenchmarkResult> =
        evidence.before.iter().map(|result| (result.benchmark_id.as_str(), result)).collect();
    for now in evidence.results.iter().filter(|result| has_value(result)) {
        let Some(then) = before.get(now.benchmark_id.as_str()) else { continue };
        let (Some(device), Some(time), Some(earlier)) = (
            device_of(now),
            now.figure(rsb_model::record::TIME),
            then.figure(rsb_model::record::TIME),
        ) else {
            continue;
        };
        let is_card = now.device_type == Some(rsb_model::DeviceType::Gpu);
        let most = AGAIN_PERCENT[usize::from(!is_card)];
        let range =
            Some(by_author(Some(-most), Some(most))).filter(|_| now.outcome == Outcome::Measured);
        let minutes = (now.timestamp.as_second() - then.timestamp.as_second()) / 60;
        let what = format!("{}, after {minutes} min", short(now));
        found_values
            .push(on(number(what, 100.0 * (time / earlier - 1.0), Unit::Percent, range), device));
    }
    found_values.extend(without_values(evidence));
    found_values
}
