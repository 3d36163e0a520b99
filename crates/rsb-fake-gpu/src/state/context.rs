//! What is current on a thread. HIP has a GPU there, the first one to begin with; CUDA has a
//! context, and none to begin with. Both come down to a GPU.

use std::cell::Cell;

use crate::state::State;
use crate::status::{self, Status};

thread_local! {
    static GPU: Cell<usize> = const { Cell::new(0) };
    static CONTEXT: Cell<usize> = const { Cell::new(0) };
}

/// The current GPU of this thread.
pub(crate) fn current() -> usize {
    GPU.get()
}

/// Makes `gpu` the current one of this thread.
pub(crate) fn make_current(gpu: usize) {
    GPU.set(gpu);
}

/// The primary context of a GPU.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Primary {
    /// Its handle; 0 before anybody has asked for it.
    pub(crate) handle: usize,
    /// How many hold it.
    held: u32,
}

impl State {
    /// Holds the primary context of a GPU. It is another one after it was given back by all.
    pub(crate) fn retain(&mut self, gpu: usize) -> Result<usize, Status> {
        self.sound(gpu)?;
        if self.gpu(gpu)?.primary.held == 0 {
            self.gpu(gpu)?.primary.handle = self.contexts.add(gpu);
        }
        let primary = &mut self.gpu(gpu)?.primary;
        primary.held += 1;
        Ok(primary.handle)
    }

    /// Gives the primary context of a GPU back. With the last who held it goes all memory of the
    /// GPU.
    pub(crate) fn unretain(&mut self, gpu: usize) -> Result<(), Status> {
        let primary = &mut self.gpu(gpu)?.primary;
        primary.held = primary.held.checked_sub(1).ok_or(status::INVALID_CONTEXT)?;
        if primary.held == 0 {
            let handle = primary.handle;
            self.contexts.remove(handle)?;
            self.heap.take_all_of(gpu);
        }
        Ok(())
    }

    /// The GPU of a context.
    pub(crate) fn gpu_of(&mut self, context: usize) -> Result<usize, Status> {
        self.contexts.get(context).copied().map_err(|_| status::INVALID_CONTEXT)
    }

    /// Makes a context the current one of this thread; 0 is none.
    pub(crate) fn set_context(&mut self, context: usize) -> Result<(), Status> {
        if context != 0 {
            make_current(self.gpu_of(context)?);
        }
        CONTEXT.set(context);
        Ok(())
    }

    /// Makes the GPU of this thread's context the current one, for the call that follows.
    pub(crate) fn enter_context(&mut self) -> Result<(), Status> {
        match CONTEXT.get() {
            0 => Err(status::INVALID_CONTEXT),
            context => {
                make_current(self.gpu_of(context).map_err(|_| status::CONTEXT_IS_DESTROYED)?);
                Ok(())
            }
        }
    }
}
