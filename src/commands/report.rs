//! Writes a report of a run: Markdown with charts beside it, or the run in another form.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rsb_engine::gate;
use rsb_model::Run;
use rsb_report::{ChartLink, Report, Style, charts, report};
use rsb_store::{Store, output};

use super::{chart, judge, settings};
use crate::cli::{ReportArgs, ReportFormat};
use crate::exit::{CliError, CliResult, Exit, refused};
use crate::{console, show};

/// The verb `report`.
///
/// # Errors
/// When the run cannot be read or the report cannot be written.
pub fn run(args: &ReportArgs, style: Style) -> CliResult {
    let (config, directories) = settings::load(&args.places)?;
    let store = gate::open(&directories, &mut console::tell)?;
    let run = match &args.run {
        Some(text) => store.run(text).map_err(CliError::usage)?,
        None => {
            gate::latest_for_a_look(&store, &mut console::tell).map_err(|problem| CliError::usage(problem.error))?
        }
    };
    let policy = judge::policy(&config, &directories, None)?;
    let comparison = gate::against_saved(&store, &directories, &run, &policy).unwrap_or_else(|why| {
        console::say(&format!("note: the report has no comparison: {why}"));
        None
    });
    let checks = judge::targets(&config, &directories, &run)?;
    let report = Report::new(&run).with_checks(&checks);
    let report = comparison.as_ref().map_or(report, |comparison| report.with_comparison(comparison));
    match args.format {
        ReportFormat::Markdown => markdown(&report, args, &store),
        ReportFormat::Svg => {
            let dir = args.output.clone().unwrap_or_else(|| charts_dir(store.results_dir(), &run));
            write_charts(&report, &dir)?;
            show::text(&dir.display().to_string())?;
            Ok(Exit::Pass)
        }
        ReportFormat::Json => to(args.output.as_deref(), &report::json(&report)?),
        ReportFormat::Csv => to(args.output.as_deref(), &report::csv(&report)?),
        ReportFormat::Text => {
            let to_terminal = args.output.is_none();
            let charts = if to_terminal { charts::glance(&report) } else { Vec::new() };
            let pictures = chart::at_a_glance(&charts, &config.charts, style)?;
            to(args.output.as_deref(), &(pictures + &report::text(&report, style)))
        }
    }
}

fn markdown(report: &Report<'_>, args: &ReportArgs, store: &Store) -> CliResult {
    if args.output.as_deref() == Some(Path::new("-")) {
        return to(None, &report::markdown(report, &[]));
    }
    let run = report.run();
    let path = args.output.clone().unwrap_or_else(|| {
        let time = run.started.strftime("%Y%m%dT%H%M%SZ");
        store.results_dir().join(format!("benchmark_report_{time}.md"))
    });
    output::refuse_link(&path).map_err(refused)?;
    let beside = path.parent().unwrap_or(Path::new("")).to_owned();
    // Of both directories that the charts make, neither may lead elsewhere.
    output::create_dir(&beside.join("charts")).map_err(refused)?;
    let dir = charts_dir(&beside, run);
    let links = write_charts(report, &dir)?;
    let text = report::markdown(report, &links);
    output::write(&path, &text).map_err(refused)?;
    show::text(&format!("report: {}", path.display()))?;
    Ok(Exit::Pass)
}

fn charts_dir(beside: &Path, run: &Run) -> PathBuf {
    beside.join("charts").join(&run.run_id.0)
}

fn write_charts(report: &Report<'_>, dir: &Path) -> Result<Vec<ChartLink>, CliError> {
    let charts = charts::all(report);
    if !charts.is_empty() {
        output::create_dir(dir).map_err(refused)?;
    }
    let relative = format!("charts/{}", report.run().run_id);
    let write = |(chart, picture): (&rsb_report::Chart, String)| -> Result<ChartLink, CliError> {
        let path = dir.join(chart.file_name());
        output::write(&path, &picture).map_err(refused)?;
        Ok(chart.link(&relative))
    };
    let drawn = charts.iter().filter_map(|chart| Some((chart, rsb_report::svg(chart)?)));
    drawn.map(write).collect()
}

/// The file that was asked for; none where it is `-`.
pub(super) fn file(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| *path != Path::new("-"))
}

/// Writes `text` to the file that was asked for; to standard output where none was, or `-`.
pub(super) fn to(path: Option<&Path>, text: &str) -> CliResult {
    match file(path) {
        Some(path) => output::write(path, text).map_err(refused)?,
        None => show::text(text)?,
    }
    Ok(Exit::Pass)
}

/// As [`to`], what `write` hands on, piece by piece: all of it is never in memory at once.
pub(super) fn pieces_to(
    path: Option<&Path>,
    write: impl FnOnce(&mut show::TextSink<'_>) -> anyhow::Result<()>,
) -> CliResult {
    match file(path) {
        Some(path) => {
            let mut out = std::io::BufWriter::new(output::create(path).map_err(refused)?);
            let written = write(&mut |text| out.write_all(text.as_bytes())).and_then(|()| Ok(out.flush()?));
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
        None => show::pieces(write)?,
    }
    Ok(Exit::Pass)
}
