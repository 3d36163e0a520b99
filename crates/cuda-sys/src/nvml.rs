//! NVML, which reads the sensors of NVIDIA GPUs, and a safe function to read them; sensors that are
//! missing are `None`. The crate nvml-wrapper is not used: only eight functions are needed, for
//! which it would add 24,000 lines and the derive macros of darling.

use std::ffi::{CString, c_char, c_int, c_uint};
use std::sync::OnceLock;

use runtime_loading::{Unavailable, function_table};

use crate::handles;
use crate::search::{CudaLibrary, CudaPaths};

/// A status code; 0 is success.
pub type nvmlReturn_t = c_int;

handles! {
    /// A GPU handle.
    nvmlDevice_t = nvmlDevice_st;
}

const SUCCESS: nvmlReturn_t = 0;
/// `NVML_TEMPERATURE_GPU`.
const CHIP: c_int = 0;
/// `NVML_CLOCK_SM`.
const CLOCK_UNITS: c_int = 1;
/// `NVML_CLOCK_MEM`.
const CLOCK_MEMORY: c_int = 2;

/// Utilization: shares of a recent period, in percent.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct nvmlUtilization_t {
    /// Share of time in which a kernel ran.
    pub gpu: c_uint,
    /// Share of time in which memory was read or written.
    pub memory: c_uint,
}

/// Memory of a GPU, in bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct nvmlMemory_t {
    /// Total.
    pub total: u64,
    /// Free.
    pub free: u64,
    /// Used, by any process.
    pub used: u64,
}

function_table! {
    /// The NVML functions that this project uses.
    pub struct Nvml {
        /// Initializes the library.
        fn nvmlInit_v2() -> nvmlReturn_t;
        /// Returns the GPU at a PCI address.
        fn nvmlDeviceGetHandleByPciBusId_v2(address: *const c_char, device: *mut nvmlDevice_t) -> nvmlReturn_t;
        /// Returns a temperature in °C.
        fn nvmlDeviceGetTemperature(device: nvmlDevice_t, sensor: c_int, celsius: *mut c_uint) -> nvmlReturn_t;
        /// Returns the power draw in milliwatts.
        fn nvmlDeviceGetPowerUsage(device: nvmlDevice_t, milliwatts: *mut c_uint) -> nvmlReturn_t;
        /// Returns a clock in MHz.
        fn nvmlDeviceGetClockInfo(device: nvmlDevice_t, clock: c_int, mhz: *mut c_uint) -> nvmlReturn_t;
        /// Returns the utilization.
        fn nvmlDeviceGetUtilizationRates(device: nvmlDevice_t, shares: *mut nvmlUtilization_t) -> nvmlReturn_t;
        /// Returns total, free and used memory.
        fn nvmlDeviceGetMemoryInfo(device: nvmlDevice_t, memory: *mut nvmlMemory_t) -> nvmlReturn_t;
        /// Returns the reasons why the clocks are throttled, one bit each.
        fn nvmlDeviceGetCurrentClocksThrottleReasons(device: nvmlDevice_t, reasons: *mut u64) -> nvmlReturn_t;
    }
}

/// Current sensor readings of a GPU. A reading is `None` if its sensor is unavailable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Readings {
    /// Temperature of the chip in °C.
    pub celsius: Option<u32>,
    /// Power draw.
    pub milliwatts: Option<u32>,
    /// Clock of the multiprocessors in MHz.
    pub units_mhz: Option<u32>,
    /// Memory clock.
    pub memory_mhz: Option<u32>,
    /// Share of time in which a kernel ran.
    pub busy_percent: Option<u32>,
    /// Used and total memory, in bytes.
    pub memory_bytes: Option<(u64, u64)>,
    /// Bits for the reasons why the clocks are throttled; see [`reasons`].
    pub held_back: Option<u64>,
}

const LIBRARY: CudaLibrary = CudaLibrary {
    name: "NVIDIA's management library NVML (libnvidia-ml)",
    files: &["libnvidia-ml.so.1", "libnvidia-ml.so"],
    variable: "RSB_NVML_LIBRARY",
    symbol: "nvmlInit_v2",
    cure: "install NVIDIA's driver with its tools (Debian: libnvidia-ml1; it comes with \
           nvidia-smi)",
};

/// Describes the throttle reasons in `held_back` that slow down a GPU under load. Excludes idle
/// GPUs and clocks that a user has set.
pub fn reasons(held_back: u64) -> Vec<&'static str> {
    const REASONS: [(u64, &str); 6] = [
        (0x04, "power cap"),
        (0x08, "hardware slowdown"),
        (0x10, "sync boost with another GPU"),
        (0x20, "software thermal slowdown"),
        (0x40, "hardware thermal slowdown"),
        (0x80, "hardware power brake"),
    ];
    REASONS.iter().filter(|(bit, _)| held_back & bit != 0).map(|(_, words)| *words).collect()
}

/// Reads the sensors of the GPU at PCI address `address`, such as `0000:c1:00.0`. The first call
/// loads and initializes NVML.
///
/// # Errors
/// If NVML cannot be loaded or does not find the GPU.
pub fn read(address: &str) -> Result<Readings, Unavailable> {
    static STARTED: OnceLock<Result<Nvml, Unavailable>> = OnceLock::new();
    let api = STARTED.get_or_init(|| start(&CudaPaths::here())).as_ref().map_err(Clone::clone)?;
    api.readings(address)
}

fn start(places: &CudaPaths) -> Result<Nvml, Unavailable> {
    let api = Nvml::resolve(LIBRARY.find(&places.of_the_system())?);
    let init =
        api.nvmlInit_v2.ok_or_else(|| Unavailable::symbol("nvmlInit_v2", api.loaded.path()))?;
    // SAFETY: `nvmlInit_v2` takes no arguments and may be called several times.
    match unsafe { init() } {
        SUCCESS => Ok(api),
        status => {
            Err(Unavailable::new("nvmlInit_v2", format!("NVML status {status}"), LIBRARY.cure))
        }
    }
}

/// Calls an NVML function that writes its result to `$value`. Returns `None` if the function is
/// missing or fails.
macro_rules! ask {
    ($api:expr, |$value:ident| $name:ident($($argument:expr),*)) => {{
        let mut written = Default::default();
        let $value = &raw mut written;
        // SAFETY: the device handle comes from NVML; the pointer is to a live variable of the type
        // that the function writes.
        let status = $api.$name.map(|function| unsafe { function($($argument),*) });
        (status == Some(SUCCESS)).then_some(written)
    }};
}

impl Nvml {
    fn readings(&self, address: &str) -> Result<Readings, Unavailable> {
        let text =
            CString::new(address).map_err(|_| no_sensors(address, "not a valid PCI address"))?;
        let find = self.nvmlDeviceGetHandleByPciBusId_v2.ok_or_else(|| {
            Unavailable::symbol("nvmlDeviceGetHandleByPciBusId_v2", self.loaded.path())
        })?;
        let mut device: nvmlDevice_t = std::ptr::null_mut();
        // SAFETY: the text is zero-terminated, and the pointer is to a live variable.
        match unsafe { find(text.as_ptr(), &raw mut device) } {
            SUCCESS => {}
            status => {
                let why = format!("NVML does not find this GPU (status {status})");
                return Err(no_sensors(address, &why));
            }
        }
        let memory: Option<nvmlMemory_t> =
            ask!(self, |memory| nvmlDeviceGetMemoryInfo(device, memory));
        let shares: Option<nvmlUtilization_t> =
            ask!(self, |shares| nvmlDeviceGetUtilizationRates(device, shares));
        Ok(Readings {
            celsius: ask!(self, |celsius| nvmlDeviceGetTemperature(device, CHIP, celsius)),
            milliwatts: ask!(self, |power| nvmlDeviceGetPowerUsage(device, power)),
            units_mhz: ask!(self, |mhz| nvmlDeviceGetClockInfo(device, CLOCK_UNITS, mhz)),
            memory_mhz: ask!(self, |mhz| nvmlDeviceGetClockInfo(device, CLOCK_MEMORY, mhz)),
            busy_percent: shares.map(|shares| shares.gpu),
            memory_bytes: memory.map(|memory| (memory.used, memory.total)),
            held_back: ask!(self, |bits| nvmlDeviceGetCurrentClocksThrottleReasons(device, bits)),
        })
    }
}

fn no_sensors(address: &str, why: &str) -> Unavailable {
    Unavailable::new(format!("sensors at {address}"), why, "check it with nvidia-smi")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_gpu_is_not_held_back() {
        assert!(reasons(0x01).is_empty() && reasons(0x02 | 0x100).is_empty());
        assert_eq!(reasons(0x04 | 0x40), ["power cap", "hardware thermal slowdown"]);
    }

    #[test]
    fn a_machine_without_the_library_says_how_to_get_it() {
        let nowhere = CudaPaths {
            explicit: vec![("RSB_NVML_LIBRARY", "/nowhere.so".into())],
            ..CudaPaths::default()
        };
        let error = start(&nowhere).unwrap_err();
        assert!(error.why.contains("/nowhere.so") && error.cure.contains("driver"), "{error}");
    }
}
