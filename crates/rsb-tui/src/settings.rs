//! What a person can choose about the interface.

use rsb_report::{Glyphs, Theme, ThemeName};

use crate::palette::Palette;

/// What moves while a run is measured. All of them move with the engine's events, never by a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnimationStyle {
    /// A bar that fills.
    Bar,
    /// A mark that turns at each step.
    Spinner,
    /// Nothing: figures alone.
    None,
}

/// What a person can choose about the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a setting of its own, and has a name")]
pub struct InterfaceSettings {
    /// Whether figures and charts are shown while a run is measured, or only at its end.
    pub shows_live_progress: bool,
    /// Whether choosing an entry starts it without asking.
    pub runs_on_selection: bool,
    /// Whether a finished run is followed by its comparison with the run before.
    pub compares_after_run: bool,
    /// What moves while a run is measured.
    pub animation: AnimationStyle,
    /// The colors.
    pub palette: Palette,
    /// Whether nothing but ASCII is drawn.
    pub ascii_only: bool,
    /// The colors of charts.
    pub theme: Theme,
    /// The characters of charts.
    pub glyphs: Glyphs,
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
        }
    }
}
