//! Macros that call a runtime's functions, each of which may be missing. `$runtime` has the
//! function table as `api`, and converts a status or a missing function to its own error type.

use std::ffi::c_int;

use rsb_model::Reason;
use runtime_loading::Unavailable;

use super::{lacking, unavailable};
use rsb_device::device::DeviceError;

/// Error of a call of a runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallError {
    /// The library lacks the function.
    Missing(Unavailable),
    /// The function returned an error status.
    Status {
        /// Name of the function.
        call: &'static str,
        /// Status code.
        code: c_int,
        /// Text of the status.
        text: String,
        /// Remedy.
        cure: &'static str,
        /// Whether the device does not support the operation.
        is_unsupported: bool,
    },
}

impl CallError {
    /// Returns the status, if a function returned one.
    pub(crate) const fn code(&self) -> Option<c_int> {
        match self {
            Self::Missing(_) => None,
            Self::Status { code, .. } => Some(*code),
        }
    }
}

impl From<CallError> for Reason {
    fn from(failed: CallError) -> Self {
        match failed {
            CallError::Missing(missing) => unavailable(missing),
            CallError::Status { call, text, cure, .. } => Self::new(call, text, cure),
        }
    }
}

impl From<CallError> for DeviceError {
    fn from(failed: CallError) -> Self {
        match failed {
            CallError::Missing(missing) => lacking(missing),
            CallError::Status { is_unsupported: true, .. } => Self::Unsupported(failed.into()),
            CallError::Status { .. } => Self::Failed(failed.into()),
        }
    }
}

/// Calls a function and converts its status to a `Result`. Must be used in an `unsafe` block whose
/// author ensures that the arguments meet the function's requirements.
macro_rules! call {
    ($runtime:expr, $name:ident($($argument:expr),* $(,)?)) => {
        match $runtime.api.$name {
            Some(function) => $runtime.status(stringify!($name), function($($argument),*)),
            None => Err($runtime.missing(stringify!($name))),
        }
    };
}

/// Calls a function that returns only a status.
macro_rules! done {
    ($runtime:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: the caller guarantees that handles are live and memory is long enough, as
        // documented in `Driver`.
        Ok(unsafe { $crate::common::call!($runtime, $name($($argument),*)) }?)
    }};
}

/// Calls a function that creates an object, whose address it writes to `$value`.
macro_rules! made {
    ($runtime:expr, |$value:ident| $name:ident($($argument:expr),* $(,)?)) => {{
        let mut made = std::ptr::null_mut();
        let $value = &raw mut made;
        // SAFETY: the pointer refers to a live variable; the caller guarantees the rest, as in
        // `Driver`.
        unsafe { $crate::common::call!($runtime, $name($($argument),*)) }?;
        Ok(made.cast())
    }};
}

/// Calls a function that returns an integer, which it writes to `$value`.
macro_rules! number {
    ($runtime:expr, |$value:ident| $name:ident($($argument:expr),* $(,)?)) => {{
        let mut number: c_int = 0;
        let $value = &raw mut number;
        // SAFETY: the pointer refers to a live variable; the caller guarantees the rest, as in
        // `Driver`.
        unsafe { $crate::common::call!($runtime, $name($($argument),*)) }.map(|()| number)
    }};
}

pub(crate) use {call, done, made, number};

/// Converts the status of a call in a launching thread, in which the runtime's error text is not
/// available.
pub(crate) fn in_thread(call: &str, code: c_int) -> Result<(), DeviceError> {
    if code == 0 {
        return Ok(());
    }
    let why = format!("error {code} in a thread that launches on the GPU");
    let cure = "check the kernel log (dmesg); for a collective, choose launcher=one-thread";
    Err(DeviceError::Failed(Reason::new(call, why, cure)))
}
