//! The GPU's stream and its clock, based on runtime events.

use std::rc::Rc;

use rsb_model::Reason;

use super::core::Core;
use super::driver::Handle;
use rsb_device::device::{DeviceError, Stream, StreamEvent};

/// Number of recent events that can be queried. Older ones are reused: a case records millions of
/// events.
const MARKS: usize = 64;

/// The stream of a GPU with its events.
pub(super) struct GpuStream {
    core: Rc<Core>,
    events: Vec<Handle>,
    /// Number of events recorded.
    made: u64,
}

impl GpuStream {
    pub(super) fn new(core: &Rc<Core>) -> Result<Self, DeviceError> {
        core.activate()?;
        // If a step fails, dropping `stream` destroys the events created before.
        let mut stream = Self { core: Rc::clone(core), events: Vec::with_capacity(MARKS), made: 0 };
        for _ in 0..MARKS {
            stream.events.push(core.driver.create_event()?);
        }
        Ok(stream)
    }

    /// Returns the runtime event of `mark`, unless it has been reused.
    fn event(&self, mark: StreamEvent) -> Result<Handle, DeviceError> {
        let known = mark.0 < self.made && self.made - mark.0 <= MARKS as u64;
        let event = self.events.get((mark.0 % MARKS as u64) as usize).copied().filter(|_| known);
        event.ok_or_else(|| {
            DeviceError::Failed(Reason::new(
                "time between two events",
                format!(
                    "an event does not belong to this stream, or {MARKS} newer events replaced it"
                ),
                "report this as a bug with the case id",
            ))
        })
    }
}

impl Stream for GpuStream {
    fn record(&mut self) -> Result<StreamEvent, DeviceError> {
        self.core.activate()?;
        let mark = StreamEvent(self.made);
        let Some(&event) = self.events.get((self.made % MARKS as u64) as usize) else {
            return Ok(mark);
        };
        // SAFETY: event and stream live as long as `self`.
        unsafe { self.core.driver.record(event, self.core.stream) }?;
        self.made += 1;
        Ok(mark)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.core.synchronize()
    }

    fn elapsed_ns(&mut self, from: StreamEvent, to: StreamEvent) -> Result<f64, DeviceError> {
        let (from, to) = (self.event(from)?, self.event(to)?);
        self.core.activate()?;
        // SAFETY: both events were recorded and live as long as `self`.
        let milliseconds = unsafe { self.core.driver.elapsed_ms(from, to) }?;
        Ok(f64::from(milliseconds) * 1e6)
    }
}

impl Drop for GpuStream {
    fn drop(&mut self) {
        let _ = self.core.activate();
        for &event in &self.events {
            // SAFETY: the event was created above and is destroyed only here.
            let _ = unsafe { self.core.driver.destroy_event(event) };
        }
    }
}
