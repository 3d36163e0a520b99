//! A trial: a run of the gate, with its results as a line of the record.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::{PublicStudy, Regression, check_out};
use crate::project_study::{BusyProcesses, count_of_criterion, program};

/// Purpose of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TrialKind {
    /// The gate without other options, in a fresh clone.
    First,
    /// Two builds of the same code.
    Unchanged,
    /// A commit documented to be slower.
    Regression,
    /// The same as `Regression`, measured by Criterion.
    Criterion,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Trial {
    pub(super) kind: TrialKind,
    pub(super) project: String,
    pub(super) commit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) base: Option<String>,
    /// Number of processes that kept CPUs busy during the measurement.
    pub(super) busy: usize,
    pub(super) date: String,
    /// Newest commit that changed the gate.
    pub(super) program: String,
    pub(super) cpu: String,
    pub(super) exit: i32,
    /// Seconds from the start to the verdict; the next field has those to the end of the builds.
    pub(super) seconds: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) building_seconds: Option<f64>,
    pub(super) cases: usize,
    pub(super) unchanged: usize,
    pub(super) improved: usize,
    pub(super) undecided: usize,
    pub(super) missing: usize,
    pub(super) regressed: Vec<Slowed>,
    /// Last printed line, if there is no JSON document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) criterion: Option<ByCriterion>,
}

/// A case that the gate called Regressed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Slowed {
    pub(super) id: String,
    pub(super) percent: f64,
}

/// Verdicts of Criterion on the same two commits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ByCriterion {
    pub(super) cases: usize,
    /// Number of cases reported as “Performance has regressed”.
    pub(super) regressed: usize,
    /// Number of cases whose mean is more than 5 % higher, as by `critcmp --threshold 5`.
    pub(super) over_five_percent: usize,
    pub(super) seconds: f64,
}

#[derive(Deserialize)]
struct GateDocument {
    comparisons: Vec<GateRow>,
    missing: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct GateRow {
    id: String,
    verdict: String,
    difference_percent: Option<f64>,
}

impl Trial {
    pub(super) fn new(kind: TrialKind, project: &str, commit: &str, busy: usize) -> Self {
        Self {
            kind,
            project: project.to_owned(),
            commit: commit.to_owned(),
            base: None,
            busy,
            date: first_line(Command::new("date").args(["-u", "+%F"])),
            program: first_line(Command::new("git").current_dir(crate::workspace::root()).args([
                "log",
                "-1",
                "--format=%h",
                "--",
                "src",
                "crates/rsb-gate",
            ])),
            cpu: cpu(),
            exit: 0,
            seconds: 0.0,
            building_seconds: None,
            cases: 0,
            unchanged: 0,
            improved: 0,
            undecided: 0,
            missing: 0,
            regressed: Vec::new(),
            message: None,
            criterion: None,
        }
    }

    pub(super) fn is_of(&self, regression: &Regression) -> bool {
        self.commit == regression.bad && self.base.as_ref() == Some(&regression.good)
    }

    /// Runs `gate` in `dir` and records its verdicts. The busy processes start after the builds.
    pub(super) fn gate(
        &mut self,
        study: &PublicStudy<'_>,
        dir: &Path,
        arguments: &[&str],
        cargo: &[String],
    ) -> Result<()> {
        let mut command = Command::new(program()?);
        command.current_dir(dir).arg("gate").args(arguments).arg("--json");
        if !cargo.is_empty() {
            command.arg("--").args(cargo);
        }
        command
            .env("RSB_CACHE_DIR", study.clones.join("builds").join(&self.project))
            .env_remove("CARGO_TARGET_DIR")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let began = Instant::now();
        let mut child = command.spawn().context("cannot start the program")?;
        let (Some(mut stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            bail!("the program has no output");
        };
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).map(|_| text)
        });
        let mut last = String::new();
        let mut busy = None;
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if line.starts_with("measuring ") && self.building_seconds.is_none() {
                self.building_seconds = Some(rounded(began.elapsed().as_secs_f64()));
                busy = Some(BusyProcesses::start(self.busy)?);
            }
            if !line.trim().is_empty() {
                last = line;
            }
        }
        let Ok(text) = reader.join() else { bail!("the output cannot be read") };
        let status = child.wait().context("cannot wait for the program")?;
        drop(busy);
        self.seconds = rounded(began.elapsed().as_secs_f64());
        self.exit = status.code().unwrap_or(-1);
        match serde_json::from_str::<GateDocument>(&text?) {
            Ok(document) => self.take(document),
            Err(_) => self.message = Some(last),
        }
        Ok(())
    }

    fn take(&mut self, document: GateDocument) {
        self.missing = document.missing.len();
        self.cases = document.comparisons.len();
        for row in document.comparisons {
            match row.verdict.as_str() {
                "Unchanged" => self.unchanged += 1,
                "Improved" => self.improved += 1,
                "Regressed" => self.regressed.push(Slowed {
                    id: row.id,
                    percent: rounded(row.difference_percent.unwrap_or_default()),
                }),
                _ => self.undecided += 1,
            }
        }
    }

    /// Measures the two commits one after the other with Criterion, one second per case, and
    /// records its verdicts.
    pub(super) fn criterion(
        &mut self,
        study: &PublicStudy<'_>,
        clone: &Path,
        regression: &Regression,
    ) -> Result<()> {
        let began = Instant::now();
        let _busy = BusyProcesses::start(self.busy)?;
        let mut text = String::new();
        for (commit, verb) in
            [(&regression.good, "--save-baseline"), (&regression.bad, "--baseline")]
        {
            check_out(clone, commit)?;
            let mut command = Command::new("cargo");
            command
                .current_dir(clone.join(&regression.dir))
                .env("CARGO_TARGET_DIR", study.clones.join("criterion").join(&self.project))
                .stderr(Stdio::null());
            command.arg("bench").args(&regression.cargo).args(["--", verb, "study", "--noplot"]);
            command.args(["--warm-up-time", "1", "--measurement-time", "1"]);
            command
                .args((!regression.benchmarks.is_empty()).then(|| regression.benchmarks.join("|")));
            let output = command.output().context("cannot start cargo")?;
            if !output.status.success() {
                // bencher and Divan do not support baselines.
                return Ok(());
            }
            text = String::from_utf8_lossy(&output.stdout).into_owned();
        }
        let [cases, regressed, over_five_percent] = count_of_criterion(&text);
        let seconds = rounded(began.elapsed().as_secs_f64());
        self.criterion = Some(ByCriterion { cases, regressed, over_five_percent, seconds });
        Ok(())
    }

    pub(super) fn summary(&self) -> String {
        let slowed: Vec<String> = self
            .regressed
            .iter()
            .map(|case| format!("{} {:+.1} %", case.id, case.percent))
            .collect();
        format!(
            "{} {:?} at {} busy: exit {} in {:.0} s ({:.0} s building), {} cases: {} unchanged, {} \
             improved, {} undecided, {} missing, regressed [{}] {}",
            self.project,
            self.kind,
            self.busy,
            self.exit,
            self.seconds,
            self.building_seconds.unwrap_or_default(),
            self.cases,
            self.unchanged,
            self.improved,
            self.undecided,
            self.missing,
            slowed.join(", "),
            self.message.as_deref().unwrap_or_default()
        )
    }
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Returns the first line that a command prints; empty if it cannot be started.
fn first_line(command: &mut Command) -> String {
    let output = command.stderr(Stdio::null()).output();
    output.ok().map_or_else(String::new, |output| {
        String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
    })
}

fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {threads} threads", name.map_or("unknown", |(_, name)| name))
}
