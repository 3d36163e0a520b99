//! hiprtc, which needs no device.

use hip_runtime_sys::{Hiprtc, hiprtcProgram};
use rsb_model::architecture::{self, ToolkitRelease};
use rsb_model::{DeviceType, Reason};

use super::code_object;
use crate::common::{self, Compiled, FAKE_GPU, Rtc, Source, Toolchain, unavailable};
use rsb_device::compiler::{CodeObject, Job, KernelChoice, KernelCompiler, KernelNeeds};
use rsb_device::device::{DeviceError, Options};
use rsb_device::operation::Operation;

/// The loaded runtime compiler.
pub struct HipCompiler {
    rtc: Rtc<hiprtcProgram>,
}

/// Compiles `source` for the architecture `arch`, such as `gfx90a`, with additional options such as
/// `-O1`. No device is needed.
///
/// # Errors
/// If there is no compiler or it rejects the source.
pub fn compile(source: Source<'_>, arch: &str, options: &[&str]) -> Result<Compiled, Reason> {
    HipCompiler::load()?.compile(source, arch, options)
}

impl HipCompiler {
    /// Loads the compiler.
    ///
    /// # Errors
    /// If there is none.
    pub fn load() -> Result<Self, Reason> {
        let api = Hiprtc::load().map_err(unavailable)?;
        Ok(Self {
            rtc: Rtc {
                loaded: *api.loaded(),
                prefix: "hiprtc",
                code_call: "GetCode",
                cure: "install a ROCm that supports the GPU; if it does, report this with the \
                       message above",
                create: api.hiprtcCreateProgram,
                compile: api.hiprtcCompileProgram,
                log_size: api.hiprtcGetProgramLogSize,
                log: api.hiprtcGetProgramLog,
                code_size: api.hiprtcGetCodeSize,
                code: api.hiprtcGetCode,
                destroy: api.hiprtcDestroyProgram,
                error_text: api.hiprtcGetErrorString,
                version: api.hiprtcVersion,
            },
        })
    }

    /// Returns the compiler's identity: the file with its size and time. hiprtc's own version has
    /// been 9.0 for years.
    pub fn identity(&self) -> String {
        common::file_identity(self.rtc.loaded.path())
    }

    /// Returns the version that the compiler reports: 9.0 from ROCm 5 on.
    pub fn version(&self) -> Option<(i32, i32)> {
        self.rtc.version()
    }

    /// Returns the ROCm release of the compiler, from its file name: `libhiprtc.so.7.2.53211`.
    pub fn release(&self) -> Option<ToolkitRelease> {
        let path = self.rtc.loaded.path();
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        release_of(path.file_name()?.to_str()?)
    }

    /// Compiles like [`compile`], with this compiler.
    ///
    /// # Errors
    /// If the compiler rejects the source.
    pub fn compile(
        &self,
        source: Source<'_>,
        arch: &str,
        options: &[&str],
    ) -> Result<Compiled, Reason> {
        let target = format!("--gpu-architecture={arch}");
        let options: Vec<String> =
            std::iter::once(target).chain(options.iter().map(ToString::to_string)).collect();
        self.rtc.compile(source, arch, &options)
    }
}

/// Returns the major and minor version after `.so.`.
fn release_of(file: &str) -> Option<ToolkitRelease> {
    let mut parts = file.split_once(".so.")?.1.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

impl Toolchain for HipCompiler {
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

    fn unknown(&self, arch: &str) -> Option<Reason> {
        architecture::unknown("hiprtc", self.release()?, super::arch::architecture(arch))
    }
}

impl KernelCompiler for HipCompiler {
    fn name(&self) -> &'static str {
        "hiprtc"
    }

    fn release(&self) -> Option<ToolkitRelease> {
        Self::release(self)
    }

    fn device_type(&self) -> DeviceType {
        if self.rtc.loaded.exports(FAKE_GPU) { DeviceType::Simulated } else { DeviceType::Cpu }
    }

    fn compile(&self, job: &Job) -> Result<CodeObject, Reason> {
        let code = common::compile_job(self, job, &[&format!("-{}", job.level)])?;
        let target = code_object::target(&code.bytes).map(str::to_owned);
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
        code_object::kernels(&code.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_in_the_files_name() {
        for (file, release) in [
            ("libamdhip64.so.5.2.21153", Some((5, 2))),
            ("libhiprtc.so.7.2.53211", Some((7, 2))),
            ("libhiprtc.so.6", None),
            ("librsb_fake_gpu.so", None),
        ] {
            assert_eq!(release_of(file), release, "{file}");
        }
    }
}
