//! Python, started in this process with the configuration of an environment's interpreter.
#![allow(unsafe_code)] // Its configuration is only reachable through its C interface.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pyo3::ffi;
use pyo3::prelude::*;

/// Starts Python as if it were `program` (`venv/bin/python`), with its packages, and with `sources`
/// first in its search path.
///
/// # Errors
/// Python's message, if it cannot start with this configuration.
pub(crate) fn start(program: &Path, sources: &Path) -> Result<(), String> {
    let program = CString::new(program.as_os_str().as_bytes())
        .map_err(|_| "its path contains a zero byte".to_owned())?;
    let mut config = std::mem::MaybeUninit::<ffi::PyConfig>::zeroed();
    // SAFETY: Python is not running in this process, and no other thread uses it. The configuration
    // is initialized by the first call before anything reads it, and cleared once after its last
    // use. The strings are zero-terminated and outlive the block. The GIL remains with this thread,
    // which initialized Python.
    let status = unsafe {
        let config = config.as_mut_ptr();
        ffi::PyConfig_InitPythonConfig(config);
        (*config).parse_argv = 0;
        (*config).install_signal_handlers = 0; // Ctrl-C is for the measuring process.
        (*config).buffered_stdio = 0; // What a framework said before it died must have left.
        let mut status =
            ffi::PyConfig_SetBytesString(config, &raw mut (*config).executable, program.as_ptr());
        if ffi::PyStatus_Exception(status) == 0 {
            status = ffi::Py_InitializeFromConfig(config);
        }
        ffi::PyConfig_Clear(config);
        status
    };
    // SAFETY: `status` is a value returned by Python, as `PyStatus_Exception` requires.
    if unsafe { ffi::PyStatus_Exception(status) } != 0 {
        return Err(status_message(&status));
    }
    let inserted = Python::attach(|py| {
        let path = py.import("sys")?.getattr("path")?;
        path.call_method1("insert", (0, sources.to_string_lossy().into_owned()))?;
        Ok::<_, PyErr>(())
    });
    inserted.map_err(|error| error.to_string())
}

fn status_message(status: &ffi::PyStatus) -> String {
    if status.err_msg.is_null() {
        return "no reason given".to_owned();
    }
    // SAFETY: `err_msg` is not null, and Python sets it to constant zero-terminated strings, which
    // are valid for the whole process.
    unsafe { std::ffi::CStr::from_ptr(status.err_msg) }.to_string_lossy().into_owned()
}
