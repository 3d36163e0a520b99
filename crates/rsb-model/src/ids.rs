//! Names of backends, devices, data types, cases and runs.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Text that cannot be parsed as the expected name.
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

/// Implements `Display` with the type's `as_str`.
macro_rules! display_as_str {
    ($($name:ty),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    )*};
}

/// Vendor of a GPU, as derived from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    /// AMD.
    Amd,
    /// NVIDIA.
    Nvidia,
    /// Intel.
    Intel,
    /// Another vendor, or unknown.
    Other,
}

impl Vendor {
    /// Returns the vendor's own runtime for its GPUs.
    pub fn native(self) -> Option<BackendId> {
        BackendId::ALL.into_iter().find(|backend| backend.native_of() == Some(self))
    }
}

/// Table of backends in the order in which `auto` prefers them, native runtimes first. Each row has
/// the name, the vendor whose own runtime it is, and the prefix of the targets that its runtime
/// compiler supports.
macro_rules! backends {
    ($($(#[$doc:meta])* $backend:ident = $name:literal, native: $native:expr, compiles: $compiles:expr;)*) => {
        /// Runtime through which a device is used.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        pub enum BackendId {
            $($(#[$doc])* $backend,)*
        }

        impl BackendId {
            /// All backends, in the order of the table.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$backend),*];

            /// Returns the name used on the command line and in case ids.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$backend => $name),* }
            }

            /// Returns the vendor whose own runtime this backend is, if any.
            pub const fn native_of(self) -> Option<Vendor> {
                match self { $(Self::$backend => $native),* }
            }

            /// Returns the prefix of the targets that the runtime compiler of this backend
            /// supports, if it has one.
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
    /// The CPU itself, without a driver.
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

/// One device of a backend, written as `rocm:0` in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct DeviceRef {
    /// Backend of the device.
    pub backend: BackendId,
    /// Index in the backend's own order.
    pub index: u32,
}

impl DeviceRef {
    /// The CPU. There is only one.
    pub const CPU: Self = Self { backend: BackendId::Cpu, index: 0 };

    /// Returns whether the device is the CPU itself, used without a driver.
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

/// Device on which a case runs or would run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum CaseDevice {
    /// Device, written as `cpu:0`.
    Device(DeviceRef),
    /// Backend without a device on this machine, written as `rocm`.
    Backend(BackendId),
    /// No device, as for a component that is not installed; written as `none`.
    None,
}

impl CaseDevice {
    const NONE: &str = "none";

    /// Returns the device, if there is one.
    pub const fn device(self) -> Option<DeviceRef> {
        match self {
            Self::Device(device) => Some(device),
            Self::Backend(_) | Self::None => None,
        }
    }

    /// Returns the backend of the device, or the backend without a device.
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

/// Implements the conversions with which serde reads and writes a type as text.
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

named_enum! {
    serde
    /// Type of hardware that ran a case. Results of different types are never ranked together.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum DeviceType {
        /// CPU, even if it is used through a CPU driver for Vulkan or OpenCL.
        Cpu = "cpu",
        /// GPU or accelerator.
        Gpu = "gpu",
        /// Fake GPU for tests. Its values have no meaning.
        Simulated = "simulated",
    }
}

impl FromStr for DeviceType {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::find(text)
            .ok_or_else(|| ParseIdError::new(text, "a kind of device (cpu, gpu or simulated)"))
    }
}

named_enum! {
    serde
    /// Type of benchmark that a result belongs to.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    pub enum BenchmarkType {
        /// Hardware benchmarks that need no installed ML stack.
        PreInstallation = "pre_installation",
        /// Framework or other installed component.
        ComponentSpecific = "component_specific",
        /// Native kernels on a GPU.
        GpuPerformance = "gpu_performance",
        /// Native kernels on the CPU.
        CpuPerformance = "cpu_performance",
    }
}

impl FromStr for BenchmarkType {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::find(text).ok_or_else(|| ParseIdError::new(text, "a kind of benchmark"))
    }
}

/// Data type of an element.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// IEEE 754 binary64.
    F64,
    /// IEEE 754 binary32.
    F32,
    /// binary32 in memory, with 10 mantissa bits in the multiplier.
    Tf32,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of a binary32.
    Bf16,
    /// 8-bit floating point with four exponent bits, e4m3.
    Fp8,
    /// 8-bit floating point with five exponent bits, e5m2.
    Bf8,
    /// 8-bit integer.
    I8,
    /// 6-bit floating point, e2m3.
    Fp6,
    /// 4-bit floating point, e2m1.
    Fp4,
    /// 4-bit integer.
    I4,
    /// 32-bit integer, the result type of `i8` products. It cannot be selected by name.
    I32,
}

impl Dtype {
    /// Returns the relative step between neighboring numbers; zero for integers.
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

    /// Data types that the user can select, widest first.
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

    /// Returns the name used in ids and documents.
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

    /// Returns the size of one element in memory, in bits.
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

    /// Returns the size of `elements` elements in memory, in bytes.
    pub const fn bytes(self, elements: u64) -> u64 {
        (elements * self.bits()).div_ceil(8)
    }
}

impl FromStr for Dtype {
    type Err = ParseIdError;

    /// Parses the name, including other common spellings: `float32`, `fp32`, `half`, `int8` …
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

display_as_str!(BackendId, Dtype);

/// Id of a case, stable across runs and machines: `cpu_performance/gemm/cpu:0/f32/1024x1024x1024`.
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
    /// Joins `segments` with slashes. The program builds the segments, and they are never empty.
    pub fn from_segments<S: AsRef<str>>(segments: &[S]) -> Self {
        Self(segments.iter().map(AsRef::as_ref).collect::<Vec<_>>().join("/"))
    }

    /// Returns the whole id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name of the benchmark, such as `gemm`, if the id has the form used by this
    /// program.
    pub fn benchmark(&self) -> Option<&str> {
        self.0.split('/').nth(1)
    }

    /// Splits the id into its parts, if it has the form used by this program (a benchmark type
    /// first). This is the only place that parses ids.
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

    /// Returns the device of the case as given by its id.
    pub fn device(&self) -> CaseDevice {
        self.parts().map_or(CaseDevice::None, |parts| parts.device)
    }
}

/// Parts of an id in the form used by this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaseParts<'a> {
    /// Type of benchmark.
    pub benchmark_type: BenchmarkType,
    /// Name of the benchmark, such as `gemm`.
    pub benchmark: &'a str,
    /// Everything after the benchmark: `cpu:0/f32/1024x1024x1024`.
    pub case: &'a str,
    /// Device of the case.
    pub device: CaseDevice,
    /// Everything after the device: `f32/1024x1024x1024`. Equal to `case` if the id names no
    /// device, as in ids of other tools.
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

/// Id of a run, and name of its file: `20261121T090312Z_1a2b3c4`.
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
