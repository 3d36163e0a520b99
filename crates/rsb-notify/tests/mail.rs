//! Mail to a real SMTP server with TLS: aiosmtpd, started by the tests.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::path::PathBuf;

use common::servers::{MailServer, make_certificate};
use common::{alert, be_sender, start_sender, with_state};
use rsb_notify::{NotifyAlert, NotifyState};

#[test]
#[ignore = "the child process that the other tests of this file start"]
fn sender() {
    be_sender();
}

/// A sender of mail, with its outbox and password.
struct Sender {
    dir: tempfile::TempDir,
    trusted: PathBuf,
    section: String,
}

impl Sender {
    fn new(tls: &str, port: &str, to: &str, trusted: PathBuf) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let password = dir.path().join("password");
        fs::write(&password, "secret\n").unwrap();
        let password = password.display();
        let section = format!(
            "[[notify]]\nname = 'mail'\n[notify.email]\nhost = '127.0.0.1'\nport = {port}\ntls = \
             '{tls}'\nuser = 'bench'\npassword = {{ file = '{password}' }}\nfrom = 'Bench \
             <bench@lab.example>'\nto = ['{to}']\n"
        );
        Self { dir, trusted, section }
    }

    /// Sends what is due for `alert`; returns the messages if something fails.
    fn send(&self, alert: &NotifyAlert) -> Result<(), String> {
        let alerts = std::slice::from_ref(alert);
        let mut command = start_sender(self.dir.path(), &self.section, alerts);
        let output = command.env("SSL_CERT_FILE", &self.trusted).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!text.contains("secret"), "{text}");
        if output.status.success() { Ok(()) } else { Err(text) }
    }
}

/// Returns the value of a header of `mail`.
fn header<'a>(mail: &'a str, name: &str) -> Option<&'a str> {
    let (head, _) = mail.split_once("\r\n\r\n").unwrap();
    let prefix = format!("{name}: ");
    head.lines().find_map(|line| line.strip_prefix(prefix.as_str()))
}

#[test]
fn an_alert_its_update_and_its_recovery_are_one_thread() {
    let Some(server) = MailServer::start() else { return };
    let to = "team@lab.example";
    let sender = Sender::new("starttls", &server.starttls, to, server.certificate());
    let first = alert("a-1", 30.0);
    sender.send(&first).unwrap();
    sender.send(&first).unwrap();
    sender.send(&alert("a-1", 120.0)).unwrap();
    sender.send(&with_state(&first, NotifyState::Recovered)).unwrap();
    let mails = server.mails();
    let subjects: Vec<&str> = mails.iter().map(|mail| header(mail, "Subject").unwrap()).collect();
    assert_eq!(
        subjects,
        [
            "critical: gemm/a-1 time_ms +30.0 % on epyc since run r7",
            "critical: changed: gemm/a-1 time_ms +120.0 % on epyc since run r7",
            "recovered: gemm/a-1 time_ms +30.0 % on epyc since run r7"
        ]
    );
    let id = header(&mails[0], "Message-ID").unwrap();
    assert_eq!(header(&mails[0], "In-Reply-To"), None);
    assert_eq!(header(&mails[0], "Auto-Submitted"), Some("auto-generated"));
    assert_eq!(header(&mails[0], "Recipients"), Some(to));
    for later in &mails[1..] {
        assert_eq!(header(later, "In-Reply-To"), Some(id));
        assert_eq!(header(later, "References"), Some(id));
        assert_ne!(header(later, "Message-ID"), Some(id));
    }
}

#[test]
fn tls_from_the_beginning_is_used_if_configured() {
    let Some(server) = MailServer::start() else { return };
    let to = "team@lab.example";
    let sender = Sender::new("implicit", &server.implicit, to, server.certificate());
    sender.send(&alert("a-1", 30.0)).unwrap();
    assert_eq!(server.mails().len(), 1);
}

#[test]
fn a_refused_recipient_is_given_up_and_a_full_mailbox_is_tried_again() {
    let Some(server) = MailServer::start() else { return };
    for (to, expected) in [
        ("nobody@lab.example", "a message to `mail` was given up"),
        ("full@lab.example", "1 message waits for `mail`"),
    ] {
        let sender = Sender::new("starttls", &server.starttls, to, server.certificate());
        let error = sender.send(&alert("a-1", 30.0)).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    assert!(server.mails().is_empty());
}

#[test]
fn a_sender_that_the_server_rejects_is_final_and_a_busy_server_is_tried_again() {
    let Some(server) = MailServer::start() else { return };
    let to = "team@lab.example";
    for (from, expected) in [
        ("banned@lab.example", "a message to `mail` was given up"),
        ("busy@lab.example", "1 message waits for `mail`"),
    ] {
        let mut sender = Sender::new("starttls", &server.starttls, to, server.certificate());
        sender.section = sender.section.replace("bench@lab.example", from);
        let error = sender.send(&alert("a-1", 30.0)).unwrap_err();
        assert!(error.contains(expected), "{from}: {error}");
    }
    assert!(server.mails().is_empty());
}

#[test]
fn a_wrong_password_is_tried_again() {
    let Some(server) = MailServer::start() else { return };
    let to = "team@lab.example";
    let sender = Sender::new("starttls", &server.starttls, to, server.certificate());
    fs::write(sender.dir.path().join("password"), "wrong\n").unwrap();
    let error = sender.send(&alert("a-1", 30.0)).unwrap_err();
    assert!(error.contains("1 message waits for `mail`"), "{error}");
    assert!(server.mails().is_empty());
}

#[test]
fn a_server_with_an_untrusted_certificate_gets_no_mail_and_no_password() {
    let Some(server) = MailServer::start() else { return };
    let other = tempfile::tempdir().unwrap();
    let [certificate, key] = ["other.crt", "other.key"].map(|name| other.path().join(name));
    make_certificate(&certificate, &key);
    for (tls, port) in [("starttls", &server.starttls), ("implicit", &server.implicit)] {
        let sender = Sender::new(tls, port, "team@lab.example", certificate.clone());
        let error = sender.send(&alert("a-1", 30.0)).unwrap_err();
        assert!(error.contains("1 message waits for `mail`"), "{error}");
    }
    assert!(server.mails().is_empty());
}
