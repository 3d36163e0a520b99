//! Servers, and the sections and alerts of the tests.
#![allow(dead_code)] // Each test program uses its own part.

pub mod servers;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use rsb_model::record::Severity;
use rsb_notify::{
    AlertKind, Notification, NotifyAlert, NotifyClock, NotifySection, NotifyState, Outbox,
    SeriesChange,
};
use serde::Deserialize;

/// Parses sections of a configuration file.
pub fn sections(text: &str) -> Vec<NotifySection> {
    #[derive(Deserialize)]
    struct Whole {
        notify: Vec<NotifySection>,
    }
    toml::from_str::<Whole>(text).unwrap().notify
}

/// Parses one section with the receiver `table`.
pub fn section(table: &str) -> NotifySection {
    sections(&format!("[[notify]]\nname = 'x'\n{table}\n")).remove(0)
}

/// Returns an alert of one series that was first seen now.
pub fn alert(key: &str, percent: f64) -> NotifyAlert {
    let change = SeriesChange {
        id: format!("gemm/{key}"),
        metric: "time_ms".to_owned(),
        change_percent: Some(percent),
    };
    NotifyAlert {
        key: key.to_owned(),
        kind: AlertKind::Change,
        severity: Severity::Critical,
        machine: "epyc".to_owned(),
        run: Some("r7".to_owned()),
        direction: "worse".to_owned(),
        series: vec![change],
        series_count: 1,
        ..NotifyAlert::test(Timestamp::now())
    }
}

/// Returns `alert` in another state.
pub fn with_state(alert: &NotifyAlert, state: NotifyState) -> NotifyAlert {
    NotifyAlert { state, ..alert.clone() }
}

/// Returns a test message.
pub fn message() -> Notification {
    Notification::test("x", Timestamp::now())
}

/// Name of the variable with the directory of [`start_sender`].
const SENDER_DIR: &str = "NOTIFY_TEST_SENDER_DIR";

/// Starts this test program again, with its test `sender`, which must call [`be_sender`]: it sends
/// `alerts` to the receivers of the configuration `text`, with its outbox in `dir`.
pub fn start_sender(dir: &Path, text: &str, alerts: &[NotifyAlert]) -> Command {
    std::fs::write(dir.join("sections.toml"), text).unwrap();
    std::fs::write(dir.join("alerts.json"), serde_json::to_string(alerts).unwrap()).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "sender", "--ignored", "--nocapture"]).env(SENDER_DIR, dir);
    command.stdout(Stdio::null());
    command
}

/// Sends the alerts of [`start_sender`].
pub fn be_sender() {
    let dir = std::env::var_os(SENDER_DIR).unwrap();
    let dir = Path::new(&dir);
    let sections = sections(&std::fs::read_to_string(dir.join("sections.toml")).unwrap());
    let alerts = std::fs::read_to_string(dir.join("alerts.json")).unwrap();
    let alerts: Vec<NotifyAlert> = serde_json::from_str(&alerts).unwrap();
    let mut outbox = Outbox::open(dir).unwrap();
    outbox.add(&sections, &alerts, NotifyClock::read()).unwrap();
    let report = outbox.deliver(&sections, Duration::from_secs(5), &mut rsb_notify::send).unwrap();
    assert!(report.given_up.is_empty() && report.waiting.is_empty(), "{report:?}");
}
