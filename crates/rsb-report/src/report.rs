//! The whole report on a run: what a person opens after a night of measuring.

use std::collections::BTreeSet;

use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::ThresholdCheck;
use rsb_model::run::kind_of_note;
use rsb_model::{BenchmarkResult, Better, ComparisonResult, Outcome, Run};
use serde::Serialize;

use crate::chart::{ChartLink, ChartPlace};
use crate::comparison::{self, Detail};
use crate::document::{ReportError, json as to_json};
use crate::label::{Shortener, benchmark_of, benchmarks, headline, headline_text, measured, roofline_text};
use crate::markdown::{escape, image};
use crate::number::{format_count, format_moment};
use crate::run::{self, duration, figures};
use crate::style::{Style, Tone};
use crate::table::{Cell, Column, Table};
use crate::{backends, environment, targets, unmeasured};

/// A run, with what it was compared with and the targets it was held to.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Report<'a> {
    format_version: u32,
    run: &'a Run,
    comparison: Option<&'a ComparisonResult>,
    threshold_checks: &'a [ThresholdCheck],
}

impl<'a> Report<'a> {
    /// A report on `run` alone.
    pub const fn new(run: &'a Run) -> Self {
        Self { format_version: FORMAT_VERSION, run, comparison: None, threshold_checks: &[] }
    }

    /// With what came out of comparing it. Its targets are taken over, unless others were given.
    #[must_use]
    pub fn with_comparison(mut self, comparison: &'a ComparisonResult) -> Self {
        self.comparison = Some(comparison);
        if self.threshold_checks.is_empty() {
            self.threshold_checks = &comparison.threshold_checks;
        }
        self
    }

    /// With absolute targets.
    #[must_use]
    pub const fn with_checks(mut self, checks: &'a [ThresholdCheck]) -> Self {
        self.threshold_checks = checks;
        self
    }

    /// The run.
    pub const fn run(&self) -> &'a Run {
        self.run
    }

    /// The comparison, if there was one.
    pub const fn comparison(&self) -> Option<&'a ComparisonResult> {
        self.comparison
    }
}

/// For programs: `{format_version, run, comparison, threshold_checks}`.
///
/// # Errors
/// When the data has no form in JSON.
pub fn json(report: &Report<'_>) -> Result<String, ReportError> {
    to_json(report)
}

/// Every metric of every case; see [`run::csv_rows`].
///
/// # Errors
/// Never for data that the model can hold.
pub fn csv(report: &Report<'_>) -> Result<String, ReportError> {
    run::csv_rows(report.run)
}

/// For a terminal: the run, then the comparison or the targets; the verdict is the last line.
pub fn text(report: &Report<'_>, style: Style) -> String {
    let mut out = run::text(report.run, style);
    let shown = report.comparison.is_some_and(|comparison| comparison.threshold_checks == report.threshold_checks);
    if !shown && !report.threshold_checks.is_empty() {
        out.push('\n');
        out.push_str(targets::text(report.threshold_checks, style).trim_end());
        out.push('\n');
    }
    if let Some(comparison) = report.comparison {
        out.push('\n');
        out.push_str(&comparison::text(comparison, style, Detail::Brief));
    }
    out
}

/// As a Markdown document with `charts` beside what they show.
pub fn markdown(report: &Report<'_>, charts: &[ChartLink]) -> String {
    let run = report.run;
    let mut out = format!("# Benchmark report: {}\n\n", escape(&machine_name(run)));
    out.push_str(&format!("{}\n\n{}\n\n", escape(&subtitle(run)), verdict(report)));
    out.extend(run.notes.iter().map(|note| format!("> **Note:** {}\n\n", escape(&note.to_string()))));
    out.push_str(&key_figures(run));
    out.push_str(&targets::markdown(report.threshold_checks));
    if let Some(comparison) = report.comparison {
        out.push_str("## Comparison\n\n");
        out.push_str(&comparison::markdown_body(comparison, Detail::Brief));
        out.push('\n');
        out.push_str(&images(charts, &ChartPlace::Comparison));
    }
    out.push_str(&backends::markdown(run, &images(charts, &ChartPlace::Backends)));
    out.push_str(&results(run, charts));
    out.push_str(&images(charts, &ChartPlace::Other));
    out.push_str(&unmeasured::markdown(run));
    out.push_str(&method(run));
    out.push_str("## Environment\n\n");
    out.push_str(environment::markdown(&run.environment).trim_end());
    out.push('\n');
    out
}

fn machine_name(run: &Run) -> String {
    let environment = &run.environment;
    let gpu = environment.gpus.iter().find_map(|gpu| gpu.name.clone());
    let cpu = || environment.cpu.as_ref().and_then(|cpu| cpu.model.clone());
    gpu.or_else(cpu).unwrap_or_else(|| "unknown machine".to_owned())
}

fn subtitle(run: &Run) -> String {
    let mut parts = vec![format_moment(run.started), format!("suite {}", run.suite)];
    parts.extend(run.environment.git.as_ref().map(|git| {
        let dirty = if git.dirty { " with changes" } else { "" };
        format!("commit {}{dirty}", git.commit.chars().take(9).collect::<String>())
    }));
    parts.push(format!("run {}", run.run_id));
    parts.join(" · ")
}

/// The first thing that a reader wants to know.
fn verdict(report: &Report<'_>) -> String {
    let (counts, targets) = (run::counts_line(report.run), targets::sentence(report.threshold_checks));
    let verdict = report.comparison.map_or_else(
        || "**No baseline was compared with.**".to_owned(),
        |comparison| format!("**{}**", escape(&comparison::verdict_sentence(comparison).1)),
    );
    format!("{verdict} {counts}. {targets}").replace(".. ", ". ").trim_end().to_owned()
}

/// The best result of each benchmark.
fn key_figures(run: &Run) -> String {
    let names = Shortener::of_run(run);
    let mut table =
        Table::new([Column::left("benchmark"), Column::right("best"), Column::right("roofline"), Column::left("case")]);
    for name in benchmarks(run) {
        if let Some(best) = best(measured(run).filter(|result| benchmark_of(result) == name)) {
            let case = names.case(&best.benchmark_id);
            let figure = Cell::toned(headline_text(best), Tone::Strong);
            table.push([Cell::from(name), figure, Cell::from(roofline_text(best)), Cell::from(case)]);
        }
    }
    if table.is_empty() { String::new() } else { format!("## Key figures\n\n{}\n", table.markdown()) }
}

/// The best by the headline of the first that has one; other figures are not compared with it.
fn best<'a>(results: impl Iterator<Item = &'a BenchmarkResult>) -> Option<&'a BenchmarkResult> {
    let mut best: Option<(&BenchmarkResult, &str, f64)> = None;
    for result in results {
        let Some((field, value)) = headline(result) else { continue };
        let better = match (best, field.better()) {
            (None, _) => true,
            (Some((_, name, _)), _) if name != field.name => false,
            (Some((_, _, known)), Some(Better::Higher)) => value > known,
            (Some((_, _, known)), _) => value < known,
        };
        if better {
            best = Some((result, field.name, value));
        }
    }
    best.map(|(result, ..)| result)
}

fn results(run: &Run, charts: &[ChartLink]) -> String {
    let mut out = String::new();
    for name in benchmarks(run) {
        let table = family(run, name);
        if table.is_empty() {
            continue;
        }
        let title = if name.is_empty() { "Results" } else { name };
        out.push_str(&format!("## {}\n\n{}\n", escape(title), table.markdown()));
        out.push_str(&images(charts, &ChartPlace::Benchmark(name.to_owned())));
    }
    out
}

fn family(run: &Run, name: &str) -> Table {
    let names = Shortener::of_run(run);
    let mut table = Table::new([
        Column::left("case"),
        Column::right("time"),
        Column::right("figure"),
        Column::right("spread"),
        Column::right("roofline"),
        Column::left("outcome"),
    ]);
    let shown = |result: &&BenchmarkResult| benchmark_of(result) == name && result.outcome != Outcome::Skipped;
    for result in run.benchmarks.iter().filter(shown) {
        table.push(std::iter::once(Cell::from(names.case(&result.benchmark_id))).chain(figures(result)));
    }
    table
}

fn images(charts: &[ChartLink], place: &ChartPlace) -> String {
    charts
        .iter()
        .filter(|chart| chart.place == *place)
        .map(|chart| format!("{}\n\n", image(&chart.title, &chart.path)))
        .collect()
}

/// How the figures came about, as far as the run says.
fn method(run: &Run) -> String {
    let mut lines = vec![format!("profile: {}", run.profile)];
    let sampled = || run.benchmarks.iter().filter(|result| !result.samples.is_empty());
    let range = |count: &dyn Fn(&BenchmarkResult) -> usize| {
        let (low, high) = (sampled().map(count).min()?, sampled().map(count).max()?);
        Some(if low == high { low.to_string() } else { format!("{low} to {high}") })
    };
    let replicates = range(&|result| result.samples.len());
    lines.extend(replicates.map(|n| format!("replicates (each in a fresh process): {n} a case")));
    let samples = range(&|result| result.samples.iter().map(rsb_model::Samples::len).sum());
    lines.extend(samples.map(|n| format!("samples: {n} a case")));
    lines.extend(metadata(run, "estimator").into_iter().map(|text| format!("estimator: {text}")));
    lines.extend(duration(run).map(|time| format!("duration of the run: {time}")));
    lines.push("spread: standard deviation of all samples of a case over their mean".to_owned());
    lines.extend(notes(run));
    let list: String = lines.iter().map(|line| format!("- {}\n", escape(line))).collect();
    format!("## How it was measured\n\n{list}\n")
}

/// What the results say under `key`, each thing once; with the number of cases where it is not said of all.
fn metadata(run: &Run, key: &str) -> Vec<String> {
    let said = |(text, count): (String, usize)| {
        if count >= count_sampled(run) { text } else { format!("{text} ({})", format_count(count, "case", "cases")) }
    };
    counted(run, key).into_iter().map(said).collect()
}

/// What disturbed the cases, each kind once: that with the highest figure stands for the others.
fn notes(run: &Run) -> Vec<String> {
    let mut kinds: Vec<(String, usize, bool)> = Vec::new();
    for (text, count) in counted(run, "notes") {
        match kinds.iter_mut().find(|(known, ..)| kind_of_note(known) == kind_of_note(&text)) {
            Some((known, all, several)) => {
                if figure(&text) > figure(known) {
                    *known = text;
                }
                (*all, *several) = (*all + count, true);
            }
            None => kinds.push((text, count, false)),
        }
    }
    let said = |(text, count, several): (String, usize, bool)| match (several, count >= count_sampled(run)) {
        (false, true) => text,
        (false, false) => format!("{text} ({})", format_count(count, "case", "cases")),
        (true, _) => format!("{text} (so or less in {count} cases)"),
    };
    kinds.into_iter().map(said).collect()
}

/// The first figure in `text`.
fn figure(text: &str) -> f64 {
    let rest = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest.get(..end).and_then(|number| number.trim_end_matches('.').parse().ok()).unwrap_or(0.0)
}

/// Cases with samples.
fn count_sampled(run: &Run) -> usize {
    run.benchmarks.iter().filter(|result| !result.samples.is_empty()).count()
}

/// What the results say under `key`, each thing once, with the number of cases that say it.
fn counted(run: &Run, key: &str) -> Vec<(String, usize)> {
    let texts = |result: &BenchmarkResult| -> BTreeSet<String> {
        let Some(value) = result.metadata.get(key) else { return BTreeSet::new() };
        let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let mut counts: Vec<(String, usize)> = Vec::new();
    for text in run.benchmarks.iter().flat_map(texts) {
        match counts.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => counts.push((text, 1)),
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_kind_of_problem_is_noted_once_with_its_worst_figure() {
        let mut run = sample::run();
        let loads = ["4.5", "14.7", "4.9"].map(|load| format!("the load average reached {load} on 2 threads"));
        for result in &mut run.benchmarks {
            result.metadata.remove("notes");
        }
        for (result, load) in run.benchmarks.iter_mut().zip(&loads) {
            result.metadata.insert("notes".to_owned(), vec![load.as_str(), "cold"].into());
        }
        let notes = notes(&run);
        assert_eq!(notes, ["cold (3 cases)", "the load average reached 14.7 on 2 threads (so or less in 3 cases)"]);
    }
}
