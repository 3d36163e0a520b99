//! Runtime compilers: kernels made into code for GPUs that need not be here.
//!
//! A compiler may end the process over an architecture that it does not know. Who compiles does so
//! in a worker, and asks [`crate::child::compiles`] before.

use std::time::Duration;

use rsb_model::architecture::ToolkitRelease;
use rsb_model::{BackendId, DeviceType, Reason};

use crate::error::DeviceError;
use crate::operation::{Operation, Options, named};

/// The smallest source, which no operation needs: it shows what a compiler takes before it has
/// anything to do.
pub const VECTOR_ADD: &str = "vector_add";

/// The sources of this program's kernels that every compiler here takes.
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

/// The backends that have a runtime compiler, in the order of the table of backends.
pub const BACKENDS: &[BackendId] = {
    const FIRST: &[BackendId] = &COMPILING.0;
    FIRST.split_at(COMPILING.1).0
};

/// The backends with those first that have a compiler, and how many these are.
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

/// The backend whose compiler makes code for `arch`: `sm_90` is NVIDIA's, `gfx90a` AMD's. AMD's is
/// asked about what no backend claims, and says that it does not know it.
pub fn backend_of(arch: &str) -> BackendId {
    let claims =
        |backend: &BackendId| backend.compiles().is_some_and(|prefix| arch.starts_with(prefix));
    BackendId::ALL.into_iter().find(claims).unwrap_or(BackendId::Rocm)
}

/// How much a compiler is asked to optimize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Not at all.
    O0,
    /// A little.
    O1,
    /// What usually pays.
    O2,
    /// All; what runtime compilers do unasked.
    O3,
}

named!(Level, "level of optimization", O0 = "O0", O1 = "O1", O2 = "O2", O3 = "O3");

/// What is there of a compilation already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compilation {
    /// Nothing: it is compiled.
    Cold,
    /// The code, in this program's cache of kernels on disk: it is read, and checked.
    Warm,
}

named!(Compilation, "state of a compilation", Cold = "cold", Warm = "warm");

/// One compilation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// One of [`SOURCES`].
    pub source: String,
    /// What to compile for, such as `gfx90a`.
    pub arch: String,
    /// How much to optimize.
    pub level: Level,
    /// Whether it was made before.
    pub compilation: Compilation,
}

impl Job {
    /// From nothing, whatever is in a cache.
    pub fn cold(source: impl Into<String>, arch: impl Into<String>, level: Level) -> Self {
        Self { source: source.into(), arch: arch.into(), level, compilation: Compilation::Cold }
    }
}

/// What a compilation gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeObject {
    /// The code.
    pub bytes: Vec<u8>,
    /// What it says it is for, when that can be read from it.
    pub target: Option<String>,
    /// From handing the source over to the code, or from asking the cache for it.
    pub time: Duration,
}

/// What a compiler says that one of its kernels needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelNeeds {
    /// Its name.
    pub symbol: String,
    /// Vector registers of a thread.
    pub registers: u32,
    /// Shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Threads in a wave.
    pub wavefront: u32,
}

/// Which kernel does an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelChoice {
    /// The one of [`SOURCES`] that has it.
    pub source: String,
    /// Its name.
    pub symbol: String,
    /// Threads in a block.
    pub block_size: u32,
}

/// A runtime compiler, loaded.
pub trait KernelCompiler {
    /// The library: `hiprtc` or `nvrtc`.
    fn name(&self) -> &'static str;

    /// The ROCm or CUDA that it is of; nothing where it does not tell.
    fn release(&self) -> Option<ToolkitRelease>;

    /// What its times are: of a CPU, or simulated when it is a fake GPU.
    fn device_type(&self) -> DeviceType;

    /// Compiles.
    ///
    /// # Errors
    /// When the source is not known or not accepted.
    fn compile(&self, job: &Job) -> Result<CodeObject, Reason>;

    /// Which kernel would do `operation` on a GPU of `arch`.
    ///
    /// # Errors
    /// When there is none, or not with these options.
    fn choose(
        &self,
        operation: &Operation,
        options: &Options,
        arch: &str,
    ) -> Result<KernelChoice, DeviceError>;

    /// What the kernels in `code` need; nothing where the compiler noted nothing.
    fn needs(&self, code: &CodeObject) -> Vec<KernelNeeds>;
}

/// For a backend that compiles nothing at run time, or that this build lacks.
pub(crate) fn no_compiler(backend: BackendId) -> Reason {
    Reason::new(
        format!("compiler of {backend}"),
        "this build has none",
        "build it with the feature of that backend, such as --features rocm",
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
