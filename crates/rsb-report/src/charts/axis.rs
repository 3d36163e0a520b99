//! Axes with round numbers as labels.

use itertools::Itertools as _;

use crate::chart::{Axis, AxisScale, Label};

/// Returns an axis from `low` to `high`, widened to round numbers, with about `count` labels.
pub(super) fn linear(title: &str, low: f64, high: f64, count: u32) -> Axis {
    let ticks = ticks(low, high, count);
    let bounds = [ticks.first().copied().unwrap_or(low), ticks.last().copied().unwrap_or(high)];
    axis(title, bounds, labels(&ticks))
}

/// Returns an axis from exactly `low` to `high`, with labels at the round numbers between them.
pub(super) fn exact(title: &str, low: f64, high: f64, count: u32) -> Axis {
    let (low, high) = widen_range(low, high);
    let slack = (high - low) * 1e-9;
    let mut labels = labels(&ticks(low, high, count));
    labels.retain(|label| (low - slack..=high + slack).contains(&label.at));
    axis(title, [low, high], labels)
}

/// Returns an axis for changes from `-reach` to `reach`, with signed labels.
pub(super) fn signed(title: &str, reach: f64) -> Axis {
    let mut axis = exact(title, -reach, reach, 8);
    for label in &mut axis.labels {
        if !label.text.starts_with('-') && label.text != "0" {
            label.text.insert(0, '+');
        }
    }
    axis
}

fn axis(title: &str, bounds: [f64; 2], labels: Vec<Label>) -> Axis {
    Axis { title: title.to_owned(), bounds, labels, scale: AxisScale::Linear }
}

/// Ratio of the highest to the lowest value from which an axis is logarithmic, because a linear one
/// would hide the low values.
pub(super) const WIDE: f64 = 30.0;

/// Returns an axis for `values` from zero, or a logarithmic one if they are [`WIDE`].
pub(super) fn from_zero(title: &str, values: impl IntoIterator<Item = f64>, count: u32) -> Axis {
    let all: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
    let high = all.iter().copied().fold(0.0, f64::max);
    let low = all.iter().copied().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    if low < high / WIDE {
        // Below the lowest value, so that its bar has a length.
        powers_of_ten(title, low / 1.5, high)
    } else {
        linear(title, 0.0, high, count)
    }
}

/// Returns `; logarithmic scale` if `axis` is.
pub(super) fn scale_words(axis: &Axis) -> &'static str {
    if axis.scale == AxisScale::Log { "; logarithmic scale" } else { "" }
}

/// Unit for an axis, and the factor from the unit of the values to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct AxisUnit {
    pub(super) factor: f64,
    pub(super) symbol: &'static str,
}

impl AxisUnit {
    /// Returns the unit with an SI prefix in which `top` has one to three digits.
    pub(super) fn of(top: f64, symbol: &'static str) -> Self {
        const FAMILIES: [&[&str]; 6] = [
            &["ns", "µs", "ms", "s"],
            &["B", "kB", "MB", "GB", "TB"],
            &["kB/s", "MB/s", "GB/s", "TB/s"],
            &["MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"],
            &["MHz", "GHz"],
            &["mW", "W", "kW"],
        ];
        let family = FAMILIES.iter().find(|family| family.contains(&symbol));
        let Some(family) = family.filter(|_| top > 0.0 && top.is_finite()) else {
            return Self { factor: 1.0, symbol: if symbol == "1" { "" } else { symbol } };
        };
        let own = family.iter().position(|known| *known == symbol).unwrap_or_default();
        let steps = ((top * 1.000_1).log10() / 3.0).floor();
        let at = (own as f64 + steps).clamp(0.0, family.len() as f64 - 1.0);
        Self { factor: 1e3_f64.powf(own as f64 - at), symbol: family[at as usize] }
    }
}

/// Returns a logarithmic axis with powers of two around `low` to `high`, which are positive, and at
/// most about `count` labels. A margin of a quarter of a power on each side keeps marks off the
/// frame.
pub(super) fn powers_of_two(
    title: &str,
    low: f64,
    high: f64,
    count: u32,
    format: impl Fn(f64) -> String,
) -> Axis {
    let (first, last) = (low.log2().floor(), high.log2().ceil().max(low.log2().floor() + 1.0));
    let every = ((last - first) / f64::from(count)).ceil().max(1.0);
    let bounds = [low / 1.19, high.max(low * 1.01) * 1.19];
    let ticks =
        (0..=((last - first) / every) as u32).map(|i| (first + f64::from(i) * every).exp2());
    let labels = ticks
        .filter(|tick| (bounds[0]..=bounds[1]).contains(tick))
        .map(|at| Label { at, text: format(at) })
        .collect();
    Axis { title: title.to_owned(), bounds, labels, scale: AxisScale::Log }
}

/// Returns a logarithmic axis from the round number below `low`, which is positive, to the one
/// above `high`. Labels are at 1, 2 and 5 in each power of ten for up to three decades, otherwise
/// at powers of ten only.
pub(super) fn powers_of_ten(title: &str, low: f64, high: f64) -> Axis {
    let (first, last) = (low.log10().floor(), high.log10().ceil().max(low.log10().floor() + 1.0));
    let decades = last - first;
    let steps: &[f64] = if decades <= 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let every = (decades / 8.0).ceil().max(1.0);
    let powers =
        (0..=(decades / every).ceil() as u32).map(|index| first + f64::from(index) * every);
    let ticks: Vec<f64> = powers
        .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powf(power)))
        .filter(|tick| tick.is_finite() && *tick > 0.0)
        .collect();
    // The bounds are the last label at or below the data and the first one at or above it, if there
    // are such labels.
    let below = ticks.iter().copied().rfind(|tick| *tick <= low * (1.0 + 1e-9)).unwrap_or(low);
    let above = ticks
        .iter()
        .copied()
        .find(|tick| *tick >= high * (1.0 - 1e-9) && *tick > below)
        .unwrap_or(high);
    let shown = ticks.into_iter().filter(|tick| (below..=above).contains(tick));
    let labels = shown.map(|at| Label { at, text: power_label(at) }).collect();
    Axis {
        title: title.to_owned(),
        bounds: [below, above.max(below * 1.01)],
        labels,
        scale: AxisScale::Log,
    }
}

pub(super) fn rows(labels: impl IntoIterator<Item = String>) -> Axis {
    let labels: Vec<Label> =
        labels.into_iter().enumerate().map(|(row, text)| Label { at: row as f64, text }).collect();
    let bounds = [-0.5, labels.len() as f64 - 0.5];
    Axis { title: String::new(), bounds, labels, scale: AxisScale::Rows }
}

fn power_label(value: f64) -> String {
    let decimals = (-(value.log10() + 1e-9).floor()).max(0.0) as usize;
    if (1e-4..1e5).contains(&value) {
        format!("{value:.decimals$}")
    } else {
        format!("{value:.0e}")
    }
}

fn ticks(low: f64, high: f64, count: u32) -> Vec<f64> {
    let (low, high) = widen_range(low, high);
    let step = step(low, high, count);
    let (first, last) =
        ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil().max((low / step).floor() + 1.0));
    (0..=(last - first) as u32).map(|index| (first + f64::from(index)) * step).collect()
}

fn labels(ticks: &[f64]) -> Vec<Label> {
    let step = ticks.iter().tuple_windows().map(|(low, high)| high - low).fold(f64::NAN, f64::min);
    ticks.iter().map(|&at| Label { at, text: plain(at, step) }).collect()
}

/// Formats `value` with no more decimals than the step needs.
fn plain(value: f64, step: f64) -> String {
    let decimals =
        if step.is_finite() { (-(step.log10() + 1e-9).floor()).max(0.0) as usize } else { 1 };
    if value.abs() >= 1e8 || decimals > 5 {
        return format!("{value:.1e}");
    }
    let text = format!("{value:.decimals$}");
    if text.trim_matches(['-', '0', '.']).is_empty() { "0".to_owned() } else { text }
}

/// Returns the range, widened if it is a single value.
fn widen_range(low: f64, high: f64) -> (f64, f64) {
    let (low, high) = (low.max(-1e300), high.min(1e300));
    let least = low.abs().max(high.abs()) * 1e-6;
    match high - low {
        wide if wide > least => (low, high),
        _ if least > 0.0 => (low - low.abs() / 20.0, high + high.abs() / 20.0),
        _ => (0.0, 1.0),
    }
}

/// Returns a step of 1, 2 or 5 times a power of ten that divides the range into about `count`
/// parts.
fn step(low: f64, high: f64, count: u32) -> f64 {
    let rough = (high - low).abs().max(f64::MIN_POSITIVE) / f64::from(count.max(1));
    let power = 10_f64.powf(rough.log10().floor());
    let factor =
        [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough * 0.999).unwrap_or(10.0);
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label_texts(axis: &Axis) -> Vec<&str> {
        axis.labels.iter().map(|label| label.text.as_str()).collect()
    }

    #[test]
    fn labels_are_round_numbers_around_the_data() {
        let axis = linear("", 0.0, 47.3, 5);
        assert_eq!(label_texts(&axis), ["0", "10", "20", "30", "40", "50"]);
        assert!((axis.bounds[0], axis.bounds[1]) == (0.0, 50.0));
        assert_eq!(label_texts(&linear("", -0.03, 0.021, 5))[..2], ["-0.04", "-0.02"]);
        for (low, high) in [(1.0, 1.0), (0.0, 0.0), (-5.0, -5.0)] {
            assert!(linear("", low, high, 5).labels.len() >= 2, "{low} {high}");
        }
    }

    #[test]
    fn powers_of_two_are_all_there_or_every_few() {
        let axis = powers_of_two("", 1024.0, 8192.0, 8, |at| format!("{at}"));
        assert_eq!(label_texts(&axis), ["1024", "2048", "4096", "8192"]);
        let axis = powers_of_two("", 1024.0, 1_073_741_824.0, 6, |at| format!("{at}"));
        assert_eq!(axis.labels.len(), 6);
    }

    #[test]
    fn powers_of_ten_hold_the_data_between_labels() {
        let axis = powers_of_ten("", 0.3, 42.0);
        assert_eq!(label_texts(&axis), ["0.2", "0.5", "1", "2", "5", "10", "20", "50"]);
        let axis = powers_of_ten("", 0.02, 900.0);
        assert_eq!(label_texts(&axis), ["0.01", "0.1", "1", "10", "100", "1000"]);
        assert_eq!(label_texts(&powers_of_ten("", 1.0, 1.0)).len(), 2);
        for (low, high) in [(1e-300, f64::MAX), (f64::MIN_POSITIVE, 1e-300), (5e9, 5e9)] {
            let axis = powers_of_ten("", low, high);
            assert!(
                axis.bounds[0] <= low && axis.bounds[1] >= high && axis.labels.len() < 12,
                "{axis:?}"
            );
        }
    }

    #[test]
    fn low_values_next_to_high_ones_take_a_log_axis() {
        let scale = |values: &[f64]| from_zero("", values.iter().copied(), 6).scale;
        assert_eq!(scale(&[0.0, 4.0, 100.0]), AxisScale::Linear);
        assert_eq!(scale(&[0.0, 3.0, 100.0]), AxisScale::Log);
        let axis = from_zero("", [3.0, 100.0], 6);
        assert!(axis.share(3.0) > 0.05, "the lowest bar must have a length");
    }

    #[test]
    fn an_axis_has_the_prefix_of_its_top() {
        for (top, symbol, expected) in [
            (0.35, "ms", "µs"),
            (999.0, "ms", "ms"),
            (12_000.0, "ms", "s"),
            (9e6, "s", "s"),
            (1500.0, "GB/s", "TB/s"),
            (0.3, "GFLOP/s", "MFLOP/s"),
            (5.0, "widgets", "widgets"),
        ] {
            let unit = AxisUnit::of(top, symbol);
            assert_eq!(unit.symbol, expected, "{top} {symbol}");
        }
        let unit = AxisUnit::of(0.35, "ms");
        assert!((0.35 * unit.factor - 350.0).abs() < 1e-9);
    }
}
