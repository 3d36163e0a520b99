//! Implementation of the device traits for one GPU.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

use rsb_model::architecture::Engine;
use rsb_model::{Dtype, Reason};

use super::blas::{self, BlasLibrary};
use super::catalog::Module;
use super::core::Core;
use super::driver::{Driver, FunctionNeed};
use super::launch::{Bound, NativeKernel};
use super::memory::Allocation;
use super::module::{Function, LoadedModule};
use super::plan::{self, Argument, Gpu, LaunchPlan};
use super::stream::GpuStream;
use super::{collective, launches, link, transfer};
use rsb_device::device::{
    Buffer, Device, DeviceError, DeviceInfo, Kernel, Occupancy, Options, Stream, no_peer,
    too_much_memory,
};
use rsb_device::held::{HostSide, LazyCell};
use rsb_device::operation::{Collective, Gemm, MemoryStream, Operation, Stores, StreamPattern};

/// An opened GPU.
pub struct GpuDevice {
    info: DeviceInfo,
    max_threads_per_unit: u32,
    core: Rc<Core>,
    /// Modules, compiled and loaded on first use.
    modules: RefCell<BTreeMap<Module, Rc<LoadedModule>>>,
    /// Kernels that flush the caches, kept between calls.
    flush: LazyCell<[Bound; 2]>,
    /// One slot for each of the driver's matrix product libraries.
    blas: [OnceCell<Result<Rc<dyn BlasLibrary>, DeviceError>>; 2],
    /// Most recent clique of a collective, starting with this GPU.
    clique: collective::LastClique,
    /// One slot for each GPU of the runtime, for GPUs used together with this one. The slot of this
    /// GPU is unused.
    peers: Vec<OnceCell<Box<GpuDevice>>>,
}

impl GpuDevice {
    pub(super) fn open(driver: Rc<dyn Driver>, ordinal: c_int) -> Result<Self, Reason> {
        let facts = driver.facts(ordinal)?;
        let peers = (0..driver.device_count()?).map(|_| OnceCell::new()).collect();
        let core = Core::open(driver, ordinal, &facts).map_err(super::reason)?;
        Ok(Self {
            info: facts.info,
            max_threads_per_unit: facts.max_threads_per_unit,
            core,
            modules: RefCell::default(),
            flush: LazyCell::default(),
            blas: [OnceCell::new(), OnceCell::new()],
            clique: collective::LastClique::default(),
            peers,
        })
    }

    fn gpu(&self) -> Gpu<'_> {
        Gpu { arch: &self.core.arch, units: self.core.units }
    }

    fn function(&self, plan: &LaunchPlan) -> Result<Function, DeviceError> {
        self.module(plan.kernel.module)?.function(&plan.symbol).map_err(|error| absent(plan, error))
    }

    /// Returns the module, compiled and loaded on first use.
    fn module(&self, module: Module) -> Result<Rc<LoadedModule>, DeviceError> {
        if let Some(known) = self.modules.borrow().get(&module) {
            return Ok(Rc::clone(known));
        }
        let loaded = LoadedModule::load(&self.core, module)?;
        self.modules.borrow_mut().insert(module, Rc::clone(&loaded));
        Ok(loaded)
    }

    fn bind(&self, plan: &LaunchPlan, buffers: &[Buffer]) -> Result<Bound, DeviceError> {
        Bound::new(self.function(plan)?, plan, buffers)
    }

    fn native(
        &self,
        operation: &Operation,
        options: &Options,
        buffers: &[Buffer],
    ) -> Result<NativeKernel, DeviceError> {
        let plan = plan::plan(operation, options, self.gpu())?;
        let provider = match plan.kernel.stem {
            "rsb_gemm_naive" => "native-naive",
            "rsb_peak_matrix" => "native-matrix",
            "rsb_peak_sparse" => "native-sparse",
            "rsb_peak_vector" => "native-vector",
            "rsb_pointer_chase_scalar" => "native-scalar",
            _ => "native",
        };
        Ok(NativeKernel { bound: self.bind(&plan, buffers)?, provider })
    }

    /// Prepares a product by one of the vendor's libraries.
    fn product<'d>(
        &'d self,
        index: usize,
        op: &Gemm,
        options: &Options,
        buffers: &[Buffer],
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        let offer = self.core.driver.blas_offers()[index];
        if !offer.has(op, options, &self.core.arch) {
            return Err(blas::no_offer(offer, op, &self.core.arch));
        }
        let opened = self.blas[index]
            .get_or_init(|| self.core.driver.open_blas(index, &self.core))
            .clone()?;
        Ok(Box::new(blas::kernel(opened, offer.name, op, options, buffers)?))
    }

    /// Prepares a product with the requested provider, or otherwise with the first of the vendor's
    /// libraries that is installed and supports it, or else with a native kernel.
    fn gemm<'d>(
        &'d self,
        op: &Gemm,
        options: &Options,
        buffers: &[Buffer],
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        op.check_layouts().map_err(DeviceError::Unsupported)?;
        if op.dtype == Dtype::I8 && [op.alpha, op.beta].iter().any(|factor| factor.fract() != 0.0) {
            return Err(plan::unsupported_error(
                "gemm of i8",
                "its sums are integers, but alpha or beta is not",
                "choose integers for alpha and beta",
            ));
        }
        let offers = self.core.driver.blas_offers();
        if let Some(name) = options.provider.as_deref() {
            return match offers.iter().position(|offer| offer.name == name) {
                Some(index) => self.product(index, op, options, buffers),
                None => self.native_gemm(op, options, buffers),
            };
        }
        let mut missing = None;
        for index in
            (0..offers.len()).filter(|&index| offers[index].has(op, options, &self.core.arch))
        {
            match self.product(index, op, options, buffers) {
                Err(DeviceError::Unsupported(reason)) => missing = Some(reason),
                made => return made,
            }
        }
        // If native kernels do not support the product either, return the reason of the preferred
        // library.
        self.native_gemm(op, options, buffers).map_err(|own| match (own, missing) {
            (DeviceError::Unsupported(_), Some(reason)) => DeviceError::Unsupported(reason),
            (own, _) => own,
        })
    }

    fn native_gemm(
        &self,
        op: &Gemm,
        options: &Options,
        buffers: &[Buffer],
    ) -> Result<Box<dyn Kernel>, DeviceError> {
        Ok(Box::new(self.native(&Operation::Gemm(*op), options, buffers)?))
    }

    fn check_buffers(&self, operation: &Operation, buffers: &[Buffer]) -> Result<(), DeviceError> {
        let specs = operation.buffers();
        let fits = specs.len() == buffers.len()
            && specs
                .iter()
                .zip(buffers)
                .all(|(spec, buffer)| buffer.bytes() >= spec.bytes() && self.holds(buffer));
        if fits {
            return Ok(());
        }
        Err(DeviceError::Failed(Reason::new(
            format!("buffers of {}", operation.name()),
            "the number or size of the buffers does not match the operation, or they are not on \
             this GPU",
            "report this as a bug with the case id",
        )))
    }

    /// Returns whether `buffer` is in the memory of this GPU.
    fn holds(&self, buffer: &Buffer) -> bool {
        buffer
            .storage::<Allocation>()
            .is_some_and(|memory| memory.core().ordinal == self.core.ordinal)
    }

    /// Returns two kernels that flush the caches. Each touches twice the size of the last-level
    /// cache: the first writes memory, and the second reads other memory, so that no dirty lines
    /// are left whose eviction would slow down the next kernel.
    fn flush_kernels(&self) -> Result<[Bound; 2], DeviceError> {
        const LEAST: u64 = 64 << 20;
        let bytes = self.info.last_level_cache_bytes().map_or(LEAST, |size| (2 * size).max(LEAST));
        let kernel = super::catalog::find("rsb_flush").ok_or_else(|| {
            plan::unsupported_error(
                "flush",
                "the kernel is missing from the kernel table",
                "report this as a bug",
            )
        })?;
        let write = LaunchPlan {
            kernel,
            symbol: kernel.symbol(None),
            arguments: vec![Argument::Buffer(0), Argument::Count(bytes / 8)],
            grid: self.core.units.max(1) * 16,
            block: 256,
        };
        let read = Operation::Stream(MemoryStream {
            pattern: StreamPattern::Read,
            dtype: Dtype::F32,
            elements: bytes / 4,
            stores: Stores::Temporal,
        });
        let written = self.allocate(bytes)?;
        let buffers = read
            .buffers()
            .iter()
            .map(|spec| self.allocate(spec.bytes()))
            .collect::<Result<Vec<_>, _>>()?;
        let read = plan::plan(&read, &Options::default(), self.gpu())?;
        Ok([self.bind(&write, &[written])?, self.bind(&read, &buffers)?])
    }

    /// Returns the empty kernel, with one block of 64 threads.
    fn empty_kernel(&self) -> Result<NativeKernel, DeviceError> {
        let kernel = super::catalog::find("rsb_empty").ok_or_else(|| {
            plan::unsupported_error(
                "launch",
                "the kernel is missing from the kernel table",
                "report this as a bug",
            )
        })?;
        let plan = LaunchPlan {
            kernel,
            symbol: kernel.symbol(None),
            arguments: Vec::new(),
            grid: 1,
            block: 64,
        };
        Ok(NativeKernel { bound: self.bind(&plan, &[])?, provider: "native" })
    }
}

impl Device for GpuDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: u64) -> Result<Buffer, DeviceError> {
        if bytes > self.info.usable_memory_bytes {
            return Err(too_much_memory(bytes, &self.info));
        }
        Ok(Buffer::new(bytes, Allocation::new_zeroed(&self.core, bytes)?))
    }

    fn write(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let count = bytes.len();
        let copied =
            super::launch::allocation(Some(buffer))?.copy(offset, HostSide::From(bytes))?;
        copied.ok_or_else(|| out_of_range(buffer, offset, count))
    }

    fn read(&self, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let count = bytes.len();
        let copied = super::launch::allocation(Some(buffer))?.copy(offset, HostSide::To(bytes))?;
        copied.ok_or_else(|| out_of_range(buffer, offset, count))
    }

    fn prepare<'d>(
        &'d self,
        operation: &Operation,
        options: &Options,
        buffers: &[Buffer],
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        self.check_buffers(operation, buffers)?;
        let chooses = matches!(
            operation,
            Operation::Gemm(_) | Operation::PeakArithmetic(_) | Operation::PointerChase(_)
        );
        if let (Some(name), false) =
            (options.provider.as_deref(), chooses || options.provider.as_deref() == Some("native"))
        {
            return Err(plan::provider(name, operation.name(), "only its own kernels (native)"));
        }
        match operation {
            Operation::Gemm(op) => self.gemm(op, options, buffers),
            Operation::Transfer(op) => Ok(Box::new(transfer::kernel(&self.core, op, buffers)?)),
            Operation::Launch(op) => launches::kernel(&self.core, *op, self.empty_kernel()?),
            _ => Ok(Box::new(self.native(operation, options, buffers)?)),
        }
    }

    fn record<'d>(
        &'d self,
        kernels: Vec<Box<dyn Kernel + 'd>>,
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        Ok(Box::new(launches::graph(&self.core, kernels, 1)?))
    }

    fn stream(&self) -> Result<Box<dyn Stream + '_>, DeviceError> {
        Ok(Box::new(GpuStream::new(&self.core)?))
    }

    fn flush_caches(&self) -> Result<(), DeviceError> {
        self.flush
            .with(|| self.flush_kernels(), |kernels| kernels.iter_mut().try_for_each(Bound::start))
    }

    fn prepare_copy<'d>(
        &'d self,
        from: &Buffer,
        to: &Buffer,
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        Ok(Box::new(transfer::peer_copy(&self.core, from, to)?))
    }

    fn prepare_collective<'d>(
        &'d self,
        call: &Collective,
        pairs: &[(Buffer, Buffer)],
    ) -> Result<Box<dyn Kernel + 'd>, DeviceError> {
        let (name, load) = self.core.driver.collective_library();
        Ok(Box::new(collective::kernel(name, load, &self.clique, call, pairs)?))
    }

    fn free_bytes(&self) -> Option<u64> {
        self.core.activate().and_then(|()| self.core.driver.free_bytes()).ok()
    }

    fn peers(&self) -> Vec<u32> {
        let own = self.core.ordinal.unsigned_abs();
        (0..).take(self.peers.len()).filter(|&index| index != own).collect()
    }

    fn peer(&self, index: u32) -> Result<&dyn Device, DeviceError> {
        let slot =
            self.peers.get(index as usize).filter(|_| index != self.core.ordinal.unsigned_abs());
        let slot = slot.ok_or_else(|| no_peer(&self.info, index, &self.peers()))?;
        if let Some(known) = slot.get() {
            return Ok(&**known);
        }
        let ordinal =
            c_int::try_from(index).map_err(|_| no_peer(&self.info, index, &self.peers()))?;
        let opened =
            Self::open(Rc::clone(&self.core.driver), ordinal).map_err(DeviceError::Failed)?;
        Ok(&**slot.get_or_init(|| Box::new(opened)))
    }

    fn link_gb_s(&self) -> Option<f64> {
        let address = self.info.pci_address.as_deref().filter(|_| self.core.is_on_pcie)?;
        link::gb_s(address, self.core.driver.vendor())
    }

    fn occupancy(
        &self,
        operation: &Operation,
        options: &Options,
    ) -> Result<Occupancy, DeviceError> {
        let is_library =
            |name: &str| self.core.driver.blas_offers().iter().any(|offer| offer.name == name);
        let provider = options.provider.clone().filter(|name| !is_library(name));
        let options = &Options { provider, ..options.clone() };
        let plan = plan::plan(operation, options, self.gpu())?;
        let function = self.function(&plan)?;
        Ok(Occupancy {
            block_size: plan.block,
            grid_size: u64::from(plan.grid),
            blocks_per_unit: function.blocks_per_unit(plan.block)?,
            max_threads_per_unit: self.max_threads_per_unit,
            registers: function.query_need(FunctionNeed::Registers),
            shared_bytes: function.query_need(FunctionNeed::SharedBytes),
        })
    }
}

/// Converts the error for a kernel that is missing from the compiled code. A kernel for matrix
/// units is missing if the compiler is too old, which is not a failure.
fn absent(plan: &LaunchPlan, error: DeviceError) -> DeviceError {
    match error {
        DeviceError::Failed(reason) if plan.kernel.unit != Engine::Vector => {
            DeviceError::Unsupported(Reason::new(
                plan.symbol.as_str(),
                format!("the compiled code does not contain the kernel: {}", reason.why),
                "use a compiler that supports the instruction: NVRTC of CUDA 12.4 for fp8 and bf8, \
                 of 12.9 for fp4",
            ))
        }
        other => other,
    }
}

fn out_of_range(buffer: &Buffer, offset: u64, count: usize) -> DeviceError {
    DeviceError::Failed(Reason::new(
        "copy",
        format!("{count} bytes at offset {offset} do not fit in a buffer of {}", buffer.bytes()),
        "report this as a bug with the case id",
    ))
}
