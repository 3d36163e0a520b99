//! The HIP runtime with status codes as errors: failed call, reason and fix.

use std::cell::Cell;
use std::ffi::{CStr, c_int};
use std::path::Path;
use std::rc::Rc;

use hip_runtime_sys::{Hip, MissingPart, Unavailable, error, hipError_t};
use rsb_model::Reason;

use crate::common::{CallError, FAKE_GPU, call, unavailable};

/// The loaded runtime.
pub(super) struct Runtime {
    pub(super) api: Hip,
}

impl Runtime {
    /// Loads and initializes the runtime. `hipInit` may end the process if a driver was only partly
    /// removed, so planning loads it in a child process.
    pub(super) fn start() -> Result<Rc<Self>, Reason> {
        let api = Hip::load().map_err(unavailable)?;
        let runtime = Self { api };
        // SAFETY: hipInit takes no pointers; zero is the only valid flag.
        let started = unsafe { call!(runtime, hipInit(0)) };
        match started {
            Ok(()) => Ok(Rc::new(runtime)),
            Err(CallError::Status { code: error::NO_DEVICE | error::INVALID_DEVICE, .. }) => {
                Err(no_device())
            }
            Err(other) => Err(other.into()),
        }
    }

    /// Returns whether the library is a fake GPU, whose measurements are meaningless.
    pub(super) fn is_fake_gpu(&self) -> bool {
        self.api.loaded().exports(FAKE_GPU)
    }

    /// Returns the number of devices, at least one.
    pub(super) fn count(&self) -> Result<u32, Reason> {
        let mut count: c_int = 0;
        // SAFETY: the pointer refers to a live variable of this type.
        match unsafe { call!(self, hipGetDeviceCount(&raw mut count)) } {
            Ok(()) if count > 0 => Ok(count.unsigned_abs()),
            Ok(())
            | Err(CallError::Status { code: error::NO_DEVICE | error::INVALID_DEVICE, .. }) => {
                Err(no_device())
            }
            Err(other) => Err(other.into()),
        }
    }

    /// Makes `device` current in this thread, unless it already is.
    pub(super) fn make_current(&self, device: c_int) -> Result<(), CallError> {
        thread_local! {
            static CURRENT: Cell<Option<c_int>> = const { Cell::new(None) };
        }
        if CURRENT.get() != Some(device) {
            // SAFETY: the function takes no pointers; an invalid device number returns an error
            // status.
            unsafe { call!(self, hipSetDevice(device)) }?;
            CURRENT.set(Some(device));
        }
        Ok(())
    }

    pub(super) fn status(&self, call: &'static str, code: hipError_t) -> Result<(), CallError> {
        if code == error::SUCCESS { Ok(()) } else { Err(failed(call, code, self.text(code))) }
    }

    pub(super) fn missing(&self, call: &str) -> CallError {
        CallError::Missing(Unavailable::symbol(call, self.api.loaded().path()))
    }

    fn text(&self, code: hipError_t) -> String {
        let Some(function) = self.api.hipGetErrorString else { return format!("error {code}") };
        // SAFETY: the function accepts any number and returns a static string or null.
        let text = unsafe { function(code) };
        if text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: the string is static and null-terminated.
        let text = unsafe { CStr::from_ptr(text) };
        format!("{} (error {code})", text.to_string_lossy())
    }
}

/// Returns the defect of an installed runtime: a missing function that is needed to list or open
/// GPUs.
pub(super) fn defect() -> Option<Reason> {
    const NEEDED: [&str; 4] =
        ["hipInit", "hipSetDevice", "hipMemGetInfo", "hipStreamCreateWithFlags"];
    match Hip::load() {
        Err(missing) => (missing.lack == MissingPart::Function).then(|| unavailable(missing)),
        Ok(api) => {
            let name = api.missing().into_iter().find(|name| NEEDED.contains(name))?;
            Some(unavailable(Unavailable::symbol(name, api.loaded().path())))
        }
    }
}

/// Returns the most likely reason why the runtime sees no device.
fn no_device() -> Reason {
    let node = Path::new("/dev/kfd");
    let (why, cure) = if !node.exists() {
        (
            "the runtime finds no device, and there is no /dev/kfd: the amdgpu driver has not \
             bound to a GPU",
            "load the driver (modprobe amdgpu; in a container or virtual machine, pass /dev/kfd \
             and /dev/dri through)",
        )
    } else if std::fs::File::options().read(true).write(true).open(node).is_err() {
        (
            "the runtime finds no device, and this user cannot access /dev/kfd",
            "add the user to the groups render and video, then log in again",
        )
    } else {
        (
            "the runtime finds no device, although /dev/kfd exists",
            "check HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES, and that this ROCm supports the \
             GPU",
        )
    };
    Reason::new("devices of ROCm", why, cure)
}

const fn cure(code: hipError_t) -> &'static str {
    match code {
        error::OUT_OF_MEMORY => {
            "choose a smaller size, or stop other programs that use the GPU's memory"
        }
        error::INVALID_DEVICE_FUNCTION
        | error::NO_BINARY_FOR_GPU
        | error::INVALID_IMAGE
        | error::NOT_FOUND => {
            "delete the directory of cached kernels (~/.cache/rusty-stack-bench/kernels) and run \
             again"
        }
        error::LAUNCH_OUT_OF_RESOURCES | error::INVALID_CONFIGURATION => {
            "choose a smaller block size"
        }
        error::LAUNCH_TIMEOUT => "choose a smaller size, or a GPU that drives no display",
        error::ECC_NOT_CORRECTABLE => {
            "the GPU's memory has failed: check the kernel log (dmesg) and the RAS counters"
        }
        error::INSUFFICIENT_DRIVER => "install a driver that matches this ROCm version",
        error::NOT_SUPPORTED | error::PEER_ACCESS_UNSUPPORTED => {
            "use another GPU or ROCm version: this one does not support the operation"
        }
        error::ILLEGAL_ADDRESS | error::LAUNCH_FAILURE => {
            "check the kernel log (dmesg) for faults of amdgpu, and test the GPU's memory"
        }
        _ => {
            "check the kernel log (dmesg) for messages of amdgpu; set AMD_LOG_LEVEL=3 for details \
             from the runtime"
        }
    }
}

/// Returns the error of a call that returned `code`.
const fn failed(call: &'static str, code: hipError_t, text: String) -> CallError {
    let is_unsupported = matches!(code, error::NOT_SUPPORTED | error::PEER_ACCESS_UNSUPPORTED);
    CallError::Status { call, code, text, cure: cure(code), is_unsupported }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::device::DeviceError;

    #[test]
    fn what_cannot_be_done_skips_and_what_breaks_fails() {
        for (code, word) in [
            (error::OUT_OF_MEMORY, "smaller size"),
            (error::LAUNCH_FAILURE, "dmesg"),
            (12345, "AMD_LOG_LEVEL"),
        ] {
            match DeviceError::from(status(code)) {
                DeviceError::Failed(reason) => {
                    assert!(reason.cure.contains(word) && reason.what == "hipMalloc");
                }
                DeviceError::Unsupported(reason) => panic!("{reason}"),
            }
        }
        assert!(matches!(
            DeviceError::from(status(error::NOT_SUPPORTED)),
            DeviceError::Unsupported(_)
        ));
        let torn = Unavailable::symbol("hipGraphLaunch", Path::new("/x.so"));
        assert!(matches!(DeviceError::from(CallError::Missing(torn)), DeviceError::Failed(_)));
        let absent = Unavailable::new("libamdhip64", "it is not here", "install it");
        assert!(matches!(
            DeviceError::from(CallError::Missing(absent)),
            DeviceError::Unsupported(_)
        ));
    }

    fn status(code: hipError_t) -> CallError {
        failed("hipMalloc", code, "said so".into())
    }

    #[test]
    fn a_machine_without_a_gpu_says_which_step_is_missing() {
        let reason = no_device();
        assert!(reason.why.contains("/dev/kfd") && !reason.cure.is_empty());
    }
}
