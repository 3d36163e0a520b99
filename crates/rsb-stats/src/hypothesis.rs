//! Two-sided tests for a difference between two lists of values. They return `None` if the values
//! are unsuitable, such as too few.

use crate::distribution::{normal_above, t_above};
use crate::estimate::{mean, variance};

/// Outcome of a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TestResult {
    /// Test statistic: t, or U of the first list.
    pub statistic: f64,
    /// Degrees of freedom, for a t test.
    pub degrees_of_freedom: Option<f64>,
    /// Probability of a statistic at least as extreme if there is no difference.
    pub p_value: f64,
}

/// Runs Welch's t test on the means of `a` and `b`, with unequal variances.
pub fn welch_t(a: &[f64], b: &[f64]) -> Option<TestResult> {
    let (of_a, of_b) = (variance(a)? / a.len() as f64, variance(b)? / b.len() as f64);
    let error = (of_a + of_b).sqrt();
    if error <= 0.0 {
        return None;
    }
    let shares = of_a.powi(2) / (a.len() - 1) as f64 + of_b.powi(2) / (b.len() - 1) as f64;
    Some(student((mean(a)? - mean(b)?) / error, (of_a + of_b).powi(2) / shares))
}

/// Runs Student's t test on the pairwise differences `a` − `b`. `None` if the lists differ in
/// length.
pub fn paired_t(a: &[f64], b: &[f64]) -> Option<TestResult> {
    if a.len() != b.len() {
        return None;
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let error = (variance(&differences)? / a.len() as f64).sqrt();
    (error > 0.0).then_some(student(mean(&differences)? / error, (a.len() - 1) as f64))
}

fn student(statistic: f64, degrees_of_freedom: f64) -> TestResult {
    let p_value = (2.0 * t_above(statistic.abs(), degrees_of_freedom)).min(1.0);
    TestResult { statistic, degrees_of_freedom: Some(degrees_of_freedom), p_value }
}

/// Largest product of the lengths for which the Mann-Whitney test counts every order; above it, the
/// normal approximation is exact enough.
const EXACT_UP_TO: usize = 400;

/// Runs the Mann-Whitney U test for whether values of `a` tend to differ from those of `b`. Exact
/// for short lists without ties, otherwise by the normal approximation with corrections for ties
/// and continuity.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<TestResult> {
    let (n, m) = (a.len(), b.len());
    if n == 0 || m == 0 || a.iter().chain(b).any(|value| value.is_nan()) {
        return None;
    }
    let joined: Vec<f64> = a.iter().chain(b).copied().collect();
    let (ranks, ties) = ranks(&joined);
    let (n_f, m_f) = (n as f64, m as f64);
    let u = ranks.iter().take(n).sum::<f64>() - n_f * (n_f + 1.0) / 2.0;
    let far = u.max(n_f * m_f - u);
    let p_value = if ties == 0.0 && n * m <= EXACT_UP_TO {
        2.0 * exact_at_least(far as usize, n, m)
    } else {
        let total = n_f + m_f;
        let spread = (n_f * m_f / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)))).sqrt();
        if spread <= 0.0 {
            return None;
        }
        2.0 * normal_above((far - n_f * m_f / 2.0 - 0.5) / spread)
    };
    Some(TestResult { statistic: u, degrees_of_freedom: None, p_value: p_value.min(1.0) })
}

/// Returns the exact probability that U is at least `u` for lists of `n` and `m` values in random
/// order.
fn exact_at_least(u: usize, n: usize, m: usize) -> f64 {
    // ways[s] counts the orders with U = s, as the coefficients of the Gaussian binomial (n + m
    // choose n).
    let size = n * m + 1;
    let mut ways = vec![0.0_f64; size];
    if let Some(none) = ways.first_mut() {
        *none = 1.0;
    }
    for part in 1..=n {
        for s in (m + part..size).rev() {
            let less = ways.get(s - m - part).copied().unwrap_or(0.0);
            if let Some(slot) = ways.get_mut(s) {
                *slot -= less;
            }
        }
        for s in part..size {
            let more = ways.get(s - part).copied().unwrap_or(0.0);
            if let Some(slot) = ways.get_mut(s) {
                *slot += more;
            }
        }
    }
    ways.iter().skip(u).sum::<f64>() / ways.iter().sum::<f64>()
}

/// Returns the ranks from 1, with equal values sharing their mean rank, and the sum of t³ − t over
/// the groups of t equal values.
pub(crate) fn ranks(values: &[f64]) -> (Vec<f64>, f64) {
    // Adding zero turns −0 into 0, so that the two tie.
    let mut order: Vec<(usize, f64)> = values.iter().map(|value| value + 0.0).enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut ranks = vec![0.0; values.len()];
    let (mut done, mut ties) = (0_usize, 0.0);
    for group in order.chunk_by(|a, b| a.1.total_cmp(&b.1).is_eq()) {
        let size = group.len() as f64;
        let rank = done as f64 + f64::midpoint(1.0, size);
        for &(position, _) in group {
            if let Some(slot) = ranks.get_mut(position) {
                *slot = rank;
            }
        }
        ties += size.powi(3) - size;
        done += group.len();
    }
    (ranks, ties)
}
