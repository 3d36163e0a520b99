//! A sheet to draw on: plotters' SVG backend, with the few shapes and the one look that all charts share.

use plotters::backend::SVGBackend;
use plotters::prelude::{DrawingBackend, FontStyle, RGBColor, ShapeStyle, TextStyle};
use plotters::style::IntoFont;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::chart::Paint;
use crate::markdown::escape_xml;

/// Where text hangs on its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How text looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text {
    pub(super) size: f64,
    pub(super) color: RGBColor,
    pub(super) anchor: Anchor,
    pub(super) weight: StrokeWeight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StrokeWeight {
    Normal,
    Bold,
}

const INK: RGBColor = RGBColor(0x22, 0x26, 0x2B);
const FADED: RGBColor = RGBColor(0x5F, 0x67, 0x70);
pub(super) const GRID: RGBColor = RGBColor(0xE3, 0xE6, 0xEA);
pub(super) const AXIS: RGBColor = RGBColor(0x9A, 0xA1, 0xA9);
const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xB2);
const ORANGE: RGBColor = RGBColor(0xE6, 0x9F, 0x00);
const GREEN: RGBColor = RGBColor(0x00, 0x9E, 0x73);
const RED: RGBColor = RGBColor(0xD5, 0x5E, 0x00);
/// What lies behind everything.
pub(super) const WHITE: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);

/// The colors of Okabe and Ito, which people with any color vision can tell apart; yellow is left out on white.
const PALETTE: [RGBColor; 7] =
    [BLUE, RED, GREEN, ORANGE, RGBColor(0xCC, 0x79, 0xA7), RGBColor(0x56, 0xB4, 0xE9), RGBColor(0x00, 0x00, 0x00)];

impl Text {
    pub(super) const fn label(anchor: Anchor) -> Self {
        Self { size: 12.0, color: INK, anchor, weight: StrokeWeight::Normal }
    }

    pub(super) const fn faded(anchor: Anchor) -> Self {
        Self { color: FADED, ..Self::label(anchor) }
    }

    const TITLE: Self = Self { size: 16.0, weight: StrokeWeight::Bold, ..Self::label(Anchor::Start) };
}

/// A place on the sheet, in pixels from the upper left corner.
pub(super) type Pixel = (f64, f64);

/// Margin at the outer edges.
pub(super) const MARGIN: f64 = 20.0;
/// Where drawing may begin under title and subtitle.
pub(super) const HEAD: f64 = 68.0;

/// A sheet. Drawing into a string cannot fail; should it ever, there is no picture rather than half of one.
pub(super) struct Canvas<'a> {
    backend: SVGBackend<'a>,
    whole: bool,
}

/// Draws a chart of `size` with a title and a subtitle, and what `draw` adds.
pub(super) fn sheet(
    size: (f64, f64),
    title: &str,
    subtitle: &str,
    draw: impl FnOnce(&mut Canvas<'_>),
) -> Option<String> {
    let mut svg = String::new();
    {
        let backend = SVGBackend::with_string(&mut svg, (size.0.round() as u32, size.1.round() as u32));
        let mut canvas = Canvas { backend, whole: true };
        canvas.rectangle((0.0, 0.0), size, WHITE);
        let room = size.0 - 2.0 * MARGIN;
        canvas.text(&shorten(title, room, Text::TITLE.size), (MARGIN, 26.0), Text::TITLE);
        let faded = Text::faded(Anchor::Start);
        canvas.text(&shorten(subtitle, room, faded.size), (MARGIN, 47.0), faded);
        draw(&mut canvas);
        canvas.finish()?;
    }
    // The title is what a screen reader says; the role keeps it from reading every label.
    let (open, rest) = svg.split_once(">\n")?;
    Some(format!("{open} role=\"img\">\n<title>{}</title>\n{rest}", escape_xml(title)))
}

impl Canvas<'_> {
    fn keep<E>(&mut self, result: &Result<(), E>) {
        self.whole &= result.is_ok();
    }

    fn finish(mut self) -> Option<()> {
        let result = self.backend.present();
        self.keep(&result);
        self.whole.then_some(())
    }

    pub(super) fn line(&mut self, from: Pixel, to: Pixel, (color, width): (RGBColor, u32)) {
        let result = self.backend.draw_line(pixel(from), pixel(to), &stroke(color, width));
        self.keep(&result);
    }

    /// A broken line, for what is a limit or a mark and not data.
    pub(super) fn dashed(&mut self, from: Pixel, to: Pixel, color: RGBColor) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy);
        let dashes = (length / 7.0).ceil().clamp(1.0, 1000.0) as u32;
        for dash in 0..dashes {
            let at = |part: f64| {
                let share = (part / f64::from(dashes)).min(1.0);
                (from.0 + dx * share, from.1 + dy * share)
            };
            self.line(at(f64::from(dash)), at(f64::from(dash) + 0.57), (color, 1));
        }
    }

    pub(super) fn path(&mut self, points: &[Pixel], (color, width): (RGBColor, u32)) {
        let result = self.backend.draw_path(points.iter().copied().map(pixel), &stroke(color, width));
        self.keep(&result);
    }

    pub(super) fn rectangle(&mut self, from: Pixel, to: Pixel, color: RGBColor) {
        let result = self.backend.draw_rect(pixel(from), pixel(to), &fill(color), true);
        self.keep(&result);
    }

    pub(super) fn polygon(&mut self, points: &[Pixel], color: RGBColor) {
        let result = self.backend.fill_polygon(points.iter().copied().map(pixel), &fill(color));
        self.keep(&result);
    }

    pub(super) fn dot(&mut self, center: Pixel, radius: u32, color: RGBColor) {
        let result = self.backend.draw_circle(pixel(center), radius, &fill(color), true);
        self.keep(&result);
    }

    /// The mark of a series: its shape tells those apart that share a color.
    pub(super) fn mark(&mut self, center: Pixel, paint: Paint) {
        let color = paint_of(paint);
        let (x, y) = center;
        let round = if let Paint::Series(index) = paint { index / PALETTE.len() } else { 0 };
        match round % 3 {
            0 => self.dot(center, 4, color),
            1 => self.rectangle((x - 4.0, y - 4.0), (x + 4.0, y + 4.0), color),
            _ => self.polygon(&[(x, y - 6.0), (x + 6.0, y), (x, y + 6.0), (x - 6.0, y)], color),
        }
    }

    /// `text` with the middle of its height at `at`.
    pub(super) fn text(&mut self, text: &str, at: Pixel, look: Text) {
        self.write(text, at, look, plotters::style::FontTransform::None);
    }

    /// `text` from the bottom up, for the name of a vertical axis.
    pub(super) fn text_upwards(&mut self, text: &str, at: Pixel, look: Text) {
        self.write(text, at, look, plotters::style::FontTransform::Rotate270);
    }

    fn write(&mut self, text: &str, at: Pixel, look: Text, turn: plotters::style::FontTransform) {
        let horizontal = match look.anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let weight = match look.weight {
            StrokeWeight::Normal => FontStyle::Normal,
            StrokeWeight::Bold => FontStyle::Bold,
        };
        // The backend divides sizes by 1.24.
        let font = (FAMILY, look.size * 1.24, weight).into_font().transform(turn).color(&look.color);
        let style: TextStyle<'_> = font.pos(Pos::new(horizontal, VPos::Center));
        let result = self.backend.draw_text(&crate::style::clean(text), &style, pixel(at));
        self.keep(&result);
    }
}

const FAMILY: &str = "Helvetica, Arial, DejaVu Sans, sans-serif";

/// The color that stands for `paint`.
pub(super) fn paint_of(paint: Paint) -> RGBColor {
    match paint {
        Paint::Series(index) => PALETTE.get(index % PALETTE.len()).copied().unwrap_or(BLUE),
        Paint::Plain => BLUE,
        Paint::Good => GREEN,
        Paint::Bad => RED,
        Paint::Caution => ORANGE,
        Paint::Faded => FADED,
    }
}

/// Pixels that `text` needs at `size`, on the safe side: the font is the reader's.
pub(super) fn width_of(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.6
}

/// `text` cut in the middle to stay within `room` pixels.
pub(super) fn shorten(text: &str, room: f64, size: f64) -> String {
    let most = (room / (size * 0.6)).max(4.0) as usize;
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let head = (most - 1) / 2;
    text.chars().take(head).chain(['…']).chain(text.chars().skip(count - (most - 1 - head))).collect()
}

fn pixel((x, y): Pixel) -> (i32, i32) {
    (x.round() as i32, y.round() as i32)
}

fn stroke(color: RGBColor, width: u32) -> ShapeStyle {
    ShapeStyle { color: color.into(), filled: false, stroke_width: width }
}

fn fill(color: RGBColor) -> ShapeStyle {
    ShapeStyle { color: color.into(), filled: true, stroke_width: 0 }
}
