//! What is checked before a device is asked, and what is known of a device that is the CPU.

use rsb_model::shape::rounded_bytes;
use rsb_model::{DeviceType, Reason};

use rsb_device::device::{Buffer, DeviceError, DeviceInfo, too_much_memory};
use rsb_device::held::{self, HostSide};
use rsb_device::host_cpu;
use rsb_device::operation::Operation;

use super::PACK;

/// What this device cannot do.
pub(crate) fn unsupported_error(what: &str, why: impl Into<String>, cure: &str) -> DeviceError {
    DeviceError::Unsupported(Reason::new(what, why, cure))
}

/// A mistake of this program, not of the user.
pub(crate) fn defect(what: impl Into<String>, why: impl Into<String>) -> DeviceError {
    DeviceError::Failed(Reason::new(
        what,
        why,
        "this is a defect of this program: please report it with the case's id",
    ))
}

/// Refuses what is more than `info` has, or more than `limit`, which a single buffer may have.
pub(crate) fn check_size(bytes: u64, limit: u64, info: &DeviceInfo) -> Result<(), DeviceError> {
    if bytes > info.usable_memory_bytes {
        return Err(too_much_memory(bytes, info));
    }
    if bytes > limit {
        let what = format!("{} of memory", rounded_bytes(bytes));
        let why = format!("one buffer may have {} on {}", rounded_bytes(limit), info.device);
        return Err(unsupported_error(&what, why, "choose a smaller size"));
    }
    Ok(())
}

/// Refuses products and convolutions that would take a CPU seconds: more than so many operations of
/// each.
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
        format!("{} is a CPU, which takes seconds for it this way", info.name),
        "choose a smaller shape, or measure the CPU itself, with --backend cpu",
    ))
}

/// Bytes to write over, and to read, so that nothing else stays in a cache: twice the largest. Of a
/// GPU whose caches are unknown, more than any has, as far as a quarter of its memory holds both.
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

/// A device that is the CPU has its caches and units, and the memory that the CPU may use.
pub(crate) fn on_cpu(info: DeviceInfo) -> DeviceInfo {
    let cpu = host_cpu::read();
    DeviceInfo {
        usable_memory_bytes: info.usable_memory_bytes.min(cpu.usable_memory_bytes),
        caches: cpu.caches,
        units: info.units.max(cpu.units),
        ..info
    }
}

/// Whether `buffers` are what `operation` needs; `here` says whether one is of this device.
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
        "they are not as many or not as large as the operation needs, or not on this device",
    ))
}

/// Storage that a copy between device and host can begin in the middle of.
pub(crate) trait Storage: 'static {
    /// Copies and waits; the range lies inside.
    ///
    /// # Errors
    /// When the copy fails.
    fn copy(&self, offset: u64, side: HostSide<'_>) -> Result<(), DeviceError>;
}

/// Copies between the host and `buffer`, whose storage is a `T`.
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

/// Whether `count` bytes from `offset` on lie in `buffer`.
fn check_range(buffer: &Buffer, offset: u64, count: usize) -> Result<(), DeviceError> {
    if offset.checked_add(count as u64).is_some_and(|end| end <= buffer.bytes()) {
        return Ok(());
    }
    Err(defect(
        "copy",
        format!("{count} bytes from {offset} on do not fit in a buffer of {}", buffer.bytes()),
    ))
}
