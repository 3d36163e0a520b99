//! Where RCCL lies. Its functions are those of NCCL, in `nccl-sys`.

use runtime_loading::{Loaded, Unavailable};

use crate::search::{RocmLibrary, RocmPaths};

/// The library, by its names with and without a version.
const LIBRARY: RocmLibrary = RocmLibrary {
    name: "RCCL (librccl)",
    files: &["librccl.so.1", "librccl.so"],
    variable: "RSB_RCCL_LIBRARY",
    cure: "install RCCL (Debian: librccl1; ROCm's packages: rccl), or set ROCM_PATH or \
           RSB_RCCL_LIBRARY",
};

/// Loads RCCL from where this process finds it. Nothing of it is run yet.
///
/// # Errors
/// When there is none.
pub fn rccl() -> Result<Loaded, Unavailable> {
    LIBRARY.find(&RocmPaths::here(&LIBRARY))
}
