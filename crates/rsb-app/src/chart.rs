//! Charts of one run, of two, or of the history, drawn from stored results.

pub mod picture_files;

use std::path::PathBuf;

use anyhow::anyhow;
use rsb_engine::Listener;
use rsb_gate::gate;
use rsb_model::record::TrendDocument;
use rsb_model::{ComparisonResult, Outcome, Run};
use rsb_report::chart::{AxisScale, ChartPlace};
use rsb_report::charts::{CHART_KINDS, ChartKind, ChartOptions, ChartSource, ChartSubject};
use rsb_report::number::format_count;
use rsb_report::{Chart, Glyphs, Style, Theme, ThemeName, picture, pictures};

use crate::compare::compare_sides;
use crate::config::ChartsSection;
use crate::project::chosen_run;
use crate::{AppError, CaseFilter, ProjectContext, history, trend};

/// Maximum lines of a chart with a scale on both axes, and of one with rows.
const FRAME_LINES: usize = 22;
const ROW_LINES: usize = 60;
/// Maximum number of other runs whose results are added to a run.
const MOST_RUNS: usize = 50;
/// Maximum number of machines in a chart; the machines with the latest runs are drawn.
const MACHINES: usize = 6;
/// Maximum number of charts of a history that are shown as text.
const SHOWN: usize = 5;

/// Chart to draw.
#[derive(Debug, Clone)]
pub struct ChartRequest {
    /// The kind of chart.
    pub kind: &'static ChartKind,
    /// The run; `None` for the latest.
    pub run: Option<String>,
    /// Whether to add cases that only other runs of the machine measured.
    pub across_runs: bool,
    /// The cases to draw.
    pub filter: CaseFilter,
    /// Side to compare with; `None` for the saved baseline.
    pub against: Option<String>,
    /// A CSV file, instead of the stored runs.
    pub input: Option<PathBuf>,
    /// Drawing options.
    pub options: ChartOptions,
}

/// Draws the charts of `request`.
///
/// # Errors
/// If its data cannot be read, or contains nothing to draw.
pub fn charts(
    project: &ProjectContext,
    request: &ChartRequest,
    listener: &mut Listener<'_>,
) -> Result<Vec<Chart>, AppError> {
    let kind = request.kind;
    let subject = ChartSubject { options: request.options, ..ChartSubject::default() };
    Ok(match kind.source {
        ChartSource::Run => {
            let store = project.store(listener)?;
            let mut run = chosen_run(&store, request.run.as_deref(), listener)?;
            if request.across_runs {
                run = history::add_other_results(&store, run, MOST_RUNS)?;
            }
            let run = matching_cases(run, &request.filter);
            let subject = ChartSubject { run: Some(&run), ..subject };
            draw(kind, &subject).map_err(|why| nothing(kind, &describe_run(&run), request, why))?
        }
        ChartSource::Comparison => {
            let result = chosen_of(comparison(project, request, listener)?, request);
            let name = format!(
                "the comparison of {} with {}",
                result.current_run_id, result.baseline_run_id
            );
            draw(kind, &ChartSubject { comparison: Some(&result), ..subject })
                .map_err(|why| nothing(kind, &name, request, why))?
        }
        ChartSource::History => {
            let document = trends(project, request, listener)?;
            draw(kind, &ChartSubject { series: &document.series, ..subject })
                .map_err(|why| nothing(kind, "the stored runs", request, why))?
        }
        ChartSource::Machines => machines(project, request, subject, listener)?,
    })
}

/// A kind of chart that the newest run can draw, and a command that draws it.
#[derive(Debug, Clone)]
pub struct DrawableKind {
    /// The kind.
    pub kind: &'static ChartKind,
    /// Arguments of `rusty-stack-bench chart`.
    pub example: String,
}

/// Returns the kinds of charts that the newest run can draw, alone or with the runs before it.
///
/// # Errors
/// If there is no run, or it cannot be read.
pub fn drawable(
    project: &ProjectContext,
    options: ChartOptions,
    listener: &mut Listener<'_>,
) -> Result<Vec<DrawableKind>, AppError> {
    let run = chosen_run(&project.store(listener)?, None, listener)?;
    let mut found = Vec::new();
    for kind in &CHART_KINDS {
        let name = kind.name;
        let example = if kind.source == ChartSource::Run {
            let subject = ChartSubject { run: Some(&run), options, ..ChartSubject::default() };
            kind.draw(&subject).first().map(|chart| match &chart.place {
                ChartPlace::Benchmark(benchmark) => format!("{name} --benchmark {benchmark}"),
                _ => name.to_owned(),
            })
        } else {
            let sides = [None, Some("previous".to_owned())];
            let sides = &sides[..if kind.source == ChartSource::Comparison { 2 } else { 1 }];
            sides.iter().find_map(|against| {
                let request = ChartRequest {
                    kind,
                    run: None,
                    across_runs: false,
                    filter: CaseFilter::default(),
                    against: against.clone(),
                    input: None,
                    options,
                };
                let is_drawn = charts(project, &request, &mut |_| {}).is_ok();
                let side = against.as_ref().map_or("", |_| " --against previous");
                is_drawn.then(|| format!("{name}{side}"))
            })
        };
        found.extend(example.map(|example| DrawableKind { kind, example }));
    }
    Ok(found)
}

/// Draws the newest run of each machine.
fn machines(
    project: &ProjectContext,
    request: &ChartRequest,
    subject: ChartSubject<'_>,
    listener: &mut Listener<'_>,
) -> Result<Vec<Chart>, AppError> {
    let store = project.store(listener)?;
    let mut newest = history::newest_by_machine(&store, &history::runs(&store)?)?;
    for one in &mut newest {
        one.run.benchmarks.retain(|result| request.filter.fits(result.benchmark_id.as_str()));
    }
    let machines: Vec<(&str, &Run)> =
        newest.iter().take(MACHINES).map(|one| (one.machine.as_str(), &one.run)).collect();
    draw(request.kind, &ChartSubject { machines: &machines, ..subject })
        .map_err(|why| nothing(request.kind, "the stored runs", request, why))
}

/// Returns the history in a file, or of the stored runs.
fn trends(
    project: &ProjectContext,
    request: &ChartRequest,
    listener: &mut Listener<'_>,
) -> Result<TrendDocument, AppError> {
    if let Some(file) = &request.input {
        return trend::history_in(file, &request.filter);
    }
    let store = project.store(listener)?;
    // A run has no history of its own, but its branch has.
    let branches = store.branches().map_err(AppError::usage)?;
    let branch = request.run.as_deref().filter(|name| branches.iter().any(|each| each == name));
    if let (Some(run), None) = (&request.run, branch) {
        store.named(run).map_err(AppError::usage)?;
    }
    let metric = request.options.metric.map(|field| field.name);
    trend::history(&store, &request.filter, metric, branch)
}

/// Error: nothing was drawn.
struct NothingDrawn;

fn draw(kind: &ChartKind, subject: &ChartSubject<'_>) -> Result<Vec<Chart>, NothingDrawn> {
    let charts = kind.draw(subject);
    if charts.is_empty() { Err(NothingDrawn) } else { Ok(charts) }
}

/// Names a run for messages, and notes if its results are simulated and therefore not drawn.
fn describe_run(run: &Run) -> String {
    let is_simulated = has_outcome(run, Outcome::Simulated) && !has_outcome(run, Outcome::Measured);
    let why = if is_simulated { ", which is simulated (--simulated draws it)" } else { "" };
    format!("the run {}{why}", run.run_id)
}

fn has_outcome(run: &Run, outcome: Outcome) -> bool {
    run.benchmarks.iter().any(|result| result.outcome == outcome)
}

/// Returns the error that nothing was drawn, with the data that the chart needs.
fn nothing(kind: &ChartKind, of: &str, request: &ChartRequest, _: NothingDrawn) -> AppError {
    let scope = [
        request.options.metric.map(|field| format!("the metric {}", field.name)),
        request.filter.describe(),
    ];
    let scope: Vec<String> = scope.into_iter().flatten().collect();
    let scope =
        if scope.is_empty() { String::new() } else { format!(" of {}", scope.join(" and ")) };
    AppError::usage(anyhow!(
        "{of}: nothing{scope} to draw as `{}`; this chart needs {}",
        kind.name,
        kind.needs
    ))
}

/// Keeps only the cases that match.
fn matching_cases(mut run: Run, filter: &CaseFilter) -> Run {
    run.benchmarks.retain(|result| filter.fits(result.benchmark_id.as_str()));
    run
}

/// Returns the comparison with the requested side, else with the saved baseline.
fn comparison(
    project: &ProjectContext,
    request: &ChartRequest,
    listener: &mut Listener<'_>,
) -> Result<ComparisonResult, AppError> {
    let Some(against) = &request.against else {
        let store = project.store(listener)?;
        let policy = project.policy(None, listener)?;
        let run = chosen_run(&store, request.run.as_deref(), listener)?;
        let found = gate::against_saved(&store, &project.directories, &run, &policy);
        let found = found.map_err(|why| {
            AppError::usage(anyhow!("{why}; name another baseline with --against"))
        })?;
        return found.map(|saved| saved.result).ok_or_else(|| {
            AppError::usage(anyhow!(
                "no baseline of this machine and suite is saved; name a baseline or run to compare \
                 with, such as --against previous"
            ))
        });
    };
    let judge = project.judge(Vec::new(), listener)?;
    Ok(compare_sides(&judge, against, request.run.as_slice())?.result)
}

/// Keeps only the cases and the metric that match.
fn chosen_of(mut result: ComparisonResult, request: &ChartRequest) -> ComparisonResult {
    result.comparisons.retain(|each| request.filter.fits(each.id.as_str()));
    if let Some(metric) = request.options.metric {
        result.comparisons.retain(|each| each.metric == metric.name);
    }
    result
}

/// Returns the error of a section `[charts]` that cannot be used.
pub fn config_error(message: impl std::fmt::Display) -> AppError {
    AppError::usage(anyhow!("[charts]: {message}"))
}

/// Draws `charts` as text, as other subcommands show them above their own output, with the theme
/// and characters of `section`.
///
/// # Errors
/// If the section cannot be used.
pub fn at_a_glance(
    charts: &[Chart],
    section: &ChartsSection,
    style: Style,
) -> Result<String, AppError> {
    let theme = section.theme(ThemeName::Dark).map_err(config_error)?;
    let glyphs = section.glyphs().map_err(config_error)?;
    Ok(pictures(charts, glyphs, &theme, style))
}

/// Draws the charts one below the other, at most `SHOWN` of them.
pub fn page(charts: &[Chart], style: Style, glyphs: Glyphs, theme: &Theme) -> String {
    let drawn = charts.iter().take(SHOWN).map(|chart| {
        let lines = if chart.y_axis.scale == AxisScale::Rows { ROW_LINES } else { FRAME_LINES };
        picture(chart, style.width, lines, glyphs).themed_text(style, theme)
    });
    let mut page = drawn.collect::<Vec<_>>().join("\n");
    if charts.len() > SHOWN {
        let count = format_count(charts.len() - SHOWN, "more chart", "more charts");
        page.push('\n');
        page.push_str(&count);
        page.push_str(
            ": narrow it down with --benchmark, --case or --metric, or write all with \
                       --format html\n",
        );
    }
    page
}
