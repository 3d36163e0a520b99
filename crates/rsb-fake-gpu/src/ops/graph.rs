//! Graphs: work captured once and launched as a whole.

use crate::gpu::LaunchPath;
use crate::state::State;
use crate::status::{self, Status};

impl State {
    /// Starts to capture the work of a stream. Fails for the default stream.
    pub(crate) fn begin_capture(&mut self, stream: usize) -> Result<(), Status> {
        let stream = self.streams.get(stream)?;
        if stream.captured.is_some() {
            return Err(status::CAPTURE_UNSUPPORTED);
        }
        stream.captured = Some(Vec::new());
        Ok(())
    }

    /// Ends the capture and returns its work as a graph.
    pub(crate) fn end_capture(&mut self, stream: usize) -> Result<usize, Status> {
        let captured = self.streams.get(stream)?.captured.take().ok_or(status::CAPTURE_ILLEGAL)?;
        Ok(self.graphs.add(captured))
    }

    /// Instantiates a graph for launching.
    pub(crate) fn instantiate(&mut self, graph: usize) -> Result<usize, Status> {
        let tasks = self.graphs.get(graph)?.clone();
        Ok(self.executables.add(tasks))
    }

    /// Launches the graph in a stream.
    pub(crate) fn launch_graph(&mut self, executable: usize, stream: usize) -> Result<(), Status> {
        let gpu = self.stream(stream)?.gpu;
        self.sound(gpu)?;
        self.note("graph");
        // The graph's work is taken out of the state while it runs, since running it borrows the
        // state mutably.
        let tasks = std::mem::take(self.executables.get(executable)?);
        let ran = tasks.iter().try_for_each(|task| self.run(stream, task, LaunchPath::Graph));
        *self.executables.get(executable)? = tasks;
        ran
    }
}
