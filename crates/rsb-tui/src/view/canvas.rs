//! A drawing buffer with the palette and the click targets.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use rsb_report::{Chart, Color, Glyphs, Style as Painter, Tone, picture};

use crate::action::Action;
use crate::ascii;
use crate::drawn_page::{DetailRange, DrawnPage};
use crate::painted;
use crate::palette::Palette;
use crate::settings::InterfaceSettings;

pub(super) struct Canvas<'a> {
    buffer: &'a mut Buffer,
    settings: &'a InterfaceSettings,
    shown: DrawnPage,
}

impl<'a> Canvas<'a> {
    pub(super) fn new(buffer: &'a mut Buffer, settings: &'a InterfaceSettings) -> Self {
        Self { buffer, settings, shown: DrawnPage::default() }
    }

    pub(super) fn finish(self) -> DrawnPage {
        if self.settings.ascii_only {
            ascii::only(self.buffer);
        }
        self.shown
    }

    pub(super) const fn palette(&self) -> Palette {
        self.settings.palette
    }

    /// Writes `text` from `at` up to the column `end`, and returns the column after it.
    pub(super) fn text(&mut self, at: (u16, u16), end: u16, text: &str, style: Style) -> u16 {
        if at.0 >= end || at.1 >= self.buffer.area.bottom() {
            return at.0;
        }
        self.buffer.set_stringn(at.0, at.1, text, usize::from(end - at.0), style).0
    }

    /// Writes text as [`Canvas::text`] does, as a click target.
    pub(super) fn button(
        &mut self,
        at: (u16, u16),
        end: u16,
        text: &str,
        style: Style,
        action: Action,
    ) -> u16 {
        let to = self.text(at, end, text, style);
        self.target(Rect { x: at.0, y: at.1, width: to - at.0, height: 1 }, action);
        to
    }

    pub(super) fn line(&mut self, at: (u16, u16), width: u16, line: &Line<'_>) {
        if at.1 < self.buffer.area.bottom() {
            self.buffer.set_line(at.0, at.1, line, width);
        }
    }

    /// Adds a click target.
    pub(super) fn target(&mut self, area: Rect, action: Action) {
        self.shown.targets.push((area, action));
    }

    /// Highlights the area as selected, over its content.
    pub(super) fn select(&mut self, area: Rect) {
        self.buffer.set_style(area, Palette::selection_style());
    }

    /// Clears `area` and its click targets.
    pub(super) fn clear(&mut self, area: Rect) {
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.reset();
                }
            }
        }
        self.shown.targets.retain(|(target, _)| !target.intersects(area));
    }

    /// Draws `lines` from line `scroll` on, with a note if there are more below. Sets the range of
    /// scrolling.
    pub(super) fn draw_scrolled(&mut self, lines: &[Line<'_>], scroll: usize, area: Rect) {
        (self.shown.rows, self.shown.height, self.shown.width) =
            (lines.len(), usize::from(area.height), usize::from(area.width));
        self.scrolled(lines, scroll, area);
    }

    /// Draws `lines` as [`Canvas::draw_scrolled`] does, next to a list that has its own range.
    pub(super) fn draw_details(&mut self, lines: &[Line<'_>], scroll: usize, area: Rect) {
        let height = usize::from(area.height);
        self.shown.details = DetailRange { below: lines.len().saturating_sub(height), height };
        self.scrolled(lines, scroll, area);
    }

    fn scrolled(&mut self, lines: &[Line<'_>], scroll: usize, area: Rect) {
        let height = usize::from(area.height);
        let from = scroll.min(lines.len().saturating_sub(height));
        self.block(lines.get(from..).unwrap_or_default(), area);
        let below = lines.len().saturating_sub(from + height);
        if below > 0 && area.height > 0 {
            let more = format!(" {below} more below ");
            let x = area.right().saturating_sub(more.chars().count() as u16);
            self.text(
                (x.max(area.x), area.bottom() - 1),
                area.right(),
                &more,
                Palette::selection_style(),
            );
        }
    }

    /// Draws as many `lines` as fit, and returns their number.
    pub(super) fn block(&mut self, lines: &[Line<'_>], area: Rect) -> u16 {
        let mut y = area.y;
        for line in lines.iter().take(usize::from(area.height)) {
            self.line((area.x, y), area.width, line);
            y += 1;
        }
        y - area.y
    }

    /// Returns the rsb-report style for text in `width` columns.
    pub(super) const fn painter(width: u16) -> Painter {
        Painter { color: Color::Always, width: width as usize }
    }

    /// Converts text colored by rsb-report to lines.
    pub(super) fn painted_lines(&self, text: &str) -> Vec<Line<'static>> {
        painted::lines(text, self.palette())
    }

    /// Wraps `text` to lines in the color of `tone`.
    pub(super) fn wrap_text(&self, text: &str, width: u16, tone: Tone) -> Vec<Line<'static>> {
        let style = self.palette().tone(tone);
        let broken = Painter { color: Color::Never, width: usize::from(width) }.wrap(text, 0);
        broken.lines().map(|line| Line::styled(line.to_owned(), style)).collect()
    }

    pub(super) fn chart(&self, chart: &Chart, width: u16, height: u16) -> Vec<Line<'static>> {
        let glyphs = if self.settings.ascii_only { Glyphs::Ascii } else { self.settings.glyphs };
        let drawn = picture(chart, usize::from(width), usize::from(height), glyphs);
        let mut lines = Vec::new();
        for line in drawn.lines {
            let mut spans = Vec::new();
            for ink in line {
                let style = ink.paint.map_or_else(Style::new, |paint| {
                    self.palette().paint(paint, &self.settings.theme)
                });
                spans.push(Span::styled(ink.text, style));
            }
            lines.push(Line::from(spans));
        }
        lines
    }

    /// Sets the number of rows and of visible rows, for a list that follows its selection.
    pub(super) const fn lists(&mut self, rows: usize, height: usize) {
        (self.shown.rows, self.shown.height) = (rows, height);
    }
}

/// Returns the first row to show of a list of `count`, so that `selected` is among the `height`
/// visible rows.
pub(super) fn first_shown(selected: usize, count: usize, height: usize) -> usize {
    let last = count.saturating_sub(height);
    selected.saturating_sub(height / 2).min(last)
}
