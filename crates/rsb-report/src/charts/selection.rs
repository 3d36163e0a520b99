//! The charts of a report, chosen by what its run contains: for each benchmark one chart of its
//! values, or one that interprets them, such as a speedup or the contents of the memory.

use rsb_model::Run;

use super::{comparison, meaning_charts, run_charts, simulated, tell_apart, value_charts};
use crate::chart::{Chart, ChartPlace};
use crate::label::{benchmarks, measured_results};
use crate::report::Report;

/// Maximum number of charts to show per benchmark, and of backends.
const SHOWN: usize = 1;

/// Charts of a report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChartSelection {
    /// Charts to show, the comparison first: at most one per benchmark, and one of backends.
    pub shown: Vec<Chart>,
    /// All other charts.
    pub more: Vec<Chart>,
}

impl ChartSelection {
    /// Selects the charts of `report`. Names are unique among all of them.
    pub fn of(report: &Report<'_>) -> Self {
        let mut selection = Self::default();
        let simulated = report.draws_simulated.then(|| simulated::as_measured(report.run()));
        match simulated.flatten() {
            Some(run) => {
                selection.add(&run);
                simulated::mark(&mut selection.shown, report.run());
                simulated::mark(&mut selection.more, report.run());
            }
            None => selection.add(report.run()),
        }
        super::add_source(&mut selection.shown, report.run());
        super::add_source(&mut selection.more, report.run());
        let mut all: Vec<Chart> = report.comparison.and_then(comparison).into_iter().collect();
        let count = all.len() + selection.shown.len();
        all.extend(selection.into_all());
        tell_apart(&mut all);
        let more = all.split_off(count);
        Self { shown: all, more }
    }

    /// Returns all charts. The charts that a report shows come first.
    pub fn into_all(self) -> Vec<Chart> {
        let mut all = self.shown;
        all.extend(self.more);
        all
    }

    fn add(&mut self, run: &Run) {
        if measured_results(run).next().is_none() {
            return;
        }
        let (mut values, mut meanings) = (value_charts(run), meaning_charts(run));
        for benchmark in benchmarks(run) {
            let place = ChartPlace::Benchmark(benchmark.to_owned());
            self.add_benchmark(take_of(&mut values, &place), take_of(&mut meanings, &place));
        }
        let mut backends = super::backends(run).into_iter();
        self.shown.extend(backends.by_ref().take(SHOWN));
        self.more.extend(backends);
        self.more.extend(run_charts(run));
    }

    /// Adds the charts of one benchmark. Each list starts with the most informative chart.
    fn add_benchmark(&mut self, values: Vec<Chart>, meanings: Vec<Chart>) {
        let mut all = values.into_iter().chain(meanings);
        self.shown.extend(all.by_ref().take(SHOWN));
        self.more.extend(all);
    }
}

/// Removes the charts of `place` from `charts`, and returns them.
fn take_of(charts: &mut Vec<Chart>, place: &ChartPlace) -> Vec<Chart> {
    let (own, others) = std::mem::take(charts).into_iter().partition(|one| one.place == *place);
    *charts = others;
    own
}

#[cfg(test)]
mod tests {
    use rsb_model::{BenchmarkResult, Fields, Outcome};

    use super::*;
    use crate::sample;

    /// Returns a result of `benchmark` with the samples of an arbitrary other result.
    fn case(benchmark: &str, number: u32, fields: Fields) -> BenchmarkResult {
        let mut result = sample::run().benchmarks.remove(0);
        let id = format!("component_specific/{benchmark}/cpu:0/{number}");
        result.benchmark_id = id.parse().unwrap();
        result.category = Some(benchmark.to_owned());
        result.results = vec![fields];
        result
    }

    fn frameworks() -> Run {
        let mut benchmarks = Vec::new();
        for number in 1..=3_u32 {
            let value = f64::from(number);
            benchmarks.extend([
                case("flash-attention", number, Fields::new().with("speedup", value)),
                case(
                    "deepspeed",
                    number,
                    Fields::new().with("memory_used_mb", 10.0).with("memory_saved_gb", value / 1e3),
                ),
                case(
                    "vllm",
                    number,
                    Fields::new().with("request_rate", value).with("tokens_per_second", 5.0),
                ),
            ]);
        }
        Run { benchmarks, ..sample::run() }
    }

    fn names(charts: &[Chart]) -> Vec<&str> {
        charts.iter().map(|chart| chart.name.as_str()).collect()
    }

    #[test]
    fn a_run_of_frameworks_shows_speedup_stack_and_error_bars() {
        let run = frameworks();
        let selection = ChartSelection::of(&Report::new(&run));
        let shown = names(&selection.shown);
        for name in [
            "speedup-flash-attention-speedup",
            "stacked-zero-memory-deepspeed",
            "errors-tokens-per-second-by-request-rate-vllm",
        ] {
            assert!(shown.contains(&name), "{name}: {shown:?}");
        }
    }

    #[test]
    fn one_chart_of_a_benchmark_is_shown_and_none_is_lost_or_named_twice() {
        for run in [sample::run(), frameworks()] {
            let selection = ChartSelection::of(&Report::new(&run));
            for benchmark in benchmarks(&run) {
                let place = ChartPlace::Benchmark(benchmark.to_owned());
                let own = selection.shown.iter().filter(|chart| chart.place == place);
                assert!(own.count() <= SHOWN, "{benchmark}");
            }
            let all = selection.into_all();
            let mut unique = names(&all);
            unique.sort_unstable();
            unique.dedup();
            assert_eq!(unique.len(), all.len());
        }
    }

    #[test]
    fn simulated_results_are_drawn_on_request_only_and_marked() {
        let mut run = frameworks();
        for result in &mut run.benchmarks {
            result.outcome = Outcome::Simulated;
        }
        let report = Report::new(&run);
        assert_eq!(ChartSelection::of(&report), ChartSelection::default());
        let all = ChartSelection::of(&report.with_simulated(true)).into_all();
        assert!(!all.is_empty() && all.iter().all(|one| one.title.ends_with("(simulated)")));
    }
}
