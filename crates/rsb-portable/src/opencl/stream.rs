//! The device's queue and its clock: marks are events of the queue, whose ends the driver times.

use std::ffi::c_void;
use std::rc::Rc;
use std::time::Instant;

use super::api::{Object, ask};
use super::core::Core;
use super::runtime::{ClError, call};
use crate::portable::defect;
use rsb_device::device::{DeviceError, Stream, StreamEvent};

/// Marks that can be asked about at once. Older ones are given back: a case takes millions of marks.
const MARKS: usize = 64;

/// A mark.
enum Mark {
    /// Timed by the driver.
    Queue(Object),
    /// Where the driver times nothing: by the host's clock, after a wait.
    Host(Instant),
}

/// The queue of a device with its marks.
pub(super) struct ClStream {
    core: Rc<Core>,
    marks: Vec<Mark>,
    /// How many marks were made.
    made: u64,
    clock: Clock,
}

/// Which clock times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    Driver,
    Host,
}

impl ClStream {
    /// A driver that cannot time a mark is not asked again.
    pub(super) fn new(core: &Rc<Core>) -> Self {
        let mut stream =
            Self { core: Rc::clone(core), marks: Vec::with_capacity(MARKS), made: 0, clock: Clock::Driver };
        let tried = stream.record().and_then(|mark| {
            stream.synchronize()?;
            stream.elapsed_ns(mark, mark)
        });
        if tried.is_err() {
            stream.clock = Clock::Host;
            stream.forget();
        }
        stream
    }

    fn mark(&self, mark: StreamEvent) -> Result<&Mark, DeviceError> {
        let known = mark.0 < self.made && self.made - mark.0 <= MARKS as u64;
        let found = self.marks.get((mark.0 % MARKS as u64) as usize).filter(|_| known);
        let why = || format!("a mark is not of this stream, or {MARKS} others were made since");
        found.ok_or_else(|| defect("time between two marks", why()))
    }

    fn queue_mark(&self) -> Result<Object, ClError> {
        let mut event: Object = std::ptr::null_mut();
        let none = std::ptr::null::<c_void>();
        // SAFETY: the queue is live, nothing is waited for beside what came before, the pointer is to a live variable.
        unsafe {
            call!(self.core.runtime, clEnqueueMarkerWithWaitList(self.core.queue, 0, none.cast(), &raw mut event))
        }?;
        Ok(event)
    }

    /// Nanoseconds of the device's clock at which `event` was passed.
    fn passed_at(&self, event: Object) -> Result<u64, ClError> {
        let mut time = 0_u64;
        let value = (&raw mut time).cast();
        // SAFETY: the event is live and there is room for 64 bits.
        unsafe {
            call!(
                self.core.runtime,
                clGetEventProfilingInfo(event, ask::PROFILING_COMMAND_END, 8, value, std::ptr::null_mut())
            )
        }?;
        Ok(time)
    }

    fn release(&self, mark: &Mark) {
        if let Mark::Queue(event) = mark {
            // SAFETY: it was made by clEnqueueMarkerWithWaitList, and nobody else gives it back.
            let _ = unsafe { call!(self.core.runtime, clReleaseEvent(*event)) };
        }
    }

    fn forget(&mut self) {
        for mark in std::mem::take(&mut self.marks) {
            self.release(&mark);
        }
        self.made = 0;
    }
}

impl Stream for ClStream {
    fn record(&mut self) -> Result<StreamEvent, DeviceError> {
        let mark = match self.clock {
            Clock::Driver => Mark::Queue(self.queue_mark()?),
            Clock::Host => {
                self.core.synchronize()?;
                Mark::Host(Instant::now())
            }
        };
        let number = StreamEvent(self.made);
        match self.marks.get_mut((self.made % MARKS as u64) as usize) {
            Some(old) => {
                let old = std::mem::replace(old, mark);
                self.release(&old);
            }
            None => self.marks.push(mark),
        }
        self.made += 1;
        Ok(number)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(self.core.synchronize()?)
    }

    fn elapsed_ns(&mut self, from: StreamEvent, to: StreamEvent) -> Result<f64, DeviceError> {
        match (self.mark(from)?, self.mark(to)?) {
            (Mark::Queue(from), Mark::Queue(to)) => {
                let (from, to) = (self.passed_at(*from)?, self.passed_at(*to)?);
                Ok(to as f64 - from as f64)
            }
            (Mark::Host(from), Mark::Host(to)) => Ok(to.saturating_duration_since(*from).as_nanos() as f64),
            _ => Err(defect("time between two marks", "they are of two clocks")),
        }
    }
}

impl Drop for ClStream {
    fn drop(&mut self) {
        self.forget();
    }
}
