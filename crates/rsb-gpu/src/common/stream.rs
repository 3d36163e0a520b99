//! The GPU's stream and its clock: marks are events of the runtime.

use std::rc::Rc;

use rsb_model::Reason;

use super::core::Core;
use super::driver::Handle;
use rsb_device::device::{DeviceError, Stream, StreamEvent};

/// Marks that can be asked about at once. Older ones are used again: a case takes millions of
/// marks.
const MARKS: usize = 64;

/// The stream of a GPU with its marks.
pub(super) struct GpuStream {
    core: Rc<Core>,
    events: Vec<Handle>,
    /// How many marks were made.
    made: u64,
}

impl GpuStream {
    pub(super) fn new(core: &Rc<Core>) -> Result<Self, DeviceError> {
        core.activate()?;
        // What fails half way gives back what was made until then, when `stream` is dropped.
        let mut stream = Self { core: Rc::clone(core), events: Vec::with_capacity(MARKS), made: 0 };
        for _ in 0..MARKS {
            stream.events.push(core.driver.create_event()?);
        }
        Ok(stream)
    }

    /// The event behind a mark, unless it was used again since.
    fn event(&self, mark: StreamEvent) -> Result<Handle, DeviceError> {
        let known = mark.0 < self.made && self.made - mark.0 <= MARKS as u64;
        let event = self.events.get((mark.0 % MARKS as u64) as usize).copied().filter(|_| known);
        event.ok_or_else(|| {
            DeviceError::Failed(Reason::new(
                "time between two marks",
                format!("a mark is not of this stream, or {MARKS} others were made since"),
                "this is a defect of this program: please report it with the case's id",
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
            // SAFETY: it was made above, and nobody else gives it back.
            let _ = unsafe { self.core.driver.destroy_event(event) };
        }
    }
}
