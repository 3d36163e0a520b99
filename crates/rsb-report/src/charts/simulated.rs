//! Charts of simulated results, which are drawn on request only and say so.

use rsb_model::{Outcome, Run};

use crate::chart::Chart;

/// Returns `run` with its simulated results as measured ones, to be drawn; `None` if it has none.
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

/// Marks charts that contain simulated results.
pub(super) fn mark(charts: &mut [Chart]) {
    for chart in charts {
        chart.title.push_str(" (simulated)");
        let rest = std::mem::take(&mut chart.subtitle);
        let rest = if rest.is_empty() { rest } else { format!("; {rest}") };
        chart.subtitle = format!("SIMULATED, not measured{rest}");
    }
}
