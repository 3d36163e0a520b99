//! Everything that a process knows of its cards, behind one lock: the calls of the interface are short, and a kernel
//! runs while its launch is called.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::card::{self, Maker, Model};
use crate::clock::Clock;
use crate::heap::Heap;
use crate::image::Image;
use crate::ops::{Primary, current};
use crate::orders::Orders;
use crate::status::{self, Status};
use crate::task::{Memos, Task};

/// One imitated card.
#[derive(Debug)]
pub(crate) struct Card {
    /// What every call says from now on.
    pub(crate) broken: Option<Status>,
    /// What the next wait will say.
    pub(crate) breaking: Option<Status>,
    /// Whether a wait ends.
    pub(crate) hanging: bool,
    /// Blocks in the second-level cache and their bytes, the last used first.
    pub(crate) cached: Vec<(u64, u64)>,
    /// Cards whose memory it may use.
    pub(crate) peers: BTreeSet<usize>,
    /// Its primary context.
    pub(crate) primary: Primary,
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

/// A mark.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    /// The card in whose streams it can be put.
    pub(crate) card: usize,
    /// The time, once it was recorded.
    pub(crate) at: Option<f64>,
}

/// A code object on a card.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) card: usize,
    pub(crate) image: Image,
}

/// A kernel on a card.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub(crate) card: usize,
    pub(crate) symbol: std::sync::Arc<str>,
}

/// A source under compilation.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) source: String,
    pub(crate) name: String,
    pub(crate) log: String,
    pub(crate) code: Vec<u8>,
}

/// What a handle of a library of products stands for.
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
    pub(crate) fn get(&mut self, handle: usize) -> Result<&mut T, Status> {
        self.known.get_mut(&handle).ok_or(status::INVALID_HANDLE)
    }

    /// Takes a handle back.
    pub(crate) fn remove(&mut self, handle: usize) -> Result<T, Status> {
        self.known.remove(&handle).ok_or(status::INVALID_HANDLE)
    }
}

/// All of it.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) orders: Result<Orders, String>,
    /// What the cards are to the interface by which the last call came.
    pub(crate) model: &'static Model,
    models: [&'static Model; 2],
    /// Whether CUDA was initialised. HIP needs no call for that.
    pub(crate) cuda_is_ready: bool,
    pub(crate) cards: Vec<Card>,
    pub(crate) heap: Heap,
    pub(crate) clock: Clock,
    /// Allocations of device memory that were asked for.
    pub(crate) allocations: u64,
    pub(crate) streams: Handles<Stream>,
    pub(crate) events: Handles<Event>,
    pub(crate) modules: Handles<Module>,
    pub(crate) functions: Handles<Function>,
    pub(crate) graphs: Handles<Vec<Task>>,
    pub(crate) executables: Handles<Vec<Task>>,
    pub(crate) programs: Handles<Program>,
    pub(crate) blas: Handles<Blas>,
    /// Contexts, each with its card.
    pub(crate) contexts: Handles<usize>,
    pub(crate) memos: Memos,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| Mutex::new(State::new(Orders::here())));

/// Asks the state, or changes it, by the interface of `maker`.
pub(crate) fn with<T>(maker: Maker, call: impl FnOnce(&mut State) -> T) -> T {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    state.model = match maker {
        Maker::Amd => state.models[0],
        Maker::Nvidia => state.models[1],
    };
    call(&mut state)
}

impl State {
    fn new(orders: Result<Orders, String>) -> Self {
        let chosen = orders.and_then(|orders| {
            let amd = card::chosen("LOOKALIKE_ARCH", &orders.arch, Maker::Amd)?;
            let nvidia = card::chosen("LOOKALIKE_SM", &orders.sm, Maker::Nvidia)?;
            Ok((orders, [amd, nvidia]))
        });
        let (orders, models) = match chosen {
            Ok((orders, models)) => (Ok(orders), models),
            Err(mistake) => (Err(mistake), [&card::MODELS[0]; 2]),
        };
        let count = orders.as_ref().map_or(0, |orders| orders.cards);
        let new_card = |card| Card {
            broken: None,
            breaking: None,
            hanging: false,
            cached: Vec::new(),
            peers: BTreeSet::new(),
            primary: Primary::default(),
            stream: Stream::idle(card),
        };
        Self {
            orders,
            model: models[0],
            models,
            cuda_is_ready: false,
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
            contexts: Handles::of_kind(9),
            memos: Memos::default(),
        }
    }

    /// Card `index`, whatever its state.
    pub(crate) fn card(&mut self, index: usize) -> Result<&mut Card, Status> {
        self.cards.get_mut(index).ok_or(status::INVALID_DEVICE)
    }

    /// Card `index`, or what it says since it broke.
    pub(crate) fn sound(&mut self, index: usize) -> Result<&mut Card, Status> {
        let card = self.card(index)?;
        match card.broken {
            Some(code) => Err(code),
            None => Ok(card),
        }
    }

    /// The stream with this handle; 0 is that of the current card.
    pub(crate) fn stream(&mut self, handle: usize) -> Result<&mut Stream, Status> {
        if handle == 0 { Ok(&mut self.card(current())?.stream) } else { self.streams.get(handle) }
    }

    /// Bytes that are free on `card`.
    pub(crate) fn free_bytes(&self, card: usize) -> u64 {
        let ordered = self.orders.as_ref().ok().and_then(|orders| orders.free_bytes);
        ordered.unwrap_or(card::MEMORY_BYTES).min(card::MEMORY_BYTES).saturating_sub(self.heap.used(card))
    }

    /// Waits for a stream. When its card hangs, that takes for ever.
    pub(crate) fn wait(&mut self, handle: usize) -> Result<(), Status> {
        let stream = self.stream(handle)?;
        let (card, busy_until) = (stream.card, stream.busy_until);
        if stream.captured.is_some() {
            return Err(status::CAPTURE_UNSUPPORTED);
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
    pub(crate) fn wait_for_card(&mut self, card: usize) -> Result<(), Status> {
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
