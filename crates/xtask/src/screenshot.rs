//! A terminal's text, colors included, as an SVG picture for the README.

use std::fmt::Write as _;
use std::io::Read as _;

use anyhow::{Context, Result};

/// Width and height of a character cell, and the margin around them, in pixels.
const CELL: (f64, f64) = (8.0, 17.0);
const MARGIN: f64 = 16.0;

/// The sixteen colors that a terminal has names for, so that they read well on [`GROUND`].
const NAMED: [u32; 16] = [
    0x48_4f58, 0xff_7b72, 0x7e_e787, 0xe3_b341, 0x79_c0ff, 0xd2_a8ff, 0x76_e3ea, 0xb1_bac4, 0x6e_7681, 0xff_7b72,
    0x7e_e787, 0xe3_b341, 0x79_c0ff, 0xd2_a8ff, 0x76_e3ea, 0xf0_f6fc,
];
/// Behind everything, words, words in bold, and words of less interest.
const GROUND: u32 = 0x0d_1117;
const INK: u32 = 0xc9_d1d9;
const STRONG: u32 = 0xf0_f6fc;
const FAINT: u32 = 0x8b_949e;

/// How a piece of text looks.
#[allow(clippy::struct_excessive_bools, reason = "a terminal has these four, each on or off")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Look {
    ink: Option<u32>,
    ground: Option<u32>,
    is_bold: bool,
    is_faint: bool,
    is_underlined: bool,
    is_reversed: bool,
}

impl Look {
    /// After the sequence `ESC [ codes m`. Codes of no interest change nothing.
    fn after(mut self, codes: &str) -> Self {
        let mut codes = codes.split(';').map(|code| code.parse::<u32>().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => self = Self::default(),
                1 => self.is_bold = true,
                2 => self.is_faint = true,
                4 => self.is_underlined = true,
                7 => self.is_reversed = true,
                22 => (self.is_bold, self.is_faint) = (false, false),
                24 => self.is_underlined = false,
                27 => self.is_reversed = false,
                30..=37 => self.ink = named(code - 30),
                38 => self.ink = exact(&mut codes),
                39 => self.ink = None,
                40..=47 => self.ground = named(code - 40),
                48 => self.ground = exact(&mut codes),
                49 => self.ground = None,
                90..=97 => self.ink = named(code - 82),
                100..=107 => self.ground = named(code - 92),
                _ => {}
            }
        }
        self
    }

    /// The colors of its words and of what lies behind them.
    fn colors(self) -> (u32, Option<u32>) {
        let plain = match self {
            Self { is_faint: true, .. } => FAINT,
            Self { is_bold: true, .. } => STRONG,
            _ => INK,
        };
        let ink = self.ink.unwrap_or(plain);
        if self.is_reversed { (self.ground.unwrap_or(GROUND), Some(ink)) } else { (ink, self.ground) }
    }
}

fn named(index: u32) -> Option<u32> {
    NAMED.get(index as usize).copied()
}

/// A color of the 256 (`5;n`), or any (`2;r;g;b`).
fn exact(codes: &mut impl Iterator<Item = u32>) -> Option<u32> {
    const STEPS: [u32; 6] = [0, 95, 135, 175, 215, 255];
    match codes.next()? {
        2 => Some(codes.next()? << 16 | codes.next()? << 8 | codes.next()?),
        5 => match codes.next()? {
            index @ 0..=15 => named(index),
            index @ 16..=231 => {
                let part = |divisor: u32| STEPS[((index - 16) / divisor % 6) as usize];
                Some(part(36) << 16 | part(6) << 8 | part(1))
            }
            index => Some((8 + 10 * (index.min(255) - 232)) * 0x01_0101),
        },
        _ => None,
    }
}

/// Reads text with ANSI sequences from standard input and prints the picture.
pub(crate) fn run() -> Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("cannot read the text on standard input")?;
    print!("{}", svg(&text));
    Ok(())
}

fn svg(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(|line| line.trim_end_matches('\r')).collect();
    let columns = |line: &&str| spans(line, Look::default()).iter().map(|(_, text)| width(text)).sum();
    let columns = lines.iter().map(columns).fold(0.0, f64::max);
    let (wide, high) = (columns * CELL.0 + 2.0 * MARGIN, lines.len() as f64 * CELL.1 + 2.0 * MARGIN);
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" width=\"{wide}\" height=\"{high}\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"13\" \
         fill=\"#{INK:06x}\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#{GROUND:06x}\"/>\n"
    );
    let mut last = Look::default();
    for (row, line) in lines.iter().enumerate() {
        let (mut left, top) = (MARGIN, MARGIN + row as f64 * CELL.1);
        for (look, text) in spans(line, last) {
            last = look;
            draw(&mut picture, (left, top), look, text);
            left += width(text) * CELL.0;
        }
    }
    picture + "</svg>\n"
}

/// Draws `text` from the corner (`left`, `top`) on.
fn draw(picture: &mut String, (left, top): (f64, f64), look: Look, text: &str) {
    let (ink, ground) = look.colors();
    if let Some(ground) = ground {
        let (length, height) = (width(text) * CELL.0, CELL.1);
        let _ = writeln!(
            picture,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{length}\" height=\"{height}\" fill=\"#{ground:06x}\"/>"
        );
    }
    let mut style = String::new();
    if ink != INK {
        let _ = write!(style, " fill=\"#{ink:06x}\"");
    }
    style.push_str(if look.is_bold { " font-weight=\"bold\"" } else { "" });
    style.push_str(if look.is_underlined { " text-decoration=\"underline\"" } else { "" });
    let baseline = top + 0.75 * CELL.1;
    // Browsers drop leading spaces and collapse several to one, so a wide gap is left by position.
    let mut column = 0.0;
    for piece in text.split("  ") {
        let words = piece.trim_matches(' ');
        if !words.is_empty() {
            let indent = width(piece) - width(piece.trim_start_matches(' '));
            let (x, length) = (left + (column + indent) * CELL.0, width(words) * CELL.0);
            // The length keeps columns aligned whichever font the reader has.
            let _ = writeln!(
                picture,
                "<text x=\"{x}\" y=\"{baseline}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\"{style}>{}</text>",
                escape(words)
            );
        }
        column += width(piece) + 2.0;
    }
}

/// A line's parts, each with how it looks; the first as the line before ended.
fn spans(line: &str, last: Look) -> Vec<(Look, &str)> {
    let mut parts = line.split("\x1b[");
    let mut found = vec![(last, parts.next().unwrap_or_default())];
    for part in parts {
        // Other sequences than those of looks move the cursor: there are none in a captured page.
        let (codes, text) = part.split_once('m').unwrap_or(("", part));
        let before = found.last().map_or(last, |(look, _)| *look);
        found.push((before.after(codes), text));
    }
    found
}

fn width(text: &str) -> f64 {
    text.chars().count() as f64
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_and_columns_are_kept() {
        let bad = Look { ink: Some(0xff_7b72), is_bold: true, ..Look::default() };
        assert_eq!(
            spans("a \x1b[1;31mbad\x1b[0m z", Look::default()),
            [(Look::default(), "a "), (bad, "bad"), (Look::default(), " z")],
            "and the last one is how the next line begins"
        );
        let picture = svg("$ a <b>\r\n\x1b[32mgood\nyes\x1b[0m\n");
        assert!(picture.contains("viewBox=\"0 0 88 83\"") && picture.contains("$ a &lt;b&gt;"), "{picture}");
        assert!(picture.contains("textLength=\"32\"") && picture.matches("#7ee787").count() == 2, "{picture}");
    }

    #[test]
    fn words_stand_in_their_columns_without_the_help_of_spaces() {
        let picture = svg("\x1b[31mbad\x1b[0m   a b  c \n    deep");
        let places: Vec<(&str, &str)> = picture
            .split("<text x=\"")
            .skip(1)
            .map(|rest| (rest.split('"').next().unwrap(), rest.split(['>', '<']).nth(1).unwrap()))
            .collect();
        assert_eq!(places, [("16", "bad"), ("64", "a b"), ("104", "c"), ("48", "deep")], "{picture}");
    }

    #[test]
    fn every_way_to_say_a_color_is_understood() {
        let after = |codes: &str| Look::default().after(codes);
        for (codes, ink) in [
            ("38;2;1;2;255", 0x01_02ff),
            ("38;5;196", 0xff_0000),
            ("38;5;232", 0x08_0808),
            ("38;5;9", 0xff_7b72),
            ("1;92", 0x7e_e787),
        ] {
            assert_eq!(after(codes).colors(), (ink, None), "{codes}");
        }
        assert_eq!(after("48;5;21;33").colors(), (0xe3_b341, Some(0x00_00ff)));
        assert_eq!(after("7").colors(), (GROUND, Some(INK)), "reversed");
        assert_eq!(after("1;2;4;7").after("22;24;27"), Look::default());
        assert_eq!(after("38;5"), Look::default(), "cut off");
    }
}
