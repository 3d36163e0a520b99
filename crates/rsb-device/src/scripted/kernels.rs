//! Kernels of a scripted device.

use std::rc::Rc;

use super::{Fault, Memory, ScriptedDevice, out_of_range};
use crate::device::{DeviceError, Kernel};
use crate::operation::Operation;
use crate::reference::execute;

pub(super) struct ScriptedKernel<'d> {
    pub(super) device: &'d ScriptedDevice,
    pub(super) operation: Operation,
    pub(super) memories: Vec<Rc<Memory>>,
    /// Number of copies to the device when the result was computed. As long as it is unchanged, so
    /// are the inputs (C of a product may change, but is not read again), and the result need not
    /// be computed again, which keeps tests fast.
    pub(super) computed: Option<u64>,
}

impl ScriptedKernel<'_> {
    fn compute(&mut self) {
        let mut buffers: Vec<Vec<u8>> =
            self.memories.iter().map(|memory| memory.bytes.borrow().clone()).collect();
        execute(&self.operation, &mut buffers);
        for (memory, bytes) in self.memories.iter().zip(buffers) {
            *memory.bytes.borrow_mut() = bytes;
        }
    }

    fn spoil(&self, launch: u64) {
        let Some(output) = self.memories.last() else { return };
        let mut bytes = output.bytes.borrow_mut();
        if self
            .device
            .has(|fault| matches!(fault, Fault::WrongResult { launch: first } if launch >= *first))
        {
            // Flips the second highest bit of the last element: the change is far larger than
            // rounding errors, and the result is never NaN.
            if let Some(last) = bytes.last_mut() {
                *last ^= 0x40;
            }
        }
        if self
            .device
            .has(|fault| matches!(fault, Fault::NotANumber { launch: first } if launch >= *first))
        {
            let size =
                self.operation.buffers().last().map_or(0, |spec| spec.dtype.bytes(1) as usize);
            bytes.iter_mut().take(size).for_each(|byte| *byte = 0xff);
        }
    }
}

impl Kernel for ScriptedKernel<'_> {
    fn launch(&mut self) -> Result<(), DeviceError> {
        let launch =
            self.device.record_launch(|launch| self.device.duration(launch, &self.operation))?;
        let writes = Some(self.device.state.borrow().writes);
        if self.computed != writes {
            self.computed = writes;
            self.compute();
            self.spoil(launch);
        }
        Ok(())
    }

    fn provider(&self) -> String {
        "scripted".to_owned()
    }
}

/// A graph that launches each kernel once.
pub(super) struct ScriptedGraph<'d>(pub(super) Vec<Box<dyn Kernel + 'd>>);

impl Kernel for ScriptedGraph<'_> {
    fn launch(&mut self) -> Result<(), DeviceError> {
        self.0.iter_mut().try_for_each(|kernel| kernel.launch())
    }

    fn provider(&self) -> String {
        "scripted-graph".to_owned()
    }
}

/// A copy from one buffer to another, at 10 GB/s. Repeated at each launch, since its source may
/// have changed.
pub(super) struct ScriptedCopy<'d> {
    pub(super) device: &'d ScriptedDevice,
    pub(super) from: Rc<Memory>,
    pub(super) to: Rc<Memory>,
}

impl Kernel for ScriptedCopy<'_> {
    fn launch(&mut self) -> Result<(), DeviceError> {
        let bytes = self.from.bytes.borrow().clone();
        self.device.record_launch(|_| (bytes.len() as f64 / 10.0).max(1000.0))?;
        let mut to = self.to.bytes.borrow_mut();
        to.get_mut(..bytes.len()).ok_or_else(out_of_range)?.copy_from_slice(&bytes);
        Ok(())
    }

    fn provider(&self) -> String {
        "scripted".to_owned()
    }
}
