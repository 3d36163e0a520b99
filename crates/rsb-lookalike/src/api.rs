//! The functions that programs call, by the names and with the prototypes of the real libraries.

mod device;
mod graph;
mod hiprtc;
mod memory;
mod module;
pub(crate) mod rocblas;
mod stream;

use hip_runtime_sys::{error, hipError_t};

/// Writes an answer where the caller wants it.
///
/// # Safety
/// `to` must be null or point to room for a `T`.
unsafe fn put<T>(to: *mut T, value: T) -> Result<(), hipError_t> {
    if to.is_null() {
        return Err(error::INVALID_VALUE);
    }
    // SAFETY: by the promise of the caller.
    unsafe { to.write(value) };
    Ok(())
}

/// Writes `text` and a zero into `length` bytes at `to`, cut where it is longer.
///
/// # Safety
/// `to` must be null or point to room for `length` bytes.
unsafe fn put_text(to: *mut std::ffi::c_char, length: usize, text: &str) -> Result<(), hipError_t> {
    if to.is_null() || length == 0 {
        return Err(error::INVALID_VALUE);
    }
    let count = text.len().min(length - 1);
    // SAFETY: `count` bytes and a zero fit, by the promise of the caller; the text has as many.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), count);
        to.add(count).write(0);
    }
    Ok(())
}

/// A handle as the state has it.
fn handle<T>(pointer: *mut T) -> usize {
    pointer as usize
}

#[cfg(test)]
mod tests {
    use hip_runtime_sys::search::Places;
    use hip_runtime_sys::{Hip, Hiprtc};
    use rocblas_sys::RocBlas;

    use super::rocblas::gemm;
    use super::{device, graph, hiprtc, memory, module, rocblas, stream};

    /// Puts functions of ours into the table that programs call through: it compiles when their prototypes agree.
    macro_rules! same {
        ($table:ident, $($file:ident: $($name:ident)*;)*) => {{
            $($( $table.$name = Some($file::$name); )*)*
            let ours = <[&str]>::len(&[$($(stringify!($name)),*),*]);
            (ours, $table.missing())
        }};
    }

    #[test]
    fn every_prototype_is_that_of_the_tables() {
        let library = crate::file::library().unwrap();
        let places = Places { explicit: Some(library.into()), ..Places::default() };
        let mut hip = Hip::load_from(&places).unwrap();
        let found = same! { hip,
            device: hipInit hipRuntimeGetVersion hipGetDeviceCount hipSetDevice hipDeviceGetAttribute hipDeviceGetName
                hipDeviceGetPCIBusId hipGetDevicePropertiesR0600 hipGetDeviceProperties hipGetErrorString
                hipDeviceSynchronize hipDeviceCanAccessPeer hipDeviceEnablePeerAccess;
            memory: hipMemGetInfo hipMalloc hipFree hipHostMalloc hipHostFree hipMallocManaged hipMemcpy hipMemcpyAsync
                hipMemsetAsync hipMemcpyPeerAsync;
            stream: hipStreamCreateWithFlags hipStreamDestroy hipStreamSynchronize hipEventCreateWithFlags
                hipEventDestroy hipEventRecord hipEventSynchronize hipEventElapsedTime;
            graph: hipStreamBeginCapture hipStreamEndCapture hipGraphInstantiate hipGraphLaunch hipGraphExecDestroy
                hipGraphDestroy;
            module: hipModuleLoadData hipModuleUnload hipModuleGetFunction hipModuleLaunchKernel
                hipModuleOccupancyMaxActiveBlocksPerMultiprocessor hipFuncGetAttribute;
        };
        assert_eq!(found, (Hip::FUNCTIONS.len(), Vec::new()));
        let mut compiler = Hiprtc::load_from(&places).unwrap();
        let found = same! { compiler,
            hiprtc: hiprtcVersion hiprtcGetErrorString hiprtcCreateProgram hiprtcCompileProgram hiprtcGetProgramLogSize
                hiprtcGetProgramLog hiprtcGetCodeSize hiprtcGetCode hiprtcDestroyProgram;
        };
        assert_eq!(found, (Hiprtc::FUNCTIONS.len(), Vec::new()));
        let mut products = RocBlas::load_from(&places).unwrap();
        let found = same! { products,
            rocblas: rocblas_create_handle rocblas_destroy_handle rocblas_set_stream rocblas_set_pointer_mode
                rocblas_status_to_string rocblas_get_version_string_size rocblas_get_version_string;
            gemm: rocblas_gemm_ex rocblas_gemm_strided_batched_ex;
        };
        assert_eq!(found, (RocBlas::FUNCTIONS.len(), Vec::new()));
    }
}
