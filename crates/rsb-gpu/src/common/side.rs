//! A second stream of a GPU, for work concurrent with the main stream. Only the main stream records
//! events, so concurrent work must start after the launches before it and end before the launches
//! after it.

use std::rc::Rc;

use super::core::Core;
use super::driver::Handle;
use rsb_device::device::DeviceError;

/// A stream, and the two events that order its work after and before that of the main stream.
pub(super) struct SideStream {
    core: Rc<Core>,
    pub(super) stream: Handle,
    events: [Handle; 2],
}

impl SideStream {
    pub(super) fn new(core: &Rc<Core>) -> Result<Self, DeviceError> {
        core.activate()?;
        let none = std::ptr::null_mut();
        // If a step fails, dropping `side` destroys the handles created before.
        let mut side =
            Self { core: Rc::clone(core), stream: core.driver.create_stream()?, events: [none; 2] };
        for event in &mut side.events {
            *event = core.driver.create_event()?;
        }
        Ok(side)
    }

    /// Makes subsequent work in this stream wait for all work already enqueued in the main stream.
    pub(super) fn leave(&self) -> Result<(), DeviceError> {
        self.order(self.events[0], [self.core.stream, self.stream])
    }

    /// Makes subsequent work in the main stream wait for all work enqueued in this stream.
    pub(super) fn come_back(&self) -> Result<(), DeviceError> {
        self.order(self.events[1], [self.stream, self.core.stream])
    }

    /// Waits for all work in the stream.
    pub(super) fn synchronize(&self) -> Result<(), DeviceError> {
        self.core.activate()?;
        // SAFETY: the stream lives as long as `self`.
        unsafe { self.core.driver.synchronize(self.stream) }
    }

    fn order(&self, event: Handle, [before, after]: [Handle; 2]) -> Result<(), DeviceError> {
        self.core.activate()?;
        // SAFETY: the event and both streams live as long as `self`, and belong to the GPU that was
        // just activated.
        unsafe {
            self.core.driver.record(event, before)?;
            self.core.driver.wait(after, event)
        }
    }
}

impl Drop for SideStream {
    fn drop(&mut self) {
        let _ = self.core.activate();
        let driver = &self.core.driver;
        // SAFETY: the handles were created above and are destroyed only here; all work in the
        // stream has ended.
        unsafe {
            let _ = driver.synchronize(self.stream);
            for event in self.events.into_iter().filter(|event| !event.is_null()) {
                let _ = driver.destroy_event(event);
            }
            let _ = driver.destroy_stream(self.stream);
        }
    }
}
