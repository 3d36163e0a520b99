//! `tui`: the terminal interface.

#[cfg(feature = "tui")]
use rsb_app::tui::{self, PaletteChoice, SessionOptions};
use rsb_report::Style;

use crate::cli::TuiArgs;
#[cfg(not(feature = "tui"))]
use crate::exit::CliError;
use crate::exit::CliResult;
#[cfg(feature = "tui")]
use crate::{cli::PaletteArg, console};

/// Runs the subcommand `tui`.
///
/// # Errors
/// If there is no terminal, or the settings are invalid.
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
    let (ascii_only, simulated) = (args.ascii_only, args.simulated);
    tui::run(&SessionOptions { palette, ascii_only, simulated, paths }, console::tell)
}

/// Rejects the subcommand `tui`, which this build lacks.
///
/// # Errors
/// Always, with the build command that includes it.
#[cfg(not(feature = "tui"))]
pub fn run(_: &TuiArgs, _: Style) -> CliResult {
    Err(CliError::usage(anyhow::anyhow!(
        "this build has no terminal interface; rebuild with `cargo install --path . --features \
         tui`, or use `rusty-stack-bench run`, `compare` or `trend`"
    )))
}
