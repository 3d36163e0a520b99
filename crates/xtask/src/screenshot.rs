//! A terminal's text, colors included, as an SVG picture for the README.

use std::fmt::Write as _;
use std::io::Read as _;

use anyhow::{Context, Result};

/// Width and height of a character cell, and the margin around them, in pixels.
const CELL: (f64, f64) = (8.0, 19.0);
const MARGIN: f64 = 16.0;

/// Each color that the program writes (`Tone` in rsb-report), as an SGR code and a fill that reads well on the background.
const COLORS: &[(&str, &str)] = &[
    ("32", "fill=\"#7ee787\""),
    ("1;31", "fill=\"#ff7b72\" font-weight=\"bold\""),
    ("33", "fill=\"#e3b341\""),
    ("2", "fill=\"#8b949e\""),
    ("1", "fill=\"#f0f6fc\" font-weight=\"bold\""),
];

/// Reads text with ANSI sequences from standard input and prints the picture.
pub(crate) fn run() -> Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("cannot read the text on standard input")?;
    print!("{}", svg(&text));
    Ok(())
}

fn svg(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(|line| line.trim_end_matches('\r')).collect();
    let columns =
        lines.iter().map(|line| spans(line, "").iter().map(|(_, text)| width(text)).sum()).fold(0.0, f64::max);
    let (wide, high) = (columns * CELL.0 + 2.0 * MARGIN, lines.len() as f64 * CELL.1 + 2.0 * MARGIN);
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" width=\"{wide}\" height=\"{high}\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"13\" \
         fill=\"#c9d1d9\" xml:space=\"preserve\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n"
    );
    let mut last = "";
    for (row, line) in lines.iter().enumerate() {
        let (mut left, baseline) = (MARGIN, MARGIN + (row as f64 + 0.75) * CELL.1);
        for (fill, text) in spans(line, last) {
            last = fill;
            let length = width(text) * CELL.0;
            if !text.trim().is_empty() {
                // The length keeps columns aligned whichever font the reader has.
                let _ = writeln!(
                    picture,
                    "<text x=\"{left}\" y=\"{baseline}\" textLength=\"{length}\" \
                     lengthAdjust=\"spacingAndGlyphs\" {fill}>{}</text>",
                    escape(text)
                );
            }
            left += length;
        }
    }
    picture + "</svg>\n"
}

/// A line's parts, each with how it is filled; the first as the line before ended. Sequences that set no known color end the one before.
fn spans<'a>(line: &'a str, last: &'static str) -> Vec<(&'static str, &'a str)> {
    let mut parts = line.split("\x1b[");
    let mut found = vec![(last, parts.next().unwrap_or_default())];
    for part in parts {
        let (code, text) = part.split_once('m').unwrap_or(("", part));
        let fill = COLORS.iter().find(|(known, _)| *known == code).map_or("", |(_, fill)| fill);
        found.push((fill, text));
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
        assert_eq!(
            spans("a \x1b[1;31mbad\x1b[0m z", ""),
            [("", "a "), ("fill=\"#ff7b72\" font-weight=\"bold\"", "bad"), ("", " z")]
        );
        let picture = svg("$ a <b>\r\n\x1b[32mgood\nyes\x1b[0m\n");
        assert!(picture.contains("viewBox=\"0 0 88 89\"") && picture.contains("$ a &lt;b&gt;"), "{picture}");
        assert!(picture.contains("textLength=\"32\"") && picture.matches("#7ee787").count() == 2, "{picture}");
    }
}
