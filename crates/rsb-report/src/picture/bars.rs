//! Bars with a resolution of an eighth of a character, and fill patterns that distinguish them.

use std::ops::Range;

use super::Glyphs;
use super::grid::CharGrid;
use crate::chart::{Chart, Dataset, DatasetKind, HEAT_LEVELS, Paint};

/// Fill patterns that are distinguishable without color.
const FILLS: [(char, char); 8] = [
    ('█', '#'),
    ('▒', '='),
    ('▓', '%'),
    ('░', '+'),
    ('▚', 'o'),
    ('▤', '-'),
    ('▥', '*'),
    ('▧', 'x'),
];
/// Shades of a heat map, from low to high.
const SHADES: [(char, char); 5] = [('·', '.'), ('░', ':'), ('▒', '+'), ('▓', '*'), ('█', '#')];

/// Returns the fill of each dataset of `chart`. Bars for better or worse are solid, because the
/// arrow next to each bar already distinguishes them.
pub(super) fn fills(chart: &Chart, glyphs: Glyphs) -> Vec<char> {
    let mut seen = 0;
    let mut fills = Vec::new();
    for dataset in &chart.datasets {
        let (unicode, ascii) = match dataset.paint {
            Paint::Heat(level) => {
                let shade = usize::from(level) * SHADES.len() / usize::from(HEAT_LEVELS);
                SHADES.get(shade).copied().unwrap_or(('█', '#'))
            }
            paint if !is_filled(dataset) || dataset.points.is_empty() || paint.is_change() => {
                ('█', '#')
            }
            _ => {
                seen += 1;
                FILLS.get((seen - 1) % FILLS.len()).copied().unwrap_or(('█', '#'))
            }
        };
        fills.push(glyphs.pick(unicode, ascii));
    }
    fills
}

const fn is_filled(dataset: &Dataset) -> bool {
    matches!(dataset.kind, DatasetKind::Bars { .. } | DatasetKind::Columns | DatasetKind::Cells)
}

/// Draws a bar in line `y` of `grid` and returns its end column. The ends are given as shares of
/// the `wide` columns that start at `left`.
pub(super) fn across(
    grid: &mut CharGrid,
    left: usize,
    wide: usize,
    y: usize,
    [from, to]: [f64; 2],
    fill: char,
    paint: Paint,
) -> usize {
    let [start, end] =
        [from.min(to), from.max(to)].map(|share| (share * wide as f64 * 8.0).round() as usize);
    if fill != '█' {
        let (first, last) = ((start + 4) / 8, (end + 4) / 8);
        // A non-empty bar is at least one character wide.
        let last = if end > start { last.max(first + 1) } else { last };
        (first..last.min(wide)).for_each(|x| grid.put(left + x, y, fill, paint));
        return left + last.min(wide);
    }
    let (first, last) = (start.div_ceil(8), end / 8);
    if start % 8 >= 4 && first > 0 && end >= first * 8 {
        grid.put(left + first - 1, y, '▐', paint);
    }
    (first..last).for_each(|x| grid.put(left + x, y, '█', paint));
    let rest = end.saturating_sub(last.max(first) * 8).min(7);
    let rest = if end > start && last <= first && rest == 0 && first < wide { 1 } else { rest };
    match PARTS.get(rest) {
        Some(part) if rest > 0 && last.max(first) < wide => {
            grid.put(left + last.max(first), y, *part, paint);
            left + last.max(first) + 1
        }
        _ => left + last.max(first),
    }
}

const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// Draws a vertical bar in `grid` that covers `columns`, from line `bottom` (exclusive) upward, to
/// a height of `share` of `high` lines.
pub(super) fn upwards(
    grid: &mut CharGrid,
    columns: Range<usize>,
    bottom: usize,
    high: usize,
    share: f64,
    fill: char,
    paint: Paint,
) {
    const LEVELS: [char; 8] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇'];
    let eighths = (share * high as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { eighths };
    for x in columns {
        for line in 0..high {
            let glyph = match eighths.saturating_sub(line * 8) {
                0 => break,
                8.. => fill,
                part if fill == '█' => LEVELS.get(part).copied().unwrap_or(fill),
                4.. => fill,
                _ if line == 0 => '_',
                _ => break,
            };
            if let Some(y) = bottom.checked_sub(line + 1) {
                grid.put(x, y, glyph, paint);
            }
        }
    }
}
