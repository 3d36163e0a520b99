//! GPUs that did not answer, that the kernel could not describe, or that it does not show here.

use rsb_model::finding::{Finding, FindingSeverity};
use rsb_model::gpu::{Answer, UnreadGpu};

use crate::HANG_LIMIT;
use crate::doctor::facts::DoctorInput;

/// One finding for all GPUs with the same answer to the same question.
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
                "asked for {}, there was no answer within {} s; that and what is asked after it \
                 are not known",
                first.asked,
                HANG_LIMIT.as_secs()
            ),
            PROBLEM,
        ),
        Answer::Failed => Finding::new(
            FindingSeverity::Error,
            what,
            format!("asked for {}, the kernel returned an error", first.asked),
            PROBLEM,
        ),
        Answer::Denied => Finding::new(
            FindingSeverity::Note,
            what,
            "the kernel does not describe it to this user or container, as where a container was \
             given only some GPUs",
            "nothing, if that is meant; else give the container every GPU (--device /dev/kfd \
             --device /dev/dri)",
        ),
    }
}

const PROBLEM: &str = "look for the GPU in `sudo dmesg`; reset it (`sudo amd-smi reset --gpureset` \
                       for AMD's) or \
                        restart the machine, and look again; a GPU that fails again may have to be \
                        seated anew or \
                        replaced";

/// `card0`, `card0 and card1`, `card0, card1 and card2`.
fn join_with_and(places: &[&str]) -> String {
    match places {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => places.concat(),
    }
}
