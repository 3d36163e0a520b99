//! Kernels launched one by one, or together as a graph.

use std::rc::Rc;

use super::core::Core;
use super::driver::Handle;
use super::launch::NativeKernel;
use rsb_device::device::{DeviceError, Kernel};
use rsb_device::operation::{Launch, LaunchMode};

/// Binds `op` to the empty kernel, whose launch measures the launch overhead.
pub(super) fn kernel<'d>(
    core: &Rc<Core>,
    op: Launch,
    empty: NativeKernel,
) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
    match op.mode {
        LaunchMode::Stream => Ok(Box::new(SequentialLaunches { empty, kernels: op.kernels })),
        LaunchMode::Graph => Ok(Box::new(graph(core, vec![Box::new(empty)], op.kernels)?)),
    }
}

/// Returns a graph that launches each of `kernels` in order, `times` times.
pub(super) fn graph<'d>(
    core: &Rc<Core>,
    mut kernels: Vec<Box<dyn Kernel + 'd>>,
    times: u32,
) -> Result<Graph<'d>, DeviceError> {
    let recorded = Recorded::of(core, &mut || {
        (0..times).try_for_each(|_| kernels.iter_mut().try_for_each(|kernel| kernel.launch()))
    })?;
    recorded.instantiate(kernels)
}

/// Kernels launched by one call each.
struct SequentialLaunches {
    empty: NativeKernel,
    kernels: u32,
}

impl Kernel for SequentialLaunches {
    fn launch(&mut self) -> Result<(), DeviceError> {
        (0..self.kernels).try_for_each(|_| self.empty.launch())
    }

    fn provider(&self) -> String {
        self.empty.provider()
    }
}

/// Work that was captured as a graph.
struct Recorded {
    core: Rc<Core>,
    graph: Handle,
}

impl Recorded {
    /// Captures the work that `work` enqueues in the stream of `core`.
    fn of(
        core: &Rc<Core>,
        work: &mut dyn FnMut() -> Result<(), DeviceError>,
    ) -> Result<Self, DeviceError> {
        core.activate()?;
        // SAFETY: the stream is live and not being captured.
        unsafe { core.driver.begin_capture(core.stream) }?;
        let worked = work();
        // SAFETY: the capture began above. It ends even if the work failed.
        let ended = unsafe { core.driver.end_capture(core.stream) };
        let recorded = ended.map(|graph| Self { core: Rc::clone(core), graph });
        worked?;
        recorded
    }

    /// Instantiates the graph. Keeps `kernels`, the recorded ones, since the graph uses their
    /// memory when it runs.
    fn instantiate(self, kernels: Vec<Box<dyn Kernel + '_>>) -> Result<Graph<'_>, DeviceError> {
        let core = Rc::clone(&self.core);
        // SAFETY: the graph is complete.
        let executable = unsafe { core.driver.instantiate(self.graph) }?;
        Ok(Graph { executable, recorded: self, kernels })
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if self.graph.is_null() {
            return;
        }
        let _ = self.core.activate();
        // SAFETY: the graph was captured above and is destroyed only here.
        let _ = unsafe { self.core.driver.destroy_graph(self.graph) };
    }
}

/// A graph ready to be launched.
pub(super) struct Graph<'d> {
    executable: Handle,
    recorded: Recorded,
    /// Kernels that the graph launches.
    kernels: Vec<Box<dyn Kernel + 'd>>,
}

impl Kernel for Graph<'_> {
    fn launch(&mut self) -> Result<(), DeviceError> {
        let core = &self.recorded.core;
        core.activate()?;
        // SAFETY: graph and stream are live.
        unsafe { core.driver.launch_graph(self.executable, core.stream) }
    }

    fn provider(&self) -> String {
        let of = self.kernels.first().map(|kernel| kernel.provider()).unwrap_or_default();
        format!("{of}-graph")
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        let core = &self.recorded.core;
        let _ = core.synchronize();
        // SAFETY: the executable was instantiated from the graph, is no longer running, and is
        // destroyed only here.
        let _ = unsafe { core.driver.destroy_executable(self.executable) };
    }
}
