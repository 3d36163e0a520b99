//! The comment on a pull request: the verdict, one row per finding with a drawing of its change,
//! and the targets. Its size stays within GitHub's limit for comments.

use rsb_model::record::Comparison;
use rsb_model::shown::shorten;
use rsb_model::{Better, ComparisonResult, ReasonCode};

use super::finding::{FindingKind, GateFinding, Group, findings, group_findings, names};
use crate::comparison::{Detail, thresholds, verdict_sentence, worsening};
use crate::label::Shortener;
use crate::markdown::escape;
use crate::number::{format_count, format_percent, format_quantity};
use crate::targets;

/// First line of the comment, invisible to readers. The tool that posts the comment uses it to find
/// and overwrite the old one.
pub const MARKER: &str = "<!-- rusty-stack-bench:gate -->";

/// Maximum size of all rows in bytes. GitHub accepts 65,536 characters; the rest is for text around
/// the rows.
const ROOM: usize = 32_000;
/// Maximum size of the targets in bytes. If they are larger, they are only counted.
const ROOM_FOR_TARGETS: usize = 8_000;
const LISTED: usize = 20;
const NAME: usize = 160;
const REASON: usize = 300;

pub(super) fn write(result: &ComparisonResult, detail: Detail) -> String {
    let all = findings(result);
    let verdict = text(&verdict_sentence(result).1, REASON);
    let mut out = format!("{MARKER}\n**{verdict}**\n\n{}\n\n", head(result));
    out.push_str(&table(&all, detail));
    out.push_str(&counts(&all, detail));
    out.push_str(&new(result));
    let notes = result.notes.iter().take(LISTED);
    out.extend(notes.map(|note| format!("- Note: {}\n", text(&note.text, REASON))));
    out.push_str(&targets_section(result));
    out.trim_end().to_owned() + "\n"
}

fn head(result: &ComparisonResult) -> String {
    let [current, baseline] = [&result.current_run_id, &result.baseline_run_id].map(|id| name(id));
    format!("{current} against {baseline}, {}", thresholds(result))
}

/// Formats the findings, worst first, up to the size limit, and the number left out.
fn table(all: &[GateFinding<'_>], detail: Detail) -> String {
    let names = names(all);
    let mut kinds = vec![FindingKind::Regressed, FindingKind::NoVerdict, FindingKind::Improved];
    if detail == Detail::Full {
        kinds.push(FindingKind::Unchanged);
    }
    let groups: Vec<Group<'_, '_>> =
        kinds.into_iter().flat_map(|kind| group_findings(all, kind)).collect();
    if groups.is_empty() {
        return String::new();
    }
    let mut out =
        "| verdict | case | before → now | change | ← better · worse → | why |\n".to_owned();
    out.push_str("| :-- | :-- | :-- | --: | :-: | :-- |\n");
    let mut left = 0;
    for group in &groups {
        let row = row(group, &names);
        if left == 0 && out.len() + row.len() <= ROOM {
            out.push_str(&row);
        } else {
            left += group.count;
        }
    }
    if left > 0 {
        let more = format_count(left, "more is", "more are");
        out.push_str(&format!(
            "\n{more} not shown: there is no room in a comment. `--format text` shows all.\n"
        ));
    }
    out + "\n"
}

fn row(group: &Group<'_, '_>, names: &Shortener) -> String {
    let finding = group.first;
    let verdict = if finding.kind() == FindingKind::Regressed {
        "**Regressed**"
    } else {
        finding.verdict.as_str()
    };
    let reason = match finding.code {
        ReasonCode::WithinNoise => String::new(),
        _ => text(&finding.reason, REASON),
    };
    if group.count > 1 {
        let count = format_count(group.count, "comparison", "comparisons");
        let summary = format!("{count}, the first is {}", finding.name(names));
        return format!("| {verdict} | {} |  |  |  | {reason} |\n", name(&summary));
    }
    let figures = finding.row.map_or_else(|| " |  | ".to_owned(), figures);
    format!("| {verdict} | {} | {figures} | {reason} |\n", name(&finding.name(names)))
}

fn figures(row: &Comparison) -> String {
    let values = match (row.baseline_value, row.current_value) {
        (None, None) => String::new(),
        (before, now) => {
            let [before, now] = [before, now].map(|value| quantity_or_dash(value, &row.unit));
            format!("{before} → {now}")
        }
    };
    let change = row.difference_percent.map_or_else(String::new, format_percent);
    let drawn = bar(row).map_or_else(String::new, |bar| format!("`{bar}`"));
    format!("{values} | {change} | {drawn}")
}

fn quantity_or_dash(value: Option<f64>, unit: &str) -> String {
    let quantity = value.map_or_else(|| "–".to_owned(), |value| format_quantity(value, unit));
    text(&quantity, 40)
}

/// Characters from the center to an end, and from the center to the threshold.
const HALF: i32 = 10;
const AT_THRESHOLD: i32 = 5;

/// Draws the change and its interval, worse to the right: `··········│····┊──●─·`. The marks are at
/// no change and at the threshold. An interval that exceeds an end has an arrow there; a change
/// that exceeds it is a dot before the arrow.
fn bar(row: &Comparison) -> Option<String> {
    let middle = worsening(row)?;
    let [low, high] = match (row.confidence_interval, row.better) {
        (None, _) => [middle, middle],
        (Some([low, high]), Better::Lower) => [low, high],
        (Some([low, high]), Better::Higher) => [-high, -low],
    };
    let scale = f64::from(AT_THRESHOLD) / row.threshold_percent;
    let drawable = [low, middle, high].iter().all(|percent| percent.is_finite())
        && scale.is_finite()
        && scale > 0.0;
    if !drawable {
        return None;
    }
    // The cast saturates, so huge numbers are drawn at the end.
    let [low, middle, high] = [low, middle, high]
        .map(|percent| ((percent * scale).round() as i32).clamp(-HALF - 1, HALF + 1));
    let dot = if middle.abs() > HALF { (HALF - 1) * middle.signum() } else { middle };
    let mut drawn = String::new();
    for place in -HALF..=HALF {
        drawn.push(match place {
            _ if place == dot => '●',
            _ if place == -HALF && low.min(middle) < -HALF => '◂',
            _ if place == HALF && high.max(middle) > HALF => '▸',
            0 | AT_THRESHOLD if (low..=high).contains(&place) => '┼',
            _ if (low..=high).contains(&place) => '─',
            0 => '│',
            AT_THRESHOLD => '┊',
            _ => '·',
        });
    }
    Some(drawn)
}

fn counts(all: &[GateFinding<'_>], detail: Detail) -> String {
    let unchanged = all.iter().filter(|finding| finding.kind() == FindingKind::Unchanged).count();
    match (unchanged, detail) {
        (0, _) | (_, Detail::Full) => String::new(),
        (count, Detail::Brief) => {
            format!("- Unchanged: {}\n", format_count(count, "comparison", "comparisons"))
        }
    }
}

fn new(result: &ComparisonResult) -> String {
    if result.new.is_empty() {
        return String::new();
    }
    let listed: String =
        result.new.iter().take(LISTED).map(|id| format!("  - {}\n", name(id.as_str()))).collect();
    let left = result.new.len().saturating_sub(LISTED);
    let more = if left > 0 { format!("  - and {left} more\n") } else { String::new() };
    format!("- New, without a baseline:\n{listed}{more}")
}

fn targets_section(result: &ComparisonResult) -> String {
    let whole = targets::markdown(&result.threshold_checks);
    match whole.len() {
        0 => whole,
        length if length <= ROOM_FOR_TARGETS => format!("\n{whole}"),
        _ => format!("\n## Targets\n\n{}\n", targets::sentence(&result.threshold_checks)),
    }
}

/// Escapes a name. If it is too long, shortens it so that it stays unique.
fn name(text: &str) -> String {
    escape(&shorten(text, NAME))
}

fn text(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => escape(text.get(..end).unwrap_or_default()) + "…",
        None => escape(text),
    }
}
