//! The HIP runtime with statuses turned into values: what failed, why, and what to do about it.

use std::cell::Cell;
use std::ffi::{CStr, c_int};
use std::path::Path;
use std::rc::Rc;

use hip_runtime_sys::{Hip, MissingPart, Unavailable, error, hipError_t};
use rsb_model::Reason;

use crate::common::{FAKE_GPU, call, lacking, unavailable};
use rsb_device::device::DeviceError;

/// The loaded runtime.
pub(super) struct Runtime {
    pub(super) api: Hip,
}

/// Why a call did not do what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HipError {
    /// The library lacks the function.
    Missing(Unavailable),
    /// The function said so.
    Status {
        /// Its name.
        call: &'static str,
        /// What it said.
        code: hipError_t,
        /// In words.
        text: String,
    },
}

impl Runtime {
    /// Loads and initializes it. `hipInit` may end the process where a driver is half removed:
    /// planning asks in a child process.
    pub(super) fn start() -> Result<Rc<Self>, Reason> {
        let api = Hip::load().map_err(unavailable)?;
        let runtime = Self { api };
        // SAFETY: hipInit takes no pointers; zero is the only flag there is.
        let started = unsafe { call!(runtime, hipInit(0)) };
        match started {
            Ok(()) => Ok(Rc::new(runtime)),
            Err(HipError::Status { code: error::NO_DEVICE | error::INVALID_DEVICE, .. }) => {
                Err(no_device())
            }
            Err(other) => Err(other.into()),
        }
    }

    /// Whether the library is a fake GPU, whose figures mean nothing.
    pub(super) fn is_fake_gpu(&self) -> bool {
        self.api.loaded().exports(FAKE_GPU)
    }

    /// How many devices there are, at least one.
    pub(super) fn count(&self) -> Result<u32, Reason> {
        let mut count: c_int = 0;
        // SAFETY: the pointer is to a live variable of this type.
        match unsafe { call!(self, hipGetDeviceCount(&raw mut count)) } {
            Ok(()) if count > 0 => Ok(count.unsigned_abs()),
            Ok(())
            | Err(HipError::Status { code: error::NO_DEVICE | error::INVALID_DEVICE, .. }) => {
                Err(no_device())
            }
            Err(other) => Err(other.into()),
        }
    }

    /// Makes `device` the current one of this thread, unless it is already.
    pub(super) fn make_current(&self, device: c_int) -> Result<(), HipError> {
        thread_local! {
            static CURRENT: Cell<Option<c_int>> = const { Cell::new(None) };
        }
        if CURRENT.get() != Some(device) {
            // SAFETY: no pointers; a number that is no device gives a status.
            unsafe { call!(self, hipSetDevice(device)) }?;
            CURRENT.set(Some(device));
        }
        Ok(())
    }

    pub(super) fn status(&self, call: &'static str, code: hipError_t) -> Result<(), HipError> {
        if code == error::SUCCESS {
            Ok(())
        } else {
            Err(HipError::Status { call, code, text: self.text(code) })
        }
    }

    pub(super) fn missing(&self, call: &str) -> HipError {
        HipError::Missing(Unavailable::symbol(call, self.api.loaded().path()))
    }

    fn text(&self, code: hipError_t) -> String {
        let Some(function) = self.api.hipGetErrorString else { return format!("error {code}") };
        // SAFETY: it takes any number and gives a static text or null.
        let text = unsafe { function(code) };
        if text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: the text is static and ends with a zero.
        let text = unsafe { CStr::from_ptr(text) };
        format!("{} (error {code})", text.to_string_lossy())
    }
}

/// What is wrong with a runtime that is here: a function without which no GPU can be told or
/// opened.
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

/// The likeliest reason why the runtime sees no device.
fn no_device() -> Reason {
    let node = Path::new("/dev/kfd");
    let (why, cure) = if !node.exists() {
        (
            "the runtime finds no device, and there is no /dev/kfd: the driver amdgpu has not \
             taken a GPU",
            "load the driver (modprobe amdgpu; on a container or virtual machine pass /dev/kfd and \
             /dev/dri on)",
        )
    } else if std::fs::File::options().read(true).write(true).open(node).is_err() {
        (
            "the runtime finds no device, and this user may not use /dev/kfd",
            "add the user to the groups render and video, then log in again",
        )
    } else {
        (
            "the runtime finds no device, though /dev/kfd is there",
            "check HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES, and that this ROCm supports the \
             GPU",
        )
    };
    Reason::new("devices of ROCm", why, cure)
}

const fn cure(code: hipError_t) -> &'static str {
    match code {
        error::OUT_OF_MEMORY => "choose a smaller size, or end what else uses the GPU's memory",
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
            "the GPU's memory has failed: look at the kernel's log and its RAS counters"
        }
        error::INSUFFICIENT_DRIVER => "install a driver that goes with this ROCm",
        error::NOT_SUPPORTED | error::PEER_ACCESS_UNSUPPORTED => {
            "this GPU or ROCm version cannot do it"
        }
        error::ILLEGAL_ADDRESS | error::LAUNCH_FAILURE => {
            "look at the kernel's log (dmesg) for faults of amdgpu, and test the GPU's memory"
        }
        _ => {
            "look at the kernel's log (dmesg) for messages of amdgpu; AMD_LOG_LEVEL=3 makes the \
             runtime say more"
        }
    }
}

impl HipError {
    /// The status, when a function gave one.
    pub(super) const fn code(&self) -> Option<hipError_t> {
        match self {
            Self::Missing(_) => None,
            Self::Status { code, .. } => Some(*code),
        }
    }
}

impl From<HipError> for Reason {
    fn from(failed: HipError) -> Self {
        match failed {
            HipError::Missing(missing) => unavailable(missing),
            HipError::Status { call, code, text } => Self::new(call, text, cure(code)),
        }
    }
}

impl From<HipError> for DeviceError {
    fn from(failed: HipError) -> Self {
        match failed {
            HipError::Status {
                code: error::NOT_SUPPORTED | error::PEER_ACCESS_UNSUPPORTED,
                ..
            } => Self::Unsupported(failed.into()),
            HipError::Missing(missing) => lacking(missing),
            HipError::Status { .. } => Self::Failed(failed.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(matches!(DeviceError::from(HipError::Missing(torn)), DeviceError::Failed(_)));
        let absent = Unavailable::new("libamdhip64", "it is not here", "install it");
        assert!(matches!(
            DeviceError::from(HipError::Missing(absent)),
            DeviceError::Unsupported(_)
        ));
    }

    fn status(code: hipError_t) -> HipError {
        HipError::Status { call: "hipMalloc", code, text: "said so".into() }
    }

    #[test]
    fn a_machine_without_a_gpu_says_which_step_is_missing() {
        let reason = no_device();
        assert!(reason.why.contains("/dev/kfd") && !reason.cure.is_empty());
    }
}
