//! Arguments of `tui`.

use clap::{Args, ValueEnum};

use super::Places;

/// The colors of the terminal interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PaletteArg {
    /// As many colors as the terminal reports
    Auto,
    /// The 16 colors of the terminal
    Ansi,
    /// 256 fixed colors
    #[value(name = "256")]
    Indexed,
    /// 24-bit colors
    Truecolor,
    /// Blue and orange instead of green and red
    Colorblind,
}

/// Arguments of `tui`.
#[derive(Debug, Clone, Args)]
pub struct TuiArgs {
    /// Choose the colors; NO_COLOR turns them off
    #[arg(long, value_enum, default_value_t = PaletteArg::Auto)]
    pub palette: PaletteArg,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub ascii_only: bool,
    /// Draw simulated results, too, marked as such
    #[arg(long)]
    pub simulated: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}
