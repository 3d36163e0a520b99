//! Receivers against a local server that answers, refuses, closes early, hangs or sends garbage.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use common::servers::{Reaction, Slack, answer, serve};
use common::{alert, message, section, with_state};
use jiff::{SignedDuration, Timestamp};
use rsb_notify::{
    Notification, NotifyAlert, NotifyClock, NotifySection, NotifyState, Outbox, SendError,
    SeriesChange, send, send_briefly,
};

fn slack(address: &str) -> NotifySection {
    section(&format!("slack = {{ url = '{address}/services/T0SECRET' }}"))
}

#[test]
fn every_fault_of_a_server_says_whether_to_try_again() {
    let sends = |text: &str| Reaction::Answer(text.to_owned());
    for (reaction, expected) in [
        (answer("429 Too Many Requests", "retry-after: 30\r\n", ""), "after 30 s"),
        (answer("408 Request Timeout", "", ""), "later"),
        (answer("425 Too Early", "", ""), "later"),
        (answer("500 Internal Server Error", "", "oops"), "later"),
        (answer("503 Busy", "retry-after: 5\r\n", ""), "after 5 s"),
        (answer("200 OK", "", "<html>sign in</html>"), "later"),
        (answer("404 Not Found", "", "no_service"), "never"),
        (answer("403 Forbidden", "", "invalid_token"), "never"),
        (answer("302 Found", "location: http://127.0.0.1:1/\r\n", ""), "never"),
        (sends("garbage\r\n\r\n"), "later"),
        (sends("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nok"), "later"),
        (Reaction::Close, "later"),
        (Reaction::Hang, "later"),
    ] {
        let (address, _requests) = serve(vec![reaction.clone()]);
        let error = send(&slack(&address), &message()).unwrap_err();
        assert!(!error.to_string().contains("SECRET"), "{error}");
        let retry = match &error {
            SendError::Later { after: Some(wait), .. } => format!("after {} s", wait.as_secs()),
            SendError::Later { .. } => "later".to_owned(),
            SendError::Final { .. } => "never".to_owned(),
        };
        assert_eq!(retry, expected, "{reaction:?}: {error}");
    }
}

#[test]
fn slack_accepts_a_message() {
    let (address, requests) = serve(vec![answer("200 OK", "", "ok")]);
    send(&slack(&address), &message()).unwrap();
    let request = requests.recv().unwrap();
    assert!(request.starts_with("POST /services/T0SECRET HTTP/1.1"), "{request}");
    assert!(request.contains("\"blocks\"") && request.contains("test message"), "{request}");
}

/// Returns a message about `count` alerts in which every text is `name`, repeated to the maximum
/// length.
fn hostile(name: &str, count: usize) -> Notification {
    let name: String = name.chars().cycle().take(200).collect();
    let one =
        SeriesChange { id: name.clone(), metric: name.clone(), change_percent: Some(f64::MAX) };
    let alert = NotifyAlert {
        machine: name.clone(),
        run: Some(name.clone()),
        series: vec![one; 20],
        series_count: 1000,
        causes: vec![name.clone(); 10],
        commits: vec![name.clone(); 10],
        because: Some(name.clone()),
        next: vec![name; 3],
        ..alert("a-1", 30.0)
    };
    Notification { alerts: vec![alert; count], ..message() }
}

#[test]
fn slack_accepts_hostile_names_of_any_length_and_number() {
    let slack = Slack::start();
    let url = format!("slack = {{ url = '{}' }}", slack.address);
    let section = section(&format!("dashboard = 'https://bench.example'\n{url}"));
    let names = ["<!channel> ", "```", "&", "\u{1f600}", "\u{202e}\u{7f}\"\\", "*_~`<http://x|y>"];
    for (name, count) in names.into_iter().flat_map(|name| [(name, 1), (name, 200)]) {
        while let Err(error) = send(&section, &hostile(name, count)) {
            // Only the second that has to pass between two messages is a reason to refuse one.
            let SendError::Later { after: Some(wait), .. } = error else {
                panic!("{count} of {name}: {error}");
            };
            thread::sleep(Duration::try_from(wait).unwrap());
        }
        // Slack interprets no mention and no link in a header.
        let request = slack.accepted.recv().unwrap();
        let (_, sections) = request.split_once("\"section\"").unwrap();
        assert!(!sections.contains("<!channel>") && !sections.contains("<http://x"), "{request}");
    }
}

#[test]
fn the_outbox_sends_slack_one_message_a_second() {
    let slack = Slack::start();
    let url = format!("slack = {{ url = '{}' }}", slack.address);
    let sections = [section(&url)];
    let dir = tempfile::tempdir().unwrap();
    let mut outbox = Outbox::open(dir.path()).unwrap();
    let of_run = |at: i32| {
        let run = Some(format!("r{at}"));
        NotifyAlert { run, ..alert(&format!("a-{at}"), 30.0) }
    };
    let alerts: Vec<NotifyAlert> = (0..3).map(of_run).collect();
    outbox.add(&sections, &alerts, NotifyClock::read()).unwrap();
    let report = outbox.deliver(&sections, Duration::from_mins(1), &mut send).unwrap();
    assert_eq!((report.accepted, slack.accepted.try_iter().count()), (3, 3), "{report:?}");
    assert_eq!(slack.refused.try_iter().collect::<Vec<_>>(), [] as [String; 0]);
}

#[test]
fn an_invalid_address_is_not_printed() {
    for address in ["ftp://h/SECRET", "http://[::1/SECRET", "http://h h/SECRET", "https:///SECRET"]
    {
        let error = send(&slack(address), &message()).unwrap_err();
        assert!(!error.to_string().contains("SECRET"), "{error}");
    }
}

#[test]
fn a_server_that_is_down_and_an_unset_variable_are_tried_again() {
    let error = send(&slack("http://127.0.0.1:1"), &message()).unwrap_err();
    assert!(matches!(error, SendError::Later { .. }) && !error.to_string().contains("SECRET"));
    let unset = section("slack = { url = { env = 'NO_SUCH_VARIABLE_HERE' } }");
    let error = send(&unset, &message()).unwrap_err();
    assert!(error.to_string().contains("NO_SUCH_VARIABLE_HERE"), "{error}");
}

#[test]
fn a_webhook_is_signed_and_an_alertmanager_gets_a_list() {
    let accepted = answer("204 No Content", "", "");
    let (address, requests) = serve(vec![accepted]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    std::fs::write(&path, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").unwrap();
    let table =
        format!("webhook = {{ url = '{address}', secret = {{ file = '{}' }} }}", path.display());
    let message = message();
    send(&section(&table), &message).unwrap();
    let request = requests.recv().unwrap();
    let id = format!("webhook-id: {}", message.id);
    for part in [id.as_str(), "webhook-signature: v1,", "\"title\""] {
        assert!(request.contains(part), "{part}\n{request}");
    }
    send(&section(&format!("alertmanager = {{ url = '{address}/' }}")), &message).unwrap();
    let request = requests.recv().unwrap();
    assert!(request.starts_with("POST /api/v2/alerts "), "{request}");
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let alerts: serde_json::Value = serde_json::from_str(body).unwrap();
    let end: Timestamp = alerts[0]["endsAt"].as_str().unwrap().parse().unwrap();
    assert!(end > Timestamp::now() + SignedDuration::from_mins(4), "{alerts}");
}

fn github(address: &str, dir: &Path) -> NotifySection {
    let path = dir.join("token");
    std::fs::write(&path, "ghp_token").unwrap();
    section(&format!(
        "[notify.github-issue]\nrepository = 'o/r'\napi = '{address}'\ntoken = {{ file = '{}' }}",
        path.display()
    ))
}

#[test]
fn a_github_issue_is_searched_then_created() {
    let issue = "{\"labels\": [{\"name\": \"performance\"}]}";
    let found = answer("200 OK", "", "[]");
    let reactions = vec![found.clone(), answer("201 Created", "", issue), found];
    let (address, requests) =
        serve([reactions, vec![answer("201 Created", "", "{\"labels\": []}")]].concat());
    let dir = tempfile::tempdir().unwrap();
    let section = github(&address, dir.path());
    send(&section, &message()).unwrap();
    let search = requests.recv().unwrap();
    assert!(search.starts_with("GET /repos/o/r/issues?labels=performance&state=all"), "{search}");
    assert!(search.contains("authorization: Bearer ghp_token"), "{search}");
    let created = requests.recv().unwrap();
    assert!(created.starts_with("POST /repos/o/r/issues HTTP/1.1"), "{created}");
    assert!(created.contains("<!-- rusty-stack-bench alert test-"), "{created}");
    let error = send(&section, &message()).unwrap_err();
    assert!(error.to_string().contains("without the label `performance`"), "{error}");
}

#[test]
fn a_github_issue_is_found_commented_and_closed() {
    let marker = "<!-- rusty-stack-bench alert a-1 -->";
    let issue = format!("[{{\"number\": 7, \"state\": \"open\", \"body\": \"{marker}\"}}]");
    let (address, requests) = serve(vec![answer("200 OK", "", &issue), answer("200 OK", "", "[]")]);
    let dir = tempfile::tempdir().unwrap();
    let section = github(&address, dir.path());
    let mut message = message();
    message.alerts = vec![with_state(&alert("a-1", 30.0), NotifyState::Recovered)];
    send(&section, &message).unwrap();
    let lines: Vec<String> = requests
        .try_iter()
        .map(|request| request.split_once(" HTTP").unwrap().0.to_owned())
        .collect();
    assert!(lines[1].starts_with("GET /repos/o/r/issues/7/comments?since=20"), "{lines:?}");
    assert_eq!(lines[2], "POST /repos/o/r/issues/7/comments");
    assert_eq!(lines[3], "PATCH /repos/o/r/issues/7");
}

#[test]
fn an_exhausted_limit_of_github_is_tried_again() {
    let reaction = answer("403 Forbidden", "x-ratelimit-remaining: 0\r\n", "");
    let (address, _requests) = serve(vec![reaction]);
    let dir = tempfile::tempdir().unwrap();
    let error = send(&github(&address, dir.path()), &message()).unwrap_err();
    assert!(matches!(error, SendError::Later { .. }), "{error}");
}

#[test]
fn an_attempt_ends_after_5_s_however_slow_the_receiver_is() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Each line of the greeting is in time; the greeting never ends.
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        while stream.write_all(b"220-wait\r\n").is_ok() {
            thread::sleep(Duration::from_millis(500));
        }
    });
    let mail = format!(
        "email = {{ host = 'localhost', port = {port}, tls = 'none', from = 'a@b.example', to = \
         ['c@d.example'] }}"
    );
    for (table, expected) in [
        (mail.as_str(), "no answer within 5 s"),
        ("command = { run = ['sleep', '60'] }", "did not end within 5 s"),
    ] {
        let start = Instant::now();
        let error = send_briefly(&section(table), &message()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }
}

#[test]
fn a_command_reads_the_document_and_its_exit_status_counts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("document.json");
    let table = |script: &str| section(&format!("command = {{ run = ['sh', '-c', '{script}'] }}"));
    send(&table(&format!("cat > {}", path.display())), &message()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["event"], "test");
    let error = send(&table("echo no such room >&2; exit 3"), &message()).unwrap_err();
    assert!(error.to_string().contains("no such room"), "{error}");
    let error = send(&section("command = { run = ['/nonexistent'] }"), &message()).unwrap_err();
    assert!(matches!(error, SendError::Later { .. }), "{error}");
}
