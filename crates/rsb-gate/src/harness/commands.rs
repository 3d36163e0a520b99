//! Benchmarks behind a command: it measures everything, and its output is read as that of a tool
//! which can be imported.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use rsb_engine::judged;
use rsb_model::{CaseId, Outcome, Reason};
use rsb_store::import::{self, Format};

use super::executables::run_to_success;
use super::{LISTING, SamplesByCase};

/// What stands for the file that the command writes; without it, what it prints is read.
const OUTPUT: &str = "{output}";

/// How a project without a harness that is known here is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchCommand {
    /// What builds it, for a shell; nothing where nothing needs to be built.
    pub build: Option<String>,
    /// What measures it, for a shell.
    pub bench: String,
    /// What its output is.
    pub format: Format,
}

/// The command in a tree where it was built.
#[derive(Debug)]
pub struct CommandBenches {
    command: BenchCommand,
    tree: PathBuf,
    ids: Vec<CaseId>,
}

impl CommandBenches {
    /// Runs the command once, to learn which cases it has.
    ///
    /// # Errors
    /// When it fails, or measures nothing.
    pub fn list(
        command: BenchCommand,
        tree: PathBuf,
        scratch: &Path,
        limit: Duration,
    ) -> Result<Self, Reason> {
        let mut listed = Self { command, tree, ids: Vec::new() };
        listed.ids = listed.measure(scratch, limit.max(LISTING))?.into_keys().collect();
        Ok(listed)
    }

    /// The cases that it had when it was asked.
    pub fn ids(&self) -> impl Iterator<Item = &CaseId> {
        self.ids.iter()
    }

    /// Runs the command once: the samples of every case that it measured.
    pub(super) fn measure(&self, scratch: &Path, limit: Duration) -> Result<SamplesByCase, Reason> {
        let BenchCommand { bench, format, .. } = &self.command;
        let file = scratch.join("output");
        let mut command = shell(&bench.replace(OUTPUT, &file.display().to_string()), &self.tree);
        let output = run_to_success(&mut command, limit).map_err(|why| self.failure(why))?;
        if !bench.contains(OUTPUT) {
            std::fs::write(&file, &output.stdout)
                .map_err(|error| self.failure(format!("no room for its output: {error}")))?;
        }
        let run = import::import(&file, Some(*format))
            .map_err(|error| self.failure(error.to_string()))?;
        let mut measured = SamplesByCase::new();
        for result in
            run.benchmarks.into_iter().filter(|result| result.outcome == Outcome::Measured)
        {
            let mut samples = result.samples.into_iter();
            let Some(mut all) = samples.next() else { continue };
            for repetition in samples {
                all.iters.extend(repetition.iters);
                all.times_ns.extend(repetition.times_ns);
            }
            let id = result.benchmark_id;
            if measured.insert(id.clone(), all).is_some() {
                return Err(self.failure(format!(
                    "its output has the case {id} twice: give each case a name of its own"
                )));
            }
        }
        if measured.is_empty() {
            Err(self.failure(format!("its output has no times ({format})")))
        } else {
            Ok(measured)
        }
    }

    fn failure(&self, why: String) -> Reason {
        Reason::new(
            format!("the command `{}`", self.command.bench),
            why,
            "run it by hand in the tree of its revision to see more",
        )
    }
}

/// Has `command`, if there is one, build in `tree`; whether it could. What it says goes to standard
/// error.
///
/// # Errors
/// When no shell starts.
pub(crate) fn build(command: Option<&str>, tree: &Path) -> anyhow::Result<bool> {
    let Some(text) = command else { return Ok(true) };
    let mut command = shell(text, tree);
    command.stdin(Stdio::null()).stdout(std::io::stderr());
    Ok(command.status().context("cannot start /bin/sh")?.success())
}

/// `text` for a shell, in `tree`.
fn shell(text: &str, tree: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", text]).current_dir(tree);
    judged::isolate(&mut command);
    command
}
