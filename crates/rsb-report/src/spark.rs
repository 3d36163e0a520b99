//! A series in one line of blocks: ▁▂▃▄▅▆▇█.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// `values` in at most `width` blocks, lowest to highest; neighbors are averaged when there are
/// more values than that. A value that is not finite leaves a gap. A constant series is a line in
/// the middle.
pub fn sparkline(values: &[f64], width: usize) -> String {
    let points = thin(values, width.max(1));
    let finite = || points.iter().copied().filter(|value| value.is_finite());
    let (low, high) = finite()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let block = |&value: &f64| {
        if !value.is_finite() {
            return ' ';
        }
        // Divided before the difference is taken, so that no range overflows.
        let share =
            if high > low { (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0) } else { 0.5 };
        let top = (BLOCKS.len() - 1) as f64;
        BLOCKS.get((share * top).round() as usize).copied().unwrap_or(' ')
    };
    points.iter().map(block).collect()
}

fn thin(values: &[f64], width: usize) -> Vec<f64> {
    if values.len() <= width {
        return values.to_vec();
    }
    let edge = |index: usize| index * values.len() / width;
    let mean = |part: &[f64]| {
        let finite: Vec<f64> = part.iter().copied().filter(|value| value.is_finite()).collect();
        finite.iter().map(|value| value / finite.len() as f64).sum::<f64>()
    };
    let bucket = |index| values.get(edge(index)..edge(index + 1)).unwrap_or_default();
    (0..width)
        .map(bucket)
        .map(|part| if part.iter().any(|v| v.is_finite()) { mean(part) } else { f64::NAN })
        .collect()
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
