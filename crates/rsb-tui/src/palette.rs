//! The colors of each terminal: what a piece of text means, as a style. A word or a shape always
//! says the same thing.

use ratatui::style::{Color, Modifier, Style};
use rsb_report::chart::Paint;
use rsb_report::{Pigment, Theme, Tone};

/// A set of colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// None: bold, dim, underlined and reversed alone.
    Plain,
    /// The sixteen that the user's terminal defines.
    Ansi,
    /// The 256 fixed ones.
    Indexed,
    /// Any.
    TrueColor,
    /// Blue and orange in place of green and red (after Okabe and Ito), for those who do not tell
    /// these apart.
    ColorBlind,
}

/// What a color is for.
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

    /// Of text with a tone.
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

    /// Of a part of a chart: the colors of `theme`, but for those that people mistake for one
    /// another.
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

    /// Of a key that can be pressed and clicked.
    pub(crate) fn key(self) -> Style {
        self.style(Hue::Accent).add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }

    /// Of the row that is selected, and the stage that is shown.
    pub(crate) fn selection_style() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Of lines and frames.
    pub(crate) fn line() -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }
}

/// One of the sixteen that the user's terminal defines.
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

/// The nearest of the 216 colors of the cube among the 256.
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
