//! Tests the CUDA interface of the fake GPU through the function tables that the program also uses
//! for the real libraries: valid calls succeed, and calls that the real driver rejects fail.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, clippy::unwrap_used, missing_docs)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use cuda_sys::search::CudaPaths;
use cuda_sys::{
    Cublas, Cuda, Nvrtc, attribute, compute, datatype, error, func_attribute, operation, result,
    status,
};

/// Statuses that the program never uses: `CUDA_ERROR_INVALID_CONTEXT`, `_INVALID_HANDLE` and
/// `_CONTEXT_IS_DESTROYED`.
const INVALID_CONTEXT: c_int = 201;
const INVALID_HANDLE: c_int = 400;
const CONTEXT_IS_DESTROYED: c_int = 709;

fn places() -> CudaPaths {
    CudaPaths::only(&rsb_fake_gpu::file::library().unwrap())
}

fn cuda() -> Cuda {
    Cuda::load_from(&places()).unwrap()
}

/// Calls a function that must exist.
macro_rules! call {
    ($library:expr, $name:ident($($argument:expr),* $(,)?)) => { unsafe { $library.$name.unwrap()($($argument),*) } };
}

/// Calls a function that writes a result to its first argument, checks that it succeeds, and
/// returns the result.
macro_rules! get {
    ($library:expr, $name:ident($start:expr $(, $argument:expr)*)) => {{
        let mut got = $start;
        let status = unsafe { $library.$name.unwrap()(&raw mut got $(, $argument)*) };
        assert_eq!(status, 0, stringify!($name));
        got
    }};
}

/// Returns the initialized driver, with the context of GPU 0 current.
fn started() -> Cuda {
    let cuda = cuda();
    assert_eq!(call!(cuda, cuInit(0)), 0);
    let context = get!(cuda, cuDevicePrimaryCtxRetain(null_mut(), 0));
    assert_eq!(call!(cuda, cuCtxSetCurrent(context)), 0);
    cuda
}

/// Compiles a source with one kernel for `arch`. Returns the code object, or the compiler's log. A
/// real compiler would accept the source too.
fn compiled(arch: &str) -> Result<Vec<u8>, String> {
    let nvrtc = Nvrtc::load_from(&places()).unwrap();
    let source =
        c"extern \"C\" __global__ void rsb_copy(const char* a, char* b, unsigned long long n) {}";
    let mut program = get!(
        nvrtc,
        nvrtcCreateProgram(null_mut(), source.as_ptr(), c"a.cu".as_ptr(), 0, null(), null())
    );
    let option = CString::new(format!("--gpu-architecture={arch}")).unwrap();
    let status = call!(nvrtc, nvrtcCompileProgram(program, 1, [option.as_ptr()].as_ptr()));
    let mut bytes = 0;
    if status != result::SUCCESS {
        assert_eq!(call!(nvrtc, nvrtcGetProgramLogSize(program, &raw mut bytes)), 0);
        let mut log = vec![0_u8; bytes];
        assert_eq!(call!(nvrtc, nvrtcGetProgramLog(program, log.as_mut_ptr().cast())), 0);
        return Err(CStr::from_bytes_with_nul(&log).unwrap().to_string_lossy().into_owned());
    }
    assert_eq!(call!(nvrtc, nvrtcGetCUBINSize(program, &raw mut bytes)), 0);
    let mut code = vec![0_u8; bytes];
    assert_eq!(call!(nvrtc, nvrtcGetCUBIN(program, code.as_mut_ptr().cast())), 0);
    assert_eq!(call!(nvrtc, nvrtcDestroyProgram(&raw mut program)), 0);
    Ok(code)
}

#[test]
fn every_function_that_the_program_uses_is_there() {
    assert_eq!(cuda().missing(), Vec::<&str>::new());
    assert_eq!(Nvrtc::load_from(&places()).unwrap().missing(), Vec::<&str>::new());
    assert_eq!(Cublas::load_from(&places()).unwrap().missing(), Vec::<&str>::new());
    assert!(cuda().loaded().exports("rsb_fake_gpu"));
}

#[test]
fn nothing_goes_before_cu_init_nor_without_a_context() {
    // A copy of the library has a separate state, which no other test in this process has
    // initialized.
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("libcuda.so.1");
    std::fs::copy(rsb_fake_gpu::file::library().unwrap(), &copy).unwrap();
    let cuda = Cuda::load_from(&CudaPaths::only(&copy)).unwrap();
    let mut count = 0;
    assert_eq!(call!(cuda, cuDeviceGetCount(&raw mut count)), error::NOT_INITIALIZED);
    assert_eq!(call!(cuda, cuInit(1)), error::INVALID_VALUE, "cuInit must reject flags");
    assert_eq!(call!(cuda, cuInit(0)), 0);
    let mut address = 0;
    assert_eq!(call!(cuda, cuMemAlloc_v2(&raw mut address, 64)), INVALID_CONTEXT);
    let context = get!(cuda, cuDevicePrimaryCtxRetain(null_mut(), 0));
    assert_eq!(
        call!(cuda, cuMemAlloc_v2(&raw mut address, 64)),
        INVALID_CONTEXT,
        "a retained context is not current"
    );
    assert_eq!(call!(cuda, cuCtxSetCurrent(context)), 0);
    assert_eq!(call!(cuda, cuMemAlloc_v2(&raw mut address, 64)), 0);
    let elsewhere = std::thread::scope(|scope| {
        let cuda = &cuda;
        let asks = scope.spawn(move || call!(cuda, cuMemFree_v2(address)));
        asks.join().unwrap()
    });
    assert_eq!(elsewhere, INVALID_CONTEXT, "each thread has its own current context");
    assert_eq!(call!(cuda, cuDevicePrimaryCtxRelease_v2(0)), 0);
    assert_eq!(call!(cuda, cuMemFree_v2(address)), CONTEXT_IS_DESTROYED);
    assert_eq!(
        call!(cuda, cuDevicePrimaryCtxRelease_v2(0)),
        INVALID_CONTEXT,
        "released once too often"
    );
    assert_eq!(call!(cuda, cuCtxSetCurrent(context)), INVALID_CONTEXT, "the context is destroyed");
}

#[test]
fn a_gpu_says_what_it_is() {
    let cuda = started();
    let mut name = [0_u8; 100];
    assert_eq!(call!(cuda, cuDeviceGetName(name.as_mut_ptr().cast(), 100, 0)), 0);
    assert!(
        CStr::from_bytes_until_nul(&name).unwrap().to_string_lossy().contains("fake GPU of sm_90")
    );
    let mut place = [0_u8; 32];
    assert_eq!(call!(cuda, cuDeviceGetPCIBusId(place.as_mut_ptr().cast(), 32, 0)), 0);
    assert_eq!(CStr::from_bytes_until_nul(&place).unwrap(), c"0000:01:00.0");
    let number = |which| get!(cuda, cuDeviceGetAttribute(0, which, 0));
    let numbers = [
        attribute::COMPUTE_CAPABILITY_MAJOR,
        attribute::COMPUTE_CAPABILITY_MINOR,
        attribute::WARP_SIZE,
    ];
    assert_eq!(numbers.map(number), [9, 0, 32]);
    assert_eq!(get!(cuda, cuDriverGetVersion(0)), 12_080);
    let mut value = 0;
    assert_eq!(call!(cuda, cuDeviceGetAttribute(&raw mut value, 12_345, 0)), error::INVALID_VALUE);
    assert_eq!(call!(cuda, cuDeviceGet(&raw mut value, 1)), error::INVALID_DEVICE);
    let mut text: *const c_char = null();
    assert_eq!(call!(cuda, cuGetErrorName(error::LAUNCH_FAILED, &raw mut text)), 0);
    assert_eq!(unsafe { CStr::from_ptr(text) }, c"CUDA_ERROR_LAUNCH_FAILED");
    assert_eq!(call!(cuda, cuGetErrorString(12_345, &raw mut text)), error::INVALID_VALUE);
    assert!(text.is_null());
}

#[test]
fn what_is_no_memory_and_no_handle_is_a_status() {
    let cuda = started();
    let block = get!(cuda, cuMemAlloc_v2(0, 64));
    let pinned = get!(cuda, cuMemHostAlloc(null_mut(), 64, 0));
    let mut host = [7_u8; 100];
    let stream = get!(cuda, cuStreamCreate(null_mut(), 1));
    for (from, bytes) in [(block, 65), (block + 60, 5), (0x1000, 1), (0, 1)] {
        let status =
            call!(cuda, cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), from, bytes, stream));
        assert_eq!(status, error::INVALID_VALUE, "{bytes} bytes at {from:#x}");
    }
    assert_eq!(host, [7; 100], "nothing was copied");
    assert_eq!(call!(cuda, cuMemcpyHtoDAsync_v2(block, host.as_ptr().cast(), 64, stream)), 0);
    let mut address = 0;
    assert_eq!(
        call!(cuda, cuMemAlloc_v2(&raw mut address, 0)),
        error::INVALID_VALUE,
        "an allocation of zero bytes"
    );
    assert_eq!(call!(cuda, cuMemAlloc_v2(&raw mut address, usize::MAX)), error::OUT_OF_MEMORY);
    assert_eq!(
        call!(cuda, cuMemAllocManaged(&raw mut address, 64, 0)),
        error::INVALID_VALUE,
        "no attach flag given"
    );
    assert_eq!(
        call!(cuda, cuMemFree_v2(pinned as u64)),
        error::INVALID_VALUE,
        "host memory freed as device memory"
    );
    assert_eq!(
        call!(cuda, cuMemFreeHost(block as *mut c_void)),
        error::INVALID_VALUE,
        "device memory freed as host memory"
    );
    assert_eq!(call!(cuda, cuMemFreeHost(pinned)), 0);
    assert_eq!(
        call!(cuda, cuMemFree_v2(block + 8)),
        error::INVALID_VALUE,
        "an address inside the block"
    );
    assert_eq!(call!(cuda, cuMemFree_v2(block)), 0);
    assert_eq!(call!(cuda, cuMemFree_v2(block)), error::INVALID_VALUE, "freed twice");
    assert_eq!(call!(cuda, cuStreamDestroy_v2(stream)), 0);
    assert_eq!(call!(cuda, cuStreamSynchronize(stream)), INVALID_HANDLE);
    assert_eq!(call!(cuda, cuEventDestroy_v2(0x10 as *mut _)), INVALID_HANDLE);
}

#[test]
fn a_kernel_runs_by_itself_and_in_a_graph_and_takes_time() {
    let cuda = started();
    let code = compiled("sm_90").unwrap();
    let module = get!(cuda, cuModuleLoadData(null_mut(), code.as_ptr().cast()));
    let function = get!(cuda, cuModuleGetFunction(null_mut(), module, c"rsb_copy".as_ptr()));
    let mut other = null_mut();
    assert_eq!(
        call!(cuda, cuModuleGetFunction(&raw mut other, module, c"rsb_flush".as_ptr())),
        error::NOT_FOUND
    );
    assert_eq!(get!(cuda, cuFuncGetAttribute(0, func_attribute::NUM_REGS, function)), 40);
    assert_eq!(get!(cuda, cuOccupancyMaxActiveBlocksPerMultiprocessor(0, function, 1024, 0)), 2);
    let stream = get!(cuda, cuStreamCreate(null_mut(), 1));
    let [from, to] = [(); 2].map(|()| get!(cuda, cuMemAlloc_v2(0, 64)));
    assert_eq!(call!(cuda, cuMemsetD8Async(from, 5, 64, stream)), 0);
    let (mut first, mut second, mut bytes) = (from, to, 64_u64);
    let mut parameters =
        [(&raw mut first).cast(), (&raw mut second).cast(), (&raw mut bytes).cast::<c_void>()];
    let mut launch = |threads, shared| {
        let parameters = parameters.as_mut_ptr();
        call!(
            cuda,
            cuLaunchKernel(
                function,
                1,
                1,
                1,
                threads,
                1,
                1,
                shared,
                stream,
                parameters,
                null_mut()
            )
        )
    };
    assert_eq!(launch(1025, 0), error::INVALID_VALUE, "too many threads");
    assert_eq!(launch(64, 49_153), error::INVALID_VALUE, "too much shared memory");
    let [before, after] = [(); 2].map(|()| get!(cuda, cuEventCreate(null_mut(), 0)));
    let mut ms = 0.0;
    assert_eq!(
        call!(cuda, cuEventElapsedTime(&raw mut ms, before, after)),
        INVALID_HANDLE,
        "the events were never recorded"
    );
    assert_eq!(call!(cuda, cuEventRecord(before, stream)), 0);
    assert_eq!(launch(64, 0), 0);
    assert_eq!(call!(cuda, cuEventRecord(after, stream)), 0);
    assert_eq!(call!(cuda, cuStreamSynchronize(stream)), 0);
    assert_eq!(call!(cuda, cuEventElapsedTime(&raw mut ms, before, after)), 0);
    assert!(ms > 0.0);
    let mut host = [0_u8; 64];
    assert_eq!(call!(cuda, cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), to, 64, stream)), 0);
    assert_eq!(host, [5; 64]);
    assert_eq!(call!(cuda, cuStreamBeginCapture_v2(stream, 1)), 0);
    assert_eq!(call!(cuda, cuMemsetD8Async(from, 6, 64, stream)), 0);
    assert_eq!(launch(64, 0), 0);
    assert_eq!(call!(cuda, cuStreamSynchronize(stream)), 900, "the stream is being captured");
    let mut graph = null_mut();
    assert_eq!(call!(cuda, cuStreamEndCapture(stream, &raw mut graph)), 0);
    let executable = get!(cuda, cuGraphInstantiateWithFlags(null_mut(), graph, 0));
    assert_eq!(call!(cuda, cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), to, 64, stream)), 0);
    assert_eq!(host, [5; 64], "recorded, not run");
    assert_eq!(call!(cuda, cuGraphLaunch(executable, stream)), 0);
    assert_eq!(call!(cuda, cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), to, 64, stream)), 0);
    assert_eq!(host, [6; 64]);
    assert_eq!(call!(cuda, cuGraphExecDestroy(executable)), 0);
    assert_eq!(call!(cuda, cuGraphDestroy(graph)), 0);
    assert_eq!(call!(cuda, cuModuleUnload(module)), 0);
}

#[test]
fn code_is_for_one_architecture_and_the_compiler_knows_several() {
    let cuda = started();
    let code = compiled("sm_80").unwrap();
    assert_eq!(code.get(..4), Some(&b"\x7fELF"[..]));
    assert_eq!((code[18], code[19], code[48]), (190, 0, 80), "EM_CUDA, and the architecture");
    let mut module = null_mut();
    assert_eq!(
        call!(cuda, cuModuleLoadData(&raw mut module, code.as_ptr().cast())),
        error::NO_BINARY_FOR_GPU
    );
    assert_eq!(
        call!(cuda, cuModuleLoadData(&raw mut module, [0_u8; 200].as_ptr().cast())),
        error::INVALID_IMAGE
    );
    assert!(compiled("sm_999").unwrap_err().contains("sm_999"));
    let nvrtc = Nvrtc::load_from(&places()).unwrap();
    let mut archs = vec![0; get!(nvrtc, nvrtcGetNumSupportedArchs(0)) as usize];
    assert_eq!(call!(nvrtc, nvrtcGetSupportedArchs(archs.as_mut_ptr())), 0);
    assert_eq!(archs, [75, 80, 89, 90]);
}

#[test]
fn a_product_is_right_and_an_impossible_one_is_refused() {
    let cublas = Cublas::load_from(&places()).unwrap();
    let mut handle = null_mut();
    assert_eq!(
        call!(cublas, cublasCreate_v2(&raw mut handle)),
        status::NOT_INITIALIZED,
        "no context"
    );
    let cuda = started();
    assert_eq!(call!(cublas, cublasCreate_v2(&raw mut handle)), 0);
    let stream = get!(cuda, cuStreamCreate(null_mut(), 1));
    assert_eq!(call!(cublas, cublasSetStream_v2(handle, stream)), 0);
    let [a, b, c] = [(); 3].map(|()| get!(cuda, cuMemAlloc_v2(0, 16)));
    // Column-major: A = [1 3; 2 4], B = [5 7; 6 8].
    for (to, values) in [(a, [1.0_f32, 2.0, 3.0, 4.0]), (b, [5.0, 6.0, 7.0, 8.0])] {
        assert_eq!(call!(cuda, cuMemcpyHtoDAsync_v2(to, values.as_ptr().cast(), 16, stream)), 0);
    }
    let (one, none) = (1.0_f32, 0.0_f32);
    let multiply = |dtype, sums| {
        let (alpha, beta) = ((&raw const one).cast(), (&raw const none).cast());
        let [a, b, c] = [a, b, c].map(|address| address as *mut c_void);
        let (plain, turned) = (operation::NONE, operation::TRANSPOSE);
        call!(
            cublas,
            cublasGemmStridedBatchedEx(
                handle, plain, turned, 2, 2, 2, alpha, a, dtype, 2, 4, b, dtype, 2, 4, beta, c,
                dtype, 2, 4, 1, sums, -1
            )
        )
    };
    for sums in [compute::F32, compute::F32_FAST_TF32] {
        assert_eq!(multiply(datatype::F32, sums), 0);
        let mut result = [0.0_f32; 4];
        assert_eq!(call!(cuda, cuMemcpyDtoHAsync_v2(result.as_mut_ptr().cast(), c, 16, stream)), 0);
        assert_eq!(result.map(|x| x as i32), [26, 38, 30, 44], "A times the transpose of B");
    }
    assert_eq!(multiply(datatype::F32, compute::F64), status::NOT_SUPPORTED);
    assert_eq!(multiply(datatype::F64, compute::F32), status::NOT_SUPPORTED);
    assert_eq!(call!(cublas, cublasDestroy_v2(handle)), 0);
    assert_eq!(call!(cublas, cublasDestroy_v2(handle)), status::NOT_INITIALIZED);
}
