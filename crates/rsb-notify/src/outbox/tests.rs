use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::alert::tests::change;
use crate::alert::{AlertKind, NotifyState};
use crate::message::NotifyEvent;

/// Less than [`INTERVAL`], and longer than several writes.
const BUDGET: Duration = Duration::from_millis(800);

fn sections() -> Vec<NotifySection> {
    #[derive(Deserialize)]
    struct Whole {
        notify: Vec<NotifySection>,
    }
    let text = "
        [[notify]]
        name = 'team'
        command = { run = ['true'] }
        [[notify]]
        name = 'am'
        alertmanager = { url = 'http://localhost:9093' }";
    toml::from_str::<Whole>(text).unwrap().notify
}

/// Returns an alert that began and was first seen now.
fn fresh(key: &str) -> NotifyAlert {
    let now = Timestamp::now();
    NotifyAlert { first_seen: now, since: now, ..change(key, 15.0) }
}

fn clock() -> NotifyClock {
    NotifyClock { now: Timestamp::now(), minute: 0 }
}

/// Returns an outbox with one message to each of the first `receivers`.
fn filled(results: &Path, receivers: usize) -> Outbox {
    let mut outbox = Outbox::open(results).unwrap();
    outbox.add(&sections()[..receivers], &[fresh("a-1")], clock()).unwrap();
    outbox
}

#[test]
fn a_message_is_on_the_disk_before_it_is_sent_and_gone_after() {
    let dir = tempfile::tempdir().unwrap();
    let results = dir.path().join("results");
    let mut outbox = filled(&results, 1);
    let mode = fs::metadata(results.join(FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut seen = 0;
    let mut send = |_: &NotifySection, message: &Notification| {
        let stored = NotifyBook::read(&results).unwrap();
        assert_eq!(&stored.pending[0].notification, message);
        seen += 1;
        Ok(())
    };
    let report = outbox.deliver(&sections(), BUDGET, &mut send).unwrap();
    assert_eq!((report.accepted, seen), (1, 1));
    assert!(NotifyBook::read(&results).unwrap().pending.is_empty());
    // The same alert is not sent again.
    outbox.add(&sections()[..1], &[fresh("a-1")], clock()).unwrap();
    assert!(outbox.book().pending.is_empty());
}

#[test]
fn a_crash_while_sending_sends_the_same_message_again() {
    let dir = tempfile::tempdir().unwrap();
    let id = filled(dir.path(), 1).book().pending[0].notification.id.clone();
    // The process ends here; the next one reads what is on the disk.
    let mut outbox = Outbox::open(dir.path()).unwrap();
    let mut ids = Vec::new();
    let mut send = |_: &NotifySection, message: &Notification| {
        ids.push(message.id.clone());
        Ok(())
    };
    outbox.deliver(&sections(), BUDGET, &mut send).unwrap();
    assert_eq!(ids, [id]);
}

#[test]
fn an_error_is_retried_later_and_a_refusal_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut outbox = filled(dir.path(), 1);
    let mut down = |_: &NotifySection, _: &Notification| Err(SendError::later("HTTP 503"));
    let report = outbox.deliver(&sections(), BUDGET, &mut down).unwrap();
    assert_eq!(report.waiting, ["1 message waits for `team`: HTTP 503"]);
    let entry = &outbox.book().pending[0];
    assert!(entry.attempts == 1 && entry.next_try > Timestamp::now());
    let report = outbox.deliver(&sections(), BUDGET, &mut down).unwrap();
    assert_eq!(outbox.book().pending[0].attempts, 1, "it waits for its time");
    assert_eq!(report.waiting.len(), 1);

    let mut outbox = filled(&dir.path().join("other"), 1);
    let mut refuse = |_: &NotifySection, _: &Notification| Err(SendError::permanent("HTTP 404"));
    let report = outbox.deliver(&sections(), BUDGET, &mut refuse).unwrap();
    assert!(report.given_up[0].contains("HTTP 404"), "{report:?}");
    assert!(outbox.book().pending.is_empty() && outbox.book().failed.len() == 1);
}

#[test]
fn a_receiver_that_is_down_does_not_delay_another_and_keeps_its_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut outbox = filled(dir.path(), 2);
    let mut other = fresh("a-2");
    other.run = Some("r8".to_owned());
    outbox.add(&sections()[..1], &[other], clock()).unwrap();
    let mut tried = Vec::new();
    let mut send = |section: &NotifySection, message: &Notification| {
        tried.push(format!("{} {}", section.name, message.alerts[0].key));
        if section.name == "team" { Err(SendError::later("down")) } else { Ok(()) }
    };
    let report = outbox.deliver(&sections(), BUDGET, &mut send).unwrap();
    assert_eq!(tried, ["team a-1", "am a-1"], "a-2 waits for a-1");
    assert_eq!(report.waiting, ["2 messages wait for `team`: down"]);
}

#[test]
fn retry_after_is_honored_and_the_wait_grows() {
    let dir = tempfile::tempdir().unwrap();
    let mut outbox = filled(dir.path(), 1);
    let after = Some(SignedDuration::from_secs(90));
    let mut busy = |_: &NotifySection, _: &Notification| {
        Err(SendError::Later { why: "HTTP 429".to_owned(), after })
    };
    outbox.deliver(&sections(), BUDGET, &mut busy).unwrap();
    let wait = outbox.book().pending[0].next_try.duration_since(Timestamp::now()).as_secs();
    assert!((85..=90).contains(&wait), "{wait}");
    // A later message does not overtake it.
    outbox.add(&sections()[..1], &[fresh("a-2")], clock()).unwrap();
    assert_eq!(outbox.book().pending[1].next_try, outbox.book().pending[0].next_try);
    let waits: Vec<i64> = [0, 1, 5, 9, 10, 99].map(|n| backoff(n).as_secs()).to_vec();
    assert_eq!(waits, [1, 2, 32, 512, 600, 600]);
}

#[test]
fn a_mirror_that_was_down_gets_one_message_with_all_closings() {
    let mut book = NotifyBook::default();
    let mirror = &sections()[1..];
    let closed = NotifyAlert { state: NotifyState::Recovered, ..fresh("a-1") };
    book.add(mirror, &[fresh("a-1"), fresh("a-2")], clock());
    book.add(mirror, &[closed, fresh("a-2")], clock());
    book.add(mirror, &[fresh("a-2")], clock());
    assert_eq!(book.pending.len(), 1);
    let states: Vec<(&str, NotifyState)> = book.pending[0]
        .notification
        .alerts
        .iter()
        .map(|alert| (alert.key.as_str(), alert.state))
        .collect();
    assert_eq!(states, [("a-2", NotifyState::New), ("a-1", NotifyState::Recovered)]);
}

#[test]
fn a_gate_that_failed_in_quiet_hours_is_reported_when_they_end() {
    let mut book = NotifyBook::default();
    let mut team = sections().remove(0);
    team.quiet_hours = Some("22:00-07:00".to_owned());
    let team = [team];
    let at = |minute| NotifyClock { minute, ..clock() };
    let failed = NotifyAlert { kind: AlertKind::Gate, ..fresh("gate-1") };
    book.add(&team, &[failed.clone(), fresh("a-1")], at(60));
    assert_eq!((book.pending.len(), book.held.len()), (0, 1), "a-1 is found by each analysis");
    book.add(&team, &[], at(480));
    assert_eq!(book.pending[0].notification.alerts[0].key, "gate-1");
    assert!(book.held.is_empty());
    let passed = NotifyAlert { state: NotifyState::Recovered, ..failed };
    book.add(&team, &[passed], at(60));
    book.add(&team, &[], at(480));
    assert_eq!(book.pending[1].notification.event, NotifyEvent::Recovered);
}

#[test]
fn a_message_to_an_unknown_receiver_waits_and_an_old_one_is_tried_before_it_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut outbox = filled(dir.path(), 2);
    let mut send = |_: &NotifySection, _: &Notification| Ok(());
    let report = outbox.deliver(&sections()[1..], BUDGET, &mut send).unwrap();
    assert!(report.given_up.is_empty() && report.waiting.is_empty(), "{report:?}");
    assert_eq!((report.accepted, outbox.book().pending.len()), (1, 1));
    outbox.update(|book| book.pending[0].notification.at = Timestamp::UNIX_EPOCH).unwrap();
    let mut down = |_: &NotifySection, _: &Notification| Err(SendError::later("down"));
    let report = outbox.deliver(&sections(), BUDGET, &mut down).unwrap();
    assert!(report.given_up[0].contains("7 days: down"), "{report:?}");
}

#[test]
fn a_receiver_that_failed_comes_last() {
    let dir = tempfile::tempdir().unwrap();
    let mut outbox = filled(dir.path(), 2);
    outbox.update(|book| book.pending[0].attempts = 3).unwrap();
    let mut tried = Vec::new();
    let mut send = |section: &NotifySection, _: &Notification| {
        tried.push(section.name.clone());
        Ok(())
    };
    outbox.deliver(&sections(), BUDGET, &mut send).unwrap();
    assert_eq!(tried, ["am", "team"]);
}

#[test]
fn a_message_is_stored_while_another_process_sends_and_sent_by_one_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut outbox = filled(dir.path(), 1);
    let mut tried = 0;
    let mut send = |_: &NotifySection, _: &Notification| {
        tried += 1;
        let mut other = Outbox::open(dir.path()).unwrap();
        other.add(&sections()[1..], &[fresh("a-2")], clock()).unwrap();
        let mut never = |_: &NotifySection, _: &Notification| panic!("one process sends");
        let report = other.deliver(&sections(), Duration::ZERO, &mut never).unwrap();
        assert_eq!(report.waiting.len(), if tried == 1 { 2 } else { 1 }, "{report:?}");
        Ok(())
    };
    let report = outbox.deliver(&sections(), BUDGET, &mut send).unwrap();
    assert_eq!(report.accepted, 2);
}

#[test]
fn a_mail_waits_only_for_the_recipient_that_failed() {
    let dir = tempfile::tempdir().unwrap();
    let mut mail = sections().remove(0);
    mail.command = None;
    let email = "host = 'h'\nfrom = 'a@b'\nto = ['full@b', 'ok@b']";
    mail.email = Some(toml::from_str(email).unwrap());
    let mail = [mail];
    let mut outbox = Outbox::open(dir.path()).unwrap();
    outbox.add(&mail, &[fresh("a-1")], clock()).unwrap();
    let mut ids = Vec::new();
    let mut send = |section: &NotifySection, message: &Notification| {
        ids.push(message.id.clone());
        let to = &section.email.as_ref().unwrap().to;
        if to == &["full@b"] { Err(SendError::later("452")) } else { Ok(()) }
    };
    let report = outbox.deliver(&mail, BUDGET, &mut send).unwrap();
    assert_eq!((report.accepted, report.waiting.len()), (1, 1), "{report:?}");
    assert_eq!(outbox.book().pending[0].recipient.as_deref(), Some("full@b"));
    assert!(ids.len() == 2 && ids[0] == ids[1], "{ids:?}");
}

#[test]
fn a_damaged_or_newer_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    fs::write(&path, "{").unwrap();
    assert!(matches!(NotifyBook::read(dir.path()), Err(NotifyError::Unreadable { .. })));
    let newer = NotifyBook { format_version: FORMAT_VERSION + 1, ..NotifyBook::default() };
    fs::write(&path, serde_json::to_string(&newer).unwrap()).unwrap();
    let error = NotifyBook::read(dir.path()).unwrap_err().to_string();
    assert!(error.contains("newer program"), "{error}");
}

#[test]
fn a_pipe_a_link_a_directory_and_a_huge_file_are_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| {
        let results = dir.path().join(name);
        fs::create_dir(&results).unwrap();
        NotifyBook::path(&results)
    };
    let (directory, link, pipe, huge) = (at("directory"), at("link"), at("pipe"), at("huge"));
    fs::create_dir(directory).unwrap();
    std::os::unix::fs::symlink("/dev/zero", link).unwrap();
    let status = std::process::Command::new("mkfifo").arg(pipe).status().unwrap();
    assert!(status.success());
    File::create(huge).unwrap().set_len(MAX_BYTES + 1).unwrap();
    for name in ["directory", "link", "pipe", "huge"] {
        let read = NotifyBook::read(&dir.path().join(name));
        assert!(matches!(read, Err(NotifyError::Unreadable { .. })), "{name}: {read:?}");
    }
}

#[test]
fn a_silence_replaces_one_of_the_same_pattern_and_can_be_ended() {
    let dir = tempfile::tempdir().unwrap();
    let mut outbox = Outbox::open(dir.path()).unwrap();
    let silence = |hours| Silence {
        pattern: "gemm".to_owned(),
        until: Timestamp::now() + SignedDuration::from_hours(hours),
        because: None,
    };
    outbox.silence(silence(1)).unwrap();
    outbox.silence(silence(2)).unwrap();
    assert_eq!(NotifyBook::read(dir.path()).unwrap().silences.len(), 1);
    assert!(outbox.end_silence("gemm").unwrap());
    assert!(!outbox.end_silence("gemm").unwrap());
}

#[test]
fn an_open_alert_is_acknowledged_at_all_receivers_by_the_beginning_of_its_key() {
    let dir = tempfile::tempdir().unwrap();
    let mut outbox = filled(dir.path(), 2);
    assert!(outbox.acknowledge("gate-", "known").unwrap().is_empty());
    let keys = outbox.acknowledge("a-", "known").unwrap();
    assert_eq!(keys.len(), 1, "{keys:?}");
    let book = NotifyBook::read(dir.path()).unwrap();
    let mut alerts = book.receivers.values().flat_map(|state| state.alerts.values());
    assert!(alerts.all(|alert| alert.acknowledged.as_deref() == Some("known")));
}
