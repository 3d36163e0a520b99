//! A [`Chart`] drawn with characters, for a terminal, never larger than its area. The caller
//! applies the colors; shapes and words carry the same information without them.

mod bars;
mod frame;
mod grid;
mod head;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::chart::{AxisScale, Chart, Marker, Paint};
use crate::style::{Color, Style};
use crate::theme::{Theme, ThemeName};

/// Character set to draw with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Glyphs {
    /// Blocks, Braille patterns, box drawing.
    #[default]
    Unicode,
    /// ASCII only, except for names in the data.
    Ascii,
    /// Those of [`Glyphs::Unicode`], some of them replaced.
    #[serde(skip)]
    Custom(&'static CharacterSet),
}

/// Characters that replace those of a picture. Text in the picture is unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CharacterSet {
    replaced: BTreeMap<char, char>,
}

/// A character that cannot be used in a picture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not one printable character that takes one column")]
pub struct UnusableCharacter(String);

impl CharacterSet {
    /// Returns the set in which each key of `replaced` is drawn as its value.
    ///
    /// # Errors
    /// If a key or a value is not one printable character, or is wider than a column.
    pub fn new(replaced: &BTreeMap<String, String>) -> Result<Self, UnusableCharacter> {
        let one = |text: &str| {
            let mut letters = text.chars();
            match (letters.next(), letters.next()) {
                (Some(c), None) if !c.is_control() && crate::style::columns(text) == 1 => Ok(c),
                _ => Err(UnusableCharacter(text.escape_default().to_string())),
            }
        };
        let mut set = Self::default();
        for (drawn, instead) in replaced {
            set.replaced.insert(one(drawn)?, one(instead)?);
        }
        Ok(set)
    }
}

/// Text in one paint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledText {
    /// Text without control characters.
    pub text: String,
    /// Role of the text; `None` for the terminal's default color.
    pub paint: Option<Paint>,
}

/// A chart as lines of characters, without trailing spaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    /// Lines from top to bottom.
    pub lines: Vec<Vec<StyledText>>,
}

impl Picture {
    /// Formats the picture for a terminal in the colors of the dark theme, one row of characters
    /// per line.
    pub fn text(&self, style: Style) -> String {
        self.themed_text(style, &Theme::from(ThemeName::Dark))
    }

    /// Formats the picture for a terminal in the colors of `theme`, one row of characters per line.
    pub fn themed_text(&self, style: Style, theme: &Theme) -> String {
        let mut out = String::new();
        for line in &self.lines {
            for ink in line {
                match ink.paint.filter(|_| style.color == Color::Always) {
                    Some(paint) => {
                        out.push_str(&theme.pigment(paint).code());
                        out.push_str(&ink.text);
                        out.push_str("\x1b[0m");
                    }
                    None => out.push_str(&ink.text),
                }
            }
            out.push('\n');
        }
        out
    }
}

/// Draws `chart` within `width` columns and `height` lines. If a coordinate is not finite, draws a
/// message instead.
pub fn picture(chart: &Chart, width: usize, height: usize, glyphs: Glyphs) -> Picture {
    let place = PictureArea {
        width: width.min(MAX_PICTURE_SIDE),
        height: height.min(MAX_PICTURE_SIDE),
        glyphs,
    };
    let mut lines = if !chart.is_finite() {
        head::unfit(chart, place)
    } else if chart.y_axis.scale == AxisScale::Rows {
        rows::lines(chart, place)
    } else {
        frame::lines(chart, place)
    };
    lines.truncate(place.height);
    Picture { lines }
}

/// Maximum width and height of each picture in a text, in columns and lines.
const TEXT_WIDTH: usize = 120;
const TEXT_HEIGHT: usize = 16;

/// Draws `charts` one below the other, as part of a text in `style`.
pub fn pictures(charts: &[Chart], glyphs: Glyphs, theme: &Theme, style: Style) -> String {
    let mut text = String::new();
    for chart in charts {
        let drawn = picture(chart, style.width.min(TEXT_WIDTH), TEXT_HEIGHT, glyphs);
        text.push_str(&drawn.themed_text(style, theme));
        text.push('\n');
    }
    text
}

const MAX_PICTURE_SIDE: usize = 1000;

/// Area of a picture.
#[derive(Debug, Clone, Copy)]
struct PictureArea {
    width: usize,
    height: usize,
    glyphs: Glyphs,
}

/// A line of a picture.
type Line = Vec<StyledText>;

impl Glyphs {
    /// Returns the character of this character set, before any replacement.
    const fn pick(self, unicode: char, ascii: char) -> char {
        match self {
            Self::Unicode | Self::Custom(_) => unicode,
            Self::Ascii => ascii,
        }
    }

    /// Returns the character that is drawn instead of `glyph`.
    fn drawn(self, glyph: char) -> char {
        match self {
            Self::Custom(set) => set.replaced.get(&glyph).copied().unwrap_or(glyph),
            Self::Unicode | Self::Ascii => glyph,
        }
    }

    const fn marker(self, marker: Marker) -> char {
        match marker {
            Marker::Circle => self.pick('●', '*'),
            Marker::Triangle => self.pick('▲', 'A'),
            Marker::Square => self.pick('■', '#'),
            Marker::Diamond => self.pick('◆', '%'),
            Marker::Ring => self.pick('○', 'o'),
            Marker::OpenTriangle => self.pick('△', 'y'),
            Marker::OpenSquare => self.pick('□', 'n'),
            Marker::OpenDiamond => self.pick('◇', 'x'),
            Marker::Up => self.pick('↑', '^'),
            Marker::Down => self.pick('↓', 'v'),
            Marker::Dash => self.pick('–', '-'),
            Marker::Question => '?',
        }
    }

    /// Truncates `text` to `room` columns.
    fn cut(self, text: &str, room: usize) -> String {
        if crate::style::columns(text) <= room {
            return text.to_owned();
        }
        let mark = self.pick('…', '~');
        let mut out = String::new();
        for c in text.chars() {
            let grown = format!("{out}{c}{mark}");
            if crate::style::columns(&grown) > room {
                break;
            }
            out.push(c);
        }
        if room > 0 { format!("{out}{mark}") } else { out }
    }

    /// Shortens `text` to `room` columns in the middle, because names differ at their ends.
    fn elide(self, text: &str, room: usize) -> String {
        if crate::style::columns(text) <= room {
            return text.to_owned();
        }
        let head = self.cut(text, (room * 2 / 5).max(1));
        let tail = ending(text, room.saturating_sub(crate::style::columns(&head)));
        if room > 0 { head + &tail } else { String::new() }
    }
}

/// Returns the end of `text` that fits in `room` columns.
fn ending(text: &str, room: usize) -> String {
    let (mut tail, mut left) = (Vec::new(), room);
    for c in text.chars().rev() {
        let width = crate::style::columns(c.encode_utf8(&mut [0; 4]));
        if width > left {
            break;
        }
        left -= width;
        tail.push(c);
    }
    tail.iter().rev().collect()
}
