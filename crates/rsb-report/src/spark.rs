//! A series in one line of blocks: ▁▂▃▄▅▆▇█.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Formats `values` as at most `width` blocks, scaled from lowest to highest. If there are more
/// values, neighbors are averaged. A value that is not finite leaves a gap. A constant series is a
/// line in the middle.
pub fn sparkline(values: &[f64], width: usize) -> String {
    let points = thin(values, width.max(1));
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in points.iter().filter(|value| value.is_finite()) {
        low = low.min(*value);
        high = high.max(*value);
    }
    points.iter().map(|value| block(*value, low, high)).collect()
}

/// Returns the block for `value` in a series from `low` to `high`.
fn block(value: f64, low: f64, high: f64) -> char {
    if !value.is_finite() {
        return ' ';
    }
    // Halve before subtracting, so that no range overflows.
    let share = if high > low { (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0) } else { 0.5 };
    let top = (BLOCKS.len() - 1) as f64;
    BLOCKS.get((share * top).round() as usize).copied().unwrap_or(' ')
}

fn thin(values: &[f64], width: usize) -> Vec<f64> {
    if values.len() <= width {
        return values.to_vec();
    }
    let mut means = Vec::with_capacity(width);
    for index in 0..width {
        let (start, end) = (index * values.len() / width, (index + 1) * values.len() / width);
        let part = values.get(start..end).unwrap_or_default();
        let finite: Vec<f64> = part.iter().copied().filter(|value| value.is_finite()).collect();
        if finite.is_empty() {
            means.push(f64::NAN);
        } else {
            means.push(finite.iter().map(|value| value / finite.len() as f64).sum());
        }
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_blocks() {
        for (values, width, line) in [
            (&[][..], 8, ""),
            (&[1.0][..], 8, "▅"),
            (&[5.0, 5.0, 5.0], 8, "▅▅▅"),
            (&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 8, "▁▂▃▄▅▆▇█"),
            (&[0.0, 0.0, 7.0, 7.0], 2, "▁█"),
            (&[0.0, f64::NAN, 1.0], 8, "▁ █"),
            (&[f64::NAN; 3], 2, "  "),
            (&[-f64::MAX, f64::MAX], 8, "▁█"),
        ] {
            assert_eq!(sparkline(values, width), line, "{values:?}");
        }
    }

    #[test]
    fn it_never_exceeds_its_width() {
        for count in 0..200 {
            let values: Vec<f64> = (0..count).map(f64::from).collect();
            assert_eq!(sparkline(&values, 24).chars().count(), values.len().min(24));
        }
    }
}
