//! A series in the unit that its values are shown in: milliseconds as `7.2 µs`, bytes as `3 GB`.

use rsb_model::record::{ChangePoint, SeriesTrend};
use rsb_report::format_quantity;

/// Returns `trend` in the unit in which its largest value is shown, for a chart that shows numbers
/// without their unit. Values that need no other unit stay as they are.
pub(super) fn in_shown_unit(trend: &SeriesTrend) -> SeriesTrend {
    let mut scaled = trend.clone();
    let largest = trend.values.iter().copied().filter(|value| value.is_finite());
    let largest = largest.fold(0.0, |most: f64, value| most.max(value.abs()));
    let Some((factor, unit)) = shown_unit(largest, &trend.unit) else { return scaled };
    scaled.unit = unit;
    for value in &mut scaled.values {
        *value *= factor;
    }
    (scaled.first, scaled.last) = (scaled.first * factor, scaled.last * factor);
    scaled.slope_per_day = scaled.slope_per_day.map(|slope| slope * factor);
    for ChangePoint { before, after, .. } in
        scaled.change_points.iter_mut().chain(&mut scaled.suspected)
    {
        (*before, *after) = (*before * factor, *after * factor);
    }
    scaled
}

/// Returns the unit in which `value` is shown, and the factor from its own unit.
fn shown_unit(value: f64, unit: &str) -> Option<(f64, String)> {
    let shown = format_quantity(value, unit);
    let (_, shown) = shown.split_once(' ')?;
    let factors = [
        ("ms", "µs", 1e3),
        ("ms", "ns", 1e6),
        ("ms", "s", 1e-3),
        ("µs", "ns", 1e3),
        ("µs", "ms", 1e-3),
        ("µs", "s", 1e-6),
        ("GFLOP/s", "TFLOP/s", 1e-3),
        ("GFLOP/s", "MFLOP/s", 1e3),
        ("GB/s", "TB/s", 1e-3),
        ("GB/s", "MB/s", 1e3),
        ("MB", "GB", 1e-3),
        ("MB", "kB", 1e3),
    ];
    let known = factors.iter().find(|(from, to, _)| *from == unit && *to == shown);
    known.map(|(_, to, factor)| (*factor, (*to).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_the_unit_of_its_values() {
        assert_eq!(shown_unit(0.57, "ms"), Some((1e3, "µs".to_owned())));
        assert_eq!(shown_unit(2300.0, "GFLOP/s"), Some((1e-3, "TFLOP/s".to_owned())));
        for (value, unit) in [(8.0, "ms"), (97.0, "%"), (0.0, ""), (f64::NAN, "ms"), (7.0, "x y")] {
            assert_eq!(shown_unit(value, unit), None, "{value} {unit}");
        }
    }
}
