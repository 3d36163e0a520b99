//! Cases without a result, grouped by reason: what is wrong, why, how to fix it, and the number of
//! cases.

use itertools::Itertools as _;
use rsb_model::{BackendId, BenchmarkResult, CaseDevice, DeviceType, Outcome, Reason, Run};

use crate::label::{Shortener, benchmark_of, group_by_key};
use crate::markdown::escape;
use crate::number::format_count;
use crate::style::{Style, Tone};

/// Cases that were not measured for one reason.
pub(crate) struct UnmeasuredGroup<'a> {
    pub(crate) reason: Option<&'a Reason>,
    pub(crate) cases: Vec<&'a BenchmarkResult>,
}

/// Benchmark name used if a whole backend is missing.
pub(crate) const ALL_BENCHMARKS: &str = "all";

/// Maximum number of cases that are named; more are counted by benchmark.
const NAMED: usize = 3;

pub(crate) fn groups(run: &Run, outcome: Outcome) -> Vec<UnmeasuredGroup<'_>> {
    let own = run.benchmarks.iter().filter(|result| result.outcome == outcome);
    let groups = group_by_key(own.map(|result| (result.reason.as_ref(), result)));
    groups.into_iter().map(|(reason, cases)| UnmeasuredGroup { reason, cases }).collect()
}

/// Describes the cases: `gemm f32/8x8x8`, or `5 cases: 3 gemm, 2 convolution`.
pub(crate) fn describe_cases(group: &UnmeasuredGroup<'_>, names: &Shortener) -> String {
    if group.cases.len() <= NAMED {
        return group.cases.iter().map(|result| names.full(&result.benchmark_id)).join(", ");
    }
    let counts = group_by_key(group.cases.iter().map(|result| (benchmark_of(result), result)));
    let total = format_count(group.cases.len(), "case", "cases");
    match counts.as_slice() {
        _ if counts.iter().any(|(name, _)| name.is_empty()) => return total,
        [(name, _)] => return format!("{total} of {name}"),
        _ => {}
    }
    let each = counts.iter().map(|(name, cases)| format!("{} {name}", cases.len()));
    format!("{total}: {}", each.format(", "))
}

/// Outcomes without a result, worst first, with the titles of their sections.
pub(crate) const OUTCOMES: [(Outcome, &str, Tone); 2] =
    [(Outcome::Failed, "Failed", Tone::Bad), (Outcome::Skipped, "Skipped", Tone::Caution)];

/// Formats the cases for a terminal, failures first. Empty if there are none.
pub fn text(run: &Run, style: Style) -> String {
    with_lines(run, style, |_, group, names| reason_text(group, names, style))
}

/// Formats as [`text`] does, with one line for all missing backends.
pub fn brief(run: &Run, style: Style) -> String {
    let absent: Vec<BackendId> = run.benchmarks.iter().filter_map(absent_backend).collect();
    let mut is_written = false;
    with_lines(run, style, |outcome, group, names| {
        if outcome != Outcome::Skipped
            || group.cases.iter().any(|result| absent_backend(result).is_none())
        {
            return reason_text(group, names, style);
        }
        if std::mem::replace(&mut is_written, true) {
            String::new()
        } else {
            absent_text(run, &absent, style)
        }
    })
}

/// Formats each outcome with its title, followed by the output of `lines` for each of its groups.
fn with_lines(
    run: &Run,
    style: Style,
    mut lines: impl FnMut(Outcome, &UnmeasuredGroup<'_>, &Shortener) -> String,
) -> String {
    let names = Shortener::of_run(run);
    let mut out = String::new();
    for (outcome, title, tone) in OUTCOMES {
        let groups = groups(run, outcome);
        if groups.is_empty() {
            continue;
        }
        out.push_str(&style.paint(tone, title));
        out.push('\n');
        out.extend(groups.iter().map(|group| lines(outcome, group, &names)));
        out.push('\n');
    }
    out
}

fn reason_text(group: &UnmeasuredGroup<'_>, names: &Shortener, style: Style) -> String {
    let who = style.wrap(&describe_cases(group, names), 2);
    let Some(reason) = group.reason else { return who + &style.wrap("no reason was recorded", 4) };
    let why = style.wrap(&format!("{}: {}", reason.what, reason.why), 4);
    who + &why + &style.wrap(&format!("cure: {}", reason.cure), 4)
}

/// Returns the GPU backend if `result` reports that the whole backend is missing.
fn absent_backend(result: &BenchmarkResult) -> Option<BackendId> {
    match result.benchmark_id.device() {
        CaseDevice::Backend(backend) if benchmark_of(result) == ALL_BENCHMARKS => Some(backend),
        _ => None,
    }
}

fn absent_text(run: &Run, absent: &[BackendId], style: Style) -> String {
    let absent = absent.iter().map(|backend| backend.as_str()).join(", ");
    let has_gpu = run.benchmarks.iter().any(|result| {
        result.outcome != Outcome::Skipped
            && result.device_type.is_some_and(|kind| kind != DeviceType::Cpu)
    });
    let text = if has_gpu {
        format!("not used here: {absent}; --verbose shows why")
    } else {
        // A driver that runs on the CPU, such as llvmpipe, counts as a device of its backend but
        // not as a GPU.
        format!(
            "no GPU found through {absent} (drivers that run on the CPU do not count); \
             `rusty-stack-bench doctor` and `list` explain"
        )
    };
    style.wrap(&text, 2)
}

/// Formats the cases as sections of a Markdown document. Empty if there are none.
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
            let who = escape(&describe_cases(group, &names));
            out.push_str(&match group.reason {
                None => format!("- **{who}** (no reason was recorded)\n"),
                Some(reason) => {
                    let [what, why, cure] =
                        [&reason.what, &reason.why, &reason.cure].map(|text| escape(text));
                    format!("- **{who}**\\\n  {what}: {why}\\\n  *Cure:* {cure}\n")
                }
            });
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn all_missing_backends_are_one_line() {
        let mut run = sample::run();
        run.benchmarks.retain(|result| result.outcome == Outcome::Measured);
        for backend in ["rocm", "cuda", "vulkan"] {
            let reason = Reason::new(backend, format!("no library of {backend}"), "install it");
            run.benchmarks.push(sample::unmeasured_case(
                &format!("gpu_performance/all/{backend}"),
                Outcome::Skipped,
                reason,
            ));
        }
        let text = brief(&run, Style::PLAIN);
        assert_eq!(
            text,
            "Skipped\n  no GPU found through rocm, cuda, vulkan (drivers that run on the CPU do \
             not count);\n  `rusty-stack-bench doctor` and `list` explain\n\n"
        );
        assert!(super::text(&run, Style::PLAIN).contains("no library of cuda"));
    }
}
