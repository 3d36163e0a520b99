//! `gate`: judges a run against a baseline, the working tree against a revision, or a run against
//! stored runs.

use std::time::Duration;

use anyhow::anyhow;
use rsb_app::judge;
use rsb_app::next_step::VerdictRequest;
use rsb_gate::gate::{self, Basis, StoredRequest};
use rsb_gate::revisions::{self, AgainstRequest, BaselineRevisions, Counting, MergeBase};
use rsb_gate::suggest::shell_quote;
use rsb_report::Style;

use super::verdict;
use crate::cli::{GateArgs, JudgeArgs, ProjectArgs};
use crate::console;
use crate::exit::{CliError, CliResult, Exit};

/// Runs the subcommand `gate`.
///
/// # Errors
/// If a side cannot be read, or there is nothing to compare.
pub fn run(args: &GateArgs, style: Style) -> CliResult {
    let base = args.base.as_deref().map(MergeBase::of).transpose()?;
    let judged_by = match (&args.against, &base) {
        (Some(revision), _) => Some((revision.as_str(), "gate --against")),
        (None, Some(base)) => Some((base.commit(), "gate --base")),
        (None, None) => None,
    };
    let (paths, options) = (args.judge.places.paths(), args.judge.options());
    let (mut judge, settings, notify) = if let Some((revision, flag)) = judged_by {
        let (settings, judge) =
            judge::open_judge_at(&paths, &options, revision, flag, &mut console::tell)?;
        let notify = settings.project.config.notify.clone();
        (judge, Some(settings), notify)
    } else {
        let (project, judge) = judge::open(&paths, &options, &mut console::tell)?;
        (judge, None, project.config.notify)
    };
    let at_base = base.as_ref().map(|base| base.files(&judge.directories.baselines)).transpose()?;
    if let (Some(files), Some(base), Some(revision)) = (&at_base, &base, &args.base) {
        judge.take_base(files.path(), base.commit(), revision);
    }
    super::interrupt::listen();
    let without = if args.baseline_optional { Exit::Pass } else { Exit::NoVerdict };
    if let (Some(revision), Some(settings)) = (&args.against, &settings) {
        let project = args.project.options(settings).map_err(CliError::usage)?;
        let request = AgainstRequest {
            revision,
            project: &project,
            measure_equal: args.measure_equal,
            layouts: args.layouts.unwrap_or(0),
            benchmarks: &args.benchmark,
            cases: &args.case,
            suite: args.suite,
            budget: args.budget,
            fail_fast: args.fail_fast,
            wait_for_quiet: args.wait_for_quiet.unwrap_or_default(),
            add_benches: args.benches_from.is_some(),
            // The two flags exclude each other.
            counting: Counting {
                metrics: if args.decide_by.is_empty() { &args.metric } else { &args.decide_by },
                instead_of_time: !args.decide_by.is_empty(),
            },
        };
        let accepted =
            args.accept.as_deref().map(|path| judge::accept_list(path, revision)).transpose()?;
        let mut judgment = revisions::against(&judge, &request, &mut console::tell)?;
        if let (Some(list), Basis::Figures { .. }) = (accepted, &judgment.basis) {
            judgment.result = list.apply(judgment.result, judge.policy());
        }
        // No baseline was saved, so there is none to accept a regression into (`accept: None`).
        let budget = || gate::default_budget(judgment.result.comparisons.len());
        let request = VerdictRequest {
            again: Some(again_against(args, revision)),
            project: project_arguments(&args.project),
            is_remeasured: true,
            budget: Some(args.budget.unwrap_or_else(budget)),
            accept: None,
            notify,
            reference: revision.to_owned(),
            ..judge::request(&judge, &paths, &options, &[], &[])
        };
        return Ok(verdict::conclude(&judge, &args.judge, &judgment, &request, style, without));
    }
    if args.project.is_given() {
        return Err(CliError::usage(anyhow!(
            "--build, --bench and arguments for cargo need `gate --against REV`, which builds both \
             sides"
        )));
    }
    if let Some(runs) = args.against_history {
        let judgment =
            gate::against_history(&judge, &args.current, runs as usize, &mut console::tell)?;
        let request = VerdictRequest {
            notify,
            reference: "the history".to_owned(),
            ..judge::request(&judge, &paths, &options, &[], &args.current)
        };
        return Ok(verdict::conclude(&judge, &args.judge, &judgment, &request, style, without));
    }
    let revisions = BaselineRevisions::new(base);
    let request = StoredRequest {
        baseline: args.baseline.clone(),
        current: args.current.clone(),
        budget: args.budget,
        revisions: Some(&revisions),
    };
    let judgment = gate::judge_stored(&judge, &request, &mut console::tell)?;
    let named = judge::request(&judge, &paths, &options, &args.baseline, &args.current);
    let request = VerdictRequest {
        again: again(args),
        is_remeasured: judgment.basis == Basis::Figures { remeasured: true }
            && args.budget != Some(Duration::ZERO),
        more_runs: gate::more_runs(&args.baseline, &args.current),
        // A pull request must not accept its own regressions.
        accept: named.accept.clone().filter(|_| args.base.is_none()),
        notify,
        reference: match (args.baseline.as_slice(), &args.base) {
            ([], Some(base)) => base.clone(),
            (named, _) => named.join(", "),
        },
        ..named
    };
    Ok(verdict::conclude(&judge, &args.judge, &judgment, &request, style, without))
}

/// Returns the subcommand that repeats the comparison of the same cases with `revision`, without a
/// budget.
fn again_against(args: &GateArgs, revision: &str) -> String {
    let suite = args.suite.map(|suite| suite.as_str().to_owned());
    let layouts = args.layouts.map(|layouts| layouts.to_string());
    let accept = args.accept.as_ref().map(|path| path.display().to_string());
    let wait = args.wait_for_quiet.map(|max| format!("{}s", max.as_secs()));
    let mut again = format!("gate --against {}", shell_quote(revision));
    again.push_str(&flags("--suite", &suite));
    again.push_str(&flags("--benchmark", &args.benchmark));
    again.push_str(&flags("--case", &args.case));
    for (flag, metrics) in [("--metric", &args.metric), ("--decide-by", &args.decide_by)] {
        if !metrics.is_empty() {
            let names: Vec<&str> = metrics.iter().map(|metric| metric.as_str()).collect();
            again.extend([" ", flag, " ", &names.join(",")]);
        }
    }
    if args.benches_from.is_some() {
        again.push_str(" --benches-from this");
    }
    if args.measure_equal {
        again.push_str(" --measure-equal");
    }
    if args.fail_fast {
        again.push_str(" --fail-fast");
    }
    again.push_str(&flags("--layouts", &layouts));
    again.push_str(&flags("--accept", &accept));
    again.push_str(&flags("--wait-for-quiet", &wait));
    again + &judge_arguments(&args.judge)
}

/// Returns the arguments for another project's benchmarks as the end of a command line.
fn project_arguments(args: &ProjectArgs) -> String {
    let format = args.bench_format.map(|format| format.as_str().to_owned());
    let mut arguments = flags("--build", &args.build);
    arguments.push_str(&flags("--bench", &args.bench));
    arguments.push_str(&flags("--bench-format", &format));
    if !args.cargo.is_empty() {
        arguments.push_str(" --");
    }
    for word in &args.cargo {
        arguments.extend([" ", &shell_quote(word)]);
    }
    arguments
}

/// Returns the arguments that change the verdict, each after a space.
fn judge_arguments(args: &JudgeArgs) -> String {
    let threshold = args.threshold.map(|percent| percent.to_string());
    let mut environments = Vec::new();
    for (side, path) in &args.environment {
        environments.push(format!("{}={}", side.as_str(), path.display()));
    }
    flags("--threshold", &threshold)
        + &flags("--across", &args.across)
        + &flags("--environment", &environments)
}

/// Returns `flag` with each of `values`, after a space.
fn flags<'v>(flag: &str, values: impl IntoIterator<Item = &'v String>) -> String {
    let mut arguments = String::new();
    for value in values {
        arguments.extend([" ", flag, " ", &shell_quote(value)]);
    }
    arguments
}

/// Returns the subcommand that measures the run again. `None` for files and several runs, which
/// cannot be measured again.
fn again(args: &GateArgs) -> Option<String> {
    let is_measurable = match (args.baseline.as_slice(), args.current.as_slice()) {
        ([], []) => true,
        ([], [run]) => !gate::is_path(run),
        _ => false,
    };
    if !is_measurable {
        return None;
    }
    let arguments = flags("--current", &args.current) + &flags("--base", &args.base);
    Some(format!("gate{arguments}{}", judge_arguments(&args.judge)))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Verb};

    fn parse(line: &str) -> GateArgs {
        let cli = Cli::try_parse_from(["rusty-stack-bench"].into_iter().chain(line.split(' ')));
        let Some(Verb::Gate(args)) = cli.unwrap().verb else { panic!("{line}") };
        args
    }

    #[test]
    fn a_gate_is_suggested_again_with_its_arguments() {
        let line = "gate --against main --suite full --benchmark gemm --case f32 --metric \
                    instructions,peak-memory --benches-from this --measure-equal \
                    --fail-fast --layouts 8 --accept list.toml --wait-for-quiet 600s --threshold 2.5 --across rocm";
        assert_eq!(again_against(&parse(line), "main"), line);
        for line in ["gate", "gate --current day-1 --base main --threshold 5 --across rocm"] {
            assert_eq!(again(&parse(line)).as_deref(), Some(line));
        }
        assert_eq!(again(&parse("gate --baseline before.json")), None);
        let project = project_arguments(&parse("gate --against main -- -p one").project);
        assert_eq!(project, " -- -p one");
    }
}
