//! Slow-downs on purpose, to prove the gate: only in a build with the feature `fault-injection`.
//!
//! A run that was slowed says so in its notes, so that measuring it again slows it alike.

use rsb_model::{CaseId, Note};

/// `<part of an id>=<factor>`.
pub const VARIABLE: &str = rsb_model::protocol::SLOWDOWN;

/// `time_ns`, made longer where the environment says so.
#[cfg(feature = "fault-injection")]
pub(crate) fn slow_down(id: &CaseId, time_ns: f64) -> f64 {
    std::env::var(VARIABLE)
        .map_or(time_ns, |said| rsb_model::protocol::apply_slowdown(id, time_ns, &said))
}

/// `iters`, more of them where the environment makes the case slower: counted as `iters`, they are
/// more instructions.
#[cfg(feature = "fault-injection")]
pub(crate) fn more_work(id: &CaseId, iters: u64) -> u64 {
    let slowed =
        |said: String| rsb_model::protocol::apply_slowdown(id, iters as f64, &said).round() as u64;
    std::env::var(VARIABLE).map_or(iters, slowed)
}

/// Iterations as they are.
#[cfg(not(feature = "fault-injection"))]
pub(crate) fn more_work(_: &CaseId, iters: u64) -> u64 {
    iters
}

/// Time as it is.
#[cfg(not(feature = "fault-injection"))]
pub(crate) fn slow_down(_: &CaseId, time_ns: f64) -> f64 {
    time_ns
}

/// What the notes of a run that begins now say of it; nothing in a build that slows nothing.
pub fn note() -> Option<Note> {
    let slowdown = std::env::var(VARIABLE).ok().filter(|_| cfg!(feature = "fault-injection"))?;
    Some(Note::Slowed { slowdown })
}
