//! Rules that derive findings from facts. Pure: the same facts give the same findings.

use rsb_model::finding::{Finding, FindingSeverity};
use rsb_model::gpu::Gpu;

use super::facts::DoctorInput;

mod gpus;
mod intel;
mod machine;
mod software;
mod unread;

/// Returns all findings, most severe first.
pub fn findings(facts: &DoctorInput) -> Vec<Finding> {
    let mut found = unread::findings(facts);
    found.extend(gpus::findings(facts));
    found.extend(machine::findings(facts));
    found.extend(software::findings(facts));
    for sensors in &facts.intel_sensors {
        found.push(intel::about(&facts.gpus, sensors));
    }
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
}

/// Returns the problems that limited `gpus` when they were probed, as far as their records show
/// them: driver, memory errors, link, power, clocks.
pub fn limits(gpus: &[Gpu]) -> Vec<Finding> {
    gpus::limits(gpus)
}

/// A finding about one GPU, without its name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GpuFinding {
    severity: FindingSeverity,
    what: String,
    why: String,
    cure: Option<String>,
}

impl GpuFinding {
    fn ok(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { severity: FindingSeverity::Ok, what: what.into(), why: why.into(), cure: None }
    }

    fn new(
        severity: FindingSeverity,
        what: impl Into<String>,
        why: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        Self { severity, what: what.into(), why: why.into(), cure: Some(cure.into()) }
    }
}

/// Merges equal findings about GPUs of the same name into one finding.
fn together(found: Vec<(&Gpu, GpuFinding)>) -> Vec<Finding> {
    let mut groups: Vec<(&str, Vec<u32>, GpuFinding)> = Vec::new();
    for (gpu, about) in found {
        match groups.iter_mut().find(|(label, _, known)| *label == gpu.label() && *known == about) {
            Some((_, indices, _)) => indices.push(gpu.index),
            None => groups.push((gpu.label(), vec![gpu.index], about)),
        }
    }
    let named = groups.into_iter().map(|(label, indices, about)| Finding {
        severity: about.severity,
        what: format!("{} ({label}): {}", numbers(&indices), about.what),
        why: about.why,
        cure: about.cure,
    });
    named.collect()
}

/// Formats GPU numbers: `GPU 0`, `GPUs 0 to 7`, `GPUs 0, 2 and 5`.
fn numbers(indices: &[u32]) -> String {
    match indices {
        [] => "no GPU".to_owned(),
        [one] => format!("GPU {one}"),
        [first, .., last] if indices.len() > 2 && (*first..=*last).eq(indices.iter().copied()) => {
            format!("GPUs {first} to {last}")
        }
        [rest @ .., last] => {
            let rest: Vec<String> = rest.iter().map(u32::to_string).collect();
            format!("GPUs {} and {last}", rest.join(", "))
        }
    }
}

#[cfg(test)]
mod tests;
