//! Slowdowns explained by a slower GPU clock, and therefore by the machine instead of the code. The
//! verdict stays Regressed; its reason starts with the explanation.

use rsb_model::record::Comparison;
use rsb_model::telemetry::{self, GpuTelemetry, Spread};
use rsb_model::{BenchmarkResult, Better};

/// Smallest relative drop of a clock that counts; smaller drops are usual for a GPU that manages
/// its power.
const LEAST_FALL: f64 = 0.1;

/// Sensor readings of one side for one case.
#[derive(Default)]
struct SensorSummary {
    /// Mean clock of the compute units in MHz.
    clock_mhz: Option<f64>,
    /// Mean clock of the memory in MHz.
    memory_clock_mhz: Option<f64>,
    /// Throttle reasons of the GPU; `None` if no process reports them.
    held_back: Option<Vec<String>>,
}

impl SensorSummary {
    fn of(results: &[&BenchmarkResult]) -> Self {
        let known: Vec<GpuTelemetry> = results
            .iter()
            .flat_map(|result| telemetry::of_replicates(&result.metadata))
            .flatten()
            .collect();
        let reporting = known.iter().filter(|one| one.throttled.is_some());
        let mut reasons: Vec<String> =
            reporting.clone().flat_map(|one| one.throttle_reasons.clone()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        Self {
            clock_mhz: mean_clock(&known, |one| one.sclk_mhz),
            memory_clock_mhz: mean_clock(&known, |one| one.mclk_mhz),
            held_back: (reporting.count() > 0).then_some(reasons),
        }
    }
}

/// Returns the mean over all processes that report this clock.
fn mean_clock(known: &[GpuTelemetry], clock: fn(&GpuTelemetry) -> Option<Spread>) -> Option<f64> {
    let clocks: Vec<f64> = known.iter().filter_map(clock).map(|clock| clock.mean).collect();
    (!clocks.is_empty()).then(|| clocks.iter().sum::<f64>() / clocks.len() as f64)
}

/// Returns the state of the GPU that explains the regression `row`, if any: a clock whose relative
/// drop is at least half of the slowdown, or throttling on the current side only.
pub(super) fn cause(row: &Comparison, [before, after]: [&[&BenchmarkResult]; 2]) -> Option<String> {
    let [before, after] = [before, after].map(SensorSummary::of);
    let mut causes = Vec::new();
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
            causes.push(format!("{name} was {is:.0} MHz, {was:.0} MHz in the baseline"));
        }
    }
    if let (Some(was), Some(is)) = (&before.held_back, &after.held_back)
        && was.is_empty()
        && !is.is_empty()
    {
        causes.push(format!("the GPU was held back by {}, and not in the baseline", is.join(", ")));
    }
    (!causes.is_empty()).then(|| format!("machine, not code: {}", causes.join("; ")))
}

/// Returns the slowdown as a share of the baseline's time.
fn slow_down(row: &Comparison) -> Option<f64> {
    let ratio = row.current_value? / row.baseline_value?;
    Some(if row.better == Better::Lower { ratio } else { ratio.recip() } - 1.0)
}
