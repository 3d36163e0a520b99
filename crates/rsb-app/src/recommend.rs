//! Recommends a device, runtime and precision for each model, from the stored runs of all machines.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use rsb_catalog::models::{self, ModelRow};
use rsb_engine::Listener;
use rsb_insight::model_results::{self, Goal, Prices, RecommendRequest};
use rsb_model::field::Field;
use rsb_model::record::{
    ModelAdvice, ModelBasis, ModelCandidate, ModelChoice, ModelEvidence, ModelPlace,
    RecommendDocument,
};
use rsb_model::{Event, Note, Run};
use rsb_report::number::{format_count, format_quantity};
use rsb_report::{Style, recommended};
use rsb_store::Store;
use serde_json::Value;

use crate::{AppError, ProjectContext, models as own_models, sql_error};

/// Maximum number of runs read, newest first.
const MOST_RUNS: usize = 200;
/// Time limit for a query of the index.
const LIMIT: Duration = Duration::from_mins(1);

/// Selects runs with values of models, in suites of any name.
const PASSES: &str = "SELECT DISTINCT run_id FROM measurements WHERE benchmark_id LIKE \
                      'component_specific/models/%'";

/// Selects runs with peak values of a machine.
const ROOFS: &str = "SELECT DISTINCT run_id FROM measurements WHERE benchmark_id LIKE \
                     '%/compute-peak/%' \
                     OR benchmark_id LIKE '%/memory-bandwidth/%'";
/// Maximum number of runs with peak values that are read, newest first.
const MOST_ROOFS: usize = 20;

/// Models to recommend for, and the goal.
#[derive(Debug, Clone, Copy)]
pub struct AdviceRequest<'a> {
    /// The model; `None` for all measured models.
    pub model: Option<&'a str>,
    /// A TOML file of further models.
    pub catalogue: Option<&'a Path>,
    /// What to optimize.
    pub goal: Goal,
    /// A TOML file of prices.
    pub prices: Option<&'a Path>,
}

/// Recommends a device, runtime and precision for each model, from the stored runs.
///
/// # Errors
/// If the results or prices cannot be read, or contain no model, or not the requested one.
pub fn recommend(
    project: &ProjectContext,
    request: AdviceRequest<'_>,
    listener: &mut Listener<'_>,
) -> Result<RecommendDocument, AppError> {
    let AdviceRequest { model, goal, .. } = request;
    let prices = request.prices.map(prices_of).transpose()?;
    if goal == Goal::Cost && prices.is_none() {
        return Err(AppError::usage(anyhow!(
            "--for cost needs --prices FILE, with a [[price]] for each machine"
        )));
    }
    let own = own_models::own_models(request.catalogue)?;
    let store = project.store(listener)?;
    let mut runs = of_models(&store)?;
    let is_some_run = !runs.is_empty();
    // If several runs measured a case, the first one counts, so undisturbed runs come first.
    runs.sort_by_key(is_disturbed);
    runs.extend(of_roofs(&store, &runs)?);
    let query =
        RecommendRequest { goal, model, own: &own, prices: prices.as_ref(), is_predicting: true };
    let document = model_results::recommend(&runs, query);
    if document.models.is_empty() {
        return Err(AppError::usage(match model {
            Some(name) => not_there(name, &own),
            None => no_measurement(store.results_dir(), is_some_run),
        }));
    }
    warn_of_disturbed(&runs, &document, listener);
    Ok(document)
}

/// Formats `document` for people: a table of all models, or all candidates of the requested one.
pub fn text(document: &RecommendDocument, request: AdviceRequest<'_>, style: Style) -> String {
    if request.model.is_some() {
        let lines = document
            .models
            .iter()
            .map(|advice| lines(advice, request.goal, document.currency.as_deref()));
        return style.wrap_long_lines(&lines.collect::<Vec<_>>().join("\n"));
    }
    let mut text = recommended::table(document).text(style);
    let unknown = document.models.iter().filter(|advice| advice.candidates.is_empty()).count();
    let unknown = match unknown {
        0 => String::new(),
        count => format!("{} without any value; ", format_count(count, "model", "models")),
    };
    text.push('\n');
    text.push_str(&style.wrap(&format!("{unknown}`recommend MODEL` shows details of one"), 0));
    text
}

/// Returns the error if no model was named and there is no recommendation.
fn no_measurement(results_dir: &Path, is_some_run: bool) -> anyhow::Error {
    let dir = results_dir.display();
    if is_some_run {
        anyhow!(
            "no run in {dir} measured single passes of a model, which recommendations need; \
             `models` measures some"
        )
    } else {
        anyhow!(
            "no run in {dir} measured any model; `models` measures some, or name the directory \
             with --results-dir"
        )
    }
}

/// Returns the error if there is no recommendation for the named model. A model of the catalogue
/// always has one, even if nothing is known about it.
fn not_there(name: &str, own: &[ModelRow]) -> anyhow::Error {
    let near = models::nearest(name, own)
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    anyhow!(
        "neither the catalogue nor a stored run has a model `{name}`{near} (`models list` lists \
         all)"
    )
}

fn prices_of(file: &Path) -> Result<Prices, AppError> {
    let text = rsb_store::read_text(file)
        .with_context(|| {
            let file = file.display();
            format!("prices of {file}; name a file with a [[price]] for each machine")
        })
        .map_err(AppError::usage)?;
    Prices::parse(&text)
        .with_context(|| format!("prices of {}", file.display()))
        .map_err(AppError::usage)
}

/// Returns stored runs that measured peaks, newest first, except those in `known`.
fn of_roofs(store: &Store, known: &[Run]) -> Result<Vec<Run>, AppError> {
    let answer = store.select(ROOFS, LIMIT).map_err(sql_error)?;
    let mut named: Vec<&str> = answer.rows.iter().flatten().filter_map(Value::as_str).collect();
    named.retain(|id| known.iter().all(|run| run.run_id.0 != *id));
    // Ids begin with the time.
    named.sort_by(|a, b| b.cmp(a));
    Ok(named.into_iter().take(MOST_ROOFS).filter_map(|id| store.run(id).ok()).collect())
}

/// Returns the stored runs that measured models, newest first.
///
/// # Errors
/// If the index cannot be read.
pub fn of_models(store: &Store) -> Result<Vec<Run>, AppError> {
    let mut summaries = store.runs().map_err(AppError::usage)?;
    let answer = store.select(PASSES, LIMIT).map_err(sql_error)?;
    let named: Vec<&str> = answer.rows.iter().flatten().filter_map(Value::as_str).collect();
    // If all cases of a run were skipped, the index contains only the name of the suite.
    summaries.retain(|summary| {
        summary.suite.split('_').any(|name| name == models::MODELS)
            || named.contains(&summary.run_id.0.as_str())
    });
    // A run whose file is gone is skipped.
    Ok(summaries
        .into_iter()
        .take(MOST_RUNS)
        .filter_map(|summary| store.run(&summary.run_id.0).ok())
        .collect())
}

/// Returns whether another run of this program measured at the same time.
fn is_disturbed(run: &Run) -> bool {
    run.notes.contains(&Note::Shared)
}

/// Warns of disturbed runs that the recommendations are based on.
fn warn_of_disturbed(runs: &[Run], document: &RecommendDocument, listener: &mut Listener<'_>) {
    let candidates = document.models.iter().flat_map(|advice| &advice.candidates);
    let used: BTreeSet<&str> =
        candidates.flat_map(|one| &one.rests_on).map(|one| one.run_id.as_str()).collect();
    for run in runs.iter().filter(|run| is_disturbed(run) && used.contains(run.run_id.0.as_str())) {
        let text = format!(
            "the run {}: {}; measure its models again without other runs at the same time",
            run.run_id,
            Note::Shared
        );
        listener(&Event::warning(text));
    }
}

fn head(advice: &ModelAdvice) -> String {
    let size = advice.size.as_deref().unwrap_or("of unknown size");
    format!(
        "{} ({}, {size}), {} positions",
        advice.model_id, advice.architecture_type, advice.sequence_length
    )
}

fn verdict(advice: &ModelAdvice) -> String {
    match (advice.choice, advice.candidates.first()) {
        (ModelChoice::Winner, Some(best)) => format!("best: {}{}", place(&best.place), basis(best)),
        (ModelChoice::NoClearWinner, Some(best)) => {
            format!("no clear winner{}: intervals overlap", basis(best))
        }
        (ModelChoice::OnlyOne, Some(best)) => {
            format!("{}{}, the only candidate", place(&best.place), basis(best))
        }
        (_, None) | (ModelChoice::Unknown, _) => match advice.unknown.first() {
            Some(why) if advice.unknown.iter().all(|one| one.reason == why.reason) => {
                format!("unknown: {}", why.reason)
            }
            Some(_) => "unknown".to_owned(),
            None => "unknown: no stored run has model passes to predict a time from; `models` \
                     measures some"
                .to_owned(),
        },
    }
}

fn lines(advice: &ModelAdvice, goal: Goal, currency: Option<&str>) -> String {
    let mut lines = vec![format!("{}: {}", head(advice), verdict(advice))];
    for one in &advice.candidates {
        lines.push(format!(
            "  {:<24} {}{}",
            place(&one.place),
            figures(one, goal, currency),
            basis(one)
        ));
        if one.basis == ModelBasis::Predicted {
            lines.extend(one.rests_on.iter().map(evidence));
        }
    }
    lines.extend(
        advice
            .unknown
            .iter()
            .map(|one| format!("  {:<24} unknown: {}", place(&one.place), one.reason)),
    );
    lines.join("\n")
}

const fn basis(one: &ModelCandidate) -> &'static str {
    match one.basis {
        ModelBasis::Measured => "",
        ModelBasis::Predicted => ", predicted",
    }
}

/// Formats a stored value that a prediction is based on.
fn evidence(one: &ModelEvidence) -> String {
    let unit = Field::find(&one.field).map_or("", |field| field.unit.symbol());
    let value = format_quantity(one.value, unit);
    format!("      from {} {value} in {}", one.benchmark_id, one.run_id)
}

/// Returns whether the candidate is based on a case that was tuned for throughput.
fn is_tuned(one: &ModelCandidate) -> bool {
    let is_measured = one.basis == ModelBasis::Measured;
    is_measured
        && one.rests_on.iter().any(|one| one.benchmark_id.contains("performance_hint=throughput"))
}

fn place(one: &ModelPlace) -> String {
    let threads =
        one.threads.map(|count| format!(", {}", format_count(count as usize, "thread", "threads")));
    let (backend, dtype, threads) = (&one.backend, &one.dtype, threads.unwrap_or_default());
    format!("{backend} {dtype} on {} of {}{threads}", one.device, one.machine)
}

fn figures(one: &ModelCandidate, goal: Goal, currency: Option<&str>) -> String {
    let [low, high] = one.time_per_item_interval_ms;
    let time = match goal {
        Goal::Latency => {
            let [time, low, high] =
                [one.time_per_item_ms, low, high].map(|time| format_quantity(time, "ms"));
            format!("{time} (8 in 10: {low} to {high})")
        }
        Goal::Throughput | Goal::Cost | Goal::Energy => {
            let [best, low, high] = [one.time_per_item_ms, high, low]
                .map(|time_ms| format_quantity(1e3 / time_ms, "items/s"));
            let tuned = if is_tuned(one) { ", tuned for throughput" } else { "" };
            format!("{best} (8 in 10: {low} to {high}) in batches of {}{tuned}", one.batch_size)
        }
    };
    let cost = one
        .cost_per_million_items
        .zip(currency)
        .map(|(cost, of)| format!(", {cost:.2} {of} per million items"));
    let energy = one.energy_per_item_j.map(|energy| format!(", {energy:.3} J per item"));
    [Some(time), cost, energy].into_iter().flatten().collect()
}
