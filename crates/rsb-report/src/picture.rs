//! A [`Chart`] in characters, for a terminal: never wider and never taller than its place. Colors
//! are left to who shows it; shapes and words say the same without them.

mod bars;
mod frame;
mod grid;
mod head;
mod rows;
#[cfg(test)]
mod tests;

use crate::chart::{AxisScale, Chart, Marker, Paint};
use crate::style::{Color, Style};
use crate::theme::{Theme, ThemeName};

/// The characters to draw with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Glyphs {
    /// Blocks, Braille patterns, box drawing.
    #[default]
    Unicode,
    /// What every terminal and font has. Names in the data stay as they are.
    Ascii,
}

/// Characters of one paint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledText {
    /// Without control characters.
    pub text: String,
    /// What they stand for; none is the terminal's own color.
    pub paint: Option<Paint>,
}

/// A chart as lines of characters, without spaces at their ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    /// From top to bottom.
    pub lines: Vec<Vec<StyledText>>,
}

impl Picture {
    /// For a terminal, a line end each, in the colors of the theme for dark grounds.
    pub fn text(&self, style: Style) -> String {
        self.themed_text(style, &Theme::from(ThemeName::Dark))
    }

    /// For a terminal, a line end each, in the colors of `theme`.
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

/// `chart` within `width` columns and `height` lines. A chart whose coordinates are not finite says
/// so in its place.
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

const MAX_PICTURE_SIDE: usize = 1000;

/// Where a picture goes.
#[derive(Debug, Clone, Copy)]
struct PictureArea {
    width: usize,
    height: usize,
    glyphs: Glyphs,
}

/// A line of a picture.
type Line = Vec<StyledText>;

impl Glyphs {
    /// One of two characters.
    const fn pick(self, unicode: char, ascii: char) -> char {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
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

    /// `text` cut at its end to `room` columns.
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

    /// `text` cut in its middle to `room` columns, since names differ at their ends.
    fn elide(self, text: &str, room: usize) -> String {
        if crate::style::columns(text) <= room {
            return text.to_owned();
        }
        let head = self.cut(text, (room * 2 / 5).max(1));
        let tail = ending(text, room.saturating_sub(crate::style::columns(&head)));
        if room > 0 { head + &tail } else { String::new() }
    }
}

/// The end of `text` that fits `room` columns.
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
