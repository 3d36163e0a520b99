//! Drives the engine without a terminal: plans, measures with a scripted device, follows the
//! events, and judges. All results are values.
//!
//! This test is a separate program, because the engine starts its workers as children of its own
//! program.

#![allow(clippy::unwrap_used)]

use std::process::ExitCode;

use rsb_catalog::plan::{self, Machine};
use rsb_catalog::selection::Selection;
use rsb_device::scripted::{Clock, Script, ScriptedDevice};
use rsb_device::{Backend, Device, DeviceInfo, Operation, Registry};
use rsb_engine::measure::{Count, Settings};
use rsb_engine::run::{self, FinishedRun};
use rsb_engine::{Event, WorkerCommand, worker};
use rsb_gate::gate::{Basis, Judge, MissingSide, StoredRequest};
use rsb_gate::policy::Thresholds;
use rsb_gate::{Directories, gate};
use rsb_model::record::Comparison;
use rsb_model::{
    BackendId, DeviceType, Environment, Outcome, Profile, Reason, ReasonCode, Run, RunStatus,
    Suite, Verdict,
};
use rsb_store::Store;

/// Factor by which all times of the scripted device are multiplied.
const SLOWER: &str = "DRIVE_SLOWER";

/// A backend with one scripted device.
struct Scripted;

impl Scripted {
    fn device() -> ScriptedDevice {
        let slower: f64 =
            std::env::var(SLOWER).ok().and_then(|text| text.parse().ok()).unwrap_or(1.0);
        let time = move |launch: u64, operation: &Operation| {
            // A little reproducible noise, because an interval of zero width would not test the
            // verdict.
            (operation.flops() / 10.0).max(1000.0) * slower * (1.0 + (launch % 5) as f64 / 1000.0)
        };
        ScriptedDevice::new(Script::with_clock(Clock::Function(Box::new(time))))
    }
}

impl Backend for Scripted {
    fn id(&self) -> BackendId {
        BackendId::Cpu
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, Reason> {
        Ok(vec![Self::device().info().clone()])
    }

    fn open(&self, _: u32) -> Result<Box<dyn Device>, Reason> {
        Ok(Box::new(Self::device()))
    }
}

fn machine() -> Machine {
    Machine {
        devices: Scripted.devices().unwrap(),
        missing: Vec::new(),
        broken: Vec::new(),
        sensors: Vec::new(),
        readiness: |name| {
            Err(Reason::new(name, "frameworks are not part of this test", "none is needed"))
        },
    }
}

fn selection() -> Selection {
    let axis = |name: &str, value: &str| (name.to_owned(), vec![value.to_owned()]);
    Selection {
        names: vec!["gemm".to_owned()],
        axes: vec![axis("dtype", "f32,f64"), axis("shape", "32x32x32")]
            .into_iter()
            .map(|(name, values)| (name, values[0].split(',').map(str::to_owned).collect()))
            .collect(),
        ..Selection::new(Suite::Quick, Profile::Quick)
    }
}

/// Measures on a device that takes `slower` times as long. Returns the run and all its events.
fn measured(store: &Store, slower: f64) -> (FinishedRun, Vec<Event>) {
    let plan = plan::plan(&selection(), &machine()).unwrap();
    let mut settings = Settings::of(Profile::Quick);
    settings.replicates = Count::exactly(5);
    settings.runs = Count::exactly(10);
    let mut workers = WorkerCommand::this_program().unwrap();
    workers.environment.push((SLOWER, Some(slower.to_string())));
    let mut events = Vec::new();
    let finished = run::measure(
        &plan,
        &run::suite_name(&selection()),
        &settings,
        store,
        Environment::default(),
        &workers,
        &mut |event: &Event| events.push(event.clone()),
    );
    (finished.unwrap_or_else(|error| panic!("{:#}", error.error)), events)
}

/// Returns the run as if a CPU had measured it, because simulated results are never judged.
fn as_measured(run: &Run) -> Run {
    let mut run = run.clone();
    for result in &mut run.benchmarks {
        (result.outcome, result.device_type) = (Outcome::Measured, Some(DeviceType::Cpu));
    }
    run
}

fn drive() {
    let scratch = tempfile::tempdir().unwrap();
    let results = scratch.path().join("results");
    let store = Store::open_for_writing(&results).unwrap();
    let (before, events) = measured(&store, 1.0);
    let (after, _) = measured(&store, 1.5);

    let cases = before.run.benchmarks.len();
    assert_eq!((before.status, cases), (RunStatus::Complete, 2), "{:?}", before.run.benchmarks);
    let file = before.stored.as_ref().unwrap();
    assert!(file.starts_with(&results) && file.is_file());
    assert!(
        before
            .run
            .benchmarks
            .iter()
            .all(|result| result.outcome == Outcome::Simulated && result.samples.len() == 5)
    );

    // The events must be complete: a start with the id, each replicate, each result, an end.
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::RunStarted { run_id, cases: 2 } if *run_id == before.run.run_id))
    );
    let replicates = events
        .iter()
        .filter(|event| matches!(event, Event::ReplicateStarted { steps: 10, .. }))
        .count();
    let results_told = events.iter().filter(|event| matches!(event, Event::CaseUpdated(_))).count();
    assert_eq!((replicates, results_told), (10, 10));
    assert_eq!(events.last(), Some(&Event::RunEnded(RunStatus::Complete)));

    let directories = Directories::new(Some(results), Some(scratch.path().join("baselines")), None);
    let judge = Judge::load(directories.clone(), &Thresholds::new(), None, Vec::new(), &mut |_| {});
    let judge = judge.unwrap_or_else(|error| panic!("{:#}", error.error));
    assert!(
        !judge
            .judge(std::slice::from_ref(&before.run), std::slice::from_ref(&after.run))
            .verdict
            .is_decided(),
        "simulated values must not be judged"
    );
    let [fast, slow] = [&before.run, &after.run].map(as_measured);
    let result = judge.judge(std::slice::from_ref(&fast), std::slice::from_ref(&slow));
    assert_eq!(result.verdict, Verdict::Regressed, "{result:?}");
    let times = result.comparisons.iter().filter(|row| row.metric == "time_ms");
    assert_eq!(
        times.map(|row| row.verdict).collect::<Vec<_>>(),
        [Verdict::Regressed; 2],
        "{result:?}"
    );
    let copy = judge.judge(std::slice::from_ref(&fast), &[as_measured(&fast)]);
    let is_copy =
        |row: &Comparison| row.metric != "time_ms" || row.reason_code == ReasonCode::SameSamples;
    assert!(copy.comparisons.iter().all(is_copy), "{copy:?}");
    let mut again = as_measured(&fast);
    let samples = again.benchmarks.iter_mut().flat_map(|case| &mut case.samples);
    samples.flat_map(|samples| &mut samples.times_ns).for_each(|time| *time *= 1.002);
    assert_eq!(judge.judge(std::slice::from_ref(&fast), &[again]).verdict, Verdict::Unchanged);

    // The policy of the project must be applied.
    std::fs::create_dir_all(&directories.baselines).unwrap();
    std::fs::write(directories.policy.path(), "threshold_percent = 80.0\n").unwrap();
    let lenient =
        Judge::load(directories.clone(), &Thresholds::new(), None, Vec::new(), &mut |_| {});
    let lenient = lenient.unwrap_or_else(|error| panic!("{:#}", error.error));
    assert_eq!(lenient.judge(&[fast], &[slow]).verdict, Verdict::Unchanged);

    // Without a baseline, the result is a value without a verdict, not an error.
    let judgment = gate::judge_stored(&judge, &StoredRequest::default(), &mut |_| {});
    let judgment = judgment.unwrap_or_else(|error| panic!("{:#}", error.error));
    assert!(
        matches!(&judgment.basis, Basis::Nothing { why, lack: MissingSide::Baseline } if why.contains("baseline save")),
        "{judgment:?}"
    );
}

fn main() -> ExitCode {
    if let Some(ended) = worker::as_child_of(&Registry::new(vec![Box::new(Scripted)])) {
        return ended;
    }
    // A test runner lists tests with these arguments, and this program has no test harness.
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|argument| argument == "--list") {
        if !arguments.iter().any(|argument| argument == "--ignored") {
            println!("the_engine_is_driven_without_a_terminal: test");
        }
        return ExitCode::SUCCESS;
    }
    drive();
    ExitCode::SUCCESS
}
