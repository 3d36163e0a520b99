//! Recommending a device for each model, from measurements on all machines with stored runs, and
//! from predictions for places without measurements. Pure.

use std::collections::BTreeSet;

use rsb_model::record::{
    ModelAdvice, ModelBasis, ModelCandidate, ModelChoice, ModelPlace, RecommendDocument,
    UnknownPlace,
};
use rsb_model::{BenchmarkResult, DeviceRef, Fingerprint, Outcome, Reason, Run};

use rsb_catalog::models::{DEFINITION, Family, MODELS, ModelRow, SizeClass, find, representative};

use super::document::parameter;
use super::predict::{Predictor, evidence};
use super::prices::Prices;

rsb_model::named_enum! {
    /// Optimization goal for a model.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Goal {
        /// Shortest time for one item.
        Latency = "latency",
        /// Highest throughput, with any batch size.
        Throughput = "throughput",
        /// Lowest cost per item, with any batch size.
        Cost = "cost",
        /// Lowest energy per item, with any batch size.
        Energy = "energy",
    }
}

impl Goal {
    /// Returns the factor by which the goal weighs a millisecond per item, or the reason it is
    /// unknown.
    fn weight(self, one: &ModelCandidate) -> Result<f64, Reason> {
        let machine = &one.place.machine;
        let (figure, reason) = match self {
            Self::Latency | Self::Throughput => return Ok(1.0),
            Self::Cost => {
                (one.cost_per_million_items, missing_price(one, format!("cost on {machine}")))
            }
            Self::Energy => {
                (one.energy_per_item_j, unread_power(one, format!("energy on {machine}")))
            }
        };
        figure.map(|figure| figure / one.time_per_item_ms).ok_or(reason)
    }
}

fn missing_price(one: &ModelCandidate, what: String) -> Reason {
    let (machine, device) = (&one.place.machine, &one.place.device);
    let why = format!("the file has no [[price]] for {device} of {machine}");
    Reason::new(what, why, format!("add one with machine = \"{machine}\", or a part of that name"))
}

fn unread_power(one: &ModelCandidate, what: String) -> Reason {
    match one.basis {
        ModelBasis::Predicted => {
            Reason::new(what, "power is not predicted", "measure the model there")
        }
        ModelBasis::Measured if one.place.device.starts_with("cpu") => {
            let cure = "on a dedicated machine, let your user read \
                        /sys/class/powercap/intel-rapl:*/energy_uj, and measure again";
            Reason::new(
                what,
                "the run has no power readings of the CPU: RAPL is missing, or only root may read \
                 it",
                cure,
            )
        }
        ModelBasis::Measured => Reason::new(
            what,
            "the run has no power readings of the GPU",
            "check its sensors with `doctor`, and measure again",
        ),
    }
}

/// Options of a recommendation.
#[derive(Debug, Clone, Copy)]
pub struct RecommendRequest<'a> {
    /// Optimization goal.
    pub goal: Goal,
    /// Only this model. `None` means all measured models, and, when predicting, also one of each
    /// family and size.
    pub model: Option<&'a str>,
    /// Models that are not in the catalog.
    pub own: &'a [ModelRow],
    /// Prices of machines.
    pub prices: Option<&'a Prices>,
    /// Whether to predict places without measurements of a model.
    pub is_predicting: bool,
}

impl RecommendRequest<'_> {
    /// Measured latency only, without predictions.
    pub const LATENCY: Self =
        Self { goal: Goal::Latency, model: None, own: &[], prices: None, is_predicting: false };
}

/// Recommends the best place for each model in `runs`, which are given newest first. If several
/// runs measured a case, the newest counts. Places without measurements are predicted if possible.
pub fn recommend(runs: &[Run], request: RecommendRequest<'_>) -> RecommendDocument {
    let predictor = Predictor::of(if request.is_predicting { runs } else { &[] });
    let mut models = measured_advice(runs, request);
    if request.is_predicting {
        let more: Vec<&ModelRow> = match request.model {
            Some(name) => find(name, request.own).into_iter().collect(),
            // Without a single measurement, nothing can be predicted.
            None if models.is_empty() && predictor.places().is_empty() => Vec::new(),
            None => request.own.iter().chain(representatives()).collect(),
        };
        let more: Vec<ModelAdvice> = more
            .into_iter()
            .filter(|row| !models.iter().any(|advice| advice.model_id == row.name))
            .map(|row| advice(row, row.usual_length()))
            .collect();
        models.extend(more);
    }
    for advice in &mut models {
        predict(advice, runs, request.own, &predictor, request.goal);
        decide(advice, request);
    }
    models.sort_by(|a, b| {
        (&a.architecture_type, a.parameter_count).cmp(&(&b.architecture_type, b.parameter_count))
    });
    RecommendDocument {
        format_version: rsb_model::format::FORMAT_VERSION,
        goal: request.goal.as_str().to_owned(),
        currency: request.prices.map(|prices| prices.currency.clone()),
        models,
    }
}

/// Returns a model of each family and size in the catalog.
fn representatives<'a>() -> impl Iterator<Item = &'a ModelRow> {
    let of_family =
        |family| SizeClass::ALL.into_iter().filter_map(move |size| representative(family, size));
    Family::ALL.into_iter().flat_map(of_family)
}

/// Returns the measurements in `runs` of the requested models.
fn measured_advice(runs: &[Run], request: RecommendRequest<'_>) -> Vec<ModelAdvice> {
    let mut models: Vec<ModelAdvice> = Vec::new();
    for run in runs {
        let machine = Fingerprint::of(&run.environment).slug();
        for result in run.benchmarks.iter().filter(|result| is_pass(result)) {
            if request.model.is_some_and(|name| parameter(result, "model") != Some(name)) {
                continue;
            }
            let Some(candidate) = candidate(result, &machine, run) else { continue };
            if request.goal == Goal::Latency && (candidate.batch_size != 1 || is_tuned(result)) {
                continue;
            }
            let Some(advice) = advice_of(&mut models, result) else { continue };
            consider(&mut advice.candidates, candidate);
        }
    }
    for advice in &mut models {
        advice.candidates = best_batches(std::mem::take(&mut advice.candidates));
    }
    models
}

pub(super) fn is_pass(result: &BenchmarkResult) -> bool {
    // Simulated results have no meaningful speed.
    result.category.as_deref() == Some(MODELS)
        && result.outcome == Outcome::Measured
        && parameter(result, "workload") == Some("forward")
}

pub(super) fn is_tuned(result: &BenchmarkResult) -> bool {
    parameter(result, "performance_hint") == Some("throughput")
}

pub(super) fn place(result: &BenchmarkResult, machine: &str) -> Option<ModelPlace> {
    let device = result.benchmark_id.device().to_string();
    let threads = result.fields()?.number("threads").filter(|_| device.starts_with("cpu"));
    Some(ModelPlace {
        machine: machine.to_owned(),
        device,
        backend: parameter(result, "runtime")?.to_owned(),
        dtype: parameter(result, "dtype")?.to_owned(),
        threads: threads.map(|count| count as u64),
    })
}

fn candidate(result: &BenchmarkResult, machine: &str, run: &Run) -> Option<ModelCandidate> {
    let fields = result.fields()?;
    let batch_size: u64 = parameter(result, "batch_size")?.parse().ok()?;
    // When tuned for throughput, an iteration is several concurrent passes.
    let items = batch_size as f64 * fields.number("num_requests").unwrap_or(1.0);
    let times: Vec<f64> =
        result.samples.iter().filter_map(|one| one.per_iteration().ok()).flatten().collect();
    // If a run has no samples, use their stored statistics.
    let kept = result.statistics.as_ref();
    // Use the recorded value, on which predictions are based as well.
    let time_per_item_ms = fields.number("time_ms")? / items;
    let low = quantile_ms(&times, 0.1).or_else(|| Some(kept?.min))? / items;
    let high = quantile_ms(&times, 0.9).or_else(|| Some(kept?.percentiles.p90))? / items;
    // Power of the device that did the work. A GPU's host is not included.
    let is_cpu = result.benchmark_id.device().device().is_some_and(DeviceRef::is_cpu);
    let source = if is_cpu { "cpu_power_w" } else { "gpu_power_w" };
    let power = fields.number(source);
    let mut rests_on = vec![evidence(run, result, "time_ms", time_per_item_ms * items)];
    rests_on.extend(power.map(|watts| evidence(run, result, source, watts)));
    Some(ModelCandidate {
        place: place(result, machine)?,
        basis: ModelBasis::Measured,
        batch_size,
        time_per_item_ms,
        time_per_item_interval_ms: [low.min(time_per_item_ms), high.max(time_per_item_ms)],
        cost_per_million_items: None,
        energy_per_item_j: power.map(|watts| watts * time_per_item_ms / 1e3),
        accuracy_error: fields.number("accuracy_error"),
        run_id: Some(run.run_id.0.clone()),
        rests_on,
    })
}

fn quantile_ms(times_ns: &[f64], p: f64) -> Option<f64> {
    Some(rsb_stats::estimate::quantile(times_ns, p)? / 1e6)
}

fn advice(row: &ModelRow, sequence_length: u64) -> ModelAdvice {
    ModelAdvice {
        model_id: row.name.clone(),
        architecture_type: row.family.to_string(),
        parameter_count: Some(row.parameters).filter(|count| *count > 0),
        size: (row.parameters > 0).then(|| row.size().to_string()),
        sequence_length,
        choice: ModelChoice::Unknown,
        candidates: Vec::new(),
        unknown: Vec::new(),
    }
}

fn advice_of<'m>(
    models: &'m mut Vec<ModelAdvice>,
    result: &BenchmarkResult,
) -> Option<&'m mut ModelAdvice> {
    let (model, fields) = (parameter(result, "model")?, result.fields()?);
    let length: u64 = parameter(result, "sequence_length")?.parse().ok()?;
    let is_same =
        |advice: &ModelAdvice| advice.model_id == model && advice.sequence_length == length;
    let at = models.iter().position(is_same).unwrap_or_else(|| {
        let parameter_count = fields.get("parameter_count").and_then(serde_json::Value::as_u64);
        models.push(ModelAdvice {
            model_id: model.to_owned(),
            architecture_type: fields.text("architecture_type").unwrap_or_default().to_owned(),
            parameter_count,
            size: parameter_count.map(|count| SizeClass::of(count).as_str().to_owned()),
            sequence_length: length,
            choice: ModelChoice::Unknown,
            candidates: Vec::new(),
            unknown: Vec::new(),
        });
        models.len() - 1
    });
    models.get_mut(at)
}

/// Adds `candidate` unless a newer run measured the same batch at the same place.
fn consider(known: &mut Vec<ModelCandidate>, candidate: ModelCandidate) {
    let same = known
        .iter_mut()
        .find(|one| one.place == candidate.place && one.batch_size == candidate.batch_size);
    let Some(same) = same else {
        known.push(candidate);
        return;
    };
    let is_of_one_run = same.run_id == candidate.run_id;
    if is_of_one_run && candidate.time_per_item_ms < same.time_per_item_ms {
        *same = candidate;
    }
}

/// Keeps the best batch of each place.
fn best_batches(all: Vec<ModelCandidate>) -> Vec<ModelCandidate> {
    let mut best: Vec<ModelCandidate> = Vec::new();
    for one in all {
        match best.iter_mut().find(|known| known.place == one.place) {
            Some(known) if one.time_per_item_ms < known.time_per_item_ms => *known = one,
            Some(_) => {}
            None => best.push(one),
        }
    }
    best
}

/// Adds predictions for the places without measurements of the model.
fn predict(
    advice: &mut ModelAdvice,
    runs: &[Run],
    own: &[ModelRow],
    predictor: &Predictor,
    goal: Goal,
) {
    // Prefer user-defined models: the definition recorded in a run lacks the data from which work
    // is counted.
    let recorded = definition(runs, &advice.model_id);
    let Some(row) = find(&advice.model_id, own).or(recorded.as_ref()) else { return };
    let batches = if goal == Goal::Latency { BTreeSet::from([1]) } else { predictor.batches() };
    for place in predictor.places() {
        if advice.candidates.iter().any(|one| one.place == *place) {
            continue;
        }
        let mut found = batches
            .iter()
            .map(|batch| predictor.predict(row, place, *batch, advice.sequence_length));
        // If no batch can be predicted, report the first reason, which is that of the smallest
        // batch.
        let first = found.next().unwrap_or_else(|| {
            Err(Reason::new("batches", "no batch size is known", "measure a model"))
        });
        let best = found.flatten().chain(first.as_ref().ok().cloned());
        match (best.min_by(|a, b| a.time_per_item_ms.total_cmp(&b.time_per_item_ms)), first) {
            (Some(best), _) => advice.candidates.push(best),
            (None, Err(reason)) => {
                advice.unknown.push(UnknownPlace { place: place.clone(), reason });
            }
            (None, Ok(_)) => {}
        }
    }
}

/// Returns the definition of the model that a run recorded.
fn definition(runs: &[Run], model: &str) -> Option<ModelRow> {
    let results = runs.iter().flat_map(|run| &run.benchmarks);
    let mut own =
        results.filter(|result| is_pass(result) && parameter(result, "model") == Some(model));
    serde_json::from_str(parameter(own.next()?, DEFINITION)?).ok()
}

/// Chooses the best candidate; it wins if no other interval overlaps its own. Candidates that the
/// goal cannot weigh are listed as unknown.
fn decide(advice: &mut ModelAdvice, request: RecommendRequest<'_>) {
    for mut one in std::mem::take(&mut advice.candidates) {
        one.cost_per_million_items = request.prices.and_then(|prices| prices.of_million(&one));
        match request.goal.weight(&one) {
            Ok(_) => advice.candidates.push(one),
            Err(reason) => advice.unknown.push(UnknownPlace { place: one.place, reason }),
        }
    }
    let goal = request.goal;
    advice.candidates.sort_by(|a, b| {
        weigh(goal, a, a.time_per_item_ms).total_cmp(&weigh(goal, b, b.time_per_item_ms))
    });
    advice.choice = match advice.candidates.as_slice() {
        [] => ModelChoice::Unknown,
        [_] => ModelChoice::OnlyOne,
        [best, others @ ..] => {
            let [_, high] = best.time_per_item_interval_ms;
            let high = weigh(goal, best, high);
            if others
                .iter()
                .any(|other| weigh(goal, other, other.time_per_item_interval_ms[0]) <= high)
            {
                ModelChoice::NoClearWinner
            } else {
                ModelChoice::Winner
            }
        }
    };
}

/// Returns a time of `one` as weighed by `goal`; infinite if that is unknown.
fn weigh(goal: Goal, one: &ModelCandidate, time_ms: f64) -> f64 {
    time_ms * goal.weight(one).unwrap_or(f64::INFINITY)
}

#[cfg(test)]
#[path = "recommend_tests.rs"]
mod tests;
