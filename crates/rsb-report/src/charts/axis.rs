//! Scales, and a frame with a grid, tick labels and the names of its axes.

use super::canvas::{AXIS, Anchor, Canvas, GRID, Point, Text};

/// How values become positions.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Linear,
    Log2,
}

/// One axis: a range of values, laid over a range of pixels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    kind: Kind,
    values: (f64, f64),
    pixels: (f64, f64),
    ticks: Vec<f64>,
}

impl Axis {
    /// From `low` to `high`, widened to round numbers, with about `count` ticks.
    pub(super) fn linear(low: f64, high: f64, count: u32) -> Self {
        let (low, high) = widened(low, high);
        let step = step(low, high, count);
        let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil().max((low / step).floor() + 1.0));
        let ticks = (0..=(last - first) as u32).map(|index| (first + f64::from(index)) * step).collect();
        Self { kind: Kind::Linear, values: (first * step, last * step), pixels: (0.0, 1.0), ticks }
    }

    /// From `low` to `high` and no further, ticks at round numbers between them.
    pub(super) fn exact(low: f64, high: f64, count: u32) -> Self {
        let (low, high) = widened(low, high);
        let wide = Self::linear(low, high, count);
        let slack = (high - low) * 1e-9;
        let ticks = wide.ticks.into_iter().filter(|tick| (low - slack..=high + slack).contains(tick)).collect();
        Self { kind: Kind::Linear, values: (low, high), pixels: (0.0, 1.0), ticks }
    }

    /// Powers of two from `low` to `high`, which are above zero, at most about `count` ticks.
    pub(super) fn powers_of_two(low: f64, high: f64, count: u32) -> Self {
        let (first, last) = (low.log2().floor(), high.log2().ceil().max(low.log2().floor() + 1.0));
        let every = ((last - first) / f64::from(count)).ceil().max(1.0);
        let ticks = (0..=((last - first) / every) as u32).map(|i| (first + f64::from(i) * every).exp2()).collect();
        Self { kind: Kind::Log2, values: (low, high.max(low * 1.01)), pixels: (0.0, 1.0), ticks }
    }

    /// Laid over these pixels.
    pub(super) fn over(mut self, from: f64, to: f64) -> Self {
        self.pixels = (from, to);
        if self.kind == Kind::Log2 {
            // A quarter of a power on each side keeps marks off the frame.
            self.values = (self.values.0 / 1.19, self.values.1 * 1.19);
            let range = self.values;
            self.ticks.retain(|tick| (range.0..=range.1).contains(tick));
        }
        self
    }

    /// The pixel of `value`; values outside the range stay at its ends.
    pub(super) fn at(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.kind == Kind::Log2 { value.log2() } else { value };
        let (low, high) = (scale(self.values.0), scale(self.values.1));
        let share = ((scale(value) - low) / (high - low)).clamp(0.0, 1.0);
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    /// Lowest and highest value.
    pub(super) const fn range(&self) -> (f64, f64) {
        self.values
    }

    /// The label of a tick with no more decimals than the step needs.
    pub(super) fn plain_label(&self, value: f64) -> String {
        let step = self.ticks.windows(2).filter_map(|pair| Some(pair.get(1)? - pair.first()?)).fold(f64::NAN, f64::min);
        let decimals = if step.is_finite() { (-(step.log10() + 1e-9).floor()).max(0.0) as usize } else { 1 };
        if value.abs() >= 1e8 || decimals > 5 {
            return format!("{value:.1e}");
        }
        let text = format!("{value:.decimals$}");
        if text.trim_matches(['-', '0', '.']).is_empty() { "0".to_owned() } else { text }
    }
}

/// The range, or some room around it where it is a single value.
fn widened(low: f64, high: f64) -> (f64, f64) {
    let (low, high) = (low.max(-1e300), high.min(1e300));
    let least = low.abs().max(high.abs()) * 1e-6;
    match high - low {
        wide if wide > least => (low, high),
        _ if least > 0.0 => (low - low.abs() / 20.0, high + high.abs() / 20.0),
        _ => (0.0, 1.0),
    }
}

/// A step of 1, 2 or 5 times a power of ten that gives about `count` parts.
fn step(low: f64, high: f64, count: u32) -> f64 {
    let rough = (high - low).abs().max(f64::MIN_POSITIVE) / f64::from(count.max(1));
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough * 0.999).unwrap_or(10.0);
    factor * power
}

/// Left, top, right, bottom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

/// The horizontal axis with its labels under the frame, the grid through it, and `name` below.
pub(super) fn draw_x(canvas: &mut Canvas<'_>, frame: Frame, axis: &Axis, name: &str, label: impl Fn(f64) -> String) {
    for &tick in &axis.ticks {
        let x = axis.at(tick);
        canvas.line((x, frame.top), (x, frame.bottom), (GRID, 1));
        canvas.text(&label(tick), (x, frame.bottom + 16.0), Text::faded(Anchor::Middle));
    }
    canvas.line((frame.left, frame.bottom), (frame.right, frame.bottom), (AXIS, 1));
    let middle = f64::midpoint(frame.left, frame.right);
    canvas.text(name, (middle, frame.bottom + 38.0), Text::label(Anchor::Middle));
}

/// The vertical axis with its labels left of the frame, the grid through it, and `name` beside.
pub(super) fn draw_y(canvas: &mut Canvas<'_>, frame: Frame, axis: &Axis, name: &str, label: impl Fn(f64) -> String) {
    for &tick in &axis.ticks {
        let y = axis.at(tick);
        canvas.line((frame.left, y), (frame.right, y), (GRID, 1));
        canvas.text(&label(tick), (frame.left - 8.0, y), Text::faded(Anchor::End));
    }
    let middle: Point = (20.0, f64::midpoint(frame.top, frame.bottom));
    canvas.text_upwards(name, middle, Text::label(Anchor::Middle));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_around_the_data() {
        let axis = Axis::linear(0.0, 47.3, 5);
        assert_eq!(axis.ticks, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(axis.range(), (0.0, 50.0));
        assert_eq!(axis.plain_label(40.0), "40");
        let fine = Axis::linear(-0.03, 0.021, 5);
        assert_eq!(fine.plain_label(fine.ticks[1]), "-0.02");
        assert_eq!(fine.plain_label(-0.0), "0");
        for (low, high) in [(1.0, 1.0), (0.0, 0.0), (-5.0, -5.0)] {
            assert!(Axis::linear(low, high, 5).ticks.len() >= 2, "{low} {high}");
        }
    }

    #[test]
    fn powers_of_two_are_equally_far_apart() {
        let axis = Axis::powers_of_two(1024.0, 8192.0, 8).over(0.0, 350.0);
        assert_eq!(axis.ticks, [1024.0, 2048.0, 4096.0, 8192.0]);
        assert!((axis.at(2048.0) - axis.at(1024.0) - (axis.at(8192.0) - axis.at(4096.0))).abs() < 1e-9);
        assert_eq!(Axis::powers_of_two(1024.0, 1_073_741_824.0, 6).ticks.len(), 6);
    }

    #[test]
    fn values_outside_stay_on_the_sheet() {
        let axis = Axis::exact(0.0, 10.0, 5).over(100.0, 200.0);
        assert!((axis.at(-5.0) - 100.0).abs() < 1e-9 && (axis.at(99.0) - 200.0).abs() < 1e-9);
    }
}
