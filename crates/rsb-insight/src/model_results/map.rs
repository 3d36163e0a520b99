//! Compatibility map: family × runtime × backend × precision, from stored runs and from the rules.
//! Pure.

use std::collections::BTreeMap;

use rsb_model::record::{Compatibility, ModelCompatibility};
use rsb_model::{BackendId, BenchmarkResult, DeviceRef, Dtype, Obstacle, Outcome, Run};

use rsb_catalog::models::{
    Family, MODELS, ModelConfiguration, PRECISIONS, RUNTIMES, SizeClass, catalogue, find, refusal,
};

use super::document::parameter;

fn standing(result: &BenchmarkResult) -> Compatibility {
    match (result.outcome, result.reason.as_ref().and_then(|reason| reason.obstacle)) {
        (Outcome::Measured, _) => Compatibility::Runs,
        (Outcome::Simulated, _) => Compatibility::Emulated,
        (_, Some(Obstacle::DoesNotFit)) => Compatibility::DoesNotFit,
        (_, Some(Obstacle::MissingPackage)) => Compatibility::MissingPackage,
        (_, Some(Obstacle::UnsupportedOperator)) => Compatibility::UnsupportedOperator,
        (_, Some(Obstacle::NotReached)) => Compatibility::Unknown,
        (Outcome::Skipped, None) => Compatibility::NotPossible,
        (Outcome::Failed, None) => Compatibility::Fails,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    family: Family,
    runtime: &'static str,
    backend: BackendId,
    dtype: Dtype,
}

/// Builds the map from `runs`, given newest first. An entry comes from a model of the family that
/// ran, or else from the newest result. Untried entries follow the rules for the family's first
/// tiny model.
pub fn compatibility(runs: &[Run]) -> Vec<ModelCompatibility> {
    let mut seen: BTreeMap<Place, ModelCompatibility> = BTreeMap::new();
    for run in runs {
        for result in
            run.benchmarks.iter().filter(|result| result.category.as_deref() == Some(MODELS))
        {
            let Some((place, found)) = seen_in(run, result) else { continue };
            if found.standing == Compatibility::Unknown {
                continue; // A run that ended before it had its turn says nothing.
            }
            let is_better = matches!(found.standing, Compatibility::Runs | Compatibility::Emulated);
            let known = seen.entry(place).or_insert_with(|| found.clone());
            if is_better && !matches!(known.standing, Compatibility::Runs | Compatibility::Emulated)
            {
                *known = found;
            }
        }
    }
    places().map(|place| seen.remove(&place).unwrap_or_else(|| by_rule(place))).collect()
}

fn places() -> impl Iterator<Item = Place> {
    Family::ALL.into_iter().flat_map(places_of)
}

fn places_of(family: Family) -> impl Iterator<Item = Place> {
    RUNTIMES.iter().flat_map(move |runtime| {
        let backends = runtime.backends.iter();
        backends.flat_map(move |backend| {
            PRECISIONS.map(|dtype| Place {
                family,
                runtime: runtime.name,
                backend: *backend,
                dtype,
            })
        })
    })
}

fn seen_in(run: &Run, result: &BenchmarkResult) -> Option<(Place, ModelCompatibility)> {
    let model = parameter(result, "model")?;
    // A user-defined model may fail for reasons unrelated to its family.
    let family = find(model, &[])?.family;
    let name = parameter(result, "runtime")?;
    let runtime = RUNTIMES.iter().find(|runtime| runtime.name == name)?.name;
    let backend = result.benchmark_id.device().device()?.backend;
    let dtype: Dtype = parameter(result, "dtype")?.parse().ok()?;
    let found = ModelCompatibility {
        family: family.to_string(),
        runtime: runtime.to_owned(),
        backend,
        dtype: dtype.to_string(),
        standing: standing(result),
        model_id: Some(model.to_owned()),
        run_id: Some(run.run_id.0.clone()),
        reason: result.reason.clone(),
    };
    Some((Place { family, runtime, backend, dtype }, found))
}

fn by_rule(place: Place) -> ModelCompatibility {
    let Place { family, runtime, backend, dtype } = place;
    let row = catalogue().iter().find(|row| row.family == family && row.size() == SizeClass::Tiny);
    let reason = row.and_then(|row| {
        let length = row.usual_length();
        let device = DeviceRef { backend, index: 0 };
        refusal(&ModelConfiguration {
            row,
            workload: "forward",
            runtime,
            dtype,
            length,
            tokens: 0,
            device,
        })
    });
    let standing =
        if reason.is_some() { Compatibility::NotPossible } else { Compatibility::Unknown };
    ModelCompatibility {
        family: family.to_string(),
        runtime: runtime.to_owned(),
        backend,
        dtype: dtype.to_string(),
        standing,
        model_id: None,
        run_id: None,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use rsb_model::Reason;

    use super::*;

    #[test]
    fn what_nobody_tried_is_as_the_rules_have_it() {
        let map = compatibility(&[]);
        assert_eq!(
            map.len(),
            11 * 4 * 7,
            "pytorch has three backends, the other runtimes one each"
        );
        for (runtime, backend, dtype, standing) in [
            ("pytorch", BackendId::Cpu, Dtype::F32, Compatibility::Unknown),
            ("pytorch", BackendId::Rocm, Dtype::I8, Compatibility::NotPossible),
            ("qnn", BackendId::Cpu, Dtype::F32, Compatibility::NotPossible),
            ("qnn", BackendId::Cpu, Dtype::I8, Compatibility::Unknown),
        ] {
            let found = map.iter().find(|one| {
                one.runtime == runtime
                    && one.backend == backend
                    && one.family.as_str() == Family::Rag.as_str()
                    && one.dtype.as_str() == dtype.as_str()
            });
            let found = found.unwrap();
            assert_eq!(found.standing, standing, "{found:?}");
            assert_eq!(found.reason.is_some(), standing == Compatibility::NotPossible);
        }
    }

    #[test]
    fn a_reason_tells_what_kind_of_no_it_is() {
        use Compatibility::{
            DoesNotFit, Fails, MissingPackage, NotPossible, Unknown, UnsupportedOperator,
        };
        for (outcome, obstacle, standing) in [
            ("skipped", Some(Obstacle::MissingPackage), MissingPackage),
            ("skipped", Some(Obstacle::DoesNotFit), DoesNotFit),
            ("failed", Some(Obstacle::DoesNotFit), DoesNotFit),
            ("failed", Some(Obstacle::UnsupportedOperator), UnsupportedOperator),
            ("skipped", Some(Obstacle::NotReached), Unknown),
            ("skipped", None, NotPossible),
            ("failed", None, Fails),
        ] {
            let reason = Reason { obstacle, ..Reason::new("what", "why", "cure") };
            let mut result = serde_json::to_value(reason).unwrap();
            result["benchmark_id"] = "component_specific/models/cpu:0/forward/bert-tiny/f32".into();
            result["benchmark_type"] = "component_specific".into();
            result["timestamp"] = "2026-01-01T00:00:00Z".into();
            result["outcome"] = outcome.into();
            result["results"] = [(); 0].into();
            let result = serde_json::from_value(result).unwrap();
            assert_eq!(super::standing(&result), standing, "{obstacle:?}");
        }
    }
}
