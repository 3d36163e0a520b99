//! Pictures of results as SVG: size against throughput, bars, samples, comparisons, trends.
//!
//! Text is kept as text, so that a reader can search it and a browser sets it in its own font. Colours are told
//! apart with any kind of colour vision; shape or position always says the same thing again.

mod axis;
mod backends;
mod bars;
mod canvas;
mod comparison;
mod distribution;
#[cfg(test)]
mod tests;
mod throughput;
mod trend;

use serde::Serialize;

pub use backends::backends;
pub use bars::bars;
pub use comparison::comparison;
pub use distribution::distribution;
pub use throughput::throughput_by_size;
pub use trend::trend_chart;

use crate::label::{measured, spread_percent};
use crate::report::Report;

/// The part of a report that a chart belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Beside the results of this benchmark.
    Benchmark(String),
    /// Beside the backends of one piece of hardware.
    Backends,
    /// Beside the comparison.
    Comparison,
    /// After the results.
    Other,
}

/// A chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// Short, unique in a report, fit for a file's name; without an ending.
    pub name: String,
    /// For people.
    pub title: String,
    /// Where it belongs.
    pub place: Place,
    /// The picture.
    pub svg: String,
}

/// A chart as a document refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartLink {
    /// For people.
    pub title: String,
    /// Of the SVG file, relative to the document, with slashes.
    pub path: String,
    /// Where it belongs.
    pub place: Place,
}

impl Chart {
    /// The file's name: `bars-gemm.svg`.
    pub fn file_name(&self) -> String {
        format!("{}.svg", self.name)
    }

    /// A link to the chart once it is written to `folder`, which is relative to the document.
    pub fn link(&self, folder: &str) -> ChartLink {
        let path = match folder.trim_end_matches('/') {
            "" => self.file_name(),
            folder => format!("{folder}/{}", self.file_name()),
        };
        ChartLink { title: self.title.clone(), path, place: self.place.clone() }
    }
}

/// Distributions are drawn for this many of the noisiest cases.
const NOISIEST: usize = 3;

/// Every chart that says something about `report`.
pub fn all(report: &Report<'_>) -> Vec<Chart> {
    let run = report.run();
    let mut charts = throughput_by_size(run);
    // Where a chart by size says it all, forty bars add nothing.
    let by_size: Vec<Place> = charts.iter().map(|chart| chart.place.clone()).collect();
    charts.extend(bars(run).into_iter().filter(|chart| !by_size.contains(&chart.place)));
    charts.extend(backends(run));
    charts.extend(report.comparison().and_then(comparison));
    let mut noisiest: Vec<_> = measured(run).filter_map(|result| Some((spread_percent(result)?, result))).collect();
    noisiest.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    charts.extend(noisiest.iter().filter_map(|(_, result)| distribution(result)).take(NOISIEST));
    charts
}

/// `text` as part of a file's name.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '.' => slug.push(c.to_ascii_lowercase()),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    slug.truncate(100);
    slug.trim_end_matches(['-', '.']).to_owned()
}
