//! The outbox: one file in the results directory with the state of all receivers, the silences and
//! the messages to send. It is replaced atomically and readable only by its owner.
//!
//! A message is on the disk before it is sent, and removed after its receiver accepted it. A crash
//! in between sends it again, with the same id: at least once, at most one duplicate per crash.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use rsb_model::Timestamp;
use rsb_model::format::FORMAT_VERSION;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::alert::{AlertKind, NotifyAlert};
use crate::config::NotifySection;
use crate::http::SendError;
use crate::message::Notification;
use crate::policy::{
    Decision, HeldAlert, NotifyClock, PolicyInput, ReceiverState, Silence, decide,
};

const FILE: &str = "notify.json";
const LOCK: &str = ".notify.lock";
const TEMPORARY: &str = ".notify.tmp";

/// Time to wait for another process that sends.
const LOCK_WAIT: Duration = Duration::from_mins(1);

/// Interval between attempts to lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(100);

/// Interval between two messages to one receiver; Slack accepts one per second.
const INTERVAL: SignedDuration = SignedDuration::from_secs(1);

/// Longest wait between two attempts, unless the receiver asks for more.
const MAX_BACKOFF: SignedDuration = SignedDuration::from_mins(10);

/// Age from which a message is given up.
const EXPIRED: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Number of failed messages that are kept for `notify status`.
const MAX_FAILED: usize = 20;

/// Why alerts cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum NotifyError {
    /// The system reported an error.
    #[error("cannot write {}: {source}; alerts are sent the next time", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// The file cannot be read.
    #[error(
        "cannot read {}: {problem}; restore it, or delete it to report open alerts again",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Problem.
        problem: String,
    },
    /// Another process holds the lock.
    #[error("another process is still sending alerts from {}; try again later", path.display())]
    Busy {
        /// The results directory.
        path: PathBuf,
    },
}

/// Contents of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NotifyBook {
    /// See [`rsb_model::format`].
    pub format_version: u32,
    /// State of each receiver, by name.
    pub receivers: BTreeMap<String, ReceiverState>,
    /// Silences.
    pub silences: Vec<Silence>,
    /// Alerts of `gate` that a receiver still holds back; no later analysis finds them again.
    #[serde(default)]
    pub held: Vec<NotifyAlert>,
    /// Messages to send, oldest first.
    pub pending: Vec<OutboxEntry>,
    /// The last messages that were given up, oldest first.
    pub failed: Vec<OutboxEntry>,
}

impl Default for NotifyBook {
    fn default() -> Self {
        Self {
            format_version: FORMAT_VERSION,
            receivers: BTreeMap::new(),
            silences: Vec::new(),
            held: Vec::new(),
            pending: Vec::new(),
            failed: Vec::new(),
        }
    }
}

/// Message that waits for its receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutboxEntry {
    /// Name of the receiver.
    pub receiver: String,
    /// The message.
    pub notification: Notification,
    /// Number of failed attempts.
    pub attempts: u32,
    /// Time of the next attempt.
    pub next_try: Timestamp,
    /// Last error.
    pub error: Option<String>,
}

/// Result of sending the waiting messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryReport {
    /// Number of messages that were accepted.
    pub accepted: usize,
    /// One line per message that was given up.
    pub given_up: Vec<String>,
    /// One line per receiver for which messages wait.
    pub waiting: Vec<String>,
}

/// Messages that would be sent to a receiver.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// Name of the receiver.
    pub receiver: String,
    /// The messages.
    pub notifications: Vec<Notification>,
    /// Alerts that are held back.
    pub held: Vec<HeldAlert>,
}

/// Sends one message.
pub type SendFn<'a> = dyn FnMut(&NotifySection, &Notification) -> Result<(), SendError> + 'a;

impl NotifyClock {
    /// Reads the clock.
    pub fn read() -> Self {
        let now = Timestamp::now();
        let local = now.to_zoned(TimeZone::system());
        let minute = 60 * i32::from(local.hour()) + i32::from(local.minute());
        Self { now, minute: u16::try_from(minute).unwrap_or_default() }
    }
}

impl NotifyBook {
    /// Reads the file in `results`; empty if there is none yet.
    ///
    /// # Errors
    /// If the file cannot be read, or is of a newer program.
    pub fn read(results: &Path) -> Result<Self, NotifyError> {
        let path = results.join(FILE);
        let unreadable = |problem: String| NotifyError::Unreadable { path: path.clone(), problem };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unreadable(error.to_string())),
        };
        let book: Self =
            serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        if book.format_version > FORMAT_VERSION {
            return Err(unreadable("it is of a newer program".to_owned()));
        }
        Ok(Self { format_version: FORMAT_VERSION, ..book })
    }

    /// Decides for each of `sections` what is due for `alerts`, without storing it.
    pub fn preview(
        &self,
        sections: &[NotifySection],
        alerts: &[NotifyAlert],
        clock: NotifyClock,
    ) -> Vec<Preview> {
        let alerts = self.with_held(alerts);
        let mut previews = Vec::new();
        for section in sections {
            let decision = self.decide(section, &alerts, clock);
            previews.push(Preview {
                receiver: section.name.clone(),
                notifications: decision.notifications,
                held: decision.held,
            });
        }
        previews
    }

    /// Returns `alerts`, and those held back that are not among them.
    fn with_held(&self, alerts: &[NotifyAlert]) -> Vec<NotifyAlert> {
        let is_known = |held: &NotifyAlert| alerts.iter().any(|alert| alert.key == held.key);
        let held = self.held.iter().filter(|held| !is_known(held));
        alerts.iter().chain(held).cloned().collect()
    }

    fn decide(
        &self,
        section: &NotifySection,
        alerts: &[NotifyAlert],
        clock: NotifyClock,
    ) -> Decision {
        let nothing = ReceiverState::default();
        let previous = self.receivers.get(&section.name).unwrap_or(&nothing);
        let (rule, silences) = (section.rule(), self.silences.as_slice());
        let input = PolicyInput { receiver: &section.name, rule: &rule, silences, clock, alerts };
        decide(previous, &input)
    }

    /// Adds the messages that are due.
    fn add(&mut self, sections: &[NotifySection], alerts: &[NotifyAlert], clock: NotifyClock) {
        self.silences.retain(|silence| silence.until > clock.now);
        let mut alerts = self.with_held(alerts);
        let mut held = BTreeSet::new();
        for section in sections {
            let decision = self.decide(section, &alerts, clock);
            held.extend(decision.held.into_iter().map(|one| one.key));
            for notification in decision.notifications {
                self.push(section, notification, clock.now);
            }
            self.receivers.insert(section.name.clone(), decision.state);
        }
        alerts.retain(|alert| alert.kind == AlertKind::Gate && held.contains(&alert.key));
        self.held = alerts;
    }

    /// Adds a message. A receiver that keeps the state of alerts gets only one: the newest, with
    /// the closings of the earlier ones.
    fn push(&mut self, section: &NotifySection, mut notification: Notification, now: Timestamp) {
        let is_former = |entry: &OutboxEntry| entry.receiver == section.name;
        let former = self.pending.iter().filter(|entry| is_former(entry));
        let next_try = former.map(|entry| entry.next_try).fold(now, Timestamp::max);
        if section.rule().is_mirror {
            for former in self.pending.iter().filter(|entry| is_former(entry)) {
                for alert in &former.notification.alerts {
                    let is_same = |other: &NotifyAlert| {
                        other.key == alert.key && other.severity == alert.severity
                    };
                    if !notification.alerts.iter().any(is_same) {
                        notification.alerts.push(alert.clone());
                    }
                }
            }
            self.pending.retain(|entry| !is_former(entry));
        }
        self.pending.push(OutboxEntry {
            receiver: section.name.clone(),
            notification,
            attempts: 0,
            next_try,
            error: None,
        });
    }

    /// Returns the position of the message that is due first.
    fn first_due(&self) -> Option<usize> {
        let entries = self.pending.iter().enumerate();
        entries.min_by_key(|(at, entry)| (entry.next_try, *at)).map(|(at, _)| at)
    }

    /// Delays all messages to `receiver` until `time`, so that their order is kept.
    fn delay(&mut self, receiver: &str, time: Timestamp) {
        for entry in self.pending.iter_mut().filter(|entry| entry.receiver == receiver) {
            entry.next_try = entry.next_try.max(time);
        }
    }

    /// Removes the message at `at`, and keeps it among those that were given up.
    fn give_up(&mut self, at: usize, why: &str, report: &mut DeliveryReport) {
        let mut entry = self.pending.remove(at);
        report.given_up.push(format!(
            "a message to `{}` was given up: {}: {why}",
            entry.receiver,
            entry.notification.title()
        ));
        entry.error = Some(why.to_owned());
        self.failed.push(entry);
        let excess = self.failed.len().saturating_sub(MAX_FAILED);
        self.failed.drain(..excess);
    }

    /// Gives up messages that are too old, or whose receiver is not configured any more.
    fn expire(&mut self, sections: &[NotifySection], now: Timestamp, report: &mut DeliveryReport) {
        for at in (0..self.pending.len()).rev() {
            let Some(entry) = self.pending.get(at) else { continue };
            let is_known = sections.iter().any(|section| section.name == entry.receiver);
            if !is_known {
                self.give_up(at, "the receiver is not configured any more", report);
            } else if now.duration_since(entry.notification.at) > EXPIRED {
                self.give_up(at, "it could not be sent for 7 days", report);
            }
        }
    }

    /// Returns one line per receiver with waiting messages.
    fn waiting_lines(&self) -> Vec<String> {
        let mut receivers: BTreeMap<&str, Vec<&OutboxEntry>> = BTreeMap::new();
        for entry in &self.pending {
            receivers.entry(&entry.receiver).or_default().push(entry);
        }
        let mut lines = Vec::new();
        for (receiver, entries) in receivers {
            let count = entries.len();
            let messages = if count == 1 { "message waits" } else { "messages wait" };
            let why = entries.iter().find_map(|entry| entry.error.as_deref());
            let why = why.unwrap_or("not tried yet");
            lines.push(format!("{count} {messages} for `{receiver}`: {why}"));
        }
        lines
    }
}

/// The outbox of a results directory, locked against other processes.
#[derive(Debug)]
pub struct Outbox {
    results: PathBuf,
    book: NotifyBook,
    /// Held until the outbox is dropped.
    _lock: File,
}

impl Outbox {
    /// Locks and reads the outbox in `results`, which is created if it does not exist.
    ///
    /// # Errors
    /// If the directory cannot be written, the file cannot be read, or another process does not
    /// release the lock.
    pub fn open(results: &Path) -> Result<Self, NotifyError> {
        let failed = |source| NotifyError::Io { path: results.to_owned(), source };
        fs::create_dir_all(results).map_err(failed)?;
        // Nonblocking, so that a pipe at this path does not wait for a reader.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(flags)
            .open(results.join(LOCK))
            .map_err(failed)?;
        let deadline = Instant::now() + LOCK_WAIT;
        loop {
            match lock.try_lock() {
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    thread::sleep(LOCK_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(NotifyError::Busy { path: results.to_owned() });
                }
                // Without locks, as on some NFS: a duplicate is better than no alert.
                Ok(()) | Err(TryLockError::Error(_)) => break,
            }
        }
        let book = NotifyBook::read(results)?;
        Ok(Self { results: results.to_owned(), book, _lock: lock })
    }

    /// Returns the contents.
    pub const fn book(&self) -> &NotifyBook {
        &self.book
    }

    /// Stores the messages that are due for `alerts`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(
        &mut self,
        sections: &[NotifySection],
        alerts: &[NotifyAlert],
        clock: NotifyClock,
    ) -> Result<(), NotifyError> {
        self.book.add(sections, alerts, clock);
        self.write()
    }

    /// Adds a silence, replacing those of the same pattern.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn silence(&mut self, silence: Silence) -> Result<(), NotifyError> {
        self.book.silences.retain(|other| other.pattern != silence.pattern);
        self.book.silences.push(silence);
        self.write()
    }

    /// Ends the silences of `pattern`. Returns whether there were any.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn end_silence(&mut self, pattern: &str) -> Result<bool, NotifyError> {
        let before = self.book.silences.len();
        self.book.silences.retain(|silence| silence.pattern != pattern);
        self.write()?;
        Ok(self.book.silences.len() < before)
    }

    /// Sends the waiting messages for at most about `budget`, the oldest of each receiver first.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn deliver(
        &mut self,
        sections: &[NotifySection],
        budget: Duration,
        send: &mut SendFn<'_>,
    ) -> Result<DeliveryReport, NotifyError> {
        let deadline = Instant::now() + budget;
        let mut report = DeliveryReport::default();
        self.book.expire(sections, Timestamp::now(), &mut report);
        if !report.given_up.is_empty() {
            self.write()?;
        }
        while let Some(at) = self.book.first_due() {
            let Some(entry) = self.book.pending.get(at) else { break };
            let wait = entry.next_try.duration_since(Timestamp::now());
            let wait = Duration::try_from(wait).unwrap_or_default();
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || wait > left {
                break;
            }
            thread::sleep(wait);
            self.attempt(at, sections, send, &mut report)?;
        }
        report.waiting = self.book.waiting_lines();
        Ok(report)
    }

    /// Tries to send the message at `at`.
    fn attempt(
        &mut self,
        at: usize,
        sections: &[NotifySection],
        send: &mut SendFn<'_>,
        report: &mut DeliveryReport,
    ) -> Result<(), NotifyError> {
        let Some(entry) = self.book.pending.get_mut(at) else { return Ok(()) };
        let Some(section) = sections.iter().find(|section| section.name == entry.receiver) else {
            self.book.give_up(at, "the receiver is not configured any more", report);
            return self.write();
        };
        let outcome = send(section, &entry.notification);
        let now = Timestamp::now();
        match outcome {
            Ok(()) => {
                self.book.pending.remove(at);
                report.accepted += 1;
                self.book.delay(&section.name, later(now, INTERVAL));
            }
            Err(SendError::Final { why }) => {
                self.book.give_up(at, &why, report);
                self.book.delay(&section.name, later(now, INTERVAL));
            }
            Err(SendError::Later { why, after }) => {
                let wait = after.unwrap_or_else(|| backoff(entry.attempts)).max(INTERVAL);
                entry.attempts = entry.attempts.saturating_add(1);
                entry.error = Some(why);
                self.book.delay(&section.name, later(now, wait));
            }
        }
        self.write()
    }

    /// Replaces the file.
    fn write(&self) -> Result<(), NotifyError> {
        let path = self.results.join(FILE);
        let written = write_private(&self.results, &path, &self.book);
        written.map_err(|source| NotifyError::Io { path, source })
    }
}

/// Writes `book` to a temporary file, which only its owner can read, and renames it to `path`. The
/// lock is held, so a file at the temporary path is left over from a crash.
fn write_private(dir: &Path, path: &Path, book: &NotifyBook) -> io::Result<()> {
    let temporary = dir.join(TEMPORARY);
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    file.write_all(&serde_json::to_vec_pretty(book)?)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    // Some file systems refuse; the contents are safe regardless.
    if let Ok(handle) = File::open(dir) {
        let _ = handle.sync_all();
    }
    Ok(())
}

/// Returns the wait after `attempts` failures: 1 s, then twice as long each time.
fn backoff(attempts: u32) -> SignedDuration {
    SignedDuration::from_secs(1_i64 << attempts.min(20)).min(MAX_BACKOFF)
}

fn later(now: Timestamp, wait: SignedDuration) -> Timestamp {
    now.saturating_add(wait).unwrap_or(now)
}

#[cfg(test)]
mod tests;
