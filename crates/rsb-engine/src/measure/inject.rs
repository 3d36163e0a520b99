//! Slow-downs on purpose, to prove the gate: only in a build with the feature `fault-injection`.
//!
//! A run that was slowed says so in its notes, so that measuring it again slows it alike.

use rsb_model::CaseId;

/// `<part of an id>=<factor>`.
pub const VARIABLE: &str = rsb_model::protocol::SLOWDOWN;

/// How the note of a slowed run begins.
const NOTE: &str = "slowed on purpose: ";

/// `time_ns`, made longer where the environment says so.
#[cfg(feature = "fault-injection")]
pub(super) fn slow_down(id: &CaseId, time_ns: f64) -> f64 {
    std::env::var(VARIABLE).map_or(time_ns, |said| rsb_model::protocol::slowed(id, time_ns, &said))
}

/// Time as it is.
#[cfg(not(feature = "fault-injection"))]
pub(super) fn slow_down(_: &CaseId, time_ns: f64) -> f64 {
    time_ns
}

/// What the notes of a run that begins now say of it; nothing in a build that slows nothing.
pub fn note() -> Option<String> {
    let said = std::env::var(VARIABLE).ok().filter(|_| cfg!(feature = "fault-injection"))?;
    Some(format!("{NOTE}{said}"))
}

/// How the run with these notes was slowed.
pub fn of_notes(notes: &[String]) -> Option<String> {
    notes.iter().find_map(|note| note.strip_prefix(NOTE)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_how_a_run_was_slowed() {
        let notes = ["something else".to_owned(), format!("{NOTE}gelu=1.15")];
        assert_eq!(of_notes(&notes).as_deref(), Some("gelu=1.15"));
        assert_eq!(of_notes(&notes[..1]), None);
    }
}
