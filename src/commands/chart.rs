//! Draws charts of a run, of two, or of the history: for a terminal, as pictures, as a page.

mod picture_files;

use std::path::Path;

use anyhow::anyhow;
use rsb_gate::Directories;
use rsb_gate::gate::{self, Judge, SideName};
use rsb_insight::model_results::{self, RecommendRequest};
use rsb_model::record::TrendDocument;
use rsb_model::{ComparisonResult, Outcome, Run};
use rsb_report::chart::AxisScale;
use rsb_report::charts::{ChartKind, ChartSource, ChartSubject, kinds_table};
use rsb_report::number::format_count;
use rsb_report::{Chart, Color, Glyphs, Style, Theme, ThemeName, chart_page, picture};
use rsb_store::Store;

use super::{judge, recommend, report, settings, trend};
use crate::cli::{ChartArgs, ChartFormat, FilterArgs};
use crate::config::{ChartsSection, Config};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Lines of a chart with a scale on both axes, and of one with rows at most.
const FRAME_LINES: usize = 22;
const ROW_LINES: usize = 60;
/// A history of many series shows this many of its charts as text.
const SHOWN: usize = 5;

/// The verb `chart`.
///
/// # Errors
/// When what is asked for cannot be read, or holds nothing that could be drawn.
pub fn run(args: &ChartArgs, style: Style) -> CliResult {
    if args.input.is_some() && args.kind.is_none_or(|kind| kind.source != ChartSource::History) {
        return Err(CliError::usage(anyhow!(
            "--input is a series over time: draw it as `trend` or `sparkline`"
        )));
    }
    let width = if style.width == usize::MAX { show::DRAWING_WIDTH } else { style.width };
    let style = Style { width: args.width.map_or(width, usize::from), ..style };
    let (config, directories) = settings::load(&args.places)?;
    let Some(kind) = args.kind else {
        show::text(&kinds_table().text(style))?;
        return Ok(Exit::Pass);
    };
    let charts = match kind.source {
        ChartSource::Run => {
            let store = gate::open(&directories, &mut console::tell)?;
            let run = matching_cases(the_run(args, &store)?, &args.filter);
            draw(
                kind,
                &ChartSubject { run: Some(&run), metric: args.metric, ..ChartSubject::default() },
            )
            .map_err(|why| nothing(kind, &describe_run(&run), args, why))?
        }
        ChartSource::Comparison => {
            let result = chosen_of(comparison(args, &config, directories)?, args);
            let name = format!(
                "the comparison of {} with {}",
                result.current_run_id, result.baseline_run_id
            );
            draw(kind, &ChartSubject { comparison: Some(&result), ..ChartSubject::default() })
                .map_err(|why| nothing(kind, &name, args, why))?
        }
        ChartSource::History => {
            let document = history(args, &directories)?;
            draw(kind, &ChartSubject { series: &document.series, ..ChartSubject::default() })
                .map_err(|why| nothing(kind, "the stored runs", args, why))?
        }
        ChartSource::Models => {
            let store = gate::open(&directories, &mut console::tell)?;
            let (runs, of) = match &args.run {
                Some(text) => {
                    let run = store.run(text).map_err(CliError::usage)?;
                    let name = describe_run(&run);
                    (vec![run], name)
                }
                None => (recommend::of_models(&store)?, "the stored runs".to_owned()),
            };
            let runs: Vec<Run> =
                runs.into_iter().map(|run| matching_cases(run, &args.filter)).collect();
            let advice = model_results::recommend(&runs, RecommendRequest::LATENCY);
            draw(kind, &ChartSubject { advice: Some(&advice), ..ChartSubject::default() })
                .map_err(|why| nothing(kind, &of, args, why))?
        }
    };
    write(&charts, args, &config.charts, style)
}

/// The history: of a file, or of the stored runs.
fn history(args: &ChartArgs, directories: &Directories) -> Result<TrendDocument, CliError> {
    if let Some(file) = &args.input {
        return trend::history_in(file, &args.filter);
    }
    let store = gate::open(directories, &mut console::tell)?;
    trend::history(&store, &args.filter, args.metric.map(|field| field.name))
}

/// That nothing was drawn.
struct NothingDrawn;

fn draw(kind: &ChartKind, subject: &ChartSubject<'_>) -> Result<Vec<Chart>, NothingDrawn> {
    let charts = kind.draw(subject);
    if charts.is_empty() { Err(NothingDrawn) } else { Ok(charts) }
}

/// A run as messages have it: that what it holds is drawn nowhere is part of its name.
fn describe_run(run: &Run) -> String {
    let is_simulated = has_outcome(run, Outcome::Simulated) && !has_outcome(run, Outcome::Measured);
    let why = if is_simulated { ", whose figures are simulated and in no chart" } else { "" };
    format!("the run {}{why}", run.run_id)
}

fn has_outcome(run: &Run, outcome: Outcome) -> bool {
    run.benchmarks.iter().any(|result| result.outcome == outcome)
}

/// What says that nothing was drawn, and what would give it.
fn nothing(kind: &ChartKind, of: &str, args: &ChartArgs, _: NothingDrawn) -> CliError {
    let asked =
        [args.metric.map(|field| format!("the figure {}", field.name)), args.filter.describe()];
    let asked: Vec<String> = asked.into_iter().flatten().collect();
    let asked =
        if asked.is_empty() { String::new() } else { format!(" of {}", asked.join(" and ")) };
    CliError::usage(anyhow!(
        "{of}: nothing{asked} to draw as `{}`; it is made from {}",
        kind.name,
        kind.needs
    ))
}

fn the_run(args: &ChartArgs, store: &Store) -> Result<Run, CliError> {
    match &args.run {
        Some(text) => store.run(text).map_err(CliError::usage),
        None => gate::latest_lenient(store, &mut console::tell)
            .map_err(|problem| CliError::usage(problem.error)),
    }
}

/// The cases that fit.
fn matching_cases(mut run: Run, filter: &FilterArgs) -> Run {
    run.benchmarks.retain(|result| filter.fits(result.benchmark_id.as_str()));
    run
}

/// The comparison that is asked for: with what is named, else with the saved baseline.
fn comparison(
    args: &ChartArgs,
    config: &Config,
    directories: Directories,
) -> Result<ComparisonResult, CliError> {
    let Some(against) = &args.against else {
        let store = gate::open(&directories, &mut console::tell)?;
        let policy = judge::policy(config, &directories, None)?;
        let found = gate::against_saved(&store, &directories, &the_run(args, &store)?, &policy);
        let found =
            found.map_err(|why| CliError::usage(anyhow!("{why}; name another with --against")))?;
        return found.map(|saved| saved.result).ok_or_else(|| {
            CliError::usage(anyhow!(
                "no baseline of this machine and suite is saved; name what to compare with, such \
                 as --against previous"
            ))
        });
    };
    let judge = Judge::load(directories, &config.thresholds, None, Vec::new(), &mut console::tell)?;
    let baseline = judge.place(SideName::Baseline, judge.sides(std::slice::from_ref(against))?);
    let current = judge.place(SideName::Current, judge.current(args.run.as_slice())?);
    if let Some(why) = gate::is_itself(&baseline, &current) {
        return Err(CliError::usage(anyhow!("{why}, or name two")));
    }
    Ok(judge.judge(&baseline, &current))
}

/// The figures that fit.
fn chosen_of(mut result: ComparisonResult, args: &ChartArgs) -> ComparisonResult {
    result.comparisons.retain(|each| args.filter.fits(each.id.as_str()));
    if let Some(metric) = args.metric {
        result.comparisons.retain(|each| each.metric == metric.name);
    }
    result
}

/// Writes the charts as they are asked for.
fn write(charts: &[Chart], args: &ChartArgs, section: &ChartsSection, style: Style) -> CliResult {
    let to_file = args.output.as_deref().filter(|path| *path != Path::new("-"));
    match args.format {
        ChartFormat::Text => {
            let color = if to_file.is_some() { Color::Never } else { style.color };
            let glyphs =
                if args.ascii { Glyphs::Ascii } else { section.glyphs.unwrap_or_default() };
            let theme = section.theme(ThemeName::Dark).map_err(config_error)?;
            report::to(to_file, &page(charts, Style { color, ..style }, glyphs, &theme))
        }
        ChartFormat::Html => {
            let title = charts.first().map_or("charts", |chart| chart.title.as_str());
            let theme = section.theme(ThemeName::Light).map_err(config_error)?;
            report::to(to_file, &chart_page(title, charts, &theme))
        }
        ChartFormat::Svg | ChartFormat::Png => {
            let theme = section.theme(ThemeName::Light).map_err(config_error)?;
            picture_files::write(charts, to_file, &theme, args.format)
        }
    }
}

fn config_error(message: impl std::fmt::Display) -> CliError {
    CliError::usage(anyhow!("[charts]: {message}"))
}

/// Lines of a picture that stands over the words of another verb.
const GLANCE_LINES: usize = 16;

/// `charts` as other verbs show them over their words: where a person looks on, in the look of
/// `section`; else nothing.
pub(super) fn at_a_glance(
    charts: &[Chart],
    section: &ChartsSection,
    style: Style,
) -> Result<String, CliError> {
    if !show::has_room_for_pictures(style) {
        return Ok(String::new());
    }
    let theme = section.theme(ThemeName::Dark).map_err(config_error)?;
    let glyphs = section.glyphs.unwrap_or_default();
    let mut text = String::new();
    for chart in charts {
        let drawn = picture(chart, style.width.min(120), GLANCE_LINES, glyphs);
        text.push_str(&drawn.themed_text(style, &theme));
        text.push('\n');
    }
    Ok(text)
}

/// The charts one below the other; of very many the first.
fn page(charts: &[Chart], style: Style, glyphs: Glyphs, theme: &Theme) -> String {
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
