//! State of the GPUs in this process, behind a single lock. This suffices, since calls are short
//! and a kernel runs inside its launch call.

mod context;
mod task;

use std::collections::BTreeSet;
use std::ffi::c_int;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::clock::Clock;
use crate::gpu::{self, Model, Vendor};
use crate::heap::Heap;
use crate::image::Image;
use crate::orders::FakeConfig;
use crate::product::library::Epilogue;
use crate::status::{self, Status};

pub(crate) use context::{Primary, current, make_current};
use task::Memos;
pub(crate) use task::Task;

/// An emulated GPU.
#[derive(Debug)]
pub(crate) struct Gpu {
    /// Error status that every call returns once the GPU has failed.
    pub(crate) broken: Option<Status>,
    /// Error status that the next wait returns.
    pub(crate) breaking: Option<Status>,
    /// Whether waits hang.
    pub(crate) hanging: bool,
    /// Blocks in the second-level cache with their sizes in bytes, most recently used first.
    pub(crate) cached: Vec<(u64, u64)>,
    /// GPUs whose memory this GPU may access.
    pub(crate) peers: BTreeSet<usize>,
    /// Primary context.
    pub(crate) primary: Primary,
    /// Default stream.
    pub(crate) stream: Stream,
}

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Its GPU.
    pub(crate) gpu: usize,
    /// Virtual time at which the last work ends.
    pub(crate) busy_until: f64,
    /// Captured work; `None` if no capture is active.
    pub(crate) captured: Option<Vec<Task>>,
}

impl Stream {
    /// Creates an idle stream.
    pub(crate) const fn idle(gpu: usize) -> Self {
        Self { gpu, busy_until: 0.0, captured: None }
    }
}

/// An event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    /// GPU of the streams in which the event can be recorded.
    pub(crate) gpu: usize,
    /// Virtual time of the event; `None` before it is recorded.
    pub(crate) at: Option<f64>,
}

/// A code object loaded on a GPU.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) gpu: usize,
    pub(crate) image: Image,
}

/// A kernel on a GPU.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub(crate) gpu: usize,
    pub(crate) symbol: std::sync::Arc<str>,
}

/// A program of the runtime compiler.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) source: String,
    pub(crate) name: String,
    pub(crate) log: String,
    pub(crate) code: Vec<u8>,
}

/// State of a product library's handle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blas {
    pub(crate) gpu: usize,
    /// Handle of the stream for products; 0 for the default stream.
    pub(crate) stream: usize,
    /// Whether alpha and beta are in GPU memory.
    pub(crate) scalars_on_gpu: bool,
    /// Whether products of f32 are multiplied in xf32.
    pub(crate) is_xf32: bool,
}

/// An object of hipBLASLt or cuBLASLt other than a handle.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LtObject {
    Description(Description),
    Layout(Layout),
    Preference,
}

/// A product description.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Description {
    pub(crate) compute: c_int,
    pub(crate) transposed: [bool; 2],
    pub(crate) epilogue: Epilogue,
    pub(crate) bias: usize,
    pub(crate) is_fast: bool,
}

/// A matrix layout.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) dtype: c_int,
    pub(crate) leading: i64,
    pub(crate) sizes: [u64; 2],
    pub(crate) batch: i32,
    pub(crate) stride: i64,
}

/// Table of handles of one kind. Handles that were never created, or were destroyed, are rejected.
#[derive(Debug)]
pub(crate) struct Handles<T> {
    known: std::collections::BTreeMap<usize, T>,
    next: usize,
}

impl<T> Handles<T> {
    /// Creates an empty table. Tables with different `kind` numbers never share handles.
    const fn of_kind(kind: usize) -> Self {
        Self { known: std::collections::BTreeMap::new(), next: (kind << 24) + 16 }
    }

    /// Creates a handle for `value`.
    pub(crate) fn add(&mut self, value: T) -> usize {
        let handle = self.next;
        self.next += 16;
        self.known.insert(handle, value);
        handle
    }

    /// Returns the value of `handle`.
    pub(crate) fn get(&mut self, handle: usize) -> Result<&mut T, Status> {
        self.known.get_mut(&handle).ok_or(status::INVALID_HANDLE)
    }

    /// Removes a handle.
    pub(crate) fn remove(&mut self, handle: usize) -> Result<T, Status> {
        self.known.remove(&handle).ok_or(status::INVALID_HANDLE)
    }
}

/// Complete state.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) orders: Result<FakeConfig, String>,
    /// GPU model of the interface that the current call uses.
    pub(crate) model: &'static Model,
    models: [&'static Model; 2],
    /// Whether CUDA was initialized. HIP needs no initialization call.
    pub(crate) cuda_is_ready: bool,
    pub(crate) gpus: Vec<Gpu>,
    pub(crate) heap: Heap,
    pub(crate) clock: Clock,
    /// Number of device memory allocations requested in this process.
    pub(crate) allocations: u64,
    pub(crate) streams: Handles<Stream>,
    pub(crate) events: Handles<Event>,
    pub(crate) modules: Handles<Module>,
    pub(crate) functions: Handles<Function>,
    pub(crate) graphs: Handles<Vec<Task>>,
    pub(crate) executables: Handles<Vec<Task>>,
    pub(crate) programs: Handles<Program>,
    pub(crate) blas: Handles<Blas>,
    pub(crate) lt: Handles<LtObject>,
    /// Contexts; each value is the index of a GPU.
    pub(crate) contexts: Handles<usize>,
    pub(crate) memos: Memos,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| Mutex::new(State::new(FakeConfig::here())));

/// Returns the interface that this process uses: CUDA after `cuInit`, otherwise HIP, which works
/// without initialization.
pub(crate) fn here() -> Vendor {
    let is_cuda = STATE.lock().unwrap_or_else(PoisonError::into_inner).cuda_is_ready;
    if is_cuda { Vendor::Nvidia } else { Vendor::Amd }
}

/// Locks the state and passes it to `call`, with the GPU model of `vendor`.
pub(crate) fn with<T>(vendor: Vendor, call: impl FnOnce(&mut State) -> T) -> T {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    state.model = match vendor {
        Vendor::Amd => state.models[0],
        Vendor::Nvidia => state.models[1],
    };
    call(&mut state)
}

impl State {
    fn new(orders: Result<FakeConfig, String>) -> Self {
        let chosen = orders.and_then(|orders| {
            let amd = gpu::select_model("FAKE_GPU_ARCH", &orders.arch, Vendor::Amd)?;
            let nvidia = gpu::select_model("FAKE_GPU_SM", &orders.sm, Vendor::Nvidia)?;
            Ok((orders, [amd, nvidia]))
        });
        let (orders, models) = match chosen {
            Ok((orders, models)) => (Ok(orders), models),
            Err(mistake) => (Err(mistake), [&gpu::MODELS[0]; 2]),
        };
        let count = orders.as_ref().map_or(0, |orders| orders.gpus);
        let mut gpus = Vec::with_capacity(count);
        for gpu in 0..count {
            gpus.push(Gpu {
                broken: None,
                breaking: None,
                hanging: false,
                cached: Vec::new(),
                peers: BTreeSet::new(),
                primary: Primary::default(),
                stream: Stream::idle(gpu),
            });
        }
        Self {
            orders,
            model: models[0],
            models,
            cuda_is_ready: false,
            gpus,
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
            lt: Handles::of_kind(10),
            memos: Memos::default(),
        }
    }

    /// Appends a line to the file `FAKE_GPU_CALLS`, if it is configured.
    pub(crate) fn note(&self, call: &str) {
        if let Ok(orders) = &self.orders {
            orders.note(call);
        }
    }

    /// Returns GPU `index`, even if it has failed.
    pub(crate) fn gpu(&mut self, index: usize) -> Result<&mut Gpu, Status> {
        self.gpus.get_mut(index).ok_or(status::INVALID_DEVICE)
    }

    /// Returns GPU `index`. Fails with the GPU's error status if it has failed.
    pub(crate) fn sound(&mut self, index: usize) -> Result<&mut Gpu, Status> {
        let gpu = self.gpu(index)?;
        match gpu.broken {
            Some(code) => Err(code),
            None => Ok(gpu),
        }
    }

    /// Returns the stream with this handle; 0 is the default stream of the current GPU.
    pub(crate) fn stream(&mut self, handle: usize) -> Result<&mut Stream, Status> {
        if handle == 0 { Ok(&mut self.gpu(current())?.stream) } else { self.streams.get(handle) }
    }

    /// Returns the free memory of `gpu` in bytes.
    pub(crate) fn free_bytes(&self, gpu: usize) -> u64 {
        let ordered = self.orders.as_ref().ok().and_then(|orders| orders.free_bytes);
        ordered
            .unwrap_or(gpu::MEMORY_BYTES)
            .min(gpu::MEMORY_BYTES)
            .saturating_sub(self.heap.used_bytes(gpu))
    }

    /// Waits for the work of a stream. Hangs if an injected fault makes the GPU hang.
    pub(crate) fn wait(&mut self, handle: usize) -> Result<(), Status> {
        self.note("synchronize");
        let stream = self.stream(handle)?;
        let (gpu, busy_until) = (stream.gpu, stream.busy_until);
        if stream.captured.is_some() {
            return Err(status::CAPTURE_UNSUPPORTED);
        }
        let gpu = self.sound(gpu)?;
        if gpu.hanging {
            hang();
        }
        gpu.broken = gpu.breaking.take();
        if let Some(code) = gpu.broken {
            return Err(code);
        }
        self.clock.advance_host(busy_until);
        Ok(())
    }
}

/// Never returns.
pub(crate) fn hang() -> ! {
    loop {
        std::thread::park();
    }
}
