//! Units of work, run immediately or captured in a graph, and their durations.
//!
//! A kernel's result is reused until something writes to its inputs or outputs, since a benchmark
//! launches the same kernel thousands of times and the host is slow.

use std::collections::HashMap;
use std::sync::Arc;

use crate::gpu::{LaunchPath, Route, Traffic};
use crate::heap::{Heap, Home};
use crate::kernels;
use crate::launch::{KernelError, Launch, Touched, Work};
use crate::orders::Fault;
use crate::product::library::Product;
use crate::state::{Gpu, State, hang};
use crate::status::{self, Status};

/// A unit of work.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Task {
    /// A kernel and its arguments.
    Kernel { symbol: Arc<str>, arguments: Vec<u64> },
    /// A matrix product of a vendor's library.
    Product(Product),
    /// A copy of bytes.
    Copy { to: usize, from: usize, bytes: usize, route: Route },
    /// A fill with one byte value.
    Fill { to: usize, value: u8, bytes: usize },
}

/// Result of earlier work that need not be recomputed while the blocks have these versions.
#[derive(Debug, Clone)]
struct Memo {
    work: Work,
    touched: Vec<Touched>,
    versions: Vec<u64>,
}

/// Results of earlier work, by task.
#[derive(Debug, Default)]
pub(crate) struct Memos {
    known: HashMap<Task, Memo>,
}

/// Maximum number of memos; when it is reached, all are discarded.
const MOST_MEMOS: usize = 1024;

impl Memos {
    fn find(&self, task: &Task, heap: &Heap) -> Option<(Work, Vec<Touched>)> {
        let memo = self.known.get(task)?;
        for (touched, version) in memo.touched.iter().zip(&memo.versions) {
            if heap.version(touched.block, touched.id) != Some(*version) {
                return None;
            }
        }
        Some((memo.work, memo.touched.clone()))
    }

    fn keep(&mut self, task: &Task, heap: &Heap, work: Work, touched: Vec<Touched>) {
        if self.known.len() >= MOST_MEMOS {
            self.known.clear();
        }
        let versions =
            touched.iter().map(|one| heap.version(one.block, one.id).unwrap_or(u64::MAX)).collect();
        self.known.insert(task.clone(), Memo { work, touched, versions });
    }
}

impl Task {
    /// Returns the name used in faults.
    fn name(&self) -> &str {
        match self {
            Self::Kernel { symbol, .. } => symbol,
            Self::Product(product) => product.name,
            Self::Copy { .. } => "copy",
            Self::Fill { .. } => "fill",
        }
    }

    /// Returns the line for the file `FAKE_GPU_CALLS`.
    fn line(&self) -> String {
        match self {
            Self::Kernel { .. } | Self::Product(_) => format!("launch {}", self.name()),
            Self::Copy { .. } | Self::Fill { .. } => self.name().to_owned(),
        }
    }

    fn compute(&self, launch: &mut Launch<'_>) -> Result<Work, KernelError> {
        match self {
            Self::Kernel { symbol, .. } => {
                let (twin, _) = kernels::find(symbol)
                    .ok_or_else(|| KernelError(format!("{symbol} has no implementation")))?;
                (twin.run)(launch)
            }
            Self::Product(product) => product.compute(launch),
            Self::Copy { .. } | Self::Fill { .. } => Ok(Work::NONE),
        }
    }
}

impl State {
    /// Runs work in a stream, or adds it to the graph that the stream captures.
    pub(crate) fn hand_over(&mut self, handle: usize, task: Task) -> Result<(), Status> {
        let gpu = self.stream(handle)?.gpu;
        self.sound(gpu)?;
        self.note(&task.line());
        match &mut self.stream(handle)?.captured {
            Some(captured) => {
                captured.push(task);
                Ok(())
            }
            None => self.run(handle, &task, LaunchPath::Stream),
        }
    }

    /// Runs a unit of work now, and advances the stream's time.
    pub(crate) fn run(
        &mut self,
        handle: usize,
        task: &Task,
        way: LaunchPath,
    ) -> Result<(), Status> {
        let stream = self.stream(handle)?;
        let (gpu, busy_until) = (stream.gpu, stream.busy_until);
        let cost = self.cost_of(gpu, task, way)?;
        let begin = self.clock.begin(busy_until);
        let end = begin + self.clock.add_jitter(cost);
        self.stream(handle)?.busy_until = end;
        Ok(())
    }

    /// Runs the work and returns its cost in nanoseconds.
    fn cost_of(&mut self, gpu: usize, task: &Task, way: LaunchPath) -> Result<f64, Status> {
        match task {
            Task::Copy { to, from, bytes, route } => {
                self.copy(*to, *from, *bytes)?;
                Ok(self.model.copy_ns(*bytes as u64, *route))
            }
            Task::Fill { to, value, bytes } => {
                self.fill(*to, *value, *bytes)?;
                Ok(self.model.copy_ns(*bytes as u64, Route::Gpu) / 2.0)
            }
            Task::Kernel { .. } | Task::Product(_) => {
                if self.is_ordered(|fault| matches!(fault, Fault::Stuck(kernel) if task.name().starts_with(kernel))) {
                    hang();
                }
                if self.breaks(gpu, task)? {
                    return Ok(0.0);
                }
                let Ok((work, touched)) = self.compute_or_recall(gpu, task) else {
                    self.gpu(gpu)?.breaking = Some(status::ILLEGAL_ADDRESS);
                    return Ok(0.0);
                };
                let l2_bytes = self.model.l2_bytes;
                let traffic = through_cache(&mut self.gpu(gpu)?.cached, &touched, l2_bytes);
                Ok(self.model.kernel_ns(&work, traffic, way))
            }
        }
    }

    /// Runs a kernel or product, unless its result is still in memory. Returns the amount of work
    /// and the accessed ranges.
    fn compute_or_recall(
        &mut self,
        gpu: usize,
        task: &Task,
    ) -> Result<(Work, Vec<Touched>), KernelError> {
        if let Some(found) = self.memos.find(task, &self.heap) {
            return Ok(found);
        }
        let dtype = kernels::find(task.name()).map_or(rsb_model::Dtype::F32, |(_, dtype)| dtype);
        let product;
        let arguments = match task {
            Task::Kernel { arguments, .. } => arguments.as_slice(),
            Task::Product(of) => {
                product = of.addresses();
                &product
            }
            Task::Copy { .. } | Task::Fill { .. } => &[],
        };
        let mut launch = Launch::new(&self.heap, gpu, dtype, arguments);
        let mut work = task.compute(&mut launch).inspect_err(|KernelError(why)| {
            eprintln!("rsb-fake-gpu: invalid memory access by {}: {why}", task.name());
        })?;
        if matches!(task, Task::Product(_)) {
            work.engine = self.model.engine_of_products(work.dtype);
        }
        let (touched, repeatable) = (launch.touched, launch.repeatable);
        for one in touched.iter().filter(|one| one.written) {
            self.heap.mark_written(one.block);
        }
        if self.is_ordered(
            |fault| matches!(fault, Fault::Wrong(kernel) if task.name().starts_with(kernel)),
        ) {
            change(&touched, 8, |byte| byte ^ 0x15);
        }
        if self.is_ordered(
            |fault| matches!(fault, Fault::Nan(kernel) if task.name().starts_with(kernel)),
        ) {
            change(&touched, usize::MAX, |_| 0xff);
        }
        if repeatable {
            self.memos.keep(task, &self.heap, work, touched.clone());
        }
        Ok((work, touched))
    }

    fn is_ordered(&self, which: impl Fn(&Fault) -> bool) -> bool {
        self.orders.as_ref().is_ok_and(|orders| orders.faults.iter().any(which))
    }

    /// Applies injected faults, and returns whether they keep the work from running.
    fn breaks(&mut self, gpu: usize, task: &Task) -> Result<bool, Status> {
        let Ok(orders) = &self.orders else { return Err(status::NOT_INITIALIZED) };
        let mut happened: Option<fn(&mut Gpu)> = None;
        for fault in &orders.faults {
            let (Fault::Launch(kernel)
            | Fault::Lost(kernel)
            | Fault::Vanish(kernel, _)
            | Fault::Hang(kernel)) = fault
            else {
                continue;
            };
            if !task.name().starts_with(kernel) {
                continue;
            }
            if let Fault::Vanish(_, file) = fault {
                std::fs::write(file, "").map_err(|_| status::UNKNOWN)?;
            }
            happened = Some(match fault {
                Fault::Launch(_) => |gpu| gpu.breaking = Some(status::LAUNCH_FAILURE),
                Fault::Hang(_) => |gpu| gpu.hanging = true,
                Fault::Vanish(..) => |gpu| gpu.breaking = Some(status::NO_DEVICE),
                _ => |gpu| gpu.breaking = Some(status::UNKNOWN),
            });
        }
        let gpu = self.gpu(gpu)?;
        if let Some(happened) = happened {
            happened(gpu);
        }
        Ok(gpu.breaking.is_some() || gpu.hanging)
    }

    fn copy(&mut self, to: usize, from: usize, bytes: usize) -> Result<(), Status> {
        for address in [to, from] {
            let is_ours = self.heap.around(address).is_some();
            if address == 0 || (is_ours && self.heap.find(address, bytes).is_none()) {
                return Err(status::INVALID_VALUE);
            }
        }
        // SAFETY: a range that begins in an allocated block is within it, as checked; the caller of
        // the C interface guarantees that other memory is valid. Ranges may overlap.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
        self.heap.mark_written(to);
        Ok(())
    }

    fn fill(&mut self, to: usize, value: u8, bytes: usize) -> Result<(), Status> {
        let Some(block) = self.heap.find(to, bytes) else { return Err(status::INVALID_VALUE) };
        // Fresh memory is already zero, and writing to it would use memory of the host.
        if value == 0 && block.version == 0 {
            return Ok(());
        }
        // SAFETY: the range is in an allocated block, as checked, which has no other user while the
        // state is locked.
        unsafe { std::ptr::write_bytes(to as *mut u8, value, bytes) };
        self.heap.mark_written(to);
        Ok(())
    }

    /// Returns the route of a copy between two addresses. At least one must be in device or pinned
    /// memory.
    pub(crate) fn route(&self, to: usize, from: usize) -> Result<Route, Status> {
        let to = self.heap.around(to).map(|block| block.home);
        let from = self.heap.around(from).map(|block| block.home);
        match (to, from) {
            (Some(Home::Gpu(a) | Home::Managed(a)), Some(Home::Gpu(b) | Home::Managed(b))) => {
                Ok(if a == b { Route::Gpu } else { Route::Peer })
            }
            (Some(_), Some(_)) => Ok(Route::Pinned),
            (Some(Home::Gpu(_) | Home::Managed(_)), None)
            | (None, Some(Home::Gpu(_) | Home::Managed(_))) => Ok(Route::Pageable),
            _ => Err(status::INVALID_VALUE),
        }
    }
}

/// Returns the memory and cache traffic of a kernel. Blocks that it finds in the second-level cache
/// count as cache traffic. Updates `cached`.
fn through_cache(cached: &mut Vec<(u64, u64)>, touched: &[Touched], l2_bytes: u64) -> Traffic {
    let mut traffic = Traffic::default();
    for one in touched {
        let known = cached.iter().any(|(id, _)| *id == one.id);
        *(if known { &mut traffic.cache } else { &mut traffic.memory }) += one.traffic;
    }
    for one in touched {
        cached.retain(|(id, _)| *id != one.id);
        cached.insert(0, (one.id, one.traffic));
    }
    let mut sum = 0;
    cached.retain(|(_, bytes)| {
        sum += bytes;
        sum <= l2_bytes
    });
    traffic
}

/// Applies `to` to the first bytes of the last written range, at most `count` of them.
fn change(touched: &[Touched], count: usize, to: impl Fn(u8) -> u8) {
    let Some(result) = touched.iter().rfind(|one| one.written) else { return };
    let (from, end) = result.range();
    for address in (from..end).take(count) {
        // SAFETY: `Launch` checked that the range is in an allocated block, the kernel that wrote
        // it has ended, and the state is locked.
        let byte = unsafe { &mut *(address as *mut u8) };
        *byte = to(*byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_into_the_cache_is_served_from_it() {
        let mut heap = Heap::default();
        let arguments: Vec<u64> =
            (0..2).map(|_| heap.give(1000, Home::Gpu(0)).unwrap() as u64).collect();
        let mut launch = Launch::new(&heap, 0, rsb_model::Dtype::F32, &arguments);
        launch.input::<u8>(0, 600).unwrap();
        launch.input::<u8>(1, 600).unwrap();
        let mut cached = Vec::new();
        assert_eq!(
            through_cache(&mut cached, &launch.touched, 4096),
            Traffic { memory: 1200, cache: 0 }
        );
        assert_eq!(
            through_cache(&mut cached, &launch.touched, 4096),
            Traffic { memory: 0, cache: 1200 }
        );
        let mut small = Vec::new();
        through_cache(&mut small, &launch.touched, 1000);
        assert_eq!(
            through_cache(&mut small, &launch.touched, 1000),
            Traffic { memory: 600, cache: 600 }
        );
    }
}
