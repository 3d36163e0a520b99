//! Writes charts to files with one picture each.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use rsb_report::{Chart, Theme, svg_in};
use rsb_store::output::{self, OutputError};

use crate::{AppError, output_error};

/// The format of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureFormat {
    /// SVG.
    Svg,
    /// PNG; needs the feature `png`.
    Png,
}

/// Destination of the pictures.
#[derive(Debug)]
pub enum Pictures {
    /// No file: one SVG for standard output.
    Text(String),
    /// The file that was named.
    File,
    /// This directory.
    Directory(PathBuf),
}

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

/// Writes one picture to a file or for standard output, or several to a directory.
///
/// # Errors
/// If one file is named for several pictures, or a picture cannot be drawn or written.
pub fn write(
    charts: &[Chart],
    path: Option<&Path>,
    theme: &Theme,
    format: PictureFormat,
) -> Result<Pictures, AppError> {
    #[cfg(not(feature = "png"))]
    if format == PictureFormat::Png {
        return Err(without_png());
    }
    let ending = if format == PictureFormat::Png { "png" } else { "svg" };
    match (charts, path) {
        ([chart], Some(path)) if !path.is_dir() => {
            drawn(chart, theme, format)?.write(path).map_err(output_error)?;
            Ok(Pictures::File)
        }
        ([chart], None) => match drawn(chart, theme, format)? {
            Picture::Svg(text) => Ok(Pictures::Text(text)),
            Picture::Png(_) => {
                Err(AppError::usage(anyhow!("PNG is not text: name a file with --output FILE")))
            }
        },
        (_, None) => Err(several(charts)),
        (_, Some(file))
            if file.is_file() || file.extension().is_some_and(|extension| extension == ending) =>
        {
            Err(several(charts))
        }
        (_, Some(dir)) => {
            output::create_dir(dir).map_err(output_error)?;
            for chart in charts {
                let name = Path::new(&chart.file_name()).with_extension(ending);
                drawn(chart, theme, format)?.write(&dir.join(name)).map_err(output_error)?;
            }
            Ok(Pictures::Directory(dir.to_owned()))
        }
    }
}

fn drawn(chart: &Chart, theme: &Theme, format: PictureFormat) -> Result<Picture, AppError> {
    let svg = svg_in(chart, theme);
    let svg = svg.ok_or_else(|| {
        AppError::usage(anyhow!("{}: a value in the chart is not finite", chart.title))
    })?;
    if format == PictureFormat::Png { png(&svg).map(Picture::Png) } else { Ok(Picture::Svg(svg)) }
}

#[cfg(feature = "png")]
fn png(svg: &str) -> Result<Vec<u8>, AppError> {
    rsb_report::png(svg).map_err(AppError::from)
}

#[cfg(not(feature = "png"))]
fn png(_: &str) -> Result<Vec<u8>, AppError> {
    Err(without_png())
}

#[cfg(not(feature = "png"))]
fn without_png() -> AppError {
    crate::without_feature("PNG", "png", "--format svg and --format html")
}

/// Returns the error that there are several pictures for one file.
fn several(charts: &[Chart]) -> AppError {
    AppError::usage(anyhow!(
        "these are {} charts; name a directory for them with --output, or choose one with \
         --benchmark",
        charts.len()
    ))
}
