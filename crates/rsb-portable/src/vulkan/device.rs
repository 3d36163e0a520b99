//! Implementation of `Device` and `Kernel` for Vulkan.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use ash::vk;
use rsb_model::{DeviceType, Dtype, Reason};

use super::core::Core;
use super::info::{PhysicalCandidate, Presence};
use super::instance::Instance;
use super::launch::Bound;
use super::memory::{Allocation, Place};
use super::pipeline::{Pipeline, Shape, SubgroupSize};
use super::stream::VulkanStream;
use super::{matrix, queue, shaders, transfer};
use crate::portable::{self, GROUP, Plan, Target, unsupported_error};
use rsb_device::device::{Buffer, Device, DeviceError, DeviceInfo, Kernel, Options, Stream};
use rsb_device::held::{HostSide, LazyCell};
use rsb_device::operation::{Launch, LaunchMode, Operation};

/// Maximum operations of a product and of a convolution on a CPU, which executes some hundred
/// million per second.
const MAX_CPU_OPERATIONS: [f64; 2] = [64e6, 64e6];

/// An open Vulkan device.
pub struct VulkanDevice {
    info: DeviceInfo,
    /// Pipelines, each created on first use.
    pipelines: RefCell<BTreeMap<(&'static str, Dtype), Rc<Pipeline>>>,
    /// Shapes of matrix units that the driver reports.
    matrix_shapes: Vec<String>,
    /// Bound flush kernel, kept for later flushes.
    flush: LazyCell<Bound>,
    core: Rc<Core>,
}

impl VulkanDevice {
    pub(super) fn open(instance: Rc<Instance>, found: PhysicalCandidate) -> Result<Self, Reason> {
        let core = Core::open(instance, &found)?;
        Ok(Self {
            info: found.info,
            pipelines: RefCell::default(),
            matrix_shapes: found.matrix_shapes,
            flush: LazyCell::default(),
            core,
        })
    }

    fn pipeline(
        &self,
        plan: &Plan,
        kernel: &'static str,
        shape: Shape,
    ) -> Result<Rc<Pipeline>, DeviceError> {
        let key = (kernel, plan.dtype);
        let known = self.pipelines.borrow().get(&key).cloned();
        if let Some(pipeline) = known {
            return Ok(pipeline);
        }
        let words = shaders::words(self.core.traits, plan.module, plan.dtype, kernel)?;
        let pipeline =
            Pipeline::new(&self.core, &words, kernel, shape, self.subgroup_size(kernel))?;
        self.pipelines.borrow_mut().insert(key, Rc::clone(&pipeline));
        Ok(pipeline)
    }

    /// Returns the subgroup size with which the pipeline of `kernel` is created.
    fn subgroup_size(&self, kernel: &str) -> SubgroupSize {
        let traits = self.core.traits;
        match traits.subgroup_lanes.filter(|_| shaders::by_subgroups(traits, kernel)) {
            Some(lanes) => SubgroupSize::Required(lanes),
            // The driver chooses the subgroup size that its matrix units require.
            None if kernel == "rsb_peak_matrix" && traits.size_control == Presence::Yes => {
                SubgroupSize::Reported
            }
            None => SubgroupSize::Any,
        }
    }

    fn bind(&self, plan: &Plan, buffers: &[Buffer]) -> Result<Bound, DeviceError> {
        let by_subgroups =
            plan.steps.iter().any(|step| shaders::by_subgroups(self.core.traits, step.kernel));
        let provider = if by_subgroups { "native-subgroups" } else { plan.provider };
        let bound = Bound::new(&self.core, plan, buffers, |kernel, shape| {
            self.pipeline(plan, kernel, shape)
        })?;
        Ok(bound.with_provider(provider))
    }

    fn target(&self) -> Target {
        let traits = self.core.traits;
        // The device type is always GPU, so that plans do not use the strip kernel: it suits only
        // compilers that run one work-item at a time, but these shaders run work-items in parallel
        // on CPUs, too.
        Target {
            device_type: DeviceType::Gpu,
            units: self.info.units,
            most_groups: traits.most_groups,
            store_bytes: 4,
            matrix: if traits.matrix.is_some() { &[Dtype::F16] } else { &[] },
        }
    }

    /// Rejects operations that would take too long, group sizes other than [`GROUP`], and matrix
    /// units without a kernel.
    fn check(&self, operation: &Operation, options: &Options) -> Result<(), DeviceError> {
        if let Some(size) = options.block_size.filter(|&size| size != GROUP) {
            let why = format!("the shaders use groups of {GROUP}");
            return Err(unsupported_error(
                &format!("groups of {size} threads"),
                why,
                "choose 256, or another backend",
            ));
        }
        if let (Operation::PeakArithmetic(op), Some("matrix")) =
            (operation, options.provider.as_deref())
            && !self.target().matrix.contains(&op.dtype)
        {
            return Err(matrix::no_kernel_error(op.dtype, &self.matrix_shapes));
        }
        portable::check_patience(operation, &self.info, MAX_CPU_OPERATIONS)
    }

    /// Binds the flush kernel to two buffers of twice the last-level cache; see
    /// [`portable::flush`].
    fn flush_kernel(&self) -> Result<Bound, DeviceError> {
        let bytes = portable::flush_bytes(&self.info).min(self.core.traits.buffer_bytes);
        let buffers = [bytes, bytes, 8]
            .into_iter()
            .map(|bytes| self.allocate(bytes))
            .collect::<Result<Vec<_>, _>>()?;
        self.bind(&portable::flush(bytes / portable::PACK, self.target()), &buffers)
    }

    fn launches(&self, op: Launch) -> Result<Launches, DeviceError> {
        let empty = self.bind(&portable::empty(), &[])?;
        let graph = match op.mode {
            LaunchMode::Stream => None,
            LaunchMode::Graph => Some(self.core.recording(|device, commands| {
                for _ in 0..op.kernels {
                    queue::wait_for_all_before(device, commands);
                    empty.launches().iter().for_each(|launch| launch.commands(device, commands));
                }
            })?),
        };
        Ok(Launches { core: Rc::clone(&self.core), empty, kernels: op.kernels, graph })
    }
}

impl Device for VulkanDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: u64) -> Result<Buffer, DeviceError> {
        portable::check_size(bytes, self.core.traits.buffer_bytes, &self.info)?;
        Ok(Buffer::new(bytes, Allocation::new_zeroed(&self.core, bytes, Place::Device)?))
    }

    fn write(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        portable::copy::<Allocation>(buffer, offset, HostSide::From(bytes))
    }

    fn read(&self, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        portable::copy::<Allocation>(buffer, offset, HostSide::To(bytes))
    }

    fn prepare<'d>(
        &'d self,
        operation: &Operation,
        options: &Options,
        buffers: &[Buffer],
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        portable::check_buffers(operation, buffers, |buffer| {
            buffer
                .storage::<Allocation>()
                .is_some_and(|memory| Rc::ptr_eq(memory.core(), &self.core))
        })?;
        self.check(operation, options)?;
        match operation {
            Operation::Transfer(op) => Ok(Box::new(transfer::kernel(&self.core, op, buffers)?)),
            Operation::Launch(op) => Ok(Box::new(self.launches(*op)?)),
            _ => {
                let plan = portable::plan(operation, options, self.target())?;
                Ok(Box::new(self.bind(&plan, buffers)?))
            }
        }
    }

    fn stream(&self) -> Result<Box<dyn Stream + '_>, DeviceError> {
        Ok(Box::new(VulkanStream::new(&self.core)?))
    }

    fn flush_caches(&self) -> Result<(), DeviceError> {
        self.flush.with(|| self.flush_kernel(), |bound| Ok(bound.start()?))
    }

    fn prepare_copy<'d>(
        &'d self,
        from: &Buffer,
        to: &Buffer,
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        Ok(Box::new(transfer::copy(&self.core, from, to)?))
    }
}

/// Empty kernels, either submitted one by one or recorded in one command buffer.
struct Launches {
    core: Rc<Core>,
    empty: Bound,
    kernels: u32,
    graph: Option<vk::CommandBuffer>,
}

impl Kernel for Launches {
    fn launch(&mut self) -> Result<(), DeviceError> {
        if let Some(recording) = self.graph {
            return Ok(self.core.submit(recording)?);
        }
        for _ in 0..self.kernels {
            self.empty.start()?;
            self.core.flush()?;
        }
        Ok(())
    }

    fn provider(&self) -> String {
        if self.graph.is_some() { "native-graph".to_owned() } else { "native".to_owned() }
    }
}

impl Drop for Launches {
    fn drop(&mut self) {
        if let Some(recording) = self.graph {
            let _ = self.core.synchronize();
            self.core.forget(recording);
        }
    }
}
