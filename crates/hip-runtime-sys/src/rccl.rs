//! Search for RCCL. Its functions are those of NCCL, in `nccl-sys`.

use runtime_loading::{Loaded, Unavailable};

use crate::search::{RocmLibrary, RocmPaths};

/// The library, under its names with and without a version.
const LIBRARY: RocmLibrary = RocmLibrary {
    name: "RCCL (librccl)",
    files: &["librccl.so.1", "librccl.so"],
    variable: "RSB_RCCL_LIBRARY",
    cure: "install RCCL (Debian: librccl1; ROCm's packages: rccl), or set ROCM_PATH or \
           RSB_RCCL_LIBRARY",
};

/// Loads RCCL from the search path of this process, without calling any of its functions.
///
/// # Errors
/// If the library cannot be loaded.
pub fn rccl() -> Result<Loaded, Unavailable> {
    LIBRARY.find(&RocmPaths::here(&LIBRARY))
}
