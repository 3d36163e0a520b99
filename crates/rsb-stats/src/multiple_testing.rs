//! Corrections of p-values for multiple testing.

/// Returns p-values adjusted by Holm's method: calling those below α significant keeps the
/// probability of any false call below α. It has more power than Bonferroni if several cases
/// changed. NaN counts as 1.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p_values.len()];
    let mut highest = 0.0_f64;
    for (rank, position) in ascending(p_values).into_iter().enumerate() {
        let remaining = (p_values.len() - rank) as f64;
        highest = highest.max(chance(p_values, position) * remaining).min(1.0);
        set(&mut adjusted, position, highest);
    }
    adjusted
}

/// Returns p-values adjusted by Benjamini and Hochberg (1995): of those called below q, at most a
/// share q is false in the long run, if the tests are independent or positively dependent. NaN
/// counts as 1.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len() as f64;
    let mut adjusted = vec![1.0; p_values.len()];
    let mut lowest = 1.0_f64;
    for (rank, position) in ascending(p_values).into_iter().enumerate().rev() {
        lowest = lowest.min(chance(p_values, position) * count / (rank + 1) as f64);
        set(&mut adjusted, position, lowest);
    }
    adjusted
}

/// Returns the positions of `p_values` in ascending order of value.
pub(crate) fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| chance(p_values, a).total_cmp(&chance(p_values, b)));
    order
}

fn chance(p_values: &[f64], position: usize) -> f64 {
    p_values.get(position).copied().filter(|p| !p.is_nan()).unwrap_or(1.0)
}

fn set(adjusted: &mut [f64], position: usize, value: f64) {
    if let Some(slot) = adjusted.get_mut(position) {
        *slot = value;
    }
}
