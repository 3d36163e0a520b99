//! Runtime compilers, which compile kernels for GPUs that need not be present.
//!
//! A compiler may end the process when given an unknown architecture. Callers compile in a worker
//! process and check [`crate::child::compiles`] first.

use std::time::Duration;

use rsb_model::architecture::ToolkitRelease;
use rsb_model::{BackendId, DeviceType, Reason};

use crate::error::DeviceError;
use crate::operation::{Operation, Options, named};

/// Smallest source. No operation uses it; its compile time is the fixed cost of a compiler.
pub const VECTOR_ADD: &str = "vector_add";

/// Sources of this program's kernels that all runtime compilers accept.
pub const SOURCES: &[&str] = &[
    VECTOR_ADD,
    "memory",
    "elementwise",
    "reduce",
    "normalize",
    "attention",
    "convolution",
    "gemm",
    "quantized",
    "peak",
];

/// Backends with a runtime compiler, in the order of [`BackendId::ALL`].
pub const BACKENDS: &[BackendId] = {
    const FIRST: &[BackendId] = &COMPILING.0;
    FIRST.split_at(COMPILING.1).0
};

/// All backends, those with a compiler first, and the number of these.
const COMPILING: ([BackendId; BackendId::ALL.len()], usize) = {
    let (mut backends, mut count, mut at) = (BackendId::ALL, 0, 0);
    while at < BackendId::ALL.len() {
        if BackendId::ALL[at].compiles().is_some() {
            backends[count] = BackendId::ALL[at];
            count += 1;
        }
        at += 1;
    }
    (backends, count)
};

/// Returns the backend whose compiler targets `arch`: NVIDIA's for `sm_90`, AMD's for `gfx90a`.
/// Other names go to AMD's compiler, which rejects them.
pub fn backend_of(arch: &str) -> BackendId {
    let claims =
        |backend: &BackendId| backend.compiles().is_some_and(|prefix| arch.starts_with(prefix));
    BackendId::ALL.into_iter().find(claims).unwrap_or(BackendId::Rocm)
}

rsb_model::named_enum! {
    /// Optimization level requested from a compiler.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Level {
        /// No optimization.
        O0 = "O0",
        /// Few optimizations.
        O1 = "O1",
        /// The usual optimizations.
        O2 = "O2",
        /// All optimizations; the default of runtime compilers.
        O3 = "O3",
    }
}

named!(Level, "optimization level");

rsb_model::named_enum! {
    /// Whether the code is compiled or read from the kernel cache.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Compilation {
        /// Not cached: the source is compiled.
        Cold = "cold",
        /// Cached: the code is read from this program's kernel cache on disk, and checked.
        Warm = "warm",
    }
}

named!(Compilation, "compilation state");

/// One compilation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// One of [`SOURCES`].
    pub source: String,
    /// Target architecture, such as `gfx90a`.
    pub arch: String,
    /// Optimization level.
    pub level: Level,
    /// Whether to compile or to read from the cache.
    pub compilation: Compilation,
}

impl Job {
    /// Creates a job that always compiles, even if the code is cached.
    pub fn cold(source: impl Into<String>, arch: impl Into<String>, level: Level) -> Self {
        Self { source: source.into(), arch: arch.into(), level, compilation: Compilation::Cold }
    }
}

/// Result of a compilation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeObject {
    /// The code.
    pub bytes: Vec<u8>,
    /// Target recorded in the code, if it can be read.
    pub target: Option<String>,
    /// Time from passing the source to the compiler, or from querying the cache, to having the
    /// code.
    pub time: Duration,
}

/// Resources that a kernel needs, as reported by the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelNeeds {
    /// Name of the kernel.
    pub symbol: String,
    /// Vector registers per thread.
    pub registers: u32,
    /// Shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// Threads in a wavefront.
    pub wavefront: u32,
}

/// The kernel that implements an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelChoice {
    /// Source that contains it, one of [`SOURCES`].
    pub source: String,
    /// Name of the kernel.
    pub symbol: String,
    /// Threads in a block.
    pub block_size: u32,
}

/// A loaded runtime compiler.
pub trait KernelCompiler {
    /// Returns the name of the library: `hiprtc` or `nvrtc`.
    fn name(&self) -> &'static str;

    /// Returns the ROCm or CUDA release of the compiler, or `None` if it does not report one.
    fn release(&self) -> Option<ToolkitRelease>;

    /// Returns the device type to record with compile times: a CPU, or simulated for a fake GPU.
    fn device_type(&self) -> DeviceType;

    /// Compiles a source, or reads its code from the cache.
    ///
    /// # Errors
    /// If the source is not known or the compiler rejects it.
    fn compile(&self, job: &Job) -> Result<CodeObject, Reason>;

    /// Returns the kernel that would run `operation` on a GPU of architecture `arch`.
    ///
    /// # Errors
    /// If there is no such kernel, or it does not support these options.
    fn choose(
        &self,
        operation: &Operation,
        options: &Options,
        arch: &str,
    ) -> Result<KernelChoice, DeviceError>;

    /// Returns the resources that the kernels in `code` need, or none if the compiler did not
    /// record them.
    fn needs(&self, code: &CodeObject) -> Vec<KernelNeeds>;
}

/// Returns the error for a backend without a runtime compiler, or that this build lacks.
pub(crate) fn no_compiler(backend: BackendId) -> Reason {
    Reason::new(
        format!("compiler of {backend}"),
        "this build does not include this backend",
        "build with the feature of that backend, such as --features rocm",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_compile_are_listed() {
        let compiling: Vec<_> =
            BackendId::ALL.into_iter().filter(|backend| backend.compiles().is_some()).collect();
        assert!(
            compiling == BACKENDS
                && compiling.contains(&BackendId::Rocm)
                && !compiling.contains(&BackendId::Cpu)
        );
    }

    #[test]
    fn an_architecture_says_whose_compiler_is_asked() {
        for (arch, backend) in [
            ("sm_90", BackendId::Cuda),
            ("gfx90a", BackendId::Rocm),
            ("gfx1100", BackendId::Rocm),
            ("x", BackendId::Rocm),
        ] {
            assert_eq!(backend_of(arch), backend, "{arch}");
        }
    }
}
