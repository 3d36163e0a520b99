//! Prints, writes and stores verdicts, for `gate` and `compare`.

use anyhow::Context;
use rsb_app::next_step::VerdictRequest;
use rsb_app::{error_chain, judge, notify};
use rsb_engine::measure::interrupt;
use rsb_gate::gate::{Basis, Judge, JudgedSides, Judgment, MissingSide};
use rsb_model::ComparisonResult;
use rsb_report::comparison::Detail;
use rsb_report::gate::CommentContext;
use rsb_report::{GateFormat, Style};
use rsb_store::output;

use crate::cli::{JudgeArgs, VerdictFile};
use crate::exit::Exit;
use crate::{console, show};

/// Shows and writes `judgment` as requested by the arguments, stores the comparison if values were
/// compared, and prints hints. Returns the exit code, which is `without` if there is no baseline to
/// compare with.
pub(super) fn conclude(
    judge: &Judge,
    args: &JudgeArgs,
    judgment: &Judgment,
    request: &VerdictRequest,
    style: Style,
    without: Exit,
) -> Exit {
    let result = &judgment.result;
    let (exit, sentence) = match &judgment.basis {
        Basis::Figures { .. } => {
            judge::keep(judge, result, &mut console::tell);
            (
                if interrupt::is_requested() { Exit::Interrupted } else { judge::exit_of(result) },
                None,
            )
        }
        Basis::Nothing { lack: MissingSide::Baseline, why } => {
            (without, Some(format!("NO VERDICT: {why}")))
        }
        Basis::Nothing { why, .. } => (Exit::NoVerdict, Some(format!("NO VERDICT: {why}"))),
        Basis::Same { why } => (Exit::Pass, Some(format!("UNCHANGED: {why}."))),
    };
    let context = || judge::comment_context(result, &judgment.sides, request);
    let exit = deliver(args, result, sentence.as_deref(), &Look { style, context: &context }, exit);
    if matches!(judgment.basis, Basis::Figures { .. }) && exit != Exit::Interrupted {
        advise(result, &judgment.sides, request);
        notify::after_verdict(request, &judge.store, judgment, &mut console::tell);
    }
    exit
}

/// Prints hints about `result`.
pub(super) fn advise(result: &ComparisonResult, sides: &JudgedSides, request: &VerdictRequest) {
    for hint in judge::advice(result, sides, request) {
        console::say(&format!("hint: {hint}"));
    }
}

/// Presentation of a verdict.
pub(super) struct Look<'l> {
    pub(super) style: Style,
    /// Returns what only a comment shows.
    pub(super) context: &'l dyn Fn() -> CommentContext,
}

/// Shows `result`, or only `sentence` if there is one, and writes the result to every requested
/// file. Failures to write are reported; they turn a pass into a failure, but change no other exit
/// code.
pub(super) fn deliver(
    args: &JudgeArgs,
    result: &ComparisonResult,
    sentence: Option<&str>,
    look: &Look<'_>,
    exit: Exit,
) -> Exit {
    let shown = match sentence {
        Some(sentence) => say(args, result, sentence),
        None => print(args, result, look),
    };
    let written = args.output.iter().map(|file| write(file, args, result, look));
    let problems: Vec<anyhow::Error> =
        std::iter::once(shown).chain(written).filter_map(Result::err).collect();
    for problem in &problems {
        console::say(&format!("error: {}", error_chain(problem)));
    }
    if exit == Exit::Pass && !problems.is_empty() { Exit::Failure } else { exit }
}

/// Shows the comparison in the requested format.
fn print(args: &JudgeArgs, result: &ComparisonResult, look: &Look<'_>) -> anyhow::Result<()> {
    show::text(&formatted(result, format(args), args, look)?).context(show::FAILED)
}

/// Formats the comparison; a comment with its context.
fn formatted(
    result: &ComparisonResult,
    format: GateFormat,
    args: &JudgeArgs,
    look: &Look<'_>,
) -> anyhow::Result<String> {
    if format == GateFormat::Markdown {
        return Ok(rsb_report::gate::comment(result, detail(args), &(look.context)()));
    }
    Ok(rsb_report::gate::write(result, format, look.style, detail(args))?)
}

/// Shows a verdict without a table: `sentence` as text; in other formats, the document on standard
/// output and the sentence on standard error.
fn say(args: &JudgeArgs, result: &ComparisonResult, sentence: &str) -> anyhow::Result<()> {
    let format = format(args);
    if format == GateFormat::Text {
        return show::text(sentence).context(show::FAILED);
    }
    console::say(sentence);
    show::text(&rsb_report::gate::write(result, format, Style::PLAIN, Detail::Brief)?)
        .context(show::FAILED)
}

/// Writes the comparison to a file.
fn write(
    file: &VerdictFile,
    args: &JudgeArgs,
    result: &ComparisonResult,
    look: &Look<'_>,
) -> anyhow::Result<()> {
    let text = formatted(result, file.format, args, &Look { style: Style::PLAIN, ..*look })?;
    Ok(output::write(&file.path, &text)?)
}

fn detail(args: &JudgeArgs) -> Detail {
    if args.verbose { Detail::Full } else { Detail::Brief }
}

/// Returns the requested format.
pub(super) fn format(args: &JudgeArgs) -> GateFormat {
    if args.json { GateFormat::Json } else { args.format }
}
