//! Which device for which model: from what was measured, on every machine whose runs are here. Pure.

use rsb_model::record::{ModelAdvice, ModelCandidate, ModelChoice, RecommendDocument};
use rsb_model::{BenchmarkResult, Fingerprint, Outcome, Run};

use super::document::parameter;
use super::{MODELS, SizeClass};

/// What a model is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// One item as soon as possible.
    Latency,
    /// As many items as possible, whatever the batch.
    Throughput,
}

impl Goal {
    /// The name in documents and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Throughput => "throughput",
        }
    }
}

/// The best of each model in `runs`, which are given newest first: of a case that several measured the newest counts.
pub fn recommend(runs: &[Run], goal: Goal, only: Option<&str>) -> RecommendDocument {
    let mut models: Vec<ModelAdvice> = Vec::new();
    for run in runs {
        let machine = Fingerprint::of(&run.environment).slug();
        for result in run.benchmarks.iter().filter(|result| is_pass(result)) {
            let Some(candidate) = candidate(result, &machine, run) else { continue };
            let is_tuned = parameter(result, "performance_hint") == Some("throughput");
            if goal == Goal::Latency && (candidate.batch_size != 1 || is_tuned) {
                continue;
            }
            let Some(advice) = advice_of(&mut models, result) else { continue };
            consider(&mut advice.candidates, candidate);
        }
    }
    models.retain(|advice| only.is_none_or(|name| advice.model_id == name));
    models.iter_mut().for_each(decide);
    rsb_model::order::by(&mut models, |a, b| {
        (&a.architecture_type, a.parameter_count).cmp(&(&b.architecture_type, b.parameter_count))
    });
    RecommendDocument { format_version: rsb_model::format::FORMAT_VERSION, goal: goal.as_str().to_owned(), models }
}

fn is_pass(result: &BenchmarkResult) -> bool {
    // What was simulated is no speed.
    result.category.as_deref() == Some(MODELS)
        && result.outcome == Outcome::Measured
        && parameter(result, "workload") == Some("forward")
}

fn candidate(result: &BenchmarkResult, machine: &str, run: &Run) -> Option<ModelCandidate> {
    let text = |name: &str| parameter(result, name).map(str::to_owned);
    let batch_size: u64 = parameter(result, "batch_size")?.parse().ok()?;
    // Tuned for throughput, an iteration is several passes at the same time.
    let items = batch_size as f64 * result.fields()?.number("num_requests").unwrap_or(1.0);
    let times: Vec<f64> = result.samples.iter().filter_map(|one| one.per_iteration().ok()).flatten().collect();
    let each = |p: f64| Some(rsb_stats::estimate::quantile(&times, p)? / 1e6 / items);
    Some(ModelCandidate {
        machine: machine.to_owned(),
        device: result.benchmark_id.device().to_string(),
        backend: text("runtime")?,
        dtype: text("dtype")?,
        batch_size,
        time_per_item_ms: each(0.5)?,
        time_per_item_interval_ms: [each(0.1)?, each(0.9)?],
        accuracy_error: result.fields()?.number("accuracy_error"),
        run_id: run.run_id.0.clone(),
    })
}

fn advice_of<'m>(models: &'m mut Vec<ModelAdvice>, result: &BenchmarkResult) -> Option<&'m mut ModelAdvice> {
    let (model, fields) = (parameter(result, "model")?, result.fields()?);
    let length: u64 = parameter(result, "sequence_length")?.parse().ok()?;
    let is_same = |advice: &ModelAdvice| advice.model_id == model && advice.sequence_length == length;
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
        });
        models.len() - 1
    });
    models.get_mut(at)
}

/// Takes in `candidate` unless a newer run or a better batch of the same place and precision is there.
fn consider(known: &mut Vec<ModelCandidate>, candidate: ModelCandidate) {
    let place = |one: &ModelCandidate| [&one.machine, &one.device, &one.backend, &one.dtype].map(Clone::clone);
    let Some(same) = known.iter_mut().find(|one| place(one) == place(&candidate)) else {
        known.push(candidate);
        return;
    };
    let is_of_one_run = same.run_id == candidate.run_id;
    if is_of_one_run && candidate.time_per_item_ms < same.time_per_item_ms {
        *same = candidate;
    }
}

/// The fastest wins where nobody's samples reach into its own.
fn decide(advice: &mut ModelAdvice) {
    rsb_model::order::by(&mut advice.candidates, |a, b| a.time_per_item_ms.total_cmp(&b.time_per_item_ms));
    advice.choice = match advice.candidates.as_slice() {
        [] => ModelChoice::Unknown,
        [_] => ModelChoice::OnlyOne,
        [best, others @ ..] => {
            let reaches =
                |other: &ModelCandidate| other.time_per_item_interval_ms[0] <= best.time_per_item_interval_ms[1];
            if others.iter().any(reaches) { ModelChoice::NoClearWinner } else { ModelChoice::Winner }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(backend: &str, time: f64, half: f64, run: &str, batch_size: u64) -> ModelCandidate {
        ModelCandidate {
            machine: "box".to_owned(),
            device: "cpu:0".to_owned(),
            backend: backend.to_owned(),
            dtype: "f32".to_owned(),
            batch_size,
            time_per_item_ms: time,
            time_per_item_interval_ms: [time - half, time + half],
            accuracy_error: None,
            run_id: run.to_owned(),
        }
    }

    fn decided(candidates: Vec<ModelCandidate>) -> ModelAdvice {
        let mut advice = ModelAdvice {
            model_id: "bert-tiny".to_owned(),
            architecture_type: "encoder-only".to_owned(),
            parameter_count: Some(4_416_698),
            size: Some("tiny".to_owned()),
            sequence_length: 128,
            choice: ModelChoice::Unknown,
            candidates: Vec::new(),
        };
        for candidate in candidates {
            consider(&mut advice.candidates, candidate);
        }
        decide(&mut advice);
        advice
    }

    #[test]
    fn the_fastest_wins_only_where_no_other_reaches_it() {
        for (half, choice) in [(0.4, ModelChoice::Winner), (0.5, ModelChoice::NoClearWinner)] {
            let advice = decided(vec![one("pytorch", 3.0, half, "a", 1), one("openvino", 2.0, half, "a", 1)]);
            assert_eq!((advice.choice, advice.candidates[0].backend.as_str()), (choice, "openvino"));
        }
        assert_eq!(decided(vec![one("pytorch", 3.0, 0.1, "a", 1)]).choice, ModelChoice::OnlyOne);
        assert_eq!(decided(Vec::new()).choice, ModelChoice::Unknown);
    }

    #[test]
    fn of_one_place_the_newest_run_counts_and_its_best_batch() {
        let newest_first = vec![
            one("pytorch", 3.0, 0.1, "new", 1),
            one("pytorch", 2.5, 0.1, "new", 8),
            one("pytorch", 1.0, 0.1, "old", 1),
        ];
        let advice = decided(newest_first);
        assert_eq!((advice.candidates.len(), advice.candidates[0].batch_size), (1, 8));
    }
}
