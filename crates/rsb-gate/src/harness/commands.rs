//! Benchmarks behind a command, which measures all cases and writes output in a format that can be
//! imported.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use rsb_engine::judged;
use rsb_model::{CaseId, Outcome, Reason};
use rsb_store::import::{self, Format};

use super::executables::run_to_success;
use super::{LISTING, SamplesByCase};

/// Placeholder for the file that the command writes; without it, its standard output is read.
const OUTPUT: &str = "{output}";

/// Commands that measure a project without a supported harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchCommand {
    /// Shell command that builds it; `None` if nothing needs to be built.
    pub build: Option<String>,
    /// Shell command that measures it.
    pub bench: String,
    /// Format of its output.
    pub format: Format,
}

/// A bench command in a built tree.
#[derive(Debug)]
pub struct CommandBenches {
    command: BenchCommand,
    tree: PathBuf,
    ids: Vec<CaseId>,
}

impl CommandBenches {
    /// Runs the command once to list its cases.
    ///
    /// # Errors
    /// If it fails or measures nothing.
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

    /// Returns the ids of the cases that were listed.
    pub fn ids(&self) -> impl Iterator<Item = &CaseId> {
        self.ids.iter()
    }

    /// Runs the command once and returns the samples of every measured case.
    pub(super) fn measure(&self, scratch: &Path, limit: Duration) -> Result<SamplesByCase, Reason> {
        let BenchCommand { bench, format, .. } = &self.command;
        let file = scratch.join("output");
        let mut command = shell(&bench.replace(OUTPUT, &file.display().to_string()), &self.tree);
        let output = run_to_success(&mut command, limit).map_err(|why| self.failure(why))?;
        if !bench.contains(OUTPUT) {
            std::fs::write(&file, &output.stdout)
                .map_err(|error| self.failure(format!("cannot write its output: {error}")))?;
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
                    "its output has the case {id} twice: give each case a unique name"
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

/// Runs the build `command`, if there is one, in `tree`. Returns whether it succeeded. Its output
/// goes to standard error.
///
/// # Errors
/// If the shell cannot be started.
pub(crate) fn build(command: Option<&str>, tree: &Path) -> anyhow::Result<bool> {
    let Some(text) = command else { return Ok(true) };
    let mut command = shell(text, tree);
    command.stdin(Stdio::null()).stdout(std::io::stderr());
    Ok(command.status().context("cannot start /bin/sh")?.success())
}

/// Creates a shell command that runs `text` in `tree`.
fn shell(text: &str, tree: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", text]).current_dir(tree);
    judged::isolate(&mut command);
    command
}
