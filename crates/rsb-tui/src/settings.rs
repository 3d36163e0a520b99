//! User settings of the interface.

use rsb_report::{Glyphs, Theme, ThemeName};

use crate::palette::Palette;

/// Animation during a run. It advances with engine events, because the interface has no clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnimationStyle {
    /// A progress bar.
    Bar,
    /// A mark that turns by one position at each step.
    Spinner,
    /// No animation, only numbers.
    None,
}

/// User settings of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each flag is an independent setting with its own name"
)]
pub struct InterfaceSettings {
    /// Whether results and charts are shown during a run, or only at its end.
    pub shows_live_progress: bool,
    /// Whether selecting an entry starts it without confirmation.
    pub runs_on_selection: bool,
    /// Whether a finished run is followed by a comparison with the previous run.
    pub compares_after_run: bool,
    /// Animation during a run.
    pub animation: AnimationStyle,
    /// Color palette.
    pub palette: Palette,
    /// Whether only ASCII is drawn.
    pub ascii_only: bool,
    /// Theme of charts.
    pub theme: Theme,
    /// Character set of charts.
    pub glyphs: Glyphs,
    /// Whether charts draw simulated results, too.
    pub draws_simulated: bool,
    /// Name of the user, recorded with decisions.
    pub author: String,
    /// Arguments of every copied command, each after a space.
    pub arguments: String,
    /// Whether there is a campaign over the nodes of a fleet.
    pub has_fleet: bool,
}

impl Default for InterfaceSettings {
    fn default() -> Self {
        Self {
            shows_live_progress: true,
            runs_on_selection: false,
            compares_after_run: true,
            animation: AnimationStyle::Bar,
            palette: Palette::Ansi,
            ascii_only: false,
            theme: Theme::from(ThemeName::Dark),
            glyphs: Glyphs::Unicode,
            draws_simulated: false,
            author: String::new(),
            arguments: String::new(),
            has_fleet: false,
        }
    }
}
