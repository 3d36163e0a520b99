//! The comment on a pull request, and the summary of a workflow: the headline with its counts, the
//! changed cases, and everything else folded. Its size stays within GitHub's limit for comments.

#[cfg(test)]
mod tests;

use rsb_model::record::{Comparison, ComparisonNote, ComparisonNoteCode};
use rsb_model::shown::shorten;
use rsb_model::{Better, ComparisonResult, ReasonCode, Verdict};

use super::finding::{FindingKind, GateFinding, findings};
use crate::comparison::{
    Detail, looks_slower, regressions, thresholds, verdict_sentence, worsening,
};
use crate::forge::Forge;
use crate::label::{Shortener, group_by_key};
use crate::markdown::{escape, inline_code};
use crate::number::{
    format_count, format_interval, format_moment, format_percent, format_quantity, format_threshold,
};
use crate::targets;

/// First line of the comment, invisible to readers. The tool that posts the comment uses it to find
/// and overwrite the old one.
pub const MARKER: &str = "<!-- rusty-stack-bench:gate -->";

/// Maximum size of the changed cases, of the undecided ones and of the unchanged ones, in bytes.
/// GitHub accepts 65,536 characters; the rest is for text around them.
const ROOM: [usize; 3] = [24_000, 12_000, 8_000];
/// Maximum size of the targets in bytes. If they are larger, they are only counted.
const ROOM_FOR_TARGETS: usize = 6_000;
const LISTED: usize = 20;
/// Maximum number of notes that are not folded.
const UNFOLDED_NOTES: usize = 4;
const NAME: usize = 160;
const REASON: usize = 300;

/// Facts about a comparison that only its comment shows.
#[derive(Debug, Clone, Default)]
pub struct CommentContext {
    /// Commit of the baseline.
    pub baseline: Option<String>,
    /// Commit of the current side.
    pub current: Option<String>,
    /// Forge that hosts the commits.
    pub forge: Option<Forge>,
    /// Name of the machine that measured.
    pub machine: Option<String>,
    /// Command that makes the comparison again, with the current commit checked out.
    pub reproduce: Option<String>,
    /// Command that finds the commit of the worst regression.
    pub bisect: Option<String>,
    /// Whether measuring ends at the first regression (`--fail-fast`).
    pub fails_fast: bool,
}

/// Formats `result` as a comment, with everything unfolded for [`Detail::Full`].
pub fn comment(result: &ComparisonResult, detail: Detail, context: &CommentContext) -> String {
    let all = findings(result);
    let fold = Fold { is_open: detail == Detail::Full };
    let mut out = format!(
        "{MARKER}\n**{}**\n\n{}\n\n",
        headline(result, context),
        subheading(result, context)
    );
    let (loud, quiet): (Vec<_>, Vec<_>) = result.notes.iter().partition(|note| is_loud(note));
    let (loud, more) = loud.split_at(loud.len().min(UNFOLDED_NOTES));
    out.push_str(&changed_table(&all));
    if !loud.is_empty() {
        out.push_str(&format!("{}\n", note_list(loud)));
    }
    out.push_str(&undecided(&all, fold));
    out.push_str(&unchanged(&all, fold));
    out.push_str(&new(result, fold));
    out.push_str(&targets_section(result, fold));
    let quiet: Vec<&ComparisonNote> = more.iter().copied().chain(quiet).collect();
    if !quiet.is_empty() {
        let count = format_count(quiet.len(), "note", "notes");
        out.push_str(&fold.section(&count, &note_list(&quiet)));
    }
    let at = context.current.as_deref().map_or_else(String::new, |commit| {
        format!(" at {}", commit_link(commit, context.forge.as_ref()))
    });
    let commands = [
        (format!("Reproduce{at}"), &context.reproduce),
        ("Find the commit".to_owned(), &context.bisect),
    ];
    for (purpose, command) in commands {
        if let Some(command) = command {
            out.push_str(&format!("{purpose}: {}\n\n", inline_code(command)));
        }
    }
    out.trim_end().to_owned() + "\n"
}

/// Folded sections, which a reader opens.
#[derive(Clone, Copy)]
struct Fold {
    is_open: bool,
}

impl Fold {
    /// Returns a section; `summary` must need no escapes.
    fn section(self, summary: &str, body: &str) -> String {
        let open = if self.is_open { " open" } else { "" };
        let body = body.trim_end();
        format!("<details{open}><summary>{summary}</summary>\n\n{body}\n\n</details>\n\n")
    }
}

/// Returns the verdict and the counts: `REGRESSED · 2 slower · 0 faster · 69 unchanged`.
fn headline(result: &ComparisonResult, context: &CommentContext) -> String {
    let word = match result.verdict {
        Verdict::Regressed => "REGRESSED",
        Verdict::Inconclusive | Verdict::NotComparable => "NO VERDICT",
        Verdict::Improved | Verdict::Unchanged => "PASS",
    };
    if result.comparisons.is_empty() {
        return escape(verdict_sentence(result).1.trim_end_matches('.'));
    }
    let rows = || result.comparisons.iter();
    let count = |verdict| rows().filter(|row| row.verdict == verdict).count();
    let is_time = rows().filter(|row| is_changed(row)).all(|row| row.metric == TIME);
    let [slower, faster] = if is_time { ["slower", "faster"] } else { ["worse", "better"] };
    let is_unsettled = |row: &Comparison| {
        context.fails_fast
            && (row.reason_code.can_be_remeasured() || row.reason_code == ReasonCode::NotMeasured)
    };
    let (unsettled, undecided): (Vec<&Comparison>, Vec<&Comparison>) = rows()
        .filter(|row| !row.verdict.is_decided() && row.reason_code != ReasonCode::Missing)
        .partition(|row| is_unsettled(row));
    let missed = result.threshold_checks.iter().filter(|check| check.passed == Some(false)).count();
    let mut parts = vec![
        word.to_owned(),
        format!("{} {slower}", regressions(result).len()),
        format!("{} {faster}", count(Verdict::Improved)),
        format!("{} unchanged", count(Verdict::Unchanged)),
    ];
    for (open, word) in [(undecided, "undecided"), (unsettled, "not settled")] {
        if !open.is_empty() {
            let slower = looks_slower(open.iter().copied());
            parts.push(format!("{} {word}{slower}", open.len()));
        }
    }
    let others = [
        (result.missing.len(), "missing"),
        (missed, if missed == 1 { "target missed" } else { "targets missed" }),
    ];
    parts.extend(
        others
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}")),
    );
    parts.join(" · ")
}

/// Metric of most rows; not shown.
const TIME: &str = "time_ms";

const fn is_changed(row: &Comparison) -> bool {
    matches!(row.verdict, Verdict::Regressed | Verdict::Improved)
}

/// Returns both sides, the machine, the time and the threshold.
fn subheading(result: &ComparisonResult, context: &CommentContext) -> String {
    let side = |commit: &Option<String>, id: &str| match commit {
        Some(commit) => commit_link(commit, context.forge.as_ref()),
        None => name(id),
    };
    let current = side(&context.current, &result.current_run_id);
    let baseline = side(&context.baseline, &result.baseline_run_id);
    let machine = context.machine.as_deref().map(name);
    let parts = [
        Some(format!("{current} against {baseline}")),
        machine,
        Some(format_moment(result.timestamp)),
        Some(thresholds(result)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn commit_link(commit: &str, forge: Option<&Forge>) -> String {
    let is_hash = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let short = commit.get(..7).filter(|_| is_hash).map_or_else(|| name(commit), str::to_owned);
    match forge.and_then(|forge| forge.commit(commit)) {
        Some(address) => format!("[{short}]({address})"),
        None => short,
    }
}

/// Returns whether a reader must not miss the note.
fn is_loud(note: &ComparisonNote) -> bool {
    matches!(
        note.code,
        ComparisonNoteCode::MachineState
            | ComparisonNoteCode::MachineUnknown
            | ComparisonNoteCode::Clock
            | ComparisonNoteCode::Policy
            | ComparisonNoteCode::Accepted
    )
}

fn note_list(notes: &[&ComparisonNote]) -> String {
    let shown = notes.iter().take(LISTED);
    shown.map(|note| format!("- {}\n", text(&note.text, REASON))).collect()
}

/// Formats the cases that regressed or improved, worst first, up to the size limit, and the number
/// left out.
fn changed_table(all: &[GateFinding<'_>]) -> String {
    let of_kind = |kind| all.iter().filter(move |finding| finding.kind() == kind);
    let shown: Vec<&GateFinding<'_>> =
        of_kind(FindingKind::Regressed).chain(of_kind(FindingKind::Improved)).collect();
    if shown.is_empty() {
        return String::new();
    }
    let names = names_of(&shown);
    let rows = || shown.iter().filter_map(|finding| finding.row);
    let scale = Scale::of(rows());
    let is_time = rows().all(|row| row.metric == TIME);
    let [better, worse] = if is_time { ["faster", "slower"] } else { ["better", "worse"] };
    let direction = unbroken(&format!("← {better} · {worse} →"));
    let mut out = format!("|  | case | before → now | change | {direction} |\n");
    out.push_str("| :-- | :-- | :-- | --: | :-: |\n");
    let rows = shown.iter().map(|finding| row(finding, &names, scale));
    out.push_str(&within(ROOM[0], rows));
    out + "\n"
}

fn row(finding: &GateFinding<'_>, names: &Shortener, scale: Scale) -> String {
    let word = match (finding.kind(), finding.code) {
        (_, ReasonCode::TargetMissed) => "**target missed**",
        (FindingKind::Regressed, _) => "**regressed**",
        _ => "improved",
    };
    let case = name(&case_name(finding, names));
    let Some(row) = finding.row else { return format!("| {word} | {case} |  |  |  |\n") };
    let drawn = scale.bar(row).map_or_else(String::new, |bar| format!("`{bar}`"));
    let [values, change] = [values(row), change(row)].map(|cell| unbroken(&cell));
    format!("| {word} | {case} | {values} | {change} | {drawn} |\n")
}

/// Keeps values together with their units, and both ends of an interval, on a narrow page.
fn unbroken(cell: &str) -> String {
    cell.replace(' ', "\u{a0}").replace("→\u{a0}", "→ ").replace("\u{a0}\\[", " \\[")
}

/// Returns the lines that fit into `most` bytes, and the number of the others.
fn within(most: usize, lines: impl Iterator<Item = String>) -> String {
    let (mut out, mut left) = (String::new(), 0);
    for line in lines {
        if left == 0 && out.len() + line.len() <= most {
            out.push_str(&line);
        } else {
            left += 1;
        }
    }
    if left > 0 {
        let more = format_count(left, "more is", "more are");
        out.push_str(&format!(
            "\n{more} not shown: there is no room in a comment. `--format text` shows all.\n"
        ));
    }
    out
}

fn names_of(findings: &[&GateFinding<'_>]) -> Shortener {
    Shortener::of(findings.iter().filter_map(|finding| finding.id))
}

/// Returns the name of the case, with the metric unless it is the time.
fn case_name(finding: &GateFinding<'_>, names: &Shortener) -> String {
    let name = finding.name(names);
    name.strip_suffix(&format!(" {TIME}")).map(str::to_owned).unwrap_or(name)
}

fn values(row: &Comparison) -> String {
    if row.baseline_value.is_none() && row.current_value.is_none() {
        return String::new();
    }
    let [before, now] = [row.baseline_value, row.current_value].map(|value| {
        let quantity =
            value.map_or_else(|| "–".to_owned(), |value| format_quantity(value, &row.unit));
        text(&quantity, 40)
    });
    format!("{before} → {now}")
}

/// Returns the change with its interval: `+15.9 % [+12.1, +19.8]`.
fn change(row: &Comparison) -> String {
    let percent = row.difference_percent.map_or_else(String::new, format_percent);
    let interval =
        row.confidence_interval.map(|interval| format!(" {}", format_interval(interval)));
    let interval = interval.unwrap_or_default();
    percent + &escape(interval.trim_end_matches(" %"))
}

/// Characters from the center of a bar to an end.
const HALF: i32 = 8;
/// Maximum change at the end of a bar, as a multiple of the threshold: one enormous change must not
/// hide all others.
const MOST_THRESHOLDS: f64 = 10.0;

/// Scale of all bars of a comment.
#[derive(Debug, Clone, Copy)]
struct Scale {
    /// Change at the end of a bar, in percent.
    end: f64,
}

impl Scale {
    /// Returns the scale that has the largest change of `rows` at its end.
    fn of<'r>(rows: impl Iterator<Item = &'r Comparison>) -> Self {
        let mut end: f64 = 0.0;
        let mut most: f64 = 0.0;
        for row in rows {
            let size = worsening(row).map_or(0.0, f64::abs);
            end = if size.is_finite() { end.max(size) } else { end };
            most = most.max(MOST_THRESHOLDS * row.threshold_percent);
        }
        Self { end: if most.is_finite() && most > 0.0 { end.min(most) } else { end } }
    }

    /// Draws the change and its interval, worse to the right: `········│···┊──●─`. The marks are at
    /// no change and at the threshold. An interval that exceeds an end has an arrow there; a change
    /// that exceeds it is a dot before the arrow.
    fn bar(self, row: &Comparison) -> Option<String> {
        let middle = worsening(row)?;
        let [low, high] = match (row.confidence_interval, row.better) {
            (None, _) => [middle, middle],
            (Some([low, high]), Better::Lower) => [low, high],
            (Some([low, high]), Better::Higher) => [-high, -low],
        };
        let scale = f64::from(HALF) / self.end;
        let is_drawable = [low, middle, high].iter().all(|percent| percent.is_finite())
            && scale.is_finite()
            && scale > 0.0;
        if !is_drawable {
            return None;
        }
        // The cast saturates, so huge numbers are drawn at the end.
        let place = |percent: f64| (percent * scale).round() as i32;
        let threshold = place(row.threshold_percent).max(1);
        let [low, middle, high] =
            [low, middle, high].map(|percent| place(percent).clamp(-HALF - 1, HALF + 1));
        let dot = if middle.abs() > HALF { (HALF - 1) * middle.signum() } else { middle };
        let mut drawn = String::new();
        for at in -HALF..=HALF {
            let is_mark = at == 0 || at == threshold;
            drawn.push(match at {
                _ if at == dot => '●',
                _ if at == -HALF && low.min(middle) < -HALF => '◂',
                _ if at == HALF && high.max(middle) > HALF => '▸',
                _ if is_mark && (low..=high).contains(&at) => '┼',
                _ if (low..=high).contains(&at) => '─',
                0 => '│',
                _ if is_mark => '┊',
                _ => '·',
            });
        }
        Some(drawn)
    }
}

/// Formats the findings without a verdict, each reason once.
fn undecided(all: &[GateFinding<'_>], fold: Fold) -> String {
    // The verdict itself, which has no case, is the headline.
    let is_open = |finding: &&GateFinding<'_>| {
        finding.kind() == FindingKind::NoVerdict && finding.id.is_some()
    };
    let open: Vec<&GateFinding<'_>> = all.iter().filter(is_open).collect();
    if open.is_empty() {
        return String::new();
    }
    let names = names_of(&open);
    let groups = group_by_key(open.iter().map(|finding| {
        let reason = finding.row.map_or_else(|| finding.reason.to_string(), Comparison::why);
        (reason, *finding)
    }));
    let mut lines = Vec::new();
    for (reason, members) in &groups {
        let gap = if lines.is_empty() { "" } else { "\n" };
        lines.push(format!("{gap}{}:\n\n", text(reason, REASON)));
        lines.extend(members.iter().map(|finding| line(finding, &names)));
    }
    fold.section(&undecided_summary(&open), &within(ROOM[1], lines.into_iter()))
}

/// Returns the number of undecided findings and their causes: `22 undecided: noise above ±10 %,
/// widest ±63 %`.
fn undecided_summary(open: &[&GateFinding<'_>]) -> String {
    let rows: Vec<&Comparison> = open.iter().filter_map(|finding| finding.row).collect();
    let widths = rows.iter().filter_map(|row| row.confidence_interval);
    let widest = widths.map(|[low, high]| (high - low) / 2.0).fold(0.0, f64::max);
    let widest = if widest.is_finite() && widest > 0.0 {
        format!(", widest ±{widest:.0} %")
    } else {
        String::new()
    };
    let is_noise = !rows.is_empty()
        && rows.len() == open.len()
        && rows.iter().all(|row| row.reason_code == ReasonCode::TooNoisy);
    let thresholds = rows.iter().map(|row| row.threshold_percent);
    let threshold = format_threshold(thresholds.fold(f64::INFINITY, f64::min));
    let why = if is_noise { format!("noise above ±{threshold}") } else { causes(open) };
    format!("{} undecided: {why}{widest}", open.len())
}

/// Returns the causes as fixed words, the most common first: `20 too noisy, 2 skipped`.
fn causes(open: &[&GateFinding<'_>]) -> String {
    let mut causes = group_by_key(open.iter().map(|finding| (finding.code.cause(), *finding)));
    if let [(cause, _)] = causes.as_slice() {
        return (*cause).to_owned();
    }
    causes.sort_by_key(|(_, members)| std::cmp::Reverse(members.len()));
    let parts = causes.iter().map(|(cause, members)| format!("{} {cause}", members.len()));
    parts.collect::<Vec<_>>().join(", ")
}

/// Formats a finding as an item of a list: `- gemm 64x64: 2.72 ms → 2.89 ms, +6.2 % [+4.9, +7.4]`.
fn line(finding: &GateFinding<'_>, names: &Shortener) -> String {
    let figures = finding.row.map(|row| [values(row), change(row)]).unwrap_or_default();
    let figures: Vec<String> = figures.into_iter().filter(|text| !text.is_empty()).collect();
    let figures =
        if figures.is_empty() { String::new() } else { format!(": {}", figures.join(", ")) };
    format!("- {}{figures}\n", name(&case_name(finding, names)))
}

fn unchanged(all: &[GateFinding<'_>], fold: Fold) -> String {
    let same: Vec<&GateFinding<'_>> =
        all.iter().filter(|finding| finding.kind() == FindingKind::Unchanged).collect();
    if same.is_empty() {
        return String::new();
    }
    let names = names_of(&same);
    let lines = same.iter().map(|finding| line(finding, &names));
    fold.section(&format!("{} unchanged", same.len()), &within(ROOM[2], lines))
}

fn new(result: &ComparisonResult, fold: Fold) -> String {
    if result.new.is_empty() {
        return String::new();
    }
    let listed: String =
        result.new.iter().take(LISTED).map(|id| format!("- {}\n", name(id.as_str()))).collect();
    let left = result.new.len().saturating_sub(LISTED);
    let more = if left > 0 { format!("- and {left} more\n") } else { String::new() };
    fold.section(&format!("{} new, without a baseline", result.new.len()), &(listed + &more))
}

fn targets_section(result: &ComparisonResult, fold: Fold) -> String {
    let sentence = targets::sentence(&result.threshold_checks);
    if sentence.is_empty() {
        return String::new();
    }
    let checks = &result.threshold_checks;
    let has_references = checks.iter().any(|check| check.reference.is_some());
    let table = targets::table(checks, has_references).markdown();
    if table.len() > ROOM_FOR_TARGETS || !targets::is_any_known(checks) {
        return format!("{sentence}\n\n");
    }
    fold.section(&sentence, &table)
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
