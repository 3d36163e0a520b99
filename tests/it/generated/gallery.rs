//! docs/gallery.md: every kind of chart in text and SVG, drawn from the real runs in docs/gallery.

mod rows;

use std::fmt::Write as _;

use rsb_model::record::TrendDocument;
use rsb_model::{ComparisonResult, Field, Run};
use rsb_report::charts::{ChartKind, ChartOptions, ChartSource, ChartSubject};
use rsb_report::{Chart, svg};
use rsb_stats::trend::TrendSettings;
use rsb_stats::{Policy, SeriesInput, trend_with};

use self::rows::{HEAD, ROWS};
use super::{check, root};

/// A row: its heading, the arguments of `rusty-stack-bench chart`, and a part of the name of the
/// chart to show.
struct Row {
    heading: &'static str,
    command: &'static str,
    name: &'static str,
}

const fn shown(heading: &'static str, command: &'static str, name: &'static str) -> Row {
    Row { heading, command, name }
}

/// Arguments of a command.
struct Words<'a> {
    kind: &'static ChartKind,
    rest: Vec<&'a str>,
}

impl<'a> Words<'a> {
    /// Returns the value of the flag `name`.
    fn flag(&self, name: &str) -> Option<&'a str> {
        let at = self.rest.iter().position(|word| *word == name)?;
        self.rest.get(at + 1).copied()
    }
}

fn words(command: &str) -> Words<'_> {
    let mut parts = command.split_whitespace();
    let kind = parts
        .next()
        .and_then(ChartKind::find)
        .unwrap_or_else(|| panic!("`{command}` must start with a chart kind"));
    Words { kind, rest: parts.collect() }
}

fn read(file: &str, pattern: Option<&str>) -> Run {
    let mut run = rsb_store::read_run(&root().join(file)).unwrap();
    if let Some(pattern) = pattern {
        run.benchmarks.retain(|result| {
            rsb_stats::glob::matches(&format!("*{pattern}*"), result.benchmark_id.as_str())
        });
    }
    run
}

fn compared(before: &str, after: &str, pattern: Option<&str>) -> ComparisonResult {
    let (before, after) = (read(before, pattern), read(after, pattern));
    let moment = after.started;
    rsb_stats::gate(&[before], &[after], &Policy::default(), &[], moment)
}

fn history(file: &str, pattern: Option<&str>) -> TrendDocument {
    let mut series = rsb_store::read_series(&root().join(file)).unwrap();
    if let Some(pattern) = pattern {
        series.retain(|series| rsb_stats::glob::matches(&format!("*{pattern}*"), &series.id));
    }
    let inputs: Vec<SeriesInput> = series
        .iter()
        .map(|series| SeriesInput {
            id: series.id.clone(),
            metric: series.metric.clone(),
            unit: series.unit.clone(),
            better: series.better,
            points: series.points.iter().map(|point| (point.timestamp, point.value)).collect(),
        })
        .collect();
    trend_with(&inputs, &TrendSettings::DEFAULT)
}

fn chart(row: &Row) -> Chart {
    let words = words(row.command);
    let pattern = words.flag("--case").or(words.flag("--benchmark"));
    let metric = words.flag("--metric").map(|name| Field::find(name).unwrap());
    #[allow(clippy::needless_update, reason = "further options have their default here")]
    let options = ChartOptions { metric, ..ChartOptions::default() };
    let subject = ChartSubject { options, ..ChartSubject::default() };
    let charts = match words.kind.source {
        ChartSource::Run => {
            let run = read(words.rest[0], pattern);
            words.kind.draw(&ChartSubject { run: Some(&run), ..subject })
        }
        ChartSource::Comparison => {
            let result = compared(words.flag("--against").unwrap(), words.rest[0], pattern);
            words.kind.draw(&ChartSubject { comparison: Some(&result), ..subject })
        }
        ChartSource::History => {
            let document = history(words.flag("--input").unwrap(), pattern);
            words.kind.draw(&ChartSubject { series: &document.series, ..subject })
        }
        // The gallery has no stored runs of several machines.
        ChartSource::Machines => Vec::new(),
    };
    let names: Vec<String> = charts.iter().map(|chart| chart.name.clone()).collect();
    let found = charts.into_iter().find(|chart| chart.name.contains(row.name));
    found.unwrap_or_else(|| {
        panic!("`chart {}` must draw `{}`; it draws {names:?}", row.command, row.name)
    })
}

/// Kinds without a picture, and why.
const NOT_DRAWN: [(&str, &str); 2] = [
    ("sensors", "no run on a GPU with sensors was recorded yet"),
    ("machines", "it compares the stored runs of several machines"),
];

/// Returns the page, and its pictures by name.
fn page() -> (String, Vec<(String, String)>) {
    let mut text = HEAD.to_owned();
    let mut pictures: Vec<(String, String)> = Vec::new();
    for row in ROWS {
        let chart = chart(row);
        let name = format!("{:02}-{}", pictures.len() + 1, chart.file_name());
        let (heading, command) = (row.heading, row.command);
        writeln!(
            text,
            "| [<img src=\"gallery/{name}\" alt=\"{heading}\" width=\"320\">](gallery/{name}) | \
             **{heading}**<br>`chart {command}` |"
        )
        .unwrap();
        pictures.push((name, svg(&chart).unwrap()));
    }
    text.push('\n');
    for (name, why) in NOT_DRAWN {
        writeln!(text, "`{name}` has no picture: {why}.\n").unwrap();
    }
    (text.trim_end().to_owned() + "\n", pictures)
}

#[test]
fn the_gallery_is_drawn_of_the_runs_beside_it() {
    let (text, pictures) = page();
    for (name, picture) in &pictures {
        check(&root().join("docs/gallery").join(name), picture);
    }
    check(&root().join("docs/gallery.md"), &text);
    for entry in std::fs::read_dir(root().join("docs/gallery")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap().to_owned();
        let is_known = path.extension().is_none_or(|extension| extension != "svg")
            || pictures.iter().any(|(known, _)| *known == name);
        assert!(is_known, "docs/gallery/{name} is not in a row: delete it");
    }
}

#[test]
fn every_kind_is_in_the_gallery() {
    for kind in &rsb_report::charts::CHART_KINDS {
        let is_shown = ROWS.iter().any(|row| row.command.split(' ').next() == Some(kind.name));
        let is_left_out = NOT_DRAWN.iter().any(|(name, _)| *name == kind.name);
        assert_ne!(is_shown, is_left_out, "`{}` must have a row or a reason", kind.name);
    }
}
