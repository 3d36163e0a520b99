//! The best device, runtime and precision for each model, from the stored runs of all machines.

use anyhow::anyhow;
use rsb_engine::gate;
use rsb_engine::models::{self, Goal};
use rsb_model::Run;
use rsb_model::record::{ModelAdvice, ModelCandidate, ModelChoice};
use rsb_report::number::format_quantity;
use rsb_store::Store;

use super::settings;
use crate::cli::{GoalArg, RecommendArgs};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Runs looked at, newest first.
const MOST_RUNS: usize = 200;

/// The verb `recommend`.
///
/// # Errors
/// When the results cannot be read, or hold no model, or not the one that was asked for.
pub fn run(args: &RecommendArgs) -> CliResult {
    let (_, directories) = settings::load(&args.places)?;
    let store = gate::open(&directories, &mut console::tell)?;
    let runs = of_models(&store)?;
    let goal = match args.goal {
        GoalArg::Latency => Goal::Latency,
        GoalArg::Throughput => Goal::Throughput,
    };
    let document = models::recommend(&runs, goal, args.model.as_deref());
    if document.models.is_empty() {
        let what = args.model.as_deref().unwrap_or("any model");
        return Err(CliError::usage(anyhow!("no stored run measured {what}; `models` measures some")));
    }
    if args.json {
        show::json(&document)?;
    } else {
        show::text(&document.models.iter().map(|advice| lines(advice, goal)).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Exit::Pass)
}

/// The stored runs that measured models, newest first.
///
/// # Errors
/// When the index does not answer.
pub(super) fn of_models(store: &Store) -> Result<Vec<Run>, CliError> {
    let mut summaries = store.runs().map_err(CliError::usage)?;
    summaries.retain(|summary| summary.suite.split('_').any(|name| name == models::MODELS));
    // A run whose file is gone has nothing to say.
    Ok(summaries.into_iter().take(MOST_RUNS).filter_map(|summary| store.run(&summary.run_id.0).ok()).collect())
}

fn lines(advice: &ModelAdvice, goal: Goal) -> String {
    let size = advice.size.as_deref().unwrap_or("of unknown size");
    let head =
        format!("{} ({}, {size}), {} positions", advice.model_id, advice.architecture_type, advice.sequence_length);
    let verdict = match (advice.choice, advice.candidates.first()) {
        (ModelChoice::Winner, Some(best)) => format!("best: {}", place(best)),
        (ModelChoice::NoClearWinner, _) => "no clear winner: samples of the fastest overlap".to_owned(),
        (ModelChoice::OnlyOne, Some(best)) => format!("{}, the only one measured", place(best)),
        (ModelChoice::Winner | ModelChoice::OnlyOne, None) | (ModelChoice::Unknown, _) => "unknown".to_owned(),
    };
    let candidates = advice.candidates.iter().map(|one| format!("\n  {:<24} {}", place(one), figures(one, goal)));
    format!("{head}: {verdict}{}", candidates.collect::<String>())
}

fn place(one: &ModelCandidate) -> String {
    format!("{} {} on {} of {}", one.backend, one.dtype, one.device, one.machine)
}

fn figures(one: &ModelCandidate, goal: Goal) -> String {
    let [low, high] = one.time_per_item_interval_ms;
    match goal {
        Goal::Latency => format!("{} (8 in 10: {low:.3} to {high:.3})", format_quantity(one.time_per_item_ms, "ms")),
        Goal::Throughput => {
            let rate = |time: f64| 1e3 / time;
            let (low, high) = (rate(high), rate(low));
            let best = format_quantity(rate(one.time_per_item_ms), "items/s");
            format!("{best} (8 in 10: {low:.1} to {high:.1}) in batches of {}", one.batch_size)
        }
    }
}
