//! Messages to receivers, and their texts.

use rsb_model::Timestamp;
use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::Severity;
use rsb_model::shown::short_hash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::alert::NotifyAlert;

/// Reason for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotifyEvent {
    /// New alerts.
    New,
    /// Alerts that are still open and not acknowledged.
    Reminder,
    /// Alerts whose size changed, or that affect more cases.
    Update,
    /// Alerts that a verdict closed.
    Recovered,
    /// Alerts that were no changes.
    Withdrawn,
    /// Alerts of any kind beyond the limit of messages per hour.
    Digest,
    /// All alerts of a receiver that keeps their state itself.
    Refresh,
    /// A test message.
    Test,
}

impl NotifyEvent {
    const fn prefix(self) -> &'static str {
        match self {
            Self::New | Self::Digest | Self::Refresh | Self::Test => "",
            Self::Reminder => "still open: ",
            Self::Update => "changed: ",
            Self::Recovered => "recovered: ",
            Self::Withdrawn => "withdrawn: ",
        }
    }
}

/// Message to one receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Notification {
    /// Id, of letters, digits and `-`. A message that is sent again has the same id.
    pub id: String,
    /// Id of the first message about the first alert, if this message is a later one.
    pub reply_to: Option<String>,
    /// Reason.
    pub event: NotifyEvent,
    /// Time of the decision to send it.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub at: Timestamp,
    /// Alerts, worst first.
    pub alerts: Vec<NotifyAlert>,
}

/// Document that webhooks and commands receive.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NotificationDocument {
    /// Version of the document format.
    pub format_version: u32,
    /// The message in one line.
    pub title: String,
    /// The message as plain text.
    pub text: String,
    /// Address of the dashboard, if configured.
    pub dashboard: Option<String>,
    /// The message as data.
    #[serde(flatten)]
    pub notification: Notification,
}

impl Notification {
    /// Returns a test message to `receiver`.
    pub fn test(receiver: &str, now: Timestamp) -> Self {
        Self {
            id: format!("test-{}-{}", short_hash(receiver), now.as_second()),
            reply_to: None,
            event: NotifyEvent::Test,
            at: now,
            alerts: vec![NotifyAlert::test(now)],
        }
    }

    /// Returns the message in one line.
    pub fn title(&self) -> String {
        let Some(first) = self.alerts.first() else { return "no alert".to_owned() };
        let prefix = self.event.prefix();
        let tag = match first.severity {
            Severity::Critical if !first.state.is_closed() => "critical: ",
            _ => "",
        };
        let more = match self.alerts.len() - 1 {
            0 => String::new(),
            more if self.event == NotifyEvent::Digest => format!(" (digest: and {more} more)"),
            more => format!(" (and {more} more)"),
        };
        format!("{tag}{prefix}{}{more}", first.headline())
    }

    /// Returns the link of the first alert in the `dashboard`, if there is one.
    pub(crate) fn link(&self, dashboard: Option<&str>) -> Option<String> {
        Some(self.alerts.first()?.link(dashboard?))
    }

    /// Returns the message as plain text, ending with the link of the first alert in the `dashboard`
    /// if there is one.
    pub fn text(&self, dashboard: Option<&str>) -> String {
        let mut text = self.title() + "\n";
        for alert in &self.alerts {
            if self.alerts.len() > 1 {
                text.extend(["\n", &alert.headline(), "\n"]);
            }
            for section in alert.sections() {
                text.extend(["\n", section.heading, ":\n"]);
                for line in section.lines {
                    text.extend(["  ", &line, "\n"]);
                }
            }
        }
        if let Some(link) = self.link(dashboard) {
            text.extend(["\n", &link, "\n"]);
        }
        text
    }

    /// Returns the document of webhooks and commands.
    pub fn document(&self, dashboard: Option<&str>) -> NotificationDocument {
        NotificationDocument {
            format_version: FORMAT_VERSION,
            title: self.title(),
            text: self.text(dashboard),
            dashboard: dashboard.map(str::to_owned),
            notification: self.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::tests::change;

    #[test]
    fn title_and_text_name_the_event_the_change_and_its_cause() {
        let mut alert = change("a-1", 30.0);
        alert.causes = vec!["driver 6.1 → 6.2".to_owned()];
        let mut message = Notification::test("team", alert.since);
        message.alerts = vec![alert.clone()];
        message.event = NotifyEvent::Reminder;
        assert_eq!(
            message.title(),
            "critical: still open: gemm/a-1 time_ms +30.0 % on epyc since run r7"
        );
        let text = message.text(Some("https://bench.example"));
        let [cause, case] = ["driver 6.1", "  gemm/a-1 time_ms"].map(|part| text.find(part));
        assert!(cause.is_some() && cause < case, "{text}");
        let link = "\nhttps://bench.example/case?id=gemm/a-1&machine=epyc\n";
        assert!(text.ends_with(link), "{text}");
        alert.series[0].id = "x&y=1 <ä>".to_owned();
        assert!(
            alert.link("https://b/").starts_with("https://b/case?id=x%26y%3D1%20%3C%C3%A4%3E&")
        );
        let test = Notification::test("team", alert.since);
        assert_eq!(test.link(Some("https://b/")).as_deref(), Some("https://b"));
        message.alerts.push(alert);
        message.event = NotifyEvent::Digest;
        assert!(message.title().ends_with("(digest: and 1 more)"), "{}", message.title());
    }

    #[test]
    fn the_document_has_the_fields_of_the_message() {
        let message = Notification::test("team", Timestamp::UNIX_EPOCH);
        let document = serde_json::to_value(message.document(None)).unwrap();
        assert_eq!(document["event"], "test");
        assert_eq!(document["id"], message.id);
        assert_eq!(document["alerts"][0]["kind"], "test");
        assert_eq!(document["format_version"], FORMAT_VERSION);
    }
}
