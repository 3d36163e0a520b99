//! GitHub issues: one issue per alert, found by its label and a hidden marker, because the search
//! of GitHub lags. Updates are comments, a recovery closes the issue, and a recurrence reopens it.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{fit, read};
use crate::alert::NotifyState;
use crate::config::GithubIssueSection;
use crate::http::{HttpMethod, HttpRequest, SendError, exchange};
use crate::message::Notification;

const MAX_TITLE: usize = 200;

/// Maximum length of a text; GitHub accepts 65,536 characters.
const MAX_BODY: usize = 60_000;

/// Maximum difference between the local clock and that of GitHub.
const CLOCKS: SignedDuration = SignedDuration::from_hours(1);

/// Number of pages of 100 issues, newest first, that are searched for the marker.
const PAGES: u32 = 5;

/// Issue about an alert.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FoundIssue {
    number: u64,
    is_open: bool,
    /// Texts of the issue and its latest comments, with the markers of their messages.
    texts: String,
}

/// Request to the API below the address of the issues.
#[derive(Debug, Clone, PartialEq)]
struct GithubCall {
    method: HttpMethod,
    path: String,
    body: Value,
}

/// Finds the issue of the alert and updates it.
pub(super) fn send(
    section: &GithubIssueSection,
    notification: &Notification,
    dashboard: Option<&str>,
) -> Result<(), SendError> {
    let token = read(&section.token)?;
    let api = section.api.trim_end_matches('/');
    let issues = format!("{api}/repos/{}/issues", section.repository);
    let ask = |method, path: &str, body: &Value| {
        let url = format!("{issues}{path}");
        request(method, &url, token.expose(), body)
    };
    let key = notification.alerts.first().map_or("", |alert| alert.key.as_str());
    let mut found = None;
    for page in 1..=PAGES {
        let path = format!(
            "?labels={}&state=all&sort=created&direction=desc&per_page=100&page={page}",
            section.label
        );
        let list = parse(&ask(HttpMethod::Get, &path, &Value::Null)?)?;
        found = find(&list, key);
        if found.is_some() || list.len() < 100 {
            break;
        }
    }
    if let Some(issue) = &mut found {
        let since = notification.at.saturating_sub(CLOCKS).unwrap_or(notification.at);
        let since = since.strftime("%Y-%m-%dT%H:%M:%SZ");
        let path = format!("/{}/comments?since={since}&per_page=100", issue.number);
        for comment in parse(&ask(HttpMethod::Get, &path, &Value::Null)?)? {
            issue.texts.push_str(comment["body"].as_str().unwrap_or_default());
        }
    }
    for call in plan(section, notification, dashboard, found.as_ref()) {
        let answer = ask(call.method, &call.path, &call.body)?;
        if call.path.is_empty() {
            check_label(&answer, &section.label)?;
        }
    }
    Ok(())
}

/// Checks that the new issue has its label: GitHub drops it silently if the token may not set it,
/// and without the label, the issue is not found again.
fn check_label(answer: &str, label: &str) -> Result<(), SendError> {
    let issue: Value = serde_json::from_str(answer).unwrap_or_default();
    let mut labels = issue["labels"].as_array().into_iter().flatten();
    if labels.any(|one| one["name"] == label) {
        return Ok(());
    }
    Err(SendError::permanent(format!(
        "the issue was created without the label `{label}`; give the user of the token write \
         access to the repository"
    )))
}

fn request(method: HttpMethod, url: &str, token: &str, body: &Value) -> Result<String, SendError> {
    let headers = vec![
        ("authorization", format!("Bearer {token}")),
        ("accept", "application/vnd.github+json".to_owned()),
        ("x-github-api-version", "2022-11-28".to_owned()),
    ];
    let answer = exchange(&HttpRequest { method, url, headers, body: body.to_string() })?;
    if answer.status == 403 && (answer.retry_after.is_some() || answer.is_exhausted) {
        let why = "HTTP 403: too many requests".to_owned();
        return Err(SendError::Later { why, after: answer.retry_after });
    }
    answer.into_result(url)
}

fn parse(text: &str) -> Result<Vec<Value>, SendError> {
    serde_json::from_str(text).map_err(|_| SendError::later("the answer is not that of GitHub"))
}

/// Returns the newest issue in `list` whose body has the marker of `key`.
fn find(list: &[Value], key: &str) -> Option<FoundIssue> {
    let marker = marker(key);
    for issue in list {
        let body = issue["body"].as_str().unwrap_or_default();
        if issue["pull_request"].is_null() && body.contains(&marker) {
            return Some(FoundIssue {
                number: issue["number"].as_u64()?,
                is_open: issue["state"] == "open",
                texts: body.to_owned(),
            });
        }
    }
    None
}

/// Returns the requests that bring the issue up to date.
fn plan(
    section: &GithubIssueSection,
    notification: &Notification,
    dashboard: Option<&str>,
    found: Option<&FoundIssue>,
) -> Vec<GithubCall> {
    let Some(alert) = notification.alerts.first() else { return Vec::new() };
    let is_closed = alert.state.is_closed();
    let text = markdown(notification, dashboard);
    let Some(issue) = found else {
        if is_closed {
            return Vec::new();
        }
        let body =
            format!("{text}\n{}\n{}\n", marker(&alert.key), message_marker(&notification.id));
        let title = fit(&alert.headline(), MAX_TITLE);
        let body = json!({"title": title, "body": body, "labels": [section.label]});
        return vec![GithubCall { method: HttpMethod::Post, path: String::new(), body }];
    };
    let path = format!("/{}", issue.number);
    let mut calls = Vec::new();
    // If the issue already contains the message, GitHub accepted it earlier, but its answer was
    // lost.
    if !issue.texts.contains(&message_marker(&notification.id)) && (issue.is_open || !is_closed) {
        let body = json!({"body": format!("{text}\n{}\n", message_marker(&notification.id))});
        calls.push(GithubCall { method: HttpMethod::Post, path: format!("{path}/comments"), body });
    }
    if issue.is_open == is_closed {
        let body = match alert.state {
            NotifyState::Withdrawn => json!({"state": "closed", "state_reason": "not_planned"}),
            NotifyState::Recovered => json!({"state": "closed", "state_reason": "completed"}),
            NotifyState::New | NotifyState::Acknowledged => json!({"state": "open"}),
        };
        calls.push(GithubCall { method: HttpMethod::Patch, path, body });
    }
    calls
}

/// Returns the marker of the issue of an alert; keys are safe in comments.
fn marker(key: &str) -> String {
    format!("<!-- rusty-stack-bench alert {key} -->")
}

fn message_marker(id: &str) -> String {
    format!("<!-- rusty-stack-bench message {id} -->")
}

/// Returns the message as Markdown. Names are in code spans, in which GitHub interprets nothing.
fn markdown(notification: &Notification, dashboard: Option<&str>) -> String {
    let mut text = format!("`{}`\n", code(&notification.title()));
    for alert in &notification.alerts {
        for section in alert.sections() {
            text.extend(["\n**", section.heading, "**\n```text\n"]);
            for line in section.lines {
                text.extend([&code(&line), "\n"]);
            }
            text.push_str("```\n");
        }
    }
    let mut text = fit(&text, MAX_BODY);
    if let Some(link) = notification.link(dashboard) {
        text.extend(["\n[Dashboard](", &link, ")\n"]);
    }
    text
}

fn code(text: &str) -> String {
    text.replace('`', "'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::NotifyAlert;
    use crate::alert::tests::change;

    fn section() -> GithubIssueSection {
        toml::from_str("repository = 'o/r'\ntoken = { env = 'T' }").unwrap()
    }

    fn message(state: NotifyState) -> Notification {
        let alert = NotifyAlert { state, ..change("a-1", 15.0) };
        let mut message = Notification::test("issues", alert.since);
        message.alerts = vec![alert];
        message
    }

    fn calls(state: NotifyState, found: Option<&FoundIssue>) -> Vec<String> {
        let calls = plan(&section(), &message(state), None, found);
        calls
            .iter()
            .map(|call| {
                let state = call.body["state"].as_str().unwrap_or_default();
                format!("{:?} {} {state}", call.method, call.path).trim_end().to_owned()
            })
            .collect()
    }

    #[test]
    fn an_issue_is_created_commented_closed_and_reopened() {
        let open = FoundIssue { number: 7, is_open: true, texts: marker("a-1") };
        let closed = FoundIssue { is_open: false, ..open.clone() };
        assert_eq!(calls(NotifyState::New, None), ["Post"]);
        assert_eq!(calls(NotifyState::New, Some(&open)), ["Post /7/comments"]);
        assert_eq!(
            calls(NotifyState::Recovered, Some(&open)),
            ["Post /7/comments", "Patch /7 closed"]
        );
        assert_eq!(calls(NotifyState::New, Some(&closed)), ["Post /7/comments", "Patch /7 open"]);
        assert!(calls(NotifyState::Recovered, Some(&closed)).is_empty());
        assert!(calls(NotifyState::Recovered, None).is_empty());
    }

    #[test]
    fn a_comment_whose_answer_was_lost_is_not_made_again() {
        let comment = plan(
            &section(),
            &message(NotifyState::Recovered),
            None,
            Some(&FoundIssue { number: 7, is_open: true, texts: String::new() }),
        );
        let texts = comment[0].body["body"].as_str().unwrap().to_owned();
        let issue = FoundIssue { number: 7, is_open: true, texts };
        assert_eq!(calls(NotifyState::Recovered, Some(&issue)), ["Patch /7 closed"]);
        let closed = FoundIssue { is_open: false, ..issue };
        assert!(calls(NotifyState::Recovered, Some(&closed)).is_empty());
    }

    #[test]
    fn an_issue_whose_answer_was_lost_is_not_created_again() {
        let message = message(NotifyState::New);
        let created = plan(&section(), &message, None, None).remove(0);
        assert_eq!(created.body["labels"], json!(["performance"]));
        let body = created.body["body"].clone();
        let list = [
            json!({"number": 9, "state": "open", "body": null}),
            json!({"number": 8, "state": "open", "body": body, "pull_request": {}}),
            json!({"number": 7, "state": "open", "body": body}),
            json!({"number": 3, "state": "closed", "body": marker("a-1")}),
        ];
        let found = find(&list, "a-1").unwrap();
        assert_eq!(found.number, 7, "the newest issue, no pull request");
        assert!(plan(&section(), &message, None, Some(&found)).is_empty());
        assert_eq!(find(&list, "a-2"), None);
    }

    #[test]
    fn names_cannot_mention_or_leave_the_code() {
        let mut message = message(NotifyState::New);
        message.alerts[0].series[0].id = "``` @team <!-- --> [x](y)".to_owned();
        let text = markdown(&message, None);
        assert_eq!(text.matches("```").count(), 2, "{text}");
        assert_eq!(text.lines().next().unwrap().matches('`').count(), 2);
    }
}
