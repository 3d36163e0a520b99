//! Everything that a process knows of its cards, behind one lock: the calls of the interface are short, and a kernel
//! runs while its launch is called.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use hip_runtime_sys::{error, hipError_t};

use crate::card::{self, Model};
use crate::clock::Clock;
use crate::heap::Heap;
use crate::image::Image;
use crate::orders::Orders;
use crate::task::{Memos, Task};

/// Statuses of HIP that the program never asks about, with their numbers in its headers.
pub(crate) mod more {
    use hip_runtime_sys::hipError_t;

    /// A handle is none.
    pub(crate) const INVALID_HANDLE: hipError_t = 400;
    /// It cannot be done while a stream is captured.
    pub(crate) const CAPTURE_UNSUPPORTED: hipError_t = 900;
    /// The stream is not being captured.
    pub(crate) const CAPTURE_ILLEGAL: hipError_t = 901;
}

/// One imitated card.
#[derive(Debug)]
pub(crate) struct Card {
    /// What every call says from now on.
    pub(crate) broken: Option<hipError_t>,
    /// What the next wait will say.
    pub(crate) breaking: Option<hipError_t>,
    /// Whether a wait ends.
    pub(crate) hanging: bool,
    /// Blocks in the second-level cache and their bytes, the last used first.
    pub(crate) cached: Vec<(u64, u64)>,
    /// Cards whose memory it may use.
    pub(crate) peers: BTreeSet<usize>,
    /// The stream without a name.
    pub(crate) stream: Stream,
}

/// A queue of work.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Its card.
    pub(crate) card: usize,
    /// When the last of its work ends.
    pub(crate) busy_until: f64,
    /// What was recorded, while it is captured.
    pub(crate) captured: Option<Vec<Task>>,
}

impl Stream {
    /// An idle one.
    pub(crate) const fn idle(card: usize) -> Self {
        Self { card, busy_until: 0.0, captured: None }
    }
}

/// A mark: the card and the time, once it was recorded.
pub(crate) type Event = Option<(usize, f64)>;

/// A source under compilation.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) source: String,
    pub(crate) name: String,
    pub(crate) log: String,
    pub(crate) code: Vec<u8>,
}

/// What a handle of rocBLAS stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blas {
    pub(crate) card: usize,
    /// Handle of its stream; 0 for the one without a name.
    pub(crate) stream: usize,
    /// Whether alpha and beta are in the memory of the card.
    pub(crate) scalars_on_card: bool,
}

/// Handles of one kind. A number that was never given out, or was taken back, is no handle.
#[derive(Debug)]
pub(crate) struct Handles<T> {
    known: std::collections::BTreeMap<usize, T>,
    next: usize,
}

impl<T> Handles<T> {
    /// None yet. Kinds with other numbers do not take one another's handles.
    const fn of_kind(kind: usize) -> Self {
        Self { known: std::collections::BTreeMap::new(), next: (kind << 24) + 16 }
    }

    /// A handle for `value`.
    pub(crate) fn add(&mut self, value: T) -> usize {
        let handle = self.next;
        self.next += 16;
        self.known.insert(handle, value);
        handle
    }

    /// What `handle` stands for.
    pub(crate) fn get(&mut self, handle: usize) -> Result<&mut T, hipError_t> {
        self.known.get_mut(&handle).ok_or(more::INVALID_HANDLE)
    }

    /// Takes a handle back.
    pub(crate) fn remove(&mut self, handle: usize) -> Result<T, hipError_t> {
        self.known.remove(&handle).ok_or(more::INVALID_HANDLE)
    }
}

/// All of it.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) orders: Result<Orders, String>,
    pub(crate) model: &'static Model,
    pub(crate) cards: Vec<Card>,
    pub(crate) heap: Heap,
    pub(crate) clock: Clock,
    /// Allocations of device memory that were asked for.
    pub(crate) allocations: u64,
    pub(crate) streams: Handles<Stream>,
    pub(crate) events: Handles<Event>,
    pub(crate) modules: Handles<Image>,
    pub(crate) functions: Handles<std::sync::Arc<str>>,
    pub(crate) graphs: Handles<Vec<Task>>,
    pub(crate) executables: Handles<Vec<Task>>,
    pub(crate) programs: Handles<Program>,
    pub(crate) blas: Handles<Blas>,
    pub(crate) memos: Memos,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| Mutex::new(State::new(Orders::here())));

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// The current card of this thread.
pub(crate) fn current() -> usize {
    CURRENT.get()
}

/// Makes `card` the current one of this thread.
pub(crate) fn make_current(card: usize) {
    CURRENT.set(card);
}

/// Answers a call of the run time.
pub(crate) fn answer(call: impl FnOnce(&mut State) -> Result<(), hipError_t>) -> hipError_t {
    with(call).err().unwrap_or(error::SUCCESS)
}

/// Asks the state, or changes it.
pub(crate) fn with<T>(call: impl FnOnce(&mut State) -> T) -> T {
    call(&mut STATE.lock().unwrap_or_else(PoisonError::into_inner))
}

impl State {
    fn new(orders: Result<Orders, String>) -> Self {
        let orders = orders.and_then(|orders| {
            if card::find(&orders.arch).is_some() {
                return Ok(orders);
            }
            let known = card::MODELS.iter().map(|model| model.arch).collect::<Vec<_>>().join(", ");
            Err(format!("LOOKALIKE_ARCH={} is none of {known}", orders.arch))
        });
        let arch = orders.as_ref().map_or("gfx90a", |orders| orders.arch.as_str());
        let model = card::find(arch).unwrap_or(&card::MODELS[0]);
        let count = orders.as_ref().map_or(0, |orders| orders.cards);
        let new_card = |card| Card {
            broken: None,
            breaking: None,
            hanging: false,
            cached: Vec::new(),
            peers: BTreeSet::new(),
            stream: Stream::idle(card),
        };
        Self {
            orders,
            model,
            cards: (0..count).map(new_card).collect(),
            heap: Heap::default(),
            clock: Clock::default(),
            allocations: 0,
            streams: Handles::of_kind(1),
            events: Handles::of_kind(2),
            modules: Handles::of_kind(3),
            functions: Handles::of_kind(4),
            graphs: Handles::of_kind(5),
            executables: Handles::of_kind(6),
            programs: Handles::of_kind(7),
            blas: Handles::of_kind(8),
            memos: Memos::default(),
        }
    }

    /// Card `index`, whatever its state.
    pub(crate) fn card(&mut self, index: usize) -> Result<&mut Card, hipError_t> {
        self.cards.get_mut(index).ok_or(error::INVALID_DEVICE)
    }

    /// Card `index`, or what it says since it broke.
    pub(crate) fn sound(&mut self, index: usize) -> Result<&mut Card, hipError_t> {
        let card = self.card(index)?;
        match card.broken {
            Some(code) => Err(code),
            None => Ok(card),
        }
    }

    /// The stream with this handle; 0 is that of the current card.
    pub(crate) fn stream(&mut self, handle: usize) -> Result<&mut Stream, hipError_t> {
        if handle == 0 { Ok(&mut self.card(current())?.stream) } else { self.streams.get(handle) }
    }

    /// Bytes that are free on `card`.
    pub(crate) fn free_bytes(&self, card: usize) -> u64 {
        let ordered = self.orders.as_ref().ok().and_then(|orders| orders.free_bytes);
        ordered.unwrap_or(card::MEMORY_BYTES).min(card::MEMORY_BYTES).saturating_sub(self.heap.used(card))
    }

    /// Waits for a stream. When its card hangs, that takes for ever.
    pub(crate) fn wait(&mut self, handle: usize) -> Result<(), hipError_t> {
        let stream = self.stream(handle)?;
        let (card, busy_until) = (stream.card, stream.busy_until);
        if stream.captured.is_some() {
            return Err(more::CAPTURE_UNSUPPORTED);
        }
        let card = self.sound(card)?;
        if card.hanging {
            hang();
        }
        card.broken = card.breaking.take();
        if let Some(code) = card.broken {
            return Err(code);
        }
        self.clock.waited(busy_until);
        Ok(())
    }

    /// Waits for everything on `card`.
    pub(crate) fn wait_for_card(&mut self, card: usize) -> Result<(), hipError_t> {
        let of_card = |(handle, stream): (&usize, &Stream)| (stream.card == card).then_some(*handle);
        let handles: Vec<usize> = self.streams.known.iter().filter_map(of_card).collect();
        let own = self.card(card)?.stream.busy_until;
        self.clock.waited(own);
        handles.into_iter().try_for_each(|handle| self.wait(handle))?;
        let card = self.sound(card)?;
        card.broken = card.breaking.take();
        card.broken.map_or(Ok(()), Err)
    }
}

/// A call that never returns.
pub(crate) fn hang() -> ! {
    loop {
        std::thread::park();
    }
}
