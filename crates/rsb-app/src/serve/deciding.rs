//! Receives the form with a user's decision about a change of level.

use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use rsb_insight::trends::AlertError;
use rsb_web::{DecisionFields, RefusedDecision};

use super::source::StoreSource;
use crate::decision::{self, DecisionError, DecisionInput, RecordedDecision};
use crate::error_chain;

/// Maximum size of a form in bytes.
const FORM_BYTES: usize = 16 * 1024;
/// Maximum time in which a form must arrive.
const FORM_TIME: Duration = Duration::from_secs(10);

/// Returns the text of a form.
///
/// # Errors
/// If it is too large or does not arrive in time, as a status with the reason.
pub(super) async fn read_form(body: Incoming) -> Result<String, (u16, &'static str)> {
    let body = Limited::new(body, FORM_BYTES).collect();
    match tokio::time::timeout(FORM_TIME, body).await {
        Ok(Ok(body)) => Ok(String::from_utf8_lossy(&body.to_bytes()).into_owned()),
        Ok(Err(_)) => Err((413, "the form is incomplete or larger than 16 KiB; shorten the note")),
        Err(_) => Err((408, "the form did not arrive within 10 s; send it again")),
    }
}

/// Records the decision in `fields`.
///
/// # Errors
/// If it is incomplete, another user decided in the meantime, or the files cannot be read or written.
pub(super) fn record(
    source: &StoreSource,
    fields: &DecisionFields,
) -> Result<RecordedDecision, RefusedDecision> {
    let refused = |status, why: &str| RefusedDecision { status, why: why.to_owned() };
    let Some(state) = fields.state else {
        return Err(refused(400, "no decision chosen; choose one of the three"));
    };
    let is_downstream = state == rsb_model::record::AlertState::Downstream;
    if is_downstream && fields.cause.trim().is_empty() {
        return Err(refused(400, "the cause is empty; name the change that caused this one"));
    }
    let input = DecisionInput {
        alert: fields.alert.clone(),
        state,
        because: fields.note.clone(),
        author: fields.author.clone(),
        caused_by: is_downstream.then(|| fields.cause.clone()),
        seen: Some(fields.seen.unwrap_or_default()),
    };
    let found = source.changes().map_err(|error| refused(500, &error.to_string()))?;
    decision::decide(source.results(), &found, &input).map_err(|error| {
        let status = match &error {
            DecisionError::Invalid(_) | DecisionError::Alert(AlertError::Cause(_)) => 400,
            DecisionError::Alert(AlertError::Decided(_)) => 409,
            DecisionError::Alert(AlertError::Name(_)) => 404,
            _ => 500,
        };
        let advice = match status {
            409 => "; send the form again to replace that decision",
            500 => "; fix this, then send the form again",
            _ => "",
        };
        let why = error_chain(&decision::decision_error(error).error);
        refused(status, &format!("{why}{advice}"))
    })
}
