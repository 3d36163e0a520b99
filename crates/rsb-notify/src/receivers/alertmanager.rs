//! Alertmanager: `POST /api/v2/alerts`. The labels are the identity of an alert, so sending it
//! again makes no duplicate. `endsAt` is far in the future, because Alertmanager resolves an alert
//! without it after five minutes and reports that the problem is solved.

use jiff::SignedDuration;
use rsb_model::Timestamp;
use serde_json::{Map, Value, json};

use super::{fit, post, read};
use crate::alert::{AlertKind, NotifyAlert};
use crate::config::AlertmanagerSection;
use crate::http::SendError;
use crate::message::Notification;

/// Maximum length of an annotation.
const MAX_TEXT: usize = 4000;

/// Time after which a test alert ends.
const TEST: SignedDuration = SignedDuration::from_mins(5);

/// Sends the alerts.
pub(super) fn send(
    section: &AlertmanagerSection,
    notification: &Notification,
    dashboard: Option<&str>,
) -> Result<(), SendError> {
    let address = read(&section.url)?;
    let url = format!("{}/api/v2/alerts", address.expose().trim_end_matches('/'));
    let mut headers = Vec::new();
    if let Some(source) = &section.token {
        headers.push(("authorization", format!("Bearer {}", read(source)?.expose())));
    }
    let now = Timestamp::now();
    post(&url, headers, payload(section, notification, dashboard, now).to_string()).map(drop)
}

/// Returns the body of the request.
fn payload(
    section: &AlertmanagerSection,
    notification: &Notification,
    dashboard: Option<&str>,
    now: Timestamp,
) -> Value {
    let alerts = notification.alerts.iter();
    alerts.map(|alert| entry(section, alert, dashboard, now)).collect()
}

fn entry(
    section: &AlertmanagerSection,
    alert: &NotifyAlert,
    dashboard: Option<&str>,
    now: Timestamp,
) -> Value {
    let name = match alert.kind {
        AlertKind::Change => "BenchmarkChanged",
        AlertKind::Gate => "BenchmarkGateFailed",
        AlertKind::NotMeasured => "BenchmarkNotMeasured",
        AlertKind::RunFailed => "BenchmarkRunFailed",
        AlertKind::Nodes => "BenchmarkNodes",
        AlertKind::Test => "BenchmarkTest",
    };
    let mut labels: Map<String, Value> =
        section.labels.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    labels.insert("alertname".to_owned(), json!(name));
    labels.insert("alert".to_owned(), json!(alert.key));
    labels.insert("severity".to_owned(), json!(alert.severity));
    if !alert.machine.is_empty() {
        labels.insert("machine".to_owned(), json!(alert.machine));
    }
    let mut details = String::new();
    for part in alert.sections() {
        details.extend([part.heading, ":\n  ", &part.lines.join("\n  "), "\n"]);
    }
    let keep = match alert.kind {
        AlertKind::Test => TEST,
        _ => SignedDuration::from_hours(24 * i64::from(section.keep_firing_days)),
    };
    let ends = if alert.state.is_closed() { now } else { now.saturating_add(keep).unwrap_or(now) };
    // Alertmanager refuses an end before the start; clocks may differ.
    let starts = alert.first_seen.min(now);
    let mut entry = json!({
        "labels": labels,
        "annotations": {
            "summary": fit(&alert.headline(), MAX_TEXT),
            "description": fit(&details, MAX_TEXT),
            "state": alert.state,
        },
        "startsAt": starts.to_string(),
        "endsAt": ends.to_string(),
    });
    if let (Some(base), Some(entry)) = (dashboard, entry.as_object_mut()) {
        entry.insert("generatorURL".to_owned(), json!(alert.link(base)));
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::NotifyState;
    use crate::alert::tests::change;
    use crate::message::NotifyEvent;

    fn section() -> AlertmanagerSection {
        toml::from_str("url = 'http://localhost:9093'\nlabels = { team = 'gpu' }").unwrap()
    }

    fn entry_at(alert: &NotifyAlert, hours: i64) -> Value {
        let now = Timestamp::from_second(1_000_000 + 3600 * hours).unwrap();
        let mut message = Notification::test("am", now);
        (message.alerts, message.event) = (vec![alert.clone()], NotifyEvent::Refresh);
        payload(&section(), &message, Some("https://bench.example"), now)[0].clone()
    }

    #[test]
    fn the_labels_stay_the_same_until_the_end_and_the_end_is_far_ahead() {
        let alert = change("a-1", 15.0);
        let first = entry_at(&alert, 0);
        assert_eq!(
            first["labels"],
            json!({"team": "gpu", "alertname": "BenchmarkChanged", "alert": "a-1",
                   "severity": "warning", "machine": "epyc"})
        );
        assert_eq!(first["startsAt"], "1970-01-12T13:46:40Z");
        assert_eq!(first["endsAt"], "1970-01-19T13:46:40Z");
        assert_eq!(first["generatorURL"], "https://bench.example/case?id=gemm/a-1&machine=epyc");
        let closed = NotifyAlert { state: NotifyState::Recovered, ..alert.clone() };
        let last = entry_at(&closed, 2);
        assert_eq!(last["labels"], first["labels"]);
        assert_eq!(last["endsAt"], "1970-01-12T15:46:40Z");
        // A clock that is behind never gives an end before the begin.
        let behind = entry_at(&closed, -3);
        assert_eq!(behind["startsAt"], behind["endsAt"]);
        let known = NotifyAlert { state: NotifyState::Acknowledged, ..alert };
        assert_eq!(entry_at(&known, 1)["labels"], first["labels"]);
    }
}
