//! Reports of a run: Markdown with charts next to it, a self-contained HTML page, its PDF, or the
//! run in another format.

mod pdf;

use std::path::{Path, PathBuf};

use rsb_engine::{Event, Listener};
use rsb_gate::gate;
use rsb_insight::advice;
use rsb_model::Run;
use rsb_report::charts::{self, ChartSelection};
use rsb_report::{
    Chart, ChartLink, PageLook, Report, ReportInput, ReportPart, Style, html, paged, report,
};
use rsb_store::{Store, output, page};

use crate::chart::at_a_glance;
use crate::config::Config;
use crate::{AppError, ProjectContext, judge, output_error};

rsb_model::named_enum! {
    /// The format of a report.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum ReportFormat {
        /// Tables, with charts in a folder next to it.
        #[default]
        Markdown = "markdown",
        /// One page with charts and the run itself, which `gate` reads as a run.
        Html = "html",
        /// The same page as an accessible PDF.
        Pdf = "pdf",
        /// The run as stored.
        Json = "json",
        /// One line per metric.
        Csv = "csv",
        /// For a terminal.
        Text = "text",
        /// Only the charts.
        Svg = "svg",
    }
}

impl ReportFormat {
    /// Returns the description of the format for the help.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Markdown => "Tables, with charts in a folder next to it",
            Self::Html => "One page with charts and the run itself, which `gate` reads as a run",
            Self::Pdf => "The same page as an accessible PDF; needs the feature `pdf`",
            Self::Json => "The run as stored",
            Self::Csv => "One line per metric",
            Self::Text => "For a terminal",
            Self::Svg => "Only the charts",
        }
    }
}

/// Value of `run --reports`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportForm {
    /// Every format.
    All,
    /// This format.
    One(ReportFormat),
}

impl ReportForm {
    /// Returns the formats in `forms`, each once, in the order of the help.
    pub fn expand(forms: &[Self]) -> Vec<ReportFormat> {
        let is_among =
            |form: &ReportFormat| forms.contains(&Self::All) || forms.contains(&Self::One(*form));
        ReportFormat::ALL.into_iter().filter(is_among).collect()
    }
}

/// Checks that a worker to create PDF files is installed.
///
/// # Errors
/// If there is none.
pub fn check_pdf() -> Result<(), AppError> {
    pdf::worker().map(drop).map_err(|reason| pdf::without(&reason))
}

/// Checks that this build can write the formats that are requested by name.
///
/// # Errors
/// If it cannot.
pub fn can_write(requested: &[ReportForm]) -> Result<(), AppError> {
    if requested.contains(&ReportForm::One(ReportFormat::Pdf)) {
        check_pdf()?;
    }
    Ok(())
}

/// Returns the requested formats that this build can write, and notes the missing ones.
pub fn forms(requested: &[ReportForm], listener: &mut Listener<'_>) -> Vec<ReportFormat> {
    let mut forms = ReportForm::expand(requested);
    if forms.contains(&ReportFormat::Pdf)
        && let Err(why) = pdf::worker()
    {
        listener(&Event::note(format!("no report as PDF: {}; {}", why.why, why.cure)));
        forms.retain(|form| *form != ReportFormat::Pdf);
    }
    forms
}

/// Writes `forms` of a report on `run` to the results directory, and returns the files and
/// directories.
///
/// # Errors
/// If the policy cannot be read, or a report cannot be written.
pub fn write_beside(
    forms: &[ReportFormat],
    project: &ProjectContext,
    store: &Store,
    run: &Run,
    listener: &mut Listener<'_>,
) -> Result<Vec<PathBuf>, AppError> {
    let input = input(project, store, run, listener)?;
    note_not_compared(&input, listener);
    let writer = ReportWriter::new(&input, run, &project.config, Style::PLAIN);
    let mut paths = Vec::new();
    for form in forms {
        let path = beside(store, run, *form);
        writer.write(*form, &path)?;
        paths.push(path);
    }
    Ok(paths)
}

/// Returns the default path of a report.
pub fn beside(store: &Store, run: &Run, form: ReportFormat) -> PathBuf {
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

/// Gathers the content of a report on `run`.
///
/// # Errors
/// If the policy cannot be read.
pub fn input(
    project: &ProjectContext,
    store: &Store,
    run: &Run,
    listener: &mut Listener<'_>,
) -> Result<ReportInput, AppError> {
    let policy = project.policy(None, listener)?;
    let directories = &project.directories;
    let (saved, not_compared) = match gate::against_saved(store, directories, run, &policy) {
        Ok(saved) => (saved, None),
        Err(why) => (None, Some(why)),
    };
    let (comparison, before) =
        saved.map_or_else(Default::default, |saved| (Some(saved.result), saved.baseline));
    Ok(ReportInput {
        comparison,
        not_compared,
        recommendations: advice::of_run(run, &before),
        baseline: before.into_iter().next().map(|run| run.environment),
        checks: judge::targets(project, run, listener)?,
        draws_simulated: project.config.charts.simulated,
    })
}

/// Notes why the report has no comparison.
pub fn note_not_compared(input: &ReportInput, listener: &mut Listener<'_>) {
    if let Some(why) = &input.not_compared {
        listener(&Event::note(format!("the report has no comparison: {why}")));
    }
}

/// Writer of one report in any format.
pub struct ReportWriter<'a> {
    report: Report<'a>,
    config: &'a Config,
    /// Whether the HTML page contains the run.
    pub has_data: bool,
    style: Style,
}

impl<'a> ReportWriter<'a> {
    /// Creates a writer of the report on `run`, with the run in its page.
    pub fn new(input: &'a ReportInput, run: &'a Run, config: &'a Config, style: Style) -> Self {
        let section = &config.report;
        let report =
            input.report(run).with_title(section.title.as_deref()).with_parts(&section.parts);
        Self { report, config, has_data: true, style }
    }

    /// Returns the selected charts; empty if the report has none.
    fn shown_charts(&self) -> Vec<Chart> {
        if self.report.has(ReportPart::Charts) {
            ChartSelection::of(&self.report).shown
        } else {
            Vec::new()
        }
    }

    /// Returns the document in `form`; a Markdown document with links to `charts`.
    ///
    /// # Errors
    /// If the document cannot be created.
    pub fn text(&self, form: ReportFormat, charts: &[ChartLink]) -> Result<String, AppError> {
        let report = &self.report;
        Ok(match form {
            ReportFormat::Markdown => report::markdown(report, charts),
            ReportFormat::Html => self.page()?,
            ReportFormat::Json => report::json(report)?,
            ReportFormat::Csv => report::csv(report)?,
            ReportFormat::Text => {
                let charts = &self.config.charts;
                let pictures = at_a_glance(&self.shown_charts(), charts, self.style)?;
                report::text(report, &pictures, self.style)
            }
            ReportFormat::Svg | ReportFormat::Pdf => String::new(),
        })
    }

    fn page(&self) -> Result<String, AppError> {
        let data = if self.has_data {
            Some(page::data_element(&rsb_store::sealed_text(self.report.run())?))
        } else {
            None
        };
        let look = PageLook {
            theme: self.config.report.theme,
            chart_width: self.config.report.chart_width,
            data: data.as_deref(),
        };
        Ok(html::page(&self.report, &look))
    }

    /// Writes `form` to the file `path`; for charts only, to the directory `path`.
    ///
    /// # Errors
    /// If it cannot be created or written.
    pub fn write(&self, form: ReportFormat, path: &Path) -> Result<(), AppError> {
        let links = match form {
            ReportFormat::Svg => {
                return write_charts(&charts::all(&self.report), path, "").map(drop);
            }
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
                // Neither of the two directories for charts may be a link to another place.
                output::create_dir(&beside.join("charts")).map_err(output_error)?;
                let run = self.report.run();
                let relative = format!("charts/{}", run.run_id);
                write_charts(&self.shown_charts(), &charts_dir(&beside, run), &relative)?
            }
            _ => Vec::new(),
        };
        output::write(path, &self.text(form, &links)?).map_err(output_error)
    }
}

/// Draws `charts` to files in `dir`, and returns links to them in `relative`.
fn write_charts(charts: &[Chart], dir: &Path, relative: &str) -> Result<Vec<ChartLink>, AppError> {
    if !charts.is_empty() {
        output::create_dir(dir).map_err(output_error)?;
    }
    let mut links = Vec::new();
    for chart in charts {
        let Some(picture) = rsb_report::svg(chart) else { continue };
        output::write(&dir.join(chart.file_name()), &picture).map_err(output_error)?;
        links.push(chart.link(relative));
    }
    Ok(links)
}
