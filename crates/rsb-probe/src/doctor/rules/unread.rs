//! Rules about GPUs that did not answer, that the kernel could not describe, or that it hides.

use rsb_model::finding::{Finding, FindingSeverity};
use rsb_model::gpu::{Answer, UnreadGpu};

use crate::HANG_LIMIT;
use crate::doctor::facts::DoctorInput;

/// Returns one finding for all GPUs with the same result of the same read.
pub(super) fn findings(facts: &DoctorInput) -> Vec<Finding> {
    let mut groups: Vec<(&UnreadGpu, Vec<&str>)> = Vec::new();
    for gpu in &facts.unread_gpus {
        match groups
            .iter_mut()
            .find(|(first, _)| first.answer == gpu.answer && first.asked == gpu.asked)
        {
            Some((_, places)) => places.push(&gpu.place),
            None => groups.push((gpu, vec![&gpu.place])),
        }
    }
    groups.into_iter().map(|(first, places)| finding(first, &places)).collect()
}

fn finding(first: &UnreadGpu, places: &[&str]) -> Finding {
    let what = format!("{} {}", join_with_and(places), first.answer.describe(places.len()));
    match first.answer {
        Answer::Late => Finding::new(
            FindingSeverity::Error,
            what,
            format!(
                "reading {} did not end within {} s; that and everything read after it are unknown",
                first.asked,
                HANG_LIMIT.as_secs()
            ),
            PROBLEM,
        ),
        Answer::Failed => Finding::new(
            FindingSeverity::Error,
            what,
            format!("reading {} failed with an error from the kernel", first.asked),
            PROBLEM,
        ),
        Answer::Denied => Finding::new(
            FindingSeverity::Note,
            what,
            "the kernel hides it from this user or container, for example if a container has only \
             some GPUs",
            "no action if this is intended; otherwise pass every GPU to the container (--device \
             /dev/kfd --device /dev/dri)",
        ),
    }
}

const PROBLEM: &str = "look for the GPU in `sudo dmesg`; reset it (`sudo amd-smi reset --gpureset` \
                       for AMD) or restart the machine, and check again; if it fails again, reseat \
                       or replace it";

/// Formats names: `card0`, `card0 and card1`, `card0, card1 and card2`.
fn join_with_and(places: &[&str]) -> String {
    match places {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => places.concat(),
    }
}
