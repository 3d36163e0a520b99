//! The form with which a user records a decision about a change of level. It works without script.

use rsb_model::record::{AlertDecision, AlertState, TrackedAlert};
use rsb_report::Tone;
use rsb_report::html::element::{anchor, escape, list};
use rsb_report::trend::short;

use super::origin;
use crate::address::{Address, CaseView, PageView, form_fields, form_link};
use crate::response::{HTML, PageResponse};
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::{SourceError, SourceResult};

/// Path of the form, which also receives it.
pub const DECISION: &str = "decision";

/// Maximum number of other changes offered as the cause.
const CAUSES: usize = 50;

/// The choices, each with its title and its effect.
const CHOICES: [(AlertState, &str, &str); 3] = [
    (AlertState::Acknowledged, "Acknowledge", "a real change that is known or wanted"),
    (AlertState::Invalid, "Dismiss", "not a real change, such as noise; it counts as closed"),
    (AlertState::Downstream, "Caused by another change", "name it below"),
];

/// Fields of the form.
#[derive(Clone, Default)]
pub struct DecisionFields {
    /// Id of the alert.
    pub alert: String,
    /// Chosen state; `None` if the text is none of the choices.
    pub state: Option<AlertState>,
    /// Reason.
    pub note: String,
    /// Name of the user.
    pub author: String,
    /// Cause, for [`AlertState::Downstream`].
    pub cause: String,
    /// Number of decisions when the form was shown.
    pub seen: Option<usize>,
    /// Proof that this server made the form, for users who gave the token before.
    pub form: String,
    /// The token.
    pub token: String,
}

impl DecisionFields {
    /// Parses the query of the form's page, or its body when it is sent.
    pub fn parse(text: &str) -> Self {
        let mut fields = Self::default();
        for (key, value) in form_fields(text) {
            match key.as_str() {
                "alert" => fields.alert = value,
                "as" => {
                    let mut all = CHOICES.iter().map(|(state, ..)| *state);
                    fields.state = all.find(|state| state.as_str() == value);
                }
                "note" => fields.note = value,
                "author" => fields.author = value,
                "cause" => fields.cause = value,
                "seen" => fields.seen = value.parse().ok(),
                "form" => fields.form = value,
                "token" => fields.token = value,
                _ => {}
            }
        }
        fields
    }
}

/// Why nothing was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedDecision {
    /// HTTP status.
    pub status: u16,
    /// Reason, and what to do.
    pub why: String,
}

/// Returns the link to the form for the alert `id`.
pub fn decision_link(id: &str) -> String {
    form_link(DECISION, "alert", id)
}

/// Returns the page of the form with `fields`, after `refused` if it was sent. `form` proves that
/// this server made the form; without it, the form asks for the token.
pub fn decision_page(
    site: &Site<'_>,
    fields: &DecisionFields,
    form: Option<&str>,
    refused: Option<&RefusedDecision>,
) -> PageResponse {
    let mut sheet = Sheet::new("Decide on a change", None).with_own_referrer();
    let mut status = refused.map_or(200, |refused| refused.status);
    if let Some(refused) = refused {
        let text = format!("Nothing was recorded: {}.", refused.why.trim_end_matches('.'));
        sheet.say(Tone::Bad, &text);
    }
    match content(site, fields, form) {
        Ok((subtitle, content)) => {
            sheet = sheet.under_html(subtitle);
            sheet.push(&content);
        }
        Err(error) => {
            if refused.is_none() {
                status = if matches!(error, SourceError::NotThere(_)) { 404 } else { 500 };
            }
            sheet.say(Tone::Caution, &error.to_string());
            sheet.push(&kept(fields));
        }
    }
    PageResponse { status, content_type: HTML, body: sheet.html(site).into_bytes() }
}

/// Returns what was entered, so that it can be copied if the form cannot be shown again.
fn kept(fields: &DecisionFields) -> String {
    if fields.note.is_empty() {
        return String::new();
    }
    format!("<p>Your note:</p>\n<blockquote>{}</blockquote>\n", escape(&fields.note))
}

/// Returns the subtitle and the content of the page.
fn content(
    site: &Site<'_>,
    fields: &DecisionFields,
    form: Option<&str>,
) -> SourceResult<(String, String)> {
    let material = site.source().overview("")?;
    let alert = material.alerts.iter().find(|alert| alert.id == fields.alert).ok_or_else(|| {
        SourceError::NotThere(format!(
            "no change has the id `{}`; the overview lists all open ones",
            fields.alert
        ))
    })?;
    let others = material.alerts.iter().filter(|other| other.id != alert.id);
    let others: Vec<&TrackedAlert> =
        others.filter(|other| !other.state.is_closed()).take(CAUSES).collect();
    Ok((
        subtitle(site, alert),
        recorded(site, alert) + &form_of(site, alert, &others, fields, form),
    ))
}

fn subtitle(site: &Site<'_>, alert: &TrackedAlert) -> String {
    let cases: Vec<String> = alert
        .moves
        .iter()
        .take(3)
        .map(|one| site.case_link(CaseView::of(&one.id), &short(&one.id)))
        .collect();
    let more = alert.moves.len().saturating_sub(cases.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let headline = origin::change_line(site, alert, alert.moves.first());
    format!(
        "{}{more}: {} on {}",
        cases.join(", "),
        escape(&headline),
        site.machine_html(&alert.machine)
    )
}

/// Returns the decisions on `alert`, with the newest as a sentence.
fn recorded(site: &Site<'_>, alert: &TrackedAlert) -> String {
    let line =
        |one: &AlertDecision| format!("{}: {}", escape(&site.moment(one.at)), escape(&one.text()));
    let overview = anchor(
        &site.link(Address::page(PageView::Overview { branch: String::new() })),
        "Back to the overview",
    );
    let (id, state) = (escape(&alert.id), escape(alert.state.as_str()));
    let Some(last) = alert.decisions.last() else {
        return format!(
            "<p>Alert <code>{id}</code> is {state}: no decision is recorded yet. {overview}</p>\n"
        );
    };
    let earlier = list(alert.decisions.iter().rev().skip(1).map(line));
    let earlier = if earlier.is_empty() {
        String::new()
    } else {
        format!("<details><summary>earlier decisions</summary>{earlier}</details>\n")
    };
    format!(
        "<p class=\"say\">Recorded in <code>alerts.json</code> for alert <code>{id}</code>: {}</p>\n\
         {earlier}<p>{overview}, or change the decision:</p>\n",
        line(last)
    )
}

fn form_of(
    site: &Site<'_>,
    alert: &TrackedAlert,
    others: &[&TrackedAlert],
    fields: &DecisionFields,
    form: Option<&str>,
) -> String {
    let chosen = fields.state.unwrap_or(AlertState::Acknowledged);
    let mut choices = String::new();
    for (state, title, effect) in CHOICES {
        let checked = if state == chosen { " checked" } else { "" };
        let name = state.as_str();
        choices.push_str(&format!(
            "<div><input type=\"radio\" id=\"as-{name}\" name=\"as\" value=\"{name}\"{checked}> \
             <label for=\"as-{name}\"><strong>{title}</strong>: {effect}</label></div>\n"
        ));
    }
    let mut causes = String::new();
    for other in others {
        let first = other.moves.first().map_or_else(String::new, |one| short(&one.id));
        let headline = origin::change_line(site, other, other.moves.first());
        let text = escape(&format!("{first}: {headline}"));
        causes.push_str(&format!("<option value=\"{}\">{text}</option>", escape(&other.id)));
    }
    let proof = match form {
        Some(form) => hidden("form", form),
        None => "<p><label for=\"token\">Write token</label> <input type=\"password\" id=\"token\" \
                 name=\"token\" autocomplete=\"current-password\" required \
                 aria-describedby=\"token-hint\">\n<span class=\"hint\" id=\"token-hint\">The line in the \
                 file named by <code>--write-token-file</code>; needed once per server \
                 start.</span></p>\n"
            .to_owned(),
    };
    let (alert_id, seen) =
        (hidden("alert", &alert.id), hidden("seen", &alert.decisions.len().to_string()));
    let (cause, note, author) =
        (escape(&fields.cause), escape(&fields.note), escape(&fields.author));
    format!(
        "<form action=\"{DECISION}\" method=\"post\" class=\"decision\">\n{alert_id}{seen}\
         <fieldset><legend>Decision</legend>\n{choices}\
         <p><label for=\"cause\">Cause, if caused by another change</label> \
         <input id=\"cause\" name=\"cause\" list=\"causes\" \
         maxlength=\"500\" value=\"{cause}\" placeholder=\"alert id, case or description\">\
         <datalist id=\"causes\">{causes}</datalist></p>\n</fieldset>\n\
         <p><label for=\"note\">Note for later readers</label>\
         <textarea id=\"note\" name=\"note\" rows=\"3\" maxlength=\"500\" required>\n{note}</textarea></p>\n\
         <p><label for=\"author\">Your name</label> <input id=\"author\" name=\"author\" \
         maxlength=\"100\" autocomplete=\"name\" required value=\"{author}\"></p>\n{proof}\
         <button>Record the decision</button>\n</form>\n"
    )
}

fn hidden(name: &str, value: &str) -> String {
    format!("<input type=\"hidden\" name=\"{name}\" value=\"{}\">\n", escape(value))
}
