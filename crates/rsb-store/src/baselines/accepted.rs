//! Regressions that a user accepted: recording them in a baseline, and copying the accepted samples
//! into it.

use rsb_model::record::ACCEPTED_FROM;
use rsb_model::{CaseId, Fingerprint, Run, Timestamp};
use serde::{Deserialize, Serialize};

use super::Baseline;
use crate::compact::compact_run;
use crate::error::StoreError;

/// A regression that a user accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    /// Case id.
    pub id: String,
    /// Metric that got worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Reason for accepting it.
    #[serde(alias = "why")]
    pub because: String,
    /// Time of acceptance.
    #[serde(alias = "since")]
    pub when: Timestamp,
    /// User who accepted it, as configured in git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Run whose samples the baseline has used since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Commit that this run measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Value before, in the metric's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_value: Option<f64>,
    /// Value since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_value: Option<f64>,
    /// Change from the old to the new value, relative to the old one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_percent: Option<f64>,
}

/// Metadata key of an accepted case for the program that measured it, because this may be a
/// different program than that of the run.
pub const OF_ANOTHER_PROGRAM: &str = "program";

impl Baseline {
    /// Replaces the case `id` with that of `run`. All replicates of `run` are copied in compact
    /// form, and all older ones are removed.
    ///
    /// # Errors
    /// If the run is from another machine, or has no such case.
    pub fn replace(&mut self, id: &CaseId, run: &Run) -> Result<(), StoreError> {
        let differences = self.fingerprint.differences(&Fingerprint::of(&run.environment));
        if let Some(found) = differences.first() {
            let (old, new) = (&found.baseline, &found.current);
            let (field, run_id) = (&found.field, &run.run_id);
            let problem = format!("{field} is {old} in the baseline and {new} in {run_id}");
            return Err(StoreError::NotABaseline { problem });
        }
        let own = run.benchmarks.iter().filter(|result| result.benchmark_id == *id);
        let only = Run { benchmarks: own.cloned().collect(), ..run.clone() };
        let mut taken = compact_run(&only).benchmarks;
        if taken.is_empty() {
            let problem = format!("{} has no case {id}", run.run_id);
            return Err(StoreError::NotABaseline { problem });
        }
        for result in &mut taken {
            result.metadata.insert(OF_ANOTHER_PROGRAM.to_owned(), run.program.clone().into());
            result.metadata.insert(ACCEPTED_FROM.to_owned(), run.run_id.0.clone().into());
        }
        for own in &mut self.runs {
            own.benchmarks.retain(|result| result.benchmark_id != *id);
        }
        if let Some(first) = self.runs.first_mut() {
            first.benchmarks.extend(taken);
            first.benchmarks.sort_by(|a, b| a.benchmark_id.cmp(&b.benchmark_id));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{case_id, machine, measured_case, moment, run};
    use rsb_model::{RunId, Samples};

    fn of(id: &str, times: [f64; 2]) -> Run {
        let [a, b] = times;
        Run { benchmarks: vec![measured_case("b", b), measured_case("a", a)], ..run(id, 0) }
    }

    #[test]
    fn an_accepted_case_is_replaced_with_all_its_replicates_and_no_other_is_touched() {
        let mut baseline =
            Baseline::new("quick", moment(0), &[of("x", [1.0, 2.0]), of("y", [1.1, 2.1])]).unwrap();
        let before = baseline.clone();
        let mut slower = of("z", [1.5, 2.5]);
        let again = Samples { replicate: 1, ..slower.benchmarks[1].samples[0].clone() };
        slower.benchmarks[1].samples.push(again);
        baseline.replace(&case_id("a"), &slower).unwrap();
        assert_eq!(ids(&baseline.runs[0]), [case_id("a"), case_id("b")]);
        assert_eq!(ids(&baseline.runs[1]), [case_id("b")]);
        let taken = &baseline.runs[0].benchmarks[0];
        let replicates: Vec<(u32, usize)> =
            taken.samples.iter().map(|each| (each.replicate, each.len())).collect();
        assert!(taken.metadata.contains_key(OF_ANOTHER_PROGRAM));
        assert_eq!(
            taken.metadata[ACCEPTED_FROM], "z",
            "the accepted case must name the run it was taken from"
        );
        assert_eq!(
            replicates,
            [(0, crate::compact::SAMPLES_KEPT), (1, crate::compact::SAMPLES_KEPT)]
        );
        assert!(taken.samples[0].per_iteration().unwrap().iter().all(|&time| time >= 1.5e6));
        assert_eq!(baseline.runs[0].benchmarks[1], before.runs[0].benchmarks[1]);
        assert_eq!(
            baseline.runs[0].run_id,
            RunId("x".to_owned()),
            "the run id must stay the old one"
        );
    }

    fn ids(run: &Run) -> Vec<CaseId> {
        run.benchmarks.iter().map(|each| each.benchmark_id.clone()).collect()
    }

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let mut baseline = Baseline::new("quick", moment(0), &[of("x", [1.0, 2.0])]).unwrap();
        let before = baseline.clone();
        let elsewhere = Run { environment: machine(64), ..of("z", [1.5, 2.5]) };
        let error = baseline.replace(&case_id("a"), &elsewhere).unwrap_err().to_string();
        assert!(error.contains("usable_cores is 2 in the baseline and 64 in z"), "{error}");
        assert!(
            baseline
                .replace(&case_id("c"), &of("z", [1.5, 2.5]))
                .unwrap_err()
                .to_string()
                .contains("no case")
        );
        assert_eq!(baseline, before);
    }

    #[test]
    fn the_form_of_before_is_still_read() {
        let old = serde_json::json!({ "id": "a", "why": "a known cost", "since": moment(1) });
        let read: Accepted = serde_json::from_value(old).unwrap();
        assert_eq!((read.because.as_str(), read.when, read.by), ("a known cost", moment(1), None));
    }
}
