//! Color palettes: styles by meaning of the text. A word or a shape always carries the same
//! information.

use ratatui::style::{Color, Modifier, Style};
use rsb_report::chart::Paint;
use rsb_report::{Pigment, Theme, Tone};

/// A set of colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// No colors: only bold, dim, underlined and reversed.
    Plain,
    /// The sixteen colors that the user's terminal defines.
    Ansi,
    /// The 256 fixed colors.
    Indexed,
    /// 24-bit colors.
    TrueColor,
    /// Blue and orange instead of green and red (after Okabe and Ito), for readers who cannot
    /// distinguish these.
    ColorBlind,
}

/// Purpose of a color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hue {
    Good,
    Bad,
    Caution,
    Accent,
}

impl Palette {
    const fn color(self, hue: Hue) -> Option<Color> {
        let (ansi, indexed, (red, green, blue), safe) = match hue {
            Hue::Good => (Color::Green, 71, (95, 185, 95), 39),
            Hue::Bad => (Color::LightRed, 203, (255, 95, 95), 208),
            Hue::Caution => (Color::Yellow, 179, (215, 175, 95), 227),
            Hue::Accent => (Color::Cyan, 80, (95, 215, 215), 117),
        };
        match self {
            Self::Plain => None,
            Self::Ansi => Some(ansi),
            Self::Indexed => Some(Color::Indexed(indexed)),
            Self::TrueColor => Some(Color::Rgb(red, green, blue)),
            Self::ColorBlind => Some(Color::Indexed(safe)),
        }
    }

    fn style(self, hue: Hue) -> Style {
        self.color(hue).map_or_else(Style::new, |color| Style::new().fg(color))
    }

    /// Returns the style of text with a tone.
    pub(crate) fn tone(self, tone: Tone) -> Style {
        match tone {
            Tone::Plain => Style::new(),
            Tone::Good => self.style(Hue::Good),
            Tone::Bad => self.style(Hue::Bad).add_modifier(Modifier::BOLD),
            Tone::Caution => self.style(Hue::Caution),
            Tone::Dim => Style::new().add_modifier(Modifier::DIM),
            Tone::Strong => Style::new().add_modifier(Modifier::BOLD),
        }
    }

    /// Returns the style of a part of a chart: the color of `theme`, adapted to the palette.
    pub(crate) fn paint(self, paint: Paint, theme: &Theme) -> Style {
        let color = match (self, paint) {
            (Self::Plain, _) => None,
            (Self::ColorBlind, Paint::Good | Paint::Current | Paint::DeviceRead) => {
                self.color(Hue::Good)
            }
            (Self::ColorBlind, Paint::Bad | Paint::Error | Paint::Baseline | Paint::Host) => {
                self.color(Hue::Bad)
            }
            (Self::ColorBlind | Self::Indexed, _) => {
                Some(Color::Indexed(nearest(theme.rgb(paint))))
            }
            (Self::TrueColor, _) => Some(exact_color(theme.rgb(paint))),
            (Self::Ansi, _) => Some(match theme.pigment(paint) {
                Pigment::Ansi(index) => of_sixteen(index),
                Pigment::Exact(rgb) => exact_color(rgb),
            }),
        };
        color.map_or_else(Style::new, |color| Style::new().fg(color))
    }

    /// Returns the style of a key that can be pressed or clicked.
    pub(crate) fn key(self) -> Style {
        self.style(Hue::Accent).add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }

    /// Returns the style of the selected row and the current stage.
    pub(crate) fn selection_style() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Returns the style of lines and frames.
    pub(crate) fn line() -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }
}

/// Returns one of the sixteen colors that the user's terminal defines.
pub(crate) const fn of_sixteen(index: u8) -> Color {
    match index {
        0 => Color::Black,
        1 => Color::Red,
        2 => Color::Green,
        3 => Color::Yellow,
        4 => Color::Blue,
        5 => Color::Magenta,
        6 => Color::Cyan,
        7 => Color::Gray,
        8 => Color::DarkGray,
        9 => Color::LightRed,
        10 => Color::LightGreen,
        11 => Color::LightYellow,
        12 => Color::LightBlue,
        13 => Color::LightMagenta,
        14 => Color::LightCyan,
        _ => Color::White,
    }
}

const fn exact_color([red, green, blue]: [u8; 3]) -> Color {
    Color::Rgb(red, green, blue)
}

/// Returns the nearest of the 216 colors of the cube in the 256-color palette.
fn nearest(rgb: [u8; 3]) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let [red, green, blue] = rgb.map(|value| {
        (0u8..).zip(LEVELS).min_by_key(|(_, level)| level.abs_diff(value)).map_or(0, |(at, _)| at)
    });
    16 + 36 * red + 6 * green + blue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cube_has_a_color_for_every_other() {
        for (rgb, index) in [
            ([0, 0, 0], 16),
            ([255, 255, 255], 231),
            ([255, 0, 0], 196),
            ([96, 134, 176], 16 + 36 + 12 + 3),
        ] {
            assert_eq!(nearest(rgb), index, "{rgb:?}");
        }
    }

    #[test]
    fn better_and_worse_differ_in_every_palette_and_have_no_color_in_the_plain_one() {
        let theme = Theme::from(rsb_report::ThemeName::Dark);
        for palette in [
            Palette::Plain,
            Palette::Ansi,
            Palette::Indexed,
            Palette::TrueColor,
            Palette::ColorBlind,
        ] {
            assert_ne!(palette.tone(Tone::Good), palette.tone(Tone::Bad), "{palette:?}");
            let [good, bad] =
                [Paint::Good, Paint::Bad].map(|paint| palette.paint(paint, &theme).fg);
            assert_eq!(good == bad, palette == Palette::Plain, "{palette:?}");
            assert_eq!(palette.tone(Tone::Good).fg.is_none(), palette == Palette::Plain);
        }
    }
}
