//! Search for NCCL. Its functions are in `nccl-sys`.

use runtime_loading::{Loaded, Unavailable};

use crate::search::{CudaLibrary, CudaPaths};

const LIBRARY: CudaLibrary = CudaLibrary {
    name: "NCCL (libnccl)",
    files: &["libnccl.so.2", "libnccl.so"],
    variable: "RSB_NCCL_LIBRARY",
    symbol: "ncclCommInitAll",
    cure: "install NCCL (NVIDIA's packages: libnccl2), or `pip install nvidia-nccl-cu12` (cu13) \
           into an environment and set RSB_CUDA_PATH to its directory",
};

/// Loads NCCL from the search path of this process, without calling any of its functions.
///
/// # Errors
/// If the library cannot be loaded.
pub fn nccl() -> Result<Loaded, Unavailable> {
    LIBRARY.find(&CudaPaths::here())
}
