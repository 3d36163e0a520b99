//! Records rounds of pairs of fresh processes of two programs, for `cargo xtask gate-study`.
//!
//! `cargo run --release --example record_rounds -- DIR FIRST SECOND ROUNDS BUSY` measures every
//! case of the quick suite once per round, interleaved, and writes each round to a separate file in
//! DIR. A recording can be interrupted: it continues after the last existing round. BUSY threads do
//! arithmetic and copies in the background.
#![allow(clippy::print_stderr)] // A tool for whoever works on this: its messages may end it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rsb_catalog::plan::{self, Machine, Selection};
use rsb_engine::measure::{self, Count, Settings};
use rsb_engine::{WorkerCommand, worker};
use rsb_model::{
    BackendId, BenchmarkResult, Case, Environment, Profile, Run, RunId, Suite, Timestamp,
};
use serde_json::json;

/// Maximum time of a case's pair in the first round; slower cases are not recorded.
const LONGEST: Duration = Duration::from_secs(3);

fn main() -> ExitCode {
    if let Some(ended) = worker::as_child() {
        return ended;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match record(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn record(arguments: &[String]) -> Result<()> {
    let [dir, first, second, rounds, busy] = arguments else {
        bail!("usage: record_rounds DIR FIRST SECOND ROUNDS BUSY")
    };
    let dir = PathBuf::from(dir);
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let programs = [first, second].map(|program| vec![WorkerCommand::of(program.into())]);
    let rounds: u32 = rounds.parse().context("ROUNDS must be a number")?;
    for _ in 0..busy.parse::<usize>().context("BUSY must be a number of threads")? {
        std::thread::spawn(keep_busy);
    }
    let environment = rsb_probe::environment(&rsb_probe::ProbeOptions::default());
    let machine = machine()?;
    for round in (1..).filter(|round| !file(&dir, *round).exists()).take(rounds as usize) {
        let cases = cases(&dir, &machine)?;
        let began = Instant::now();
        let mut settings = Settings {
            replicates: Count::exactly(1),
            first_replicate: round,
            ..Settings::of(Profile::Quick)
        };
        settings.limits.suite = Duration::from_hours(1);
        let mut pairs = measure::WorkerPairs::new(&programs, &settings)?;
        let (both, _) =
            measure::run_interleaved(&cases, &settings, &mut pairs, &environment, &mut |_| {});
        let sides = [
            side("first", &both.baseline, &environment),
            side("second", &both.current, &environment),
        ];
        // Written atomically: an interrupted recording repeats this round.
        let unfinished = dir.join("unfinished");
        std::fs::write(
            &unfinished,
            serde_json::to_vec(&json!({ "load_average": load_average(), "sides": sides }))?,
        )
        .context("cannot write the round")?;
        std::fs::rename(&unfinished, file(&dir, round)).context("cannot write the round")?;
        eprintln!("round {round}: {} cases, {:.0} s", cases.len(), began.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Returns the load average of the last minute.
fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0.0)
}

fn file(dir: &Path, round: u32) -> PathBuf {
    dir.join(format!("round-{round:04}.json"))
}

/// Returns every case of the quick suite, or after the first round, those of them that did not take
/// too long.
fn cases(dir: &Path, machine: &Machine) -> Result<Vec<Case>> {
    let planned = plan::plan(&quick(), machine)?.cases;
    let Ok(text) = std::fs::read(file(dir, 1)) else { return Ok(planned) };
    let Round { sides: [first, second] } =
        serde_json::from_slice(&text).context("cannot read the first round")?;
    let mut cases = Vec::new();
    for case in planned {
        let Some(first) = milliseconds_of(&case, &first) else { continue };
        let Some(second) = milliseconds_of(&case, &second) else { continue };
        if first + second <= 1e3 * LONGEST.as_secs_f64() {
            cases.push(case);
        }
    }
    Ok(cases)
}

/// Returns the time of `case` in `run`, in milliseconds, if it was measured.
fn milliseconds_of(case: &Case, run: &Run) -> Option<f64> {
    let result = run.benchmarks.iter().find(|known| known.benchmark_id == case.id)?;
    let each = ["prepare_ms", "measure_ms", "harness_ms"].iter();
    Some(each.filter_map(|name| result.metadata.get(*name)?.as_f64()).sum())
}

/// A recorded round.
#[derive(serde::Deserialize)]
struct Round {
    sides: [Run; 2],
}

fn side(name: &str, results: &[BenchmarkResult], environment: &Environment) -> Run {
    let environment = Environment { git: None, ..environment.clone() };
    let mut run =
        Run::begin(RunId(name.to_owned()), Timestamp::now(), "quick", "quick", environment);
    for result in results {
        run.keep(result.clone());
    }
    run
}

fn quick() -> Selection {
    Selection { backends: vec![BackendId::Cpu], ..Selection::new(Suite::Quick, Profile::Quick) }
}

fn machine() -> Result<Machine> {
    let mut devices = Vec::new();
    for backend in rsb_catalog::backends::backends() {
        if backend.id() == BackendId::Cpu {
            devices.extend(backend.devices().map_err(|reason| anyhow::anyhow!("{reason}"))?);
        }
    }
    let readiness = rsb_engine::python_worker::readiness;
    Ok(Machine { devices, missing: Vec::new(), broken: Vec::new(), sensors: Vec::new(), readiness })
}

/// Alternates arithmetic and copies, a few milliseconds each, forever.
fn keep_busy() {
    let source = vec![1.0_f32; 8 << 20];
    let mut target = source.clone();
    let mut sum = 1.0_f32;
    loop {
        target.copy_from_slice(std::hint::black_box(&source));
        for value in &mut target {
            sum = sum.mul_add(0.999, *value);
        }
        std::hint::black_box(sum);
    }
}
