//! Time that a runtime compiler takes for a kernel, by source, architecture and optimization level.
//! Runs on the host and needs no GPU.

use std::time::Duration;

use rsb_device::compiler::{
    self, CodeObject, Compilation, Job, KernelCompiler, Level, SOURCES, VECTOR_ADD,
};
use rsb_device::{Device, DeviceInfo, Registry, child};
use rsb_model::factor::{CUDA, ROCM};
use rsb_model::{DeviceType, Fields, Params, Reason};

use super::{number, text_grid};
use crate::axis::{AxisInfo, AxisKind};
use crate::benchmark::{
    Benchmark, BenchmarkInfo, Breadth, Failure, Grid, Iterations, PrepareResult, Prepared, RunsOn,
};
use crate::timed::check_time;

/// Compilation of whole sources with hiprtc and NVRTC.
pub(super) struct KernelCompilation;

/// Time limit for checking whether the compiler supports an architecture.
const ASKING: Duration = Duration::from_mins(1);

/// Lower bound on the time of a compilation.
const SHORTEST: Duration = Duration::from_nanos(100);

const AXES: &[AxisInfo] = &[
    AxisInfo::value("arch", "target architecture", AxisKind::Architecture),
    AxisInfo::value("source", "kernel source file of this program", AxisKind::Choice(SOURCES)),
    AxisInfo::value("opt", "optimization level", AxisKind::Choice(&["O0", "O1", "O2", "O3"])),
    AxisInfo::with_default(
        "compilation",
        "cold: compiled each time; warm: read from this program's kernel cache on disk",
        "cold",
        AxisKind::Choice(&["cold", "warm"]),
    ),
];

impl KernelCompilation {
    fn job(params: &Params) -> Result<Job, Reason> {
        let source = params.text("source").unwrap_or_default().to_owned();
        let arch = params.text("arch").unwrap_or_default().to_owned();
        let (level, compilation) =
            (number::<Level>(params, "opt")?, number::<Compilation>(params, "compilation")?);
        Ok(Job { source, arch, level, compilation })
    }
}

impl Benchmark for KernelCompilation {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "kernel-compilation",
            about: "Kernel compile time by source, architecture and optimization; needs no GPU",
            axes: AXES,
            runs_on: RunsOn::Host(compiler::BACKENDS),
            iterations: Iterations::Long,
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, _: &DeviceInfo) -> Vec<Grid> {
        let of = |text: String| text_grid(AXES, &text);
        let known = "gfx906,gfx90a,gfx942,gfx1030,gfx1100,sm_80,sm_90";
        let elementwise = "arch=gfx90a,sm_90 source=elementwise";
        let mut grids = vec![
            of(format!("arch=gfx90a,sm_90 source={VECTOR_ADD} opt=O3")),
            of(format!("{elementwise} opt=O3")),
            of(format!("{elementwise} opt=O3 compilation=warm")),
        ];
        if breadth >= Breadth::Standard {
            grids.push(of(format!("arch={known} source=elementwise opt=O3")));
            grids.push(of(format!("{elementwise} opt=O0,O1,O2,O3")));
        }
        if breadth == Breadth::Full {
            let all = format!("{known},gfx908,gfx950,gfx1151,gfx1201,sm_89,sm_120");
            let sources = SOURCES.join(",");
            grids.push(of(format!("arch={all} source={sources} opt=O0,O1,O2,O3")));
        }
        grids
    }

    fn factors(&self, params: &Params) -> &'static [&'static str] {
        if params.text("arch").is_some_and(|arch| arch.starts_with("sm_")) {
            &[CUDA]
        } else {
            &[ROCM]
        }
    }

    fn footprint_bytes(&self, params: &Params) -> Result<u64, Reason> {
        Self::job(params).map(|_| 0)
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        self.prepare_with(params, device, &Registry::default())
    }

    fn prepare_with<'d>(
        &self,
        params: &Params,
        _: &'d dyn Device,
        backends: &Registry,
    ) -> PrepareResult<'d> {
        let job = Self::job(params).map_err(Failure::Skipped)?;
        let backend = compiler::backend_of(&job.arch);
        let compiler = backends.compiler(backend).map_err(Failure::Skipped)?;
        let program =
            std::env::current_exe().map_err(|error| Failure::Skipped(no_program(&error)))?;
        child::compiles(&program, child::CompilerQuery::of(backend, &*compiler), &job.arch, ASKING)
            .map_err(Failure::Skipped)?;
        let mut prepared = Compiling { compiler, job, bytes: 0 };
        prepared.bytes = prepared.compile()?.bytes.len();
        Ok(Box::new(prepared))
    }
}

fn no_program(error: &std::io::Error) -> Reason {
    Reason::new("compiler", format!("cannot find the path of this program: {error}"), "mount /proc")
}

/// A source that is compiled repeatedly.
struct Compiling {
    compiler: Box<dyn KernelCompiler>,
    job: Job,
    /// Size of the code object in bytes.
    bytes: usize,
}

impl Compiling {
    /// Compiles once and checks that the code is for the requested architecture.
    fn compile(&self) -> Result<CodeObject, Failure> {
        let made = self.compiler.compile(&self.job).map_err(Failure::Failed)?;
        if made.target.as_deref() == Some(&self.job.arch) {
            return Ok(made);
        }
        Err(Failure::Failed(Reason::new(
            "wrong result",
            match &made.target {
                Some(target) => {
                    format!("{} was requested, but the code object is for {target}", self.job.arch)
                }
                None => {
                    format!(
                        "{} was requested, but the code object specifies no known architecture",
                        self.job.arch
                    )
                }
            },
            "reinstall the compiler; if it fails again, report this as a bug",
        )))
    }
}

impl Prepared for Compiling {
    fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        let mut time = Duration::ZERO;
        for _ in 0..iters {
            time += self.compile()?.time;
        }
        Ok(time.as_secs_f64() * 1e9)
    }

    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure> {
        check_time(time_ns)?;
        if time_ns < SHORTEST.as_secs_f64() * 1e9 {
            let why = format!("{time_ns} ns is less than the time to read the source");
            return Err(Failure::Failed(Reason::new(
                "impossible result",
                why,
                "suspect a compiler cache, and report this as a bug",
            )));
        }
        let mut fields =
            Fields::new().with("operation", "compile").with("provider", self.compiler.name());
        fields.set("gfx_target", self.job.arch.clone());
        fields.set("source_file", self.job.source.clone());
        fields.set("optimization", self.job.level.as_str());
        fields.set("compilation", self.job.compilation.as_str());
        fields.set("time_ms", time_ns / 1e6);
        fields.set("compile_time_ms", time_ns / 1e6);
        fields.set("code_object_bytes", self.bytes);
        Ok(fields)
    }

    fn device_type(&self) -> Option<DeviceType> {
        Some(self.compiler.device_type())
    }
}
