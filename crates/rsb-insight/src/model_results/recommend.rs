//! Which device for which model: from what was measured, on every machine whose runs are here, and
//! predicted where nobody measured. Pure.

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

/// What a model is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// One item as soon as possible.
    Latency,
    /// As many items as possible, whatever the batch.
    Throughput,
    /// As little money for an item as possible, whatever the batch.
    Cost,
    /// As little energy for an item as possible, whatever the batch.
    Energy,
}

impl Goal {
    /// The name in documents and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Throughput => "throughput",
            Self::Cost => "cost",
            Self::Energy => "energy",
        }
    }

    /// What the goal makes of a millisecond for an item; the reason where that is not known.
    fn weight(self, one: &ModelCandidate) -> Result<f64, Reason> {
        let machine = &one.place.machine;
        let (figure, reason) = match self {
            Self::Latency | Self::Throughput => return Ok(1.0),
            Self::Cost => {
                (one.cost_per_million_items, missing_price(one, format!("costs on {machine}")))
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
    let why = format!("no [[price]] of the file is for {device} of {machine}");
    Reason::new(what, why, format!("add one with machine = \"{machine}\", or a part of that name"))
}

fn unread_power(one: &ModelCandidate, what: String) -> Reason {
    match one.basis {
        ModelBasis::Predicted => {
            Reason::new(what, "no power is predicted", "measure the model there")
        }
        ModelBasis::Measured if one.place.device.starts_with("cpu") => {
            let cure = "on a machine of its own, let your user read \
                        /sys/class/powercap/intel-rapl:*/energy_uj, and measure again";
            Reason::new(
                what,
                "the run read no power of the CPU: there was no RAPL, or only root may read it",
                cure,
            )
        }
        ModelBasis::Measured => Reason::new(
            what,
            "the run read no power of the GPU",
            "look at `doctor` for its sensors, and measure again",
        ),
    }
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct RecommendRequest<'a> {
    /// What the models are wanted for.
    pub goal: Goal,
    /// The only model that is asked for; nothing for all that were measured, and where places are
    /// predicted for one of each family and size, too.
    pub model: Option<&'a str>,
    /// Models that are not in the catalogue.
    pub own: &'a [ModelRow],
    /// What machines cost.
    pub prices: Option<&'a Prices>,
    /// Whether places where a model was not measured are told of, too.
    pub is_predicting: bool,
}

impl RecommendRequest<'_> {
    /// What was measured, for who wants an answer soon.
    pub const LATENCY: Self =
        Self { goal: Goal::Latency, model: None, own: &[], prices: None, is_predicting: false };
}

/// The best of each model in `runs`, which are given newest first: of a case that several measured
/// the newest counts. A place where a model was not measured is predicted where that can be.
pub fn recommend(runs: &[Run], asked: RecommendRequest<'_>) -> RecommendDocument {
    let predictor = Predictor::of(if asked.is_predicting { runs } else { &[] });
    let mut models = measured_advice(runs, asked);
    if asked.is_predicting {
        let more: Vec<&ModelRow> = match asked.model {
            Some(name) => find(name, asked.own).into_iter().collect(),
            // Nobody can say anything without a single measurement.
            None if models.is_empty() && predictor.places().is_empty() => Vec::new(),
            None => asked.own.iter().chain(representatives()).collect(),
        };
        let more: Vec<ModelAdvice> = more
            .into_iter()
            .filter(|row| !models.iter().any(|advice| advice.model_id == row.name))
            .map(|row| advice(row, row.usual_length()))
            .collect();
        models.extend(more);
    }
    for advice in &mut models {
        predict(advice, runs, asked.own, &predictor, asked.goal);
        decide(advice, asked);
    }
    models.sort_by(|a, b| {
        (&a.architecture_type, a.parameter_count).cmp(&(&b.architecture_type, b.parameter_count))
    });
    RecommendDocument {
        format_version: rsb_model::format::FORMAT_VERSION,
        goal: asked.goal.as_str().to_owned(),
        currency: asked.prices.map(|prices| prices.currency.clone()),
        models,
    }
}

/// A model of each family and size that the catalogue has.
fn representatives<'a>() -> impl Iterator<Item = &'a ModelRow> {
    let of_family =
        |family| SizeClass::ALL.into_iter().filter_map(move |size| representative(family, size));
    Family::ALL.into_iter().flat_map(of_family)
}

/// What `runs` measured of the models asked for.
fn measured_advice(runs: &[Run], asked: RecommendRequest<'_>) -> Vec<ModelAdvice> {
    let mut models: Vec<ModelAdvice> = Vec::new();
    for run in runs {
        let machine = Fingerprint::of(&run.environment).slug();
        for result in run.benchmarks.iter().filter(|result| is_pass(result)) {
            if asked.model.is_some_and(|name| parameter(result, "model") != Some(name)) {
                continue;
            }
            let Some(candidate) = candidate(result, &machine, run) else { continue };
            if asked.goal == Goal::Latency && (candidate.batch_size != 1 || is_tuned(result)) {
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
    // What was simulated is no speed.
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
    // Tuned for throughput, an iteration is several passes at the same time.
    let items = batch_size as f64 * fields.number("num_requests").unwrap_or(1.0);
    let times: Vec<f64> =
        result.samples.iter().filter_map(|one| one.per_iteration().ok()).flatten().collect();
    // A run without its samples still has what was made of them.
    let kept = result.statistics.as_ref();
    // The figure of the run, on which predictions rest, too.
    let time_per_item_ms = fields.number("time_ms")? / items;
    let low = quantile_ms(&times, 0.1).or_else(|| Some(kept?.min))? / items;
    let high = quantile_ms(&times, 0.9).or_else(|| Some(kept?.percentiles.p90))? / items;
    // The power of what did the work: what a GPU's host draws beside it is not told.
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

/// Takes in `candidate` unless a newer run measured the same batch at the same place.
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

/// The best batch of each place.
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

/// What follows for the places where the model was not measured.
fn predict(
    advice: &mut ModelAdvice,
    runs: &[Run],
    own: &[ModelRow],
    predictor: &Predictor,
    goal: Goal,
) {
    // What a run was told lacks what its work is counted from.
    let told = definition(runs, &advice.model_id);
    let Some(row) = find(&advice.model_id, own).or(told.as_ref()) else { return };
    let batches = if goal == Goal::Latency { BTreeSet::from([1]) } else { predictor.batches() };
    for place in predictor.places() {
        if advice.candidates.iter().any(|one| one.place == *place) {
            continue;
        }
        let mut found = batches
            .iter()
            .map(|batch| predictor.predict(row, place, *batch, advice.sequence_length));
        // The first refusal counts where no batch can be predicted; the smallest batch comes first.
        let first = found
            .next()
            .unwrap_or_else(|| Err(Reason::new("batches", "there are none", "measure a model")));
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

/// What a run was told that the model is made of.
fn definition(runs: &[Run], model: &str) -> Option<ModelRow> {
    let results = runs.iter().flat_map(|run| &run.benchmarks);
    let mut own =
        results.filter(|result| is_pass(result) && parameter(result, "model") == Some(model));
    serde_json::from_str(parameter(own.next()?, DEFINITION)?).ok()
}

/// The best wins where nobody's interval reaches into its own. What the goal cannot be told of is
/// unknown.
fn decide(advice: &mut ModelAdvice, asked: RecommendRequest<'_>) {
    for mut one in std::mem::take(&mut advice.candidates) {
        one.cost_per_million_items = asked.prices.and_then(|prices| prices.of_million(&one));
        match asked.goal.weight(&one) {
            Ok(_) => advice.candidates.push(one),
            Err(reason) => advice.unknown.push(UnknownPlace { place: one.place, reason }),
        }
    }
    let goal = asked.goal;
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

/// A time of `one` as `goal` weighs it; infinite if that is unknown.
fn weigh(goal: Goal, one: &ModelCandidate, time_ms: f64) -> f64 {
    time_ms * goal.weight(one).unwrap_or(f64::INFINITY)
}

#[cfg(test)]
#[path = "recommend_tests.rs"]
mod tests;
