//! NVRTC, which needs neither a device nor a driver.

use std::ffi::c_int;
use std::path::Path;

use cuda_sys::search::CudaPaths;
use cuda_sys::{Nvrtc, nvrtcProgram, result};
use rsb_model::architecture::{self, ToolkitRelease};
use rsb_model::{DeviceType, Reason};

use super::cubin;
use crate::common::{self, Compiled, FAKE_GPU, Rtc, Source, Toolchain, unavailable};
use rsb_device::compiler::{CodeObject, Job, KernelChoice, KernelCompiler, KernelNeeds};
use rsb_device::device::{DeviceError, Options};
use rsb_device::operation::Operation;

/// The loaded runtime compiler.
pub struct CudaCompiler {
    api: Nvrtc,
    rtc: Rtc<nvrtcProgram>,
}

impl CudaCompiler {
    /// Loads the compiler.
    ///
    /// # Errors
    /// If no compiler is installed.
    pub fn load() -> Result<Self, Reason> {
        Self::load_for(None)
    }

    /// Loads the compiler that best matches a driver for CUDA `major`, which may not support code
    /// of a newer compiler.
    pub(super) fn load_for(major: Option<u32>) -> Result<Self, Reason> {
        let api = Nvrtc::load_from(&CudaPaths::here().up_to(major)).map_err(unavailable)?;
        Ok(Self::new(api))
    }

    fn new(api: Nvrtc) -> Self {
        let rtc = Rtc {
            loaded: *api.loaded(),
            prefix: "nvrtc",
            code_call: "GetCUBIN",
            cure: "install a CUDA toolkit that supports the GPU; if it does, report this with the \
                   message above",
            create: api.nvrtcCreateProgram,
            compile: api.nvrtcCompileProgram,
            log_size: api.nvrtcGetProgramLogSize,
            log: api.nvrtcGetProgramLog,
            code_size: api.nvrtcGetCUBINSize,
            code: api.nvrtcGetCUBIN,
            destroy: api.nvrtcDestroyProgram,
            error_text: api.nvrtcGetErrorString,
            version: api.nvrtcVersion,
        };
        Self { api, rtc }
    }

    /// Loads the compiler only from the installation in `root`: a toolkit, or a Python environment.
    ///
    /// # Errors
    /// If there is no compiler in `root`.
    pub fn load_in(root: &Path) -> Result<Self, Reason> {
        let roots = vec![root.to_owned()];
        let found =
            Nvrtc::load_from(&CudaPaths { roots, ..CudaPaths::default() }).map_err(unavailable)?;
        if found.loaded().path().starts_with(root) {
            return Ok(Self::new(found));
        }
        Err(Reason::new(
            "NVIDIA's runtime compiler (libnvrtc)",
            format!("it is not in {}", root.display()),
            "install NVRTC there: pip install nvidia-cuda-nvrtc",
        ))
    }

    /// Returns the compiler's identity: its version and the file.
    pub fn identity(&self) -> String {
        let (major, minor) = self.version().unwrap_or_default();
        format!("nvrtc {major}.{minor} {}", common::file_identity(self.rtc.loaded.path()))
    }

    /// Returns the compiler's version, which is the CUDA version.
    pub fn version(&self) -> Option<(i32, i32)> {
        self.rtc.version()
    }

    /// Returns the CUDA release of the compiler.
    pub fn release(&self) -> Option<ToolkitRelease> {
        let (major, minor) = self.version()?;
        Some((major.try_into().ok()?, minor.try_into().ok()?))
    }

    /// Returns the numbers of the architectures that the compiler supports, such as 90; empty if it
    /// does not report them.
    pub fn architectures(&self) -> Vec<i32> {
        let (Some(count), Some(get)) =
            (self.api.nvrtcGetNumSupportedArchs, self.api.nvrtcGetSupportedArchs)
        else {
            return Vec::new();
        };
        let mut there: c_int = 0;
        // SAFETY: the pointer refers to a live variable of this type.
        if unsafe { count(&raw mut there) } != result::SUCCESS {
            return Vec::new();
        }
        let mut numbers: Vec<c_int> = vec![0; usize::try_from(there).unwrap_or(0)];
        // SAFETY: there is space for as many numbers as the compiler reported.
        let status = unsafe { get(numbers.as_mut_ptr()) };
        if status == result::SUCCESS { numbers } else { Vec::new() }
    }

    /// Compiles `source` for `arch`, such as `sm_90`, with additional options.
    ///
    /// # Errors
    /// If the architecture is not supported or the compiler rejects the source.
    pub fn compile(
        &self,
        source: Source<'_>,
        arch: &str,
        options: &[&str],
    ) -> Result<Compiled, Reason> {
        self.check_known(arch)?;
        let target = format!("--gpu-architecture={}", self.whole(arch));
        let options = std::iter::once(target).chain(options.iter().map(ToString::to_string));
        self.rtc.compile(source, arch, &options.collect::<Vec<_>>())
    }

    /// Returns `arch` with its architecture- or family-specific features: Hopper's matrix units
    /// need `sm_90a`, available since CUDA 12, and fp4 needs `sm_120f`, available since CUDA 12.9.
    fn whole<'a>(&self, arch: &'a str) -> &'a str {
        let version = self.version().unwrap_or_default();
        match arch {
            "sm_90" if version >= (12, 0) => "sm_90a",
            "sm_120" if version >= (12, 9) => "sm_120f",
            "sm_121" if version >= (12, 9) => "sm_121f",
            _ => arch,
        }
    }

    /// Returns an error that lists the supported architectures if `arch` is not one of them.
    fn check_known(&self, arch: &str) -> Result<(), Reason> {
        let known = self.architectures();
        if known.is_empty() || number(arch).is_some_and(|number| known.contains(&number)) {
            return Ok(());
        }
        if let Some(reason) =
            self.release().and_then(|release| architecture::unknown("nvrtc", release, bare(arch)))
        {
            return Err(reason);
        }
        let (major, minor) = self.version().unwrap_or_default();
        let list = known.iter().map(|number| format!("sm_{number}")).collect::<Vec<_>>().join(", ");
        Err(Reason::new(
            format!("compilation for {arch}"),
            format!("NVRTC {major}.{minor} supports {list}"),
            "install the CUDA toolkit (or `pip install nvidia-cuda-nvrtc`) in a version that \
             supports the GPU",
        ))
    }
}

impl Toolchain for CudaCompiler {
    fn identity(&self) -> String {
        Self::identity(self)
    }

    fn compile(
        &self,
        source: Source<'_>,
        arch: &str,
        options: &[&str],
    ) -> Result<Compiled, Reason> {
        Self::compile(self, source, arch, options)
    }

    fn closest(&self, arch: &str) -> String {
        closest(&self.architectures(), arch)
    }
}

/// Returns the highest of `known` whose code runs on a GPU of `arch`: the same major version and at
/// most the same minor version, such as `sm_86` for `sm_89`. Returns `arch` itself if there is
/// none.
fn closest(known: &[c_int], arch: &str) -> String {
    let Some(own) = number(arch) else { return arch.to_owned() };
    let highest = known.iter().filter(|&&other| other <= own && other / 10 == own / 10).max();
    highest.map_or_else(|| arch.to_owned(), |number| format!("sm_{number}"))
}

/// Returns `sm_90` from `sm_90a`.
fn bare(arch: &str) -> &str {
    arch.trim_end_matches(['a', 'f'])
}

/// Returns the number in `sm_90` or `sm_90a`.
fn number(arch: &str) -> Option<c_int> {
    bare(arch).strip_prefix("sm_")?.parse().ok()
}

impl KernelCompiler for CudaCompiler {
    fn name(&self) -> &'static str {
        "nvrtc"
    }

    fn release(&self) -> Option<ToolkitRelease> {
        Self::release(self)
    }

    fn device_type(&self) -> DeviceType {
        if self.rtc.loaded.exports(FAKE_GPU) { DeviceType::Simulated } else { DeviceType::Cpu }
    }

    fn compile(&self, job: &Job) -> Result<CodeObject, Reason> {
        let code = common::compile_job(self, job, &[&format!("--ptxas-options=-{}", job.level)])?;
        let target = cubin::target(&code.bytes);
        Ok(CodeObject { target, ..code })
    }

    fn choose(
        &self,
        operation: &Operation,
        options: &Options,
        arch: &str,
    ) -> Result<KernelChoice, DeviceError> {
        common::choose(operation, options, arch)
    }

    fn needs(&self, code: &CodeObject) -> Vec<KernelNeeds> {
        cubin::kernels(&code.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_that_a_compiler_does_not_know_get_the_code_of_their_elder() {
        let known = [75, 80, 86, 90, 100, 120];
        for (arch, expected) in [
            ("sm_90", "sm_90"),
            ("sm_89", "sm_86"),
            ("sm_121", "sm_120"),
            ("sm_70", "sm_70"),
            ("sm_110", "sm_110"),
            ("gfx90a", "gfx90a"),
        ] {
            assert_eq!(closest(&known, arch), expected);
        }
        assert_eq!(closest(&[], "sm_90"), "sm_90", "a compiler that does not list its targets");
    }
}
