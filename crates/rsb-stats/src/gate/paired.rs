//! Replacement of verdicts against a stored baseline with verdicts from interleaved pairs, for
//! which the program of the baseline was run interleaved with the current one.

use rsb_model::record::{Comparison, ComparisonResult};
use rsb_model::{ReasonCode, Verdict};

use super::{reason, summary};
use crate::policy::Policy;

/// Returns `result`, with the verdicts of `paired` for all cases and metrics that both have. The
/// pairs were measured at the same time on one machine, so they show only the effect of the code;
/// the comparison with the stored baseline also includes changes of the machine.
pub fn with_paired(
    result: ComparisonResult,
    paired: &ComparisonResult,
    policy: &Policy,
) -> ComparisonResult {
    let mut result = result;
    for row in &mut result.comparisons {
        // Rows without an interval are skipped: they are compared by value, or have no values.
        let beside = paired.comparisons.iter().find(|other| {
            other.id == row.id && other.metric == row.metric && other.confidence_interval.is_some()
        });
        if let Some(beside) = beside {
            *row = settle(row, beside);
        }
    }
    result.verdict = summary::overall(&result.comparisons);
    result.summary = summary::summarize(&result.comparisons, &result.threshold_checks, policy);
    result
}

/// Returns the paired comparison. If only the stored baseline showed a regression, its reason
/// states that the machine changed.
fn settle(record: &Comparison, beside: &Comparison) -> Comparison {
    let reason =
        format!("{}; measured interleaved with the program that made the baseline", beside.reason);
    let slower = record.difference_percent.filter(|_| record.verdict == Verdict::Regressed);
    match slower {
        Some(percent) if beside.verdict.is_decided() && beside.verdict != Verdict::Regressed => {
            let moved = reason::signed_percent(percent / 100.0);
            let reason = format!(
                "{reason}, which now differs from its stored result by {moved}: the machine \
                 changed, not the code"
            );
            Comparison { reason, reason_code: ReasonCode::MachineMoved, ..beside.clone() }
        }
        _ => Comparison { reason, ..beside.clone() },
    }
}

#[cfg(test)]
mod tests {
    use Verdict::{Regressed, Unchanged};

    use super::*;
    use crate::gate::testing::{row, verdicts};
    use crate::policy::Policy;

    #[test]
    fn pairs_settle_what_a_record_could_not() {
        let record = verdicts([
            row("a", Verdict::Regressed, 21.0),
            row("b", Verdict::Regressed, 18.0),
            row("c", Verdict::Inconclusive, 9.0),
            row("d", Verdict::Regressed, 30.0),
            row("e", Verdict::Unchanged, 0.5),
        ]);
        let paired = verdicts([
            row("a", Verdict::Unchanged, 0.3),
            row("b", Verdict::Regressed, 15.0),
            row("c", Verdict::Unchanged, -0.2),
            Comparison { confidence_interval: None, ..row("d", Verdict::Inconclusive, 0.0) },
        ]);
        let settled = with_paired(record, &paired, &Policy::default());
        let found: Vec<(Verdict, bool)> = settled
            .comparisons
            .iter()
            .map(|row| (row.verdict, row.reason.contains("the machine changed, not the code")))
            .collect();
        assert_eq!(
            found,
            [
                (Unchanged, true),
                (Regressed, false),
                (Unchanged, false),
                (Regressed, false),
                (Unchanged, false)
            ]
        );
        assert_eq!(settled.verdict, Regressed);
        assert!(
            settled.comparisons[0].reason.contains("differs from its stored result by +21 %"),
            "{}",
            settled.comparisons[0].reason
        );
        assert_eq!(settled.summary.total_unchanged, 3);
    }
}
