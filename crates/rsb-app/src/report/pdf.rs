//! The PDF of a report: typeset by a program of its own beside this one, which is given the report
//! as values and bounded in time and memory.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use rsb_engine::worker_command;
use rsb_model::Reason;
use timed_child::{ChildAnswer, ChildBounds};

use crate::AppError;

/// The program's name.
const WORKER: &str = "rsb-pdf-worker";
/// A variable that names another program in its place.
const VARIABLE: &str = "RSB_PDF_WORKER";
/// Far beyond what the longest report takes.
const BOUNDS: ChildBounds =
    ChildBounds { time: Duration::from_mins(2), memory_bytes: 3 << 30, answer_bytes: 256 << 20 };

/// The worker.
///
/// # Errors
/// When there is none.
pub(super) fn worker() -> Result<PathBuf, Reason> {
    if let Some(named) = std::env::var_os(VARIABLE).map(PathBuf::from) {
        if named.is_file() {
            return Ok(named);
        }
        let why = format!("{VARIABLE} names {}, which is no file", named.display());
        let cure = format!("name the program `{WORKER}` in it, or unset it");
        return Err(Reason::new("PDF", why, cure));
    }
    let found =
        std::env::current_exe().ok().and_then(|program| worker_command::beside(&program, WORKER));
    found.ok_or_else(|| {
        Reason::new(
            "PDF",
            format!("there is no `{WORKER}` beside this program: the build has no feature `pdf`"),
            "`cargo install --path . --features pdf` builds both; `--format html` is in every \
             build and prints as well",
        )
    })
}

/// What says that there is no worker.
pub(super) fn without(reason: &Reason) -> AppError {
    AppError::usage(anyhow!("no report as PDF: {}; {}", reason.why, reason.cure))
}

/// The PDF of `document`, by `worker`.
///
/// # Errors
/// When it cannot be started, fails, or takes more than its bounds.
pub(super) fn typeset(worker: &Path, document: String) -> anyhow::Result<Vec<u8>> {
    let answer =
        timed_child::run_with_input(&mut Command::new(worker), document.into_bytes(), BOUNDS)
            .with_context(|| format!("cannot start {}", worker.display()))?;
    match answer.status {
        Some(status) if status.success() => Ok(answer.stdout),
        status => Err(anyhow!(
            "no report as PDF: {}; `--format html` needs no other program",
            describe_end(&answer, status)
        )),
    }
}

fn describe_end(answer: &ChildAnswer, status: Option<ExitStatus>) -> String {
    let said = answer
        .stderr
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("it said nothing");
    match status {
        None => format!("`{WORKER}` was stopped after {} s", BOUNDS.time.as_secs()),
        Some(status) => match status.signal() {
            Some(signal) => {
                let most = BOUNDS.memory_bytes >> 30;
                format!(
                    "`{WORKER}` was ended by signal {signal} ({said}); it may take {most} GiB of \
                     memory"
                )
            }
            None => format!("`{WORKER}` failed: {said}"),
        },
    }
}
