//! Seeded series without a change, analyzed alone and in calls of many series: how often a series
//! or a call reports a change.

use std::fmt::Write as _;

use rsb_model::record::{AlertBasis, SeriesTrend};
use rsb_stats::rng::Rng;
use rsb_stats::trend;

use super::input_of;
use super::noise::format_share;

const LENGTHS: [usize; 3] = [40, 100, 250];

const SERIES_OF_A_CALL: usize = 20;

/// Time factor of the second machine type.
const SLOWER: f64 = 1.3;

/// Series without a change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Unchanged {
    /// Normal noise, CV 2 %.
    Normal,
    /// Skewed noise: the logarithm has a standard deviation of 0.5.
    Lognormal,
    /// This share of the runs is from a machine with 1.3 times the time; CV 1 %.
    TwoValued(f64),
    /// Consecutive values have this correlation; CV 2 %.
    Autoregression(f64),
    /// The level rises by this share from the first to the last point; CV 2 %.
    Drift(f64),
}

impl Unchanged {
    const ALL: [Self; 11] = [
        Self::Normal,
        Self::Lognormal,
        Self::TwoValued(0.05),
        Self::TwoValued(0.1),
        Self::TwoValued(0.2),
        Self::TwoValued(0.3),
        Self::TwoValued(0.5),
        Self::Autoregression(0.3),
        Self::Autoregression(0.6),
        Self::Drift(0.1),
        Self::Drift(0.3),
    ];

    fn name(self) -> String {
        match self {
            Self::Normal => "normal".to_owned(),
            Self::Lognormal => "lognormal, σ = 0.5".to_owned(),
            Self::TwoValued(share) => format!("two-valued, share {share}"),
            Self::Autoregression(rho) => format!("autoregression, ρ = {rho}"),
            Self::Drift(rise) => format!("drift, +{:.0} % in all", 100.0 * rise),
        }
    }

    pub(super) fn series(self, rng: &mut Rng, count: usize) -> Vec<f64> {
        let mut last = rng.normal();
        let mut values = Vec::with_capacity(count);
        for at in 0..count {
            let noise = rng.normal();
            let value = match self {
                Self::Normal => 1.0 + 0.02 * noise,
                Self::Lognormal => (0.5 * noise).exp(),
                Self::TwoValued(share) => {
                    let level = if rng.uniform() < share { SLOWER } else { 1.0 };
                    level * (1.0 + 0.01 * noise)
                }
                Self::Autoregression(rho) => {
                    last = rho * last + (1.0 - rho * rho).sqrt() * noise;
                    1.0 + 0.02 * last
                }
                Self::Drift(rise) => (1.0 + rise * at as f64 / count as f64) * (1.0 + 0.02 * noise),
            };
            values.push(100.0 * value);
        }
        values
    }

    /// Returns whether `found` reports a change that does not exist: a change of level, a ramp, or,
    /// in a series without drift, the alert of a drift.
    fn is_false(self, found: &SeriesTrend) -> bool {
        let is_drifting = matches!(self, Self::Drift(_));
        let is_step = !found.change_points.is_empty() || found.ramp.is_some();
        let has_drift = found.alerts.iter().any(|alert| alert.basis == AlertBasis::Drift);
        is_step || (!is_drifting && has_drift)
    }
}

fn is_suspected(found: &SeriesTrend) -> bool {
    !found.suspected.is_empty()
}

/// Returns the table of how many series and calls of each kind report or suspect a change.
pub(super) fn table(count: usize) -> String {
    let calls = (count / 5).max(1);
    let mut text = format!(
        "{calls} calls of {SERIES_OF_A_CALL} seeded series without a change of level, for each \
         kind and length; each series is judged by itself and within its call. *False* is a change \
         of level, a ramp, or the alert of a drift (if there is none). In brackets the exact 95 % \
         interval.\n\n| series | points | series: false | series: suspected | calls: false | \
         calls: suspected |\n|---|---|---|---|---|---|\n"
    );
    for kind in Unchanged::ALL {
        for length in LENGTHS {
            let mut rng = Rng::new(length as u64 * 29 + 11);
            let mut counts = [0; 4];
            for _ in 0..calls {
                let all: Vec<_> = (0..SERIES_OF_A_CALL)
                    .map(|_| input_of(&kind.series(&mut rng, length)))
                    .collect();
                for one in &all {
                    let found = trend(std::slice::from_ref(one)).series;
                    counts[0] += usize::from(found.iter().any(|found| kind.is_false(found)));
                    counts[1] += usize::from(found.iter().any(is_suspected));
                }
                let together = trend(&all).series;
                counts[2] += usize::from(together.iter().any(|found| kind.is_false(found)));
                counts[3] += usize::from(together.iter().any(is_suspected));
            }
            let series = calls * SERIES_OF_A_CALL;
            let cells = [(0, series), (1, series), (2, calls), (3, calls)]
                .map(|(at, whole)| format_share(counts[at], whole));
            let _ = writeln!(text, "| {} | {length} | {} |", kind.name(), cells.join(" | "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the rates stated in docs/trend-study.md, on fewer series.
    #[test]
    fn two_alternating_levels_are_no_change() {
        for share in [0.05, 0.1, 0.2, 0.3, 0.5] {
            let mut rng = Rng::new(1);
            let found = (0..200).map(|_| {
                super::super::trend_of(&Unchanged::TwoValued(share).series(&mut rng, 100))
            });
            let found = found.filter(|found| Unchanged::TwoValued(share).is_false(found)).count();
            assert!(found <= 4, "share {share}: {found} of 200");
        }
    }
}
