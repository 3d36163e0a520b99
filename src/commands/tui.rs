//! The terminal interface.

#[cfg(feature = "tui")]
use rsb_app::tui::{self, PaletteChoice, SessionOptions};
use rsb_report::Style;

use crate::cli::TuiArgs;
#[cfg(not(feature = "tui"))]
use crate::exit::CliError;
use crate::exit::CliResult;
#[cfg(feature = "tui")]
use crate::{cli::PaletteArg, console};

/// The verb `tui`.
///
/// # Errors
/// When there is no terminal, or the settings are wrong.
#[cfg(feature = "tui")]
pub fn run(args: &TuiArgs, _: Style) -> CliResult {
    let palette = match args.palette {
        PaletteArg::Auto => PaletteChoice::Auto,
        PaletteArg::Ansi => PaletteChoice::Ansi,
        PaletteArg::Indexed => PaletteChoice::Indexed,
        PaletteArg::Truecolor => PaletteChoice::Truecolor,
        PaletteArg::Colorblind => PaletteChoice::Colorblind,
    };
    let paths = args.places.paths();
    tui::run(&SessionOptions { palette, ascii_only: args.ascii_only, paths }, console::tell)
}

/// The verb `tui`, which this build lacks.
///
/// # Errors
/// Always: it says what has it.
#[cfg(not(feature = "tui"))]
pub fn run(_: &TuiArgs, _: Style) -> CliResult {
    Err(CliError::usage(anyhow::anyhow!(
        "this build has no terminal interface: `cargo install --path . --features tui` builds one \
         that has; \
         `rusty-stack-bench run`, `compare` and `trend` show the same"
    )))
}
