//! Records pairs of fresh processes of one and the same program, for `cargo xtask gate-study`: what the gate says of
//! them is known to be wrong unless it says Unchanged.
//!
//! `cargo run --release --example record_pairs -- FILE PAIRS [busy]` writes both sides as two runs. With `busy`, another
//! thread keeps a core busy with arithmetic and copies all the while.
#![allow(clippy::print_stderr)] // A tool for whoever works on this: its messages may end it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use rsb_engine::WorkerCommand;
use rsb_engine::measure::{self, Count, Settings};
use rsb_engine::plan::{self, Machine, Selection};
use rsb_model::{Environment, Run, RunId, Timestamp};
use rsb_model::{Profile, Suite};

fn main() -> ExitCode {
    if let Some(ended) = measure::as_child() {
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
    let (file, pairs, busy) = match arguments {
        [file, pairs] => (PathBuf::from(file), pairs, false),
        [file, pairs, word] if word == "busy" => (PathBuf::from(file), pairs, true),
        _ => bail!("usage: record_pairs FILE PAIRS [busy]"),
    };
    let mut settings = Settings::of(Profile::Quick);
    settings.replicates = Count::asked(pairs.parse().context("PAIRS is a number")?);
    settings.limits.suite = std::time::Duration::from_hours(24);
    if busy {
        std::thread::spawn(keep_busy);
    }
    let environment = rsb_probe::environment(&rsb_probe::ProbeOptions::default());
    let plan = plan::plan(&quick(), &machine()?)?;
    let command = WorkerCommand::this_program()?;
    let started = Timestamp::now();
    let (both, _) =
        measure::interleaved(&plan.cases, &settings, &[command.clone(), command], (&environment, &mut |_| {}))?;
    let side = |name: &str, results: &[rsb_model::BenchmarkResult]| {
        let name = RunId(name.to_owned());
        let mut run = Run::begin(name, started, "quick", "quick", Environment { git: None, ..environment.clone() });
        for result in results {
            run.keep(result.clone());
        }
        run
    };
    let sides = [side("first", &both.baseline), side("second", &both.current)];
    std::fs::write(&file, serde_json::to_vec(&sides)?).with_context(|| format!("cannot write {}", file.display()))
}

fn quick() -> Selection {
    Selection {
        names: Vec::new(),
        suite: Suite::Quick,
        custom: Vec::new(),
        backend: Some(rsb_model::BackendId::Cpu),
        devices: Vec::new(),
        axes: Vec::new(),
        profile: Profile::Quick,
    }
}

fn machine() -> Result<Machine> {
    let mut devices = Vec::new();
    for backend in rsb_engine::backends::backends() {
        if backend.id() == rsb_model::BackendId::Cpu {
            devices.extend(backend.devices().map_err(|reason| anyhow::anyhow!("{reason}"))?);
        }
    }
    let readiness = rsb_engine::frameworks::readiness;
    Ok(Machine { devices, missing: Vec::new(), broken: Vec::new(), sensors: Vec::new(), readiness })
}

/// Arithmetic and copies alternating, some milliseconds each, for ever.
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
