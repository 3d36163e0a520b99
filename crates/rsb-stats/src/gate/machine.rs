//! Whether all runs come from one machine, as far as it matters.

use rsb_model::fingerprint::Difference;
use rsb_model::{BenchmarkResult, DeviceType, Fingerprint, Run};

/// The sentence that names every field in which any run differs from the first of the baseline; `None` when all agree.
pub(super) fn difference(baseline: &[Run], current: &[Run], across: &[String]) -> Option<String> {
    let fingerprint = |run: &Run| Fingerprint::of(&run.environment);
    let mut runs = baseline.iter().chain(current);
    let first = fingerprint(runs.next()?);
    let mut found: Vec<Difference> = Vec::new();
    for run in runs {
        for difference in first.differences(&fingerprint(run), across) {
            if found.iter().all(|known| known.field != difference.field) {
                found.push(difference);
            }
        }
    }
    (!found.is_empty()).then(|| sentence(&first, &found))
}

fn sentence(first: &Fingerprint, found: &[Difference]) -> String {
    let each: Vec<String> = found
        .iter()
        .map(|difference| format!("{} ({} before, {} now)", difference.field, difference.baseline, difference.current))
        .collect();
    let is_hardware =
        |difference: &Difference| first.hardware.contains_key(&difference.field) || difference.field.starts_with("gpu");
    let cure = if found.iter().any(is_hardware) {
        "save a baseline on this machine".to_owned()
    } else {
        let fields: Vec<&str> = found.iter().map(|difference| difference.field.as_str()).collect();
        format!("save a new baseline, or compare --across {}", fields.join(","))
    };
    format!("another machine: {} differ{}; {cure}", each.join(", "), if each.len() == 1 { "s" } else { "" })
}

/// The sentence for a case that ran on another kind of device under the same name, such as a CPU driver of Vulkan.
pub(super) fn device_difference(baseline: &[&BenchmarkResult], current: &[&BenchmarkResult]) -> Option<String> {
    let kinds = || baseline.iter().chain(current).filter_map(|result| result.device_type);
    let first = kinds().next()?;
    let other = kinds().find(|&kind| kind != first)?;
    let name = DeviceType::as_str;
    Some(format!(
        "another device: device_type differs ({} and {}); save a baseline on this machine",
        name(first),
        name(other)
    ))
}
