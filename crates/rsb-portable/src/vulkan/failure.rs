//! Conversion of Vulkan errors to errors with a description, a reason and a fix.

use ash::vk;
use rsb_model::Reason;

use rsb_device::device::DeviceError;

/// A failed Vulkan call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failure {
    call: &'static str,
    result: vk::Result,
}

/// Adds the name of the Vulkan function to a result.
pub(super) trait WithCall<T> {
    /// Converts an error to a [`Failure`] of the function `call`.
    fn with_call(self, call: &'static str) -> Result<T, Failure>;
}

impl<T> WithCall<T> for Result<T, vk::Result> {
    fn with_call(self, call: &'static str) -> Result<T, Failure> {
        self.map_err(|result| Failure { call, result })
    }
}

impl Failure {
    /// Returns the Vulkan result code.
    pub(super) const fn result(self) -> vk::Result {
        self.result
    }
}

const fn cure(result: vk::Result) -> &'static str {
    match result {
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
        | vk::Result::ERROR_OUT_OF_HOST_MEMORY
        | vk::Result::ERROR_TOO_MANY_OBJECTS => {
            "choose a smaller size, or stop other programs that use the memory"
        }
        vk::Result::ERROR_DEVICE_LOST => {
            "check the kernel log (dmesg): some drivers stop kernels that run for seconds; choose \
             a smaller size"
        }
        _ => {
            "run vulkaninfo and check the kernel log (dmesg); if vulkaninfo fails too, reinstall \
             the driver"
        }
    }
}

impl From<Failure> for Reason {
    fn from(failure: Failure) -> Self {
        Self::new(failure.call, failure.result.to_string(), cure(failure.result))
    }
}

impl From<Failure> for DeviceError {
    fn from(failure: Failure) -> Self {
        match failure.result {
            vk::Result::ERROR_FEATURE_NOT_PRESENT | vk::Result::ERROR_EXTENSION_NOT_PRESENT => {
                Self::Unsupported(failure.into())
            }
            _ => Self::Failed(failure.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_done_skips_and_what_breaks_fails() {
        assert!(matches!(
            error_of(vk::Result::ERROR_FEATURE_NOT_PRESENT),
            DeviceError::Unsupported(_)
        ));
        for (result, word) in [
            (vk::Result::ERROR_DEVICE_LOST, "dmesg"),
            (vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, "smaller size"),
            (vk::Result::ERROR_UNKNOWN, "vulkaninfo"),
        ] {
            match error_of(result) {
                DeviceError::Failed(reason) => {
                    assert!(
                        reason.what == "vkQueueSubmit" && reason.cure.contains(word),
                        "{reason}"
                    );
                }
                DeviceError::Unsupported(reason) => panic!("{reason}"),
            }
        }
    }

    fn error_of(result: vk::Result) -> DeviceError {
        DeviceError::from(Failure { call: "vkQueueSubmit", result })
    }
}
