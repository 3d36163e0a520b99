//! Standard output: where a person's text and a program's document leave the program, and nowhere
//! else; and the files that take their place.

use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::Context as _;
pub use rsb_app::error_chain as chain;
pub use rsb_app::export::TextSink;
use rsb_app::{named_file, output_error};
use rsb_report::{Color, Style};
use rsb_store::output;
use serde::Serialize;

use crate::cli::ColorChoice;
use crate::exit::{CliResult, Exit};

/// Colors only on a terminal, unless asked otherwise; `NO_COLOR` is honored.
pub fn style(choice: ColorChoice) -> Style {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let color = match choice {
        ColorChoice::Always => Color::Always,
        ColorChoice::Auto if !unwanted && std::io::stdout().is_terminal() => Color::Always,
        ColorChoice::Auto | ColorChoice::Never => Color::Never,
    };
    Style { color, width: width() }
}

/// Columns of a drawing without a terminal. Text without a terminal has no limit.
pub const DRAWING_WIDTH: usize = 110;

/// Returns the width of the terminal, else of `COLUMNS`, which shells seldom export. Piped text is
/// neither cut nor wrapped.
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

/// Whether a person looks on, with room for a picture beside the words. What is piped or written
/// stays words alone.
pub fn has_room_for_pictures(style: Style) -> bool {
    style.width >= 80 && std::io::stdout().is_terminal()
}

/// What an error of [`text`] is about.
pub const FAILED: &str = "cannot write to standard output";

/// Writes `text` to standard output, with one newline at its end, and nothing in it that a terminal
/// would obey but colors.
///
/// # Errors
/// When it cannot be written, as to a full disk.
pub fn text(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out
        .write_all(rsb_report::presentable(text.trim_end_matches('\n')).as_bytes())
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush());
    match written {
        // The reader (`head`, `less`) has left. That is no failure, and changes nothing about the
        // verdict.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes what `write` hands on, piece by piece, to standard output, and nothing in it that a
/// terminal would obey but colors.
///
/// # Errors
/// As [`text`], and those of `write`.
pub fn pieces(write: impl FnOnce(&mut TextSink<'_>) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let written = write(&mut |text| out.write_all(rsb_report::presentable(text).as_bytes()))
        .and_then(|()| Ok(out.flush()?));
    match written {
        // As above: the reader has left.
        Err(error) if is_broken_pipe(&error) => {
            // What is still in the buffer has nowhere to go.
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

/// Writes `document` as one JSON document to standard output.
///
/// # Errors
/// As [`text`].
pub fn json(document: &impl Serialize) -> anyhow::Result<()> {
    Ok(text(&rsb_report::json(document)?)?)
}

/// Writes `text` to the file `path`; to standard output without one, or for `-`.
///
/// # Errors
/// When it cannot be written.
pub fn to(path: Option<&Path>, text: &str) -> CliResult {
    match named_file(path) {
        Some(path) => output::write(path, text).map_err(output_error)?,
        None => self::text(text)?,
    }
    Ok(Exit::Pass)
}

/// As [`to`], what `write` hands on, piece by piece: all of it is never in memory at once.
///
/// # Errors
/// As [`to`], and those of `write`.
pub fn pieces_to(
    path: Option<&Path>,
    write: impl FnOnce(&mut TextSink<'_>) -> anyhow::Result<()>,
) -> CliResult {
    match named_file(path) {
        Some(path) => {
            let mut out = std::io::BufWriter::new(output::create(path).map_err(output_error)?);
            let written =
                write(&mut |text| out.write_all(text.as_bytes())).and_then(|()| Ok(out.flush()?));
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
        None => pieces(write)?,
    }
    Ok(Exit::Pass)
}
