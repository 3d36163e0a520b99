//! Functions of one f32 that the compiler can vectorize: no tables, branches or calls.
// Everything here is inlined: a separate function would be compiled without the vector instructions
// of its caller.
#![allow(clippy::inline_always)]

/// Returns eˣ, accurate to 2 ULP. x is clamped so that the result is a normal number.
///
/// x is split into n·ln 2 + r with |r| ≤ ½ ln 2. The Taylor series of eʳ to the seventh power is
/// accurate to 5·10⁻⁹, and 2ⁿ is built directly from exponent bits.
#[inline(always)]
pub(super) fn exp<const FUSED: bool>(x: f32) -> f32 {
    /// 1.5·2²³: adding it leaves the nearest integer in the low bits.
    const ROUND: f32 = 12_582_912.0;
    /// ln 2 in two parts; the first has enough trailing zeros that n times it is exact.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let shifted = multiply_add::<FUSED>(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = multiply_add::<FUSED>(n, -LN_2_LOW, multiply_add::<FUSED>(n, -LN_2_HIGH, x));
    let mut series = 1.0 / 5040.0;
    for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        series = multiply_add::<FUSED>(series, r, factor);
    }
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0_f32.to_bits()));
    series * power
}

/// Returns a·b + c. Set `FUSED` only in functions compiled with FMA; elsewhere a fused operation is
/// a slow library call.
#[inline(always)]
fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Returns 1 / (1 + e⁻ˣ).
#[inline(always)]
pub(super) fn sigmoid<const FUSED: bool>(x: f32) -> f32 {
    1.0 / (1.0 + exp::<FUSED>(-x))
}

/// Returns GELU in its tanh form, using ½(1 + tanh u) = sigmoid(2u).
#[inline(always)]
pub(super) fn gelu<const FUSED: bool>(x: f32) -> f32 {
    /// −2·√(2/π), and the same times 0.044715.
    const LINEAR: f32 = -1.595_769;
    const CUBIC: f32 = -0.071_354_82;
    let minus_twice_u = x * multiply_add::<FUSED>(x * x, CUBIC, LINEAR);
    x / (1.0 + exp::<FUSED>(minus_twice_u))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::operation::ElementwiseOp;
    use rsb_device::reference::elementwise;

    #[test]
    fn the_exponential_is_good_to_two_units() {
        for step in -86_900..87_900_i32 {
            let x = step as f32 * 1e-3;
            let expected = f64::from(x).exp();
            for found in [exp::<true>(x), exp::<false>(x)] {
                let error = (f64::from(found) / expected - 1.0).abs();
                assert!(error < 2.0 * f64::from(f32::EPSILON), "exp({x}) is off by {error:e}");
            }
        }
        assert!(exp::<true>(-1e30).is_finite() && exp::<true>(1e30).is_finite());
    }

    #[test]
    fn activations_agree_with_their_definition_far_out_too() {
        for step in -40_000..40_000_i32 {
            let x = step as f32 * 1e-3;
            let all = [
                (ElementwiseOp::Gelu, gelu::<true>(x)),
                (ElementwiseOp::Gelu, gelu::<false>(x)),
                (ElementwiseOp::Sigmoid, sigmoid::<true>(x)),
                (ElementwiseOp::Sigmoid, sigmoid::<false>(x)),
            ];
            for (op, found) in all {
                let expected = elementwise(op, f64::from(x), 0.0);
                let error = (f64::from(found) - expected).abs();
                assert!(
                    error < 5e-7 * expected.abs().max(1.0),
                    "{op}({x}) = {found}, not {expected}"
                );
            }
        }
    }
}
