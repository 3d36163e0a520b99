//! Checks of operations and buffers, driver versions, and properties of devices that run on the
//! CPU.

use rsb_model::shape::rounded_bytes;
use rsb_model::{DeviceType, Reason};

use rsb_device::device::{Buffer, DeviceError, DeviceInfo, too_much_memory};
use rsb_device::held::{self, HostSide};
use rsb_device::host_cpu;
use rsb_device::operation::Operation;

use super::PACK;

/// Returns an error that reports an operation or option as unsupported.
pub(crate) fn unsupported_error(what: &str, why: impl Into<String>, cure: &str) -> DeviceError {
    DeviceError::Unsupported(Reason::new(what, why, cure))
}

/// Returns the error for a bug in this program.
pub(crate) fn defect(what: impl Into<String>, why: impl Into<String>) -> DeviceError {
    DeviceError::Failed(Reason::new(what, why, "report this as a bug with the case id"))
}

/// Rejects sizes above the memory of the device, or above `limit`, its maximum buffer size.
pub(crate) fn check_size(bytes: u64, limit: u64, info: &DeviceInfo) -> Result<(), DeviceError> {
    if bytes > info.usable_memory_bytes {
        return Err(too_much_memory(bytes, info));
    }
    if bytes > limit {
        let what = format!("{} of memory", rounded_bytes(bytes));
        let why =
            format!("a single buffer is limited to {} on {}", rounded_bytes(limit), info.device);
        return Err(unsupported_error(&what, why, "choose a smaller size"));
    }
    Ok(())
}

/// Rejects products and convolutions that would take seconds on a CPU. `most` holds the maximum
/// operations of a product and of a convolution.
pub(crate) fn check_patience(
    operation: &Operation,
    info: &DeviceInfo,
    most: [f64; 2],
) -> Result<(), DeviceError> {
    let [product, convolution] = most;
    let limit = match operation {
        Operation::Gemm(_) | Operation::Quantized(_) => product,
        Operation::Convolution(_) => convolution,
        _ => return Ok(()),
    };
    if info.device_type != DeviceType::Cpu || operation.flops() <= limit {
        return Ok(());
    }
    Err(unsupported_error(
        &format!("{} of {:.0} MFLOP", operation.name(), operation.flops() / 1e6),
        format!("{} is a CPU, which would take seconds on this backend", info.name),
        "choose a smaller shape, or measure the CPU itself, with --backend cpu",
    ))
}

/// Returns the sizes of the two buffers of a cache flush, in bytes: twice the last-level cache. If
/// a GPU's caches are unknown, the size exceeds all known caches, but both buffers together use at
/// most a quarter of the memory.
pub(crate) fn flush_bytes(info: &DeviceInfo) -> u64 {
    const LEAST: u64 = 64 << 20;
    const UNKNOWN: u64 = 512 << 20;
    match info.last_level_cache_bytes() {
        Some(size) => (2 * size).max(LEAST),
        None if info.device_type == DeviceType::Gpu => {
            UNKNOWN.min(info.usable_memory_bytes / 8).max(PACK)
        }
        None => LEAST,
    }
}

/// Fills in the caches, units and usable memory of the CPU, for a device that runs on it.
pub(crate) fn on_cpu(info: DeviceInfo) -> DeviceInfo {
    let cpu = host_cpu::read();
    DeviceInfo {
        usable_memory_bytes: info.usable_memory_bytes.min(cpu.usable_memory_bytes),
        caches: cpu.caches,
        units: info.units.max(cpu.units),
        ..info
    }
}

/// Returns the first version number in a driver's version text, such as `25.0.3` in `Mesa
/// 25.0.3-1ubuntu2 (LLVM 19.1.7)`.
pub(crate) fn version_in(text: &str) -> Option<&str> {
    let starts_with_digit = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
    let mut words = text.split_whitespace();
    let word = words.find(|word| starts_with_digit(word) && word.contains('.'))?;
    word.split(['-', '+', ',']).next()
}

/// Checks that number and sizes of `buffers` match `operation`, and that all are on this device, as
/// reported by `here`.
pub(crate) fn check_buffers(
    operation: &Operation,
    buffers: &[Buffer],
    here: impl Fn(&Buffer) -> bool,
) -> Result<(), DeviceError> {
    let specs = operation.buffers();
    let fits = specs.len() == buffers.len()
        && specs
            .iter()
            .zip(buffers)
            .all(|(spec, buffer)| buffer.bytes() >= spec.bytes() && here(buffer));
    if fits {
        return Ok(());
    }
    Err(defect(
        format!("buffers of {}", operation.name()),
        "the number or size of the buffers does not match the operation, or they are not on this \
         device",
    ))
}

/// Device storage that can be copied from and to the host, at any offset.
pub(crate) trait Storage: 'static {
    /// Copies from or to the host, and waits. The range must be inside the storage.
    ///
    /// # Errors
    /// If the copy fails.
    fn copy(&self, offset: u64, side: HostSide<'_>) -> Result<(), DeviceError>;
}

/// Copies from or to `buffer`, whose storage must be a `T`. Fails if the range is outside the
/// buffer.
pub(crate) fn copy<T: Storage>(
    buffer: &Buffer,
    offset: u64,
    side: HostSide<'_>,
) -> Result<(), DeviceError> {
    let count = match &side {
        HostSide::To(bytes) => bytes.len(),
        HostSide::From(bytes) => bytes.len(),
    };
    check_range(buffer, offset, count)?;
    held::storage::<T>(Some(buffer))?.copy(offset, side)
}

/// Checks that `count` bytes starting at `offset` are within `buffer`.
fn check_range(buffer: &Buffer, offset: u64, count: usize) -> Result<(), DeviceError> {
    if offset.checked_add(count as u64).is_some_and(|end| end <= buffer.bytes()) {
        return Ok(());
    }
    Err(defect(
        "copy",
        format!("{count} bytes at offset {offset} do not fit in a buffer of {}", buffer.bytes()),
    ))
}
