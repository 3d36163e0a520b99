//! Noise guards: detect disturbances of the machine while a case is measured. They add notes and
//! never drop a sample.

use rsb_model::run::kind_of_note;
use rsb_probe::{StateSample, sample, state_between};

/// State of the machine at the start of a measurement, between [`NoiseWatch::begin`] and
/// [`NoiseWatch::end`].
pub(super) struct NoiseWatch(StateSample);

impl NoiseWatch {
    /// Records the current state.
    pub(super) fn begin() -> Self {
        Self(sample())
    }

    /// Returns a sentence for each disturbance since the start.
    pub(super) fn end(self) -> Vec<String> {
        state_between(&self.0, &sample()).warnings
    }
}

/// Adds to `known` the first sentence of each new kind of problem in `more`. Sentences that differ
/// only in numbers are of the same kind.
pub(super) fn merge(known: &mut Vec<String>, more: Vec<String>) {
    for sentence in more {
        if known.iter().all(|old| kind_of_note(old) != kind_of_note(&sentence)) {
            known.push(sentence);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_problem_is_said_once() {
        let mut known = vec!["the load average is 3.1 on 2 threads".to_owned()];
        merge(
            &mut known,
            vec![
                "the load average is 3.4 on 2 threads".to_owned(),
                "2 % of the time was stolen".to_owned(),
            ],
        );
        assert_eq!(known.len(), 2);
    }
}
