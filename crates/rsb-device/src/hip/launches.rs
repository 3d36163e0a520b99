//! Kernels that do nothing, handed over one by one or together as a graph: what a launch costs.

use std::rc::Rc;

use hip_runtime_sys::{hipGraph_t, hipGraphExec_t, stream_capture};

use super::core::Core;
use super::launch::Bound;
use super::runtime::{HipError, call};
use crate::device::{DeviceError, Kernel};
use crate::operation::{Launch, LaunchWay};

/// A [`Launch`], bound.
pub(super) enum LaunchKernel {
    /// One call for each.
    Stream { empty: Bound, kernels: u32 },
    /// One call for all.
    Graph(Graph),
}

/// Binds `op` to the empty kernel.
pub(super) fn kernel(core: &Rc<Core>, op: Launch, mut empty: Bound) -> Result<LaunchKernel, DeviceError> {
    match op.way {
        LaunchWay::Stream => Ok(LaunchKernel::Stream { empty, kernels: op.kernels }),
        LaunchWay::Graph => {
            let recorded = Recorded::of(core, || (0..op.kernels).try_for_each(|_| empty.start()))?;
            Ok(LaunchKernel::Graph(recorded.instantiate(empty)?))
        }
    }
}

impl Kernel for LaunchKernel {
    fn launch(&mut self) -> Result<(), DeviceError> {
        match self {
            Self::Stream { empty, kernels } => Ok((0..*kernels).try_for_each(|_| empty.start())?),
            Self::Graph(graph) => Ok(graph.start()?),
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
    graph: hipGraph_t,
}

impl Recorded {
    /// Records what `work` starts in the stream of `core`.
    fn of(core: &Rc<Core>, work: impl FnOnce() -> Result<(), HipError>) -> Result<Self, HipError> {
        core.activate()?;
        // SAFETY: the stream is live and nothing is being recorded on it.
        unsafe { call!(core.runtime, hipStreamBeginCapture(core.stream, stream_capture::THREAD_LOCAL)) }?;
        let worked = work();
        let mut graph = std::ptr::null_mut();
        // SAFETY: the recording began above; the pointer is to a live variable. It ends even when the work failed.
        let ended = unsafe { call!(core.runtime, hipStreamEndCapture(core.stream, &raw mut graph)) };
        let recorded = Self { core: Rc::clone(core), graph };
        worked?;
        ended?;
        Ok(recorded)
    }

    /// Makes it ready to be launched. `kept` is what the recorded work needs.
    fn instantiate(self, kept: Bound) -> Result<Graph, HipError> {
        let core = Rc::clone(&self.core);
        let mut executable = std::ptr::null_mut();
        // SAFETY: the graph is whole; node and log may be null, and are only written on failure.
        unsafe {
            call!(
                core.runtime,
                hipGraphInstantiate(&raw mut executable, self.graph, std::ptr::null_mut(), std::ptr::null_mut(), 0)
            )
        }?;
        Ok(Graph { executable, recorded: self, _kept: kept })
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if self.graph.is_null() {
            return;
        }
        let _ = self.core.activate();
        // SAFETY: it was made by hipStreamEndCapture, and nobody else gives it back.
        let _ = unsafe { call!(self.core.runtime, hipGraphDestroy(self.graph)) };
    }
}

/// A graph ready to be launched.
pub(super) struct Graph {
    executable: hipGraphExec_t,
    recorded: Recorded,
    _kept: Bound,
}

impl Graph {
    fn start(&self) -> Result<(), HipError> {
        let core = &self.recorded.core;
        core.activate()?;
        // SAFETY: graph and stream are live.
        unsafe { call!(core.runtime, hipGraphLaunch(self.executable, core.stream)) }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let core = &self.recorded.core;
        let _ = core.synchronize();
        // SAFETY: it was made by hipGraphInstantiate, nothing of it runs any more, and nobody else gives it back.
        let _ = unsafe { call!(core.runtime, hipGraphExecDestroy(self.executable)) };
    }
}
