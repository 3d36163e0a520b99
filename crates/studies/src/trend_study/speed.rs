//! Time of the analysis, compared with apache-otava and by length of the series.

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::Result;
use rsb_stats::TrendSettings;
use rsb_stats::rng::Rng;
use rsb_stats::trend::change_point::detect;

use super::noise::{Noise, otava_of};
use super::trend_of;

const REPEATS: usize = 5;

fn fastest(mut work: impl FnMut()) -> f64 {
    let mut fastest = f64::INFINITY;
    for _ in 0..REPEATS {
        let began = Instant::now();
        work();
        fastest = fastest.min(began.elapsed().as_secs_f64());
    }
    fastest
}

/// Returns the tables of seconds for many short series and for long ones.
pub(super) fn table(otava: Option<&str>) -> Result<String> {
    let mut rng = Rng::new(3);
    let series: Vec<Vec<f64>> = (0..100).map(|_| Noise::Normal.series(&mut rng, 500)).collect();
    let points =
        fastest(|| series.iter().for_each(|values| drop(detect(values, &TrendSettings::DEFAULT))));
    let whole = fastest(|| series.iter().for_each(|values| drop(trend_of(values))));
    let mut text = "| task | seconds | compared with apache-otava |\n|---|---|---|\n".to_owned();
    let peer = match otava {
        Some(python) => otava_of(python, &series, &tempfile::tempdir()?.path().join("series.csv"))?,
        None => None,
    };
    let theirs = peer.map(|(_, seconds)| seconds);
    let _ = writeln!(
        text,
        "| 100 series of 500 points, change points | {points:.4} | {} |",
        format_ratio(points, theirs)
    );
    let _ = writeln!(
        text,
        "| the same, the whole trend | {whole:.4} | {} |",
        format_ratio(whole, theirs)
    );
    if let Some(seconds) = theirs {
        let _ = writeln!(text, "| the same, apache-otava's change points | {seconds:.4} | |");
    }
    text.push_str(
        "\n| points of one series | change points, s | a million points, s | the whole trend, s \
         |\n|---|---|---|---|\n",
    );
    for length in [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000] {
        let values = Noise::Autoregression(0.3).series(&mut rng, length);
        let points = fastest(|| drop(detect(&values, &TrendSettings::DEFAULT)));
        let whole = fastest(|| drop(trend_of(&values)));
        let _ = writeln!(
            text,
            "| {length} | {points:.4} | {:.2} | {whole:.4} |",
            1e6 * points / length as f64
        );
    }
    Ok(text)
}

fn format_ratio(ours: f64, theirs: Option<f64>) -> String {
    theirs.map_or("–".to_owned(), |theirs| format!("{:.0} times as fast", theirs / ours))
}
