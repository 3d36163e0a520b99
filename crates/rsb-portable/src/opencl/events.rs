//! Events of queued commands, recorded while streams measure times.
//!
//! The start of the first command and the end of the last are used instead of markers between
//! commands (`clEnqueueMarkerWithWaitList`). Some drivers report marker times that are out of order
//! with the surrounding commands (Intel: <https://github.com/CHIP-SPV/chipStar/issues/1549>,
//! <https://github.com/intel/llvm/issues/22229>) or zero (NVIDIA:
//! <https://github.com/fixstars/clpy/issues/216>).

use std::cell::OnceCell;
use std::rc::Rc;

use super::api::{Object, ask};
use super::runtime::{ClError, Runtime, call};

/// The event of one command, released with its last owner.
pub(super) struct Event {
    runtime: Rc<Runtime>,
    object: Object,
}

impl Event {
    /// Takes ownership of `object`, or returns `None` if the driver created no event.
    pub(super) fn new(runtime: &Rc<Runtime>, object: Object) -> Option<Rc<Self>> {
        (!object.is_null()).then(|| Rc::new(Self { runtime: Rc::clone(runtime), object }))
    }

    /// Returns the start time of the command in nanoseconds of the device clock.
    pub(super) fn start_ns(&self) -> Result<u64, ClError> {
        self.time(ask::PROFILING_COMMAND_START)
    }

    /// Returns the end time of the command in nanoseconds of the device clock.
    pub(super) fn end_ns(&self) -> Result<u64, ClError> {
        self.time(ask::PROFILING_COMMAND_END)
    }

    fn time(&self, name: u32) -> Result<u64, ClError> {
        let mut time = 0_u64;
        let value = (&raw mut time).cast();
        // SAFETY: the event is live, and the pointer is to a live 64-bit variable.
        unsafe {
            call!(
                self.runtime,
                clGetEventProfilingInfo(self.object, name, 8, value, std::ptr::null_mut())
            )
        }?;
        Ok(time)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the driver created the event for a command, and nothing else releases it.
        let _ = unsafe { call!(self.runtime, clReleaseEvent(self.object)) };
    }
}

/// A position in the queue, with the events of the commands before and after it, if any.
pub(super) struct Gap {
    before: Option<Rc<Event>>,
    after: Rc<OnceCell<Rc<Event>>>,
}

impl Gap {
    /// Returns the first and the last command between this gap and `later`; `None` if nothing was
    /// queued between them.
    pub(super) fn commands_until<'a>(&'a self, later: &'a Self) -> Option<(&'a Event, &'a Event)> {
        let (first, last) = (self.after.get()?, later.before.as_ref()?);
        let is_empty = later.after.get().is_some_and(|next| Rc::ptr_eq(next, first));
        (!is_empty).then_some((&**first, &**last))
    }
}

/// Events of queued commands, recorded while streams measure times.
#[derive(Default)]
pub(super) struct Commands {
    streams: usize,
    last: Option<Rc<Event>>,
    /// Gaps at the end of the queue, which the next command fills in.
    open: Vec<Rc<OnceCell<Rc<Event>>>>,
}

impl Commands {
    /// Returns whether any stream measures times.
    pub(super) fn are_timed(&self) -> bool {
        self.streams > 0
    }

    /// Registers a stream that measures times.
    pub(super) fn begin(&mut self) {
        self.streams += 1;
    }

    /// Unregisters a stream. Discards all events if it was the last one.
    pub(super) fn end(&mut self) {
        self.streams = self.streams.saturating_sub(1);
        if self.streams == 0 {
            *self = Self::default();
        }
    }

    /// Records the event of a queued command.
    pub(super) fn add(&mut self, event: Rc<Event>) {
        for gap in self.open.drain(..) {
            // An open gap has no value yet, so this cannot fail.
            let _ = gap.set(Rc::clone(&event));
        }
        self.last = Some(event);
    }

    /// Returns the gap at the current end of the queue.
    pub(super) fn gap(&mut self) -> Gap {
        let after = Rc::new(OnceCell::new());
        self.open.push(Rc::clone(&after));
        Gap { before: self.last.clone(), after }
    }
}
