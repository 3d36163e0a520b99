//! A grid of characters to draw on, and a finer grid of dots for lines. Drawing outside has no
//! effect.

use super::{Glyphs, Line, StyledText};
use crate::chart::Paint;
use crate::style::clean;

/// One cell of the grid. `glyph` is `None` in the second half of a wide character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spot {
    glyph: Option<char>,
    paint: Option<Paint>,
}

const BLANK: Spot = Spot { glyph: Some(' '), paint: None };

#[derive(Debug)]
pub(super) struct CharGrid {
    width: usize,
    glyphs: Glyphs,
    spots: Vec<Spot>,
}

impl CharGrid {
    pub(super) fn new(width: usize, height: usize, glyphs: Glyphs) -> Self {
        Self { width, glyphs, spots: vec![BLANK; width * height] }
    }

    fn index(&self, x: usize, y: usize) -> Option<usize> {
        (x < self.width).then(|| y * self.width + x).filter(|index| *index < self.spots.len())
    }

    /// Draws a character of the character set.
    pub(super) fn put(&mut self, x: usize, y: usize, glyph: char, paint: impl Into<Option<Paint>>) {
        self.write(x, y, self.glyphs.drawn(glyph), paint);
    }

    fn write(&mut self, x: usize, y: usize, glyph: char, paint: impl Into<Option<Paint>>) {
        let spot = self.index(x, y).and_then(|index| self.spots.get_mut(index));
        if let Some(spot) = spot {
            *spot = Spot { glyph: Some(glyph), paint: paint.into() };
        }
    }

    /// Draws `glyph` only if the cell is blank.
    pub(super) fn put_under(
        &mut self,
        x: usize,
        y: usize,
        glyph: char,
        paint: impl Into<Option<Paint>>,
    ) {
        if self.is_blank(x, y) {
            self.put(x, y, glyph, paint);
        }
    }

    pub(super) fn is_blank(&self, x: usize, y: usize) -> bool {
        self.index(x, y)
            .and_then(|index| self.spots.get(index))
            .is_some_and(|spot| spot.glyph == Some(' '))
    }

    /// Returns whether the `length` cells from `x` on exist and are blank.
    pub(super) fn has_room(&self, x: usize, y: usize, length: usize) -> bool {
        (x..x.saturating_add(length)).all(|x| self.is_blank(x, y))
    }

    pub(super) fn text(&mut self, x: usize, y: usize, text: &str, paint: impl Into<Option<Paint>>) {
        let (mut x, paint) = (x, paint.into());
        for c in clean(text).chars() {
            let width = crate::style::columns(c.encode_utf8(&mut [0; 4]));
            // Skip zero-width characters, which would shift everything after them.
            if width == 0 || x + width > self.width {
                continue;
            }
            self.write(x, y, c, paint);
            if let (2.., Some(index)) = (width, self.index(x + 1, y))
                && let Some(spot) = self.spots.get_mut(index)
            {
                spot.glyph = None;
            }
            x += width;
        }
    }

    /// Returns the lines, with adjacent characters of one paint joined, without trailing spaces.
    pub(super) fn lines(&self) -> Vec<Line> {
        self.spots.chunks(self.width.max(1)).map(line).collect()
    }
}

fn line(spots: &[Spot]) -> Line {
    let end = spots.iter().rposition(|spot| spot.glyph != Some(' ')).map_or(0, |last| last + 1);
    let mut line: Line = Vec::new();
    for spot in spots.iter().take(end) {
        let Some(glyph) = spot.glyph else { continue };
        // Spaces get no color.
        let paint = if glyph == ' ' { None } else { spot.paint };
        match line.last_mut() {
            Some(ink) if ink.paint == paint => ink.text.push(glyph),
            _ => line.push(StyledText { text: glyph.to_string(), paint }),
        }
    }
    line
}

/// Position of a dot, from the upper left corner of its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DotPosition {
    pub(super) x: usize,
    pub(super) y: usize,
}

/// A field of dots over a part of a grid: 2 × 4 per character as Braille patterns, or 1 × 1.
pub(super) struct Dots {
    glyphs: Glyphs,
    width: usize,
    height: usize,
    cells: Vec<(u8, Option<Paint>, char)>,
}

impl Dots {
    pub(super) fn new(width: usize, height: usize, glyphs: Glyphs) -> Self {
        Self { glyphs, width, height, cells: vec![(0, None, ' '); width * height] }
    }

    /// Returns the number of dots per character, horizontally and vertically.
    pub(super) const fn parts(&self) -> (usize, usize) {
        match self.glyphs {
            Glyphs::Unicode | Glyphs::Custom(_) => (2, 4),
            Glyphs::Ascii => (1, 1),
        }
    }

    /// Returns the dot at the given shares of the field, from the left and from the top.
    pub(super) fn at(&self, x: f64, y: f64) -> DotPosition {
        let (across, down) = self.parts();
        DotPosition {
            x: nearest_index(x, self.width * across),
            y: nearest_index(y, self.height * down),
        }
    }

    fn set(&mut self, x: usize, y: usize, paint: Paint, glyph: char) {
        const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let (across, down) = self.parts();
        let (column, row) = (x / across, y / down);
        if column >= self.width {
            return;
        }
        if let Some(cell) = self.cells.get_mut(row * self.width + column) {
            *cell = (cell.0 | BITS[x % across.min(2)][y % down.min(4)], Some(paint), glyph);
        }
    }

    pub(super) fn dot(&mut self, at: DotPosition, paint: Paint) {
        self.set(at.x, at.y, paint, '.');
    }

    pub(super) fn line(&mut self, from: DotPosition, to: DotPosition, paint: Paint) {
        let (dx, dy) = (to.x as f64 - from.x as f64, to.y as f64 - from.y as f64);
        let steps = dx.abs().max(dy.abs()).max(1.0);
        let glyph = match (dx.abs(), dy.abs()) {
            (wide, high) if high * 2.0 < wide => '-',
            (wide, high) if wide * 2.0 < high => '|',
            _ if dx * dy < 0.0 => '/',
            _ => '\\',
        };
        for step in 0..=steps as usize {
            let share = step as f64 / steps;
            let x = (from.x as f64 + dx * share).round() as usize;
            let y = (from.y as f64 + dy * share).round() as usize;
            self.set(x, y, paint, glyph);
        }
    }

    /// Draws the dots on `grid`, with their upper left corner in column `left` of line `top`.
    pub(super) fn onto(&self, grid: &mut CharGrid, left: usize, top: usize) {
        for (index, (bits, paint, glyph)) in self.cells.iter().enumerate() {
            let (x, y) = (left + index % self.width.max(1), top + index / self.width.max(1));
            let braille = char::from_u32(0x2800 + u32::from(*bits)).unwrap_or(' ');
            if *bits != 0 {
                grid.put(x, y, self.glyphs.pick(braille, *glyph), *paint);
            }
        }
    }
}

/// Returns the index, from 0 to `count` - 1, of the evenly spaced position nearest to `share` (0 is
/// the first, 1 the last).
fn nearest_index(share: f64, count: usize) -> usize {
    let last = count.saturating_sub(1) as f64;
    (share * last).round().clamp(0.0, last) as usize
}
