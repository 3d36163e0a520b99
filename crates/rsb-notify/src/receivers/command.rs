//! A program that reads the JSON document of a message on standard input, such as a script for
//! Teams, `PagerDuty` or ntfy.

use std::process::Command;
use std::time::Duration;

use rsb_model::shown::{clean, shorten};
use timed_child::ChildBounds;

use crate::config::CommandSection;
use crate::http::SendError;
use crate::message::Notification;

/// Maximum private memory of the program, in bytes.
const MEMORY: u64 = 8 << 30;

/// Maximum output that is read, in bytes.
const OUTPUT: u64 = 64 << 10;

/// Runs the program, which accepts the message by exiting with 0.
pub(super) fn send(
    section: &CommandSection,
    notification: &Notification,
    dashboard: Option<&str>,
) -> Result<(), SendError> {
    let Some((program, arguments)) = section.run.split_first() else {
        return Err(SendError::later("the command is empty"));
    };
    let body = serde_json::to_vec(&notification.document(dashboard))
        .map_err(|error| SendError::permanent(error.to_string()))?;
    let bounds = ChildBounds {
        time: Duration::from_secs(section.timeout_seconds),
        memory_bytes: MEMORY,
        answer_bytes: OUTPUT,
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let answer = timed_child::run_with_input(&mut command, body, bounds)
        .map_err(|error| SendError::later(format!("cannot run {program}: {error}")))?;
    match answer.status {
        Some(status) if status.success() => Ok(()),
        Some(status) => {
            let output = shorten(&clean(answer.stderr.trim()), 200);
            Err(SendError::later(format!("{program} failed ({status}): {output}")))
        }
        None => {
            let limit = section.timeout_seconds;
            Err(SendError::later(format!("{program} did not end within {limit} s")))
        }
    }
}
