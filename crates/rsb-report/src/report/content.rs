//! Content of a report, independent of its format: titles, sentences, tables, lists.

use rsb_model::{BenchmarkResult, Better, CaseId, Outcome, Run};

use super::Report;
use crate::label::{
    Shortener, benchmark_of, benchmarks, headline, headline_text, measured_results, roofline_text,
};
use crate::number::{format_count, format_moment};
use crate::run::{self, duration, figures};
use crate::style::Tone;
use crate::table::{Cell, Column, Table};
use crate::{comparison, environment, targets};

/// Returns the title that was set, or one with the machine's name.
pub(crate) fn title(report: &Report<'_>) -> String {
    match report.title {
        Some(title) => title.to_owned(),
        None => format!("Benchmark report: {}", machine_name(report.run)),
    }
}

/// Returns the name of the GPU, or of the CPU.
pub(crate) fn machine_name(run: &Run) -> String {
    let environment = &run.environment;
    let gpu = environment.gpus.iter().find_map(|gpu| gpu.name.clone());
    gpu.or_else(|| environment.cpu.as_ref().and_then(|cpu| cpu.model.clone()))
        .unwrap_or_else(|| "unknown machine".to_owned())
}

pub(crate) fn subtitle(run: &Run) -> String {
    let mut parts = vec![format_moment(run.started), format!("suite {}", run.suite)];
    parts.extend(run.environment.git.as_ref().map(|git| {
        let dirty = if git.dirty { " with changes" } else { "" };
        format!("commit {}{dirty}", git.commit.chars().take(9).collect::<String>())
    }));
    parts.push(format!("run {}", run.run_id));
    parts.join(" · ")
}

/// Returns the verdict as a sentence, and its color.
pub(crate) fn verdict(report: &Report<'_>) -> (Tone, String) {
    match (report.comparison, report.not_compared) {
        (Some(comparison), _) => comparison::verdict_sentence(comparison),
        (None, Some(why)) => (Tone::Caution, format!("Not compared with a baseline: {why}.")),
        (None, None) => (Tone::Caution, "Not compared with a baseline.".to_owned()),
    }
}

/// Summarizes the outcomes of the cases and the targets.
pub(crate) fn counts(report: &Report<'_>) -> String {
    let (counts, targets) =
        (run::counts_line(report.run), targets::sentence(report.threshold_checks));
    format!("{}. {targets}", counts.trim_end_matches('.')).trim_end().to_owned()
}

pub(crate) fn key_figures(run: &Run) -> Table {
    let names = Shortener::of_run(run);
    let mut table = Table::new([
        Column::left("benchmark"),
        Column::right("best"),
        Column::right("roofline"),
        Column::left("case"),
    ]);
    for name in benchmarks(run) {
        if let Some(best) =
            best(measured_results(run).filter(|result| benchmark_of(result) == name))
        {
            let case = names.case(&best.benchmark_id);
            let figure = Cell::with_tone(headline_text(best), Tone::Strong);
            table.push([
                Cell::from(name),
                figure,
                Cell::from(roofline_text(best)),
                Cell::from(case),
            ]);
        }
    }
    table
}

/// Returns the result with the best headline metric. The metric is that of the first result that
/// has one; results with other metrics are ignored.
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

pub(crate) struct CaseGroup<'a> {
    /// Benchmark name; empty if the ids have none.
    pub(crate) benchmark: &'a str,
    pub(crate) table: Table,
    pub(crate) ids: Vec<&'a CaseId>,
}

impl CaseGroup<'_> {
    pub(crate) fn title(&self) -> &str {
        if self.benchmark.is_empty() { "Results" } else { self.benchmark }
    }
}

/// Returns the results by benchmark, with at most `most` cases that did not fail, and the number of
/// those left out. Failed cases are never left out.
pub(crate) fn families(run: &Run, most: usize) -> (Vec<CaseGroup<'_>>, usize) {
    let names = Shortener::of_run(run);
    let (mut families, mut shown, mut left_out) = (Vec::new(), 0, 0);
    for benchmark in benchmarks(run) {
        let mut table = Table::new([
            Column::left("case"),
            Column::right("time"),
            Column::right("value"),
            Column::right("spread"),
            Column::right("roofline"),
            Column::right("instructions"),
            Column::left("outcome"),
        ]);
        let mut ids = Vec::new();
        for result in &run.benchmarks {
            if benchmark_of(result) != benchmark || result.outcome == Outcome::Skipped {
                continue;
            }
            let may_go = result.outcome != Outcome::Failed;
            if may_go && shown >= most {
                left_out += 1;
                continue;
            }
            shown += usize::from(may_go);
            table.push(
                std::iter::once(Cell::from(names.case(&result.benchmark_id)))
                    .chain(figures(result)),
            );
            ids.push(&result.benchmark_id);
        }
        if !table.is_empty() {
            families.push(CaseGroup { benchmark, table, ids });
        }
    }
    (families, left_out)
}

/// Returns the differences between the machine now and when the baseline was measured.
pub(crate) fn differences(report: &Report<'_>) -> Option<Table> {
    let table = environment::differences(report.baseline?, &report.run.environment);
    (!table.is_empty()).then_some(table)
}

/// Describes how the results were measured, as far as recorded, and what disturbed them.
pub(crate) fn method(run: &Run) -> Vec<String> {
    let mut lines = vec![format!("profile: {}", run.profile)];
    let sampled: Vec<&BenchmarkResult> =
        run.benchmarks.iter().filter(|result| !result.samples.is_empty()).collect();
    let replicates = format_range(&sampled, |result| result.samples.len());
    lines.extend(replicates.map(|n| format!("replicates (each in a fresh process): {n} per case")));
    let samples =
        format_range(&sampled, |result| result.samples.iter().map(rsb_model::Samples::len).sum());
    lines.extend(samples.map(|n| format!("samples: {n} per case")));
    lines.extend(run.texts_of_cases("estimator").into_iter().map(|(text, cases)| {
        let extent = format!(" ({})", format_count(cases, "case", "cases"));
        format!("estimator: {text}{}", if cases >= sampled.len() { "" } else { &extent })
    }));
    lines.extend(duration(run).map(|time| format!("duration of the run: {time}")));
    lines.push("spread: standard deviation of all samples of a case over their mean".to_owned());
    lines.extend(run.case_notes().into_iter().map(|note| {
        match (note.varies, note.cases >= sampled.len()) {
            (false, true) => note.worst,
            (false, false) => {
                format!("{} ({})", note.worst, format_count(note.cases, "case", "cases"))
            }
            (true, _) => format!("{} (the worst of {} cases)", note.worst, note.cases),
        }
    }));
    lines
}

/// Formats the smallest and largest `count` of `results` as `3` or `3 to 5`.
fn format_range(
    results: &[&BenchmarkResult],
    count: fn(&BenchmarkResult) -> usize,
) -> Option<String> {
    let low = results.iter().map(|result| count(result)).min()?;
    let high = results.iter().map(|result| count(result)).max()?;
    Some(if low == high { low.to_string() } else { format!("{low} to {high}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_kind_of_problem_is_noted_once_with_its_worst_figure() {
        let mut run = sample::run();
        let loads = ["4.5", "14.7", "4.9"]
            .map(|load| format!("the load average reached {load} on 2 threads"));
        for result in &mut run.benchmarks {
            result.metadata.remove("notes");
        }
        for (result, load) in run.benchmarks.iter_mut().zip(&loads) {
            result.metadata.insert("notes".to_owned(), vec![load.as_str(), "cold"].into());
        }
        let lines = method(&run);
        let notes = lines.get(lines.len() - 2..).unwrap();
        assert_eq!(
            notes,
            ["cold (3 cases)", "the load average reached 14.7 on 2 threads (the worst of 3 cases)"]
        );
    }

    #[test]
    fn what_is_left_out_is_counted_and_nothing_that_failed_is_left_out() {
        let run = sample::run();
        let (families_of_all, _) = families(&run, usize::MAX);
        let all: usize = families_of_all.iter().map(|family| family.table.rows().len()).sum();
        let counts = run.counts();
        assert_eq!(all, counts.measured + counts.failed + counts.simulated);
        assert!(counts.failed > 0);
        for most in [0, 1, 3, all] {
            let (families, left_out) = families(&run, most);
            let shown: usize = families.iter().map(|family| family.table.rows().len()).sum();
            assert_eq!(shown + left_out, all);
            let failed = families
                .iter()
                .flat_map(|family| family.table.rows())
                .filter(|row| row.cells.last().is_some_and(|cell| cell.text == "failed"));
            assert_eq!(failed.count(), counts.failed);
        }
    }
}
