//! Where NCCL lies. Its functions are in `nccl-sys`.

use runtime_loading::{Loaded, Unavailable};

use crate::search::{CudaLibrary, CudaPaths};

const LIBRARY: CudaLibrary = CudaLibrary {
    name: "NCCL (libnccl)",
    files: &["libnccl.so.2", "libnccl.so"],
    variable: "RSB_NCCL_LIBRARY",
    symbol: "ncclCommInitAll",
    cure: "install NCCL (NVIDIA's packages: libnccl2), or `pip install nvidia-nccl-cu12` (cu13) \
           into an environment and \
           name its directory in RSB_CUDA_PATH",
};

/// Loads NCCL from where this process finds it. Nothing of it is run yet.
///
/// # Errors
/// When there is none.
pub fn nccl() -> Result<Loaded, Unavailable> {
    LIBRARY.find(&CudaPaths::here())
}
