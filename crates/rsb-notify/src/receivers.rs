//! Receivers: each builds its payload with a pure function, then sends it.

mod alertmanager;
mod command;
mod email;
mod github_issue;
mod slack;
mod webhook;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::config::{NotifySection, ReceiverSection};
use crate::http::{HttpMethod, HttpRequest, SendError, exchange};
use crate::message::Notification;
use crate::secret::{Secret, ValueSource};

/// Time limit of [`send_briefly`].
const BRIEF: Duration = Duration::from_secs(5);

/// Sends like [`send`], but waits at most 5 s in all: an answer that takes longer is an error, after
/// which the message is sent again.
///
/// # Errors
/// As for [`send`], and if there is no answer in time.
pub fn send_briefly(section: &NotifySection, notification: &Notification) -> Result<(), SendError> {
    let (mut section, notification) = (section.clone(), notification.clone());
    if let Some(command) = &mut section.command {
        // The time limit of the command ends its process.
        command.timeout_seconds = command.timeout_seconds.min(BRIEF.as_secs());
        return send(&section, &notification);
    }
    let (answer, answered) = mpsc::channel();
    thread::spawn(move || drop(answer.send(send(&section, &notification))));
    answered.recv_timeout(BRIEF).unwrap_or_else(|_| {
        Err(SendError::later(format!("no answer within {} s", BRIEF.as_secs())))
    })
}

/// Sends `notification` to the receiver of `section`.
///
/// # Errors
/// If the receiver cannot be reached, refuses the message, or its address cannot be read.
pub fn send(section: &NotifySection, notification: &Notification) -> Result<(), SendError> {
    let dashboard = section.dashboard.as_deref();
    match section.receiver().map_err(SendError::later)? {
        ReceiverSection::Slack(slack) => slack::send(slack, notification, dashboard),
        ReceiverSection::Email(email) => email::send(email, notification, dashboard),
        ReceiverSection::Alertmanager(manager) => {
            alertmanager::send(manager, notification, dashboard)
        }
        ReceiverSection::Webhook(webhook) => webhook::send(webhook, notification, dashboard),
        ReceiverSection::GithubIssue(issue) => github_issue::send(issue, notification, dashboard),
        ReceiverSection::Command(command) => command::send(command, notification, dashboard),
    }
}

/// Reads a configured value.
fn read(source: &ValueSource) -> Result<Secret, SendError> {
    source.read().map_err(SendError::later)
}

/// Posts `body` and returns the answer of a success.
fn post(
    url: &str,
    headers: Vec<(&'static str, String)>,
    body: String,
) -> Result<String, SendError> {
    exchange(&HttpRequest { method: HttpMethod::Post, url, headers, body })?.into_result(url)
}

/// Shortens `text` to at most `most` UTF-16 units, the unit of the receivers' limits.
fn fit(text: &str, most: usize) -> String {
    if text.encode_utf16().count() <= most {
        return text.to_owned();
    }
    let mut fitting = String::new();
    let mut used = 1; // For the ellipsis.
    for character in text.chars() {
        used += character.len_utf16();
        if used > most {
            break;
        }
        fitting.push(character);
    }
    fitting.push('…');
    fitting
}
