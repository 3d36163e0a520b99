//! Writes reports of a run: Markdown with charts beside it, an HTML page that holds everything, its
//! PDF, or the run in another form.

mod pdf;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rsb_gate::{Directories, gate};
use rsb_insight::advice;
use rsb_model::record::{Recommendation, ThresholdCheck};
use rsb_model::{ComparisonResult, Environment, Run};
use rsb_report::{ChartLink, PageLook, Report, ReportPart, Style, charts, html, paged, report};
use rsb_store::{Store, output, page};

use super::{chart, judge, settings};
use crate::cli::{ReportArgs, ReportForm, ReportFormat};
use crate::config::{Config, ReportSection};
use crate::exit::{CliError, CliResult, Exit, output_error};
use crate::{console, show};

/// The verb `report`.
///
/// # Errors
/// When the run cannot be read or the report cannot be written.
pub fn run(args: &ReportArgs, style: Style) -> CliResult {
    if args.no_data && args.format != ReportFormat::Html {
        return Err(CliError::usage(anyhow::anyhow!(
            "--no-data is about the page of `--format html`"
        )));
    }
    if args.format == ReportFormat::Pdf {
        pdf::worker().map_err(|reason| pdf::without(&reason))?;
        if args.output.is_some() && file(args.output.as_deref()).is_none() {
            return Err(CliError::usage(anyhow::anyhow!(
                "PDF is no text: name a file with --output FILE"
            )));
        }
    }
    let (config, directories) = settings::load(&args.places)?;
    let store = gate::open(&directories, &mut console::tell)?;
    let run = match &args.run {
        Some(text) => store.run(text).map_err(CliError::usage)?,
        None => gate::latest_lenient(&store, &mut console::tell)
            .map_err(|problem| CliError::usage(problem.error))?,
    };
    let material = ReportInput::gather(&config, &directories, &store, &run)?;
    material.say_not_compared();
    let writer = Writer {
        report: material.report(&run, &config.report),
        section: &config.report,
        data: if args.no_data { Data::Outside } else { Data::Inside },
        style,
    };
    let path = || args.output.clone().unwrap_or_else(|| beside(&store, &run, args.format));
    match args.format {
        ReportFormat::Markdown | ReportFormat::Html | ReportFormat::Pdf
            if file(args.output.as_deref()).is_some() || args.output.is_none() =>
        {
            writer.write(args.format, &path())?;
            show::text(&format!("report: {}", path().display()))?;
            if std::io::stderr().is_terminal() {
                console::say(&next_step(args.format, &path()));
            }
            Ok(Exit::Pass)
        }
        ReportFormat::Svg => {
            writer.write(args.format, &path())?;
            show::text(&path().display().to_string())?;
            Ok(Exit::Pass)
        }
        ReportFormat::Text if args.output.is_none() => {
            let pictures =
                chart::at_a_glance(&charts::glance(&writer.report), &config.charts, style)?;
            to(None, &(pictures + &writer.text(args.format, &[])?))
        }
        form => to(args.output.as_deref(), &writer.text(form, &[])?),
    }
}

/// How to open a report that was written to `path`.
fn next_step(form: ReportFormat, path: &Path) -> String {
    let path = path.display();
    match form {
        ReportFormat::Html | ReportFormat::Pdf => format!("next: `xdg-open {path}` opens it"),
        _ => format!(
            "next: `less {path}` shows it; `report --format html` writes a page with the charts"
        ),
    }
}

/// The file that was asked for; none where it is `-`.
pub(super) fn file(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| *path != Path::new("-"))
}

/// Writes `text` to the file that was asked for; to standard output where none was, or `-`.
pub(super) fn to(path: Option<&Path>, text: &str) -> CliResult {
    match file(path) {
        Some(path) => output::write(path, text).map_err(output_error)?,
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
            let mut out = std::io::BufWriter::new(output::create(path).map_err(output_error)?);
            let written =
                write(&mut |text| out.write_all(text.as_bytes())).and_then(|()| Ok(out.flush()?));
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
        None => show::pieces(write)?,
    }
    Ok(Exit::Pass)
}

/// Says before anything is measured whether a form that is asked for by its name cannot be written.
///
/// # Errors
/// When it cannot.
pub(super) fn can_write(asked: &[ReportForm]) -> Result<(), CliError> {
    if asked.contains(&ReportForm::One(ReportFormat::Pdf)) {
        pdf::worker().map_err(|reason| pdf::without(&reason))?;
    }
    Ok(())
}

/// The forms that `asked` stand for and this build writes; what is missing of all forms is said.
pub(super) fn forms(asked: &[ReportForm]) -> Vec<ReportFormat> {
    let mut forms = ReportForm::expand(asked);
    if forms.contains(&ReportFormat::Pdf)
        && let Err(why) = pdf::worker()
    {
        console::say(&format!("note: no report as PDF: {}; {}", why.why, why.cure));
        forms.retain(|form| *form != ReportFormat::Pdf);
    }
    forms
}

/// Writes `forms` of a report on `run` beside the results, and gives their files and directories.
///
/// # Errors
/// As [`run`].
pub(super) fn write_beside(
    forms: &[ReportFormat],
    config: &Config,
    directories: &Directories,
    store: &Store,
    run: &Run,
) -> Result<Vec<PathBuf>, CliError> {
    let material = ReportInput::gather(config, directories, store, run)?;
    material.say_not_compared();
    let report = material.report(run, &config.report);
    let writer =
        Writer { report, section: &config.report, data: Data::Inside, style: Style::PLAIN };
    let mut paths = Vec::new();
    for form in forms {
        let path = beside(store, run, *form);
        writer.write(*form, &path)?;
        paths.push(path);
    }
    Ok(paths)
}

/// Where a report goes unless somebody names a place.
fn beside(store: &Store, run: &Run, form: ReportFormat) -> PathBuf {
    let ending = match form {
        ReportFormat::Markdown => "md",
        ReportFormat::Html => "html",
        ReportFormat::Pdf => "pdf",
        ReportFormat::Json => "json",
        ReportFormat::Csv => "csv",
        ReportFormat::Text => "txt",
        ReportFormat::Svg => return charts_dir(store.results_dir(), run),
    };
    let time = run.started.strftime("%Y%m%dT%H%M%SZ");
    store.results_dir().join(format!("benchmark_report_{time}.{ending}"))
}

fn charts_dir(beside: &Path, run: &Run) -> PathBuf {
    beside.join("charts").join(&run.run_id.0)
}

/// What a report says beside the run.
pub(super) struct ReportInput {
    pub(super) comparison: Option<ComparisonResult>,
    pub(super) not_compared: Option<String>,
    pub(super) baseline: Option<Environment>,
    pub(super) checks: Vec<ThresholdCheck>,
    pub(super) recommendations: Vec<Recommendation>,
}

impl ReportInput {
    pub(super) fn gather(
        config: &Config,
        directories: &Directories,
        store: &Store,
        run: &Run,
    ) -> Result<Self, CliError> {
        let policy = judge::policy(config, directories, None)?;
        let (saved, not_compared) = match gate::against_saved(store, directories, run, &policy) {
            Ok(saved) => (saved, None),
            Err(why) => (None, Some(why)),
        };
        let (comparison, before) =
            saved.map_or_else(Default::default, |saved| (Some(saved.result), saved.baseline));
        Ok(Self {
            comparison,
            not_compared,
            recommendations: advice::of_run(run, &before),
            baseline: before.into_iter().next().map(|run| run.environment),
            checks: judge::targets(config, directories, run)?,
        })
    }

    fn say_not_compared(&self) {
        if let Some(why) = &self.not_compared {
            console::say(&format!("note: the report has no comparison: {why}"));
        }
    }

    fn report<'a>(&'a self, run: &'a Run, section: &'a ReportSection) -> Report<'a> {
        let mut report = Report::new(run)
            .with_checks(&self.checks)
            .with_recommendations(&self.recommendations)
            .with_title(section.title.as_deref())
            .with_parts(&section.parts);
        if let Some(comparison) = &self.comparison {
            report = report.with_comparison(comparison);
        }
        if let Some(why) = &self.not_compared {
            report = report.with_no_comparison(why);
        }
        match &self.baseline {
            Some(environment) => report.with_baseline(environment),
            None => report,
        }
    }
}

/// Whether a page holds the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Data {
    Inside,
    Outside,
}

/// Writes one report in any form.
struct Writer<'a> {
    report: Report<'a>,
    section: &'a ReportSection,
    data: Data,
    style: Style,
}

impl Writer<'_> {
    /// The document in `form`; a Markdown document with links to `charts`.
    fn text(&self, form: ReportFormat, charts: &[ChartLink]) -> Result<String, CliError> {
        let report = &self.report;
        Ok(match form {
            ReportFormat::Markdown => report::markdown(report, charts),
            ReportFormat::Html => self.page()?,
            ReportFormat::Json => report::json(report)?,
            ReportFormat::Csv => report::csv(report)?,
            ReportFormat::Text => report::text(report, self.style),
            ReportFormat::Svg | ReportFormat::Pdf => String::new(),
        })
    }

    fn page(&self) -> Result<String, CliError> {
        let data = match self.data {
            Data::Inside => Some(page::data_element(&rsb_store::sealed_text(self.report.run())?)),
            Data::Outside => None,
        };
        let look = PageLook {
            theme: self.section.theme,
            chart_width: self.section.chart_width,
            data: data.as_deref(),
        };
        Ok(html::page(&self.report, &look))
    }

    /// Writes `form` to the file `path`; the charts alone into the directory `path`.
    fn write(&self, form: ReportFormat, path: &Path) -> Result<(), CliError> {
        let links = match form {
            ReportFormat::Svg => return self.write_charts(path).map(drop),
            ReportFormat::Pdf => {
                output::refuse_link(path).map_err(output_error)?;
                let made = pdf::typeset(
                    &pdf::worker().map_err(|reason| pdf::without(&reason))?,
                    paged::json(&self.report)?,
                )?;
                return output::write_bytes(path, &made).map_err(output_error);
            }
            ReportFormat::Markdown if self.report.has(ReportPart::Charts) => {
                output::refuse_link(path).map_err(output_error)?;
                let beside = path.parent().unwrap_or(Path::new("")).to_owned();
                // Of both directories that the charts make, neither may lead elsewhere.
                output::create_dir(&beside.join("charts")).map_err(output_error)?;
                self.write_charts(&charts_dir(&beside, self.report.run()))?
            }
            _ => Vec::new(),
        };
        output::write(path, &self.text(form, &links)?).map_err(output_error)
    }

    fn write_charts(&self, dir: &Path) -> Result<Vec<ChartLink>, CliError> {
        let charts = charts::all(&self.report);
        if !charts.is_empty() {
            output::create_dir(dir).map_err(output_error)?;
        }
        let relative = format!("charts/{}", self.report.run().run_id);
        let write =
            |(chart, picture): (&rsb_report::Chart, String)| -> Result<ChartLink, CliError> {
                let path = dir.join(chart.file_name());
                output::write(&path, &picture).map_err(output_error)?;
                Ok(chart.link(&relative))
            };
        let drawn = charts.iter().filter_map(|chart| Some((chart, rsb_report::svg(chart)?)));
        drawn.map(write).collect()
    }
}
