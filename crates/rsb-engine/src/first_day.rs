//! The first day of a card: 16 checks in a fixed order, each with the values expected of this card.
//!
//! A check collects evidence (`EvidenceCollector`: cases run by the usual workers, other programs,
//! child processes of this program) and judges it (`judge`: pure). Most checks compare rates with a
//! table of `expected` ranges. A value outside its range is reported as worth a look, not as a
//! failure. A check fails if a case fails or a correctness check does not hold.

mod child;
mod evidence;
mod expected;
mod judge;
mod plan;
mod redact;
mod tools;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use rsb_catalog::plan::{Machine, Plan, Selection};
use rsb_device::compiler::SOURCES;
use rsb_device::{DeviceInfo, Registry};
use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::{CheckCounts, CheckResult, CheckValue, CheckedDevice, FirstDayDocument};
use rsb_model::{
    BackendId, BenchmarkResult, Case, Environment, Event, Finding, Outcome, Reason, Run, RunStatus,
    Timestamp,
};
use rsb_store::new_run_id;

use crate::measure::{self, Limits, Profiler, Settings, interrupt};
use crate::{EngineError, Listener, WorkerCommand, machine_lock};

pub use evidence::{
    CheckEvidence, CompiledModule, DeviceMutants, Inventory, KernelTime, ListedGpu, LoadPath,
    OperationMutants, OwnCase, PointerChaseLoads, VendorToolResult,
};
pub use expected::{CARDS, Card, RangeRow, card, markdown};
pub use judge::conclude;
pub use redact::Redaction;

/// Suite name of the recorded run.
pub const NAME: &str = "first-day";

/// One of the checks.
#[derive(Debug)]
pub struct Check {
    /// Number, from 1.
    pub number: u8,
    /// Short name.
    pub name: &'static str,
    /// Explanation of a value outside its range, in one line.
    pub meaning: &'static str,
    /// Time limit in seconds with a card.
    pub card_seconds: u64,
    /// Time limit in seconds without a card.
    pub cpu_seconds: u64,
    /// Function that judges the evidence.
    judge: fn(&CheckEvidence) -> Vec<CheckValue>,
}

/// Every check, in order.
pub static CHECKS: [Check; 16] = [
    Check {
        number: 1,
        name: "inventory",
        meaning: "the runtime and the vendor's tool see different hardware: results may belong to \
                  another GPU",
        card_seconds: 60,
        cpu_seconds: 30,
        judge: judge::inventory,
    },
    Check {
        number: 2,
        name: "modules compile",
        meaning: "every case of such a module fails, or measures something different",
        card_seconds: 300,
        cpu_seconds: 60,
        judge: judge::modules,
    },
    Check {
        number: 3,
        name: "control",
        meaning: "the machine is busy or its clocks change: do not trust other values until this \
                  check passes",
        card_seconds: 60,
        cpu_seconds: 30,
        judge: judge::control,
    },
    Check {
        number: 4,
        name: "every quick case",
        meaning: "a kernel, library or driver gives wrong results or crashes on this card",
        card_seconds: 540,
        cpu_seconds: 130,
        judge: judge::quick,
    },
    Check {
        number: 5,
        name: "negative tests",
        meaning: "verification accepts a wrong result on this card: no result of that operation \
                  can be trusted",
        card_seconds: 240,
        cpu_seconds: 40,
        judge: judge::mutants,
    },
    Check {
        number: 6,
        name: "launch latency",
        meaning: "the driver launches slowly (power saving, a profiler, a virtual machine), or the \
                  clock is wrong",
        card_seconds: 60,
        cpu_seconds: 15,
        judge: judge::launch,
    },
    Check {
        number: 7,
        name: "memory bandwidth",
        meaning: "memory clocks are low, ECC or partitions take their share, or the arrays are in \
                  a cache",
        card_seconds: 120,
        cpu_seconds: 30,
        judge: judge::bandwidth,
    },
    Check {
        number: 8,
        name: "cold and hot",
        meaning: "the time of a cold case contains more than its kernel, or the flush does not \
                  empty the caches",
        card_seconds: 120,
        cpu_seconds: 15,
        judge: judge::cold,
    },
    Check {
        number: 9,
        name: "latency steps",
        meaning: "the pointer chase runs in other caches than intended, or a cache size is reported wrong",
        card_seconds: 90,
        cpu_seconds: 30,
        judge: judge::latency,
    },
    Check {
        number: 10,
        name: "compute peaks",
        meaning: "clocks or power are limited, or the table has a wrong peak for this card",
        card_seconds: 90,
        cpu_seconds: 15,
        judge: judge::compute,
    },
    Check {
        number: 11,
        name: "matrix peaks, 5 s",
        meaning: "the power limit keeps clocks low, or the instruction is not this card's fastest",
        card_seconds: 300,
        cpu_seconds: 15,
        judge: judge::matrix,
    },
    Check {
        number: 12,
        name: "matrix products",
        meaning: "the library lacks kernels tuned for this GPU, or this program calls it \
                  differently from the vendor's benchmark",
        card_seconds: 300,
        cpu_seconds: 30,
        judge: judge::products,
    },
    Check {
        number: 13,
        name: "transfers",
        meaning: "the link runs with fewer lanes or an older speed, or memory is on the wrong NUMA \
                  node",
        card_seconds: 120,
        cpu_seconds: 20,
        judge: judge::transfers,
    },
    Check {
        number: 14,
        name: "decode by graph",
        meaning: "recording or replaying graphs costs more than it saves on this driver",
        card_seconds: 120,
        cpu_seconds: 20,
        judge: judge::decode,
    },
    Check {
        number: 15,
        name: "all-reduce",
        meaning: "GPUs have no direct link to each other, or the library uses a slow path",
        card_seconds: 240,
        cpu_seconds: 15,
        judge: judge::collectives,
    },
    Check {
        number: 16,
        name: "repeatability",
        meaning: "the card slows down as it heats up: a short run measures more than it sustains",
        card_seconds: 600,
        cpu_seconds: 60,
        judge: judge::again,
    },
];

/// Time limits for all checks together, with a card and without one.
const TOTAL_LIMITS: [Duration; 2] = [Duration::from_mins(30), Duration::from_mins(5)];

/// Time limit of one case, so that a hanging driver does not use up the time of its check.
const CASE_LIMIT: Duration = Duration::from_mins(2);

/// Delay before the cases of a card are measured again.
const REPEAT_AFTER: Duration = Duration::from_mins(10);

/// Part of the last check's time limit that is reserved for measuring.
const REPEAT_TAKES: Duration = Duration::from_secs(90);

/// Which checks to run, and on which devices.
#[derive(Debug)]
pub struct FirstDayRequest<'a> {
    /// Number of a single check to run; `None` runs all.
    pub only: Option<u8>,
    /// Backends and devices to check; by default, the first card of each backend.
    pub selection: Selection,
    /// Devices and backends of this machine.
    pub machine: &'a Machine,
    /// Environment stored with the run.
    pub environment: Environment,
    /// Findings of `doctor`.
    pub findings: Vec<Finding>,
    /// Command that starts workers.
    pub workers: &'a WorkerCommand,
}

/// Results of a first-day run.
#[derive(Debug)]
pub struct FirstDay {
    /// Results of the checks.
    pub document: FirstDayDocument,
    /// Every case, with its samples.
    pub run: Run,
    /// How the run ended.
    pub status: RunStatus,
}

impl FirstDay {
    /// Returns whether a check failed.
    pub const fn is_failed(&self) -> bool {
        self.document.summary.failed > 0
    }
}

/// Performs a first-day task in a child process of this program, given its arguments except the
/// first one.
pub(crate) fn as_child(backends: &Registry, arguments: impl Iterator<Item = String>) -> ExitCode {
    child::answer(backends, arguments)
}

/// First argument of a child that performs a first-day task.
pub(crate) const CHILD_ARGUMENT: &str = child::ARGUMENT;

/// Runs the checks of `request`, in order.
///
/// # Errors
/// If a named device is not available, or the temporary directory cannot be created.
pub fn check(
    request: FirstDayRequest<'_>,
    listener: &mut Listener<'_>,
) -> Result<FirstDay, EngineError> {
    let devices = plan::targets(&request.selection, request.machine).map_err(EngineError::usage)?;
    let started = Timestamp::now();
    let environment = request.environment.clone();
    let mut run = Run::begin(new_run_id(started, None), started, NAME, "quick", environment);
    run.devices = devices.iter().map(DeviceInfo::record).collect();
    let claim = machine_lock::claim([&mut run], listener);
    let has_card = devices.iter().any(plan::is_card);
    let only = request.only;
    let mut day = EvidenceCollector {
        request,
        devices,
        has_card,
        began: Instant::now(),
        measured: BTreeMap::new(),
        run,
    };
    let mut checks = Vec::new();
    for check in CHECKS.iter().filter(|check| only.is_none_or(|only| only == check.number)) {
        listener(&Event::CheckStarted {
            number: check.number,
            checks: CHECKS.len(),
            name: check.name.to_owned(),
        });
        let result = day.check(check, listener)?;
        listener(&Event::CheckEnded(Box::new(result.clone())));
        checks.push(result);
    }
    claim.end([&mut day.run], listener);
    let status =
        if interrupt::is_requested() { RunStatus::Interrupted } else { RunStatus::Complete };
    listener(&Event::RunEnded(status));
    let finished = Timestamp::now();
    day.run.finished = Some(finished);
    let document = FirstDayDocument {
        format_version: FORMAT_VERSION,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        started,
        finished,
        devices: day.devices.iter().map(checked_device).collect(),
        summary: CheckCounts::of(&checks),
        checks,
        findings: day.request.findings.clone(),
    };
    Ok(FirstDay { document, run: day.run, status })
}

fn checked_device(device: &DeviceInfo) -> CheckedDevice {
    CheckedDevice {
        device: device.device.to_string(),
        name: device.name.clone(),
        device_type: device.device_type,
        arch: device.arch.clone(),
        units: device.units,
        ranges_of: card(device).map(|card| card.name.to_owned()),
    }
}

/// Collects evidence for one check after another.
struct EvidenceCollector<'a> {
    request: FirstDayRequest<'a>,
    devices: Vec<DeviceInfo>,
    has_card: bool,
    began: Instant,
    /// Results of the checks that are repeated at the end.
    measured: BTreeMap<u8, Vec<BenchmarkResult>>,
    run: Run,
}

impl EvidenceCollector<'_> {
    /// Runs `check`, unless time is up or the user interrupted.
    fn check(
        &mut self,
        check: &Check,
        listener: &mut Listener<'_>,
    ) -> Result<CheckResult, EngineError> {
        let began = Instant::now();
        let whole = TOTAL_LIMITS[usize::from(!self.has_card)];
        let own =
            Duration::from_secs(if self.has_card { check.card_seconds } else { check.cpu_seconds });
        let limit = own.min(whole.saturating_sub(self.began.elapsed()));
        let evidence = if interrupt::is_requested() {
            Self::skipped_check("it was interrupted", check)
        } else if limit.is_zero() {
            Self::skipped_check(
                &format!("the limit of {} min for all checks was reached", whole.as_secs() / 60),
                check,
            )
        } else {
            self.evidence(check.number, began + limit, listener)?
        };
        Ok(conclude(check, &evidence, began.elapsed().as_secs_f64()))
    }

    fn skipped_check(why: &str, check: &Check) -> CheckEvidence {
        let cure =
            format!("run only this check with `doctor --first-day --check {}`", check.number);
        CheckEvidence {
            reason: Some(Reason::new(check.name, why, cure)),
            ..CheckEvidence::default()
        }
    }

    fn evidence(
        &mut self,
        number: u8,
        until: Instant,
        listener: &mut Listener<'_>,
    ) -> Result<CheckEvidence, EngineError> {
        let mut evidence =
            CheckEvidence { devices: self.devices.clone(), ..CheckEvidence::default() };
        match number {
            1 => self.take_inventory(&mut evidence),
            2 => self.compile_modules(&mut evidence, until),
            5 => self.try_mutants(&mut evidence, until),
            16 => self.measure_again(&mut evidence, until, listener)?,
            _ => {
                let plan = plan::of_check(number, &self.devices, self.request.machine)
                    .map_err(EngineError::usage)?;
                let mut settings = plan::settings(number, self.has_card);
                let profiles =
                    if number == 8 { self.profile(&mut settings, &mut evidence)? } else { None };
                evidence.results = self.measure(&plan, &settings, until, listener)?;
                evidence.reason = self.no_case(number);
                if let Some((profiles, tool)) = profiles {
                    evidence.kernel_times.extend(kernel_times(&evidence.results, tool));
                    drop(profiles);
                }
                evidence.rivals = self.rivals(number);
                for result in evidence.results.iter().filter(|result| !result.samples.is_empty()) {
                    self.run.keep(result.clone());
                }
                if plan::AGAIN.contains(&number) {
                    self.measured.insert(number, evidence.results.clone());
                }
            }
        }
        Ok(evidence)
    }

    /// Measures `plan` and returns the final result of each case.
    fn measure(
        &self,
        plan: &Plan,
        settings: &Settings,
        until: Instant,
        listener: &mut Listener<'_>,
    ) -> Result<Vec<BenchmarkResult>, EngineError> {
        let left = until.saturating_duration_since(Instant::now());
        let case = left.min(CASE_LIMIT);
        let limits = Limits { component: case, gpu: case, suite: left };
        let settings = Settings { limits, ..settings.clone() };
        let mut results: Vec<BenchmarkResult> = Vec::new();
        let environment = &self.run.environment;
        measure::measure(plan, &settings, self.request.workers, environment, &mut |event| {
            if let Event::CaseUpdated(result) = event {
                match results.iter_mut().find(|known| known.benchmark_id == result.benchmark_id) {
                    Some(known) => *known = (**result).clone(),
                    None => results.push((**result).clone()),
                }
            }
            listener(event);
        })
        .context(measure::NO_SCRATCH)?;
        Ok(results)
    }

    /// Returns why check `number` has no case here if the machine is the reason, not its cases.
    fn no_case(&self, number: u8) -> Option<Reason> {
        let is_on_cpu_alone = self.devices.iter().all(|device| device.device.is_cpu());
        match number {
            15 => {
                let backends = self.devices.iter().map(|device| device.device.backend);
                let most = backends
                    .map(|backend| plan::gpus_of(backend, self.request.machine))
                    .max()
                    .unwrap_or(0);
                (most < 2).then(|| {
                    let why = "no backend has two or more GPUs here";
                    Reason::new("all-reduce", why, "check a machine with several GPUs")
                })
            }
            6 | 11 | 13 if is_on_cpu_alone => {
                let why = "the CPU is the only device here";
                Some(Reason::new(
                    "cases for GPUs",
                    why,
                    "check a machine with a GPU, or install a driver for Vulkan or OpenCL",
                ))
            }
            _ => None,
        }
    }

    fn take_inventory(&self, evidence: &mut CheckEvidence) {
        let machine = self.request.machine;
        let reason_of =
            |backend: &BackendId| machine.missing.iter().find(|(missing, _)| missing == backend);
        evidence.broken =
            machine.broken.iter().filter_map(|backend| reason_of(backend).cloned()).collect();
        evidence.findings.clone_from(&self.request.findings);
        for tool in &tools::LIST_TOOLS {
            let here: Vec<DeviceInfo> = machine
                .devices
                .iter()
                .filter(|device| device.device.backend == tool.backend)
                .cloned()
                .collect();
            let Some(listed) = tool.ask() else { continue };
            // Without GPUs, do not report the leftover tool of a removed driver.
            if listed.is_err() && here.is_empty() {
                continue;
            }
            let hidden_by = tool
                .hiding
                .iter()
                .copied()
                .filter(|name| std::env::var_os(name).is_some())
                .collect();
            evidence.inventories.push(Inventory {
                tool: tool.name,
                backend: tool.backend,
                listed,
                here,
                hidden_by,
            });
        }
        let why = "neither rocminfo nor nvidia-smi lists a GPU here";
        evidence.reason = Some(Reason::new(
            "inventory",
            why,
            "install the tool of the GPU's vendor and put it on PATH",
        ));
    }

    fn compile_modules(&self, evidence: &mut CheckEvidence, until: Instant) {
        const LIMIT: Duration = Duration::from_mins(2);
        let why = "no device here uses hiprtc or NVRTC; other backends compile within their own \
                   cases";
        evidence.reason = Some(Reason::new(
            "modules",
            why,
            "check an AMD or NVIDIA GPU with its vendor's runtime",
        ));
        let Ok(dir) = tempfile::tempdir() else { return };
        for device in
            self.devices.iter().filter(|device| device.device.backend.compiles().is_some())
        {
            let Some(arch) = expected::arch(device) else { continue };
            for source in SOURCES.iter().copied() {
                let left = until.saturating_duration_since(Instant::now()).min(LIMIT);
                if left.is_zero() || interrupt::is_requested() {
                    return;
                }
                let code = dir.path().join(source);
                let program = &self.request.workers.program;
                let compiled =
                    child::compile_in_child(program, device.device, arch, source, &code, left);
                evidence.modules.push(CompiledModule {
                    device: device.device,
                    source,
                    error: compiled.err(),
                });
                if source == "memory" && device.device.backend == BackendId::Rocm && code.is_file()
                {
                    let loads = tools::chase_loads(&code);
                    evidence.chases.push(PointerChaseLoads { device: device.device, loads });
                }
            }
        }
    }

    fn try_mutants(&self, evidence: &mut CheckEvidence, until: Instant) {
        for (position, device) in self.devices.iter().map(|device| device.device).enumerate() {
            // Divide the time among the remaining devices.
            let share = u32::try_from(self.devices.len() - position).unwrap_or(1);
            let left = until.saturating_duration_since(Instant::now()) / share;
            let outcome = child::mutants(&self.request.workers.program, device, left);
            evidence.mutants.push(DeviceMutants { device, outcome });
        }
        evidence.reason = evidence.mutants.iter().find_map(|mutants| {
            mutants.outcome.as_ref().ok()?.iter().find_map(|one| one.skipped.clone())
        });
    }

    /// Sets a profiler in `settings`, if a card and a profiler are available. The profiler's output
    /// directory is removed when the returned value is dropped.
    fn profile(
        &self,
        settings: &mut Settings,
        evidence: &mut CheckEvidence,
    ) -> Result<Option<(tempfile::TempDir, &'static str)>, EngineError> {
        for device in self.devices.iter().filter(|device| plan::is_card(device)) {
            let tool = match device.device.backend {
                BackendId::Rocm => "rocprofv3",
                BackendId::Cuda => "nsys",
                _ => continue,
            };
            match Profiler::here(tool) {
                Ok(profiler) => {
                    let dir = tempfile::tempdir().context(measure::NO_SCRATCH)?;
                    settings.profiler = Some(profiler.keeping_in(dir.path().to_owned()));
                    return Ok(Some((dir, tool)));
                }
                Err(reason) => {
                    let (cache, time_us) = ("cold".to_owned(), Err(reason));
                    evidence.kernel_times.push(KernelTime {
                        device: device.device,
                        cache,
                        tool,
                        time_us,
                    });
                }
            }
        }
        Ok(None)
    }

    /// Runs other programs that do the same work as the cases of check `number`.
    fn rivals(&self, number: u8) -> Vec<VendorToolResult> {
        let cards =
            self.devices.iter().filter(|device| plan::is_card(device)).map(|device| device.device);
        match number {
            7 => cards
                .filter(|device| device.backend != BackendId::Vulkan)
                .map(tools::babelstream)
                .collect(),
            12 => {
                let has_torch = self.run.environment.frameworks.contains_key("torch");
                let python: Option<PathBuf> = rsb_probe::python_program().filter(|_| has_torch);
                cards
                    .filter(|device| matches!(device.backend, BackendId::Rocm | BackendId::Cuda))
                    .flat_map(|device| tools::products(device, python.as_deref()))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// Measures the first case of some checks again; on a card, ten minutes after the first time.
    fn measure_again(
        &mut self,
        evidence: &mut CheckEvidence,
        until: Instant,
        listener: &mut Listener<'_>,
    ) -> Result<(), EngineError> {
        if self.measured.is_empty() {
            for number in plan::AGAIN {
                let plan = plan::of_check(number, &self.devices, self.request.machine)
                    .map_err(EngineError::usage)?;
                let plan = Plan { skipped: Vec::new(), failed: Vec::new(), ..plan };
                let settings = plan::settings(number, self.has_card);
                let results = self.measure(&first_of_each(plan), &settings, until, listener)?;
                for result in &results {
                    self.run.keep(result.clone());
                }
                self.measured.insert(number, results);
            }
        }
        let earliest = self.measured.values().flatten().map(|result| result.timestamp).min();
        if let Some(earliest) = earliest.filter(|_| self.has_card) {
            let passed =
                u64::try_from(Timestamp::now().as_second() - earliest.as_second()).unwrap_or(0);
            let left = until.saturating_duration_since(Instant::now()).saturating_sub(REPEAT_TAKES);
            wait(REPEAT_AFTER.saturating_sub(Duration::from_secs(passed)).min(left), listener);
        }
        for (number, results) in &self.measured {
            let cases = results
                .iter()
                .filter(|result| matches!(result.outcome, Outcome::Measured | Outcome::Simulated))
                .filter_map(BenchmarkResult::case)
                .collect();
            let plan = first_of_each(Plan { cases, ..Plan::default() });
            let settings = plan::settings(*number, self.has_card);
            if !plan.cases.is_empty() && !interrupt::is_requested() {
                evidence.results.extend(self.measure(&plan, &settings, until, listener)?);
            }
            evidence.before.extend(results.iter().cloned());
        }
        Ok(())
    }
}

/// Returns `plan` with only the first case of each device.
fn first_of_each(mut plan: Plan) -> Plan {
    let mut seen = Vec::new();
    plan.cases.retain(|case: &Case| {
        let is_first = !seen.contains(&case.device);
        seen.push(case.device);
        is_first
    });
    plan
}

/// Waits for `time`, or until the user interrupts.
fn wait(time: Duration, listener: &mut Listener<'_>) {
    const GLANCE: Duration = Duration::from_millis(200);
    if time > GLANCE {
        listener(&Event::note(format!("waiting {} s before measuring again", time.as_secs())));
    }
    let until = Instant::now() + time;
    while Instant::now() < until && !interrupt::is_requested() {
        std::thread::sleep(GLANCE.min(until.saturating_duration_since(Instant::now())));
    }
}

/// Reads the kernel times of `results` from the output files of `tool`.
fn kernel_times(results: &[BenchmarkResult], tool: &'static str) -> Vec<KernelTime> {
    let mut times = Vec::new();
    for result in results {
        let Some(device) = result.benchmark_id.device().device() else { continue };
        let files =
            result.metadata.get("profile").and_then(|profile| profile.get("files")?.as_array());
        let files: Vec<PathBuf> =
            files.into_iter().flatten().filter_map(|file| Some(file.as_str()?.into())).collect();
        if files.is_empty() {
            continue;
        }
        let cache =
            result.fields().and_then(|fields| fields.text("cache")).unwrap_or_default().to_owned();
        times.push(KernelTime {
            device,
            cache,
            tool,
            time_us: tools::kernel_time_of(tool, &files),
        });
    }
    times
}
