//! A second stream of a GPU, for what goes on beside the first. Marks stand in the first alone, so
//! that what is beside it begins after and ends before what is launched there.

use std::rc::Rc;

use super::core::Core;
use super::driver::Handle;
use rsb_device::device::DeviceError;

/// The stream, and the two events by which it leaves the first one and comes back.
pub(super) struct SideStream {
    core: Rc<Core>,
    pub(super) stream: Handle,
    events: [Handle; 2],
}

impl SideStream {
    pub(super) fn new(core: &Rc<Core>) -> Result<Self, DeviceError> {
        core.activate()?;
        let none = std::ptr::null_mut();
        // What fails half way gives back what was made until then, when `side` is dropped.
        let mut side =
            Self { core: Rc::clone(core), stream: core.driver.create_stream()?, events: [none; 2] };
        for event in &mut side.events {
            *event = core.driver.create_event()?;
        }
        Ok(side)
    }

    /// What is started here from now on waits for everything that the first stream was given.
    pub(super) fn leave(&self) -> Result<(), DeviceError> {
        self.order(self.events[0], [self.core.stream, self.stream])
    }

    /// What the first stream is given from now on waits for everything that was started here.
    pub(super) fn come_back(&self) -> Result<(), DeviceError> {
        self.order(self.events[1], [self.stream, self.core.stream])
    }

    /// Waits for it.
    pub(super) fn synchronize(&self) -> Result<(), DeviceError> {
        self.core.activate()?;
        // SAFETY: the stream lives as long as `self`.
        unsafe { self.core.driver.synchronize(self.stream) }
    }

    fn order(&self, event: Handle, [before, after]: [Handle; 2]) -> Result<(), DeviceError> {
        self.core.activate()?;
        // SAFETY: the event and both streams live as long as `self`, and are of the GPU that was
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
        // SAFETY: all of it was made above, and nobody else gives it back; what was started here
        // has ended.
        unsafe {
            let _ = driver.synchronize(self.stream);
            for event in self.events.into_iter().filter(|event| !event.is_null()) {
                let _ = driver.destroy_event(event);
            }
            let _ = driver.destroy_stream(self.stream);
        }
    }
}
