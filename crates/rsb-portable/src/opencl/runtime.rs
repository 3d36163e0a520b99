//! OpenCL loader, with status codes converted to errors that contain a description, a reason and a
//! fix.

use std::ffi::c_void;
use std::path::PathBuf;
use std::rc::Rc;

use libloading::Library;
use rsb_model::Reason;

use super::api::{Api, Object, Status, status};
use rsb_device::device::DeviceError;

/// Environment variable with the path of the library, for tests and unusual installations.
const VARIABLE: &str = "RSB_OPENCL_LIBRARY";

/// Names of the loader on Linux, Windows and macOS.
const FILES: &[&str] = &[
    "libOpenCL.so.1",
    "libOpenCL.so",
    "OpenCL.dll",
    "/System/Library/Frameworks/OpenCL.framework/OpenCL",
];

/// Instructions for installing a loader and a driver.
const CURE: &str = "install an OpenCL driver: rocm-opencl-runtime for AMD, NVIDIA's driver, \
                    intel-opencl-icd for Intel, or pocl-opencl-icd, which runs on any CPU";

/// The loaded library.
pub(super) struct Runtime {
    pub(super) api: Api,
}

/// Reason why an OpenCL call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClError {
    /// The library lacks the function.
    Missing(&'static str),
    /// The function returned an error.
    Status {
        /// Name of the function.
        call: &'static str,
        /// Status code.
        code: Status,
    },
}

/// Calls a function and converts its status to a `Result`. Must be used in an `unsafe` block whose
/// author ensures that the arguments meet the function's requirements.
macro_rules! call {
    ($runtime:expr, $name:ident($($argument:expr),* $(,)?)) => {
        match $runtime.api.$name {
            Some(function) => $crate::opencl::runtime::check(stringify!($name), function($($argument),*)),
            None => Err($crate::opencl::runtime::ClError::Missing(stringify!($name))),
        }
    };
}
pub(super) use call;

/// Variant of [`call`] for functions that return an object and write their status to the last
/// argument.
macro_rules! create {
    ($runtime:expr, $name:ident($($argument:expr),* $(,)?)) => {
        match $runtime.api.$name {
            Some(function) => {
                let mut status = $crate::opencl::api::status::SUCCESS;
                let object = function($($argument,)* &raw mut status);
                $crate::opencl::runtime::check(stringify!($name), status).map(|()| object)
            }
            None => Err($crate::opencl::runtime::ClError::Missing(stringify!($name))),
        }
    };
}
pub(super) use create;

pub(super) fn check(call: &'static str, code: Status) -> Result<(), ClError> {
    if code == status::SUCCESS { Ok(()) } else { Err(ClError::Status { call, code }) }
}

impl Runtime {
    /// Loads the library. It is never unloaded, since drivers have threads that outlive any handle.
    pub(super) fn start() -> Result<Rc<Self>, Reason> {
        let explicit = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
        let candidates = match &explicit {
            Some(file) => vec![PathBuf::from(file)],
            None => FILES.iter().map(PathBuf::from).collect(),
        };
        for candidate in &candidates {
            // SAFETY: loading runs the initializers of a library that the user installed under its
            // well-known name, or named explicitly.
            if let Ok(library) = unsafe { Library::new(candidate) } {
                return Ok(Rc::new(Self { api: Api::resolve(Box::leak(Box::new(library))) }));
            }
        }
        let why = match explicit {
            Some(file) => format!("{VARIABLE} names {}, which cannot be loaded", file.display()),
            None => "there is no libOpenCL.so.1 on the library path".to_owned(),
        };
        Err(Reason::new("OpenCL", why, CURE))
    }

    /// Queries a text with `get`, first its size and then its contents, such as a name or a build
    /// log.
    pub(super) fn text(
        get: impl Fn(usize, *mut c_void, *mut usize) -> Result<(), ClError>,
    ) -> Result<String, ClError> {
        let mut size = 0_usize;
        get(0, std::ptr::null_mut(), &raw mut size)?;
        let mut bytes = vec![0_u8; size];
        if size > 0 {
            get(size, bytes.as_mut_ptr().cast(), std::ptr::null_mut())?;
        }
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        Ok(String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).trim().to_owned())
    }

    /// Returns a string property of a device.
    pub(super) fn device_text(&self, device: Object, name: u32) -> Result<String, ClError> {
        // SAFETY: the device is live; `text` passes a buffer of the given size, or none.
        Self::text(|size, value, needed| unsafe {
            call!(self, clGetDeviceInfo(device, name, size, value, needed))
        })
    }

    /// Returns a 32-bit or 64-bit integer property of a device.
    pub(super) fn device_number(&self, device: Object, name: u32) -> Option<u64> {
        let mut value = 0_u64;
        // SAFETY: the device is live, and the pointer is to a live 64-bit variable. A 32-bit value
        // fills its lower half, since all supported hosts are little-endian.
        unsafe {
            call!(
                self,
                clGetDeviceInfo(device, name, 8, (&raw mut value).cast(), std::ptr::null_mut())
            )
        }
        .ok()?;
        Some(value)
    }
}

/// Returns the error for a loader that finds no platform.
pub(super) fn no_platform() -> Reason {
    Reason::new(
        "OpenCL platforms",
        "the loader finds no driver (no file in /etc/OpenCL/vendors lists one)",
        CURE,
    )
}

const fn words(code: Status) -> &'static str {
    match code {
        status::DEVICE_NOT_FOUND => "no device",
        status::DEVICE_NOT_AVAILABLE => "the device is not available",
        status::MEM_OBJECT_ALLOCATION_FAILURE => "no memory for the buffer",
        status::OUT_OF_RESOURCES => "out of resources",
        status::OUT_OF_HOST_MEMORY => "out of host memory",
        status::INVALID_WORK_GROUP_SIZE => "the device does not support groups of this size",
        status::INVALID_BUFFER_SIZE => "the device does not support buffers of this size",
        _ => "the call failed",
    }
}

const fn cure(code: Status) -> &'static str {
    match code {
        status::MEM_OBJECT_ALLOCATION_FAILURE
        | status::OUT_OF_RESOURCES
        | status::OUT_OF_HOST_MEMORY
        | status::INVALID_BUFFER_SIZE => {
            "choose a smaller size, or stop other programs that use the memory"
        }
        status::INVALID_WORK_GROUP_SIZE => "choose a smaller block size",
        _ => {
            "run clinfo and check the kernel log (dmesg); if clinfo fails too, reinstall the driver"
        }
    }
}

impl From<ClError> for Reason {
    fn from(failed: ClError) -> Self {
        match failed {
            ClError::Missing(name) => Self::new(
                name,
                "the OpenCL library does not have this function",
                "install a loader and a driver of OpenCL 1.2 or newer",
            ),
            ClError::Status { call, code } => {
                Self::new(call, format!("{} (error {code})", words(code)), cure(code))
            }
        }
    }
}

impl From<ClError> for DeviceError {
    fn from(failed: ClError) -> Self {
        match failed {
            ClError::Missing(_) => Self::Unsupported(failed.into()),
            ClError::Status { .. } => Self::Failed(failed.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_done_skips_and_what_breaks_fails() {
        assert!(matches!(
            DeviceError::from(ClError::Missing("clFinish")),
            DeviceError::Unsupported(_)
        ));
        for (code, word) in [(status::OUT_OF_RESOURCES, "smaller size"), (-9999, "clinfo")] {
            match DeviceError::from(ClError::Status { call: "clFinish", code }) {
                DeviceError::Failed(reason) => assert!(reason.cure.contains(word), "{reason}"),
                DeviceError::Unsupported(reason) => panic!("{reason}"),
            }
        }
    }

    #[test]
    fn text_ends_at_its_zero() {
        let text = Runtime::text(|size, value, needed| {
            if size == 0 {
                // SAFETY: if the size is zero, `needed` points to a live variable of `text`.
                unsafe { *needed = 6 };
            } else {
                // SAFETY: otherwise `value` points to a buffer of `size` bytes, here six.
                unsafe { value.cast::<u8>().copy_from(b"PoCL\0x".as_ptr(), 6) };
            }
            Ok(())
        });
        assert_eq!(text.as_deref(), Ok("PoCL"));
    }
}
