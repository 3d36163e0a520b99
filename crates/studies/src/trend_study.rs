//! `cargo xtask trend-study`: how often `trend` reports a change in unchanged series, how soon it
//! detects a step, how well its change points agree with human annotations, and how long it takes.

mod agreement;
mod dataset;
mod noise;
mod power;
mod runners;
mod speed;
mod steps;
mod unchanged;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use rsb_model::Timestamp;
use rsb_model::record::SeriesTrend;
use rsb_stats::{SeriesInput, TrendSettings, trend_with};

const USAGE: &str =
    "cargo xtask trend-study [--count N] [--tcpd DIR] [--series FILE] [--otava PYTHON]";

struct StudyOptions {
    /// Number of seeded series of each kind and length.
    count: usize,
    /// Directory of the Turing Change Point Dataset.
    tcpd: Option<PathBuf>,
    /// CSV file of real benchmark series.
    series: Option<PathBuf>,
    /// Python interpreter with apache-otava.
    otava: Option<String>,
}

impl StudyOptions {
    fn of(arguments: &[String]) -> Result<Self> {
        let mut options = Self { count: 1000, tcpd: None, series: None, otava: None };
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            let value = rest.next().with_context(|| format!("{flag} needs a value: {USAGE}"))?;
            match flag.as_str() {
                "--count" => {
                    options.count =
                        value.parse().with_context(|| format!("`{value}` is not a number"))?;
                }
                "--tcpd" => options.tcpd = Some(PathBuf::from(value)),
                "--series" => options.series = Some(PathBuf::from(value)),
                "--otava" => options.otava = Some(value.clone()),
                _ => bail!("`{flag}` is unknown: {USAGE}"),
            }
        }
        Ok(options)
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = StudyOptions::of(arguments)?;
    let otava = options.otava.as_deref();
    println!("## False change points\n\n{}", noise::table(options.count, otava)?);
    println!("## False reports by series and by call\n\n{}", unchanged::table(options.count));
    println!("## Power\n\n{}", power::table(options.count));
    println!("## How soon a step is seen\n\n{}", steps::table(options.count));
    println!("## Agreement with people\n\n{}", dataset::table(options.tcpd.as_deref())?);
    println!("## Series of hosted runners\n\n{}", runners::table(options.series.as_deref())?);
    println!("## Time\n\n{}", speed::table(otava)?);
    Ok(())
}

/// Returns the result of `trend` on daily `values` with its default settings.
fn trend_of(values: &[f64]) -> SeriesTrend {
    let mut document = trend_with(&[input_of(values)], &TrendSettings::DEFAULT);
    // `trend` returns a series for each input with a finite value.
    document.series.swap_remove(0)
}

fn input_of(values: &[f64]) -> SeriesInput {
    let days =
        (0..).map(|at| Timestamp::from_second(1_700_000_000 + 86_400 * at).unwrap_or_default());
    SeriesInput {
        id: "series".to_owned(),
        metric: "time_ms".to_owned(),
        unit: "ms".to_owned(),
        better: Some(rsb_model::Better::Lower),
        points: days.zip(values.iter().copied()).collect(),
    }
}
