//! Events of the commands in a queue, as far as a stream times them.
//!
//! Marks between commands (`clEnqueueMarkerWithWaitList`) are not timed: some drivers give them
//! times that are out of order with the commands around them (Intel:
//! <https://github.com/CHIP-SPV/chipStar/issues/1549>,
//! <https://github.com/intel/llvm/issues/22229>), or zero (NVIDIA:
//! <https://github.com/fixstars/clpy/issues/216>). The times of a kernel or a copy itself are what
//! every profiler shows.

use std::cell::OnceCell;
use std::rc::Rc;

use super::api::{Object, ask};
use super::runtime::{ClError, Runtime, call};

/// The event of one command, given back with its last owner.
pub(super) struct Event {
    runtime: Rc<Runtime>,
    object: Object,
}

impl Event {
    /// Owns `object`, unless the driver left none.
    pub(super) fn new(runtime: &Rc<Runtime>, object: Object) -> Option<Rc<Self>> {
        (!object.is_null()).then(|| Rc::new(Self { runtime: Rc::clone(runtime), object }))
    }

    /// Nanoseconds of the device's clock at which the command began.
    pub(super) fn start_ns(&self) -> Result<u64, ClError> {
        self.time(ask::PROFILING_COMMAND_START)
    }

    /// Nanoseconds of the device's clock at which it ended.
    pub(super) fn end_ns(&self) -> Result<u64, ClError> {
        self.time(ask::PROFILING_COMMAND_END)
    }

    fn time(&self, name: u32) -> Result<u64, ClError> {
        let mut time = 0_u64;
        let value = (&raw mut time).cast();
        // SAFETY: the event is live and there is room for 64 bits.
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
        // SAFETY: a command left it, and nobody else gives it back.
        let _ = unsafe { call!(self.runtime, clReleaseEvent(self.object)) };
    }
}

/// A place in the queue: between the command before it and the one after it, where there are such.
pub(super) struct Gap {
    before: Option<Rc<Event>>,
    after: Rc<OnceCell<Rc<Event>>>,
}

impl Gap {
    /// The first and the last command from here to `later`; none where nothing was queued between
    /// them.
    pub(super) fn commands_until<'a>(&'a self, later: &'a Self) -> Option<(&'a Event, &'a Event)> {
        let (first, last) = (self.after.get()?, later.before.as_ref()?);
        let is_empty = later.after.get().is_some_and(|next| Rc::ptr_eq(next, first));
        (!is_empty).then_some((&**first, &**last))
    }
}

/// The commands of a queue, while streams time them.
#[derive(Default)]
pub(super) struct Commands {
    streams: usize,
    last: Option<Rc<Event>>,
    /// Gaps that no command has followed.
    open: Vec<Rc<OnceCell<Rc<Event>>>>,
}

impl Commands {
    /// Whether any stream wants to know them.
    pub(super) fn are_timed(&self) -> bool {
        self.streams > 0
    }

    /// One stream more.
    pub(super) fn begin(&mut self) {
        self.streams += 1;
    }

    /// One stream less.
    pub(super) fn end(&mut self) {
        self.streams = self.streams.saturating_sub(1);
        if self.streams == 0 {
            *self = Self::default();
        }
    }

    /// A command was queued.
    pub(super) fn add(&mut self, event: Rc<Event>) {
        for gap in self.open.drain(..) {
            // It is open, and so empty.
            let _ = gap.set(Rc::clone(&event));
        }
        self.last = Some(event);
    }

    /// The end of the queue as it is now.
    pub(super) fn gap(&mut self) -> Gap {
        let after = Rc::new(OnceCell::new());
        self.open.push(Rc::clone(&after));
        Gap { before: self.last.clone(), after }
    }
}
