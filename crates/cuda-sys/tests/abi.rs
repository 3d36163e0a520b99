//! Checks the binary interface against NVIDIA's headers. Sources: `cuda.h` and `library_types.h` of
//! CUDA 12.9 and 13.0 (Python packages nvidia-cuda-runtime-cu12 12.9.79 and nvidia-cuda-runtime
//! 13.0.96), `cublas_api.h` of CUDA 12.6, and `cublasLt.h` of CUDA 13.1 (package nvidia-cublas
//! 13.10). The values below are the same in both versions of `cuda.h` and `library_types.h`.
//! NVRTC's constants were compared with published copies of `nvrtc.h` of CUDA 12.

use std::ffi::c_int;

use cuda_sys::{
    Cublas, CublasLt, Cuda, EVENT_DEFAULT, MEM_ATTACH_GLOBAL, Nvrtc, STREAM_NON_BLOCKING,
    attribute, compute, cublaslt, datatype, error, func_attribute, gemm_algo, operation, result,
    status, stream_capture,
};

/// Compares constants of this crate with values from a header, listed by the header's names.
macro_rules! check {
    ($($header:ident = $value:literal: $ours:expr;)*) => {
        for (name, value, ours) in [$( (stringify!($header), $value, $ours) ),*] {
            assert_eq!(ours, value, "{name}");
        }
    };
}

#[test]
fn statuses_of_the_driver() {
    check! {
        CUDA_SUCCESS = 0: error::SUCCESS;
        CUDA_ERROR_INVALID_VALUE = 1: error::INVALID_VALUE;
        CUDA_ERROR_OUT_OF_MEMORY = 2: error::OUT_OF_MEMORY;
        CUDA_ERROR_NOT_INITIALIZED = 3: error::NOT_INITIALIZED;
        CUDA_ERROR_STUB_LIBRARY = 34: error::STUB_LIBRARY;
        CUDA_ERROR_DEVICE_UNAVAILABLE = 46: error::DEVICE_UNAVAILABLE;
        CUDA_ERROR_NO_DEVICE = 100: error::NO_DEVICE;
        CUDA_ERROR_INVALID_DEVICE = 101: error::INVALID_DEVICE;
        CUDA_ERROR_INVALID_IMAGE = 200: error::INVALID_IMAGE;
        CUDA_ERROR_NO_BINARY_FOR_GPU = 209: error::NO_BINARY_FOR_GPU;
        CUDA_ERROR_ECC_UNCORRECTABLE = 214: error::ECC_UNCORRECTABLE;
        CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217: error::PEER_ACCESS_UNSUPPORTED;
        CUDA_ERROR_NOT_FOUND = 500: error::NOT_FOUND;
        CUDA_ERROR_NOT_READY = 600: error::NOT_READY;
        CUDA_ERROR_ILLEGAL_ADDRESS = 700: error::ILLEGAL_ADDRESS;
        CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701: error::LAUNCH_OUT_OF_RESOURCES;
        CUDA_ERROR_LAUNCH_TIMEOUT = 702: error::LAUNCH_TIMEOUT;
        CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704: error::PEER_ACCESS_ALREADY_ENABLED;
        CUDA_ERROR_LAUNCH_FAILED = 719: error::LAUNCH_FAILED;
        CUDA_ERROR_NOT_SUPPORTED = 801: error::NOT_SUPPORTED;
        CUDA_ERROR_SYSTEM_NOT_READY = 802: error::SYSTEM_NOT_READY;
        CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803: error::SYSTEM_DRIVER_MISMATCH;
        CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804: error::COMPAT_NOT_SUPPORTED_ON_DEVICE;
        CUDA_ERROR_UNKNOWN = 999: error::UNKNOWN;
    }
}

#[test]
fn attributes_and_flags_of_the_driver() {
    check! {
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1: attribute::MAX_THREADS_PER_BLOCK;
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8: attribute::MAX_SHARED_MEMORY_PER_BLOCK;
        CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10: attribute::WARP_SIZE;
        CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13: attribute::CLOCK_RATE;
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16: attribute::MULTIPROCESSOR_COUNT;
        CU_DEVICE_ATTRIBUTE_INTEGRATED = 18: attribute::INTEGRATED;
        CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32: attribute::ECC_ENABLED;
        CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36: attribute::MEMORY_CLOCK_RATE;
        CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37: attribute::MEMORY_BUS_WIDTH;
        CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38: attribute::L2_CACHE_SIZE;
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39: attribute::MAX_THREADS_PER_MULTIPROCESSOR;
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75: attribute::COMPUTE_CAPABILITY_MAJOR;
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76: attribute::COMPUTE_CAPABILITY_MINOR;
        CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83: attribute::MANAGED_MEMORY;
        CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100: attribute::USES_HOST_PAGE_TABLES;
        CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1: func_attribute::SHARED_SIZE_BYTES;
        CU_FUNC_ATTRIBUTE_NUM_REGS = 4: func_attribute::NUM_REGS;
        CU_STREAM_CAPTURE_MODE_GLOBAL = 0: stream_capture::GLOBAL;
        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1: stream_capture::THREAD_LOCAL;
    }
    check! {
        CU_STREAM_NON_BLOCKING = 1: STREAM_NON_BLOCKING;
        CU_EVENT_DEFAULT = 0: EVENT_DEFAULT;
        CU_MEM_ATTACH_GLOBAL = 1: MEM_ATTACH_GLOBAL;
    }
}

#[test]
fn numbers_of_nvrtc_and_cublas() {
    check! {
        NVRTC_SUCCESS = 0: result::SUCCESS;
        NVRTC_ERROR_OUT_OF_MEMORY = 1: result::OUT_OF_MEMORY;
        NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2: result::PROGRAM_CREATION_FAILURE;
        NVRTC_ERROR_INVALID_INPUT = 3: result::INVALID_INPUT;
        NVRTC_ERROR_INVALID_PROGRAM = 4: result::INVALID_PROGRAM;
        NVRTC_ERROR_INVALID_OPTION = 5: result::INVALID_OPTION;
        NVRTC_ERROR_COMPILATION = 6: result::COMPILATION;
        NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7: result::BUILTIN_OPERATION_FAILURE;
        NVRTC_ERROR_INTERNAL_ERROR = 11: result::INTERNAL_ERROR;
        CUBLAS_STATUS_SUCCESS = 0: status::SUCCESS;
        CUBLAS_STATUS_NOT_INITIALIZED = 1: status::NOT_INITIALIZED;
        CUBLAS_STATUS_ALLOC_FAILED = 3: status::ALLOC_FAILED;
        CUBLAS_STATUS_INVALID_VALUE = 7: status::INVALID_VALUE;
        CUBLAS_STATUS_ARCH_MISMATCH = 8: status::ARCH_MISMATCH;
        CUBLAS_STATUS_EXECUTION_FAILED = 13: status::EXECUTION_FAILED;
        CUBLAS_STATUS_INTERNAL_ERROR = 14: status::INTERNAL_ERROR;
        CUBLAS_STATUS_NOT_SUPPORTED = 15: status::NOT_SUPPORTED;
        CUBLAS_OP_N = 0: operation::NONE;
        CUBLAS_OP_T = 1: operation::TRANSPOSE;
        CUBLAS_COMPUTE_32F = 68: compute::F32;
        CUBLAS_COMPUTE_32F_FAST_TF32 = 77: compute::F32_FAST_TF32;
        CUBLAS_COMPUTE_64F = 70: compute::F64;
        CUBLAS_COMPUTE_32I = 72: compute::I32;
        CUBLAS_GEMM_DEFAULT = -1: gemm_algo::DEFAULT;
        CUDA_R_32F = 0: datatype::F32;
        CUDA_R_64F = 1: datatype::F64;
        CUDA_R_16F = 2: datatype::F16;
        CUDA_R_8I = 3: datatype::I8;
        CUDA_R_32I = 10: datatype::I32;
        CUDA_R_16BF = 14: datatype::BF16;
        CUDA_R_8F_E4M3 = 28: datatype::F8_E4M3;
    }
}

#[test]
fn numbers_of_cublaslt() {
    check! {
        CUBLASLT_MATMUL_DESC_TRANSA = 3: cublaslt::descriptor::TRANSPOSE_A;
        CUBLASLT_MATMUL_DESC_TRANSB = 4: cublaslt::descriptor::TRANSPOSE_B;
        CUBLASLT_MATMUL_DESC_EPILOGUE = 7: cublaslt::descriptor::EPILOGUE;
        CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8: cublaslt::descriptor::BIAS_POINTER;
        CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26: cublaslt::descriptor::BIAS_TYPE;
        CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5: cublaslt::layout::BATCH_COUNT;
        CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6: cublaslt::layout::BATCH_STRIDE;
        CUBLASLT_EPILOGUE_DEFAULT = 1: cublaslt::epilogue::NONE;
        CUBLASLT_EPILOGUE_BIAS = 4: cublaslt::epilogue::BIAS;
        CUBLASLT_EPILOGUE_GELU_BIAS = 36: cublaslt::epilogue::GELU_BIAS;
        CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1: cublaslt::PREFERENCE_WORKSPACE_BYTES;
    }
    // The C struct contains the algorithm `{uint64_t[8]}`, then `size_t`, an enumeration, `float`
    // and `int[4]`.
    assert_eq!(size_of::<cublaslt::cublasLtMatmulHeuristicResult_t>(), 64 + 8 + 4 + 4 + 16);
}

/// The headers map most names without a version to versioned ones: `cuMemAlloc` is `cuMemAlloc_v2`.
/// The oldest functions with the plain names take 32-bit addresses and are still in the library.
#[test]
fn names_carry_the_version_that_the_headers_give_them() {
    for name in [
        "cuDevicePrimaryCtxRelease",
        "cuMemGetInfo",
        "cuMemAlloc",
        "cuMemFree",
        "cuMemcpyHtoDAsync",
        "cuMemcpyDtoHAsync",
        "cuMemcpyDtoDAsync",
        "cuStreamDestroy",
        "cuStreamBeginCapture",
        "cuEventDestroy",
    ] {
        let has = |name: &str| Cuda::FUNCTIONS.iter().any(|(known, _)| *known == name);
        assert!(has(&format!("{name}_v2")) && !has(name), "{name}");
    }
}

#[test]
fn numbers_of_arguments() {
    let count = |functions: &[(&str, usize)], name: &str| {
        functions.iter().find(|(known, _)| *known == name).map_or(usize::MAX, |(_, count)| *count)
    };
    for (name, expected) in [
        ("cuInit", 1),
        ("cuGetErrorString", 2),
        ("cuDeviceGetAttribute", 3),
        ("cuDeviceGetPCIBusId", 3),
        ("cuDevicePrimaryCtxRetain", 2),
        ("cuDevicePrimaryCtxRelease_v2", 1),
        ("cuCtxEnablePeerAccess", 2),
        ("cuMemAlloc_v2", 2),
        ("cuMemAllocManaged", 3),
        ("cuMemHostAlloc", 3),
        ("cuMemsetD8Async", 4),
        ("cuMemcpyHtoDAsync_v2", 4),
        ("cuMemcpyPeerAsync", 6),
        ("cuModuleGetFunction", 3),
        ("cuFuncGetAttribute", 3),
        ("cuLaunchKernel", 11),
        ("cuOccupancyMaxActiveBlocksPerMultiprocessor", 4),
        ("cuEventElapsedTime", 3),
        ("cuStreamBeginCapture_v2", 2),
        ("cuGraphInstantiateWithFlags", 3),
        ("cuGraphLaunch", 2),
    ] {
        assert_eq!(count(Cuda::FUNCTIONS, name), expected, "{name}");
    }
    assert_eq!(count(Nvrtc::FUNCTIONS, "nvrtcCreateProgram"), 6);
    assert_eq!(count(Nvrtc::FUNCTIONS, "nvrtcCompileProgram"), 3);
    assert_eq!(count(Cublas::FUNCTIONS, "cublasGemmStridedBatchedEx"), 23);
    assert_eq!(count(CublasLt::FUNCTIONS, "cublasLtMatmul"), 16);
    assert_eq!(count(CublasLt::FUNCTIONS, "cublasLtMatmulAlgoGetHeuristic"), 10);
}

/// Device addresses have 64 bits on every system, handles are pointers, and enumerations are as
/// wide as `int`.
#[test]
fn widths_of_types() {
    assert_eq!(size_of::<cuda_sys::CUdeviceptr>(), 8);
    assert_eq!(size_of::<cuda_sys::CUdevice>(), size_of::<c_int>());
    assert_eq!(size_of::<cuda_sys::CUresult>(), size_of::<c_int>());
    assert_eq!(size_of::<cuda_sys::CUstream>(), size_of::<usize>());
}
