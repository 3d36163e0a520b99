//! The driver API with status codes as errors: failed call, reason and fix.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::rc::Rc;

use cuda_sys::{CUcontext, CUdevice, CUresult, Cuda, MissingPart, Unavailable, error};
use rsb_model::Reason;

use crate::common::{CallError, FAKE_GPU, call, unavailable};

thread_local! {
    /// Context that this program last made current in this thread.
    static CURRENT: Cell<CUcontext> = const { Cell::new(std::ptr::null_mut()) };
}

/// The initialized driver, and this program's contexts.
pub(super) struct Runtime {
    pub(super) api: Cuda,
    /// Retained when a device is first used, released at the end.
    contexts: RefCell<Vec<Option<(CUdevice, CUcontext)>>>,
}

impl Runtime {
    /// Loads and initializes the driver. Initialization may end the process if a driver was only
    /// partly removed, so planning loads it in a child process.
    pub(super) fn start() -> Result<Rc<Self>, Reason> {
        let api = Cuda::load().map_err(unavailable)?;
        let runtime = Self { api, contexts: RefCell::default() };
        // SAFETY: the function takes no pointers; zero is the only valid flag.
        match unsafe { call!(runtime, cuInit(0)) } {
            Ok(()) => Ok(Rc::new(runtime)),
            Err(CallError::Status { code: error::NO_DEVICE, .. }) => {
                Err(no_device(Path::new("/dev/nvidiactl")))
            }
            Err(other) => Err(other.into()),
        }
    }

    /// Returns whether the library is a fake GPU, whose measurements are meaningless.
    pub(super) fn is_fake_gpu(&self) -> bool {
        self.api.loaded().exports(FAKE_GPU)
    }

    /// Returns the newest CUDA version that the driver supports, such as (12, 8).
    pub(super) fn version(&self) -> Option<(u32, u32)> {
        let mut version: c_int = 0;
        // SAFETY: the pointer refers to a live variable of this type.
        unsafe { call!(self, cuDriverGetVersion(&raw mut version)) }.ok()?;
        let version = u32::try_from(version).ok().filter(|&version| version > 0)?;
        Some((version / 1000, version % 1000 / 10))
    }

    /// Returns the number of devices, at least one.
    pub(super) fn count(&self) -> Result<u32, Reason> {
        let mut count: c_int = 0;
        // SAFETY: the pointer refers to a live variable of this type.
        match unsafe { call!(self, cuDeviceGetCount(&raw mut count)) } {
            Ok(()) if count > 0 => Ok(count.unsigned_abs()),
            Ok(()) | Err(CallError::Status { code: error::NO_DEVICE, .. }) => {
                Err(no_device(Path::new("/dev/nvidiactl")))
            }
            Err(other) => Err(other.into()),
        }
    }

    /// Returns the driver's handle of device `ordinal`.
    pub(super) fn device(&self, ordinal: c_int) -> Result<CUdevice, CallError> {
        let mut device: CUdevice = 0;
        // SAFETY: the pointer refers to a live variable of this type.
        unsafe { call!(self, cuDeviceGet(&raw mut device, ordinal)) }?;
        Ok(device)
    }

    /// Returns the primary context of device `ordinal`, which other libraries in this process use
    /// too.
    pub(super) fn context(&self, ordinal: c_int) -> Result<CUcontext, CallError> {
        let place = usize::try_from(ordinal).unwrap_or(usize::MAX);
        if let Some(Some((_, context))) = self.contexts.borrow().get(place) {
            return Ok(*context);
        }
        let device = self.device(ordinal)?;
        let mut context: CUcontext = std::ptr::null_mut();
        // SAFETY: the pointer refers to a live variable of this type.
        unsafe { call!(self, cuDevicePrimaryCtxRetain(&raw mut context, device)) }?;
        let mut contexts = self.contexts.borrow_mut();
        let needed = contexts.len().max(place.saturating_add(1));
        contexts.resize(needed, None);
        if let Some(room) = contexts.get_mut(place) {
            *room = Some((device, context));
        }
        Ok(context)
    }

    /// Makes device `ordinal` current in this thread, unless it already is.
    pub(super) fn make_current(&self, ordinal: c_int) -> Result<(), CallError> {
        let context = self.context(ordinal)?;
        if CURRENT.get() != context {
            // SAFETY: the context is live until `self` is dropped.
            unsafe { call!(self, cuCtxSetCurrent(context)) }?;
            CURRENT.set(context);
        }
        Ok(())
    }

    pub(super) fn status(&self, call: &'static str, code: CUresult) -> Result<(), CallError> {
        if code == error::SUCCESS { Ok(()) } else { Err(failed(call, code, self.text(code))) }
    }

    pub(super) fn missing(&self, call: &str) -> CallError {
        CallError::Missing(Unavailable::symbol(call, self.api.loaded().path()))
    }

    fn text(&self, code: CUresult) -> String {
        let text_of =
            |function: Option<unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult>| {
                let mut text: *const c_char = std::ptr::null();
                // SAFETY: the function accepts any number and writes the address of a static
                // string, or null.
                let status = unsafe { function?(code, &raw mut text) };
                let is_text = status == error::SUCCESS && !text.is_null();
                // SAFETY: the string is static and null-terminated.
                is_text.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
            };
        match (text_of(self.api.cuGetErrorName), text_of(self.api.cuGetErrorString)) {
            (Some(name), Some(text)) => format!("{text} ({name}, error {code})"),
            (Some(text), None) | (None, Some(text)) => format!("{text} (error {code})"),
            (None, None) => format!("error {code}"),
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        for (device, context) in self.contexts.borrow().iter().flatten() {
            if CURRENT.get() == *context {
                CURRENT.set(std::ptr::null_mut());
            }
            // SAFETY: the context was retained once, and this program no longer uses it.
            let _ = unsafe { call!(self, cuDevicePrimaryCtxRelease_v2(*device)) };
        }
    }
}

/// Returns the defect of an installed driver: a missing function that is needed to list or open
/// GPUs.
pub(super) fn defect() -> Option<Reason> {
    const NEEDED: [&str; 6] = [
        "cuInit",
        "cuDeviceGetCount",
        "cuDevicePrimaryCtxRetain",
        "cuCtxSetCurrent",
        "cuMemGetInfo_v2",
        "cuStreamCreate",
    ];
    match Cuda::load() {
        Err(missing) => (missing.lack == MissingPart::Function).then(|| unavailable(missing)),
        Ok(api) => {
            let name = api.missing().into_iter().find(|name| NEEDED.contains(name))?;
            Some(unavailable(Unavailable::symbol(name, api.loaded().path())))
        }
    }
}

/// Returns the most likely reason why the driver sees no device. `node` is the device file of the
/// kernel module.
fn no_device(node: &Path) -> Reason {
    let (why, cure) = if !node.exists() {
        (
            "the driver library is installed, but the kernel module is not loaded: there is no \
             /dev/nvidiactl",
            "load the module (modprobe nvidia nvidia-uvm; rebuild it after a kernel update), or \
             pass the GPU through to the container (--gpus all)",
        )
    } else if std::fs::File::options().read(true).write(true).open(node).is_err() {
        (
            "the driver finds no device, and this user cannot access /dev/nvidiactl",
            "give the user access to /dev/nvidia*",
        )
    } else {
        (
            "the driver is loaded but finds no device",
            "check CUDA_VISIBLE_DEVICES; if MIG is enabled, create an instance (nvidia-smi mig \
             -cgi) and list it there; check the kernel log (dmesg) for messages of NVRM",
        )
    };
    Reason::new("devices of CUDA", why, cure)
}

const fn cure(code: CUresult) -> &'static str {
    match code {
        error::OUT_OF_MEMORY => {
            "choose a smaller size, or stop other programs that use the GPU's memory"
        }
        error::STUB_LIBRARY => {
            "remove the directory of stubs from LD_LIBRARY_PATH: the driver's own libcuda.so.1 is \
             needed"
        }
        error::DEVICE_UNAVAILABLE => {
            "another program uses the GPU exclusively: stop it, or set the GPU's compute mode to \
             default (nvidia-smi -c 0)"
        }
        error::SYSTEM_DRIVER_MISMATCH => {
            "the driver was updated while its module was loaded: restart the machine, or reload \
             the module"
        }
        error::COMPAT_NOT_SUPPORTED_ON_DEVICE => {
            "remove the package cuda-compat from the library path: this GPU needs a newer driver \
             instead"
        }
        error::SYSTEM_NOT_READY => {
            "start the fabric manager (systemctl start nvidia-fabricmanager)"
        }
        error::INVALID_IMAGE | error::NO_BINARY_FOR_GPU | error::NOT_FOUND => {
            "install a driver as new as the compiler (nvidia-smi shows the CUDA version that the \
             driver supports), or a compiler of that CUDA version; then delete the cached kernels \
             (~/.cache/rusty-stack-bench/kernels)"
        }
        error::LAUNCH_OUT_OF_RESOURCES => "choose a smaller block size",
        error::LAUNCH_TIMEOUT => "choose a smaller size, or a GPU that drives no display",
        error::ECC_UNCORRECTABLE => "the GPU's memory has failed: run `nvidia-smi -q -d ECC`",
        error::NOT_SUPPORTED | error::PEER_ACCESS_UNSUPPORTED => {
            "use another GPU or driver: this one does not support the operation"
        }
        _ => {
            "check the kernel log (dmesg) for messages of NVRM (Xid), and test the GPU with \
             `nvidia-smi -q`"
        }
    }
}

/// Returns the error of a call that returned `code`.
const fn failed(call: &'static str, code: CUresult, text: String) -> CallError {
    let is_unsupported = matches!(code, error::NOT_SUPPORTED | error::PEER_ACCESS_UNSUPPORTED);
    CallError::Status { call, code, text, cure: cure(code), is_unsupported }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::device::DeviceError;

    #[test]
    fn what_cannot_be_done_skips_and_what_breaks_fails() {
        let status = |code| failed("cuMemAlloc_v2", code, "said so".into());
        for (code, word) in [
            (error::OUT_OF_MEMORY, "smaller size"),
            (error::INVALID_IMAGE, "driver as new"),
            (error::SYSTEM_DRIVER_MISMATCH, "restart"),
            (12345, "dmesg"),
        ] {
            match DeviceError::from(status(code)) {
                DeviceError::Failed(reason) => {
                    assert!(reason.cure.contains(word) && reason.what == "cuMemAlloc_v2");
                }
                DeviceError::Unsupported(reason) => panic!("{reason}"),
            }
        }
        assert!(matches!(
            DeviceError::from(status(error::NOT_SUPPORTED)),
            DeviceError::Unsupported(_)
        ));
        let torn = Unavailable::symbol("cuGraphLaunch", Path::new("/x.so"));
        assert!(matches!(DeviceError::from(CallError::Missing(torn)), DeviceError::Failed(_)));
    }

    #[test]
    fn each_way_to_have_no_gpu_says_which_step_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let node = dir.path().join("nvidiactl");
        assert!(no_device(&node).cure.contains("modprobe nvidia"));
        std::fs::write(&node, "").unwrap();
        assert!(no_device(&node).cure.contains("MIG"));
    }
}
