//! Charts as files that hold one picture each.

use std::path::Path;

use anyhow::anyhow;
use rsb_report::number::format_count;
use rsb_report::{Chart, Theme, svg_in};
use rsb_store::output::{self, OutputError};

use crate::cli::ChartFormat;
use crate::commands::report;
use crate::exit::{CliError, CliResult, Exit, output_error};
use crate::show;

/// One chart, drawn.
enum Picture {
    Svg(String),
    Png(Vec<u8>),
}

impl Picture {
    fn write(&self, path: &Path) -> Result<(), OutputError> {
        match self {
            Self::Svg(text) => output::write(path, text),
            Self::Png(bytes) => output::write_bytes(path, bytes),
        }
    }
}

/// One picture to a file or to standard output, several to a directory.
///
/// # Errors
/// When there are several for one file, one cannot be drawn, or cannot be written.
pub(super) fn write(
    charts: &[Chart],
    path: Option<&Path>,
    theme: &Theme,
    format: ChartFormat,
) -> CliResult {
    #[cfg(not(feature = "png"))]
    if format == ChartFormat::Png {
        return Err(without_png());
    }
    let ending = if format == ChartFormat::Png { "png" } else { "svg" };
    match (charts, path) {
        ([chart], Some(path)) if !path.is_dir() => {
            drawn(chart, theme, format)?.write(path).map_err(output_error)?;
            Ok(Exit::Pass)
        }
        ([chart], None) => match drawn(chart, theme, format)? {
            Picture::Svg(text) => report::to(None, &text),
            Picture::Png(_) => {
                Err(CliError::usage(anyhow!("PNG is no text: name a file with --output FILE")))
            }
        },
        (_, None) => Err(several(charts)),
        (_, Some(file)) if file.extension().is_some_and(|extension| extension == ending) => {
            Err(several(charts))
        }
        (_, Some(dir)) => {
            output::create_dir(dir).map_err(output_error)?;
            for chart in charts {
                let name = Path::new(&chart.file_name()).with_extension(ending);
                drawn(chart, theme, format)?.write(&dir.join(name)).map_err(output_error)?;
            }
            show::text(&format!(
                "{} in {}",
                format_count(charts.len(), "chart", "charts"),
                dir.display()
            ))?;
            Ok(Exit::Pass)
        }
    }
}

fn drawn(chart: &Chart, theme: &Theme, format: ChartFormat) -> Result<Picture, CliError> {
    let svg = svg_in(chart, theme);
    let svg = svg
        .ok_or_else(|| CliError::usage(anyhow!("{}: a figure in it is not finite", chart.title)))?;
    if format == ChartFormat::Png { png(&svg).map(Picture::Png) } else { Ok(Picture::Svg(svg)) }
}

#[cfg(feature = "png")]
fn png(svg: &str) -> Result<Vec<u8>, CliError> {
    rsb_report::png(svg).map_err(CliError::from)
}

#[cfg(not(feature = "png"))]
fn png(_: &str) -> Result<Vec<u8>, CliError> {
    Err(without_png())
}

#[cfg(not(feature = "png"))]
fn without_png() -> CliError {
    crate::commands::export::without("PNG", "png", "--format svg and --format html")
}

/// That one picture was asked for, and there are more.
fn several(charts: &[Chart]) -> CliError {
    CliError::usage(anyhow!(
        "these are {} charts; name a directory for them with --output, or choose one with \
         --benchmark",
        charts.len()
    ))
}
