//! Quantiles and tail probabilities of distributions: a wrapper of statrs that never panics and
//! never returns NaN for a meaningful argument.

use statrs::distribution::{Beta, ContinuousCDF, FisherSnedecor, Normal, StudentsT};

/// Degrees of freedom above which Student's t is treated as normal; they agree to six digits.
const NORMAL_FROM: f64 = 1e7;

/// Returns the probability that a standard normal variable exceeds `x`.
pub fn normal_above(x: f64) -> f64 {
    if x.is_nan() {
        return 1.0;
    }
    Normal::standard().sf(x)
}

/// Returns the value that a standard normal variable exceeds with probability `p`, which is clamped
/// to 0..=1.
pub fn normal_exceeded_with(p: f64) -> f64 {
    // The lower tail keeps the digits that 1 − p would lose.
    -Normal::standard().inverse_cdf(clamp_probability(p))
}

/// Returns the probability that Student's t with `degrees_of_freedom` degrees exceeds `x`. Returns
/// 1 if either is NaN, so that bad input is never significant.
pub fn t_above(x: f64, degrees_of_freedom: f64) -> f64 {
    if x.is_nan() || degrees_of_freedom.is_nan() || degrees_of_freedom <= 0.0 {
        return 1.0;
    }
    if x.is_infinite() {
        return if x > 0.0 { 0.0 } else { 1.0 };
    }
    if degrees_of_freedom > NORMAL_FROM {
        return normal_above(x);
    }
    StudentsT::new(0.0, 1.0, degrees_of_freedom).map_or(1.0, |t| t.sf(x))
}

/// Returns the value that Student's t with `degrees_of_freedom` degrees exceeds with probability
/// `p`; infinite for zero degrees of freedom.
pub fn t_exceeded_with(p: f64, degrees_of_freedom: f64) -> f64 {
    if degrees_of_freedom.is_nan() || degrees_of_freedom <= 0.0 {
        return f64::INFINITY;
    }
    if degrees_of_freedom > NORMAL_FROM {
        return normal_exceeded_with(p);
    }
    StudentsT::new(0.0, 1.0, degrees_of_freedom)
        .map_or(f64::INFINITY, |t| -t.inverse_cdf(clamp_probability(p)))
}

/// Returns the probability that the minimum of one side exceeds that of the other by `x` times its
/// scale, if the scale was estimated with `degrees_of_freedom` degrees: half of the upper tail of
/// Fisher's F(2, degrees of freedom) at `x` ([`crate::minimum`]). 1 if either is NaN.
pub fn least_above(x: f64, degrees_of_freedom: f64) -> f64 {
    if x.is_nan() || degrees_of_freedom.is_nan() || degrees_of_freedom <= 0.0 {
        return 1.0;
    }
    let beyond =
        (-degrees_of_freedom / 2.0 * (2.0 * x.abs() / degrees_of_freedom).ln_1p()).exp() / 2.0;
    if x < 0.0 { 1.0 - beyond } else { beyond }
}

/// Returns the value that is exceeded with probability `p`, the inverse of [`least_above`];
/// infinite for zero degrees of freedom.
pub fn least_exceeded_with(p: f64, degrees_of_freedom: f64) -> f64 {
    if degrees_of_freedom.is_nan() || degrees_of_freedom <= 0.0 {
        return f64::INFINITY;
    }
    let p = clamp_probability(p);
    let beyond =
        |p: f64| degrees_of_freedom / 2.0 * (-2.0 / degrees_of_freedom * (2.0 * p).ln()).exp_m1();
    if p > 0.5 { -beyond(1.0 - p) } else { beyond(p) }
}

/// Returns the quantile `p` of the ratio of two variances with `above` and `below` degrees of
/// freedom (Fisher's F).
pub fn f_quantile(p: f64, above: f64, below: f64) -> f64 {
    FisherSnedecor::new(above, below).map_or(f64::INFINITY, |f| f.inverse_cdf(clamp_probability(p)))
}

/// Returns the upper Clopper-Pearson confidence limit (1934) of a share, for `part` successes in
/// `whole` tries: the largest share for which `part` or fewer successes have a probability of `1 −
/// confidence`. 1 if every try was a success, or there were none.
pub fn share_at_most(part: usize, whole: usize, confidence: f64) -> f64 {
    if part >= whole {
        return 1.0;
    }
    Beta::new(part as f64 + 1.0, (whole - part) as f64)
        .map_or(1.0, |beta| beta.inverse_cdf(clamp_probability(confidence)))
}

fn clamp_probability(p: f64) -> f64 {
    if p.is_nan() { 0.5 } else { p.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy 1.17.1: `scipy.stats.t.isf`, `t.sf`, `norm.isf`, `norm.sf`, `f.ppf`, half of `f.sf`,
    /// `f.isf` of twice the probability.
    #[test]
    fn figures_agree_with_scipy() {
        for (ours, theirs) in [
            (t_exceeded_with(0.025, 4.0), 2.776_445_105_197_794_3),
            (t_exceeded_with(0.025 / 30.0, 12.0), 4.030_844_672_795_181),
            (t_exceeded_with(1e-6, 2.0), 707.105_720_525_933_9),
            (t_exceeded_with(0.01, 250.0), 2.341_356_118_385_916),
            (t_above(2.5, 3.0), 0.043_853_323_504_032_78),
            (t_above(9.0, 20.0), 9.020_208_090_096_786e-09),
            (t_above(-1.0, 1.0), 0.75),
            (normal_exceeded_with(1e-9), 5.997_807_015_007_686_5),
            (normal_above(5.0), 2.866_515_718_791_933e-07),
            (f_quantile(0.5, 4.0, 8.0), 0.914_645_355_977_071_9),
            (f_quantile(0.99, 2.0, 16.0), 6.226_235_280_311_38),
            (f_quantile(0.25, 4.0, 1.0), 0.553_279_490_598_582_7),
            (least_above(0.5, 4.0), 0.32),
            (least_above(29.0, 4.0), 0.002_081_165_452_653_485_7),
            (least_above(9.0, 12.0), 0.002_048_000_000_000_000_8),
            (least_exceeded_with(0.025, 4.0), 6.944_271_909_999_155),
            (least_exceeded_with(0.025 / 30.0, 20.0), 8.958_986_836_690_421),
            (least_above(-1.0, 6.0), 0.789_062_5),
        ] {
            assert!((ours / theirs - 1.0).abs() < 1e-9, "{ours} {theirs}");
        }
    }

    /// SciPy 1.17.1: `scipy.stats.binomtest(k, n).proportion_ci(0.90, "exact").high`; the interval
    /// of 90 % leaves out 5 % at each end.
    #[test]
    fn shares_are_bounded_as_scipy_has_it() {
        for (part, whole, theirs) in [
            (0, 60, 0.048_702_913_309_985_26),
            (1, 60, 0.076_639_994_934_457_14),
            (5, 100, 0.102_253_377_643_264_5),
            (5, 10, 0.777_558_898_991_871),
            (0, 14_000, 0.000_213_957_984_407_496_1),
        ] {
            let ours = share_at_most(part, whole, 0.95);
            assert!((ours / theirs - 1.0).abs() < 1e-6, "{part} of {whole}: {ours} {theirs}");
        }
        assert!(
            (share_at_most(3, 3, 0.95) - 1.0).abs() < 1e-12
                && (share_at_most(0, 0, 0.95) - 1.0).abs() < 1e-12
        );
    }

    #[test]
    fn odd_arguments_are_never_significant() {
        for (ours, expected) in [
            (t_above(f64::NAN, 4.0), "1"),
            (t_above(3.0, 0.0), "1"),
            (t_above(f64::INFINITY, 4.0), "0"),
            (t_exceeded_with(0.025, 0.0), "inf"),
            (normal_above(f64::NAN), "1"),
            (least_above(f64::NAN, 4.0), "1"),
            (least_above(2.0, 0.0), "1"),
            (least_above(f64::NEG_INFINITY, 4.0), "1"),
            (least_exceeded_with(0.01, 0.0), "inf"),
        ] {
            assert_eq!(ours.to_string(), expected);
        }
        assert!(t_exceeded_with(f64::NAN, 3.0).abs() < 1e-9);
    }
}
