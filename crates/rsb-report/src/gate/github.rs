//! Annotations of a GitHub workflow: commands that the runner reads from the output of a step. A
//! step shows ten annotations per level, so the worst come first. The last line is a notice with
//! the verdict and the number of findings left out.

use itertools::Itertools as _;
use rsb_model::ComparisonResult;

use super::finding::{FindingKind, Group, findings, group_findings, names};
use crate::comparison::verdict_sentence;
use crate::label::Shortener;
use crate::number::format_count;
use crate::style::clean;
use crate::targets;

const SHOWN: usize = 10;

pub(super) fn write(result: &ComparisonResult) -> String {
    let all = findings(result);
    let names = names(&all);
    // Notices get one fewer, because the verdict in the last line is a notice, too.
    let levels = [
        (FindingKind::Regressed, "error", SHOWN),
        (FindingKind::NoVerdict, "warning", SHOWN),
        (FindingKind::Improved, "notice", SHOWN - 1),
    ];
    let (mut out, mut hidden) = (String::new(), 0);
    for (kind, level, most) in levels {
        let groups = group_findings(&all, kind);
        out.extend(groups.iter().take(most).map(|group| annotation(level, group, &names)));
        hidden += groups.iter().skip(most).map(|group| group.count).sum::<usize>();
    }
    out.push_str(&command("notice", "rusty-stack-bench", &summary(result, hidden)));
    out
}

fn annotation(level: &str, group: &Group<'_, '_>, names: &Shortener) -> String {
    let finding = group.first;
    let name = finding.name(names);
    if group.count > 1 {
        let count = format_count(group.count, "comparison", "comparisons");
        let title = format!("{}: {count}", finding.verdict);
        let message = format!("{}\nThe first: {}", clean(&finding.reason), clean(&name));
        return command(level, &title, &message);
    }
    let figures = finding.figures();
    let lines = [&*finding.reason, &figures].into_iter().filter(|line| !line.is_empty());
    command(level, &format!("{}: {name}", finding.verdict), &lines.map(clean).join("\n"))
}

fn summary(result: &ComparisonResult, hidden: usize) -> String {
    let mut lines =
        vec![clean(&verdict_sentence(result).1), targets::sentence(&result.threshold_checks)];
    if hidden > 0 {
        let more = format_count(hidden, "more is", "more are");
        lines.push(format!("{more} not annotated: see the whole comparison."));
    }
    lines.extend(
        result.notes.iter().take(SHOWN).map(|note| format!("Note: {}.", clean(&note.text))),
    );
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}

/// Formats `::error title=…::…`, escaped so that nothing in it ends the line, the title or the
/// command.
fn command(level: &str, title: &str, message: &str) -> String {
    let title = data(&clean(title)).replace(':', "%3A").replace(',', "%2C");
    format!("::{level} title={title}::{}\n", data(message))
}

/// Escapes a message as the runner requires; line breaks are kept.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}
