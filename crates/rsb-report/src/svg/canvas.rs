//! A canvas on plotters' SVG backend, with the few shapes and the common look of all charts.

use plotters::backend::SVGBackend;
use plotters::prelude::{DrawingBackend, FontStyle, RGBColor, ShapeStyle, TextStyle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, IntoFont};

use crate::chart::{Chart, Marker, Paint};
use crate::markdown::escape_xml;
use crate::theme::Theme;

/// A color by its purpose; the theme defines its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tint {
    /// Text.
    Ink,
    /// Less important text.
    Faded,
    /// Grid lines.
    Grid,
    /// Axes.
    Axis,
    /// Background.
    Sheet,
    /// Data.
    Of(Paint),
}

impl From<Paint> for Tint {
    fn from(paint: Paint) -> Self {
        Self::Of(paint)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Text {
    pub(super) size: f64,
    pub(super) color: Tint,
    pub(super) anchor: Anchor,
    pub(super) weight: StrokeWeight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StrokeWeight {
    Normal,
    Bold,
}

impl Text {
    pub(super) const fn label(anchor: Anchor) -> Self {
        Self { size: SIZE, color: Tint::Ink, anchor, weight: StrokeWeight::Normal }
    }

    pub(super) const fn faded_label(anchor: Anchor) -> Self {
        Self { color: Tint::Faded, ..Self::label(anchor) }
    }

    const TITLE: Self =
        Self { size: 17.0, weight: StrokeWeight::Bold, ..Self::label(Anchor::Start) };
    const SUBTITLE: Self = Self { size: 13.0, ..Self::faded_label(Anchor::Start) };
}

/// Size of labels, which is readable if the picture is shrunk to 400 pixels.
pub(super) const SIZE: f64 = 14.0;

/// A position on the canvas, in pixels from the upper left corner.
pub(super) type Pixel = (f64, f64);

/// Margin at the outer edges.
pub(super) const MARGIN: f64 = 20.0;
/// Width of a picture.
pub(super) const WIDTH: f64 = 640.0;

/// Title and subtitle of a chart, broken into lines.
pub(super) struct Head {
    title: Vec<String>,
    subtitle: Vec<String>,
}

impl Head {
    pub(super) fn of(chart: &Chart) -> Self {
        let lines = |text: &str, look: Text, most| {
            let most_characters = characters_in(WIDTH - 2.0 * MARGIN, look.size);
            let mut lines = crate::style::wrap_words(text, most_characters);
            if lines.len() > most {
                let rest = lines.split_off(most - 1).join(" ");
                lines.push(rest);
            }
            lines.iter().map(|line| shorten(line, WIDTH - 2.0 * MARGIN, look.size)).collect()
        };
        Self {
            title: lines(&chart.title, Text::TITLE, 2),
            subtitle: lines(&chart.subtitle, Text::SUBTITLE, 3),
        }
    }

    /// Returns the top of the drawing area.
    pub(super) fn height(&self) -> f64 {
        26.0 + TITLE_LINE * self.title.len() as f64 + SUBTITLE_LINE * self.subtitle.len() as f64
    }
}

const TITLE_LINE: f64 = 21.0;
const SUBTITLE_LINE: f64 = 17.0;

/// A canvas. Drawing to a string cannot fail; if it ever does, no picture is returned rather than
/// an incomplete one.
pub(super) struct Canvas<'a> {
    backend: SVGBackend<'a>,
    theme: &'a Theme,
    whole: bool,
    /// Areas of the labels inside the frame: left, top, right, bottom.
    labels: Vec<[f64; 4]>,
}

/// Draws title and subtitle of `chart` on a sheet of `size`, and the content drawn by `draw`.
pub(super) fn sheet(
    size: (f64, f64),
    chart: &Chart,
    theme: &Theme,
    draw: impl FnOnce(&mut Canvas<'_>),
) -> Option<String> {
    let mut svg = String::new();
    {
        let backend =
            SVGBackend::with_string(&mut svg, (size.0.round() as u32, size.1.round() as u32));
        let mut canvas = Canvas { backend, theme, whole: true, labels: Vec::new() };
        canvas.rectangle((0.0, 0.0), size, Tint::Sheet);
        let Head { title, subtitle } = Head::of(chart);
        let mut y = 5.0;
        for line in &title {
            y += TITLE_LINE;
            canvas.text(line, (MARGIN, y), Text::TITLE);
        }
        y += 3.0;
        for line in &subtitle {
            y += SUBTITLE_LINE;
            canvas.text(line, (MARGIN, y), Text::SUBTITLE);
        }
        draw(&mut canvas);
        canvas.finish()?;
    }
    // Screen readers announce the title; the role keeps them from reading every label.
    let (open, rest) = svg.split_once(">\n")?;
    Some(format!("{open} role=\"img\">\n<title>{}</title>\n{rest}", escape_xml(&chart.title)))
}

impl Canvas<'_> {
    fn color(&self, tint: impl Into<Tint>) -> RGBColor {
        let ground = self.theme.ground();
        let [red, green, blue] = match tint.into() {
            Tint::Ink => ground.ink,
            Tint::Faded => ground.faded,
            Tint::Grid => ground.grid,
            Tint::Axis => ground.axis,
            Tint::Sheet => ground.sheet,
            Tint::Of(paint) => self.theme.page_rgb(paint),
        };
        RGBColor(red, green, blue)
    }

    fn keep<E>(&mut self, result: &Result<(), E>) {
        self.whole &= result.is_ok();
    }

    fn finish(mut self) -> Option<()> {
        let result = self.backend.present();
        self.keep(&result);
        self.whole.then_some(())
    }

    pub(super) fn line(&mut self, from: Pixel, to: Pixel, color: impl Into<Tint>, width: u32) {
        let style = stroke(self.color(color), width);
        let result = self.backend.draw_line(pixel(from), pixel(to), &style);
        self.keep(&result);
    }

    /// Draws a dashed line, for limits and marks that are not data.
    pub(super) fn dashed_line(&mut self, from: Pixel, to: Pixel, color: impl Into<Tint>) {
        self.dashes(from, to, color, 1, DashPattern { period: 7.0, drawn: 0.57 });
    }

    pub(super) fn dashes(
        &mut self,
        from: Pixel,
        to: Pixel,
        color: impl Into<Tint>,
        width: u32,
        pattern: DashPattern,
    ) {
        let color = color.into();
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy);
        let dashes = (length / pattern.period).ceil().clamp(1.0, 1000.0) as u32;
        for dash in 0..dashes {
            let [start, end] = [f64::from(dash), f64::from(dash) + pattern.drawn].map(|part| {
                let share = (part / f64::from(dashes)).min(1.0);
                (from.0 + dx * share, from.1 + dy * share)
            });
            self.line(start, end, color, width);
        }
    }

    /// Draws `text` as [`Canvas::text`] does, if it overlaps no other text drawn by this function.
    /// Returns whether it does not.
    pub(super) fn label(&mut self, text: &str, at: Pixel, look: Text) -> bool {
        let width = width_of(text, look.size);
        let left = match look.anchor {
            Anchor::Start => at.0,
            Anchor::Middle => at.0 - width / 2.0,
            Anchor::End => at.0 - width,
        };
        let area = [left, at.1 - look.size / 2.0, left + width, at.1 + look.size / 2.0];
        let is_apart = |other: &[f64; 4]| {
            area[0] > other[2] || other[0] > area[2] || area[1] > other[3] || other[1] > area[3]
        };
        let is_drawn = text.is_empty() || self.labels.iter().all(is_apart);
        if is_drawn && !text.is_empty() {
            self.labels.push(area);
            self.text(text, at, look);
        }
        is_drawn
    }

    pub(super) fn path(&mut self, points: &[Pixel], color: impl Into<Tint>, width: u32) {
        let style = stroke(self.color(color), width);
        let result = self.backend.draw_path(points.iter().copied().map(pixel), &style);
        self.keep(&result);
    }

    pub(super) fn rectangle(&mut self, from: Pixel, to: Pixel, color: impl Into<Tint>) {
        let style = fill(self.color(color));
        let result = self.backend.draw_rect(pixel(from), pixel(to), &style, true);
        self.keep(&result);
    }

    pub(super) fn polygon(&mut self, points: &[Pixel], color: impl Into<Tint>) {
        let style = fill(self.color(color));
        let result = self.backend.fill_polygon(points.iter().copied().map(pixel), &style);
        self.keep(&result);
    }

    pub(super) fn dot(&mut self, center: Pixel, radius: u32, color: impl Into<Tint>) {
        let style = fill(self.color(color));
        let result = self.backend.draw_circle(pixel(center), radius, &style, true);
        self.keep(&result);
    }

    /// Fills an area with a translucent color.
    pub(super) fn veil(&mut self, points: &[Pixel], paint: Paint) {
        let style =
            ShapeStyle { color: self.color(paint).mix(0.22), filled: true, stroke_width: 0 };
        let result = self.backend.fill_polygon(points.iter().copied().map(pixel), &style);
        self.keep(&result);
    }

    fn outline(&mut self, points: &[Pixel], paint: Paint) {
        self.polygon(points, Tint::Sheet);
        let closed: Vec<Pixel> = points.iter().chain(points.first()).copied().collect();
        self.path(&closed, paint, 2);
    }

    /// Draws the mark of a series, which distinguishes it by shape in addition to color.
    pub(super) fn mark(&mut self, center: Pixel, paint: Paint) {
        let (x, y) = center;
        let triangle = [(x, y - 6.0), (x + 6.0, y + 5.0), (x - 6.0, y + 5.0)];
        let square =
            [(x - 4.0, y - 4.0), (x + 4.0, y - 4.0), (x + 4.0, y + 4.0), (x - 4.0, y + 4.0)];
        let diamond = [(x, y - 6.0), (x + 6.0, y), (x, y + 6.0), (x - 6.0, y)];
        match paint.marker() {
            Marker::Circle => self.dot(center, 4, paint),
            Marker::Triangle | Marker::Up => self.polygon(&triangle, paint),
            Marker::Square => self.polygon(&square, paint),
            Marker::Diamond => self.polygon(&diamond, paint),
            Marker::Down => {
                self.polygon(&[(x, y + 6.0), (x + 6.0, y - 5.0), (x - 6.0, y - 5.0)], paint);
            }
            Marker::Dash => self.rectangle((x - 6.0, y - 2.0), (x + 6.0, y + 2.0), paint),
            Marker::Ring => {
                self.dot(center, 5, paint);
                self.dot(center, 3, Tint::Sheet);
            }
            Marker::OpenTriangle => self.outline(&triangle, paint),
            Marker::OpenSquare => self.outline(&square, paint),
            Marker::OpenDiamond | Marker::Question => self.outline(&diamond, paint),
        }
    }

    /// Draws `text`, vertically centered at `at`.
    pub(super) fn text(&mut self, text: &str, at: Pixel, look: Text) {
        self.write(text, at, look, plotters::style::FontTransform::None);
    }

    /// Draws `text` upward, for the title of a vertical axis.
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
        let color = self.color(look.color);
        // The backend divides sizes by 1.24.
        let font = (FAMILY, look.size * 1.24, weight).into_font().transform(turn).color(&color);
        let style: TextStyle<'_> = font.pos(Pos::new(horizontal, VPos::Center));
        let result = self.backend.draw_text(&crate::style::clean(text), &style, pixel(at));
        self.keep(&result);
    }
}

/// Pattern of a dashed line: pixels from dash to dash, and the share of them that is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct DashPattern {
    pub(super) period: f64,
    pub(super) drawn: f64,
}

const FAMILY: &str = "Helvetica, Arial, DejaVu Sans, sans-serif";

/// Estimates the width of `text` at `size` in pixels. Errs on the large side, because the reader's
/// font is unknown.
pub(super) fn width_of(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.6
}

/// Returns the number of characters that fit in `room` pixels at `size`.
pub(super) fn characters_in(room: f64, size: f64) -> usize {
    (room / (size * 0.6) + 1e-6).max(4.0) as usize
}

/// Shortens `text` in the middle to `room` pixels.
pub(super) fn shorten(text: &str, room: f64, size: f64) -> String {
    let most = characters_in(room, size);
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let head = (most - 1) / 2;
    text.chars()
        .take(head)
        .chain(['…'])
        .chain(text.chars().skip(count - (most - 1 - head)))
        .collect()
}

fn pixel(at: Pixel) -> (i32, i32) {
    let (x, y) = at;
    (x.round() as i32, y.round() as i32)
}

fn stroke(color: RGBColor, width: u32) -> ShapeStyle {
    ShapeStyle { color: color.into(), filled: false, stroke_width: width }
}

fn fill(color: RGBColor) -> ShapeStyle {
    ShapeStyle { color: color.into(), filled: true, stroke_width: 0 }
}
