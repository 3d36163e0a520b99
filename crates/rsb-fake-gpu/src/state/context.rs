//! The GPU or context that is current in a thread. In HIP this is initially the first GPU. In CUDA
//! a thread initially has no current context; a context belongs to a GPU.

use std::cell::Cell;

use crate::state::State;
use crate::status::{self, Status};

thread_local! {
    static GPU: Cell<usize> = const { Cell::new(0) };
    static CONTEXT: Cell<usize> = const { Cell::new(0) };
}

/// Returns the current GPU of this thread.
pub(crate) fn current() -> usize {
    GPU.get()
}

/// Makes `gpu` current in this thread.
pub(crate) fn make_current(gpu: usize) {
    GPU.set(gpu);
}

/// The primary context of a GPU.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Primary {
    /// Handle; 0 before the context is retained for the first time.
    pub(crate) handle: usize,
    /// Reference count.
    held: u32,
}

impl State {
    /// Retains the primary context of a GPU, creating it if nothing holds it.
    pub(crate) fn retain(&mut self, gpu: usize) -> Result<usize, Status> {
        self.sound(gpu)?;
        if self.gpu(gpu)?.primary.held == 0 {
            self.gpu(gpu)?.primary.handle = self.contexts.add(gpu);
        }
        let primary = &mut self.gpu(gpu)?.primary;
        primary.held += 1;
        Ok(primary.handle)
    }

    /// Releases the primary context of a GPU. The last release destroys the context and frees all
    /// memory of the GPU.
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

    /// Returns the GPU of a context.
    pub(crate) fn gpu_of(&mut self, context: usize) -> Result<usize, Status> {
        self.contexts.get(context).copied().map_err(|_| status::INVALID_CONTEXT)
    }

    /// Makes a context current in this thread; 0 for no context.
    pub(crate) fn set_context(&mut self, context: usize) -> Result<(), Status> {
        if context != 0 {
            make_current(self.gpu_of(context)?);
        }
        CONTEXT.set(context);
        Ok(())
    }

    /// Makes the GPU of this thread's context current for the following call. Fails if there is no
    /// context.
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
