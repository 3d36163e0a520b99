//! Filter of cases, shared by several subcommands.

use rsb_report::label::split_id;
use rsb_stats::glob;

/// Selection of cases.
#[derive(Debug, Clone, Default)]
pub struct CaseFilter {
    /// Part of the name of the benchmark.
    pub benchmark: Option<String>,
    /// Part of the id; `*` matches anything.
    pub case: Option<String>,
}

impl CaseFilter {
    /// Returns whether a filter is given.
    pub const fn is_given(&self) -> bool {
        self.benchmark.is_some() || self.case.is_some()
    }

    /// Returns whether the case `id` passes.
    pub fn fits(&self, id: &str) -> bool {
        let is_case = self.case.as_deref().is_none_or(|pattern| contains(id, pattern));
        is_case && self.benchmark.as_deref().is_none_or(|name| is_of_benchmark(id, name))
    }

    /// Returns a pattern contained in every case that passes, to select cases in the index.
    pub fn broadest(&self) -> Option<&str> {
        self.case.as_deref().or(self.benchmark.as_deref())
    }

    /// Describes the filter for a message, such as "cases with `f32`"; `None` if none is given.
    pub fn describe(&self) -> Option<String> {
        let benchmark = self.benchmark.as_ref().map(|name| format!("benchmarks with `{name}`"));
        let case = self.case.as_ref().map(|pattern| format!("cases with `{pattern}`"));
        let all: Vec<String> = benchmark.into_iter().chain(case).collect();
        if all.is_empty() { None } else { Some(all.join(" and ")) }
    }
}

/// Returns whether `id` is of a benchmark whose name contains `name`. A name with a slash or `*` is
/// a pattern of the whole id, and an id without a benchmark is matched as a whole.
fn is_of_benchmark(id: &str, name: &str) -> bool {
    let parsed = id.parse().ok();
    let benchmark = parsed.as_ref().map(|id| split_id(id).0).unwrap_or_default();
    let whole = benchmark.is_empty() || name.contains(['/', '*']);
    contains(if whole { id } else { benchmark }, name)
}

fn contains(text: &str, pattern: &str) -> bool {
    glob::matches(&format!("*{pattern}*"), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benchmark_is_a_name_and_case_a_part_of_the_id() {
        struct Row {
            benchmark: Option<&'static str>,
            case: Option<&'static str>,
            fits: bool,
        }
        for row in [
            Row { benchmark: None, case: None, fits: true },
            Row { benchmark: Some("gemm"), case: None, fits: true },
            Row { benchmark: Some("gem"), case: Some("f32"), fits: true },
            Row { benchmark: Some("gemm"), case: Some("f64"), fits: false },
            Row { benchmark: Some("f32"), case: None, fits: false },
            Row { benchmark: Some("/gemm/cpu:0"), case: None, fits: true },
            Row { benchmark: None, case: Some("gemm*8x8"), fits: true },
        ] {
            let filter = CaseFilter {
                benchmark: row.benchmark.map(Into::into),
                case: row.case.map(Into::into),
            };
            assert_eq!(filter.fits("cpu_performance/gemm/cpu:0/f32/8x8x8"), row.fits, "{filter:?}");
        }
        let foreign = CaseFilter { benchmark: Some("parse".to_owned()), case: None };
        assert!(foreign.fits("parse/small") && !foreign.fits("hash/small"));
    }
}
