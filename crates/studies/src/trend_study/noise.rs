//! Seeded series without a change, and how often a change is found in them.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rsb_stats::distribution::share_at_most;
use rsb_stats::rng::Rng;

use super::trend_of;
use crate::workspace::root;

const LENGTHS: [usize; 3] = [100, 200, 500];

/// Noise around one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Noise {
    Normal,
    /// One point in twenty is 10 standard deviations too high or too low.
    Outliers,
    /// One point in twenty is 5 to 15 standard deviations too high.
    OneSidedOutliers,
    /// One random point is 15 standard deviations too high.
    Spike,
    /// The last point is 15 standard deviations too high.
    LastSpike,
    /// Neighboring points have this correlation.
    Autoregression(f64),
}

impl Noise {
    const ALL: [Self; 8] = [
        Self::Normal,
        Self::Outliers,
        Self::OneSidedOutliers,
        Self::Spike,
        Self::LastSpike,
        Self::Autoregression(0.3),
        Self::Autoregression(0.5),
        Self::Autoregression(0.7),
    ];

    fn name(self) -> String {
        match self {
            Self::Normal => "normal".to_owned(),
            Self::Outliers => "5 % outliers, ±10 σ".to_owned(),
            Self::OneSidedOutliers => "5 % outliers, +5 to +15 σ".to_owned(),
            Self::Spike => "one spike, +15 σ".to_owned(),
            Self::LastSpike => "a spike in the last point".to_owned(),
            Self::Autoregression(rho) => format!("autoregression, ρ = {rho}"),
        }
    }

    /// Returns `count` values around 100 with a standard deviation of 2 and this noise.
    pub(super) fn series(self, rng: &mut Rng, count: usize) -> Vec<f64> {
        let mut units: Vec<f64> = (0..count).map(|_| rng.normal()).collect();
        match self {
            Self::Normal => {}
            Self::Outliers => {
                for unit in &mut units {
                    if rng.uniform() < 0.05 {
                        *unit += if rng.uniform() < 0.5 { -10.0 } else { 10.0 };
                    }
                }
            }
            Self::OneSidedOutliers => {
                for unit in &mut units {
                    if rng.uniform() < 0.05 {
                        *unit += 5.0 + 10.0 * rng.uniform();
                    }
                }
            }
            Self::Spike => {
                let at = rng.below(count);
                units[at] += 15.0;
            }
            Self::LastSpike => units.iter_mut().rev().take(1).for_each(|unit| *unit += 15.0),
            Self::Autoregression(rho) => {
                let fresh = (1.0 - rho * rho).sqrt();
                for at in 1..count {
                    units[at] = rho * units[at - 1] + fresh * units[at];
                }
            }
        }
        units.into_iter().map(|unit| 100.0 + 2.0 * unit).collect()
    }
}

/// Returns the same `count` series for each noise and length in every call.
fn all(noise: Noise, length: usize, count: usize) -> Vec<Vec<f64>> {
    let mut rng = Rng::new(length as u64 * 7 + 1);
    (0..count).map(|_| noise.series(&mut rng, length)).collect()
}

/// Returns the table of how many of `count` series have a change point, a suspected one, and one
/// found by apache-otava.
pub(super) fn table(count: usize, otava: Option<&str>) -> Result<String> {
    let mut text = format!(
        "{count} seeded series of each kind and length; in brackets the exact 95 % interval \
         (Clopper and Pearson).\n\n\
         | noise | points | series with a change point | with a suspected one | with one by \
         apache-otava |\n|---|---|---|---|---|\n"
    );
    let scratch = tempfile::tempdir()?;
    for noise in Noise::ALL {
        for length in LENGTHS {
            let series = all(noise, length, count);
            let (mut confirmed, mut suspected) = (0, 0);
            for values in &series {
                let found = trend_of(values);
                confirmed += usize::from(!found.change_points.is_empty());
                suspected += usize::from(!found.suspected.is_empty());
            }
            let peer = match otava {
                Some(python) => {
                    let file = scratch.path().join("series.csv");
                    otava_of(python, &series, &file)?
                        .map_or("–".to_owned(), |(found, _)| format_share(found, count))
                }
                None => "–".to_owned(),
            };
            let (confirmed, suspected) =
                (format_share(confirmed, count), format_share(suspected, count));
            let _ = writeln!(
                text,
                "| {} | {length} | {confirmed} | {suspected} | {peer} |",
                noise.name()
            );
        }
    }
    Ok(text)
}

/// Formats a share with its exact 95 % interval: `1.2 % [0.6, 2.1]`.
pub(super) fn format_share(part: usize, whole: usize) -> String {
    let high = share_at_most(part, whole, 0.975);
    let low = 1.0 - share_at_most(whole - part, whole, 0.975);
    let share = 100.0 * part as f64 / whole as f64;
    format!("{share:.1} % [{:.1}, {:.1}]", 100.0 * low, 100.0 * high)
}

/// Returns in how many of `series` apache-otava finds a change point, and the CPU time in seconds.
/// `None` if it is not installed.
pub(super) fn otava_of(
    python: &str,
    series: &[Vec<f64>],
    file: &std::path::Path,
) -> Result<Option<(usize, f64)>> {
    let mut lines = Vec::with_capacity(series.len());
    for values in series {
        lines.push(values.iter().map(f64::to_string).collect::<Vec<_>>().join(","));
    }
    std::fs::write(file, lines.join("\n"))?;
    let script = root().join("scripts/otava_points.py");
    let output = Command::new(python)
        .arg(script)
        .arg(file)
        .output()
        .with_context(|| format!("cannot start {python}"))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(cells) = text.lines().next().map(|line| line.split(',').collect::<Vec<_>>()) else {
        return Ok(None);
    };
    let [_, _, found, seconds] = cells.as_slice() else { return Ok(None) };
    Ok(Some((found.parse()?, seconds.parse()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_their_exact_interval() {
        // SciPy 1.17.1: `scipy.stats.binomtest(k, n).proportion_ci(0.95, "exact")`.
        assert_eq!(format_share(3, 1000), "0.3 % [0.1, 0.9]");
        assert_eq!(format_share(0, 100), "0.0 % [0.0, 3.6]");
        assert_eq!(format_share(38, 1000), "3.8 % [2.7, 5.2]");
    }

    /// Checks the rates stated in docs/trend-study.md, on fewer series.
    #[test]
    fn false_change_points_are_as_rare_as_promised() {
        for (noise, most) in [
            (Noise::Normal, 4),
            (Noise::Outliers, 4),
            (Noise::Spike, 4),
            (Noise::Autoregression(0.5), 15),
        ] {
            let found = all(noise, 100, 200)
                .iter()
                .filter(|values| !trend_of(values).change_points.is_empty())
                .count();
            assert!(found <= most, "{noise:?}: {found} of 200");
        }
    }
}
