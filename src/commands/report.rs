//! `report`: writes reports of a run: Markdown with separate charts, a self-contained HTML page,
//! its PDF, or another format.

use std::io::IsTerminal as _;
use std::path::Path;

use rsb_app::project::chosen_run;
use rsb_app::report::{self, ReportFormat, ReportWriter};
use rsb_app::{ProjectContext, named_file};
use rsb_report::Style;

use crate::cli::ReportArgs;
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `report`.
///
/// # Errors
/// If the run cannot be read, or the report cannot be written.
pub fn run(args: &ReportArgs, style: Style) -> CliResult {
    if args.no_data && args.format != ReportFormat::Html {
        return Err(CliError::usage(anyhow::anyhow!("--no-data needs `--format html`")));
    }
    if args.format == ReportFormat::Pdf {
        report::check_pdf()?;
        if args.output.is_some() && named_file(args.output.as_deref()).is_none() {
            return Err(CliError::usage(anyhow::anyhow!(
                "PDF cannot go to standard output; name a file with --output FILE"
            )));
        }
    }
    let mut project = ProjectContext::open(&args.places.paths())?;
    project.config.charts.simulated |= args.simulated;
    let store = project.store(&mut console::tell)?;
    let run = chosen_run(&store, args.run.as_deref(), &mut console::tell)?;
    let input = report::input(&project, &store, &run, &mut console::tell)?;
    report::note_not_compared(&input, &mut console::tell);
    let mut writer = ReportWriter::new(&input, &run, &project.config, style);
    writer.has_data = !args.no_data;
    let path = || args.output.clone().unwrap_or_else(|| report::beside(&store, &run, args.format));
    match args.format {
        ReportFormat::Markdown | ReportFormat::Html | ReportFormat::Pdf
            if named_file(args.output.as_deref()).is_some() || args.output.is_none() =>
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
        form => show::to(args.output.as_deref(), &writer.text(form, &[])?),
    }
}

/// Returns a hint how to open a report that was written to `path`.
fn next_step(form: ReportFormat, path: &Path) -> String {
    let path = path.display();
    match form {
        ReportFormat::Html | ReportFormat::Pdf => format!("next: `xdg-open {path}` opens it"),
        _ => format!(
            "next: `less {path}` shows it; `report --format html` writes a page with the charts"
        ),
    }
}
