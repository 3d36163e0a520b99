//! Converts text colored by rsb-report to styled lines.

use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use rsb_report::Tone;

use crate::palette::{Palette, of_sixteen};

/// Converts `text` to styled lines. Interprets the color sequences that rsb-report writes, and
/// removes all other control characters.
pub(crate) fn lines(text: &str, palette: Palette) -> Vec<Line<'static>> {
    text.lines().map(|line| parse_line(line, palette)).collect()
}

fn parse_line(line: &str, palette: Palette) -> Line<'static> {
    let mut parts = line.split("\x1b[");
    let mut spans = vec![Span::raw(rsb_report::clean(parts.next().unwrap_or_default()))];
    for part in parts {
        let (code, text) = part.split_once('m').unwrap_or(("", part));
        spans.push(Span::styled(rsb_report::clean(text), style(code, palette)));
    }
    spans.retain(|span| !span.content.is_empty());
    Line::from(spans)
}

/// Returns the style of a color sequence; the default style if unknown.
fn style(code: &str, palette: Palette) -> Style {
    let known = [Tone::Good, Tone::Bad, Tone::Caution, Tone::Dim, Tone::Strong];
    if let Some(tone) = known.into_iter().find(|tone| tone.code() == Some(code)) {
        return palette.tone(tone);
    }
    let color = match code.strip_prefix("38;2;") {
        Some(rgb) => exact(rgb),
        None => code.parse::<u8>().ok().and_then(|code| match code {
            30..=37 => Some(of_sixteen(code - 30)),
            90..=97 => Some(of_sixteen(code - 82)),
            _ => None,
        }),
    };
    match (palette, color) {
        (Palette::Plain, _) | (_, None) => Style::new(),
        (_, Some(color)) => Style::new().fg(color),
    }
}

fn exact(rgb: &str) -> Option<Color> {
    let mut parts = rgb.split(';').map(|part| part.parse::<u8>().ok());
    Some(Color::Rgb(parts.next()??, parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_report::{Color as Painting, Style as Painter};

    #[test]
    fn what_is_painted_keeps_its_tones_and_nothing_is_obeyed() {
        let painter = Painter { color: Painting::Always, width: 80 };
        let text =
            format!("a {} b\n{}", painter.paint(Tone::Bad, "worse"), painter.paint(Tone::Dim, "x"));
        let lines = lines(&text, Palette::Ansi);
        assert_eq!(lines.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a worse b", "x"]);
        assert_eq!(lines[0].spans[1].style, Palette::Ansi.tone(Tone::Bad));
        assert_eq!(lines[0].spans[2].style, Style::new());
        let hostile =
            super::lines("a\x1b]0;t\x07b\x1b[2Jc\x1b[38;2;1;2;3md\x1b[94me\x1b", Palette::Ansi);
        let drawn = hostile[0].to_string();
        assert!(!drawn.contains(char::is_control), "{drawn:?}");
        assert_eq!(hostile[0].spans.last().map(|span| span.style.fg), Some(Some(Color::LightBlue)));
    }
}
