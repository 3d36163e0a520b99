//! A real Alertmanager, from Debian's package `prometheus-alertmanager`, started by the test: a
//! verdict closes an alert, not a timeout.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use common::servers::{answer, next_statuses, serve, start_alertmanager};
use common::{alert, section, with_state};
use rsb_notify::{Notification, NotifyAlert, NotifySection, NotifyState, send};

fn tell(section: &NotifySection, alert: &NotifyAlert) -> Result<(), String> {
    let mut message = Notification::test("am", alert.since);
    message.alerts = vec![alert.clone()];
    send(section, &message).map_err(|error| error.to_string())
}

/// Runs amtool, which is part of Alertmanager's package, and returns its output; `None` if it is
/// not installed.
fn amtool(arguments: &[&str]) -> Option<String> {
    let Ok(output) = Command::new("amtool").args(arguments).output() else {
        test_needs::missing("alertmanager", "amtool is not installed");
        return None;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn amtool_accepts_the_example_and_routes_only_alerts_of_benchmarks_to_its_receiver() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/alertmanager.yml");
    let file = file.to_str().unwrap();
    let Some(checked) = amtool(&["check-config", file]) else { return };
    assert!(checked.contains("SUCCESS"), "{checked}");
    for (label, expected) in
        [("alertname=BenchmarkChanged", "benchmarks\n"), ("alertname=Other", "default\n")]
    {
        let test = ["config", "routes", "test", "--config.file", file, label];
        assert_eq!(amtool(&test).unwrap(), expected, "{label}");
    }
}

#[test]
fn an_alert_fires_once_and_ends_by_a_verdict_only() {
    let dir = tempfile::tempdir().unwrap();
    let (hook, messages) = serve(vec![answer("200 OK", "", "")]);
    let Some((_server, address)) = start_alertmanager(dir.path(), &hook) else { return };
    let section = section(&format!("alertmanager = {{ url = '{address}' }}"));
    let open = alert("a-1", 30.0);
    tell(&section, &open).unwrap();
    assert_eq!(next_statuses(&messages), ["a-1 firing"]);
    let url = format!("--alertmanager.url={address}");
    let listed = amtool(&["alert", "query", &url, "alert=a-1", "severity=critical"]).unwrap();
    assert!(listed.contains("BenchmarkChanged"), "{listed}");
    // Send the alert again, as after a run, and then wait for longer than Alertmanager's timeout.
    thread::sleep(Duration::from_millis(500));
    tell(&section, &open).unwrap();
    thread::sleep(Duration::from_secs(3));
    assert!(messages.try_recv().is_err(), "it is still firing");
    tell(&section, &with_state(&open, NotifyState::Recovered)).unwrap();
    assert_eq!(next_statuses(&messages), ["a-1 resolved"]);
    thread::sleep(Duration::from_millis(500));
    assert!(messages.try_recv().is_err());
}
