//! What is current on a thread. HIP has a card there, the first one to begin with; CUDA has a context, and none to begin
//! with. Both come down to a card.

use std::cell::Cell;

use crate::state::State;
use crate::status::{self, Status};

thread_local! {
    static CARD: Cell<usize> = const { Cell::new(0) };
    static CONTEXT: Cell<usize> = const { Cell::new(0) };
}

/// The current card of this thread.
pub(crate) fn current() -> usize {
    CARD.get()
}

/// Makes `card` the current one of this thread.
pub(crate) fn make_current(card: usize) {
    CARD.set(card);
}

/// The primary context of a card.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Primary {
    /// Its handle; 0 before anybody has asked for it.
    pub(crate) handle: usize,
    /// How many hold it.
    held: u32,
}

impl State {
    /// Holds the primary context of a card. It is another one after it was given back by all.
    pub(crate) fn retain(&mut self, card: usize) -> Result<usize, Status> {
        self.sound(card)?;
        if self.card(card)?.primary.held == 0 {
            self.card(card)?.primary.handle = self.contexts.add(card);
        }
        let primary = &mut self.card(card)?.primary;
        primary.held += 1;
        Ok(primary.handle)
    }

    /// Gives the primary context of a card back. With the last who held it goes all memory of the card.
    pub(crate) fn unretain(&mut self, card: usize) -> Result<(), Status> {
        let primary = &mut self.card(card)?.primary;
        primary.held = primary.held.checked_sub(1).ok_or(status::INVALID_CONTEXT)?;
        if primary.held == 0 {
            let handle = primary.handle;
            self.contexts.remove(handle)?;
            self.heap.take_all_of(card);
        }
        Ok(())
    }

    /// The card of a context.
    pub(crate) fn card_of(&mut self, context: usize) -> Result<usize, Status> {
        self.contexts.get(context).copied().map_err(|_| status::INVALID_CONTEXT)
    }

    /// Makes a context the current one of this thread; 0 is none.
    pub(crate) fn set_context(&mut self, context: usize) -> Result<(), Status> {
        if context != 0 {
            make_current(self.card_of(context)?);
        }
        CONTEXT.set(context);
        Ok(())
    }

    /// Makes the card of this thread's context the current one, for the call that follows.
    pub(crate) fn enter_context(&mut self) -> Result<(), Status> {
        match CONTEXT.get() {
            0 => Err(status::INVALID_CONTEXT),
            context => {
                make_current(self.card_of(context).map_err(|_| status::CONTEXT_IS_DESTROYED)?);
                Ok(())
            }
        }
    }
}
