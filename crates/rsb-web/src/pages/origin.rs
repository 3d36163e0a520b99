//! Origin of a change: the commits, the machine, and the commands for a closer look.

use rsb_model::CaseId;
use rsb_model::record::{AlertState, SeriesMove, TrackedAlert};
use rsb_report::html::element::{anchor, class, escape, list};
use rsb_report::tracked;
use rsb_report::{format_percent, trend::short};

use super::decision::decision_link;
use crate::address::{Address, CaseView, CompareView, PageView};
use crate::site::Site;

/// Maximum number of series of one change that are named; the others are counted.
const NAMED: usize = 12;

/// Returns a change of level with all known facts about it. `case` is the case on whose page it is
/// shown, if any.
pub(super) fn change(site: &Site<'_>, alert: &TrackedAlert, case: Option<&str>) -> String {
    let tone = class(tracked::severity(alert.severity).1).unwrap_or_default();
    let own = alert.moves.iter().find(|one| case == Some(one.id.as_str()));
    let range = own.map_or(&alert.range, |own| alert.range_of(own));
    let headline = headline(site, alert, own);
    let mut items = moves(site, alert, case);
    // These belong to the runs of the whole alert.
    if *range == alert.range {
        items.extend(alert.environment_changes.iter().map(|one| {
            let [field, before, after] =
                [&one.field, &one.baseline, &one.current].map(|text| escape(text));
            format!("the machine: {field} {before} → {after}; check this first")
        }));
        if !alert.commits.is_empty() {
            let commits = list(alert.commits.iter().map(|commit| escape(commit)));
            items.push(format!("commits between the runs:{commits}"));
        }
    }
    let (before, after) = (&range.last_before, &range.first_after);
    if let (Some(before), Some(after), true) = (&before.run_id, &after.run_id, site.answers()) {
        let view = PageView::Compare(CompareView::of(&before.0, &after.0));
        items.push(anchor(&site.link(Address::page(view)), "both runs compared"));
    }
    let id = case.or_else(|| alert.moves.first().map(|one| one.id.as_str()));
    let command = id.and_then(|id| bisect(before.commit.as_deref(), after.commit.as_deref(), id));
    items.extend(command.map(|command| {
        format!("find the commit: <code>{}</code>", escape(&site.command(command)))
    }));
    items.extend(decide(site, alert));
    let (headline, items) = (escape(&headline), list(items));
    let id = escape(&alert.id);
    format!(
        "<div class=\"tile {tone}\" title=\"{id}\">\n<h3 class=\"{tone}\">{headline}</h3>\n{items}\
         </div>\n"
    )
}

/// Returns what changed and since when, of one series or of the whole change:
/// `Slower since 11 Nov 08:00 · a72b200 (+19.0 %), acknowledged: known`.
pub(crate) fn headline(site: &Site<'_>, alert: &TrackedAlert, own: Option<&SeriesMove>) -> String {
    change_line(site, alert, own) + &tracked::standing(alert)
}

/// Returns the headline without the state.
pub(super) fn change_line(
    site: &Site<'_>,
    alert: &TrackedAlert,
    own: Option<&SeriesMove>,
) -> String {
    let is_time = alert.moves.iter().all(|one| TIMES.contains(&one.metric.as_str()));
    let word = match (alert.direction.as_str(), is_time) {
        ("better", true) => "Faster",
        ("better", false) => "Better",
        ("worse", true) => "Slower",
        ("worse", false) => "Worse",
        _ => "Changed",
    };
    let range = own.map_or(&alert.range, |own| alert.range_of(own));
    let mut text = format!("{word} since {}", site.since(&range.first_after));
    if let Some(own) = own {
        text.push_str(&format!(" ({})", format_percent(own.change_percent)));
        text.push_str(if own.confirmed { "" } else { ", suspected" });
    }
    text
}

/// Metrics that are the time of an iteration.
const TIMES: [&str; 2] = ["time_ms", "time_us"];

/// Returns the series that changed, each with a link to its history.
fn moves(site: &Site<'_>, alert: &TrackedAlert, case: Option<&str>) -> Vec<String> {
    let others = alert.moves.iter().filter(|one| case != Some(one.id.as_str()));
    let mut items = Vec::new();
    for one in others.clone().take(NAMED) {
        let view = CaseView::of(&one.id);
        let suspected = if one.confirmed { "" } else { ", suspected" };
        let name = site.case_link(view, &short(&one.id));
        let own = one.range.as_ref().map(|range| site.since(&range.first_after));
        let origin = own.map_or_else(String::new, |since| format!(" since {}", escape(&since)));
        let (metric, change) = (escape(&one.metric), format_percent(one.change_percent));
        items.push(format!("{name} {metric} {change}{suspected}{origin}"));
    }
    let more = others.count().saturating_sub(NAMED);
    if more > 0 {
        items.push(format!("and {more} more changed with it"));
    }
    items
}

/// Returns the command that finds the commit between two commits, if these are known and differ.
pub(super) fn bisect(good: Option<&str>, bad: Option<&str>, id: &str) -> Option<String> {
    let (good, bad) = (hash(good?)?, hash(bad?)?);
    (good != bad)
        .then(|| format!("rusty-stack-bench bisect {good} {bad} --case {}", shell_quote(id)))
}

/// Returns the command that marks an alert as reviewed.
pub(super) fn acknowledge(alert: &str) -> String {
    format!("rusty-stack-bench trend ack {} --because \"REASON\"", shell_quote(alert))
}

/// Returns the link to the form for a decision about `alert`, if this server records them.
pub(super) fn decide(site: &Site<'_>, alert: &TrackedAlert) -> Option<String> {
    let is_new = alert.state == AlertState::New;
    let words = if is_new { "acknowledge or dismiss" } else { "change the decision" };
    site.records_decisions().then(|| anchor(&decision_link(&alert.id), words))
}

/// Returns `command` folded under `title`, with a mark for the script, which offers to copy it.
pub(super) fn command(site: &Site<'_>, command: String, title: &str) -> String {
    let command = escape(&site.command(command));
    format!("<details class=\"command\"><summary>{title}</summary><code>{command}</code></details>")
}

/// Returns the command that measures the case again at that commit.
pub(super) fn again(id: &str, commit: Option<&str>) -> Option<String> {
    let commit = hash(commit?)?;
    let parsed = id.parse::<CaseId>().ok();
    let own =
        parsed.as_ref().and_then(|id| Some((id.benchmark()?.to_owned(), id.device().device()?)));
    Some(match own {
        Some((benchmark, device)) => format!(
            "git switch --detach {commit} && cargo run --release -- run {} --backend {} --device \
             {}",
            shell_quote(&benchmark),
            device.backend,
            device.index
        ),
        None => format!("rusty-stack-bench gate --against {commit} --case {}", shell_quote(id)),
    })
}

/// Returns the first ten digits of `text` if it is a commit hash. The file of a run is untrusted
/// input.
fn hash(text: &str) -> Option<&str> {
    let is_hash =
        (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.get(..text.len().min(10)).filter(|_| is_hash)
}

/// Returns `text` quoted as one word of a shell.
fn shell_quote(text: &str) -> String {
    let is_plain =
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:,=@".contains(&byte));
    if !text.is_empty() && is_plain {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_of_commits_and_their_words_stay_words() {
        let (good, bad) = (Some("1a2b3c4d5e6f7081"), Some("ffffffffffffffff"));
        assert_eq!(
            bisect(good, bad, "a/b").as_deref(),
            Some("rusty-stack-bench bisect 1a2b3c4d5e ffffffffff --case a/b")
        );
        assert_eq!(bisect(good, good, "a/b"), None);
        assert_eq!(bisect(Some("; reboot"), bad, "a/b"), None);
        let hostile = again("it's $(reboot)", good).unwrap();
        assert!(hostile.ends_with(r"--case 'it'\''s $(reboot)'"), "{hostile}");
        let own = again("cpu_performance/gemm/cpu:0/f32/64x64x64", good).unwrap();
        assert!(own.ends_with("run gemm --backend cpu --device 0"), "{own}");
    }
}
