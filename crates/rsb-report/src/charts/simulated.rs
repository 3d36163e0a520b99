//! Charts of simulated results, which are drawn on request only and labeled as simulated.

use rsb_model::{BenchmarkResult, Outcome, Run};

use crate::chart::{Chart, ChartPlace};
use crate::label::benchmark_of;

/// Returns `run` with its simulated results marked as measured, so that they are drawn; `None` if
/// it has none.
pub(super) fn as_measured(run: &Run) -> Option<Run> {
    if run.benchmarks.iter().all(|result| result.outcome != Outcome::Simulated) {
        return None;
    }
    let mut run = run.clone();
    for result in &mut run.benchmarks {
        if result.outcome == Outcome::Simulated {
            result.outcome = Outcome::Measured;
        }
    }
    Some(run)
}

/// Marks the charts of `run` that contain simulated results. A chart belongs to one benchmark, or to
/// the whole run.
pub(super) fn mark(charts: &mut [Chart], run: &Run) {
    for chart in charts {
        let is_of_chart = |result: &&BenchmarkResult| match &chart.place {
            ChartPlace::Benchmark(name) => benchmark_of(result) == name,
            _ => true,
        };
        let has =
            |outcome| run.benchmarks.iter().filter(is_of_chart).any(|one| one.outcome == outcome);
        let [title, subtitle] = match (has(Outcome::Simulated), has(Outcome::Measured)) {
            (false, _) => continue,
            (true, false) => ["simulated", "SIMULATED, not measured"],
            (true, true) => ["partly simulated", "partly SIMULATED, not measured"],
        };
        let rest = std::mem::take(&mut chart.subtitle);
        let rest = if rest.is_empty() { rest } else { format!("; {rest}") };
        chart.subtitle = format!("{subtitle}{rest}");
        chart.title.push_str(&format!(" ({title})"));
    }
}
