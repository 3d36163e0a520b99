//! Predicts the time of a pass at places (a device, runtime and precision of a machine) without
//! measurements. The logarithm of the pass's time relative to a roofline is modeled as a Gaussian
//! process over places, runtimes, families and sizes, conditioned on every stored pass. Similar
//! passes have the largest weights, and a pass that is unlike all stored ones gets a wide interval.
//! `python/checks/recommendation/study.py` implements the same in Python. It chose the constants
//! with half of the models and determined the error with the other half (docs/recommendation.md).
//! Pure.

use std::collections::BTreeSet;

use rsb_model::record::{ModelBasis, ModelCandidate, ModelEvidence, ModelPlace};
use rsb_model::{BenchmarkResult, DeviceRef, Dtype, Fingerprint, Outcome, Reason, Run};

use rsb_catalog::models::{
    DEFINITION, Family, Footprint, ModelConfiguration, ModelRow, bytes_of, find, refusal,
};

use super::document::parameter;
use super::recommend::{is_pass, is_tuned, place};

/// Maximum number of passes used, the newest ones; the work grows with the cube of their number.
const MOST_PASSES: usize = 400;
/// Number of activation elements read or written per position and element of a layer's width.
const MOVES: u64 = 16;
/// Quantile of the standard normal distribution for a central interval of 80 %.
const Z_80_PERCENT: f64 = 1.2816;
/// Maximum ratio between the upper end of an interval and its middle for a usable prediction.
const MAX_INTERVAL_RATIO: f64 = 3.0;
const NAMED: usize = 3;

// Chosen by `study.py fit`: seconds per operation in addition to its arithmetic, the length scale
// of the logarithm of a size, and standard deviations of the logarithm of a time.
const CALL_S: f64 = 3.26e-6;
const REACH: f64 = 3.86;
const ANY: f64 = 0.0307;
const RUNTIME: f64 = 0.179;
const PLACE: f64 = 0.0638;
const SIZE: f64 = 0.0357;
const SIZE_RUNTIME: f64 = 0.0297;
const SIZE_PLACE: f64 = 0.151;
const FAMILY: f64 = 0.165;
const FAMILY_RUNTIME: f64 = 0.236;
const MODEL: f64 = 0.0242;
const MODEL_RUNTIME: f64 = 0.164;
const NOISE: f64 = 0.0901;
/// Standard deviation of the logarithm of the gap between passes and measured peaks. Passes at
/// places without measured peaks carry no information about this gap, because the best pass there
/// replaces the peak. The value is so large that a prediction at a place with measured peaks gets
/// too wide an interval if it is based only on such passes.
const ROOF: f64 = 0.85;

/// Highest known rates of a place, per second.
#[derive(Debug, Clone, PartialEq)]
struct Roof {
    flops: f64,
    bytes: f64,
    /// Whether these are measured peaks, or the highest rates that a pass reached.
    is_measured: bool,
    rests_on: Vec<ModelEvidence>,
}

#[derive(Debug, Clone, PartialEq)]
struct Pass {
    place: ModelPlace,
    model: String,
    family: Family,
    batch: u64,
    flops: f64,
    bytes: f64,
    calls: f64,
}

impl Pass {
    /// Returns the pass of `row`; `None` if its work was not counted.
    fn of(row: &ModelRow, place: ModelPlace, batch: u64, length: u64) -> Option<Self> {
        let work = row.work.as_ref()?;
        let (count, long) = (batch as f64, length as f64);
        let [fixed, each, pair] = work.flops;
        let [calls, calls_each] = work.operations;
        let held = row.active_parameters.unwrap_or(row.parameters);
        let moved = MOVES * row.shape.layers * row.shape.hidden + row.shape.vocabulary.unwrap_or(0);
        let size = place.dtype.parse::<Dtype>().map_or(4, bytes_of);
        Some(Self {
            model: row.name.clone(),
            family: row.family,
            batch,
            flops: count * (fixed + each * long + pair * long * long),
            bytes: (size * (held + batch * length * moved)) as f64,
            calls: calls + calls_each * long,
            place,
        })
    }

    /// Returns the time in seconds that `roof` implies, including the start of each operation.
    fn expected_s(&self, roof: &Roof) -> f64 {
        self.flops / roof.flops + self.bytes / roof.bytes + self.calls * CALL_S
    }
}

#[derive(Debug, Clone)]
struct ObservedPass {
    pass: Pass,
    seconds: f64,
    evidence: ModelEvidence,
}

/// A place where models may run.
#[derive(Debug)]
struct CandidatePlace {
    place: ModelPlace,
    roof: Roof,
    memory_bytes: Option<u64>,
}

/// A pass as a point of the Gaussian process, with the logarithm of its size.
struct Point<'a> {
    pass: &'a Pass,
    size: f64,
    is_measured: bool,
}

impl<'a> Point<'a> {
    fn of(pass: &'a Pass, roof: &Roof) -> Self {
        Self {
            pass,
            size: (pass.expected_s(roof) * roof.flops).ln(),
            is_measured: roof.is_measured,
        }
    }

    /// Returns the covariance with `other`, without noise.
    fn with(&self, other: &Self) -> f64 {
        let (a, b) = (self.pass, other.pass);
        let is_runtime = (&a.place.backend, &a.place.dtype) == (&b.place.backend, &b.place.dtype);
        let near = (-0.5 * ((self.size - other.size) / REACH).powi(2)).exp();
        let mut found = shared_variance(ANY, RUNTIME, is_runtime)
            + near * shared_variance(SIZE, SIZE_RUNTIME, is_runtime);
        if self.is_measured && other.is_measured {
            found += ROOF * ROOF;
        }
        if a.place == b.place {
            found += PLACE * PLACE + near * SIZE_PLACE * SIZE_PLACE;
        }
        if a.family == b.family {
            found += near * shared_variance(FAMILY, FAMILY_RUNTIME, is_runtime);
        }
        if a.model == b.model {
            found += shared_variance(MODEL, MODEL_RUNTIME, is_runtime);
        }
        found
    }
}

/// Returns the variance that two passes share: a general part, and that of the runtime if they use
/// the same.
fn shared_variance(plain: f64, of_runtime: f64, is_same_runtime: bool) -> f64 {
    plain * plain + if is_same_runtime { of_runtime * of_runtime } else { 0.0 }
}

/// A predictor built from stored runs.
#[derive(Debug)]
pub(super) struct Predictor {
    known: Vec<CandidatePlace>,
    seen: Vec<ObservedPass>,
    /// For each pass in `seen`, the index of its place in `known`.
    at: Vec<usize>,
    /// Cholesky factor of the covariance of `seen`.
    factor: Vec<Vec<f64>>,
    /// Logarithm of the ratio of each measured time to the expected time.
    rest: Vec<f64>,
    places: Vec<ModelPlace>,
}

impl Predictor {
    /// Builds a predictor from `runs`, given newest first.
    pub(super) fn of(runs: &[Run]) -> Self {
        let seen = passes(runs);
        let known = find_places(runs, &seen);
        // Skip passes at places without a roof.
        let (at, seen): (Vec<usize>, Vec<ObservedPass>) = seen
            .into_iter()
            .filter_map(|one| {
                let index = known.iter().position(|place| place.place == one.pass.place)?;
                Some((index, one))
            })
            .unzip();
        let mut points: Vec<Point<'_>> = Vec::new();
        let mut rest = Vec::new();
        for (one, index) in seen.iter().zip(&at) {
            let Some(place) = known.get(*index) else { continue };
            points.push(Point::of(&one.pass, &place.roof));
            rest.push((one.seconds / one.pass.expected_s(&place.roof)).ln());
        }
        let factor = cholesky(&points);
        let places = known.iter().map(|one| one.place.clone()).collect();
        Self { known, seen, at, factor, rest, places }
    }

    /// Returns the places for which a prediction can be tried.
    pub(super) fn places(&self) -> &[ModelPlace] {
        &self.places
    }

    /// Returns the measured batch sizes, and 1.
    pub(super) fn batches(&self) -> BTreeSet<u64> {
        self.seen.iter().map(|one| one.pass.batch).chain([1]).collect()
    }

    /// Predicts the time of a pass of `row` at `place`.
    ///
    /// # Errors
    /// If the model cannot run there or does not fit, or too little is known.
    pub(super) fn predict(
        &self,
        row: &ModelRow,
        place: &ModelPlace,
        batch: u64,
        length: u64,
    ) -> Result<ModelCandidate, Reason> {
        let known =
            self.known.iter().find(|one| one.place == *place).ok_or_else(|| {
                not_predicted(row, place, "nothing was measured there", CALIBRATE)
            })?;
        possible(row, known, batch, length)?;
        let pass = Pass::of(row, place.clone(), batch, length).ok_or_else(|| {
            not_predicted(
                row,
                place,
                "the number of operations of this model is unknown",
                "measure it there: `models --model`",
            )
        })?;
        let point = Point::of(&pass, &known.roof);
        let across: Vec<f64> = self.points().map(|one| one.with(&point)).collect();
        let weights = solve(&self.factor, &across);
        let mean: f64 = weights.iter().zip(&self.rest).map(|(weight, rest)| weight * rest).sum();
        let explained: f64 =
            weights.iter().zip(&across).map(|(weight, across)| weight * across).sum();
        let spread =
            (Z_80_PERCENT * (point.with(&point) + NOISE * NOISE - explained).max(0.0).sqrt()).exp();
        // NaN counts as too wide, too.
        let is_narrow = spread <= MAX_INTERVAL_RATIO && mean.is_finite();
        if !is_narrow {
            let why = "the measured models are too different from it";
            return Err(not_predicted(row, place, why, CALIBRATE));
        }
        let item_ms = pass.expected_s(&known.roof) * mean.exp() * 1e3 / batch as f64;
        Ok(ModelCandidate {
            place: place.clone(),
            basis: ModelBasis::Predicted,
            batch_size: batch,
            time_per_item_ms: item_ms,
            time_per_item_interval_ms: [item_ms / spread, item_ms * spread],
            cost_per_million_items: None,
            energy_per_item_j: None,
            accuracy_error: None,
            run_id: None,
            rests_on: self.rests_on(known, &weights),
        })
    }

    fn points(&self) -> impl Iterator<Item = Point<'_>> {
        let roofs = self.at.iter().filter_map(|index| self.known.get(*index));
        self.seen.iter().zip(roofs).map(|(one, place)| Point::of(&one.pass, &place.roof))
    }

    /// Returns the passes with the largest weights, and the roof, without duplicates.
    fn rests_on(&self, known: &CandidatePlace, weights: &[f64]) -> Vec<ModelEvidence> {
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by(|a, b| weight_at(weights, *b).total_cmp(&weight_at(weights, *a)));
        let passes = order
            .iter()
            .take(NAMED)
            .filter_map(|index| Some(self.seen.get(*index)?.evidence.clone()));
        let mut found: Vec<ModelEvidence> = Vec::new();
        for one in passes.chain(known.roof.rests_on.iter().cloned()) {
            if !found.contains(&one) {
                found.push(one);
            }
        }
        found
    }
}

/// Returns the absolute weight at `index`, or 0 if there is none.
fn weight_at(weights: &[f64], index: usize) -> f64 {
    weights.get(index).copied().unwrap_or(0.0).abs()
}

/// Creates the reason why the time of a pass of `row` at `place` cannot be predicted.
fn not_predicted(row: &ModelRow, place: &ModelPlace, why: &str, cure: &str) -> Reason {
    let (backend, device, machine) = (&place.backend, &place.device, &place.machine);
    Reason::new(format!("{} by {backend} on {device} of {machine}", row.name), why, cure)
}

const CALIBRATE: &str = "measure small models there with `models`, and the peak of the device with \
                         `compute-peak` and `memory-bandwidth`";

/// Rejects combinations that the rules exclude or that do not fit in memory.
fn possible(row: &ModelRow, known: &CandidatePlace, batch: u64, length: u64) -> Result<(), Reason> {
    let place = &known.place;
    let (Ok(device), Ok(dtype)) = (place.device.parse::<DeviceRef>(), place.dtype.parse::<Dtype>())
    else {
        return Ok(());
    };
    let wanted = ModelConfiguration {
        row,
        workload: "forward",
        runtime: &place.backend,
        dtype,
        length,
        tokens: 0,
        device,
    };
    if let Some(reason) = refusal(&wanted) {
        return Err(reason);
    }
    let needed = Footprint::of(row, dtype, batch, length).total_bytes();
    match known.memory_bytes {
        Some(memory) if needed > memory => Err(Reason::new(
            format!("{} on {} of {}", row.name, place.device, place.machine),
            format!(
                "it needs {:.1} GB of memory, and the device has {:.1} GB",
                needed as f64 / 1e9,
                memory as f64 / 1e9
            ),
            "choose a smaller model, batch or length",
        )),
        _ => Ok(()),
    }
}

/// Returns the measured passes; of repeated ones only the newest.
fn passes(runs: &[Run]) -> Vec<ObservedPass> {
    let mut found: Vec<ObservedPass> = Vec::new();
    for run in runs {
        let machine = Fingerprint::of(&run.environment).slug();
        for result in run.benchmarks.iter().filter(|result| is_pass(result) && !is_tuned(result)) {
            let Some(one) = observed_pass(run, result, &machine) else { continue };
            if found.len() < MOST_PASSES && found.iter().all(|other| other.pass != one.pass) {
                found.push(one);
            }
        }
    }
    found
}

fn observed_pass(run: &Run, result: &BenchmarkResult, machine: &str) -> Option<ObservedPass> {
    let name = parameter(result, "model")?;
    let row = find(name, &[])
        .cloned()
        .or_else(|| serde_json::from_str(parameter(result, DEFINITION)?).ok())?;
    let place = place(result, machine)?;
    let batch: u64 = parameter(result, "batch_size")?.parse().ok()?;
    let length: u64 = parameter(result, "sequence_length")?.parse().ok()?;
    let pass = Pass::of(&row, place, batch, length)?;
    let time_ms = result.fields()?.number("time_ms").filter(|time| *time > 0.0)?;
    Some(ObservedPass {
        pass,
        seconds: time_ms / 1e3,
        evidence: evidence(run, result, "time_ms", time_ms),
    })
}

pub(super) fn evidence(
    run: &Run,
    result: &BenchmarkResult,
    field: &str,
    value: f64,
) -> ModelEvidence {
    let (run_id, benchmark_id) = (run.run_id.0.clone(), result.benchmark_id.to_string());
    ModelEvidence { run_id, benchmark_id, field: field.to_owned(), value }
}

/// Returns the places where passes were measured, and places for which only a roof is known,
/// combined with the runtimes that were measured elsewhere.
fn find_places(runs: &[Run], seen: &[ObservedPass]) -> Vec<CandidatePlace> {
    let mut found: Vec<CandidatePlace> = Vec::new();
    for run in runs {
        let machine = Fingerprint::of(&run.environment).slug();
        for result in &run.benchmarks {
            for place in places_of(result, &machine, seen) {
                if found.iter().any(|known| known.place == place) {
                    continue;
                }
                let Some(roof) = roof(runs, seen, &place) else { continue };
                let here = &result.environment;
                let gigabytes = if place.device.starts_with("cpu") {
                    here.system_memory_gb
                } else {
                    here.gpu_memory_gb
                };
                found.push(CandidatePlace {
                    place,
                    roof,
                    memory_bytes: gigabytes.map(|size| (size * 1e9) as u64),
                });
            }
        }
    }
    found
}

fn places_of(result: &BenchmarkResult, machine: &str, seen: &[ObservedPass]) -> Vec<ModelPlace> {
    if is_pass(result) {
        return place(result, machine).into_iter().collect();
    }
    let Some(threads) = is_of(result, "compute-peak").then(|| threads(result)) else {
        return Vec::new();
    };
    let device = result.benchmark_id.device().to_string();
    let kind = device.split(':').next();
    let mut places = Vec::new();
    for one in seen {
        if one.pass.place.device.split(':').next() == kind {
            places.push(ModelPlace {
                machine: machine.to_owned(),
                device: device.clone(),
                threads: threads.filter(|_| device.starts_with("cpu")),
                ..one.pass.place.clone()
            });
        }
    }
    places
}

fn is_of(result: &BenchmarkResult, benchmark: &str) -> bool {
    result.outcome == Outcome::Measured && result.category.as_deref() == Some(benchmark)
}

fn threads(result: &BenchmarkResult) -> Option<u64> {
    parameter(result, "threads")?.parse().ok()
}

/// Returns the roof of `place`: the measured peak of its data type, or of f32 if that type has
/// none. Without measurements, the highest rates that a pass reached there are used.
fn roof(runs: &[Run], seen: &[ObservedPass], place: &ModelPlace) -> Option<Roof> {
    let peak = highest_peak(runs, place, &place.dtype)
        .or_else(|| highest_peak(runs, place, Dtype::F32.as_str()));
    let bandwidth = highest_value(runs, place, "memory-bandwidth", "bandwidth_gb_s", None);
    if let (Some(peak), Some(bandwidth)) = (peak, bandwidth) {
        let (flops, bytes) = (peak.value * 1e9, bandwidth.value * 1e9);
        return Some(Roof { flops, bytes, is_measured: true, rests_on: vec![peak, bandwidth] });
    }
    let (flops, by_flops) = best_pass(seen, place, |pass| pass.flops)?;
    let (bytes, by_bytes) = best_pass(seen, place, |pass| pass.bytes)?;
    let rests_on = vec![by_flops.evidence.clone(), by_bytes.evidence.clone()];
    (flops > 0.0).then_some(Roof { flops, bytes, is_measured: false, rests_on })
}

fn highest_peak(runs: &[Run], place: &ModelPlace, dtype: &str) -> Option<ModelEvidence> {
    highest_value(runs, place, "compute-peak", "gflops", Some(dtype))
}

/// Returns the highest value of `field` that `benchmark` measured at `place`, for one data type or
/// any.
fn highest_value(
    runs: &[Run],
    place: &ModelPlace,
    benchmark: &str,
    field: &str,
    dtype: Option<&str>,
) -> Option<ModelEvidence> {
    let there = runs.iter().filter(|run| Fingerprint::of(&run.environment).slug() == place.machine);
    let results = there.flat_map(|run| run.benchmarks.iter().map(move |result| (run, result)));
    let own = results.filter(|(run, result)| {
        is_of(result, benchmark)
            && result.benchmark_id.device().to_string() == place.device
            && (place.threads.is_none() || threads(result) == place.threads)
            && dtype.is_none_or(|dtype| parameter(result, "dtype").is_none_or(|own| own == dtype))
            && is_outside_of_caches(run, result)
    });
    let values = own.filter_map(|(run, result)| {
        Some(evidence(run, result, field, result.fields()?.number(field)?))
    });
    values.max_by(|a, b| a.value.total_cmp(&b.value))
}

/// Returns the pass at `place` with the highest amount per second.
fn best_pass<'s>(
    seen: &'s [ObservedPass],
    place: &ModelPlace,
    amount: fn(&Pass) -> f64,
) -> Option<(f64, &'s ObservedPass)> {
    let own = seen.iter().filter(|one| one.pass.place == *place);
    own.map(|one| (amount(&one.pass) / one.seconds, one)).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Returns whether the moved data is larger than caches: on a CPU at least twice its own caches,
/// which reach half a gigabyte.
fn is_outside_of_caches(run: &Run, result: &BenchmarkResult) -> bool {
    const LARGE: f64 = 64e6;
    let is_cpu = result.benchmark_id.device().device().is_some_and(DeviceRef::is_cpu);
    let caches = run.environment.cpu.iter().flat_map(|cpu| &cpu.caches).filter(|_| is_cpu);
    let least = caches.map(|cache| 2.0 * cache.size_bytes as f64).fold(LARGE, f64::max);
    result.fields().and_then(|fields| fields.number("size_bytes")).is_none_or(|size| size >= least)
}

/// Returns the Cholesky factor of the covariance of `points`, including their noise.
fn cholesky(points: &[Point<'_>]) -> Vec<Vec<f64>> {
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(points.len());
    for (index, point) in points.iter().enumerate() {
        let mut row: Vec<f64> = Vec::with_capacity(index + 1);
        for (other, done) in points.iter().zip(&rows) {
            let sum: f64 = row.iter().zip(done).map(|(a, b)| a * b).sum();
            row.push((point.with(other) - sum) / done.last().copied().unwrap_or(1.0));
        }
        let left = point.with(point) + NOISE * NOISE - row.iter().map(|a| a * a).sum::<f64>();
        row.push(left.max(NOISE * NOISE / 2.0).sqrt());
        rows.push(row);
    }
    rows
}

/// Returns the weights w with K w = `across`, given the Cholesky factor `rows` of K.
fn solve(rows: &[Vec<f64>], across: &[f64]) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::with_capacity(rows.len());
    for (row, value) in rows.iter().zip(across) {
        let sum: f64 = row.iter().zip(&found).map(|(a, b)| a * b).sum();
        found.push((value - sum) / row.last().copied().unwrap_or(1.0));
    }
    for index in (0..rows.len()).rev() {
        let (Some(row), Some(value)) = (rows.get(index), found.get(index).copied()) else {
            continue;
        };
        let value = value / row.last().copied().unwrap_or(1.0);
        // Back substitution into the rows above.
        for (above, factor) in found.iter_mut().zip(row).take(index) {
            *above -= factor * value;
        }
        if let Some(own) = found.get_mut(index) {
            *own = value;
        }
    }
    found
}

#[cfg(test)]
#[path = "predict_tests.rs"]
mod tests;
