//! Table of all kernels: name, data types and kinds of parameters. Tests compare the launching code
//! and the compiled sources with it.
//!
//! The symbol of a kernel is its stem, `_` and the data type: `rsb_triad_f32`; the symbol of a
//! kernel without data types is only the stem. Every parameter has 8 bytes: a device address, an
//! unsigned integer, or an f64.
//!
//! The sources are `kernels/*.cu`, preceded by `kernels/prelude.h`; the fake GPU has a counterpart
//! of each for tests.

mod parameters;

use rsb_model::Dtype;
use rsb_model::architecture::Engine;

use self::parameters::{
    ATTENTION, CHASE, CONVOLUTION, COPY, GATHER, GEMM, GEMM_TYPES, LAYER_NORM, MAX, ONE_INPUT,
    PEAK, QUANTIZED, READ, READ_WRITE, REARRANGE, RMS_NORM, ROTATE, SOFTMAX, SUM, TRIAD,
    TWO_INPUTS, WRITE,
};

/// Kind of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// Address of data that is read.
    In,
    /// Address of data that is written.
    Out,
    /// Address of data that is read and written.
    InOut,
    /// Address of workspace in which the blocks of one launch store partial results.
    Scratch,
    /// An unsigned 64-bit integer.
    Count,
    /// An f64.
    Number,
}

/// A source file, compiled as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Module {
    /// Streams, pointer chase, cache flush, the empty kernel.
    Memory,
    /// Element-wise functions.
    Elementwise,
    /// Reductions to one element.
    Reduce,
    /// Normalizations along rows.
    Normalize,
    /// Attention of queries to keys and values.
    Attention,
    /// 2-D convolution.
    Convolution,
    /// Matrix products.
    Gemm,
    /// Products with low-bit weights.
    Quantized,
    /// Peak arithmetic rates.
    Peak,
}

macro_rules! source {
    ($($file:literal),*) => {
        concat!(include_str!("../../kernels/prelude.h"), $(include_str!(concat!("../../kernels/", $file))),*)
    };
}

/// Source of [`rsb_device::compiler::VECTOR_ADD`]: compiled only to measure the compile time, never
/// launched.
pub(super) const VECTOR_ADD_SOURCE: &str = source!("vector_add.cu");

impl Module {
    /// All modules.
    pub const ALL: [Self; 9] = [
        Self::Memory,
        Self::Elementwise,
        Self::Reduce,
        Self::Normalize,
        Self::Attention,
        Self::Convolution,
        Self::Gemm,
        Self::Quantized,
        Self::Peak,
    ];

    /// Returns the name of the file.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Memory => "memory.cu",
            Self::Elementwise => "elementwise.cu",
            Self::Reduce => "reduce.cu",
            Self::Normalize => "normalize.cu",
            Self::Attention => "attention.cu",
            Self::Convolution => "convolution.cu",
            Self::Gemm => "gemm.cu",
            Self::Quantized => "quantized.cu",
            Self::Peak => "peak.cu",
        }
    }

    /// Returns the file name without its extension, as in [`rsb_device::compiler::SOURCES`].
    pub fn stem(self) -> &'static str {
        self.file().trim_end_matches(".cu")
    }

    /// Returns the whole source, with the prelude.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Memory => source!("memory.cu"),
            Self::Elementwise => source!("elementwise.cu"),
            Self::Reduce => source!("reduce.cu"),
            Self::Normalize => source!("normalize.cu"),
            Self::Attention => source!("attention.cu"),
            Self::Convolution => source!("convolution.cu"),
            Self::Gemm => source!("gemm.cu"),
            Self::Quantized => source!("quantized.cu"),
            Self::Peak => source!("peak.cu", "matrix.cu", "matrix_units.cu"),
        }
    }
}

/// A kernel, for all its data types.
#[derive(Debug, Clone, Copy)]
pub struct KernelInfo {
    /// Symbol without the data type.
    pub stem: &'static str,
    /// Module that contains the kernel.
    pub module: Module,
    /// Data types of the kernel; empty if it works on bytes.
    pub dtypes: &'static [Dtype],
    /// Parameters of the kernel, in order.
    pub parameters: &'static [Parameter],
    /// Largest number of threads in a block. If less than [`ANY_BLOCK`], blocks must have exactly
    /// this many.
    pub block: u32,
    /// Engine that must support the data type: dense or sparse matrix instructions, or only vector
    /// instructions.
    pub unit: Engine,
}

/// [`KernelInfo::block`] of kernels that support blocks of any size up to this.
pub const ANY_BLOCK: u32 = 1024;

/// Threads in a block of kernels that use shared memory.
pub const SHARING_BLOCK: u32 = 256;

impl KernelInfo {
    /// Returns the symbol of the kernel for `dtype`.
    pub fn symbol(&self, dtype: Option<Dtype>) -> String {
        match dtype {
            Some(dtype) if !self.dtypes.is_empty() => format!("{}_{dtype}", self.stem),
            _ => self.stem.to_owned(),
        }
    }

    /// Returns whether the kernel exists for `dtype` on `arch`.
    pub fn exists(&self, dtype: Dtype, arch: &str) -> bool {
        self.dtypes.contains(&dtype)
            && match self.unit {
                Engine::Vector => true,
                Engine::Matrix => super::matrix_dtypes(arch).contains(&dtype),
                Engine::Sparse => super::sparse_dtypes(arch).contains(&dtype),
            }
    }

    /// Returns all symbols of the kernel on `arch`.
    pub fn symbols(&self, arch: &str) -> Vec<String> {
        if self.dtypes.is_empty() {
            return vec![self.stem.to_owned()];
        }
        let here = self.dtypes.iter().filter(|dtype| self.exists(**dtype, arch));
        here.map(|dtype| self.symbol(Some(*dtype))).collect()
    }
}

/// Returns the kernel with this stem.
pub fn find(stem: &str) -> Option<&'static KernelInfo> {
    KERNELS.iter().find(|kernel| kernel.stem == stem)
}

const FLOATS: &[Dtype] = &[Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16];
const NUMBERS: &[Dtype] = &[Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8, Dtype::I4];

/// Types that are computed in f32.
const IN_F32: &[Dtype] = &[Dtype::F32, Dtype::F16, Dtype::Bf16];

use Parameter::{Count, InOut};

const fn kernel(
    stem: &'static str,
    module: Module,
    dtypes: &'static [Dtype],
    parameters: &'static [Parameter],
) -> KernelInfo {
    KernelInfo { stem, module, dtypes, parameters, block: SHARING_BLOCK, unit: Engine::Vector }
}

const fn any_block(kernel: KernelInfo) -> KernelInfo {
    KernelInfo { block: ANY_BLOCK, ..kernel }
}

/// All kernels.
pub const KERNELS: &[KernelInfo] = &[
    kernel("rsb_read", Module::Memory, &[], READ),
    kernel("rsb_read_nt", Module::Memory, &[], READ),
    any_block(kernel("rsb_copy", Module::Memory, &[], COPY)),
    any_block(kernel("rsb_copy_nt", Module::Memory, &[], COPY)),
    any_block(kernel("rsb_write", Module::Memory, FLOATS, WRITE)),
    any_block(kernel("rsb_write_nt", Module::Memory, FLOATS, WRITE)),
    any_block(kernel("rsb_read_write", Module::Memory, FLOATS, READ_WRITE)),
    any_block(kernel("rsb_read_write_nt", Module::Memory, FLOATS, READ_WRITE)),
    any_block(kernel("rsb_triad", Module::Memory, FLOATS, TRIAD)),
    any_block(kernel("rsb_triad_nt", Module::Memory, FLOATS, TRIAD)),
    any_block(kernel("rsb_rearrange", Module::Memory, FLOATS, REARRANGE)),
    any_block(kernel("rsb_gather", Module::Memory, FLOATS, GATHER)),
    any_block(kernel("rsb_rotate", Module::Memory, FLOATS, ROTATE)),
    KernelInfo { block: 1, ..kernel("rsb_pointer_chase", Module::Memory, &[], CHASE) },
    KernelInfo { block: 1, ..kernel("rsb_pointer_chase_scalar", Module::Memory, &[], CHASE) },
    any_block(kernel("rsb_flush", Module::Memory, &[], &[InOut, Count])),
    any_block(kernel("rsb_empty", Module::Memory, &[], &[])),
    any_block(kernel("rsb_add", Module::Elementwise, NUMBERS, TWO_INPUTS)),
    any_block(kernel("rsb_multiply", Module::Elementwise, FLOATS, TWO_INPUTS)),
    any_block(kernel("rsb_relu", Module::Elementwise, NUMBERS, ONE_INPUT)),
    any_block(kernel("rsb_gelu", Module::Elementwise, FLOATS, ONE_INPUT)),
    any_block(kernel("rsb_sigmoid", Module::Elementwise, FLOATS, ONE_INPUT)),
    kernel("rsb_sum", Module::Reduce, NUMBERS, SUM),
    kernel("rsb_max", Module::Reduce, NUMBERS, MAX),
    kernel("rsb_argmax", Module::Reduce, NUMBERS, MAX),
    kernel("rsb_softmax", Module::Normalize, FLOATS, SOFTMAX),
    kernel("rsb_layer_norm", Module::Normalize, FLOATS, LAYER_NORM),
    kernel("rsb_rms_norm", Module::Normalize, FLOATS, RMS_NORM),
    kernel("rsb_attention", Module::Attention, FLOATS, ATTENTION),
    kernel("rsb_attention_row", Module::Attention, FLOATS, ATTENTION),
    kernel("rsb_convolution", Module::Convolution, FLOATS, CONVOLUTION),
    kernel("rsb_gemm_naive", Module::Gemm, GEMM_TYPES, GEMM),
    kernel("rsb_gemm_tiled", Module::Gemm, GEMM_TYPES, GEMM),
    kernel("rsb_gemm_narrow", Module::Gemm, &[Dtype::Bf16], GEMM),
    kernel("rsb_quantized_rows", Module::Quantized, IN_F32, QUANTIZED),
    kernel("rsb_quantized_tiled", Module::Quantized, IN_F32, QUANTIZED),
    kernel("rsb_peak_vector", Module::Peak, &[Dtype::F64, Dtype::F32, Dtype::F16], PEAK),
    KernelInfo {
        unit: Engine::Matrix,
        ..kernel("rsb_peak_matrix", Module::Peak, &Dtype::ALL, PEAK)
    },
    KernelInfo {
        unit: Engine::Sparse,
        ..kernel(
            "rsb_peak_sparse",
            Module::Peak,
            &[Dtype::Tf32, Dtype::F16, Dtype::Bf16, Dtype::Fp8, Dtype::Bf8, Dtype::I8, Dtype::I4],
            PEAK,
        )
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_stands_in_its_source_with_as_many_parameters() {
        for kernel in KERNELS {
            let source = kernel.module.source();
            let names = match kernel.dtypes {
                [] => vec![kernel.stem.to_owned()],
                dtypes if kernel.module == Module::Peak => {
                    dtypes.iter().map(|&dtype| kernel.symbol(Some(dtype))).collect()
                }
                _ => vec![format!("{}_##NAME", kernel.stem)],
            };
            for name in names {
                let at = source
                    .find(&format!("{name}("))
                    .unwrap_or_else(|| panic!("{name} is not in its source"));
                let list = source[at + name.len() + 1..].split(')').next().unwrap();
                let parameters =
                    list.split(',').filter(|parameter| !parameter.trim().is_empty()).count();
                assert_eq!(parameters, kernel.parameters.len(), "{name}");
            }
        }
    }

    #[test]
    fn no_kernel_of_a_source_is_missing_from_the_table() {
        let mut known = 0;
        for kernel in KERNELS {
            known += match kernel.module {
                Module::Peak => kernel.dtypes.len(),
                // Element-wise kernels of integers have a separate macro.
                Module::Elementwise if kernel.dtypes == NUMBERS => 2,
                _ => 1,
            };
        }
        let in_sources: usize = Module::ALL
            .iter()
            .map(|module| {
                let own = module.source().split("u64 thread_index()").nth(1).unwrap_or_default();
                own.matches("RSB_KERNEL(").count()
            })
            .sum();
        assert_eq!(known, in_sources);
    }

    #[test]
    fn symbols_end_in_their_type() {
        assert_eq!(find("rsb_triad").unwrap().symbol(Some(Dtype::Bf16)), "rsb_triad_bf16");
        assert_eq!(find("rsb_copy").unwrap().symbol(Some(Dtype::F32)), "rsb_copy");
        let matrix = find("rsb_peak_matrix").unwrap();
        assert!(matrix.symbols("gfx1030").is_empty());
        assert!(matrix.symbols("gfx90a").contains(&"rsb_peak_matrix_f64".to_owned()));
        assert!(!matrix.symbols("gfx1100").contains(&"rsb_peak_matrix_f64".to_owned()));
        for (symbol, arch) in
            [("bf8", "gfx942"), ("tf32", "gfx942"), ("i4", "gfx1100"), ("fp4", "gfx950")]
        {
            assert!(
                matrix.symbols(arch).contains(&format!("rsb_peak_matrix_{symbol}")),
                "{symbol} {arch}"
            );
        }
    }
}
