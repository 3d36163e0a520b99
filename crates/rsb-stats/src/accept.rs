//! Slowdowns and removals that were accepted in advance, in a file outside the tree under test.

use rsb_model::record::{Comparison, ComparisonNote, ComparisonNoteCode, ComparisonResult};
use rsb_model::{Better, ReasonCode, Verdict};
use serde::Deserialize;

use crate::gate::summary;
use crate::glob;
use crate::policy::Policy;

/// The file of `gate --accept`, with at least one entry; the first entry that matches a case is
/// used.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "AcceptFile")]
pub struct AcceptList(Vec<AcceptEntry>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AcceptFile {
    #[serde(default)]
    accept: Vec<AcceptEntry>,
}

/// One accepted change.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct AcceptEntry {
    /// Case id, or a pattern on case ids.
    case: String,
    /// Largest accepted slowdown in percent.
    limit_percent: Option<f64>,
    /// Whether the case may be removed.
    #[serde(default)]
    removed: bool,
    /// Reason for accepting it.
    because: String,
}

impl TryFrom<AcceptFile> for AcceptList {
    type Error = String;

    fn try_from(file: AcceptFile) -> Result<Self, String> {
        if file.accept.is_empty() {
            let cure =
                "write [[accept]] with `case`, `because`, and `limit_percent` or `removed = true`";
            return Err(format!("it accepts nothing; {cure}"));
        }
        file.accept.iter().try_for_each(AcceptEntry::check)?;
        Ok(Self(file.accept))
    }
}

impl AcceptList {
    /// Makes the accepted changes in `result` pass, with a note for each.
    #[must_use]
    pub fn apply(&self, mut result: ComparisonResult, policy: &Policy) -> ComparisonResult {
        for row in &mut result.comparisons {
            let entry = self.0.iter().find(|entry| glob::matches(&entry.case, row.id.as_str()));
            let Some(entry) = entry else { continue };
            let Some(what) = entry.accepts(row) else { continue };
            row.verdict = Verdict::Unchanged;
            row.reason_code = ReasonCode::Accepted;
            row.reason = format!("{}; accepted: {}", row.reason, entry.because);
            let text = format!("accepted: {} is {what}: {}", row.id, entry.because);
            result.notes.push(ComparisonNote::new(ComparisonNoteCode::Accepted, text));
        }
        result.verdict = summary::overall(&result.comparisons);
        result.summary = summary::summarize(&result.comparisons, &result.threshold_checks, policy);
        result
    }
}

impl AcceptEntry {
    fn check(&self) -> Result<(), String> {
        let case = &self.case;
        if self.because.trim().is_empty() {
            return Err(format!(
                "`{case}`: `because` is empty; give the reason why it is accepted"
            ));
        }
        match self.limit_percent {
            None if !self.removed => Err(format!(
                "`{case}` accepts nothing; add `limit_percent = 25` or `removed = true`"
            )),
            Some(limit) if !(limit > 0.0 && limit.is_finite()) => {
                Err(format!("`{case}`: `limit_percent` must be above 0, such as 25"))
            }
            _ => Ok(()),
        }
    }

    /// Returns a description of the accepted change of `row`; `None` if it passes anyway, or is
    /// worse than accepted.
    fn accepts(&self, row: &Comparison) -> Option<String> {
        if row.reason_code == ReasonCode::Missing {
            return self.removed.then(|| "removed".to_owned());
        }
        let limit = self.limit_percent?;
        let sign = match row.better {
            Better::Lower => 1.0,
            Better::Higher => -1.0,
        };
        let change = sign * row.difference_percent?;
        let fits = match row.verdict {
            // Only the change is checked: a counted metric has no interval.
            Verdict::Regressed => change <= limit,
            // An undecided case passes only if its whole interval is within the limit.
            Verdict::Inconclusive => {
                row.confidence_interval?.into_iter().all(|percent| sign * percent <= limit)
            }
            Verdict::Unchanged | Verdict::Improved | Verdict::NotComparable => false,
        };
        fits.then(|| format!("{change:.1} % worse, within the limit of {limit} %"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::testing::{row, verdicts};

    const LIST: &str = "[[accept]]\ncase = \"*/a\"\nlimit_percent = 25\nbecause = \"it checks for \
                        overflow now\"\n\
                        [[accept]]\ncase = \"*/gone\"\nremoved = true\nbecause = \"nobody calls \
                        it\"\n";

    #[test]
    fn an_accepted_slow_down_passes_up_to_its_limit_and_is_listed() {
        struct Given {
            name: &'static str,
            verdict: Verdict,
            percent: f64,
            expected: Verdict,
        }
        for Given { name, verdict, percent, expected } in [
            Given {
                name: "a",
                verdict: Verdict::Regressed,
                percent: 18.0,
                expected: Verdict::Unchanged,
            },
            Given {
                name: "a",
                verdict: Verdict::Regressed,
                percent: 26.0,
                expected: Verdict::Regressed,
            },
            Given {
                name: "a",
                verdict: Verdict::Inconclusive,
                percent: 10.0,
                expected: Verdict::Unchanged,
            },
            Given {
                name: "a",
                verdict: Verdict::Inconclusive,
                percent: 24.5,
                expected: Verdict::Inconclusive,
            },
            Given {
                name: "b",
                verdict: Verdict::Regressed,
                percent: 18.0,
                expected: Verdict::Regressed,
            },
            Given {
                name: "gone",
                verdict: Verdict::Regressed,
                percent: 18.0,
                expected: Verdict::Regressed,
            },
        ] {
            let list: AcceptList = toml::from_str(LIST).unwrap();
            let result = list.apply(verdicts([row(name, verdict, percent)]), &Policy::default());
            assert_eq!(result.verdict, expected, "{name} {verdict:?} {percent}");
            let is_accepted = expected == Verdict::Unchanged;
            assert_eq!(result.comparisons[0].reason_code == ReasonCode::Accepted, is_accepted);
            let listed =
                result.notes.iter().any(|note| note.text.contains("it checks for overflow now"));
            assert_eq!(listed, is_accepted, "{:?}", result.notes);
        }
    }

    #[test]
    fn an_accepted_removal_passes() {
        let list: AcceptList = toml::from_str(LIST).unwrap();
        for (name, expected) in [("gone", Verdict::Unchanged), ("a", Verdict::Inconclusive)] {
            let found = list.apply(verdicts([missing_row(name)]), &Policy::default());
            assert_eq!(found.verdict, expected, "{name}");
        }
    }

    fn missing_row(name: &str) -> Comparison {
        Comparison {
            reason_code: ReasonCode::Missing,
            confidence_interval: None,
            difference_percent: None,
            ..row(name, Verdict::Inconclusive, 0.0)
        }
    }

    #[test]
    fn a_list_that_accepts_nothing_or_gives_no_reason_is_refused() {
        for (text, expected) in [
            ("", "accepts nothing"),
            ("[[accept]]\ncase = \"a\"\nbecause = \"b\"\n", "limit_percent = 25"),
            ("[[accept]]\ncase = \"a\"\nlimit_percent = 20\nbecause = \" \"\n", "give the reason"),
            ("[[accept]]\ncase = \"a\"\nlimit_percent = -1\nbecause = \"b\"\n", "above 0"),
            ("[[accept]]\ncase = \"a\"\nlimit = 3\nbecause = \"b\"\n", "unknown field"),
        ] {
            let error = toml::from_str::<AcceptList>(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
