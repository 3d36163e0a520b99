//! `[[notify]]` of the configuration file: strict tables, one for each receiver.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::SignedDuration;
use lettre::message::Mailbox;
use rsb_model::record::Severity;
use serde::Deserialize;

use crate::policy::{QuietHours, ReceiverRule};
use crate::secret::{NamedSource, ValueSource};

/// One receiver: its name, limits for its messages, and exactly one table with its address.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotifySection {
    /// Name, of letters, digits, `-` and `_`.
    pub name: String,
    /// Lowest severity that is reported.
    #[serde(default = "default_severity")]
    pub severity: Severity,
    /// Hours after which an alert is sent again, unless a user acknowledged it.
    #[serde(default = "default_repeat")]
    pub repeat_hours: u32,
    /// Maximum number of messages per hour, the last one a digest.
    #[serde(default = "default_limit")]
    pub max_per_hour: u32,
    /// Local time without messages, such as `22:00-07:00`.
    pub quiet_hours: Option<String>,
    /// Address of the dashboard, for a link.
    pub dashboard: Option<String>,
    /// Slack, by an incoming webhook.
    pub slack: Option<SlackSection>,
    /// Mail.
    pub email: Option<EmailSection>,
    /// Prometheus Alertmanager.
    pub alertmanager: Option<AlertmanagerSection>,
    /// A webhook that receives JSON.
    pub webhook: Option<WebhookSection>,
    /// Issues of a GitHub repository.
    #[serde(rename = "github-issue")]
    pub github_issue: Option<GithubIssueSection>,
    /// A program that reads JSON from standard input.
    pub command: Option<CommandSection>,
}

const fn default_severity() -> Severity {
    Severity::Warning
}

const fn default_repeat() -> u32 {
    24
}

const fn default_limit() -> u32 {
    10
}

/// `slack`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlackSection {
    /// Address of the incoming webhook, a secret.
    pub url: ValueSource,
}

/// `email`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmailSection {
    /// Name of the mail server.
    pub host: String,
    /// Port; the default depends on the encryption.
    pub port: Option<u16>,
    /// Encryption.
    #[serde(default)]
    pub tls: TlsMode,
    /// User, if the server needs one.
    pub user: Option<String>,
    /// Password of the user, a secret.
    pub password: Option<ValueSource>,
    /// Sender.
    pub from: String,
    /// Recipients.
    pub to: Vec<String>,
}

/// Encryption of a connection to a mail server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TlsMode {
    /// STARTTLS, required; port 587.
    #[default]
    Starttls,
    /// TLS from the beginning; port 465.
    Implicit,
    /// None, only for a server on this machine; port 25.
    None,
}

/// `alertmanager`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlertmanagerSection {
    /// Address, such as `http://localhost:9093`.
    pub url: ValueSource,
    /// Bearer token, a secret.
    pub token: Option<ValueSource>,
    /// Days without a message after which Alertmanager resolves an alert.
    #[serde(default = "default_keep")]
    pub keep_firing_days: u32,
    /// Further labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

const fn default_keep() -> u32 {
    7
}

/// `webhook`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookSection {
    /// Address.
    pub url: ValueSource,
    /// Signing key as in Standard Webhooks, a secret.
    pub secret: Option<ValueSource>,
}

/// `github-issue`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GithubIssueSection {
    /// Repository, as `owner/name`.
    pub repository: String,
    /// Token that may write issues, a secret.
    pub token: ValueSource,
    /// Label of the issues.
    #[serde(default = "default_label")]
    pub label: String,
    /// Address of the API.
    #[serde(default = "default_api")]
    pub api: String,
}

fn default_label() -> String {
    "performance".to_owned()
}

fn default_api() -> String {
    "https://api.github.com".to_owned()
}

/// `command`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSection {
    /// Program and arguments.
    pub run: Vec<String>,
    /// Time limit.
    #[serde(default = "default_timeout")]
    pub timeout_seconds: u64,
}

const fn default_timeout() -> u64 {
    30
}

/// The receiver of a section.
#[derive(Debug, Clone, Copy)]
pub enum ReceiverSection<'a> {
    /// Slack.
    Slack(&'a SlackSection),
    /// Mail.
    Email(&'a EmailSection),
    /// Prometheus Alertmanager.
    Alertmanager(&'a AlertmanagerSection),
    /// A webhook.
    Webhook(&'a WebhookSection),
    /// GitHub issues.
    GithubIssue(&'a GithubIssueSection),
    /// A program.
    Command(&'a CommandSection),
}

impl ReceiverSection<'_> {
    /// Returns the name of the table.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Slack(_) => "slack",
            Self::Email(_) => "email",
            Self::Alertmanager(_) => "alertmanager",
            Self::Webhook(_) => "webhook",
            Self::GithubIssue(_) => "github-issue",
            Self::Command(_) => "command",
        }
    }
}

impl NotifySection {
    /// Returns the receiver.
    ///
    /// # Errors
    /// If the section has no receiver or more than one.
    pub fn receiver(&self) -> Result<ReceiverSection<'_>, String> {
        let all = [
            self.slack.as_ref().map(ReceiverSection::Slack),
            self.email.as_ref().map(ReceiverSection::Email),
            self.alertmanager.as_ref().map(ReceiverSection::Alertmanager),
            self.webhook.as_ref().map(ReceiverSection::Webhook),
            self.github_issue.as_ref().map(ReceiverSection::GithubIssue),
            self.command.as_ref().map(ReceiverSection::Command),
        ];
        let mut given = all.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(only), None) => Ok(only),
            _ => Err("needs exactly one of `slack`, `email`, `alertmanager`, `webhook`, \
                      `github-issue` and `command`"
                .to_owned()),
        }
    }

    /// Returns the rules for messages to the receiver.
    pub fn rule(&self) -> ReceiverRule {
        ReceiverRule {
            severity: self.severity,
            repeat: SignedDuration::from_hours(i64::from(self.repeat_hours)),
            max_per_hour: self.max_per_hour as usize,
            quiet: self.quiet_hours.as_deref().and_then(QuietHours::parse),
            is_mirror: self.alertmanager.is_some(),
            is_per_alert: self.github_issue.is_some(),
        }
    }

    /// Returns the section with `recipient` as the only recipient of mails, if given.
    pub(crate) fn for_recipient(&self, recipient: Option<&str>) -> Self {
        let mut section = self.clone();
        if let (Some(email), Some(recipient)) = (&mut section.email, recipient) {
            email.to = vec![recipient.to_owned()];
        }
        section
    }

    /// Returns the files that are read or run to send a message: those of secrets, the program, and
    /// its arguments that can be paths. A program without `/` is searched in `PATH`.
    pub fn files(&self) -> Vec<&Path> {
        let sources = self.sources().into_iter();
        let mut files: Vec<&Path> = sources
            .filter_map(|source| match source {
                ValueSource::Named(NamedSource::File(path)) => Some(path.as_path()),
                _ => None,
            })
            .collect();
        let words = self.command.as_ref().map_or(&[][..], |command| command.run.as_slice());
        for (at, word) in words.iter().enumerate() {
            let is_path = word.contains('/') && !word.contains("://");
            if is_path || at > 0 && Path::new(word).symlink_metadata().is_ok() {
                files.push(Path::new(word));
            }
        }
        files
    }

    /// Returns the names of the environment variables that contain secrets.
    pub fn variables(&self) -> Vec<String> {
        let sources = self.sources().into_iter();
        sources
            .filter_map(|source| match source {
                ValueSource::Named(NamedSource::Env(name)) => Some(name.clone()),
                _ => None,
            })
            .collect()
    }

    fn sources(&self) -> Vec<&ValueSource> {
        let manager = self.alertmanager.as_ref();
        let webhook = self.webhook.as_ref();
        let all = [
            self.slack.as_ref().map(|slack| &slack.url),
            self.email.as_ref().and_then(|email| email.password.as_ref()),
            manager.map(|manager| &manager.url),
            manager.and_then(|manager| manager.token.as_ref()),
            webhook.map(|webhook| &webhook.url),
            webhook.and_then(|webhook| webhook.secret.as_ref()),
            self.github_issue.as_ref().map(|issue| &issue.token),
        ];
        all.into_iter().flatten().collect()
    }

    fn check(&self) -> Result<(), String> {
        let is_name = (1..=40).contains(&self.name.len()) && is_word(&self.name);
        if !is_name {
            return Err("`name` must have 1 to 40 letters, digits, `-` or `_`".to_owned());
        }
        if !(1..=10_000).contains(&self.repeat_hours) {
            return Err("`repeat_hours` must be at least 1 and at most 10000".to_owned());
        }
        if !(1..=1000).contains(&self.max_per_hour) {
            return Err("`max_per_hour` must be at least 1 and at most 1000".to_owned());
        }
        if self.quiet_hours.as_deref().is_some_and(|text| QuietHours::parse(text).is_none()) {
            return Err("`quiet_hours` must be a time such as \"22:00-07:00\"".to_owned());
        }
        if self.dashboard.as_deref().is_some_and(|link| !is_link(link)) {
            return Err("`dashboard` must begin with https:// or http://".to_owned());
        }
        self.receiver()?.check()
    }
}

impl ReceiverSection<'_> {
    fn check(&self) -> Result<(), String> {
        match self {
            Self::Slack(slack) => check_secret("slack.url", Some(&slack.url)),
            Self::Email(email) => check_email(email),
            Self::Alertmanager(manager) => {
                if !(1..=365).contains(&manager.keep_firing_days) {
                    return Err("`alertmanager.keep_firing_days` must be 1 to 365".to_owned());
                }
                check_address("alertmanager.url", &manager.url)?;
                check_labels(&manager.labels)?;
                check_secret("alertmanager.token", manager.token.as_ref())
            }
            Self::Webhook(webhook) => {
                check_address("webhook.url", &webhook.url)?;
                check_secret("webhook.secret", webhook.secret.as_ref())
            }
            Self::GithubIssue(issue) => {
                let is_repository =
                    issue.repository.split_once('/').is_some_and(|(owner, name)| {
                        is_word(owner) && !name.is_empty() && is_word(&name.replace('.', "-"))
                    });
                if !is_repository {
                    return Err("`github-issue.repository` must be `owner/name`".to_owned());
                }
                if !is_word(&issue.label) {
                    return Err(
                        "`github-issue.label` must consist of letters, digits, `-` and `_`"
                            .to_owned(),
                    );
                }
                if !is_link(&issue.api) {
                    return Err("`github-issue.api` must begin with https://".to_owned());
                }
                check_secret("github-issue.token", Some(&issue.token))
            }
            Self::Command(command) => {
                if command.run.first().is_none_or(String::is_empty) {
                    return Err("`command.run` must name a program".to_owned());
                }
                if !(1..=600).contains(&command.timeout_seconds) {
                    return Err("`command.timeout_seconds` must be 1 to 600".to_owned());
                }
                Ok(())
            }
        }
    }
}

fn check_email(email: &EmailSection) -> Result<(), String> {
    if email.host.trim().is_empty() {
        return Err("`email.host` must name the mail server".to_owned());
    }
    let mut addresses = std::iter::once(&email.from).chain(&email.to);
    if email.to.is_empty() || !addresses.all(|address| address.parse::<Mailbox>().is_ok()) {
        return Err("`email.from` and `email.to` must be addresses, `to` at least one".to_owned());
    }
    let is_local = ["localhost", "127.0.0.1", "::1"].contains(&email.host.as_str());
    if email.tls == TlsMode::None && !is_local {
        return Err("`email.tls = \"none\"` is only for a server on localhost".to_owned());
    }
    if email.user.is_some() != email.password.is_some() {
        return Err("set both `email.user` and `email.password`, or neither".to_owned());
    }
    check_secret("email.password", email.password.as_ref())
}

/// Checks an address that is in the configuration file.
fn check_address(key: &str, source: &ValueSource) -> Result<(), String> {
    match source {
        ValueSource::Plain(address)
            if !address.starts_with("https://") && !address.starts_with("http://") =>
        {
            Err(format!("`{key}` must begin with https:// or http://"))
        }
        _ => Ok(()),
    }
}

/// Checks the names of labels, which must not replace those of an alert.
fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), String> {
    for name in labels.keys() {
        let is_valid = is_word(name)
            && !name.contains('-')
            && !name.starts_with(|first: char| first.is_ascii_digit());
        if !is_valid || ["alertname", "alert", "severity", "machine"].contains(&name.as_str()) {
            return Err(format!(
                "`alertmanager.labels`: `{name}` must consist of letters, digits and `_`, and must \
                 not be alertname, alert, severity or machine"
            ));
        }
    }
    Ok(())
}

/// Rejects a secret written in the configuration file; the error does not contain it.
fn check_secret(key: &str, source: Option<&ValueSource>) -> Result<(), String> {
    if source.is_some_and(ValueSource::is_plain) {
        return Err(format!(
            "`{key}` is a secret; write `{{ env = \"NAME\" }}` or `{{ file = \"PATH\" }}`, and \
             replace the secret if the file was shared"
        ));
    }
    Ok(())
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

fn is_link(text: &str) -> bool {
    (text.starts_with("https://") || text.starts_with("http://"))
        && !text.contains(|c: char| c.is_whitespace() || c.is_control() || "<>|()\"".contains(c))
}

/// Checks all sections.
///
/// # Errors
/// If a value is out of range, a name is used twice, or a secret is in the file.
pub fn check(sections: &[NotifySection]) -> Result<(), String> {
    for (at, section) in sections.iter().enumerate() {
        section.check().map_err(|problem| format!("`notify` \"{}\": {problem}", section.name))?;
        if sections.iter().take(at).any(|other| other.name == section.name) {
            return Err(format!("`notify`: the name \"{}\" is used twice", section.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Whole {
        notify: Vec<NotifySection>,
    }

    fn problem(text: &str) -> Option<String> {
        match toml::from_str::<Whole>(text) {
            Ok(whole) => check(&whole.notify).err(),
            Err(error) => Some(error.to_string()),
        }
    }

    #[test]
    fn each_receiver_has_a_short_table() {
        let text = "
            [[notify]]
            name = 'team'
            slack = { url = { env = 'SLACK_URL' } }
            [[notify]]
            name = 'mail'
            severity = 'critical'
            quiet_hours = '22:00-07:00'
            [notify.email]
            host = 'mail.example'
            user = 'u'
            password = { file = '/p' }
            from = 'a@b'
            to = ['c@d']
            [[notify]]
            name = 'am'
            alertmanager = { url = 'http://localhost:9093' }
            [[notify]]
            name = 'hook'
            webhook = { url = 'https://h.example', secret = { env = 'S' } }
            [[notify]]
            name = 'issues'
            github-issue = { repository = 'o/r.js', token = { env = 'T' } }
            [[notify]]
            name = 'script'
            command = { run = ['./notify.sh'] }";
        assert_eq!(problem(text), None);
        let whole: Whole = toml::from_str(text).unwrap();
        let kinds: Vec<&str> =
            whole.notify.iter().map(|one| one.receiver().unwrap().kind()).collect();
        let expected = ["slack", "email", "alertmanager", "webhook", "github-issue", "command"];
        assert_eq!(kinds, expected);
        assert!(whole.notify[2].rule().is_mirror && whole.notify[4].rule().is_per_alert);
        assert_eq!(whole.notify[1].rule().quiet, QuietHours::parse("22:00-07:00"));
    }

    #[test]
    fn files_and_variables_of_a_receiver_are_listed() {
        struct Row {
            table: &'static str,
            files: &'static [&'static str],
            variables: &'static [&'static str],
        }
        for Row { table, files, variables } in [
            Row { table: "slack = { url = { env = 'A' } }", files: &[], variables: &["A"] },
            Row { table: "slack = { url = { file = 'a' } }", files: &["a"], variables: &[] },
            Row {
                table: "webhook = { url = { env = 'A' }, secret = { file = '/k' } }",
                files: &["/k"],
                variables: &["A"],
            },
            Row {
                table: "command = { run = ['sh', './x.sh', '-v', 'https://a.example/b'] }",
                files: &["./x.sh"],
                variables: &[],
            },
            // Tests run in the directory of the crate, in which this file exists.
            Row {
                table: "command = { run = ['sh', 'Cargo.toml'] }",
                files: &["Cargo.toml"],
                variables: &[],
            },
        ] {
            let text = format!("[[notify]]\nname = 'x'\n{table}\n");
            let section = toml::from_str::<Whole>(&text).unwrap().notify.remove(0);
            let expected: Vec<&Path> = files.iter().map(Path::new).collect();
            assert_eq!(section.files(), expected, "{table}");
            assert_eq!(section.variables(), variables, "{table}");
        }
    }

    #[test]
    fn a_wrong_table_is_an_error_that_does_not_repeat_a_secret() {
        for (rest, expected) in [
            ("", "exactly one"),
            ("slack = { url = 'https://hooks/SECRET' }", "is a secret"),
            ("slack = { url = { env = 'A' }, channel = 'x' }", "unknown field"),
            ("sever = 'info'\ncommand = { run = ['x'] }", "unknown field"),
            ("command = { run = [] }", "name a program"),
            ("repeat_hours = 0\ncommand = { run = ['x'] }", "repeat_hours"),
            ("quiet_hours = 'night'\ncommand = { run = ['x'] }", "quiet_hours"),
            ("dashboard = 'x'\ncommand = { run = ['x'] }", "dashboard"),
            ("command = { run = ['x'] }\nslack = { url = { env = 'A' } }", "exactly one"),
            ("github-issue = { repository = 'o', token = { env = 'T' } }", "owner/name"),
            (
                "github-issue = { repository = 'o/r', token = { env = 'T' }, label = 'a b' }",
                "label",
            ),
            (
                "email = { host = 'm', tls = 'none', from = 'a@b', to = ['c@d'] }",
                "only for a server on localhost",
            ),
            ("email = { host = 'm', from = 'a@b', to = [] }", "at least one"),
            ("webhook = { url = 'https://h', secret = 'SECRET' }", "is a secret"),
            ("webhook = { url = 'h/SECRET' }", "`webhook.url` must begin with https://"),
            ("alertmanager = { url = 'localhost:9093' }", "`alertmanager.url` must begin"),
            ("alertmanager = { url = 'http://h', labels = { 'a-b' = 'x' } }", "`a-b` must"),
            ("alertmanager = { url = 'http://h', labels = { severity = 'x' } }", "`severity`"),
            ("email = { host = '', from = 'a@b', to = ['c@d'] }", "`email.host`"),
            ("email = { host = 'm', from = 'a@b', to = ['c d@'] }", "must be addresses"),
        ] {
            let text = format!("[[notify]]\nname = 'x'\n{rest}\n");
            let found = problem(&text).unwrap();
            assert!(found.contains(expected), "{rest}: {found}");
            assert!(!found.contains("SECRET"), "{found}");
        }
        let twice = "[[notify]]\nname = 'x'\ncommand = { run = ['x'] }\n".repeat(2);
        assert!(problem(&twice).unwrap().contains("twice"));
        assert!(problem("[[notify]]\nname = 'a b'\ncommand = { run = ['x'] }").is_some());
    }
}
