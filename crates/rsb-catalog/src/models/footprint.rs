//! Memory needs of a model, computed before it is built.

use rsb_model::Dtype;

use super::catalogue::ModelRow;

/// Memory in bytes of Python with PyTorch and transformers loaded, without a model.
const FRAMEWORK: u64 = 1_000_000_000;

/// Number of hidden-size vectors per position that are live at the same time in a layer, for
/// attention and the layer after it.
const VECTORS: u64 = 16;

/// Memory of one pass, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Footprint {
    /// Weights (exact).
    pub weights_bytes: u64,
    /// Keys and values, or the state (exact).
    pub cache_bytes: u64,
    /// Activations between layers and the result (estimate).
    pub activations_bytes: u64,
}

impl Footprint {
    /// Returns the memory of `row` for `batch` sequences of `length` positions in `dtype`.
    pub fn of(row: &ModelRow, dtype: Dtype, batch: u64, length: u64) -> Self {
        let size = bytes_of(dtype);
        // Only weights are integers; activations stay in f32.
        let computed = if size < 2 { bytes_of(Dtype::F32) } else { size };
        let shape = &row.shape;
        let kept = shape.cache.unwrap_or(0) * length + shape.state.unwrap_or(0);
        let between = length * VECTORS * shape.hidden + length * shape.vocabulary.unwrap_or(0);
        Self {
            weights_bytes: row.parameters.saturating_mul(size),
            cache_bytes: batch.saturating_mul(kept).saturating_mul(computed),
            activations_bytes: batch.saturating_mul(between).saturating_mul(computed),
        }
    }

    /// Returns the total in bytes.
    pub const fn total_bytes(self) -> u64 {
        self.weights_bytes.saturating_add(self.cache_bytes).saturating_add(self.activations_bytes)
    }

    /// Returns the host memory in bytes needed to measure the model on the CPU: the model in the
    /// precision of the reference, the model in `dtype` (for runtimes that keep a copy), and
    /// Python.
    pub fn on_host(row: &ModelRow, dtype: Dtype, batch: u64, length: u64) -> u64 {
        let reference = if dtype == Dtype::F32 { Dtype::F64 } else { Dtype::F32 };
        let reference = Self::of(row, reference, batch, length).total_bytes();
        reference
            .saturating_add(Self::of(row, dtype, batch, length).total_bytes())
            .saturating_add(FRAMEWORK)
    }
}

/// Returns the size of an element in bytes; half a byte counts as one.
pub const fn bytes_of(dtype: Dtype) -> u64 {
    match dtype {
        Dtype::F64 => 8,
        Dtype::F32 | Dtype::Tf32 => 4,
        Dtype::F16 | Dtype::Bf16 => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::find;

    #[test]
    fn a_model_s_memory_is_that_of_its_weights_and_what_it_keeps() {
        let llama = find("llama-2-7b", &[]).unwrap();
        let needed = Footprint::of(llama, Dtype::F16, 1, 4096);
        assert_eq!(needed.weights_bytes, 13_476_831_232);
        // 32 layers, keys and values, width 4096: half a megabyte per position.
        assert_eq!(needed.cache_bytes, 2 * 32 * 4096 * 2 * 4096);
        let twice = Footprint::of(llama, Dtype::F16, 2, 4096);
        assert_eq!(
            (twice.weights_bytes, twice.cache_bytes),
            (needed.weights_bytes, 2 * needed.cache_bytes)
        );
        let [whole, single] =
            [Dtype::I8, Dtype::F32].map(|dtype| Footprint::of(llama, dtype, 1, 4096));
        assert_eq!(
            (whole.weights_bytes, whole.cache_bytes),
            (single.weights_bytes / 4, single.cache_bytes)
        );
        assert_eq!(whole.activations_bytes, single.activations_bytes);
        let mamba = find("mamba-130m", &[]).unwrap();
        let [short, long] = [16, 4096].map(|length| Footprint::of(mamba, Dtype::F32, 1, length));
        assert_eq!(
            short.cache_bytes, long.cache_bytes,
            "the state size must not depend on the input length"
        );
        assert!(
            Footprint::on_host(llama, Dtype::F32, 1, 128) > 80_000_000_000,
            "the host needs at least twelve bytes per weight"
        );
    }
}
