//! A series as a small line, drawn in the color of the text around it.

const WIDTH: f64 = 100.0;
const HEIGHT: f64 = 24.0;
/// Maximum number of points; neighbors are averaged beyond.
const POINTS: usize = 50;

/// Returns the SVG of `values` with the accessible name `title`, which must need no escapes. Empty
/// if fewer than two values are finite.
pub(crate) fn spark(values: &[f64], title: &str) -> String {
    let wide = values.len().div_ceil(POINTS).max(1);
    let mut means = Vec::new();
    for part in values.chunks(wide) {
        let finite: Vec<f64> = part.iter().copied().filter(|value| value.is_finite()).collect();
        if !finite.is_empty() {
            means.push(finite.iter().map(|value| value / finite.len() as f64).sum::<f64>());
        }
    }
    if means.len() < 2 {
        return String::new();
    }
    let low = means.iter().copied().fold(f64::INFINITY, f64::min);
    let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // A range of at least 5 %, so that noise looks small.
    let range = (high - low).max(0.05 * high.abs().max(low.abs())).max(f64::MIN_POSITIVE);
    let middle = f64::midpoint(low, high);
    let step = WIDTH / (means.len() - 1) as f64;
    let mut points = String::new();
    for (at, mean) in means.iter().enumerate() {
        let y = HEIGHT / 2.0 - (mean - middle) / range * (HEIGHT - 4.0);
        points.push_str(&format!("{:.0},{y:.0} ", at as f64 * step));
    }
    format!(
        "<svg class=\"spark\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"{title}\"><polyline points=\"{}\"/></svg>",
        points.trim_end()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_needs_two_values_and_stays_small() {
        assert_eq!(spark(&[1.0, f64::NAN], "x"), "");
        let steps = spark(&[1.0, 1.0, 2.0, f64::INFINITY], "x");
        assert!(steps.contains("points=\"0,22 50,22 100,2\""), "{steps}");
        let long: Vec<f64> = (0..100_000).map(f64::from).collect();
        assert!(spark(&long, "x").len() < 700);
        assert!(!spark(&[f64::MAX, -f64::MAX, f64::MAX], "x").contains("NaN"));
    }
}
