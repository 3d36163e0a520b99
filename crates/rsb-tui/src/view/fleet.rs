//! The nodes of a campaign: the list, and the evidence about the selected one.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use rsb_model::record::{CampaignDocument, CampaignNode, NodeProgress, NodeState};
use rsb_report::Tone;
use rsb_report::campaign::{ProgressText, deviation_text, headline, state_word};

use super::canvas::{Canvas, first_shown};
use crate::action::Action;
use crate::state::State;

/// Maximum number of lines about the selected node.
const DETAILS: usize = 7;
/// Minimum width in columns for the jobs of the nodes.
const WIDE: usize = 70;
/// Widths of the columns of the list.
const NAME: usize = 16;
const WORD: usize = 14;
const DEVIATION: usize = 26;

/// Returns the titles of the views.
pub(super) fn titles(state: &State) -> Vec<String> {
    let Some(document) = state.fleet.present() else { return vec!["nodes".to_owned()] };
    let read = document.read.strftime("%H:%M:%S UTC");
    let campaign = rsb_report::clean(&document.campaign);
    let node = state.selected_node().map_or_else(String::new, |node| format!(" {}", node.name));
    vec![
        format!("campaign {campaign}, read {read}"),
        format!("node{}", rsb_report::clean(&node)),
        "classes and differences".to_owned(),
    ]
}

/// Draws the list, and below it the evidence about the selected node.
pub(super) fn draw(
    state: &State,
    document: &CampaignDocument,
    canvas: &mut Canvas<'_>,
    area: Rect,
) {
    let (tone, words) = headline(document);
    let lines = canvas.wrap_text(&words, area.width, tone);
    let used = canvas.block(&lines, Rect { height: area.height.min(2), ..area });
    let area = Rect { y: area.y + used, height: area.height - used, ..area };
    let (listed, place) = (state.listed_nodes(), state.place());
    if listed.is_empty() {
        let lines = canvas.wrap_text("no node matches", area.width, Tone::Dim);
        canvas.block(&lines, area);
        return;
    }
    let (height, width) = (usize::from(area.height), usize::from(area.width));
    let heading = row_text(["node", "state", "time against its class", "job"], width);
    let look = canvas.palette().tone(Tone::Dim);
    canvas.line((area.x, area.y), area.width, &Line::styled(heading, look));
    let selected = place.selected.min(listed.len() - 1);
    let rows = height.saturating_sub(2 + DETAILS).max(3).min(height.saturating_sub(1));
    let rows = rows.min(listed.len());
    canvas.lists(listed.len(), rows);
    let first = first_shown(selected, listed.len(), rows);
    for (at, node) in listed.iter().enumerate().skip(first).take(rows) {
        let whole = Rect { y: area.y + 1 + (at - first) as u16, height: 1, ..area };
        canvas.line((whole.x, whole.y), whole.width, &row(node, canvas, width));
        if at == selected {
            canvas.select(whole);
        }
        canvas.target(whole, Action::Select(at));
    }
    let Some(node) = listed.get(selected) else { return };
    let above = (rows as u16 + 2).min(area.height);
    let below = Rect { y: area.y + above, height: area.height - above, ..area };
    let lines = evidence(node, canvas, below.width);
    canvas.block(&lines, below);
}

fn row_text([name, word, deviation, job]: [&str; 4], width: usize) -> String {
    let job = if width < WIDE { "" } else { job };
    format!("{name:<NAME$} {word:<WORD$} {deviation:<DEVIATION$} {job}")
}

fn row(node: &CampaignNode, canvas: &Canvas<'_>, width: usize) -> Line<'static> {
    let (mut word, mut tone) = state_word(node.state);
    let progress = ProgressText::of(node.progress.as_ref());
    if node.state == NodeState::NotMeasured && node.progress.is_some() {
        (word, tone) = (progress.word, progress.tone);
    }
    let name: String = rsb_report::clean(&node.name).chars().take(NAME).collect();
    let deviation = node.evidence.as_ref().map(deviation_text).unwrap_or_default();
    let job = match &node.progress {
        Some(NodeProgress::Running { done, total, eta_seconds, .. }) => {
            let left = eta_seconds.map(|left| format!(", {} min left", left.div_ceil(60)));
            format!("{done} of {total}{}", left.unwrap_or_default())
        }
        _ => progress.word.to_owned(),
    };
    let text = row_text([&name, word, &deviation, &job], width);
    // The word has its tone, and the rest has none.
    let letters: Vec<char> = text.chars().collect();
    let part =
        |from: usize, to: usize| -> String { letters.iter().skip(from).take(to - from).collect() };
    let end = NAME + 1 + WORD;
    Line::from(vec![
        Span::raw(part(0, NAME + 1)),
        Span::styled(part(NAME + 1, end), canvas.palette().tone(tone)),
        Span::raw(part(end, letters.len())),
    ])
}

/// Returns the reason for the state of a node, and what to do.
fn evidence(node: &CampaignNode, canvas: &Canvas<'_>, width: u16) -> Vec<Line<'static>> {
    let mut lines = canvas.wrap_text(&rsb_report::clean(&node.reason), width, Tone::Strong);
    if let Some(command) = &node.advice {
        let advice = format!("`y` copies: {}", rsb_report::clean(command));
        lines.extend(canvas.wrap_text(&advice, width, Tone::Plain));
    }
    if let Some(next) = &node.next {
        lines.extend(canvas.wrap_text(&rsb_report::clean(next), width, Tone::Plain));
    }
    lines
}
