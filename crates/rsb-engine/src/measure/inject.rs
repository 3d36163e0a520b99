//! Injected slowdowns, to test the gate; only with the feature `fault-injection`.
//!
//! A slowed run has a note, so that remeasuring applies the same slowdown.

use rsb_model::{CaseId, Note};

/// Environment variable with `<part of an id>=<factor>`.
pub const VARIABLE: &str = rsb_model::protocol::SLOWDOWN;

/// Returns `time_ns`, multiplied by the injected factor if one applies to the case.
#[cfg(feature = "fault-injection")]
pub(crate) fn slow_down(id: &CaseId, time_ns: f64) -> f64 {
    std::env::var(VARIABLE)
        .map_or(time_ns, |rule| rsb_model::protocol::apply_slowdown(id, time_ns, &rule))
}

/// Returns `iters`, multiplied by the injected factor if one applies to the case, so that the
/// additional iterations are counted as instructions of `iters` iterations.
#[cfg(feature = "fault-injection")]
pub(crate) fn more_work(id: &CaseId, iters: u64) -> u64 {
    let slowed =
        |rule: String| rsb_model::protocol::apply_slowdown(id, iters as f64, &rule).round() as u64;
    std::env::var(VARIABLE).map_or(iters, slowed)
}

/// Returns `iters` unchanged.
#[cfg(not(feature = "fault-injection"))]
pub(crate) fn more_work(_: &CaseId, iters: u64) -> u64 {
    iters
}

/// Returns `time_ns` unchanged.
#[cfg(not(feature = "fault-injection"))]
pub(crate) fn slow_down(_: &CaseId, time_ns: f64) -> f64 {
    time_ns
}

/// Returns the note for a run with an injected slowdown; `None` in a build without the feature.
pub fn note() -> Option<Note> {
    let slowdown = std::env::var(VARIABLE).ok().filter(|_| cfg!(feature = "fault-injection"))?;
    Some(Note::Slowed { slowdown })
}
