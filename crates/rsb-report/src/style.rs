//! Appearance of text in a terminal: width and color.

pub use rsb_model::shown::{clean, is_disguise};

use crate::theme::code_at;

/// Returns the number of columns that `text` takes on a terminal. Some characters take two, some
/// none.
pub fn columns(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// All escape sequences that [`Style::paint`] writes.
const COLORS: [&str; 6] = ["\x1b[32m", "\x1b[1;31m", "\x1b[33m", "\x1b[2m", "\x1b[1m", "\x1b[0m"];

/// Whether to use color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// Always write ANSI escape sequences, even if the output is not a terminal.
    Always,
    /// Plain text.
    Never,
}

/// Appearance of text in a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to use color.
    pub color: Color,
    /// Maximum number of columns, if possible; `usize::MAX` for no limit.
    pub width: usize,
}

impl Style {
    /// No color and 100 columns, as for a file.
    pub const PLAIN: Self = Self { color: Color::Never, width: 100 };
}

/// Meaning of a piece of text, which determines its color.
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
    /// Less important.
    Dim,
    /// A heading.
    Strong,
}

impl Tone {
    /// Returns the parameters of the SGR escape sequence, without its start and end.
    pub const fn code(self) -> Option<&'static str> {
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
    /// Returns `text` in the color of `tone`.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        match (self.color, tone.code()) {
            (Color::Always, Some(code)) if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }

    /// Breaks `text` at spaces to stay within the width, and indents every line by `indent`. Never
    /// breaks words.
    pub fn wrap(self, text: &str, indent: usize) -> String {
        let lines = wrap_words(text, self.width.saturating_sub(indent).max(20));
        lines.iter().map(|line| format!("{:indent$}{line}\n", "")).collect()
    }

    /// Returns `text` in the color of `tone`, broken at spaces.
    pub(crate) fn line(self, tone: Tone, text: &str) -> String {
        self.paint(tone, self.wrap(text, 0).trim_end()) + "\n"
    }

    /// Breaks lines of `text` that exceed the width at spaces. Continuation lines are indented by
    /// two more spaces; other lines are unchanged.
    pub fn wrap_long_lines(self, text: &str) -> String {
        text.split('\n').map(|line| self.wrap_long_line(line)).collect::<Vec<_>>().join("\n")
    }

    fn wrap_long_line(self, line: &str) -> String {
        if columns(line) <= self.width {
            return line.to_owned();
        }
        let indent = line.len() - line.trim_start().len();
        let lines = wrap_words(line, self.width.saturating_sub(indent + 2).max(20));
        format!("{:indent$}{}", "", lines.join(&format!("\n{:1$}", "", indent + 2)))
    }

    /// Breaks `text`, which follows `head`, at spaces. Continuation lines are aligned with the
    /// start of `text`.
    pub fn hang(self, head: &str, text: &str) -> String {
        let indent = columns(head);
        let wrapped = self.wrap(text, indent);
        format!("{head}{}\n", wrapped.trim())
    }
}

/// Breaks `text` at spaces into lines of at most `width` columns. A longer word gets its own line.
pub fn wrap_words(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in clean(text).split_whitespace() {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Removes all control characters from `text`, a whole page or document, except newlines, tabs, and
/// the colors of [`Style::paint`] and of charts. Quoted text is cleaned separately; this is a
/// safety net.
pub fn presentable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c| is_disguise(c) && !matches!(c, '\n' | '\t')) {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let own = COLORS.iter().find(|color| found.starts_with(**color)).map(|color| color.len());
        if let Some((color, after)) =
            own.or_else(|| code_at(found)).and_then(|length| found.split_at_checked(length))
        {
            out.push_str(color);
            rest = after;
        } else {
            out.push(' ');
            let mut after = found.chars();
            after.next();
            rest = after.as_str();
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_its_lines_and_colors_and_nothing_else() {
        let always = Style { color: Color::Always, width: 80 };
        let page: String =
            [Tone::Plain, Tone::Good, Tone::Bad, Tone::Caution, Tone::Dim, Tone::Strong]
                .iter()
                .map(|tone| always.paint(*tone, "x\ty") + "\n")
                .collect();
        assert_eq!(presentable(&page), page);
        assert_eq!(presentable("a\x1b]0;t\x07b\x1b[8mc\u{202e}d\r\n"), "a ]0;t b [8mc d \n");
    }

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
        assert_eq!(
            style.hang("cure: ", "one two three four five"),
            "cure: one two three four\n      five\n"
        );
        let piped = Style { width: usize::MAX, ..style };
        assert_eq!(piped.wrap(&"word ".repeat(99), 2).lines().count(), 1);
    }

    #[test]
    fn control_characters_are_removed() {
        assert_eq!(clean("a\x1b[31mb\nc"), "a [31mb c");
    }
}
