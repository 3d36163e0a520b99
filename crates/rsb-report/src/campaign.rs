//! Words for the state of a campaign, its nodes and their jobs.

use rsb_model::record::{CampaignDocument, CampaignNode, CaseDeviation, NodeProgress, NodeState};

use crate::number::{count_words, format_count, format_interval, format_percent};
use crate::style::{Style, Tone};
use crate::table::{Cell, Column, Table};
use crate::trend::short;

/// Returns the word for the state of a node, and its tone.
pub const fn state_word(state: NodeState) -> (&'static str, Tone) {
    match state {
        NodeState::Ok => ("ok", Tone::Good),
        NodeState::Slow => ("slow", Tone::Bad),
        NodeState::Undecided => ("undecided", Tone::Caution),
        NodeState::NotMeasured => ("not measured", Tone::Caution),
        NodeState::Failed => ("failed", Tone::Bad),
        NodeState::Error => ("error", Tone::Bad),
    }
}

/// Progress of a job in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressText {
    /// State.
    pub word: &'static str,
    /// Its tone.
    pub tone: Tone,
    /// Cause, or the results and the time that is left.
    pub details: String,
}

impl ProgressText {
    /// Returns the text for the progress of a job, which is `None` if it was not submitted.
    pub fn of(progress: Option<&NodeProgress>) -> Self {
        let (word, tone, details) = match progress {
            None => ("not submitted", Tone::Caution, String::new()),
            Some(NodeProgress::Queued { why }) => ("queued", Tone::Dim, why.clone()),
            Some(NodeProgress::Running { case, done, total, eta_seconds }) => {
                let case = case.as_deref().unwrap_or_default();
                let left = eta_seconds.map(|left| format!(", {} min left", left.div_ceil(60)));
                let left = left.unwrap_or_default();
                ("running", Tone::Plain, format!("{done} of {total} results{left} {case}"))
            }
            Some(NodeProgress::Done) => ("done", Tone::Good, String::new()),
            Some(NodeProgress::Failed { why }) => ("failed", Tone::Bad, why.clone()),
            Some(NodeProgress::NotReachable { why }) => ("not reachable", Tone::Bad, why.clone()),
            Some(NodeProgress::Stale { why }) => ("stale", Tone::Caution, why.clone()),
        };
        Self { word, tone, details }
    }
}

/// Returns the conclusion for a campaign in one line: `1 of 12 nodes slow · 10 ok · 1 not measured`.
pub fn headline(document: &CampaignDocument) -> (Tone, String) {
    let count = |state| document.count(state);
    let nodes = format_count(document.nodes.len(), "node", "nodes");
    if document.nodes.is_empty() {
        return (Tone::Caution, "The campaign has no nodes".to_owned());
    }
    let [running, queued] = underway(document);
    let [ok, slow] = [NodeState::Ok, NodeState::Slow].map(count);
    let [undecided, failed, error] =
        [NodeState::Undecided, NodeState::Failed, NodeState::Error].map(count);
    let not_measured = count(NodeState::NotMeasured).saturating_sub(running + queued);
    let first = if slow > 0 {
        format!("{slow} of {nodes} slow")
    } else if ok + undecided > 0 {
        format!("0 of {nodes} slow")
    } else {
        format!("{nodes}, none judged")
    };
    let others = [
        (ok, "ok"),
        (undecided, "undecided"),
        (failed, "failed"),
        (error, "error"),
        (running, "being measured"),
        (queued, "queued"),
        (not_measured, "not measured"),
    ];
    let tone = if slow + failed + error > 0 {
        Tone::Bad
    } else if ok == document.nodes.len() {
        Tone::Good
    } else {
        Tone::Caution
    };
    let others: Vec<String> = others
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!(" · {count} {word}"))
        .collect();
    (tone, first + &others.concat())
}

/// Returns the number of nodes without a verdict that are being measured, and that wait.
fn underway(document: &CampaignDocument) -> [usize; 2] {
    let mut counts = [0, 0];
    for node in document.nodes.iter().filter(|node| node.state == NodeState::NotMeasured) {
        match node.progress {
            Some(NodeProgress::Running { .. }) => counts[0] += 1,
            Some(NodeProgress::Queued { .. }) => counts[1] += 1,
            _ => {}
        }
    }
    counts
}

/// Returns the number of jobs by state: `3 running, 8 queued, 1 done`.
pub fn job_counts<'p>(jobs: impl IntoIterator<Item = Option<&'p NodeProgress>>) -> String {
    let mut counts: Vec<(usize, &str)> = Vec::new();
    for job in jobs {
        let word = ProgressText::of(job).word;
        match counts.iter_mut().find(|(_, known)| *known == word) {
            Some((count, _)) => *count += 1,
            None => counts.push((1, word)),
        }
    }
    count_words(&counts)
}

/// Formats a deviation with its interval: `+9.8 % [+9.1, +10.5] %`.
pub fn deviation_text(one: &CaseDeviation) -> String {
    format!("{} {}", format_percent(one.slower_percent), format_interval(one.interval_percent))
}

/// Formats a standard deviation between nodes: `0.15 %`.
pub fn spread_text(percent: f64) -> String {
    format!("{percent:.2} %")
}

/// Returns the evidence about a node, the command that takes it out of service, and what to do next.
pub fn node_text(node: &CampaignNode, style: Style) -> String {
    let (word, tone) = state_word(node.state);
    let mut text = format!("{}: {}\n", node.name, style.paint(tone, word));
    let mut line = |line: &str| match line {
        "" => text.push('\n'),
        line => text.push_str(&style.wrap(line, 0)),
    };
    line(&node.reason);
    if let Some(one) = &node.evidence {
        line("");
        line(&format!("clearest case: {}", short(&one.case)));
        line(&format!("time against its class: {}", deviation_text(one)));
        let peers = format_count(one.peers, "node", "nodes");
        line(&format!("spread of {peers}: {}", spread_text(one.spread_percent)));
    }
    line("");
    line(&format!("class: {}", node.class));
    let ProgressText { word, details, .. } = ProgressText::of(node.progress.as_ref());
    line(&format!("job: {word} {details}"));
    if let Some(command) = &node.advice {
        line("");
        line("Command to drain this node (not run):");
        line(command);
    }
    if let Some(next) = &node.next {
        line("");
        line(next);
    }
    text
}

/// Returns the hardware classes with their spread, and the differences between their nodes.
pub fn classes_text(document: &CampaignDocument, style: Style) -> String {
    let mut table = Table::new([
        Column::left("class"),
        Column::right("nodes"),
        Column::right("judged"),
        Column::right("look slow"),
        Column::right("spread"),
        Column::elided("widest case"),
    ]);
    for class in &document.classes {
        let widest = class.widest.as_ref().map(|one| short(&one.case)).unwrap_or_default();
        table.push([
            Cell::from(&class.name),
            Cell::from(class.nodes.to_string()),
            Cell::from(class.judged.to_string()),
            Cell::from(class.suspects.to_string()),
            Cell::from(class.spread_percent.map_or_else(String::new, spread_text)),
            Cell::from(widest),
        ]);
    }
    let mut text = table.text(style);
    for line in document.notes.iter().chain(&document.problems) {
        text.push('\n');
        text.push_str(&style.wrap(line, 0));
    }
    text
}
