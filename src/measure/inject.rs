//! Slow-downs on purpose, to prove the gate: only in a build with the feature `fault-injection`.

use rsb_model::CaseId;

/// `time_ns`, made longer where `RSB_TEST_SLOWDOWN=<part of an id>=<factor>` says so.
#[cfg(feature = "fault-injection")]
pub(super) fn slow_down(id: &CaseId, time_ns: f64) -> f64 {
    let Ok(text) = std::env::var("RSB_TEST_SLOWDOWN") else { return time_ns };
    let named = text.rsplit_once('=').filter(|(part, _)| id.as_str().contains(part));
    time_ns * named.and_then(|(_, factor)| factor.parse::<f64>().ok()).unwrap_or(1.0)
}

/// Time as it is.
#[cfg(not(feature = "fault-injection"))]
pub(super) fn slow_down(_: &CaseId, time_ns: f64) -> f64 {
    time_ns
}
