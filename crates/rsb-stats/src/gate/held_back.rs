//! A slower time beside a slower clock: the machine, not the code. The verdict stays; its reason
//! says so first.

use rsb_model::record::Comparison;
use rsb_model::telemetry::{self, GpuTelemetry, Spread};
use rsb_model::{BenchmarkResult, Better};

/// A clock that fell by less is the usual to and fro of a GPU that manages its power.
const LEAST_FALL: f64 = 0.1;

/// What the sensors of a side told of one case.
#[derive(Default)]
struct SensorSummary {
    /// Mean clock of the compute units in MHz.
    clock_mhz: Option<f64>,
    /// Mean clock of the memory in MHz.
    memory_clock_mhz: Option<f64>,
    /// What held the GPU back; none where no process knows.
    held_back: Option<Vec<String>>,
}

impl SensorSummary {
    fn of(results: &[&BenchmarkResult]) -> Self {
        let known: Vec<GpuTelemetry> = results
            .iter()
            .flat_map(|result| telemetry::of_replicates(&result.metadata))
            .flatten()
            .collect();
        let told = known.iter().filter(|one| one.throttled.is_some());
        let mut reasons: Vec<String> =
            told.clone().flat_map(|one| one.throttle_reasons.clone()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        Self {
            clock_mhz: mean_clock(&known, |one| one.sclk_mhz),
            memory_clock_mhz: mean_clock(&known, |one| one.mclk_mhz),
            held_back: (told.count() > 0).then_some(reasons),
        }
    }
}

/// The mean over all processes that report this clock.
fn mean_clock(known: &[GpuTelemetry], clock: fn(&GpuTelemetry) -> Option<Spread>) -> Option<f64> {
    let clocks: Vec<f64> = known.iter().filter_map(clock).map(|clock| clock.mean).collect();
    (!clocks.is_empty()).then(|| clocks.iter().sum::<f64>() / clocks.len() as f64)
}

/// What about the GPU accounts for the regression `row`, where anything does: a clock whose fall is
/// at least half of the slow-down, or something that held the GPU back on this side alone.
pub(super) fn cause(row: &Comparison, [before, after]: [&[&BenchmarkResult]; 2]) -> Option<String> {
    let [before, after] = [before, after].map(SensorSummary::of);
    let mut said = Vec::new();
    let slower = slow_down(row);
    for (name, was, is) in [
        ("the GPU's clock", before.clock_mhz, after.clock_mhz),
        ("the clock of the GPU's memory", before.memory_clock_mhz, after.memory_clock_mhz),
    ] {
        if let (Some(was), Some(is), Some(slower)) = (was, is, slower)
            && is > 0.0
            && 1.0 - is / was >= LEAST_FALL
            && was / is - 1.0 >= slower / 2.0
        {
            said.push(format!("{name} was {is:.0} MHz, {was:.0} MHz in the baseline"));
        }
    }
    if let (Some(was), Some(is)) = (&before.held_back, &after.held_back)
        && was.is_empty()
        && !is.is_empty()
    {
        said.push(format!("the GPU was held back by {}, and not in the baseline", is.join(", ")));
    }
    (!said.is_empty()).then(|| format!("machine, not code: {}", said.join("; ")))
}

/// By which share of the baseline's time the case takes longer.
fn slow_down(row: &Comparison) -> Option<f64> {
    let ratio = row.current_value? / row.baseline_value?;
    Some(if row.better == Better::Lower { ratio } else { ratio.recip() } - 1.0)
}
