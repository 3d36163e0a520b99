//! The PDF of a report, typeset by a separate program next to this one, which receives the report
//! as values and has limited time and memory.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use rsb_engine::worker_command;
use rsb_model::Reason;
use timed_child::{ChildAnswer, ChildBounds};

use crate::AppError;

/// Name of the program.
const WORKER: &str = "rsb-pdf-worker";
/// Variable that names another program.
const VARIABLE: &str = "RSB_PDF_WORKER";
/// Limits of the worker, far above the needs of the longest report.
const BOUNDS: ChildBounds =
    ChildBounds { time: Duration::from_mins(2), memory_bytes: 3 << 30, answer_bytes: 256 << 20 };

/// Returns the path of the worker.
///
/// # Errors
/// If there is none.
pub(super) fn worker() -> Result<PathBuf, Reason> {
    if let Some(named) = std::env::var_os(VARIABLE).map(PathBuf::from) {
        if named.is_file() {
            return Ok(named);
        }
        let why = format!("{VARIABLE} names {}, which is not a file", named.display());
        let cure = format!("set it to the path of `{WORKER}`, or unset it");
        return Err(Reason::new("PDF", why, cure));
    }
    let found =
        std::env::current_exe().ok().and_then(|program| worker_command::beside(&program, WORKER));
    found.ok_or_else(|| {
        Reason::new(
            "PDF",
            format!("no `{WORKER}` next to this program: it was built without the feature `pdf`"),
            "`cargo install --path . --features pdf` builds both; `report --format html` works in \
             every build and can be printed",
        )
    })
}

/// Returns the error that there is no worker.
pub(super) fn without(reason: &Reason) -> AppError {
    AppError::usage(anyhow!("no report as PDF: {}; {}", reason.why, reason.cure))
}

/// Returns the PDF of `document`, created by `worker`.
///
/// # Errors
/// If it cannot be started, fails, or exceeds its limits.
pub(super) fn typeset(worker: &Path, document: String) -> anyhow::Result<Vec<u8>> {
    let answer =
        timed_child::run_with_input(&mut Command::new(worker), document.into_bytes(), BOUNDS)
            .with_context(|| format!("cannot start {}", worker.display()))?;
    match answer.status {
        Some(status) if status.success() => Ok(answer.stdout),
        status => Err(anyhow!(
            "no report as PDF: {}; `report --format html` needs no other program",
            describe_end(&answer, status)
        )),
    }
}

fn describe_end(answer: &ChildAnswer, status: Option<ExitStatus>) -> String {
    let line =
        answer.stderr.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no output");
    match status {
        None => format!("`{WORKER}` was stopped after {} s", BOUNDS.time.as_secs()),
        Some(status) => match status.signal() {
            Some(signal) => {
                let most = BOUNDS.memory_bytes >> 30;
                format!(
                    "`{WORKER}` was killed by signal {signal} ({line}); its memory limit is {most} \
                     GiB"
                )
            }
            None => format!("`{WORKER}` failed: {line}"),
        },
    }
}
