//! Exported functions, with the names and prototypes of the real libraries. They only translate
//! arguments and statuses; `ops` contains the logic.

mod compiler;
mod cuda;
mod hip;
mod lt;
mod nccl;

use crate::status::{self, Status};

/// Writes a result to the caller's pointer.
///
/// # Safety
/// `to` must be null or point to space for a `T`.
unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Status> {
    if to.is_null() {
        return Err(status::INVALID_VALUE);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { to.write(value) };
    Ok(())
}

/// Writes a handle to the caller's pointer.
///
/// # Safety
/// `to` must be null or point to space for one.
unsafe fn put_handle<T>(to: *mut *mut T, handle: usize) -> Result<(), Status> {
    // SAFETY: guaranteed by the caller.
    unsafe { put(to, handle as *mut T) }
}

/// Writes `text` and a terminating zero into `length` bytes at `to`, truncated to fit.
///
/// # Safety
/// `to` must be null or point to space for `length` bytes.
unsafe fn put_text(to: *mut std::ffi::c_char, length: usize, text: &str) -> Result<(), Status> {
    if to.is_null() || length == 0 {
        return Err(status::INVALID_VALUE);
    }
    let count = text.len().min(length - 1);
    // SAFETY: the caller guarantees `length` bytes at `to`, and `count + 1` is at most `length`;
    // `text` has at least `count` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), count);
        to.add(count).write(0);
    }
    Ok(())
}

/// Converts a pointer to a handle.
fn handle<T>(pointer: *const T) -> usize {
    pointer as usize
}

/// Converts a number to a C integer.
fn whole(value: u32) -> std::ffi::c_int {
    std::ffi::c_int::try_from(value).unwrap_or(std::ffi::c_int::MAX)
}

#[cfg(test)]
mod tests {
    use cuda_sys::{Cublas, CublasLt, Cuda, Nvrtc};
    use hip_runtime_sys::{Hip, Hiprtc};
    use hipblaslt_sys::HipblasLt;
    use nccl_sys::Nccl;
    use rocblas_sys::RocBlas;

    use super::{cuda, hip};

    /// Assigns this crate's functions to the function table of a `*-sys` crate, which compiles only
    /// if the prototypes agree. Returns the number of functions and the names that the library does
    /// not export.
    macro_rules! same {
        ($table:ident, $api:ident: $($file:ident: $($name:ident)*;)*) => {{
            $($( $table.$name = Some($api::$file::$name); )*)*
            let ours = <[&str]>::len(&[$($(stringify!($name)),*),*]);
            (ours, $table.missing())
        }};
    }

    #[test]
    fn every_prototype_is_that_of_the_tables_of_hip() {
        let library = crate::file::library().unwrap();
        let places = hip_runtime_sys::search::RocmPaths {
            explicit: Some(library.into()),
            ..hip_runtime_sys::search::RocmPaths::default()
        };
        let mut table = Hip::load_from(&places).unwrap();
        let found = same! { table, hip:
            device: hipInit hipGetDeviceCount hipSetDevice hipDeviceGetAttribute
                hipDeviceGetPCIBusId hipGetDevicePropertiesR0600 hipGetDeviceProperties hipGetErrorString
                hipDeviceCanAccessPeer hipDeviceEnablePeerAccess;
            memory: hipMemGetInfo hipMalloc hipFree hipHostMalloc hipHostFree hipMallocManaged hipMemcpy hipMemcpyAsync
                hipMemsetAsync hipMemcpyPeerAsync;
            stream: hipStreamCreateWithFlags hipStreamDestroy hipStreamSynchronize hipStreamWaitEvent hipEventCreateWithFlags
                hipEventDestroy hipEventRecord hipEventElapsedTime;
            graph: hipStreamBeginCapture hipStreamEndCapture hipGraphInstantiate hipGraphLaunch hipGraphExecDestroy
                hipGraphDestroy;
            module: hipModuleLoadData hipModuleUnload hipModuleGetFunction hipModuleLaunchKernel
                hipModuleOccupancyMaxActiveBlocksPerMultiprocessor hipFuncGetAttribute;
        };
        assert_eq!(found, (Hip::FUNCTIONS.len(), Vec::new()));
        let mut table = Hiprtc::load_from(&places).unwrap();
        let found = same! { table, hip:
            hiprtc: hiprtcVersion hiprtcGetErrorString hiprtcCreateProgram hiprtcCompileProgram hiprtcGetProgramLogSize
                hiprtcGetProgramLog hiprtcGetCodeSize hiprtcGetCode hiprtcDestroyProgram;
        };
        assert_eq!(found, (Hiprtc::FUNCTIONS.len(), Vec::new()));
        let mut table = RocBlas::load_from(&places).unwrap();
        let found = same! { table, hip:
            rocblas: rocblas_create_handle rocblas_destroy_handle rocblas_set_stream rocblas_set_pointer_mode
                rocblas_set_math_mode rocblas_status_to_string
                rocblas_gemm_strided_batched_ex;
        };
        assert_eq!(found, (RocBlas::FUNCTIONS.len(), Vec::new()));
        let mut table = HipblasLt::load_from(&places).unwrap();
        let found = same! { table, hip:
            hipblaslt: hipblasLtCreate hipblasLtDestroy hipblasLtGetVersion hipblasLtMatmulDescCreate
                hipblasLtMatmulDescDestroy hipblasLtMatmulDescSetAttribute hipblasLtMatrixLayoutCreate
                hipblasLtMatrixLayoutDestroy hipblasLtMatrixLayoutSetAttribute hipblasLtMatmulPreferenceCreate
                hipblasLtMatmulPreferenceDestroy hipblasLtMatmulPreferenceSetAttribute hipblasLtMatmulAlgoGetHeuristic
                hipblasLtMatmul;
        };
        assert_eq!(found, (HipblasLt::FUNCTIONS.len(), Vec::new()));
    }

    #[test]
    fn every_prototype_is_that_of_the_tables_of_cuda() {
        let places = cuda_sys::search::CudaPaths::only(&crate::file::library().unwrap());
        let mut table = Cuda::load_from(&places).unwrap();
        let found = same! { table, cuda:
            device: cuInit cuDriverGetVersion cuGetErrorName cuGetErrorString cuDeviceGetCount cuDeviceGet
                cuDeviceGetName cuDeviceGetAttribute cuDeviceGetPCIBusId cuDeviceCanAccessPeer;
            context: cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 cuCtxSetCurrent cuCtxEnablePeerAccess;
            memory: cuMemGetInfo_v2 cuMemAlloc_v2 cuMemAllocManaged cuMemFree_v2 cuMemHostAlloc cuMemFreeHost
                cuMemsetD8Async cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoDAsync_v2 cuMemcpyPeerAsync;
            stream: cuStreamCreate cuStreamDestroy_v2 cuStreamSynchronize cuStreamWaitEvent cuEventCreate cuEventRecord
                cuEventElapsedTime cuEventDestroy_v2;
            graph: cuStreamBeginCapture_v2 cuStreamEndCapture cuGraphInstantiateWithFlags cuGraphLaunch
                cuGraphDestroy cuGraphExecDestroy;
            module: cuModuleLoadData cuModuleGetFunction cuModuleUnload cuFuncGetAttribute cuLaunchKernel
                cuOccupancyMaxActiveBlocksPerMultiprocessor;
        };
        assert_eq!(found, (Cuda::FUNCTIONS.len(), Vec::new()));
        let mut table = Nvrtc::load_from(&places).unwrap();
        let found = same! { table, cuda:
            nvrtc: nvrtcVersion nvrtcGetErrorString nvrtcGetNumSupportedArchs nvrtcGetSupportedArchs nvrtcCreateProgram
                nvrtcCompileProgram nvrtcGetProgramLogSize nvrtcGetProgramLog nvrtcGetCUBINSize nvrtcGetCUBIN
                nvrtcDestroyProgram;
        };
        assert_eq!(found, (Nvrtc::FUNCTIONS.len(), Vec::new()));
        let mut table = Cublas::load_from(&places).unwrap();
        let found = same! { table, cuda:
            cublas: cublasCreate_v2 cublasDestroy_v2 cublasSetStream_v2 cublasGetStatusString
                cublasGemmStridedBatchedEx;
        };
        assert_eq!(found, (Cublas::FUNCTIONS.len(), Vec::new()));
        let mut table = Nccl::of(*table.loaded());
        let found = same! { table, super:
            nccl: ncclCommInitAll ncclCommDestroy ncclGroupStart ncclGroupEnd ncclAllReduce ncclAllGather
                ncclReduceScatter ncclBroadcast ncclSend ncclRecv ncclGetErrorString;
        };
        assert_eq!(found, (Nccl::FUNCTIONS.len(), Vec::new()));
        let mut table = CublasLt::load_from(&places).unwrap();
        let found = same! { table, cuda:
            cublaslt: cublasLtCreate cublasLtDestroy cublasLtMatmulDescCreate cublasLtMatmulDescDestroy
                cublasLtMatmulDescSetAttribute cublasLtMatrixLayoutCreate cublasLtMatrixLayoutDestroy
                cublasLtMatrixLayoutSetAttribute cublasLtMatmulPreferenceCreate cublasLtMatmulPreferenceDestroy
                cublasLtMatmulPreferenceSetAttribute cublasLtMatmulAlgoGetHeuristic cublasLtMatmul;
        };
        assert_eq!(found, (CublasLt::FUNCTIONS.len(), Vec::new()));
    }
}
