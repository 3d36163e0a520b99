//! Checks of a policy's patterns against the existing cases: patterns that match nothing, and
//! thresholds that are wider than the default.

use rsb_model::record::{ComparisonNote, ComparisonNoteCode};

use super::{Control, Policy, PolicyError, WhenMoved};
use crate::glob;

/// A pattern on case ids, with its key in the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyPattern<'a> {
    /// Key in the policy, such as `ignore.cases`.
    pub key: &'static str,
    /// The pattern.
    pub pattern: &'a str,
}

fn kind(id: &str) -> &str {
    id.split('/').next().unwrap_or_default()
}

impl PolicyPattern<'_> {
    /// Returns whether it matches one of `ids`.
    pub fn fits(&self, ids: &[&str]) -> bool {
        ids.iter().any(|id| glob::matches(self.pattern, id))
    }

    /// Returns whether the pattern is a target for a kind of benchmark that did not run, such as a
    /// GPU target on a machine without a GPU.
    fn is_of_absent_kind(&self, ids: &[&str]) -> bool {
        let wanted = kind(self.pattern);
        self.key == "target"
            && !wanted.contains(['*', '?'])
            && ids.iter().all(|id| kind(id) != wanted)
    }
}

impl Policy {
    /// Returns every user-defined pattern, in the order of the keys.
    pub fn patterns(&self) -> Vec<PolicyPattern<'_>> {
        let thresholds = self.overrides.iter().filter_map(|entry| entry.id.as_deref());
        let ignored = self.ignored_cases.iter().map(String::as_str);
        let weights = self.weights.iter().map(|entry| entry.id.as_str());
        let usual = Control::default();
        // The default patterns are not user-defined.
        let control = self.control.cases.iter().filter(|pattern| !usual.cases.contains(pattern));
        let targets = self.targets.iter().map(|target| target.id_pattern.as_str());
        let all = thresholds
            .map(|pattern| ("threshold", pattern))
            .chain(ignored.map(|pattern| ("ignore", pattern)))
            .chain(weights.map(|pattern| ("weight", pattern)))
            .chain(control.map(|pattern| ("control.cases", pattern.as_str())))
            .chain(targets.map(|pattern| ("target", pattern)));
        all.map(|(key, pattern)| PolicyPattern { key, pattern }).collect()
    }

    /// Returns notes on the policy for a comparison of the cases `ids`, of which `ran` were not
    /// skipped.
    pub fn notes(&self, ids: &[&str], ran: &[&str]) -> Vec<ComparisonNote> {
        let unused: Vec<String> = self
            .patterns()
            .iter()
            .filter(|one| !one.fits(ids) && !one.is_of_absent_kind(ran))
            .map(|one| format!("`{}` ({})", one.pattern, one.key))
            .collect();
        let unused = (!unused.is_empty())
            .then(|| format!("policy patterns that match no case: {}", unused.join(", ")));
        let policy = [self.wider(ids), unused].into_iter().flatten();
        let mut notes: Vec<ComparisonNote> =
            policy.map(|text| ComparisonNote::new(ComparisonNoteCode::Policy, text)).collect();
        if self.control.when_moved == WhenMoved::Ignore && !self.control.cases.is_empty() {
            let text = "the policy ignores changes of the machine: the control set is judged like \
                        any other case";
            notes.push(ComparisonNote::new(ComparisonNoteCode::Control, text));
        }
        notes
    }

    /// Returns the thresholds that are wider than the default one.
    fn wider(&self, ids: &[&str]) -> Option<String> {
        let own = self.own_threshold_percent();
        let percent = self.threshold_percent();
        let mut wider = Vec::new();
        if percent > own {
            wider.push(format!("{percent} % for every case, as requested"));
        }
        for entry in self.overrides.iter().filter(|entry| entry.percent > own) {
            let applies =
                entry.id.as_deref().is_none_or(|id| ids.iter().any(|each| glob::matches(id, each)));
            if applies {
                let parts: Vec<String> = [&entry.id, &entry.metric]
                    .into_iter()
                    .flatten()
                    .map(|part| format!("`{part}`"))
                    .collect();
                wider.push(format!("{} % for {}", entry.percent, parts.join(" ")));
            }
        }
        if wider.is_empty() {
            return None;
        }
        Some(format!("wider than the policy's threshold of {own} %: {}", wider.join(", ")))
    }

    /// Returns the smallest threshold of metrics that vary like a time.
    fn smallest_threshold_percent(&self) -> f64 {
        let timed = self.overrides.iter().filter(|entry| {
            entry.metric.as_deref().is_none_or(|metric| metric.starts_with("time_"))
        });
        timed.map(|entry| entry.percent).fold(self.threshold_percent(), f64::min)
    }

    /// Returns the smallest clear change of a control case, in percent, that indicates a change of
    /// the machine.
    pub fn moved_percent(&self) -> f64 {
        self.control
            .moved_percent
            .unwrap_or_else(|| super::MOVED_PERCENT.min(self.smallest_threshold_percent() / 2.0))
    }

    /// Checks that the control set detects a change of the machine before that change can affect
    /// verdicts.
    ///
    /// # Errors
    /// If `moved_percent` is set and is not below every threshold.
    pub fn check_control(&self) -> Result<(), PolicyError> {
        let smallest = self.smallest_threshold_percent();
        match self.control.moved_percent {
            Some(moved) if moved >= smallest => Err(PolicyError::MovedTooFar { moved, smallest }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy_file::PolicyFile;

    fn policy(text: &str) -> Result<Policy, PolicyError> {
        Policy::try_from(toml::from_str::<PolicyFile>(text).unwrap())
    }

    const HERE: [&str; 2] =
        ["cpu_performance/gemm/cpu:0/f32/64x64x64", "cpu_performance/control/cpu:0/last"];

    #[test]
    fn what_fits_nothing_and_what_is_wider_is_said() {
        for (text, said) in [
            ("", vec![]),
            ("[ignore]\ncases = [\"*/gemm/*\"]", vec![]),
            (
                "[ignore]\ncases = [\"*/softmax/*\"]\n[[weight]]\nid = \"*/sum/*\"\nweight = 2.0",
                vec![
                    "policy patterns that match no case: `*/softmax/*` (ignore), `*/sum/*` \
                     (weight)",
                ],
            ),
            ("[[threshold]]\nid = \"*/gemm/*\"\npercent = 5.0", vec![]),
            (
                "[[threshold]]\nid = \"*/gemm/*\"\npercent = 25.0\n[[threshold]]\nmetric = \
                 \"memory_used_mb\"\npercent = 30.0",
                vec![
                    "wider than the policy's threshold of 10 %: 25 % for `*/gemm/*`, 30 % for \
                     `memory_used_mb`",
                ],
            ),
            (
                "[[target]]\nid = \"gpu_performance/gemm/*\"\nmetric = \"gflops\"\nabove = 1.0",
                vec![],
            ),
            (
                "[[target]]\nid = \"cpu_performance/sum/*\"\nmetric = \"gflops\"\nabove = 1.0",
                vec!["policy patterns that match no case: `cpu_performance/sum/*` (target)"],
            ),
            (
                "[control]\nwhen_moved = \"ignore\"",
                vec![
                    "the policy ignores changes of the machine: the control set is judged like any \
                     other case",
                ],
            ),
        ] {
            let notes = policy(text).unwrap().notes(&HERE, &HERE);
            assert_eq!(
                notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>(),
                said,
                "{text}"
            );
        }
        let mut asked = policy("threshold_percent = 5.0").unwrap();
        asked.ask_threshold("--threshold", 20.0).unwrap();
        assert_eq!(
            asked.notes(&HERE, &HERE)[0].text,
            "wider than the policy's threshold of 5 %: 20 % for every case, as requested"
        );
    }

    #[test]
    fn targets_for_gpus_are_no_news_where_none_ran() {
        let text =
            "[[target]]\nid = \"gpu_performance/gemm/*\"\nmetric = \"gflops\"\nabove = 1.0\n";
        let policy = policy(text).unwrap();
        let ids = ["cpu_performance/gemm/cpu:0/f32", "gpu_performance/multi-gpu"];
        assert!(policy.notes(&ids, &ids[..1]).is_empty(), "skipped cases must not count as run");
        assert_eq!(policy.notes(&ids, &ids).len(), 1);
    }

    #[test]
    fn a_move_of_the_machine_is_seen_before_a_threshold_is_reached() {
        for (text, moved) in [
            ("", Some(5.0)),
            ("threshold_percent = 6.0", Some(3.0)),
            ("[[threshold]]\nid = \"*\"\npercent = 4.0", Some(2.0)),
            ("[[threshold]]\nmetric = \"memory_used_mb\"\npercent = 1.0", Some(5.0)),
            ("[control]\nmoved_percent = 9.0", Some(9.0)),
            ("[control]\nmoved_percent = 10.0", None),
            ("[control]\nmoved_percent = 5.0\n[[threshold]]\nid = \"*\"\npercent = 4.0", None),
        ] {
            let found = policy(text).map(|policy| policy.moved_percent());
            assert_eq!(found.clone().ok(), moved, "{text}: {found:?}");
        }
        let mut asked = policy("[control]\nmoved_percent = 5.0").unwrap();
        asked.ask_threshold("--threshold", 5.0).unwrap();
        assert!(
            asked.check_control().unwrap_err().to_string().contains("`control.moved_percent` is 5")
        );
    }
}
