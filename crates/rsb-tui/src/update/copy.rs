//! Ids and command lines to copy.

use rsb_model::record::SeriesTrend;

use crate::command::{Command, RunSelection};
use crate::history;
use crate::stage::{Offer, Stage};
use crate::state::State;

/// Copies `text`, if there is any, and shows it.
pub(super) fn copy(state: &mut State, text: Option<String>) -> Vec<Command> {
    let Some(text) = text else {
        state.notice = Some("there is nothing to copy on this page".to_owned());
        return Vec::new();
    };
    let text = rsb_report::clean(&text);
    state.notice = Some(format!("copied: {text}"));
    vec![Command::Copy(text)]
}

/// Returns the id of the run, series or comparison that is shown, or the name of the selected
/// offer.
pub(super) fn id(state: &State) -> Option<String> {
    if let (true, Some(run)) = (state.shows_run, &state.run) {
        return Some(run.run.run_id.0.clone());
    }
    match state.stage {
        Stage::Comparison => state.sides.as_ref().map(|(_, newer)| newer.clone()),
        Stage::History => state.selected_series().map(|series| series.id.clone()),
        Stage::Fleet => state.selected_node().map(|node| node.name.clone()),
        _ => state.selected_offer().map(|offer| offer.name.clone()),
    }
}

/// Returns the command line that compares, bisects or measures what is selected, or that takes a
/// slow node out of service.
pub(super) fn command(state: &State) -> Option<String> {
    let arguments = match state.stage {
        Stage::Comparison => {
            let (older, newer) = state.sides.as_ref()?;
            format!("compare {} {}", quoted(older), quoted(newer))
        }
        Stage::History => of_series(state, state.selected_series()?),
        Stage::Fleet => {
            let node = state.selected_node()?;
            if let Some(command) = &node.advice {
                return Some(command.clone());
            }
            let subcommand = if node.next.is_some() { "resume" } else { "report" };
            let campaign = quoted(&state.fleet.present()?.campaign);
            format!("fleet {subcommand} --campaign {campaign}")
        }
        _ => match state.selected_offer().map(Offer::run_selection)? {
            RunSelection { suite: Some(suite), .. } => format!("run --suite {}", suite.as_str()),
            RunSelection { names, .. } => format!("run {}", names.join(" ")),
        },
    };
    Some(format!("rusty-stack-bench {arguments}{}", state.settings.arguments))
}

/// Returns the command that finds the commit of the step, or else shows the series.
fn of_series(state: &State, series: &SeriesTrend) -> String {
    let id = quoted(&series.id);
    let step = state.history.present().and_then(|page| history::step_of(page, series));
    let commits = step.and_then(|step| {
        let range = step.range?;
        Some((range.last_before.commit.as_ref()?, range.first_after.commit.as_ref()?))
    });
    match commits {
        Some((good, bad)) if good != bad => {
            format!("bisect {} {} --case {id}", quoted(good), quoted(bad))
        }
        _ => format!("trend --case {id}"),
    }
}

/// Quotes `text` for a shell if it contains more than harmless characters.
fn quoted(text: &str) -> String {
    let is_harmless = |letter: char| letter.is_ascii_alphanumeric() || "/._-:=,+@".contains(letter);
    if !text.is_empty() && text.chars().all(is_harmless) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
