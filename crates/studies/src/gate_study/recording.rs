//! A recording: rounds of pairs of processes of two programs, and the time of each pair.
//!
//! The first program is HEAD. The second is another build of the same source in which three
//! functions do part of their work twice and take about 15 % longer (`slower.patch`; the tables
//! contain the measured slowdowns). It shows how often a change in the source is found, and how
//! often two builds of an unchanged function are called different.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use rsb_model::{BenchmarkResult, Outcome, Run, Samples};
use serde::Deserialize;

use crate::workspace::{root, target};

/// Parts of the ids of the cases that the patch slows down.
const SLOWED: [&str; 3] = ["/gelu/", "/softmax/", "/sum/"];

/// Path of the patch, relative to the workspace root.
const PATCH: &str = "crates/studies/src/gate_study/slower.patch";

pub(super) struct Recording {
    blank: Run,
    rounds: usize,
    busy: String,
    load_averages: Vec<f64>,
    commit: String,
    /// The cases that every round measured.
    pub(super) cases: Vec<RecordedCase>,
}

/// A case measured with both programs.
pub(super) struct RecordedCase {
    /// Record of the case, without samples.
    pub(super) result: BenchmarkResult,
    /// The samples of the two processes of each round.
    pub(super) rounds: Vec<[Samples; 2]>,
    /// Seconds per pair, including start-up and verification.
    pub(super) seconds: f64,
    /// Whether the patch slows down the case in the second program.
    pub(super) is_slowed: bool,
}

/// A round as stored on disk.
#[derive(Deserialize)]
struct Round {
    load_average: f64,
    sides: [Run; 2],
}

/// Records `rounds` more rounds into `dir`, while `busy` threads keep CPUs busy. Builds both
/// programs first if they do not exist.
pub(super) fn record(dir: &Path, rounds: usize, busy: usize) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let dir = std::path::absolute(dir)?;
    let programs = build(&dir)?;
    let file = dir.join("busy");
    let known = std::fs::read_to_string(&file)
        .map_or_else(|_| busy.to_string(), |text| text.trim().to_owned());
    if known != busy.to_string() {
        bail!(
            "{} was recorded with --busy {known}: continue with that, or record into another \
             directory",
            dir.display()
        );
    }
    std::fs::write(file, &known)?;
    let mut command = Command::new("cargo");
    command.args(["run", "--release", "--example", "record_rounds", "--"]).arg(&dir).args(programs);
    run(command.args([rounds.to_string(), known]).current_dir(root()), "recording failed")
}

/// Builds both programs from HEAD in the same directory: without the patch and with it.
fn build(dir: &Path) -> Result<[PathBuf; 2]> {
    let programs = ["first", "second"].map(|name| dir.join(name));
    if programs.iter().all(|program| program.exists()) {
        return Ok(programs);
    }
    let tree = target().join("gate-study-tree");
    let place = tree.to_string_lossy().into_owned();
    run_git(&["worktree", "add", "--force", "--detach", &place, "HEAD"])?;
    let built = programs.iter().enumerate().try_for_each(|(at, program)| {
        if at == 1 {
            let patch = root().join(PATCH);
            run_git(&["-C", &place, "apply", &patch.to_string_lossy()])?;
        }
        let output = target().join("gate-study-build");
        let mut cargo = Command::new("cargo");
        cargo
            .args(["build", "--release", "--bin", "rusty-stack-bench"])
            .env("CARGO_TARGET_DIR", &output);
        run(cargo.current_dir(&tree), "a program does not build")?;
        let from = output.join("release").join("rusty-stack-bench");
        std::fs::copy(&from, program).with_context(|| format!("cannot copy {}", from.display()))?;
        Ok(())
    });
    let head =
        Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root()).output()?;
    std::fs::write(dir.join("commit"), head.stdout)?;
    run_git(&["worktree", "remove", "--force", &place])?;
    built.map(|()| programs)
}

fn run_git(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("git");
    run(command.args(arguments).current_dir(root()), "git failed")
}

/// Returns the trimmed text of a file; empty if it cannot be read.
fn read_trimmed(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn run(command: &mut Command, otherwise: &str) -> Result<()> {
    if !command.status()?.success() {
        bail!("{otherwise}");
    }
    Ok(())
}

impl Recording {
    pub(super) fn read(dir: &Path) -> Result<Self> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
            .with_context(|| format!("cannot read {}", dir.display()))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        files.sort();
        let rounds = files.iter().map(|file| Self::round(file)).collect::<Result<Vec<Round>>>()?;
        let (busy, commit) = (read_trimmed(&dir.join("busy")), read_trimmed(&dir.join("commit")));
        Self::of(&rounds, busy, commit)
            .with_context(|| format!("{} has no case that every round measured", dir.display()))
    }

    fn round(file: &Path) -> Result<Round> {
        let text =
            std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} is not a round", file.display()))
    }

    fn of(rounds: &[Round], busy: String, commit: String) -> Option<Self> {
        let first = rounds.first()?;
        let cases =
            first.sides[0].benchmarks.iter().filter_map(|result| RecordedCase::of(result, rounds));
        let cases: Vec<RecordedCase> = cases.collect();
        (!cases.is_empty()).then(|| Self {
            blank: Run { benchmarks: Vec::new(), ..first.sides[0].clone() },
            rounds: rounds.len(),
            busy,
            load_averages: rounds.iter().map(|round| round.load_average).collect(),
            commit,
            cases,
        })
    }

    /// Creates a recording of made-up rounds that take a second each; the first case is slowed.
    #[cfg(test)]
    pub(super) fn made_up(cases: impl Iterator<Item = Vec<[Samples; 2]>>) -> Self {
        use rsb_model::{CaseId, Environment, RunId, Timestamp};
        let name = RunId("made-up".to_owned());
        let blank =
            Run::begin(name, Timestamp::UNIX_EPOCH, "quick", "quick", Environment::default());
        let cases = cases.enumerate().map(|(at, rounds)| RecordedCase {
            result: BenchmarkResult::new(
                CaseId::from_segments(&["cpu_performance", "gemm", "cpu:0", &format!("case{at}")]),
                Timestamp::UNIX_EPOCH,
                Outcome::Measured,
            ),
            rounds,
            seconds: 1.0,
            is_slowed: at == 0,
        });
        let cases: Vec<RecordedCase> = cases.collect();
        let rounds = cases.first().map_or(0, |case| case.rounds.len());
        Self {
            blank,
            rounds,
            busy: String::new(),
            load_averages: Vec::new(),
            commit: String::new(),
            cases,
        }
    }

    pub(super) fn rounds(&self) -> usize {
        self.rounds
    }

    /// Returns a run without results, with the environment of the recording.
    pub(super) fn blank(&self) -> Run {
        self.blank.clone()
    }

    /// Returns a paragraph with the machine, the date and the size of the recording.
    pub(super) fn heading(&self) -> String {
        let environment = &self.blank.environment;
        let cpu = environment.cpu.as_ref().map_or_else(
            || "An unknown CPU".to_owned(),
            |cpu| {
                let guest = cpu
                    .hypervisor
                    .as_ref()
                    .map_or_else(String::new, |name| format!(" under {name}"));
                format!(
                    "{} with {} usable threads{guest}",
                    cpu.model.as_deref().unwrap_or("unknown"),
                    cpu.usable_cores
                )
            },
        );
        let load = rsb_stats::median(&self.load_averages).unwrap_or_default();
        let slowed = self.cases.iter().filter(|case| case.is_slowed).count();
        format!(
            "{cpu}, kernel {}, {}, commit {}. {} rounds of {} cases, {slowed} of them slower in \
             the second program, while {} thread(s) of the recorder kept CPUs busy; median load \
             average {load:.1}.\n",
            environment.kernel.as_deref().unwrap_or("unknown"),
            self.blank.started.to_string().get(..10).unwrap_or_default(),
            self.commit,
            self.rounds,
            self.cases.len(),
            self.busy,
        )
    }
}

impl RecordedCase {
    fn of(first: &BenchmarkResult, rounds: &[Round]) -> Option<Self> {
        let mut each = Vec::new();
        let mut milliseconds = 0.0;
        for round in rounds {
            let mut pair = Vec::new();
            for run in &round.sides {
                let found =
                    run.benchmarks.iter().find(|known| known.benchmark_id == first.benchmark_id)?;
                let [samples] = found.samples.as_slice() else { return None };
                pair.push(samples.clone());
                let cost = ["prepare_ms", "measure_ms", "harness_ms"].iter();
                milliseconds +=
                    cost.filter_map(|name| found.metadata.get(*name)?.as_f64()).sum::<f64>();
            }
            each.push(<[Samples; 2]>::try_from(pair).ok()?);
        }
        (first.outcome == Outcome::Measured).then(|| Self {
            seconds: milliseconds / 1e3 / each.len() as f64,
            is_slowed: SLOWED.iter().any(|part| first.benchmark_id.as_str().contains(part)),
            rounds: each,
            result: BenchmarkResult { samples: Vec::new(), ..first.clone() },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patch_still_fits_the_source() {
        let checked = Command::new("git")
            .args(["apply", "--check", PATCH])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }

    #[test]
    fn a_recording_that_is_not_there_is_named() {
        let error = Recording::read(Path::new("/nonexistent")).err().unwrap();
        assert!(format!("{error:#}").contains("/nonexistent"), "{error:#}");
    }
}
