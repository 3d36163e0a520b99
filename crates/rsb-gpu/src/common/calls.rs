//! Calls of a runtime's functions, each of which may be missing. `$runtime` has the table of
//! functions as `api`, and turns a status or a missing function into its own kind of error.

use std::ffi::c_int;

use rsb_model::Reason;

use rsb_device::device::DeviceError;

/// Calls a function and turns its status into a `Result`. It stands in an `unsafe` block of the
/// caller, who promises what the function asks of its arguments.
macro_rules! call {
    ($runtime:expr, $name:ident($($argument:expr),* $(,)?)) => {
        match $runtime.api.$name {
            Some(function) => $runtime.status(stringify!($name), function($($argument),*)),
            None => Err($runtime.missing(stringify!($name))),
        }
    };
}

/// Calls a function for what it does.
macro_rules! done {
    ($runtime:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: whoever calls promises live handles and memory that is long enough, as `Driver`
        // says.
        Ok(unsafe { $crate::common::call!($runtime, $name($($argument),*)) }?)
    }};
}

/// Calls a function for what it makes, whose address it writes to `$value`.
macro_rules! made {
    ($runtime:expr, |$value:ident| $name:ident($($argument:expr),* $(,)?)) => {{
        let mut made = std::ptr::null_mut();
        let $value = &raw mut made;
        // SAFETY: the pointer is to a live variable; of all else `Driver` says who promises it.
        unsafe { $crate::common::call!($runtime, $name($($argument),*)) }?;
        Ok(made.cast())
    }};
}

/// Calls a function for a whole number, which it writes to `$value`.
macro_rules! number {
    ($runtime:expr, |$value:ident| $name:ident($($argument:expr),* $(,)?)) => {{
        let mut number: c_int = 0;
        let $value = &raw mut number;
        // SAFETY: the pointer is to a live variable; of all else `Driver` says who promises it.
        unsafe { $crate::common::call!($runtime, $name($($argument),*)) }.map(|()| number)
    }};
}

pub(crate) use {call, done, made, number};

/// The status of a call in the thread of a GPU, where the runtime is not asked for its words.
pub(crate) fn in_thread(call: &str, code: c_int) -> Result<(), DeviceError> {
    if code == 0 {
        return Ok(());
    }
    let why = format!("error {code}, in the thread of a GPU");
    let cure = "look at the kernel's log (dmesg); for a collective, choose launcher=one-thread";
    Err(DeviceError::Failed(Reason::new(call, why, cure)))
}
