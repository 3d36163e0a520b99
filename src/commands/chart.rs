//! `chart`: draws charts of one run, of two runs, or of the history, for a terminal, as pictures or
//! as a page.

use rsb_app::chart::picture_files::{self, PictureFormat, Pictures};
use rsb_app::chart::{self, ChartRequest, DrawableKind, config_error};
use rsb_app::config::ChartsSection;
use rsb_app::{ProjectContext, named_file};
use rsb_report::charts::ChartSource;
use rsb_report::number::format_count;
use rsb_report::table::{Cell, Column, Table};
use rsb_report::{Chart, Color, Glyphs, Style, ThemeName, chart_page};

use crate::cli::{ChartArgs, ChartFormat};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `chart`.
///
/// # Errors
/// If the requested data cannot be read, or contain nothing to draw.
pub fn run(args: &ChartArgs, style: Style) -> CliResult {
    if args.input.is_some() && args.kind.is_none_or(|kind| kind.source != ChartSource::History) {
        return Err(CliError::usage(anyhow::anyhow!(
            "--input is a series over time; draw it with `chart trend` or `chart sparkline`"
        )));
    }
    if args.across_runs && args.kind.is_some_and(|kind| kind.source != ChartSource::Run) {
        return Err(CliError::usage(anyhow::anyhow!(
            "--across-runs is for charts of a run; `chart` without a kind lists them"
        )));
    }
    let width = if style.width == usize::MAX { show::DRAWING_WIDTH } else { style.width };
    let style = Style { width: args.width.map_or(width, usize::from), ..style };
    let project = ProjectContext::open(&args.places.paths())?;
    let mut options = args.options();
    options.simulated |= project.config.charts.simulated;
    let Some(kind) = args.kind else {
        let kinds = chart::drawable(&project, options, &mut console::tell)?;
        let mut table = Table::new([Column::left("example"), Column::elided("shows")]);
        for DrawableKind { kind, example } in &kinds {
            let example = project.directories.command(&format!("chart {example}"));
            table.push([Cell::from(example), Cell::from(kind.about)]);
        }
        show::text(&table.text(style))?;
        return Ok(Exit::Pass);
    };
    let request = ChartRequest {
        kind,
        run: args.run.clone(),
        across_runs: args.across_runs,
        filter: args.filter.filter(),
        against: args.against.clone(),
        input: args.input.clone(),
        options,
    };
    let charts = chart::charts(&project, &request, &mut console::tell)?;
    write(&charts, args, &project.config.charts, style)
}

/// Writes the charts in the requested format.
fn write(charts: &[Chart], args: &ChartArgs, section: &ChartsSection, style: Style) -> CliResult {
    let to_file = named_file(args.output.as_deref());
    match args.format() {
        ChartFormat::Text => {
            let color = if to_file.is_some() { Color::Never } else { style.color };
            let glyphs =
                if args.ascii { Glyphs::Ascii } else { section.glyphs().map_err(config_error)? };
            let theme = section.theme(ThemeName::Dark).map_err(config_error)?;
            show::to(to_file, &chart::page(charts, Style { color, ..style }, glyphs, &theme))
        }
        ChartFormat::Html => {
            let title = charts.first().map_or("charts", |chart| chart.title.as_str());
            let theme = section.theme(ThemeName::Light).map_err(config_error)?;
            show::to(to_file, &chart_page(title, charts, &theme))
        }
        ChartFormat::Svg | ChartFormat::Png => {
            let theme = section.theme(ThemeName::Light).map_err(config_error)?;
            let format = match args.format() {
                ChartFormat::Png => PictureFormat::Png,
                _ => PictureFormat::Svg,
            };
            match picture_files::write(charts, to_file, &theme, format)? {
                Pictures::Text(svg) => show::text(&svg)?,
                Pictures::File => {}
                Pictures::Directory(dir) => {
                    let count = format_count(charts.len(), "chart", "charts");
                    show::text(&format!("{count} in {}", dir.display()))?;
                }
            }
            Ok(Exit::Pass)
        }
    }
}
