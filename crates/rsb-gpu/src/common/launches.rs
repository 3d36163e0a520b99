//! Kernels that do nothing, handed over one by one or together as a graph: what a launch costs.

use std::rc::Rc;

use super::core::Core;
use super::driver::Handle;
use super::launch::Bound;
use rsb_device::device::{DeviceError, Kernel};
use rsb_device::operation::{Launch, LaunchMode};

/// A [`Launch`], bound.
pub(super) enum LaunchKernel {
    /// One call for each.
    Stream { empty: Bound, kernels: u32 },
    /// One call for all.
    Graph(Graph),
}

/// Binds `op` to the empty kernel.
pub(super) fn kernel(core: &Rc<Core>, op: Launch, mut empty: Bound) -> Result<LaunchKernel, DeviceError> {
    match op.mode {
        LaunchMode::Stream => Ok(LaunchKernel::Stream { empty, kernels: op.kernels }),
        LaunchMode::Graph => {
            let recorded = Recorded::of(core, || (0..op.kernels).try_for_each(|_| empty.start()))?;
            Ok(LaunchKernel::Graph(recorded.instantiate(empty)?))
        }
    }
}

impl Kernel for LaunchKernel {
    fn launch(&mut self) -> Result<(), DeviceError> {
        match self {
            Self::Stream { empty, kernels } => (0..*kernels).try_for_each(|_| empty.start()),
            Self::Graph(graph) => graph.start(),
        }
    }

    fn provider(&self) -> String {
        match self {
            Self::Stream { .. } => "native".to_owned(),
            Self::Graph(_) => "native-graph".to_owned(),
        }
    }
}

/// Work that was recorded instead of run.
struct Recorded {
    core: Rc<Core>,
    graph: Handle,
}

impl Recorded {
    /// Records what `work` starts in the stream of `core`.
    fn of(core: &Rc<Core>, work: impl FnOnce() -> Result<(), DeviceError>) -> Result<Self, DeviceError> {
        core.activate()?;
        // SAFETY: the stream is live and nothing is being recorded on it.
        unsafe { core.driver.begin_capture(core.stream) }?;
        let worked = work();
        // SAFETY: the recording began above. It ends even when the work failed.
        let ended = unsafe { core.driver.end_capture(core.stream) };
        let recorded = ended.map(|graph| Self { core: Rc::clone(core), graph });
        worked?;
        recorded
    }

    /// Makes it ready to be launched. `kept` is what the recorded work needs.
    fn instantiate(self, kept: Bound) -> Result<Graph, DeviceError> {
        let core = Rc::clone(&self.core);
        // SAFETY: the graph is whole.
        let executable = unsafe { core.driver.instantiate(self.graph) }?;
        Ok(Graph { executable, recorded: self, _kept: kept })
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if self.graph.is_null() {
            return;
        }
        let _ = self.core.activate();
        // SAFETY: it was recorded above, and nobody else gives it back.
        let _ = unsafe { self.core.driver.destroy_graph(self.graph) };
    }
}

/// A graph ready to be launched.
pub(super) struct Graph {
    executable: Handle,
    recorded: Recorded,
    _kept: Bound,
}

impl Graph {
    fn start(&self) -> Result<(), DeviceError> {
        let core = &self.recorded.core;
        core.activate()?;
        // SAFETY: graph and stream are live.
        unsafe { core.driver.launch_graph(self.executable, core.stream) }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let core = &self.recorded.core;
        let _ = core.synchronize();
        // SAFETY: it was made from the graph, nothing of it runs any more, and nobody else gives it back.
        let _ = unsafe { core.driver.destroy_executable(self.executable) };
    }
}
