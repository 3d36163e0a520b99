//! Flags of `tui`.

use clap::{Args, ValueEnum};

use super::Places;

/// The colors of the terminal interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PaletteArg {
    /// As many as the terminal says it has.
    Auto,
    /// The sixteen that the terminal defines.
    Ansi,
    /// The 256 fixed ones.
    #[value(name = "256")]
    Indexed,
    /// Any.
    Truecolor,
    /// Blue and orange in place of green and red.
    Colorblind,
}

/// Arguments of `tui`.
#[derive(Debug, Clone, Args)]
pub struct TuiArgs {
    /// The colors; with NO_COLOR there are none
    #[arg(long, value_enum, default_value_t = PaletteArg::Auto)]
    pub palette: PaletteArg,
    /// Draw with nothing but ASCII
    #[arg(long)]
    pub ascii_only: bool,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}
