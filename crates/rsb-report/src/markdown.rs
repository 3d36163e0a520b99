//! Markdown that shows arbitrary data verbatim.

use crate::style::clean;

/// Escapes `text` so that it is shown verbatim: no markup, HTML, cell borders, line breaks or
/// mentions.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Other characters have no meaning in Markdown in the middle of a number or word.
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '~' | '#' | '$' => out.extend(['\\', c]),
            '@' => out.push_str("&#64;"),
            _ => out.push(c),
        }
    }
    out
}

/// Returns `text` as code in a line of prose, shown verbatim.
pub(crate) fn inline_code(text: &str) -> String {
    let text = clean(text);
    let ticks = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(ticks + 1);
    if ticks == 0 { format!("{fence}{text}{fence}") } else { format!("{fence} {text} {fence}") }
}

pub(crate) fn escape_xml(text: &str) -> String {
    clean(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Returns an image at `path`, which is relative to the document.
pub fn image(title: &str, path: &str) -> String {
    format!("![{}]({})", escape(title), escape_path(path))
}

fn escape_path(path: &str) -> String {
    let mut escaped = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_./~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_shown_and_not_obeyed() {
        assert_eq!(
            escape("a|b `c` <script> *d* e_f [g](h)\n# i @j"),
            "a\\|b \\`c\\` &lt;script&gt; \\*d\\* e\\_f \\[g\\](h) \\# i &#64;j"
        );
    }

    #[test]
    fn code_cannot_leave_its_fence() {
        assert_eq!(inline_code("a --case 'b|<c>'"), "`a --case 'b|<c>'`");
        assert_eq!(inline_code("a `b` ``c"), "``` a `b` ``c ```");
    }

    #[test]
    fn paths_cannot_leave_their_link() {
        assert_eq!(image("a]b", "charts/a b)(c.svg"), "![a\\]b](charts/a%20b%29%28c.svg)");
    }
}
