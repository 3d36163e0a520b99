//! What everything on one card shares: the run time, the card's number and its one stream.

use std::ffi::c_int;
use std::rc::Rc;

use hip_runtime_sys::{STREAM_NON_BLOCKING, hipStream_t};

use super::runtime::{HipError, Runtime, call};

/// One card, opened.
pub(super) struct Core {
    pub(super) runtime: Rc<Runtime>,
    pub(super) ordinal: c_int,
    pub(super) stream: hipStream_t,
    /// The processor that kernels are compiled for, such as `gfx90a`.
    pub(super) arch: String,
    /// Compute units.
    pub(super) units: u32,
}

impl Core {
    /// Opens card `ordinal`.
    pub(super) fn open(runtime: Rc<Runtime>, ordinal: c_int, arch: String, units: u32) -> Result<Rc<Self>, HipError> {
        runtime.activate(ordinal)?;
        let mut stream = std::ptr::null_mut();
        // SAFETY: the pointer is to a live variable of this type.
        unsafe { call!(runtime, hipStreamCreateWithFlags(&raw mut stream, STREAM_NON_BLOCKING)) }?;
        Ok(Rc::new(Self { runtime, ordinal, stream, arch, units }))
    }

    /// Makes the card the current one.
    pub(super) fn activate(&self) -> Result<(), HipError> {
        self.runtime.activate(self.ordinal)
    }

    /// Waits for the stream.
    pub(super) fn synchronize(&self) -> Result<(), HipError> {
        self.activate()?;
        // SAFETY: the stream lives as long as `self`.
        unsafe { call!(self.runtime, hipStreamSynchronize(self.stream)) }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let _ = self.activate();
        // SAFETY: nothing that uses the stream is left: all of it holds this core.
        let _ = unsafe { call!(self.runtime, hipStreamDestroy(self.stream)) };
    }
}
