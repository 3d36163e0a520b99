//! Cases without a figure, grouped by what stood in their way: what, why, cure, and how many cases each.

use rsb_model::{BenchmarkResult, Outcome, Reason, Run};

use crate::label::{Shortener, benchmark_of};
use crate::markdown::escape;
use crate::number::format_count;
use crate::style::{Style, Tone};

/// The cases that one thing stood in the way of.
pub(crate) struct UnmeasuredGroup<'a> {
    pub(crate) reason: Option<&'a Reason>,
    pub(crate) cases: Vec<&'a BenchmarkResult>,
}

/// More cases than this are counted by benchmark and not named.
const NAMED: usize = 3;

/// The cases of `run` that ended so, by what stood in their way.
pub(crate) fn groups(run: &Run, outcome: Outcome) -> Vec<UnmeasuredGroup<'_>> {
    let mut groups: Vec<UnmeasuredGroup<'_>> = Vec::new();
    for result in run.benchmarks.iter().filter(|result| result.outcome == outcome) {
        let reason = result.reason.as_ref();
        match groups.iter_mut().find(|group| group.reason == reason) {
            Some(group) => group.cases.push(result),
            None => groups.push(UnmeasuredGroup { reason, cases: vec![result] }),
        }
    }
    groups
}

/// The cases in words: `gemm f32/8x8x8`, or `5 cases: 3 gemm, 2 convolution`.
pub(crate) fn who(group: &UnmeasuredGroup<'_>, names: &Shortener) -> String {
    if group.cases.len() <= NAMED {
        return group.cases.iter().map(|result| names.full(&result.benchmark_id)).collect::<Vec<_>>().join(", ");
    }
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for benchmark in group.cases.iter().map(|result| benchmark_of(result)) {
        match counts.iter_mut().find(|(name, _)| *name == benchmark) {
            Some((_, count)) => *count += 1,
            None => counts.push((benchmark, 1)),
        }
    }
    let total = format_count(group.cases.len(), "case", "cases");
    match counts.as_slice() {
        _ if counts.iter().any(|(name, _)| name.is_empty()) => return total,
        [(name, _)] => return format!("{total} of {name}"),
        _ => {}
    }
    let each: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    format!("{total}: {}", each.join(", "))
}

/// How cases end without a figure, the worst first, with the title of the part.
pub(crate) const OUTCOMES: [(Outcome, &str, Tone); 2] =
    [(Outcome::Failed, "Failed", Tone::Bad), (Outcome::Skipped, "Skipped", Tone::Caution)];

/// For a terminal, failures first. Nothing when everything has a figure.
pub fn text(run: &Run, style: Style) -> String {
    let names = Shortener::of_run(run);
    let mut out = String::new();
    for (outcome, title, tone) in OUTCOMES {
        let groups = groups(run, outcome);
        if groups.is_empty() {
            continue;
        }
        out.push_str(&style.paint(tone, title));
        out.push('\n');
        for group in &groups {
            out.push_str(&style.wrap(&who(group, &names), 2));
            out.push_str(&group.reason.map_or_else(
                || style.wrap("no reason was recorded", 4),
                |reason| {
                    let why = style.wrap(&format!("{}: {}", reason.what, reason.why), 4);
                    why + &style.wrap(&format!("cure: {}", reason.cure), 4)
                },
            ));
        }
        out.push('\n');
    }
    out
}

/// As sections of a Markdown document. Nothing when everything has a figure.
pub fn markdown(run: &Run) -> String {
    let names = Shortener::of_run(run);
    let mut out = String::new();
    for (outcome, title, _) in OUTCOMES {
        let groups = groups(run, outcome);
        if groups.is_empty() {
            continue;
        }
        out.push_str(&format!("## {title}\n\n"));
        for group in &groups {
            let who = escape(&who(group, &names));
            out.push_str(&match group.reason {
                None => format!("- **{who}** (no reason was recorded)\n"),
                Some(Reason { what, why, cure, .. }) => {
                    format!("- **{who}**\\\n  {}: {}\\\n  *Cure:* {}\n", escape(what), escape(why), escape(cure))
                }
            });
        }
        out.push('\n');
    }
    out
}
