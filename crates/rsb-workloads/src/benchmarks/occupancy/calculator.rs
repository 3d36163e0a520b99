//! Occupancy without a GPU: a kernel is compiled for an architecture, and the resources reported by
//! the compiler are compared with those of a compute unit.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rsb_device::compiler::{self, CodeObject, Job, KernelCompiler, KernelNeeds, Level};
use rsb_device::{Operation, Options, Registry, child};
use rsb_model::architecture::{Needs, Residency, residency};
use rsb_model::{DeviceType, Fields, Reason};

use super::super::{axis, fixed_grid, grid};
use crate::benchmark::{Breadth, Failure, Grid, PrepareResult, Prepared};
use crate::timed::check_time;

/// Time limit for checking whether the compiler supports an architecture.
const ASKING: Duration = Duration::from_mins(1);

/// Returns cases for kernels of GPUs that are not present.
pub(super) fn grids(breadth: Breadth) -> Vec<Grid> {
    let mut grids = vec![fixed_grid("operation=triad dtype=f32 block_size=256 arch=gfx90a")];
    if breadth >= Breadth::Standard {
        let archs = axis("arch", &["gfx90a", "gfx942", "gfx1030", "gfx1100"]);
        grids.push(grid([
            axis("operation", &["triad"]),
            axis("dtype", &["f32"]),
            axis("block_size", &["64", "256", "1024"]),
            archs.clone(),
        ]));
        let sharing = axis("operation", &["softmax", "gemm"]);
        grids.push(grid([sharing, axis("dtype", &["f32"]), axis("block_size", &["256"]), archs]));
    }
    grids
}

/// Compiles the kernel of `operation` for `arch` and reads its resource usage.
pub(super) fn prepare<'d>(
    operation: &Operation,
    options: &Options,
    arch: &str,
    backends: &Registry,
) -> PrepareResult<'d> {
    let backend = compiler::backend_of(arch);
    let compiler = backends.compiler(backend).map_err(Failure::Skipped)?;
    let choice = compiler.choose(operation, options, arch)?;
    let program = std::env::current_exe().map_err(|error| {
        let why = format!("cannot find the path of this program: {error}");
        Failure::Skipped(Reason::new("compiler", why, "mount /proc"))
    })?;
    child::compiles(&program, child::CompilerQuery::of(backend, &*compiler), arch, ASKING)
        .map_err(Failure::Skipped)?;
    let job = Job::cold(choice.source, arch, Level::O3);
    let code = compiler.compile(&job).map_err(Failure::Failed)?;
    let calculation = Calculation {
        compiler,
        code,
        arch: job.arch,
        symbol: choice.symbol,
        block: choice.block_size,
    };
    calculation.calculate()?;
    Ok(Box::new(calculation))
}

/// A compiled kernel.
struct Calculation {
    compiler: Box<dyn KernelCompiler>,
    code: CodeObject,
    arch: String,
    symbol: String,
    block: u32,
}

impl Calculation {
    /// Returns the kernel's resource usage and the resulting occupancy.
    fn calculate(&self) -> Result<(KernelNeeds, Residency), Failure> {
        let kernels = self.compiler.needs(&self.code);
        let needs =
            kernels.into_iter().find(|kernel| kernel.symbol == self.symbol).ok_or_else(|| {
                let why = format!(
                    "{} does not record the kernel's resources in the code object",
                    self.compiler.name()
                );
                let cure = "install a compiler that records them: ROCm 5, CUDA 12 or later";
                Failure::Skipped(Reason::new(format!("resources of {}", self.symbol), why, cure))
            })?;
        let KernelNeeds { registers, shared_bytes, wavefront, .. } = needs;
        let unit = Needs { registers, shared_bytes, wavefront, block_size: self.block };
        let found = residency(&self.arch, unit).map_err(Failure::Skipped)?;
        Ok((needs, found))
    }
}

impl Prepared for Calculation {
    fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        let started = Instant::now();
        for _ in 0..iters {
            black_box(self.calculate()?);
        }
        Ok(started.elapsed().as_secs_f64() * 1e9)
    }

    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure> {
        check_time(time_ns)?;
        let (needs, found) = self.calculate()?;
        let mut fields =
            Fields::new().with("operation", self.symbol.clone()).with("provider", "calculator");
        fields.set("gfx_target", self.arch.clone());
        fields.set("block_size", self.block);
        fields.set("occupancy_percent", found.percent());
        fields.set("registers", needs.registers);
        fields.set("shared_bytes", needs.shared_bytes);
        fields.set("time_us", time_ns / 1e3);
        Ok(fields)
    }

    fn device_type(&self) -> Option<DeviceType> {
        Some(self.compiler.device_type())
    }
}
