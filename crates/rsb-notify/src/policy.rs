//! Decides which messages are due. Pure: the caller reads the clock and stores the state.
//!
//! An alert is sent once, when at least two runs show it or a gate judged it; again after
//! [`ReceiverRule::repeat`] only while no user has acknowledged it; when its size class changes; and
//! when a verdict closes it. An alert that is missing from the input, for example because an
//! analysis did not cover it, keeps its state, and so does one whose cases were not all judged.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use rsb_model::Timestamp;
use rsb_model::record::Severity;
use rsb_model::shown::short_hash;
use rsb_stats::glob;
use serde::{Deserialize, Serialize};

use crate::alert::{AlertKind, NotifyAlert, NotifyState};
use crate::message::{Notification, NotifyEvent};

/// Changes that began longer than this before the first decision about a receiver are not reported
/// to it.
const STALE: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Time after the last message after which a closed alert is forgotten.
const FORGET_CLOSED: SignedDuration = SignedDuration::from_hours(90 * 24);

/// Time after the last message after which an open alert is forgotten.
const FORGET_OPEN: SignedDuration = SignedDuration::from_hours(366 * 24);

const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// Lower bounds of the size classes of a change, in percent.
const SIZES: [f64; 4] = [20.0, 50.0, 100.0, 200.0];

/// Relative distance from a bound at which a change leaves its size class, so that an estimate near
/// a bound does not send an update after every run.
const MARGIN: f64 = 0.1;

/// Rules for messages to one receiver.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceiverRule {
    /// Lowest severity that is reported.
    pub severity: Severity,
    /// Time after which an open alert is sent again.
    pub repeat: SignedDuration,
    /// Maximum number of messages per hour; further alerts are sent in one digest.
    pub max_per_hour: usize,
    /// Time of day without messages.
    pub quiet: Option<QuietHours>,
    /// Whether the receiver keeps the state of alerts itself, and needs all open alerts each time.
    pub is_mirror: bool,
    /// Whether each message is about exactly one alert.
    pub is_per_alert: bool,
}

impl Default for ReceiverRule {
    /// Returns the rule of a receiver without options: warnings and worse, again after a day, at
    /// most ten messages an hour.
    fn default() -> Self {
        Self {
            severity: Severity::Warning,
            repeat: SignedDuration::from_hours(24),
            max_per_hour: 10,
            quiet: None,
            is_mirror: false,
            is_per_alert: false,
        }
    }
}

/// Daily time without messages, in minutes after midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietHours {
    /// Start.
    pub from: u16,
    /// End; before `from` if the time spans midnight.
    pub to: u16,
}

impl QuietHours {
    /// Parses `22:00-07:00`; `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once('-')?;
        let quiet = Self { from: minute(from.trim())?, to: minute(to.trim())? };
        Some(quiet).filter(|quiet| quiet.from != quiet.to)
    }

    /// Returns whether `minute` is within the quiet hours.
    pub const fn contains(self, minute: u16) -> bool {
        if self.from < self.to {
            self.from <= minute && minute < self.to
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

/// Parses `7:30` as minutes after midnight.
fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
    if hour < 24 && minute < 60 { Some(60 * hour + minute) } else { None }
}

/// Pattern of alerts that are not reported for a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// Part of the key, of the machine, or of the id of each case; `*` matches anything.
    pub pattern: String,
    /// End of the silence.
    pub until: Timestamp,
    /// Reason given by the user.
    pub because: Option<String>,
}

impl Silence {
    /// Returns whether the pattern matches `alert`.
    pub fn matches(&self, alert: &NotifyAlert) -> bool {
        let pattern = format!("*{}*", self.pattern);
        let matches = |text: &str| glob::matches(&pattern, text);
        let has_series = !alert.series.is_empty();
        matches(&alert.key)
            || matches(&alert.machine)
            || has_series && alert.series.iter().all(|one| matches(&one.id))
    }
}

/// Current time, and the local time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotifyClock {
    /// Current time.
    pub now: Timestamp,
    /// Local time of day, in minutes after midnight.
    pub minute: u16,
}

/// State of an alert at one receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnnouncedPhase {
    /// Reported and open.
    Open,
    /// Reported and closed.
    Closed,
}

/// Messages to a receiver about one alert.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Announced {
    /// State.
    pub phase: AnnouncedPhase,
    /// Number of times that it was opened.
    pub occurrence: u32,
    /// Time of the first message since it was opened.
    pub opened: Timestamp,
    /// Number of messages since it was opened.
    pub messages: u32,
    /// Size class of the change in the last message.
    pub size_class: u8,
    /// Severity in the last message.
    pub severity: Severity,
    /// Time of the last message.
    pub last: Timestamp,
    /// Last headline.
    pub headline: String,
    /// Reason that a user gave with `notify ack`, which ends the reminders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<String>,
    /// Cases that were reported, with their values in [`NotifyAlert::decided`] at that time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cases: BTreeMap<String, f64>,
}

/// Alerts that were reported to one receiver.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReceiverState {
    /// Time of the first decision.
    pub since: Option<Timestamp>,
    /// Alerts by key.
    pub alerts: BTreeMap<String, Announced>,
    /// Times of the messages in the last hour.
    #[serde(default)]
    pub recent: Vec<Timestamp>,
}

/// Input of a decision.
#[derive(Debug, Clone, Copy)]
pub struct PolicyInput<'a> {
    /// Name of the receiver.
    pub receiver: &'a str,
    /// Its rule.
    pub rule: &'a ReceiverRule,
    /// Silences, ended ones included.
    pub silences: &'a [Silence],
    /// Current time.
    pub clock: NotifyClock,
    /// All known alerts, open and closed.
    pub alerts: &'a [NotifyAlert],
}

/// An alert that is due but not sent now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldAlert {
    /// Its key.
    pub key: String,
    /// Its headline.
    pub headline: String,
    /// Why the alert is held.
    pub why: String,
}

/// Messages that are due, and the state after they are stored for sending.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// New state.
    pub state: ReceiverState,
    /// Messages, worst first.
    pub notifications: Vec<Notification>,
    /// Alerts that the next decision considers again.
    pub held: Vec<HeldAlert>,
}

/// Alerts of one message.
struct DueGroup<'a> {
    event: NotifyEvent,
    alerts: Vec<&'a NotifyAlert>,
}

/// Decides what to send to one receiver whose state is `previous`.
pub fn decide(previous: &ReceiverState, input: &PolicyInput<'_>) -> Decision {
    let now = input.clock.now;
    let mut decision =
        Decision { state: previous.clone(), notifications: Vec::new(), held: Vec::new() };
    decision.state.forget(now);
    let since = *decision.state.since.get_or_insert(now);
    let mut due = Vec::new();
    let judged = |alert: &NotifyAlert| judged_alert(previous.alerts.get(&alert.key), alert);
    let alerts: Vec<NotifyAlert> = input.alerts.iter().filter_map(judged).collect();
    for alert in &alerts {
        let known = decision.state.alerts.get(&alert.key);
        let is_old = since.duration_since(alert.since) > STALE;
        if known.is_none() && alert.kind == AlertKind::Change && is_old {
            continue;
        }
        let Some(event) = due_event(known, alert, input) else { continue };
        match hold_reason(known, alert, input) {
            Some(why) => decision.held.push(HeldAlert::new(alert, why)),
            None => due.push(DueGroup { event, alerts: vec![alert] }),
        }
    }
    due.sort_by_key(|one| {
        one.alerts.first().map(|alert| (std::cmp::Reverse(alert.severity), alert.since))
    });
    let groups = if input.rule.is_mirror { together(due) } else { by_run(due, input.rule) };
    let sendable = if input.rule.is_mirror {
        groups
    } else {
        let room = input.rule.max_per_hour.saturating_sub(decision.state.recent.len());
        limit(groups, room, input.rule, &mut decision.held)
    };
    for group in sendable {
        let notification = decision.state.announce(&group, input);
        decision.notifications.push(notification);
    }
    decision
}

/// Returns `alert` with the state to report after the earlier report `known`; `None` if it must not
/// be reported. A gate closes an alert only if it decided every reported case with the same or a
/// stricter threshold; a run or campaign, only if it measured every reported case or node. An alert
/// about unmeasured cases closes as recovered only if every reported
/// case has a newer value, otherwise as withdrawn.
fn judged_alert(known: Option<&Announced>, alert: &NotifyAlert) -> Option<NotifyAlert> {
    let is_checked = !matches!(alert.kind, AlertKind::Change | AlertKind::Test)
        && alert.state == NotifyState::Recovered;
    let open = known.filter(|known| is_checked && known.phase == AnnouncedPhase::Open);
    let is_settled = |case: &String, reported: f64| {
        let now = alert.decided.get(case).copied();
        now.is_some_and(|now| match alert.kind {
            AlertKind::NotMeasured => now > reported,
            _ => now <= reported,
        })
    };
    let is_closed =
        open.is_none_or(|open| open.cases.iter().all(|(case, value)| is_settled(case, *value)));
    match alert.kind {
        _ if is_closed => Some(alert.clone()),
        AlertKind::NotMeasured => {
            Some(NotifyAlert { state: NotifyState::Withdrawn, ..alert.clone() })
        }
        _ => None,
    }
}

/// Returns the message that is due for `alert`, given the earlier report `known`.
fn due_event(
    known: Option<&Announced>,
    alert: &NotifyAlert,
    input: &PolicyInput<'_>,
) -> Option<NotifyEvent> {
    let rule = input.rule;
    let Some(open) = known.filter(|known| known.phase == AnnouncedPhase::Open) else {
        // An alert that was acknowledged or closed before its first report is not reported.
        let is_due = alert.state == NotifyState::New && alert.severity >= rule.severity;
        return if is_due { Some(NotifyEvent::New) } else { None };
    };
    match alert.state {
        NotifyState::Recovered => Some(NotifyEvent::Recovered),
        NotifyState::Withdrawn => Some(NotifyEvent::Withdrawn),
        _ if rule.is_mirror => Some(NotifyEvent::Refresh),
        NotifyState::New if is_update(open, alert) => Some(NotifyEvent::Update),
        NotifyState::New if open.acknowledged.is_some() => None,
        // Users cannot acknowledge an alert about unmeasured cases, so it has no reminders.
        NotifyState::New if alert.kind == AlertKind::NotMeasured => None,
        NotifyState::New if input.clock.now.duration_since(open.last) >= rule.repeat => {
            Some(NotifyEvent::Reminder)
        }
        NotifyState::New | NotifyState::Acknowledged => None,
    }
}

/// Returns whether `alert` changed its size class or affects another case.
fn is_update(open: &Announced, alert: &NotifyAlert) -> bool {
    size_class(alert.largest_percent(), Some(open.size_class)) != open.size_class
        || matches!(alert.kind, AlertKind::Gate | AlertKind::RunFailed | AlertKind::Nodes)
            && alert.series.iter().any(|one| !open.cases.contains_key(&one.hash()))
}

/// Returns why `alert` is held; `None` if it is sent now.
fn hold_reason(
    known: Option<&Announced>,
    alert: &NotifyAlert,
    input: &PolicyInput<'_>,
) -> Option<String> {
    let is_open = known.is_some_and(|known| known.phase == AnnouncedPhase::Open);
    if input.rule.is_mirror && is_open {
        // Without a refresh, the receiver would close the alert after a timeout.
        return None;
    }
    if alert.is_tentative && !alert.state.is_closed() {
        return Some("only one run shows it".to_owned());
    }
    let silence = input
        .silences
        .iter()
        .find(|silence| silence.until > input.clock.now && silence.matches(alert));
    if let Some(silence) = silence {
        return Some(format!("silenced until {}", silence.until.strftime("%Y-%m-%d %H:%M UTC")));
    }
    let is_quiet = input.rule.quiet.is_some_and(|quiet| quiet.contains(input.clock.minute));
    if is_quiet && !input.rule.is_mirror { Some("quiet hours".to_owned()) } else { None }
}

/// Returns the class of a change of `percent`, which was in the class `previous` before.
fn size_class(percent: f64, previous: Option<u8>) -> u8 {
    let class =
        |factor: f64| SIZES.iter().filter(|bound| percent.abs() >= **bound * factor).count() as u8;
    match previous {
        None => class(1.0),
        Some(known) if class(1.0) > known => class(1.0 + MARGIN).max(known),
        Some(known) => class(1.0 - MARGIN).min(known),
    }
}

/// Joins all alerts into one group.
fn together(due: Vec<DueGroup<'_>>) -> Vec<DueGroup<'_>> {
    let alerts: Vec<&NotifyAlert> = due.into_iter().flat_map(|one| one.alerts).collect();
    if alerts.is_empty() {
        return Vec::new();
    }
    vec![DueGroup { event: NotifyEvent::Refresh, alerts }]
}

/// Joins alerts of the same event, machine and run.
fn by_run<'a>(due: Vec<DueGroup<'a>>, rule: &ReceiverRule) -> Vec<DueGroup<'a>> {
    if rule.is_per_alert {
        return due;
    }
    let mut groups: Vec<DueGroup<'a>> = Vec::new();
    for one in due {
        let same = groups.iter_mut().find(|group| {
            let of = |group: &DueGroup<'a>| {
                group
                    .alerts
                    .first()
                    .map(|alert| (alert.machine.clone(), alert.run.clone(), own_cause(alert)))
            };
            group.event == one.event && of(group) == of(&one)
        });
        match same {
            Some(group) => group.alerts.extend(one.alerts),
            None => groups.push(one),
        }
    }
    groups
}

/// Returns the key of an alert that is always sent in its own message.
fn own_cause(alert: &NotifyAlert) -> Option<&str> {
    match alert.kind {
        AlertKind::RunFailed | AlertKind::Nodes => Some(&alert.key),
        _ => None,
    }
}

/// Returns at most `room` groups, the last one a digest of the rest. Holds alerts if there is no
/// room for a digest either.
fn limit<'a>(
    mut groups: Vec<DueGroup<'a>>,
    room: usize,
    rule: &ReceiverRule,
    held: &mut Vec<HeldAlert>,
) -> Vec<DueGroup<'a>> {
    if groups.len() <= room {
        return groups;
    }
    let has_digest = room > 0 && !rule.is_per_alert;
    let rest = groups.split_off(if has_digest { room - 1 } else { room });
    let alerts = rest.into_iter().flat_map(|group| group.alerts);
    if has_digest {
        groups.push(DueGroup { event: NotifyEvent::Digest, alerts: alerts.collect() });
    } else {
        let why = format!("the limit of {} messages per hour", rule.max_per_hour);
        held.extend(alerts.map(|alert| HeldAlert::new(alert, why.clone())));
    }
    groups
}

impl HeldAlert {
    fn new(alert: &NotifyAlert, why: String) -> Self {
        Self { key: alert.key.clone(), headline: alert.headline(), why }
    }
}

impl ReceiverState {
    /// Removes alerts that were not seen for a long time, and times of more than an hour ago.
    fn forget(&mut self, now: Timestamp) {
        self.recent.retain(|time| now.duration_since(*time) < HOUR);
        self.alerts.retain(|_, known| {
            let limit =
                if known.phase == AnnouncedPhase::Open { FORGET_OPEN } else { FORGET_CLOSED };
            now.duration_since(known.last) < limit
        });
    }

    /// Returns the message for `group`, and records that it is sent.
    fn announce(&mut self, group: &DueGroup<'_>, input: &PolicyInput<'_>) -> Notification {
        let now = input.clock.now;
        let mut alerts = Vec::new();
        for alert in &group.alerts {
            let mut sent = (*alert).clone();
            let open = self.alerts.get(&alert.key);
            let open = open.filter(|known| known.phase == AnnouncedPhase::Open);
            let former = open.map_or(alert.severity, |open| open.severity);
            // In Alertmanager, the severity is part of an alert's identity: it never decreases, and
            // if it increases, the former alert is closed.
            let is_raised = alert.severity > former && !alert.state.is_closed();
            if input.rule.is_mirror && !is_raised {
                sent.severity = former;
            }
            self.record(&sent, now);
            let sent = sent.for_message();
            if input.rule.is_mirror && is_raised {
                let state = NotifyState::Withdrawn;
                let former = NotifyAlert { severity: former, state, ..sent.clone() };
                alerts.extend([sent, former]);
            } else {
                alerts.push(sent);
            }
        }
        if !input.rule.is_mirror {
            self.recent.push(now);
        }
        let first = group.alerts.first().and_then(|alert| self.alerts.get(&alert.key));
        let key = group.alerts.first().map_or("", |alert| alert.key.as_str());
        let (occurrence, messages) = first.map_or((1, 1), |one| (one.occurrence, one.messages));
        // The time keeps ids unique if the outbox file is lost.
        let opened = first.map_or(now, |one| one.opened).as_second();
        let receiver = short_hash(&[input.receiver, key].join("\n"));
        let thread = format!("{receiver}-{opened}-{occurrence}");
        let reply_to = if messages > 1 { Some(format!("{thread}-1")) } else { None };
        Notification {
            id: format!("{thread}-{messages}"),
            reply_to,
            event: group.event,
            at: now,
            alerts,
        }
    }

    /// Records a message about `alert`.
    fn record(&mut self, alert: &NotifyAlert, now: Timestamp) {
        let known = self.alerts.get(&alert.key);
        let open = known.filter(|known| known.phase == AnnouncedPhase::Open);
        let mut cases = open.map(|open| open.cases.clone()).unwrap_or_default();
        for change in &alert.series {
            let hash = change.hash();
            if let Some(value) = alert.decided.get(&hash) {
                let reported = cases.entry(hash).or_insert(*value);
                *reported = reported.min(*value);
            }
        }
        let before = known.map_or(0, |known| known.occurrence);
        let announced = Announced {
            phase: if alert.state.is_closed() {
                AnnouncedPhase::Closed
            } else {
                AnnouncedPhase::Open
            },
            occurrence: open.map_or(before + 1, |open| open.occurrence),
            opened: open.map_or(now, |open| open.opened),
            messages: open.map_or(1, |open| open.messages.saturating_add(1)),
            size_class: size_class(alert.largest_percent(), open.map(|open| open.size_class)),
            severity: alert.severity,
            last: now,
            headline: alert.headline(),
            // The user has not seen a larger change, or another case.
            acknowledged: open
                .filter(|open| !is_update(open, alert))
                .and_then(|open| open.acknowledged.clone()),
            cases,
        };
        self.alerts.insert(alert.key.clone(), announced);
    }
}

#[cfg(test)]
mod tests;
