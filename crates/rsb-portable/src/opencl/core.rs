//! The library, device, context and queue, shared by all objects of a device.

use std::cell::RefCell;
use std::rc::Rc;

use super::api::{Object, flag};
use super::events::{Commands, Event};
use super::platform::{DeviceCandidate, Limits};
use super::runtime::{ClError, Runtime, call, create};

/// Context property for the platform.
const CONTEXT_PLATFORM: isize = 0x1084;

/// An open device.
pub(super) struct Core {
    pub(super) runtime: Rc<Runtime>,
    pub(super) device: Object,
    pub(super) context: Object,
    pub(super) queue: Object,
    pub(super) limits: Limits,
    /// Queued commands whose times streams need.
    pub(super) commands: RefCell<Commands>,
}

impl Core {
    /// Opens a device.
    pub(super) fn open(runtime: Rc<Runtime>, found: &DeviceCandidate) -> Result<Rc<Self>, ClError> {
        let device = found.device;
        let properties = [CONTEXT_PLATFORM, found.platform as isize, 0];
        let none = std::ptr::null_mut();
        // SAFETY: the property list ends with a zero, the device belongs to this platform, and no
        // callback is passed.
        let context = unsafe {
            create!(runtime, clCreateContext(properties.as_ptr(), 1, &raw const device, none, none))
        }?;
        // On later failures, dropping `core` releases the context.
        let mut core = Self {
            runtime,
            device,
            context,
            queue: none,
            limits: found.limits,
            commands: RefCell::default(),
        };
        // SAFETY: the context is live and was created for this device.
        core.queue = unsafe {
            create!(core.runtime, clCreateCommandQueue(context, device, flag::QUEUE_PROFILING))
        }?;
        Ok(Rc::new(core))
    }

    /// Queues a command with `call`, which receives a pointer for the command's event; null if no
    /// stream measures times.
    pub(super) fn queue(
        &self,
        call: impl FnOnce(*mut Object) -> Result<(), ClError>,
    ) -> Result<(), ClError> {
        if !self.commands.borrow().are_timed() {
            return call(std::ptr::null_mut());
        }
        let mut event = std::ptr::null_mut();
        call(&raw mut event)?;
        if let Some(event) = Event::new(&self.runtime, event) {
            self.commands.borrow_mut().add(event);
        }
        Ok(())
    }

    /// Waits for all queued commands.
    pub(super) fn synchronize(&self) -> Result<(), ClError> {
        // SAFETY: the queue lives as long as `self`.
        unsafe { call!(self.runtime, clFinish(self.queue)) }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.commands.take();
        if !self.queue.is_null() {
            // SAFETY: every object that uses the queue owns a reference to this core, so none is
            // left.
            let _ = unsafe { call!(self.runtime, clReleaseCommandQueue(self.queue)) };
        }
        // SAFETY: every object that uses the context owns a reference to this core, so none is
        // left.
        let _ = unsafe { call!(self.runtime, clReleaseContext(self.context)) };
    }
}
