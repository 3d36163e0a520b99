//! Every kernel: its name, its parameters and what it computes. The launching code is checked
//! against this table, and so is what the compiler makes of the sources.
//!
//! The symbol of a kernel is its stem, `_` and the data type: `rsb_triad_f32`; kernels without data
//! types have the stem alone. Every parameter takes 8 bytes: an address of the device, a whole
//! number without sign, or a number in f64.
//!
//! Their sources are `kernels/*.cu` behind `kernels/prelude.h`; the fake GPU has a twin of each for
//! tests.

mod parameters;

use rsb_model::Dtype;
use rsb_model::architecture::Engine;

use self::parameters::{
    ARGMAX, ATTENTION, CONVOLUTION, COPY, GATHER, GEMM, GEMM_NARROW, GEMM_TYPES, LAYER_NORM, MAX,
    ONE_INPUT, PEAK, QUANTIZED, READ, READ_WRITE, REARRANGE, RMS_NORM, ROTATE, SOFTMAX, SUM, TRIAD,
    TWO_INPUTS, WRITE,
};

/// What a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// The address of what is read, and the type of an element there.
    In(&'static str, Element),
    /// The address of what is written.
    Out(&'static str, Element),
    /// The address of what is read and written.
    InOut(&'static str, Element),
    /// The address of room for the blocks of one launch to leave partial results in.
    Scratch(&'static str, Element),
    /// A whole number without sign, 64 bits.
    Count(&'static str),
    /// A number in f64.
    Number(&'static str),
}

/// Types of elements behind an address, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// The data type in the kernel's name.
    T,
    /// f64 where the data type is f64, else f32.
    Result,
    /// What a product is stored as: f32 for bf16, a whole number of 32 bits with sign for i8, else
    /// the data type.
    Product,
    /// A half, whatever the data type.
    F16,
    /// A byte.
    Byte,
    /// A whole number without sign, 64 bits.
    U64,
    /// A whole number without sign, 32 bits.
    U32,
    /// 64 bits.
    F64,
}

/// A file of sources; it is compiled as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Module {
    /// Streams, pointer chase, flush, the empty kernel.
    Memory,
    /// Element by element.
    Elementwise,
    /// All to one.
    Reduce,
    /// Along rows.
    Normalize,
    /// Queries against keys and values.
    Attention,
    /// 2-D convolution.
    Convolution,
    /// Matrix products.
    Gemm,
    /// Products with weights of few bits.
    Quantized,
    /// Peak rates of arithmetic.
    Peak,
}

macro_rules! source {
    ($($file:literal),*) => {
        concat!(include_str!("../../kernels/prelude.h"), $(include_str!(concat!("../../kernels/", $file))),*)
    };
}

/// The source of [`rsb_device::compiler::VECTOR_ADD`]: compiled to see how long that takes, and run
/// by nobody.
pub(super) const VECTOR_ADD_SOURCE: &str = source!("vector_add.cu");

impl Module {
    /// Every one.
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

    /// The file's name.
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

    /// The file's name without its ending, as [`rsb_device::compiler::SOURCES`] has it.
    pub fn stem(self) -> &'static str {
        self.file().trim_end_matches(".cu")
    }

    /// The whole source, with the prelude.
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

/// One kernel, for all its data types.
#[derive(Debug, Clone, Copy)]
pub struct KernelInfo {
    /// The symbol without the data type.
    pub stem: &'static str,
    /// Where it is.
    pub module: Module,
    /// Its data types; none when it works on bytes.
    pub dtypes: &'static [Dtype],
    /// Its parameters, in order.
    pub parameters: &'static [Parameter],
    /// Most threads in a block. Below [`ANY_BLOCK`] a block has exactly as many.
    pub block: u32,
    /// What the architecture must have for the data type: dense or sparse matrix instructions, or
    /// nothing special.
    pub unit: Engine,
    /// What it computes.
    pub computes: &'static str,
}

/// [`KernelInfo::block`] of kernels that take blocks of any size up to it.
pub const ANY_BLOCK: u32 = 1024;

/// Threads of a block where they share memory.
pub const SHARING_BLOCK: u32 = 256;

impl KernelInfo {
    /// The symbol for `dtype`.
    pub fn symbol(&self, dtype: Option<Dtype>) -> String {
        match dtype {
            Some(dtype) if !self.dtypes.is_empty() => format!("{}_{dtype}", self.stem),
            _ => self.stem.to_owned(),
        }
    }

    /// Whether it exists for `dtype` on `arch`.
    pub fn exists(&self, dtype: Dtype, arch: &str) -> bool {
        self.dtypes.contains(&dtype)
            && match self.unit {
                Engine::Vector => true,
                Engine::Matrix => super::matrix_dtypes(arch).contains(&dtype),
                Engine::Sparse => super::sparse_dtypes(arch).contains(&dtype),
            }
    }

    /// Every symbol of it on `arch`.
    pub fn symbols(&self, arch: &str) -> Vec<String> {
        if self.dtypes.is_empty() {
            return vec![self.stem.to_owned()];
        }
        let here = self.dtypes.iter().filter(|dtype| self.exists(**dtype, arch));
        here.map(|dtype| self.symbol(Some(*dtype))).collect()
    }
}

/// The kernel with this stem.
pub fn find(stem: &str) -> Option<&'static KernelInfo> {
    KERNELS.iter().find(|kernel| kernel.stem == stem)
}

const FLOATS: &[Dtype] = &[Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16];
const NUMBERS: &[Dtype] = &[Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8, Dtype::I4];

/// Those that are computed in f32.
const IN_F32: &[Dtype] = &[Dtype::F32, Dtype::F16, Dtype::Bf16];

use Element::{Byte, U64};
use Parameter::{Count, In, InOut};

const fn kernel(
    stem: &'static str,
    module: Module,
    dtypes: &'static [Dtype],
    parameters: &'static [Parameter],
    computes: &'static str,
) -> KernelInfo {
    KernelInfo {
        stem,
        module,
        dtypes,
        parameters,
        block: SHARING_BLOCK,
        unit: Engine::Vector,
        computes,
    }
}

const fn any_block(kernel: KernelInfo) -> KernelInfo {
    KernelInfo { block: ANY_BLOCK, ..kernel }
}

/// The table.
pub const KERNELS: &[KernelInfo] = &[
    kernel(
        "rsb_read",
        Module::Memory,
        &[],
        READ,
        "result = exclusive-or of the 64-bit words of a, the last padded with zeros",
    ),
    kernel("rsb_read_nt", Module::Memory, &[], READ, "as rsb_read, with loads around the caches"),
    any_block(kernel("rsb_copy", Module::Memory, &[], COPY, "b[i] = a[i], for all bytes")),
    any_block(kernel("rsb_copy_nt", Module::Memory, &[], COPY, "as rsb_copy, around the caches")),
    any_block(kernel("rsb_write", Module::Memory, FLOATS, WRITE, "a[i] = s")),
    any_block(kernel(
        "rsb_write_nt",
        Module::Memory,
        FLOATS,
        WRITE,
        "as rsb_write, around the caches",
    )),
    any_block(kernel(
        "rsb_read_write",
        Module::Memory,
        FLOATS,
        READ_WRITE,
        "a[i] = s a[i], in f32 (f64 in f64)",
    )),
    any_block(kernel(
        "rsb_read_write_nt",
        Module::Memory,
        FLOATS,
        READ_WRITE,
        "as rsb_read_write, around the caches",
    )),
    any_block(kernel(
        "rsb_triad",
        Module::Memory,
        FLOATS,
        TRIAD,
        "c[i] = a[i] + s b[i], in f32 (f64 in f64)",
    )),
    any_block(kernel(
        "rsb_triad_nt",
        Module::Memory,
        FLOATS,
        TRIAD,
        "as rsb_triad, around the caches",
    )),
    any_block(kernel(
        "rsb_rearrange",
        Module::Memory,
        FLOATS,
        REARRANGE,
        "y[b][j][position + i] = x[b][i][j], each a row of width elements",
    )),
    any_block(kernel(
        "rsb_gather",
        Module::Memory,
        FLOATS,
        GATHER,
        "y[i] = x[index[i]], each a row of width elements",
    )),
    any_block(kernel(
        "rsb_rotate",
        Module::Memory,
        FLOATS,
        ROTATE,
        "as rsb_rearrange, pairs of neighbors multiplied by those of angles[i] as complex numbers",
    )),
    KernelInfo {
        block: 1,
        ..kernel(
            "rsb_pointer_chase",
            Module::Memory,
            &[],
            &[In("nodes", Byte), InOut("position", U64), Count("accesses")],
            "accesses times: position = the word at nodes + position. One block of one thread",
        )
    },
    KernelInfo {
        block: 1,
        ..kernel(
            "rsb_pointer_chase_scalar",
            Module::Memory,
            &[],
            &[In("nodes", Byte), InOut("position", U64), Count("accesses")],
            "as rsb_pointer_chase, on AMD through the scalar data cache",
        )
    },
    any_block(kernel(
        "rsb_flush",
        Module::Memory,
        &[],
        &[InOut("words", U64), Count("n")],
        "words[i] += 1: evicts everything else from the caches",
    )),
    any_block(kernel("rsb_empty", Module::Memory, &[], &[], "nothing")),
    any_block(kernel("rsb_add", Module::Elementwise, NUMBERS, TWO_INPUTS, "y[i] = x[i] + z[i]")),
    any_block(kernel("rsb_multiply", Module::Elementwise, FLOATS, TWO_INPUTS, "y[i] = x[i] z[i]")),
    any_block(kernel("rsb_relu", Module::Elementwise, NUMBERS, ONE_INPUT, "y[i] = max(x[i], 0)")),
    any_block(kernel(
        "rsb_gelu",
        Module::Elementwise,
        FLOATS,
        ONE_INPUT,
        "y[i] = GELU of x[i] in its tanh form",
    )),
    any_block(kernel(
        "rsb_sigmoid",
        Module::Elementwise,
        FLOATS,
        ONE_INPUT,
        "y[i] = 1 / (1 + exp(-x[i]))",
    )),
    kernel(
        "rsb_sum",
        Module::Reduce,
        NUMBERS,
        SUM,
        "result = scale times the sum of x; scale is 1/n for the mean",
    ),
    kernel("rsb_max", Module::Reduce, NUMBERS, MAX, "result = the largest of x"),
    kernel(
        "rsb_argmax",
        Module::Reduce,
        NUMBERS,
        ARGMAX,
        "result = position of the largest of x, the first of equal ones",
    ),
    kernel("rsb_softmax", Module::Normalize, FLOATS, SOFTMAX, "y = softmax of each row of x"),
    kernel(
        "rsb_layer_norm",
        Module::Normalize,
        FLOATS,
        LAYER_NORM,
        "y = (x - mean) / sqrt(variance + epsilon) gain + bias, along each row",
    ),
    kernel(
        "rsb_rms_norm",
        Module::Normalize,
        FLOATS,
        RMS_NORM,
        "y = x / sqrt(mean of squares + epsilon) gain, along each row",
    ),
    kernel(
        "rsb_attention",
        Module::Attention,
        FLOATS,
        ATTENTION,
        "y = softmax(scale q k^T) v for each head, of the positions that each query looks at",
    ),
    kernel(
        "rsb_attention_row",
        Module::Attention,
        FLOATS,
        ATTENTION,
        "as rsb_attention, a row of y in a block, whose threads share the positions",
    ),
    kernel(
        "rsb_convolution",
        Module::Convolution,
        FLOATS,
        CONVOLUTION,
        "y = 2-D convolution of x with w, NCHW",
    ),
    kernel(
        "rsb_gemm_naive",
        Module::Gemm,
        GEMM_TYPES,
        GEMM,
        "c = alpha op(a) op(b) + beta c, row-major, for each of batch matrices that follow one \
         another",
    ),
    kernel(
        "rsb_gemm_tiled",
        Module::Gemm,
        GEMM_TYPES,
        GEMM,
        "as rsb_gemm_naive, through shared memory",
    ),
    kernel(
        "rsb_gemm_narrow",
        Module::Gemm,
        &[Dtype::Bf16],
        GEMM_NARROW,
        "as rsb_gemm_tiled, c in the type of a and b",
    ),
    kernel(
        "rsb_quantized_rows",
        Module::Quantized,
        IN_F32,
        QUANTIZED,
        "c = a w^T, each weight of 4 or 8 bits times the scale of its group, for a few rows of a",
    ),
    kernel(
        "rsb_quantized_tiled",
        Module::Quantized,
        IN_F32,
        QUANTIZED,
        "as rsb_quantized_rows, through shared memory",
    ),
    kernel(
        "rsb_peak_vector",
        Module::Peak,
        &[Dtype::F64, Dtype::F32, Dtype::F16],
        PEAK,
        "result = 1 after pieces x 24576 operations in vector registers",
    ),
    KernelInfo {
        unit: Engine::Matrix,
        ..kernel(
            "rsb_peak_matrix",
            Module::Peak,
            &Dtype::ALL,
            PEAK,
            "result = 1 after pieces x 196608 operations on the matrix units; the result of tf32, \
             fp8, bf8, fp6, fp4 and \
             i4 is f32",
        )
    },
    KernelInfo {
        unit: Engine::Sparse,
        ..kernel(
            "rsb_peak_sparse",
            Module::Peak,
            &[Dtype::Tf32, Dtype::F16, Dtype::Bf16, Dtype::Fp8, Dtype::Bf8, Dtype::I8, Dtype::I4],
            PEAK,
            "as rsb_peak_matrix, two of every four elements of A being zero and counted",
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
                // Element by element, whole numbers have a macro of their own.
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
