//! Names of things: backends, devices, data types, cases and runs.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Text that does not name what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct ParseIdError {
    text: String,
    expected: Cow<'static, str>,
}

impl ParseIdError {
    pub(crate) fn new(text: &str, expected: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.to_owned(), expected: expected.into() }
    }
}

/// Implements `Display` through an `as_str` that the type has.
macro_rules! display_as_str {
    ($($name:ty),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    )*};
}

/// Who made a GPU, as far as its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    /// AMD.
    Amd,
    /// NVIDIA.
    Nvidia,
    /// Intel.
    Intel,
    /// Somebody else, or the name does not say.
    Other,
}

impl Vendor {
    /// The runtime that the vendor wrote for its GPUs.
    pub fn native(self) -> Option<BackendId> {
        BackendId::ALL.into_iter().find(|backend| backend.native_of() == Some(self))
    }
}

/// The table of backends, native runtimes first: that is the order in which `auto` prefers them. Of
/// each its name, the vendor whose own runtime it is, and what the names of architectures begin
/// with that its compiler makes kernels for.
macro_rules! backends {
    ($($(#[$doc:meta])* $backend:ident = $name:literal, native: $native:expr, compiles: $compiles:expr;)*) => {
        /// A runtime through which a device is reached.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        pub enum BackendId {
            $($(#[$doc])* $backend,)*
        }

        impl BackendId {
            /// Every backend, in the order of the table.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$backend),*];

            /// The name used on the command line and in case ids.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$backend => $name),* }
            }

            /// The vendor whose own runtime it is, where it is one's.
            pub const fn native_of(self) -> Option<Vendor> {
                match self { $(Self::$backend => $native),* }
            }

            /// What the names of architectures begin with that its runtime compiler makes kernels
            /// for.
            pub const fn compiles(self) -> Option<&'static str> {
                match self { $(Self::$backend => $compiles),* }
            }
        }
    };
}

backends! {
    /// AMD GPUs through HIP.
    Rocm = "rocm", native: Some(Vendor::Amd), compiles: Some("gfx");
    /// NVIDIA GPUs through the CUDA driver.
    Cuda = "cuda", native: Some(Vendor::Nvidia), compiles: Some("sm_");
    /// Any GPU with a Vulkan driver.
    Vulkan = "vulkan", native: None, compiles: None;
    /// Any OpenCL platform.
    Opencl = "opencl", native: None, compiles: None;
    /// Intel's OpenCL platform and oneMKL.
    Oneapi = "oneapi", native: Some(Vendor::Intel), compiles: None;
    /// The CPU itself.
    Cpu = "cpu", native: None, compiles: None;
}

impl FromStr for BackendId {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|backend| backend.as_str() == text);
        known.ok_or_else(|| {
            let names = Self::ALL.map(Self::as_str).join(", ");
            ParseIdError::new(text, format!("a backend ({names})"))
        })
    }
}

/// One unit of a backend, written `rocm:0` wherever it is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct DeviceRef {
    /// How it is reached.
    pub backend: BackendId,
    /// Which one, in the backend's own order.
    pub index: u32,
}

impl DeviceRef {
    /// The CPU: there is one.
    pub const CPU: Self = Self { backend: BackendId::Cpu, index: 0 };

    /// Whether it is the CPU itself, reached without a driver.
    pub const fn is_cpu(self) -> bool {
        matches!(self.backend, BackendId::Cpu)
    }
}

impl fmt::Display for DeviceRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.backend, self.index)
    }
}

impl FromStr for DeviceRef {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "a device such as `rocm:0`";
        let Some((backend, index)) = text.split_once(':') else {
            return Err(ParseIdError::new(text, EXPECTED));
        };
        let backend = backend.parse::<BackendId>()?;
        let index = index.parse::<u32>().map_err(|_| ParseIdError::new(text, EXPECTED))?;
        Ok(Self { backend, index })
    }
}

/// Where a case runs, or would if it could.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum CaseDevice {
    /// A device, written `cpu:0`.
    Device(DeviceRef),
    /// A backend that has no device here, written `rocm`.
    Backend(BackendId),
    /// None at all, as of a component that is not installed, written `none`.
    None,
}

impl CaseDevice {
    const NONE: &str = "none";

    /// The device, where it is one.
    pub const fn device(self) -> Option<DeviceRef> {
        match self {
            Self::Device(device) => Some(device),
            Self::Backend(_) | Self::None => None,
        }
    }

    /// The backend of the device, or the one that has none here.
    pub const fn backend(self) -> Option<BackendId> {
        match self {
            Self::Device(device) => Some(device.backend),
            Self::Backend(backend) => Some(backend),
            Self::None => None,
        }
    }
}

impl From<DeviceRef> for CaseDevice {
    fn from(device: DeviceRef) -> Self {
        Self::Device(device)
    }
}

impl fmt::Display for CaseDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(device) => device.fmt(f),
            Self::Backend(backend) => backend.fmt(f),
            Self::None => f.write_str(Self::NONE),
        }
    }
}

impl FromStr for CaseDevice {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == Self::NONE {
            return Ok(Self::None);
        }
        if let Ok(device) = text.parse::<DeviceRef>() {
            return Ok(Self::Device(device));
        }
        if let Ok(backend) = text.parse::<BackendId>() {
            return Ok(Self::Backend(backend));
        }
        Err(ParseIdError::new(text, "a device such as `rocm:0`, a backend or `none`"))
    }
}

/// Implements the conversions by which serde reads and writes a type as its text.
macro_rules! as_text {
    ($($name:ty),*) => {$(
        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = ParseIdError;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }
    )*};
}

as_text!(DeviceRef, CaseDevice);

/// What kind of hardware ran a case; results of one kind are never ranked with those of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeviceType {
    /// A CPU, also when reached through a CPU driver of Vulkan or OpenCL.
    Cpu,
    /// A GPU or accelerator.
    Gpu,
    /// A fake GPU for tests: its figures mean nothing.
    Simulated,
}

impl DeviceType {
    /// The name used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Simulated => "simulated",
        }
    }
}

impl FromStr for DeviceType {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = [Self::Cpu, Self::Gpu, Self::Simulated];
        let found = all.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| ParseIdError::new(text, "a kind of device (cpu, gpu or simulated)"))
    }
}

/// The kind of benchmark a result belongs to.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BenchmarkType {
    /// What can be measured before a ML stack is installed.
    PreInstallation,
    /// A framework or other installed component.
    ComponentSpecific,
    /// Native kernels on a GPU.
    GpuPerformance,
    /// Native kernels on the CPU.
    CpuPerformance,
}

impl BenchmarkType {
    /// Every type.
    pub const ALL: [Self; 4] = [
        Self::PreInstallation,
        Self::ComponentSpecific,
        Self::GpuPerformance,
        Self::CpuPerformance,
    ];

    /// The name used in ids and documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreInstallation => "pre_installation",
            Self::ComponentSpecific => "component_specific",
            Self::GpuPerformance => "gpu_performance",
            Self::CpuPerformance => "cpu_performance",
        }
    }
}

impl FromStr for BenchmarkType {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| ParseIdError::new(text, "a kind of benchmark"))
    }
}

/// The type of one element.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// IEEE 754 binary64.
    F64,
    /// IEEE 754 binary32.
    F32,
    /// binary32 in memory, 10 bits of mantissa in the multiplier.
    Tf32,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of a binary32.
    Bf16,
    /// 8-bit floating point with four bits of exponent, e4m3.
    Fp8,
    /// 8-bit floating point with five bits of exponent, e5m2.
    Bf8,
    /// 8-bit integer.
    I8,
    /// 6-bit floating point, e2m3.
    Fp6,
    /// 4-bit floating point, e2m1.
    Fp4,
    /// 4-bit integer.
    I4,
    /// 32-bit integer: what products of `i8` are stored as. Nobody asks for it by name.
    I32,
}

impl Dtype {
    /// The relative step between neighboring numbers; zero for integers.
    pub const fn epsilon(self) -> f64 {
        match self {
            Self::F64 => f64::EPSILON,
            Self::F32 => f32::EPSILON as f64,
            Self::Tf32 | Self::F16 => 1.0 / 1024.0,
            Self::Bf16 => 1.0 / 128.0,
            Self::Fp8 | Self::Fp6 => 1.0 / 8.0,
            Self::Bf8 => 1.0 / 4.0,
            Self::Fp4 => 1.0 / 2.0,
            Self::I8 | Self::I4 | Self::I32 => 0.0,
        }
    }

    /// Every data type that can be asked for, widest first.
    pub const ALL: [Self; 11] = [
        Self::F64,
        Self::F32,
        Self::Tf32,
        Self::F16,
        Self::Bf16,
        Self::Fp8,
        Self::Bf8,
        Self::I8,
        Self::Fp6,
        Self::Fp4,
        Self::I4,
    ];

    /// The name used in ids and documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::Tf32 => "tf32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Fp8 => "fp8",
            Self::Bf8 => "bf8",
            Self::I8 => "i8",
            Self::Fp6 => "fp6",
            Self::Fp4 => "fp4",
            Self::I4 => "i4",
            Self::I32 => "i32",
        }
    }

    /// Size of one element in memory, in bits.
    pub const fn bits(self) -> u64 {
        match self {
            Self::F64 => 64,
            Self::F32 | Self::Tf32 | Self::I32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::Fp8 | Self::Bf8 | Self::I8 => 8,
            Self::Fp6 => 6,
            Self::Fp4 | Self::I4 => 4,
        }
    }

    /// Bytes that `elements` of this type take in memory.
    pub const fn bytes(self, elements: u64) -> u64 {
        (elements * self.bits()).div_ceil(8)
    }
}

impl FromStr for Dtype {
    type Err = ParseIdError;

    /// Accepts the other common spellings too: `float32`, `fp32`, `half`, `int8` …
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "f64" | "fp64" | "float64" | "double" => Self::F64,
            "f32" | "fp32" | "float32" | "float" | "single" => Self::F32,
            "tf32" | "tensorfloat32" => Self::Tf32,
            "f16" | "fp16" | "float16" | "half" => Self::F16,
            "bf16" | "bfloat16" => Self::Bf16,
            "fp8" | "f8" | "float8" | "f8e4m3" | "e4m3" => Self::Fp8,
            "bf8" | "f8e5m2" | "e5m2" => Self::Bf8,
            "fp6" | "f6e2m3" | "e2m3" => Self::Fp6,
            "fp4" | "f4e2m1" | "e2m1" => Self::Fp4,
            "i8" | "int8" => Self::I8,
            "i4" | "int4" => Self::I4,
            _ => {
                return Err(ParseIdError::new(
                    text,
                    "a data type (f64 f32 tf32 f16 bf16 fp8 bf8 i8 fp6 fp4 i4)",
                ));
            }
        })
    }
}

display_as_str!(BackendId, DeviceType, BenchmarkType, Dtype);

/// Identifies a case across runs and machines: `cpu_performance/gemm/cpu:0/f32/1024x1024x1024`.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct CaseId(String);

impl From<String> for CaseId {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl CaseId {
    /// Joins `segments` with slashes. Segments are program-made and never empty.
    pub fn from_segments<S: AsRef<str>>(segments: &[S]) -> Self {
        Self(segments.iter().map(AsRef::as_ref).collect::<Vec<_>>().join("/"))
    }

    /// The whole id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The benchmark's name, such as `gemm`, where the id has this project's own form.
    pub fn benchmark(&self) -> Option<&str> {
        self.0.split('/').nth(1)
    }

    /// Its parts, where it has this project's own form: a kind of benchmark first. Ids are taken
    /// apart here alone.
    pub fn parts(&self) -> Option<CaseParts<'_>> {
        let (kind, rest) = self.0.split_once('/')?;
        let benchmark_type = kind.parse().ok()?;
        let (benchmark, case) = rest.split_once('/').unwrap_or((rest, ""));
        let first = case.split('/').next().unwrap_or_default();
        let device: CaseDevice = first.parse().unwrap_or(CaseDevice::None);
        let point = if device == CaseDevice::None {
            case
        } else {
            case.get(first.len() + 1..).unwrap_or_default()
        };
        Some(CaseParts { benchmark_type, benchmark, case, device, point })
    }

    /// Where the case runs, as far as its id tells.
    pub fn device(&self) -> CaseDevice {
        self.parts().map_or(CaseDevice::None, |parts| parts.device)
    }
}

/// An id of this project's own form, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaseParts<'a> {
    /// The kind of benchmark.
    pub benchmark_type: BenchmarkType,
    /// The benchmark's name, such as `gemm`.
    pub benchmark: &'a str,
    /// All after the benchmark: `cpu:0/f32/1024x1024x1024`.
    pub case: &'a str,
    /// Where it runs.
    pub device: CaseDevice,
    /// All after the device: `f32/1024x1024x1024`. As `case` where no device is named, as by a
    /// foreign tool.
    pub point: &'a str,
}

impl fmt::Display for CaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for CaseId {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(ParseIdError::new(text, "a case id"));
        }
        Ok(Self::from(text.to_owned()))
    }
}

/// Identifies a run: `20261121T090312Z_1a2b3c4`, also the name of its file.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests;
