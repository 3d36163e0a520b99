//! Rules for counted metrics: when they cannot be compared, and how instructions explain a change
//! of the time.

use itertools::Itertools as _;
use rsb_model::record::Comparison;
use rsb_model::{BenchmarkResult, Obstacle, ReasonCode, Verdict};

use super::reason::signed_percent;
use super::timed::TIME;

/// Name of the metric.
pub(super) const INSTRUCTIONS: &str = "instructions";
/// Name of the field for the counter that was used.
const SOURCE: &str = "instructions_source";
/// Metrics whose results contain a reason if they were requested but could not be counted.
const COUNTED: [&str; 4] =
    ["allocations_per_iteration", "estimated_cycles", INSTRUCTIONS, "peak_heap_bytes"];

/// Returns the reason why the counted `metric` of a case cannot be compared: it was not counted on
/// one side, or the sides used different counters.
pub(super) fn refusal(
    metric: &str,
    sides: [&[&BenchmarkResult]; 2],
) -> Option<(Verdict, ReasonCode, String)> {
    if !COUNTED.contains(&metric) {
        return None;
    }
    for (results, side) in sides.into_iter().zip(["the baseline", "the run"]) {
        if let Some(reason) = results.iter().find_map(|result| result.not_counted(metric)) {
            let name = metric.replace('_', " ");
            let sentence = format!("the {name} of {side} were not counted: {reason}");
            let code = match reason.obstacle {
                Some(Obstacle::NotReached) => ReasonCode::NotMeasured,
                _ => ReasonCode::CaseSkipped,
            };
            return Some((Verdict::Inconclusive, code, sentence));
        }
    }
    if metric != INSTRUCTIONS {
        return None;
    }
    let sources = sides.map(|results| {
        let each = results.iter().filter_map(|result| result.fields()?.text(SOURCE));
        each.into_iter().sorted_unstable().dedup().collect_vec()
    });
    let [before, after] = &sources;
    let together = before.iter().chain(after).copied().sorted_unstable().dedup().collect_vec();
    (together.len() > 1 && !before.is_empty() && !after.is_empty()).then(|| {
        let sentence = format!(
            "the instructions were counted by {}, which do not count the same code: measure both \
             sides with the same counter",
            together.join(" and ")
        );
        (Verdict::NotComparable, ReasonCode::UnlikeUnit, sentence)
    })
}

/// Adds a remark to the time and the instructions of a case if they disagree.
pub(super) fn beside_time(rows: &mut [Comparison]) {
    for at in (0..rows.len()).filter(|&at| rows[at].metric == INSTRUCTIONS).collect::<Vec<_>>() {
        // The row for the time of a case precedes the rows of metrics that are compared by value.
        let time = rows[..at].iter().rposition(|row| row.metric == TIME);
        let Some(time) = time.filter(|&time| rows[time].id == rows[at].id) else { continue };
        for (row, other) in [(time, at), (at, time)] {
            if let Some(remark) = remark(&rows[row], &rows[other]) {
                rows[row].reason = format!("{}; {remark}", rows[row].reason);
            }
        }
    }
}

/// Returns the remark to add to `row`, the time or the instructions of a case, based on `other`,
/// the other of the two.
fn remark(row: &Comparison, other: &Comparison) -> Option<String> {
    use Verdict::{Improved, Inconclusive, Regressed, Unchanged};
    let change =
        other.difference_percent.map(|percent| signed_percent(percent / 100.0)).unwrap_or_default();
    match (row.metric.as_str(), row.verdict, other.verdict) {
        (TIME, Regressed | Inconclusive, Unchanged | Improved) => Some(format!(
            "it executes no more instructions ({change}): look at layout, memory or the machine"
        )),
        (INSTRUCTIONS, Regressed, Unchanged | Improved) => {
            Some(format!("its time is not worse ({change}): something else hides the added work"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::testing::row;

    #[test]
    fn time_and_instructions_say_where_they_disagree() {
        use Verdict::{Improved, Inconclusive, NotComparable, Regressed, Unchanged};
        for (time, instructions, of_time, of_instructions) in [
            (Regressed, Unchanged, "layout, memory or the machine", ""),
            (Inconclusive, Improved, "layout, memory or the machine", ""),
            (Unchanged, Regressed, "", "hides the added work"),
            (Improved, Regressed, "", "hides the added work"),
            (Regressed, Regressed, "", ""),
            (Inconclusive, Regressed, "", ""),
            (Regressed, NotComparable, "", ""),
            (Unchanged, Unchanged, "", ""),
        ] {
            let counted =
                Comparison { metric: INSTRUCTIONS.to_owned(), ..row("a", instructions, 3.0) };
            let mut rows = [row("b", Regressed, 1.0), row("a", time, 12.0), counted];
            let before = rows.clone().map(|row| row.reason);
            beside_time(&mut rows);
            let added: Vec<&str> =
                rows.iter().zip(&before).map(|(row, reason)| &row.reason[reason.len()..]).collect();
            assert_eq!(added[0], "", "another case");
            for (added, expected) in [(added[1], of_time), (added[2], of_instructions)] {
                assert!(
                    added.contains(expected) && added.is_empty() == expected.is_empty(),
                    "{time} {instructions}: {added}"
                );
            }
        }
    }
}
