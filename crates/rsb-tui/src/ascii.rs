//! Reduction to ASCII, for terminals and fonts that support nothing else.

use ratatui::buffer::Buffer;

/// Replaces non-ASCII characters by similar ASCII characters.
pub(crate) fn only(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let mut letters = cell.symbol().chars();
        if let Some(letter) =
            letters.next().filter(|letter| !letter.is_ascii() || letters.next().is_some())
        {
            cell.set_char(like(letter));
        }
    }
}

const fn like(letter: char) -> char {
    match letter {
        '─' | '━' | '╸' | '–' | '—' | '╌' | '▃' => '-',
        '│' | '┃' | '▏' | '▕' => '|',
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' | '╭' | '╮' | '╯' | '╰' | '▅' | '✓' => {
            '+'
        }
        '▁' => '_',
        '▂' | '·' | '•' => '.',
        '▄' => '=',
        '▆' => '*',
        '▇' | '█' | '■' | '●' => '#',
        '→' | '▸' | '›' => '>',
        '←' | '◂' | '‹' => '<',
        '↑' | '▲' => '^',
        '↓' | '▼' => 'v',
        '✗' | '×' => 'x',
        '○' => 'o',
        'µ' | 'μ' => 'u',
        '²' => '2',
        '³' => '3',
        '±' | '…' | '≈' => '~',
        '°' => '\'',
        '⚠' => '!',
        ' ' | '\u{a0}' => ' ',
        letter if letter.is_ascii() => letter,
        _ => '?',
    }
}
