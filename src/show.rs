//! Standard output, for texts and documents, and the files that can replace it. No other module
//! writes to standard output.

use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::Context as _;
pub use rsb_app::error_chain as chain;
pub use rsb_app::export::TextSink;
use rsb_app::{named_file, output_error};
use rsb_report::{Color, Style};
use rsb_store::output::{self, OutputFile};
use serde::Serialize;

use crate::cli::ColorChoice;
use crate::exit::{CliResult, Exit};

/// Returns the style for standard output. Colors are used only on a terminal, unless `choice`
/// overrides this; `NO_COLOR` is honored.
pub fn style(choice: ColorChoice) -> Style {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let color = match choice {
        ColorChoice::Always => Color::Always,
        ColorChoice::Auto if !unwanted && std::io::stdout().is_terminal() => Color::Always,
        ColorChoice::Auto | ColorChoice::Never => Color::Never,
    };
    Style { color, width: width() }
}

/// Width of charts without a terminal, in columns. Text without a terminal has no limit.
pub const DRAWING_WIDTH: usize = 110;

/// Returns the width of the terminal, or else that in `COLUMNS`, which shells seldom export. Piped
/// text is neither cut nor wrapped.
fn width() -> usize {
    let out = std::io::stdout();
    if let Ok(size) = rustix::termios::tcgetwinsize(&out)
        && size.ws_col > 0
    {
        return usize::from(size.ws_col);
    }
    let exported: Option<usize> =
        std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    exported.filter(|columns| *columns > 0).unwrap_or(usize::MAX)
}

/// Returns whether output goes to a terminal that is wide enough for a picture next to the text.
/// Piped or written output contains text only.
pub fn has_room_for_pictures(style: Style) -> bool {
    style.width >= 80 && std::io::stdout().is_terminal()
}

/// Context of errors returned by [`text`].
pub const FAILED: &str = "cannot write to standard output";

/// Writes `text` to standard output, with one newline at its end and without terminal control
/// sequences other than colors.
///
/// # Errors
/// If standard output cannot be written, for example because the disk is full.
pub fn text(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out
        .write_all(rsb_report::presentable(text.trim_end_matches('\n')).as_bytes())
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush());
    match written {
        // The reader (`head`, `less`) has exited. That is not a failure and does not change the
        // verdict.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes the output of `write` to standard output piece by piece, without terminal control
/// sequences other than colors.
///
/// # Errors
/// As for [`text`], and if `write` fails.
pub fn pieces(write: impl FnOnce(&mut TextSink<'_>) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let written = write(&mut |text| out.write_all(rsb_report::presentable(text).as_bytes()))
        .and_then(|()| Ok(out.flush()?));
    match written {
        // As above: the reader has exited.
        Err(error) if is_broken_pipe(&error) => {
            // Discard the rest of the buffer.
            let _ = out.into_parts();
            Ok(())
        }
        other => other,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Writes `document` as JSON to standard output.
///
/// # Errors
/// As for [`text`].
pub fn json(document: &impl Serialize) -> anyhow::Result<()> {
    Ok(text(&rsb_report::json(document)?)?)
}

/// Writes `text` to the file `path`, or to standard output if `path` is `None` or `-`.
///
/// # Errors
/// If the file or standard output cannot be written.
pub fn to(path: Option<&Path>, text: &str) -> CliResult {
    match named_file(path) {
        Some(path) => output::write(path, text).map_err(output_error)?,
        None => self::text(text)?,
    }
    Ok(Exit::Pass)
}

/// Writes the output of `write` like [`to`], but piece by piece, never holding all of it in memory.
///
/// # Errors
/// As for [`to`], and if `write` fails.
pub fn pieces_to(
    path: Option<&Path>,
    write: impl FnOnce(&mut TextSink<'_>) -> anyhow::Result<()>,
) -> CliResult {
    match named_file(path) {
        Some(path) => {
            let mut out = OutputFile::create(path).map_err(output_error)?;
            let written = write(&mut |text| out.write_all(text.as_bytes()));
            written.with_context(|| format!("cannot write {}", path.display()))?;
            out.finish().map_err(output_error)?;
        }
        None => pieces(write)?,
    }
    Ok(Exit::Pass)
}
