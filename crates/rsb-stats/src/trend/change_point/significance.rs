//! Significance of a change: the probability that the best split of an unchanged series is as good.

use crate::distribution::normal_above;

/// Number of steps of the numerical integration.
const STEPS: usize = 24;

/// Returns the logarithm of the probability that some split of `n` unchanged points, with at least
/// `min_size` on each side, has a standardized difference of at least `z` in either direction
/// (James, James and Siegmund, Biometrika 74, 1987). The approximation is for large `z`; it is
/// limited to a probability of 1.
pub(super) fn ln_chance(z: f64, n: usize, min_size: usize) -> f64 {
    let n = n as f64;
    let edge = (min_size as f64 / n).clamp(1e-9, 0.5);
    // In u = ln(t / (1 − t)) all positions have equal weight.
    let end = ((1.0 - edge) / edge).ln();
    if z <= 1.0 {
        return 0.0;
    }
    // If only one position is possible, the probability is that of a single comparison.
    let single = (2.0 * normal_above(z)).ln();
    let width = 2.0 * end / STEPS as f64;
    let overshoots = (0..STEPS).map(|step| {
        let u = -end + width * (step as f64 + 0.5);
        let t = 1.0 / (1.0 + (-u).exp());
        overshoot(z / (n * t * (1.0 - t)).sqrt())
    });
    let integral = overshoots.sum::<f64>() * width;
    let search =
        z.ln() - z * z / 2.0 - (2.0 * std::f64::consts::PI).sqrt().ln() + integral.max(1e-300).ln();
    search.max(single).min(0.0)
}

/// Returns the z that is reached with probability `chance`.
pub(super) fn critical_value(chance: f64, n: usize, min_size: usize) -> f64 {
    // The logarithm of the probability is nearly −z² / 2, so changing z² by twice the remaining
    // difference converges fast.
    let mut z: f64 = 4.0;
    for _ in 0..20 {
        let missing = ln_chance(z, n, min_size) - chance.ln();
        z = (z * z + 2.0 * missing).max(1.0).sqrt();
        if missing.abs() < 1e-6 {
            break;
        }
    }
    z
}

/// Computes Siegmund's ν, the factor by which the discrete steps of a walk reduce the probability
/// that a continuous path reaches a line.
fn overshoot(x: f64) -> f64 {
    if x < 1e-6 {
        return 1.0;
    }
    let half = x / 2.0;
    let below = 1.0 - normal_above(half);
    let density = (-half * half / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    (2.0 / x) * (below - 0.5) / (half * below + density)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of 40,000 simulated series of independent normal values whose best split reaches z,
    /// with at least five points on each side (NumPy, seed 1); the approximation may be up to a
    /// fifth lower and up to half higher.
    #[test]
    fn the_best_of_all_splits_is_as_likely_as_simulated() {
        for (n, z, simulated) in [
            (50, 3.0, 0.033),
            (50, 3.5, 0.007),
            (200, 3.0, 0.062),
            (200, 3.5, 0.0128),
            (200, 4.0, 0.002),
        ] {
            let ours = ln_chance(z, n, 5).exp();
            assert!(
                (0.8 * simulated..1.5 * simulated).contains(&ours),
                "{n} points, z = {z}: {ours}, not {simulated}"
            );
        }
    }

    #[test]
    fn critical_values_are_reached_with_their_chance() {
        for (chance, n) in [(0.05, 20), (0.005, 100), (0.005, 5000), (1e-9, 500)] {
            let z = critical_value(chance, n, 5);
            assert!((ln_chance(z, n, 5) - f64::ln(chance)).abs() < 1e-3, "{chance} of {n}");
        }
        // With one position there is no search.
        assert!((ln_chance(2.0, 10, 5).exp() - 2.0 * normal_above(2.0)).abs() < 1e-9);
    }
}
