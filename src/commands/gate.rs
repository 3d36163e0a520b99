//! Judges a run against a baseline.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use jiff::SignedDuration;
use rsb_model::{CaseId, ComparisonResult, Fingerprint, Run, Timestamp};
use rsb_report::Style;
use rsb_store::Baselines;

use super::judge::{self, Judge};
use super::{against, against_history, alone, beside, doubt};
use crate::cli::GateArgs;
use crate::exit::{Ended, Exit, Trouble};
use crate::measure::interrupt;
use crate::show;

/// How long suspects may take when nothing is said.
pub(super) const BUDGET: Duration = Duration::from_mins(3);

/// A run that ended so many minutes ago at most is measured on where it is in doubt, unasked.
const FRESH_MINUTES: i64 = 15;

/// The verb `gate`.
///
/// # Errors
/// When a side cannot be read or there is nothing to compare.
pub fn run(args: &GateArgs, style: Style) -> Ended {
    if let Some(revision) = &args.against {
        return against::run(args, revision, style);
    }
    if let Some(runs) = args.against_history {
        return against_history::run(args, runs as usize, style);
    }
    let judge = Judge::load(&args.judge)?;
    let named = judge.sides(&args.baseline)?;
    let Some(current) = current(&judge, &args.current)? else {
        let why = "there is no run to judge yet; measure one with `rusty-stack-bench run`";
        return without_baseline(&judge, &[], args, why);
    };
    let saved = if args.baseline.is_empty() { saved_for(&judge, &current) } else { Ok(named) };
    let baseline = match saved {
        Ok(runs) => runs,
        Err(trouble) if trouble.exit == Exit::NoVerdict => {
            return without_baseline(&judge, &current, args, &show::chain(&trouble.error));
        }
        Err(trouble) => return Err(trouble),
    };
    if let Some(why) = judge::is_itself(&baseline, &current) {
        return without_baseline(&judge, &current, args, &why);
    }
    alone::tell("note", baseline.iter().chain(&current));
    let budget = args.budget.or_else(|| is_fresh(&current, args).then_some(BUDGET));
    let result = match budget {
        Some(budget) if !budget.is_zero() => measure_again(&judge, &baseline, current, budget)?,
        _ => judge.judge(&baseline, &current),
    };
    judge.show(&result, style)?;
    if interrupt::asked() {
        return Ok(Exit::Interrupted);
    }
    let exit = judge::exit_of(&result);
    if exit == Exit::NoVerdict && budget.is_none() && args.current.is_empty() {
        eprintln!("hint: `rusty-stack-bench gate --budget 3m` measures the undecided cases again");
    }
    Ok(exit)
}

/// Whether `current` was measured just now, so that more replicates of it are like those that it has.
fn is_fresh(current: &[Run], args: &GateArgs) -> bool {
    let limit = SignedDuration::from_mins(FRESH_MINUTES);
    let just_now = |run: &Run| run.finished.is_some_and(|then| Timestamp::now().duration_since(then) < limit);
    args.current.is_empty() && current.iter().all(|run| just_now(run) && doubt::unlike_here(run).is_none())
}

/// The verdicts, after suspects were compared with the program that made the baseline, where it is kept, and what is
/// undecided then was measured more often.
fn measure_again(
    judge: &Judge<'_>,
    baseline: &[Run],
    current: Vec<Run>,
    budget: Duration,
) -> Result<ComparisonResult, Trouble> {
    let began = Instant::now();
    let result = judge.judge(baseline, &current);
    let Ok([run]) = <[Run; 1]>::try_from(current) else { return Ok(result) };
    if let Some(why) = doubt::unlike_here(&run) {
        eprintln!("note: nothing is measured again: {why}");
        return Ok(result);
    }
    interrupt::listen();
    let paired = if judge.asks_across() { None } else { beside::compare(judge, (baseline, &run), &result, budget)? };
    let settled: BTreeSet<CaseId> =
        paired.iter().flat_map(|found| &found.comparisons).map(|row| row.id.clone()).collect();
    let run = doubt::resolve(judge, baseline, run, (budget.saturating_sub(began.elapsed()), &settled))?;
    let result = judge.judge(baseline, &[run]);
    Ok(match paired {
        Some(paired) => rsb_stats::with_paired(result, &paired, judge.policy()),
        None => result,
    })
}

/// The runs named, or the latest; `None` when there is none yet.
fn current(judge: &Judge<'_>, named: &[String]) -> Result<Option<Vec<Run>>, Trouble> {
    if !named.is_empty() {
        return judge.sides(named).map(Some);
    }
    Ok(judge.store.latest(None).map_err(Trouble::usage)?.map(|run| vec![run]))
}

/// Nothing to compare with: no verdict, and a document that says so.
fn without_baseline(judge: &Judge<'_>, current: &[Run], args: &GateArgs, why: &str) -> Ended {
    let nothing = judge.judge(&[], current);
    judge.say(&nothing, &format!("NO VERDICT: {why}"))?;
    Ok(if args.baseline_optional { Exit::Pass } else { Exit::NoVerdict })
}

/// The baseline saved for the machine and suite of `current`.
fn saved_for(judge: &Judge<'_>, current: &[Run]) -> Result<Vec<Run>, Trouble> {
    let first = current.first().ok_or_else(|| Trouble::no_verdict(anyhow!("there is no run to judge")))?;
    let fingerprint = Fingerprint::of(&first.environment);
    let baselines = Baselines::new(&judge.folders.baselines);
    if !baselines.path_of(&fingerprint, &first.suite).exists() {
        let others = baselines.list();
        let others = if others.is_empty() {
            String::new()
        } else {
            let names: Vec<String> = others.iter().map(|info| format!("{}/{}", info.slug, info.name)).collect();
            format!("; there are baselines of {}", names.join(", "))
        };
        return Err(Trouble::no_verdict(anyhow!(
            "no baseline `{}` was saved for this machine ({}){others}; save one with `rusty-stack-bench baseline save`",
            first.suite,
            fingerprint.slug(),
        )));
    }
    Ok(baselines.load(&first.suite, Some(&fingerprint)).map_err(Trouble::usage)?.into_runs())
}
