//! Decisions of users on alerts: acknowledged, dismissed, or caused by another change. The command
//! line, the terminal interface and the dashboard record them with [`decide`].

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::anyhow;
use rsb_insight::trends::{self, AlertError, DecisionRequest};
use rsb_model::Timestamp;
use rsb_model::record::{AlertDecision, AlertState, TrackedAlert};
use rsb_notify::policy::AnnouncedPhase;
use rsb_notify::{NotifyBook, NotifyError, Outbox};
use rsb_store::NoSuchAlert;

use crate::notify::notify_error;
use crate::{AppError, alert_error};

/// Maximum length of a reason in characters.
pub const MAX_REASON_CHARS: usize = 500;
/// Maximum length of a name in characters.
pub const MAX_NAME_CHARS: usize = 100;

/// A decision as a user gives it.
#[derive(Debug, Clone)]
pub struct DecisionInput {
    /// Id of the alert, or the beginning of one.
    pub alert: String,
    /// State that the alert gets.
    pub state: AlertState,
    /// Reason.
    pub because: String,
    /// Name of the user.
    pub author: String,
    /// Change that caused this one.
    pub caused_by: Option<String>,
    /// Number of decisions that the user has seen; `None` if the order does not matter.
    pub seen: Option<usize>,
}

/// A recorded decision.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedDecision {
    /// Changes of level with the decision, as now stored with the results.
    pub alerts: Vec<TrackedAlert>,
    /// Alerts that the receivers know and are not reminded of any more.
    pub announced: BTreeSet<String>,
    /// Reason why receivers may be reminded all the same.
    pub warning: Option<String>,
    decision: AlertDecision,
}

impl RecordedDecision {
    /// Returns the ids and the decision in one line.
    pub fn text(&self) -> String {
        let mut ids = self.announced.clone();
        ids.extend(self.alerts.iter().map(|alert| alert.id.clone()));
        let ids = ids.into_iter().collect::<Vec<_>>().join(", ");
        let AlertDecision { state, because, author, .. } = &self.decision;
        format!("{ids} is {}: {because} (by {author})", state.as_str())
    }
}

/// Why a decision is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// A field is empty or too long.
    #[error("{0}")]
    Invalid(String),
    /// The stored changes of level cannot be read or written, or another user was faster.
    #[error(transparent)]
    Alert(#[from] AlertError),
    /// The messages to receivers cannot be read or written.
    #[error(transparent)]
    Notify(#[from] NotifyError),
}

/// Converts an error of a decision. An invalid field, an unknown name or a file that cannot be read
/// is a usage error.
pub fn decision_error(error: DecisionError) -> AppError {
    match error {
        DecisionError::Invalid(why) => AppError::usage(anyhow!(why)),
        DecisionError::Alert(error) => alert_error(error),
        DecisionError::Notify(error) => notify_error(error),
    }
}

/// Returns the name recorded without another one: git's `user.name`, else `$USER`.
pub fn default_author() -> String {
    let user = || std::env::var("USER").ok().filter(|name| !name.trim().is_empty());
    let name = rsb_probe::user_name(Path::new(".")).or_else(user);
    one_line(&name.unwrap_or_else(|| "unknown".to_owned())).chars().take(MAX_NAME_CHARS).collect()
}

/// Records `input` in the results directory `results`: with the change of level, and in the outbox,
/// so that receivers get no reminder. `found` are changes of level that the user may mean and that
/// are not stored yet.
///
/// # Errors
/// If a field is invalid, there is no such alert, another user decided in the meantime, or the files
/// cannot be read or written. Nothing is recorded then.
pub fn decide(
    results: &Path,
    found: &[TrackedAlert],
    input: &DecisionInput,
) -> Result<RecordedDecision, DecisionError> {
    let decision = checked(input)?;
    // An outbox that cannot be read does not prevent a decision on a change of level.
    let (open, mut problem) = match open_alerts(results, &input.alert) {
        Ok(open) => (open, None),
        Err(error) => (BTreeSet::new(), Some(error)),
    };
    let mut names: Vec<&str> = open.iter().map(String::as_str).collect();
    if names.is_empty() {
        names.push(&input.alert);
    }
    let mut alerts = Vec::new();
    for alert in names {
        let (decision, seen) = (decision.clone(), input.seen);
        let request = DecisionRequest { alert, decision, found, seen };
        match trends::decide(results, &request) {
            Ok(alert) => alerts.push(alert),
            // Alerts of `gate`, for example, are only in the outbox.
            Err(AlertError::Name(NoSuchAlert::Unknown { .. })) if !open.is_empty() => {}
            Err(AlertError::Name(error)) => {
                return Err(problem.map_or_else(|| AlertError::Name(error).into(), Into::into));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mut announced = BTreeSet::new();
    if !open.is_empty() {
        let because = format!("{} ({})", decision.because, decision.author);
        let sent = Outbox::open(results).and_then(|mut outbox| {
            open.iter().try_fold(BTreeSet::new(), |mut keys, key| {
                keys.extend(outbox.acknowledge(key, &because)?);
                Ok(keys)
            })
        });
        match sent {
            Ok(keys) => announced = keys,
            Err(error) if alerts.is_empty() => return Err(error.into()),
            Err(error) => problem = Some(error),
        }
    }
    let warning = problem.map(|error| format!("receivers may still be reminded: {error}"));
    Ok(RecordedDecision { alerts, announced, warning, decision })
}

/// Returns the alerts whose ids begin with `prefix`, that receivers know, and that are open.
fn open_alerts(results: &Path, prefix: &str) -> Result<BTreeSet<String>, NotifyError> {
    let book = NotifyBook::read(results)?;
    let all = book.receivers.values().flat_map(|state| &state.alerts);
    let open = all.filter(|(key, alert)| {
        alert.phase == AnnouncedPhase::Open && !prefix.is_empty() && key.starts_with(prefix)
    });
    Ok(open.map(|(key, _)| key.clone()).collect())
}

fn checked(input: &DecisionInput) -> Result<AlertDecision, DecisionError> {
    let because = field("note", &input.because, MAX_REASON_CHARS)?;
    let author = field("name", &input.author, MAX_NAME_CHARS)?;
    let caused_by = match (&input.caused_by, input.state) {
        (Some(cause), AlertState::Downstream) => Some(field("cause", cause, MAX_REASON_CHARS)?),
        _ => None,
    };
    Ok(AlertDecision { state: input.state, because, author, at: Timestamp::now(), caused_by })
}

/// Returns `text` in one line, without characters that a terminal interprets.
fn field(name: &str, text: &str, most: usize) -> Result<String, DecisionError> {
    let text = one_line(text);
    match text.chars().count() {
        0 => Err(DecisionError::Invalid(format!("the {name} is empty; enter one"))),
        count if count > most => Err(DecisionError::Invalid(format!(
            "the {name} has {count} characters; shorten it to {most}"
        ))),
        _ => Ok(text),
    }
}

fn one_line(text: &str) -> String {
    rsb_report::clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_one_line_without_disguises_and_bounded() {
        assert_eq!(one_line(" a\r\n\u{1b}[31mb\u{202e}c "), "a [31mb c");
        for (text, expected) in [("", "empty"), ("\u{202e}\n", "empty"), ("xxxxx", "5 characters")]
        {
            let error = field("note", text, 4).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        assert_eq!(field("note", "äöüß", 4).unwrap(), "äöüß");
    }
}
