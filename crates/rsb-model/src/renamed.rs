//! Names that users hold and that have changed: axes, the ids and patterns made of them, environment variables. What was
//! written under an old name is read under the new one, for one version more. This table is the only place that knows.

use std::borrow::Cow;

use crate::case::{Case, Params};

/// An axis that had another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenamedAxis {
    /// The benchmark that has it.
    pub benchmark: &'static str,
    /// Its name until version 0.1.
    pub old: &'static str,
    /// Its name.
    pub new: &'static str,
    /// Whether another benchmark has an axis with the old name, which is then read under the new one only where it is known
    /// whose it is.
    pub is_shared: bool,
}

/// Every axis that had another name.
pub const AXES: [RenamedAxis; 3] = [
    RenamedAxis { benchmark: "launch-latency", old: "way", new: "launch_mode", is_shared: false },
    RenamedAxis { benchmark: "smi-metrics", old: "card", new: "gpu", is_shared: false },
    RenamedAxis { benchmark: "all-reduce", old: "provider", new: "communication_backend", is_shared: true },
];

/// Those whose old name says whose they are.
fn unmistakable() -> impl Iterator<Item = &'static RenamedAxis> {
    AXES.iter().filter(|axis| !axis.is_shared)
}

/// Environment variables that had another name: the old one, then the new one.
pub const VARIABLES: [(&str, &str); 1] = [("RSB_CUDA_FOLDERS", "RSB_CUDA_PATH")];

/// The name that the axis `name` has now, where it had another one.
pub fn axis(name: &str) -> Option<&'static str> {
    unmistakable().find(|axis| axis.old == name).map(|axis| axis.new)
}

/// `axes` under the names that they have now.
pub fn axes<V>(axes: Vec<(String, V)>) -> Vec<(String, V)> {
    axes.into_iter().map(|(name, values)| (axis(&name).map_or(name, str::to_owned), values)).collect()
}

/// What to tell somebody who wrote an old name; `None` where every name of `axes` is of today.
pub fn note<'a>(axes: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let told = |name: &str| Some(format!("the axis `{name}` is called `{}` now; write that", axis(name)?));
    let notes: Vec<String> = axes.into_iter().filter_map(told).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// The id of a case with the axes' names of today: `…/smi-metrics/cpu:0/idle/card=…` has `gpu=…`. Ids of other
/// benchmarks, and of other projects, are left alone.
pub fn case_id(id: &str) -> Cow<'_, str> {
    let of_this_id = |axis: &&RenamedAxis| id.split('/').nth(1) == Some(axis.benchmark);
    match AXES.iter().find(of_this_id) {
        Some(axis) => renamed(id, axis.old, axis.new),
        None => Cow::Borrowed(id),
    }
}

/// A pattern on ids with the axes' names of today, whatever benchmark it is meant for; a name that benchmarks share only
/// where the pattern says whose it is. Somebody else's benchmark may have an axis with an old name, so what the pattern
/// itself matches counts too.
pub fn pattern(pattern: &str) -> Cow<'_, str> {
    let meant = AXES.iter().filter(|axis| !axis.is_shared || pattern.contains(axis.benchmark));
    meant.fold(Cow::Borrowed(pattern), |text, axis| match renamed(&text, axis.old, axis.new) {
        Cow::Borrowed(_) => text,
        Cow::Owned(new) => Cow::Owned(new),
    })
}

/// The benchmark and the pattern that fit the same cases where an index still has them under the old name; `None` where
/// `pattern` has no such name.
pub fn old_pattern(pattern: &str) -> Option<(&'static str, String)> {
    AXES.iter().find_map(|axis| match renamed(pattern, axis.new, axis.old) {
        Cow::Borrowed(_) => None,
        Cow::Owned(old) => Some((axis.benchmark, old)),
    })
}

/// `parameters` of `benchmark` under the names that they have now.
#[must_use]
pub fn params(parameters: &Params, benchmark: &str) -> Params {
    let of_this = |name: &str| AXES.iter().find(|axis| axis.old == name && axis.benchmark == benchmark);
    let now = |name: &str| of_this(name).map(|axis| axis.new).or_else(|| axis(name));
    parameters.iter().fold(Params::new(), |params, (name, value)| params.with(now(name).unwrap_or(name), value))
}

/// `case` as the worker of another version understands it too: a renamed axis is given under both names.
#[must_use]
pub fn under_both_names(case: &Case) -> Case {
    let mut both = case.clone();
    both.params = params(&both.params, &both.benchmark);
    for axis in &AXES {
        if let Some(value) = both.params.text(axis.new).filter(|_| both.benchmark == axis.benchmark).map(str::to_owned)
        {
            both.params.set(axis.old, value);
        }
    }
    both
}

/// `text` with the axis `from` called `to`, where it stands at the beginning of a segment or after a wildcard.
fn renamed<'t>(text: &'t str, from: &str, to: &str) -> Cow<'t, str> {
    let old = format!("{from}=");
    let begins = |at: usize| matches!(text.as_bytes().get(at.wrapping_sub(1)), None | Some(b'/' | b'*' | b'?'));
    let places: Vec<usize> = text.match_indices(&old).map(|(at, _)| at).filter(|&at| begins(at)).collect();
    if places.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut new = String::with_capacity(text.len() + places.len() * to.len());
    let mut rest = 0;
    for at in places {
        new.extend([text.get(rest..at).unwrap_or_default(), to, "="]);
        rest = at + old.len();
    }
    new.push_str(text.get(rest..).unwrap_or_default());
    Cow::Owned(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BenchmarkType, CaseId};

    const OLD: &str = "gpu_performance/smi-metrics/cpu:0/idle/card=0000:83:00.0";
    const NEW: &str = "gpu_performance/smi-metrics/cpu:0/idle/gpu=0000:83:00.0";

    #[test]
    fn ids_of_the_old_axes_become_those_of_the_new_ones() {
        for (old, new) in [
            (OLD, NEW),
            (NEW, NEW),
            ("gpu_performance/smi-metrics/rocm:0/idle", "gpu_performance/smi-metrics/rocm:0/idle"),
            ("gpu_performance/smi-metrics/rocm:0/discard=1", "gpu_performance/smi-metrics/rocm:0/discard=1"),
            ("shop/payments/card=visa", "shop/payments/card=visa"),
            (
                "gpu_performance/all-reduce/rocm:0/f32/64MiB/provider=rccl",
                "gpu_performance/all-reduce/rocm:0/f32/64MiB/communication_backend=rccl",
            ),
            (
                "gpu_performance/gemm/rocm:0/f32/64x64x64/provider=rocblas",
                "gpu_performance/gemm/rocm:0/f32/64x64x64/provider=rocblas",
            ),
            ("gpu_performance/launch-latency/rocm:0/single", "gpu_performance/launch-latency/rocm:0/single"),
        ] {
            assert_eq!(case_id(old), new);
            let (parsed, read): (CaseId, CaseId) =
                (old.parse().unwrap(), serde_json::from_value(serde_json::json!(old)).unwrap());
            assert_eq!((parsed.as_str(), read.as_str()), (new, new));
        }
    }

    #[test]
    fn patterns_are_understood_at_the_beginning_of_a_segment_and_after_a_wildcard() {
        for (old, new) in [
            ("*/smi-metrics/*/card=0000:83*", "*/smi-metrics/*/gpu=0000:83*"),
            ("*card=*", "*gpu=*"),
            ("*discard=*", "*discard=*"),
            ("*/gemm/*", "*/gemm/*"),
            ("*/all-reduce/*provider=rccl", "*/all-reduce/*communication_backend=rccl"),
            ("*provider=rccl", "*provider=rccl"),
        ] {
            assert_eq!(pattern(old), new);
        }
        assert_eq!(old_pattern("*gpu=0000*"), Some(("smi-metrics", "*card=0000*".to_owned())));
        assert_eq!(old_pattern("*/gemm/*"), None);
    }

    #[test]
    fn a_worker_of_another_version_finds_its_own_name() {
        let case = |name: &str, value: &str| Case {
            id: "gpu_performance/launch-latency/rocm:0/graph".parse().unwrap(),
            benchmark: "launch-latency".to_owned(),
            benchmark_type: BenchmarkType::GpuPerformance,
            device: "rocm:0".parse().unwrap(),
            params: Params::new().with(name, value),
        };
        for name in ["way", "launch_mode"] {
            let both = under_both_names(&case(name, "graph"));
            assert_eq!((both.params.text("way"), both.params.text("launch_mode")), (Some("graph"), Some("graph")));
            assert_eq!(params(&both.params, "launch-latency"), Params::new().with("launch_mode", "graph"));
        }
        for name in ["kernels", "provider"] {
            let other = case(name, "100");
            assert_eq!(under_both_names(&other), other);
        }
        let old = Params::new().with("provider", "rccl");
        assert_eq!(params(&old, "all-reduce"), Params::new().with("communication_backend", "rccl"));
    }

    #[test]
    fn an_old_name_is_told_once_and_a_new_one_not_at_all() {
        let note = note(["dtype", "way"]).unwrap();
        assert!(note.contains("`way`") && note.contains("`launch_mode`"), "{note}");
        assert_eq!(super::note(["dtype", "launch_mode", "gpu"]), None);
        let known = axes(vec![("card".to_owned(), 1), ("size".to_owned(), 2)]);
        assert_eq!(known, [("gpu".to_owned(), 1), ("size".to_owned(), 2)]);
    }
}
