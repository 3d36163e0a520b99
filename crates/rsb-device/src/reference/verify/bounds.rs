//! Error bounds of correct results. docs/methods/README.md derives each bound.

use rsb_model::Dtype;

use crate::convert::smallest_normal;
use crate::operation::{Epilogue, Gemm, Operation, Rearrange, Reduce, ReduceOp, StreamPattern};

/// Upper limit on the error of any result, relative to its largest value. Only 8-bit outputs, whose
/// step is larger, may exceed it.
const MAX_ERROR: f64 = 0.05;

/// Number of f32 steps that count as one: matrix units and libraries add two or more products
/// before rounding, each in a different way.
const STEPS_OF_A_UNIT: f64 = 64.0;

/// Error allowed because GELU has two forms: the tanh form and the error function differ by 5·10⁻⁴,
/// while a sum of 32 terms reaches 2.5.
const GELU_FORMS: f64 = 2e-4;

/// Error allowed, in steps of f16, for sums of at most 32 products in f16 before they are added in
/// f32.
const STEPS_OF_SHORT_SUMS: f64 = 3.0;

/// Error allowed, in steps of bf16, if a library splits the sum over k and adds the parts in bf16.
/// In a simulation of 4 to 16 parts at k = 1024 to 8192, the error was 0.16 steps.
const STEPS_OF_PARTS: f64 = 0.5;

/// Error allowed for a row multiplied by random signs, in steps of its type, relative to the length
/// of the row. Rounding errors are at most one step each and independent of the signs; if they are
/// uniformly distributed over a step, this is six standard deviations.
const ROW_STEPS: f64 = 2.5;

/// Largest accepted error of a result, by cause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ErrorBound {
    /// Rounding to the output type, relative to the element itself.
    pub(super) rounding: f64,
    /// Smallest normal number. Below this magnitude, the rounding error does not decrease further.
    pub(super) smallest_normal: f64,
    /// Errors before the final rounding, relative to the largest element.
    pub(super) sums: f64,
}

impl ErrorBound {
    /// Bound of a result that must match exactly.
    const EXACT: Self = Self { rounding: 0.0, smallest_normal: 0.0, sums: 0.0 };

    /// Returns the bound of an output that is rounded once from sums of `terms` terms. Sums in f32
    /// and f64 are rounded in their own type; sums of narrower elements are accumulated in f32.
    fn for_rounded_sum(output: Dtype, terms: u64) -> Self {
        match output {
            Dtype::F64 | Dtype::F32 | Dtype::Tf32 => {
                Self { sums: output.epsilon() * steps(terms), ..Self::EXACT }
            }
            narrow => Self::narrow(narrow, wide_sums(terms)),
        }
    }

    fn narrow(output: Dtype, sums: f64) -> Self {
        Self { rounding: output.epsilon(), smallest_normal: smallest_normal(output), sums }
    }

    /// Returns the bound of `operation` for a provider that accumulates short sums of products in
    /// `sums_in`, if that is narrower than f32.
    pub(super) fn new(operation: &Operation, sums_in: Option<Dtype>) -> Self {
        let bound = match operation {
            Operation::Stream(op) if op.pattern == StreamPattern::Triad => {
                Self::for_rounded_sum(op.dtype, 0)
            }
            Operation::Stream(_)
            | Operation::PointerChase(_)
            | Operation::Rearrange(Rearrange { rotary: false, .. })
            | Operation::Gather(_)
            | Operation::Allocate(_)
            | Operation::Transfer(_)
            | Operation::Launch(_)
            | Operation::Reduce(Reduce { op: ReduceOp::Max | ReduceOp::Argmax, .. }) => Self::EXACT,
            // Sums of 16-bit elements are stored as f32.
            Operation::Reduce(op) => Self::for_rounded_sum(
                if op.dtype == Dtype::F64 { Dtype::F64 } else { Dtype::F32 },
                op.elements,
            ),
            Operation::Elementwise(op) if op.dtype.epsilon() == 0.0 => Self::EXACT,
            Operation::Elementwise(op) => Self::for_rounded_sum(op.dtype, 0),
            Operation::Rearrange(op) => Self::for_rounded_sum(op.dtype, 0),
            Operation::Normalize(op) => Self::for_rounded_sum(op.dtype, op.columns),
            Operation::Attention(op) => {
                let mut bound = Self::for_rounded_sum(op.dtype, op.head_dim + op.positions);
                // Scores and probabilities may be rounded to the type of the inputs before the
                // second product.
                bound.sums += 2.0 * bound.rounding;
                bound
            }
            Operation::Convolution(op) => Self::for_rounded_sum(op.dtype, op.terms()),
            Operation::Gemm(op) => Self::product(op),
            Operation::Quantized(op) => Self::for_rounded_sum(op.dtype, op.k),
            // Every chain ends at 1, which all types represent; on a CPU the largest error of the
            // chains is added and rounded once.
            Operation::PeakArithmetic(op) => {
                let result = op.result_dtype();
                let allowed = if result.epsilon() > Dtype::F32.epsilon() { 2.0 } else { steps(0) };
                Self { sums: result.epsilon() * allowed, ..Self::EXACT }
            }
            Operation::Churn(_) => Self::for_rounded_sum(Dtype::F64, 0),
        };
        let short_sums = match sums_in {
            Some(Dtype::F16) => STEPS_OF_SHORT_SUMS * Dtype::F16.epsilon(),
            Some(Dtype::Bf16) => STEPS_OF_PARTS * Dtype::Bf16.epsilon(),
            _ => 0.0,
        };
        let largest =
            if bound.rounding < MAX_ERROR { MAX_ERROR - bound.rounding } else { MAX_ERROR };
        Self { sums: (bound.sums + short_sums).min(largest), ..bound }
    }

    fn product(op: &Gemm) -> Self {
        let output = op.output_dtype();
        let mut bound = match op.dtype {
            Dtype::F64 | Dtype::F32 => Self::for_rounded_sum(op.dtype, op.k),
            Dtype::I8 | Dtype::I4 | Dtype::I32 => Self::EXACT,
            // Both inputs are rounded or truncated to 10 bits.
            Dtype::Tf32 => {
                Self { sums: 2.0 * Dtype::Tf32.epsilon() + wide_sums(op.k), ..Self::EXACT }
            }
            _ if output == Dtype::F32 => Self { sums: wide_sums(op.k), ..Self::EXACT },
            _ => Self::narrow(output, wide_sums(op.k)),
        };
        if op.epilogue == Epilogue::Gelu {
            bound.sums += GELU_FORMS;
        }
        bound.sums += op.accumulation_error();
        bound
    }

    /// Returns the largest accepted max|x − ref| / max|ref|.
    pub(super) fn total(self) -> f64 {
        self.rounding + self.sums
    }

    /// Returns the largest accepted difference between a row of `columns` elements multiplied by
    /// random signs and the reference. `length` is the Euclidean norm of the row found, `scale` the
    /// largest value of the reference.
    pub(super) fn projection_limit(self, length: f64, columns: u64, scale: f64) -> f64 {
        let root = (columns as f64).sqrt();
        // Limited to the length of a correct row, so that a wrong result does not raise its own
        // limit.
        let length = length.min(scale * root) + self.smallest_normal * root;
        ROW_STEPS * self.rounding * length + self.sums * scale * root
    }
}

/// Returns the largest accepted error of a chain of `operations` whose results are each rounded to
/// `narrow`, a type narrower than f32, with sums of at most `terms` terms in f32. Rounding errors
/// are independent, so they add up as a random walk.
pub fn chain_tolerance(narrow: Dtype, operations: u64, terms: u64) -> f64 {
    let walk = (operations as f64).sqrt();
    (narrow.epsilon() * (1.0 + walk) + wide_sums(terms) * walk).min(MAX_ERROR)
}

/// Returns the error of a sum of `terms` terms in steps of its type: rounding errors are a random
/// walk, hence the square root; eight steps are left for the functions themselves.
fn steps(terms: u64) -> f64 {
    8.0 + 2.0 * (terms as f64).sqrt()
}

/// Returns the error of a sum of `terms` products of narrow elements, accumulated in f32.
fn wide_sums(terms: u64) -> f64 {
    STEPS_OF_A_UNIT * Dtype::F32.epsilon() * steps(terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{
        Attention, Elementwise, ElementwiseOp, Normalize, NormalizeOp, OutputWidth,
        QuantizedProduct,
    };

    /// Returns the bound that all operations formerly had: each term rounded in the type of the
    /// inputs.
    fn former(dtype: Dtype, terms: u64) -> f64 {
        dtype.epsilon() * steps(terms)
    }

    fn total(operation: &Operation) -> f64 {
        ErrorBound::new(operation, None).total()
    }

    #[test]
    fn no_bound_reaches_a_twentieth_or_what_it_was() {
        for k in [1, 2, 64, 1024, 4096, 8192, 1 << 20] {
            for dtype in [Dtype::F64, Dtype::F32, Dtype::Tf32, Dtype::F16, Dtype::Bf16] {
                for stored in [OutputWidth::Wide, OutputWidth::AsInputs] {
                    let found =
                        total(&Operation::Gemm(Gemm { stored, ..Gemm::new(dtype, 64, 64, k) }));
                    assert!(
                        found <= former(dtype, k).min(MAX_ERROR) && found > 0.0,
                        "{dtype} {stored} {k}: {found}"
                    );
                }
            }
            for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16] {
                let attention = Attention {
                    dtype,
                    batch: 1,
                    heads: 1,
                    kv_heads: 1,
                    head_dim: 64,
                    queries: 1,
                    positions: k,
                    capacity: k,
                    causal: false,
                };
                let normalize =
                    Normalize { op: NormalizeOp::LayerNorm, dtype, rows: 1, columns: k };
                let quantized =
                    QuantizedProduct { dtype, weights: Dtype::I4, m: 1, n: 1, k, group: 32 };
                for (operation, terms) in [
                    (Operation::Attention(attention), k + 64),
                    (Operation::Normalize(normalize), k),
                    (Operation::Quantized(quantized), k),
                    (
                        Operation::Elementwise(Elementwise {
                            op: ElementwiseOp::Gelu,
                            dtype,
                            elements: k,
                        }),
                        0,
                    ),
                ] {
                    let found = total(&operation);
                    assert!(
                        found <= former(dtype, terms).min(MAX_ERROR) && found > 0.0,
                        "{operation:?}: {found}"
                    );
                }
            }
        }
    }

    #[test]
    fn bounds_of_products_at_4096_terms() {
        struct Row {
            dtype: Dtype,
            stored: OutputWidth,
            bound: f64,
        }
        let sums = 64.0 * 2.0_f64.powi(-23) * (8.0 + 2.0 * 64.0);
        let as_inputs = OutputWidth::AsInputs;
        for Row { dtype, stored, bound } in [
            Row { dtype: Dtype::F32, stored: as_inputs, bound: 2.0_f64.powi(-23) * 136.0 },
            Row { dtype: Dtype::Tf32, stored: as_inputs, bound: 2.0_f64.powi(-9) + sums },
            Row { dtype: Dtype::F16, stored: as_inputs, bound: 2.0_f64.powi(-10) + sums },
            Row { dtype: Dtype::Bf16, stored: as_inputs, bound: 2.0_f64.powi(-7) + sums },
            Row { dtype: Dtype::Bf16, stored: OutputWidth::Wide, bound: sums },
            Row { dtype: Dtype::Fp8, stored: OutputWidth::Wide, bound: 2.0_f64.powi(-7) + sums },
            Row { dtype: Dtype::Fp8, stored: as_inputs, bound: 2.0_f64.powi(-3) + sums },
            Row { dtype: Dtype::I8, stored: OutputWidth::Wide, bound: 0.0 },
        ] {
            let found = total(&Operation::Gemm(Gemm { stored, ..Gemm::new(dtype, 64, 64, 4096) }));
            assert!((found - bound).abs() < 1e-12, "{dtype} {stored}: {found}, not {bound}");
        }
    }

    #[test]
    fn short_sums_in_f16_have_a_bound_of_their_own() {
        let product = Operation::Gemm(Gemm::new(Dtype::F16, 64, 64, 4096));
        let (wide, short) =
            (ErrorBound::new(&product, None), ErrorBound::new(&product, Some(Dtype::F16)));
        assert!((short.sums - wide.sums - 3.0 / 1024.0).abs() < 1e-12);
        assert!(short.total() < MAX_ERROR);
    }

    #[test]
    fn a_chain_of_roundings_stays_below_a_twentieth() {
        assert!(chain_tolerance(Dtype::Bf16, 12, 256) < MAX_ERROR + 1e-12);
        assert!(chain_tolerance(Dtype::F16, 12, 256) < 0.01);
    }
}
