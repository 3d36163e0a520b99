//! Tracked changes of level: new ones in full, known ones in one line.

use itertools::Itertools as _;
use rsb_model::record::{AlertState, RunPoint, SeriesMove, Severity, TrackedAlert};
use rsb_model::{CaseId, Timestamp};

use crate::label::Shortener;
use crate::number::{format_count, format_percent};
use crate::style::{Style, Tone};

const SHOWN: usize = 5;

const ABBREVIATED: usize = 10;

/// Formats `alerts` for a terminal. Alerts first seen at `now`, or in state [`AlertState::New`],
/// have details; closed ones are omitted. Empty if none is left.
pub fn text(alerts: &[TrackedAlert], now: Timestamp, style: Style) -> String {
    let open: Vec<&TrackedAlert> = alerts.iter().filter(|alert| !alert.state.is_closed()).collect();
    let mut out = String::new();
    if open.is_empty() {
        return out;
    }
    let new = open.iter().filter(|alert| alert.first_seen == now).count();
    let title = format_count(open.len(), "change point", "change points");
    let title = if new > 0 { format!("{title}, {new} new") } else { title };
    out.push_str(&format!("{}\n", style.paint(Tone::Strong, &title)));
    for alert in open {
        let line = style.wrap(&headline(alert), 2);
        let word = severity(alert.severity).0;
        out.push_str(&line.replacen(word, &style.paint(severity(alert.severity).1, word), 1));
        if alert.first_seen == now || alert.state == AlertState::New {
            out.push_str(&details(alert, style));
        }
    }
    out
}

/// Returns the headline of `alert`: `critical a-1f2e3d4c: worse since run X (commit 0123456789)`.
pub fn headline(alert: &TrackedAlert) -> String {
    headline_since(alert, &alert.range.first_after)
}

/// Returns the headline of `alert` for the history of `one` of its series. That series may have
/// changed in another run than the alert.
pub fn headline_of(alert: &TrackedAlert, one: &SeriesMove) -> String {
    headline_since(alert, &alert.range_of(one).first_after)
}

/// Returns the run in which `one` changed, as ` since run X`, if it is not the run that the
/// headline names.
pub fn own_origin(one: &SeriesMove) -> String {
    let first = one.range.as_ref().map(|range| run(&range.first_after));
    first.map_or_else(String::new, |first| format!(" since {first}"))
}

fn headline_since(alert: &TrackedAlert, first: &RunPoint) -> String {
    let state = standing(alert);
    let suspected = if alert.moves.iter().any(|one| one.confirmed) { "" } else { "suspected, " };
    let (severity, first) = (severity(alert.severity).0, run(first));
    let (id, direction) = (&alert.id, &alert.direction);
    format!("{severity} {id}: {suspected}{direction} since {first}{state}")
}

/// Returns the state of `alert` and its explanation as the end of a sentence, such as
/// `, acknowledged by Ada: wanted`; empty for a new alert.
pub fn standing(alert: &TrackedAlert) -> String {
    if let Some(decision) = alert.decision() {
        return format!(", {}", decision.text());
    }
    let because = alert.because.as_deref().map_or_else(String::new, |why| format!(": {why}"));
    match alert.state {
        AlertState::New => because,
        state => format!(", {}{because}", state.as_str()),
    }
}

fn details(alert: &TrackedAlert, style: Style) -> String {
    let mut out = String::new();
    let ids: Vec<CaseId> = alert.moves.iter().filter_map(|one| one.id.parse().ok()).collect();
    let names = Shortener::of(&ids);
    for one in alert.moves.iter().take(SHOWN) {
        let name = one.id.parse().map_or_else(|_| one.id.clone(), |id| names.full(&id));
        let (change, origin) = (format_percent(one.change_percent), own_origin(one));
        let line = format!("{name} {} {change}{origin}", one.metric);
        out.push_str(&style.wrap(&line, 4));
    }
    if let Some(more) = alert.moves.len().checked_sub(SHOWN + 1) {
        out.push_str(&style.wrap(&format!("and {} more changed with it", more + 1), 4));
    }
    if !alert.environment_changes.is_empty() {
        let each = alert.environment_changes.iter();
        let each = each
            .map(|change| format!("{} {} → {}", change.field, change.baseline, change.current))
            .join(", ");
        out.push_str(&style.wrap(&format!("check the machine first: {each}"), 4));
    }
    if !alert.commits.is_empty() {
        out.push_str(&style.wrap("commits between the runs:", 4));
        out.extend(alert.commits.iter().map(|commit| style.wrap(commit, 6)));
    }
    out
}

fn run(point: &RunPoint) -> String {
    let name =
        point.run_id.as_ref().map_or_else(|| point.timestamp.to_string(), |id| format!("run {id}"));
    let commit = point.commit.as_deref().map(|hash| hash.get(..ABBREVIATED).unwrap_or(hash));
    commit.map_or_else(|| name.clone(), |commit| format!("{name} (commit {commit})"))
}

/// Returns the severity as a word, and its color.
pub const fn severity(severity: Severity) -> (&'static str, Tone) {
    match severity {
        Severity::Info => ("info", Tone::Good),
        Severity::Warning => ("warning", Tone::Caution),
        Severity::Critical => ("critical", Tone::Bad),
    }
}
