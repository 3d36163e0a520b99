//! Comparability of the two sides: whether all runs have the same hardware, and each case the same
//! software that it depends on.

use std::borrow::Cow;

use rsb_model::factor::{self, Factors};
use rsb_model::fingerprint::Difference;
use rsb_model::{BenchmarkResult, DeviceType, Fingerprint, Run};

/// Returns the sentence that names every hardware field in which a run differs from the first run
/// of the baseline; `None` if all agree.
pub(super) fn hardware_difference(baseline: &[Run], current: &[Run]) -> Option<String> {
    let mut runs = baseline.iter().chain(current);
    let first = Fingerprint::of(&runs.next()?.environment);
    let mut found: Vec<Difference> = Vec::new();
    for run in runs {
        add_new(&mut found, first.differences(&Fingerprint::of(&run.environment)));
    }
    (!found.is_empty()).then(|| {
        format!("another machine: {}; save a baseline on this machine", list_differences(&found))
    })
}

/// Returns the sentence that names every factor in which a result of a case, on either side,
/// differs from the first result; `None` if all agree.
pub(super) fn software_difference(
    factors: &[Cow<'_, Factors>],
    across: &[String],
) -> Option<String> {
    let (first, others) = factors.split_first()?;
    let mut found: Vec<Difference> = Vec::new();
    for other in others {
        add_new(&mut found, factor::differences(first, other, across));
    }
    if found.is_empty() {
        return None;
    }
    let names: Vec<&str> = found.iter().map(|difference| difference.field.as_str()).collect();
    let names = names.join(",");
    Some(format!(
        "other software: {}; save a new baseline, or compare --across {names}",
        list_differences(&found)
    ))
}

fn add_new(found: &mut Vec<Difference>, more: Vec<Difference>) {
    for difference in more {
        if found.iter().all(|known| known.field != difference.field) {
            found.push(difference);
        }
    }
}

/// Returns a list such as `rocm (7.1 before, 7.2 now), python (3.11 before, 3.12 now) differ`.
fn list_differences(found: &[Difference]) -> String {
    let each: Vec<String> = found
        .iter()
        .map(|difference| {
            format!(
                "{} ({} before, {} now)",
                difference.field, difference.baseline, difference.current
            )
        })
        .collect();
    format!("{} differ{}", each.join(", "), if each.len() == 1 { "s" } else { "" })
}

/// Returns the sentence for a case that ran on another kind of device under the same name, such as
/// a CPU driver of Vulkan.
pub(super) fn device_difference(
    baseline: &[&BenchmarkResult],
    current: &[&BenchmarkResult],
) -> Option<String> {
    let mut kinds = baseline.iter().chain(current).filter_map(|result| result.device_type);
    let first = kinds.next()?;
    let other = kinds.find(|&kind| kind != first)?;
    let name = DeviceType::as_str;
    Some(format!(
        "another device: device_type differs ({} and {}); save a baseline on this machine",
        name(first),
        name(other)
    ))
}
