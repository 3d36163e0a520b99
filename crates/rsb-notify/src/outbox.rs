//! The outbox: one file in the results directory with the state of all receivers, the silences and
//! the messages to send. It is replaced atomically and readable only by its owner.
//!
//! A message is written to the disk before it is sent, and removed after its receiver accepted it.
//! After a crash in between, it is sent again with the same id. So each message is delivered at
//! least once, with at most one duplicate per crash. The file is locked while it changes, but not
//! while a message is sent. A second lock, released when its process ends, lets one process send at
//! a time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use rsb_model::Timestamp;
use rsb_model::format::FORMAT_VERSION;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::alert::NotifyAlert;
use crate::config::NotifySection;
use crate::http::SendError;
use crate::message::Notification;
use crate::policy::{
    AnnouncedPhase, Decision, HeldAlert, NotifyClock, PolicyInput, ReceiverState, Silence, decide,
};

const FILE: &str = "notify.json";
const LOCK: &str = ".notify.lock";
const SEND_LOCK: &str = ".notify.sending";
const TEMPORARY: &str = ".notify.tmp";

/// Time to wait for another process that changes the file.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Interval between attempts to lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(100);

/// Interval between two messages to one receiver; Slack accepts one per second.
const INTERVAL: SignedDuration = SignedDuration::from_secs(1);

/// Longest wait between two attempts, unless the receiver asks for more.
const MAX_BACKOFF: SignedDuration = SignedDuration::from_mins(10);

/// Age at which the program gives up sending a message.
const EXPIRED: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Maximum size of the file in bytes.
const MAX_BYTES: u64 = 16 << 20;

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
    #[error("another process keeps the alerts in {} locked; try again later", path.display())]
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
    /// Alerts of `gate` and `fleet` that a receiver still holds back; no later analysis finds them again.
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
    /// Recipient of a mail; each recipient has a separate entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipient: Option<String>,
    /// The message.
    pub notification: Notification,
    /// Number of failed attempts.
    pub attempts: u32,
    /// Time of the next attempt.
    pub next_try: Timestamp,
    /// Last error.
    pub error: Option<String>,
}

impl OutboxEntry {
    /// Returns whether `other` has the same receiver and recipient.
    fn has_target_of(&self, other: &Self) -> bool {
        self.receiver == other.receiver && self.recipient == other.recipient
    }
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
    /// Returns the path of the file in `results`.
    pub fn path(results: &Path) -> PathBuf {
        results.join(FILE)
    }

    /// Reads the file in `results`; empty if there is none yet.
    ///
    /// # Errors
    /// If the file cannot be read, or is of a newer program.
    pub fn read(results: &Path) -> Result<Self, NotifyError> {
        let path = Self::path(results);
        let unreadable = |problem: String| NotifyError::Unreadable { path: path.clone(), problem };
        let text = match read_private(&path) {
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

    /// Returns the messages that are due for `alerts` at each of `sections`, without storing them.
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

    /// Returns `alerts` and the held alerts that are not among them.
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
                self.push(section, &notification, clock.now);
            }
            self.receivers.insert(section.name.clone(), decision.state);
        }
        alerts.retain(|alert| alert.kind.is_found_once() && held.contains(&alert.key));
        self.held = alerts;
    }

    /// Adds a message; for mail, once per recipient. A receiver that keeps the state of alerts gets
    /// a single message, into which the alerts of its waiting messages are merged.
    fn push(&mut self, section: &NotifySection, notification: &Notification, now: Timestamp) {
        let recipients = match &section.email {
            Some(email) => email.to.iter().cloned().map(Some).collect(),
            None => vec![None],
        };
        let mut notification = notification.clone();
        if section.email.is_none() {
            notification.alerts.iter_mut().for_each(|alert| alert.chart = None);
        }
        for recipient in recipients {
            let mut entry = OutboxEntry {
                receiver: section.name.clone(),
                recipient,
                notification: notification.clone(),
                attempts: 0,
                next_try: now,
                error: None,
            };
            let former = self.pending.iter().filter(|former| former.has_target_of(&entry));
            entry.next_try = former.map(|former| former.next_try).fold(now, Timestamp::max);
            if section.rule().is_mirror {
                self.merge_former(&mut entry);
            }
            self.pending.push(entry);
        }
    }

    /// Merges the waiting messages for the receiver of `entry` into `entry`.
    fn merge_former(&mut self, entry: &mut OutboxEntry) {
        let is_former = |former: &mut OutboxEntry| former.has_target_of(entry);
        let former: Vec<OutboxEntry> = self.pending.extract_if(.., is_former).collect();
        for former in former {
            entry.attempts = entry.attempts.max(former.attempts);
            entry.error = former.error;
            for alert in former.notification.alerts {
                let is_same = |other: &NotifyAlert| {
                    other.key == alert.key && other.severity == alert.severity
                };
                if !entry.notification.alerts.iter().any(is_same) {
                    entry.notification.alerts.push(alert);
                }
            }
        }
    }

    /// Returns the next message to a receiver among `sections`: first those to receivers without a
    /// failed attempt.
    fn first_due(&self, sections: &[NotifySection]) -> Option<&OutboxEntry> {
        let is_known =
            |entry: &&OutboxEntry| sections.iter().any(|section| section.name == entry.receiver);
        let has_failed = |entry: &OutboxEntry| {
            let mut failed = self.pending.iter().filter(|other| other.attempts > 0);
            failed.any(|other| other.has_target_of(entry))
        };
        // `min_by_key` returns the first of several minima, which is the oldest message.
        self.pending.iter().filter(is_known).min_by_key(|entry| (has_failed(entry), entry.next_try))
    }

    /// Delays all messages with the target of `sent` until `time`, so that their order is kept.
    fn delay(&mut self, sent: &OutboxEntry, time: Timestamp) {
        for entry in self.pending.iter_mut().filter(|entry| entry.has_target_of(sent)) {
            entry.next_try = entry.next_try.max(time);
        }
    }

    /// Records the `outcome` of sending `sent`. Another process may have merged it into a newer
    /// message in the meantime.
    fn record(
        &mut self,
        sent: &OutboxEntry,
        outcome: Result<(), SendError>,
        report: &mut DeliveryReport,
    ) {
        let now = Timestamp::now();
        let id = &sent.notification.id;
        let is_sent =
            |entry: &OutboxEntry| entry.has_target_of(sent) && entry.notification.id == *id;
        let at = self.pending.iter().position(is_sent);
        let mut wait = INTERVAL;
        match (outcome, at) {
            (Ok(()), at) => {
                report.accepted += 1;
                if let Some(at) = at {
                    self.pending.remove(at);
                }
            }
            (Err(SendError::Final { why }), Some(at)) => self.give_up(at, &why, report),
            (Err(SendError::Later { why, .. }), Some(at))
                if now.duration_since(sent.notification.at) > EXPIRED =>
            {
                self.give_up(at, &format!("it could not be sent for 7 days: {why}"), report);
            }
            (Err(SendError::Later { why, after }), at) => {
                wait = after.unwrap_or_else(|| backoff(sent.attempts)).max(INTERVAL);
                if let Some(entry) = at.and_then(|at| self.pending.get_mut(at)) {
                    entry.attempts = entry.attempts.saturating_add(1);
                    entry.error = Some(why);
                }
            }
            (Err(SendError::Final { .. }), None) => {}
        }
        self.delay(sent, later(now, wait));
    }

    /// Moves the message at index `at` to the failed ones.
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

    /// Returns one line per receiver among `sections` with waiting messages.
    fn waiting_lines(&self, sections: &[NotifySection]) -> Vec<String> {
        let mut receivers: BTreeMap<&str, Vec<&OutboxEntry>> = BTreeMap::new();
        let is_known =
            |entry: &&OutboxEntry| sections.iter().any(|section| section.name == entry.receiver);
        for entry in self.pending.iter().filter(is_known) {
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

/// The outbox of a results directory, which several processes may use at the same time.
#[derive(Debug)]
pub struct Outbox {
    results: PathBuf,
    /// Contents at the last access.
    book: NotifyBook,
}

impl Outbox {
    /// Reads the outbox in `results`, which is created if it does not exist.
    ///
    /// # Errors
    /// If the directory cannot be written, or the file cannot be read.
    pub fn open(results: &Path) -> Result<Self, NotifyError> {
        let failed = |source| NotifyError::Io { path: results.to_owned(), source };
        fs::create_dir_all(results).map_err(failed)?;
        Ok(Self { results: results.to_owned(), book: NotifyBook::read(results)? })
    }

    /// Changes the file while it is locked.
    fn update<T>(&mut self, change: impl FnOnce(&mut NotifyBook) -> T) -> Result<T, NotifyError> {
        let _lock = self.lock(LOCK, LOCK_WAIT)?;
        self.book = NotifyBook::read(&self.results)?;
        let result = change(&mut self.book);
        self.write()?;
        Ok(result)
    }

    /// Acquires the lock file `name`. The lock is released when the file is dropped or the process
    /// ends.
    fn lock(&self, name: &str, wait: Duration) -> Result<File, NotifyError> {
        let mut options = OpenOptions::new();
        let lock = open_private(
            options.create(true).truncate(false).write(true),
            &self.results.join(name),
        );
        let failed = |source| NotifyError::Io { path: self.results.clone(), source };
        let lock = lock.map_err(failed)?;
        let deadline = Instant::now() + wait;
        loop {
            match lock.try_lock() {
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    thread::sleep(LOCK_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(NotifyError::Busy { path: self.results.clone() });
                }
                // Continue if the file system has no locks, as on some NFS: a duplicate is better
                // than no alert.
                Ok(()) | Err(TryLockError::Error(_)) => return Ok(lock),
            }
        }
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
        self.update(|book| book.add(sections, alerts, clock))
    }

    /// Adds a silence, replacing those of the same pattern.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn silence(&mut self, silence: Silence) -> Result<(), NotifyError> {
        self.update(|book| {
            book.silences.retain(|other| other.pattern != silence.pattern);
            book.silences.push(silence);
        })
    }

    /// Ends the silences of `pattern`. Returns whether there were any.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn end_silence(&mut self, pattern: &str) -> Result<bool, NotifyError> {
        self.update(|book| {
            let before = book.silences.len();
            book.silences.retain(|silence| silence.pattern != pattern);
            book.silences.len() < before
        })
    }

    /// Acknowledges the open alerts whose key begins with `prefix`, at all receivers. Returns their
    /// keys.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn acknowledge(
        &mut self,
        prefix: &str,
        because: &str,
    ) -> Result<BTreeSet<String>, NotifyError> {
        self.update(|book| {
            let mut keys = BTreeSet::new();
            for (key, alert) in book.receivers.values_mut().flat_map(|state| &mut state.alerts) {
                if alert.phase == AnnouncedPhase::Open && key.starts_with(prefix) {
                    alert.acknowledged = Some(because.to_owned());
                    keys.insert(key.clone());
                }
            }
            keys
        })
    }

    /// Sends the waiting messages for at most about `budget`, the oldest of each receiver first. If
    /// another process is sending all that time, they remain in the outbox.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn deliver(
        &mut self,
        sections: &[NotifySection],
        budget: Duration,
        send: &mut SendFn<'_>,
    ) -> Result<DeliveryReport, NotifyError> {
        let deadline = Instant::now() + budget;
        let mut report = DeliveryReport::default();
        let sending = match self.lock(SEND_LOCK, budget) {
            Err(NotifyError::Busy { .. }) => None,
            lock => Some(lock?),
        };
        self.book = NotifyBook::read(&self.results)?;
        while sending.is_some()
            && let Some(entry) = self.book.first_due(sections).cloned()
            && let Some(section) = sections.iter().find(|section| section.name == entry.receiver)
        {
            let wait = entry.next_try.duration_since(Timestamp::now());
            let wait = Duration::try_from(wait).unwrap_or_default();
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || wait > left {
                break;
            }
            thread::sleep(wait);
            let recipient = entry.recipient.as_deref();
            let outcome = send(&section.for_recipient(recipient), &entry.notification);
            self.update(|book| book.record(&entry, outcome, &mut report))?;
        }
        report.waiting = self.book.waiting_lines(sections);
        Ok(report)
    }

    /// Replaces the file.
    fn write(&self) -> Result<(), NotifyError> {
        let path = NotifyBook::path(&self.results);
        let written = write_private(&self.results, &path, &self.book);
        written.map_err(|source| NotifyError::Io { path, source })
    }
}

/// Opens `path` without following a link, and without waiting for the other end of a pipe.
fn open_private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    options.mode(0o600).custom_flags(flags).open(path)
}

/// Reads a regular file of this user.
fn read_private(path: &Path) -> io::Result<String> {
    let file = open_private(OpenOptions::new().read(true), path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    if metadata.len() > MAX_BYTES {
        return Err(io::Error::other("it is larger than 16 MiB"));
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
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
    // Some file systems refuse to sync a directory; the contents are safe regardless.
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
