//! Streams and events.

use crate::orders::ClockFault;
use crate::state::{Event, State, Stream, current};
use crate::status::{self, Status};

impl State {
    /// Creates a stream of the current GPU.
    pub(crate) fn new_stream(&mut self) -> Result<usize, Status> {
        self.sound(current())?;
        Ok(self.streams.add(Stream::idle(current())))
    }

    /// Creates an event that is not yet recorded.
    pub(crate) fn new_event(&mut self) -> Result<usize, Status> {
        self.sound(current())?;
        Ok(self.events.add(Event { gpu: current(), at: None }))
    }

    /// Records an event at the current end of a stream, which must belong to the event's GPU.
    pub(crate) fn record(&mut self, event: usize, stream: usize) -> Result<(), Status> {
        let own = self.events.get(event)?.gpu;
        let stream = self.stream(stream)?;
        let (gpu, busy_until) = (stream.gpu, stream.busy_until);
        if own != gpu {
            return Err(status::INVALID_HANDLE);
        }
        if stream.captured.is_some() {
            return Err(status::CAPTURE_UNSUPPORTED);
        }
        self.sound(gpu)?;
        self.note("record");
        let now = self.clock.mark(busy_until);
        self.events.get(event)?.at = Some(now);
        Ok(())
    }

    /// Makes later work of a stream wait for an event. Has no effect if the event was not recorded.
    pub(crate) fn stream_waits(&mut self, stream: usize, event: usize) -> Result<(), Status> {
        let at = self.events.get(event)?.at;
        let stream = self.stream(stream)?;
        if stream.captured.is_some() {
            return Err(status::CAPTURE_UNSUPPORTED);
        }
        stream.busy_until = at.map_or(stream.busy_until, |at| stream.busy_until.max(at));
        Ok(())
    }

    /// Returns the time between two events of the same GPU in milliseconds, after applying the
    /// injected clock fault, if any.
    pub(crate) fn elapsed_ms(&mut self, from: usize, until: usize) -> Result<f32, Status> {
        let (from, until) = (*self.events.get(from)?, *self.events.get(until)?);
        let gpu = from.gpu;
        let (Some(from), Some(to), true) = (from.at, until.at, gpu == until.gpu) else {
            return Err(status::INVALID_HANDLE);
        };
        self.sound(gpu)?;
        let milliseconds = (to - from) / 1e6;
        let elapsed = match self.orders.as_ref().map_err(|_| status::NOT_INITIALIZED)?.lie() {
            None => milliseconds,
            Some(ClockFault::Fast) => milliseconds / 1e6,
            Some(ClockFault::Backwards) => -milliseconds,
            Some(ClockFault::Nan) => f64::NAN,
            Some(ClockFault::Stopped) => 0.0,
        };
        Ok(elapsed as f32)
    }
}
