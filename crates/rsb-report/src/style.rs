//! How text looks in a terminal: its width, and color where it is wanted.

/// Whether to color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// With ANSI sequences, whatever the output is.
    Always,
    /// Plain text.
    Never,
}

/// How text looks in a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to color.
    pub color: Color,
    /// Columns to stay within, where that is possible; `usize::MAX` for no limit.
    pub width: usize,
}

impl Style {
    /// No color and a hundred columns, as for a file.
    pub const PLAIN: Self = Self { color: Color::Never, width: 100 };
}

/// What a piece of text means; color follows from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// Better, met, runnable.
    Good,
    /// Worse, missed, failed.
    Bad,
    /// Undecided, noisy.
    Caution,
    /// Of less interest.
    Dim,
    /// A heading.
    Strong,
}

impl Tone {
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Good => Some("32"),
            Self::Bad => Some("1;31"),
            Self::Caution => Some("33"),
            Self::Dim => Some("2"),
            Self::Strong => Some("1"),
        }
    }
}

impl Style {
    /// `text` in the color of `tone`.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        match (self.color, tone.code()) {
            (Color::Always, Some(code)) if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }

    /// `text` broken at spaces to stay within the width, every line behind `indent` spaces. Words are never cut.
    pub fn wrap(self, text: &str, indent: usize) -> String {
        let room = self.width.saturating_sub(indent).max(20);
        let mut lines: Vec<String> = Vec::new();
        for word in clean(text).split_whitespace() {
            match lines.last_mut() {
                Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines.iter().map(|line| format!("{:indent$}{line}\n", "")).collect()
    }
}

/// `text` without what moves the cursor, breaks the line or turns the direction of what follows: what comes from a
/// driver, a file or another program must look like what it is.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if is_disguise(c) { ' ' } else { c }).collect()
}

/// Whether a terminal obeys `c` rather than shows it: control characters, separators of lines, marks of direction.
pub(crate) fn is_disguise(c: char) -> bool {
    let separates = matches!(c, '\u{2028}' | '\u{2029}');
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || separates || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn color_is_only_there_when_asked_for() {
        let always = Style { color: Color::Always, width: 80 };
        assert_eq!(always.paint(Tone::Bad, "x"), "\x1b[1;31mx\x1b[0m");
        assert_eq!(always.paint(Tone::Plain, "x"), "x");
        assert_eq!(always.paint(Tone::Good, ""), "");
        assert_eq!(Style::PLAIN.paint(Tone::Bad, "x"), "x");
    }

    #[test]
    fn paragraphs_break_at_spaces_only() {
        let style = Style { color: Color::Never, width: 24 };
        assert_eq!(
            style.wrap("one two three four five sixsixsixsixsixsixsixsix", 2),
            "  one two three four\n  five\n  sixsixsixsixsixsixsixsix\n"
        );
        assert_eq!(style.wrap("", 2), "");
    }

    #[test]
    fn control_characters_are_removed() {
        assert_eq!(clean("a\x1b[31mb\nc"), "a [31mb c");
        assert_eq!(clean("a\u{9b}b\u{202e}c\u{2066}d\u{2028}e\u{7f}f\u{200f}"), "a b c d e f ");
        assert_eq!(clean("Größe – 25 °C ⚠ 机"), "Größe – 25 °C ⚠ 机");
    }
}
