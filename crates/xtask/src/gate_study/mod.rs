//! `cargo xtask gate-study`: how often the gate is wrong, from processes of one and the same program.
//!
//! Pairs of processes are recorded once and drawn again at random, with slow-downs multiplied in. Every verdict comes
//! from the gate itself; Criterion's own rule judges samples of the same processes beside it.
//!
//! `examples/record_pairs.rs` records them.

mod criterion_rule;
mod recording;
mod replay;
mod table;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::history_study;
use crate::steps::root;
use recording::Recording;
use replay::Mode;

/// Slow-downs that are multiplied in.
const FACTORS: [f64; 7] = [1.0, 1.05, 1.08, 1.12, 1.15, 1.2, 1.5];

const USAGE: &str = "usage: cargo xtask gate-study [--pairs N] [--suites N] [--record FILE | --replay FILE]
       cargo xtask gate-study --history FILE";

struct Options {
    pairs: usize,
    suites: usize,
    record: Option<PathBuf>,
    replay: Option<PathBuf>,
}

/// Records, unless a recording is given, and prints the study as Markdown; or replays a series of stored runs.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let [flag, file] = arguments
        && flag == "--history"
    {
        return history_study::run(Path::new(file));
    }
    let options = parse(arguments)?;
    let file = options.replay.as_ref().or(options.record.as_ref()).cloned();
    let file = file.unwrap_or_else(|| target().join("gate-study.json"));
    if options.replay.is_none() {
        recording::record(&file, options.pairs)?;
    }
    let recording = Recording::read(&file)?;
    println!("{}", recording.heading());
    println!("{}", table::of_modes(&recording, Mode::Paired, options.suites, &FACTORS));
    println!("{}", table::of_modes(&recording, Mode::KeptProgram, options.suites, &FACTORS));
    println!("{}", table::of_modes(&recording, Mode::Baseline, options.suites, &FACTORS));
    println!("{}", table::of_modes(&recording, Mode::LaterBaseline, options.suites, &[1.0, 1.15]));
    println!("{}", table::of_criterion(&recording, options.suites, &FACTORS));
    println!("{}", table::of_resolution(&recording));
    Ok(())
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options { pairs: 100, suites: 1000, record: None, replay: None };
    let mut arguments = arguments.iter();
    while let Some(name) = arguments.next() {
        let Some(value) = arguments.next() else { bail!("{name} needs a value\n{USAGE}") };
        match name.as_str() {
            "--pairs" => options.pairs = value.parse().with_context(|| format!("--pairs {value}"))?,
            "--suites" => options.suites = value.parse().with_context(|| format!("--suites {value}"))?,
            "--record" => options.record = Some(value.into()),
            "--replay" => options.replay = Some(value.into()),
            other => bail!("unknown argument `{other}`\n{USAGE}"),
        }
    }
    if options.pairs < 2 || options.suites == 0 {
        bail!("a study needs at least 2 pairs and 1 suite");
    }
    Ok(options)
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
