//! Measures a suspect again next to a node of its class that passed, before the suspect is called
//! slow.

use rsb_stats::estimate::mean;
use rsb_stats::interval::mean_interval;
use serde::Serialize;

use super::class::{NodeLevel, percent};
use super::{MetricValues, VerdictRule};

/// A node of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PairSide {
    /// The node that passed.
    Reference,
    /// The suspect.
    Suspect,
}

/// One metric of two jobs that ran one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPair {
    /// On the node that passed.
    pub reference: MetricValues,
    /// On the suspect.
    pub suspect: MetricValues,
}

/// Result of the pairs. Percentages are additional time with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Confirmation {
    /// The suspect is still slower.
    Confirmed {
        /// Additional time.
        slower_percent: f64,
        /// Interval.
        interval_percent: [f64; 2],
    },
    /// The suspect is not slower now: the slowness was transient.
    Refuted {
        /// Additional time.
        slower_percent: f64,
        /// Interval.
        interval_percent: [f64; 2],
    },
    /// The pairs are inconclusive: more are needed.
    Open {
        /// Number of usable pairs.
        pairs: usize,
    },
}

/// Returns the order of jobs for `rounds` rounds: A B B A, so that a drift cancels. Each round has
/// two pairs; two rounds are the minimum that usually decides.
pub fn pair_order(rounds: usize) -> Vec<PairSide> {
    use PairSide::{Reference, Suspect};
    [Reference, Suspect, Suspect, Reference].repeat(rounds)
}

/// Judges the pairs of a suspect that was `slower_percent` slower than its class. At least half of
/// that slowdown must remain: in a class whose spread exceeds the minimum effect, a node whose
/// slowness was transient is often slower than the other node of its pair.
pub fn confirm(pairs: &[JobPair], slower_percent: f64, rule: &VerdictRule) -> Confirmation {
    let mut differences = Vec::new();
    for pair in pairs {
        if let (Some(reference), Some(suspect)) =
            (NodeLevel::of(0, &pair.reference), NodeLevel::of(0, &pair.suspect))
        {
            differences.push(suspect.value - reference.value);
        }
    }
    let open = Confirmation::Open { pairs: differences.len() };
    let (Some(size), Some(interval)) = (mean(&differences), mean_interval(&differences, 0.05))
    else {
        return open;
    };
    let effect = rule.effect().max((slower_percent / 100.0).ln_1p() / 2.0);
    let slower_percent = percent(size);
    let interval_percent = [percent(interval.low), percent(interval.high)];
    if size >= effect && interval.low > effect / 2.0 {
        Confirmation::Confirmed { slower_percent, interval_percent }
    } else if size < effect && interval.high < 1.5 * effect {
        Confirmation::Refuted { slower_percent, interval_percent }
    } else {
        open
    }
}
