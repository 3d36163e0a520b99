//! Plausibility checks. A faulty clock, or a kernel that skips work, yields results above the
//! limits of the hardware; such results are rejected, with the limit in the message.

pub(crate) mod gpu;

pub(crate) use gpu::best_peak_note;

use std::time::Duration;

use rsb_device::operation::PeakArithmetic;
use rsb_device::{Device, DeviceInfo, Operation, Options, host_cpu};
use rsb_model::architecture::PeakClock;
use rsb_model::environment::Cache;
use rsb_model::unit::gigaflops;
use rsb_model::{Dtype, Fields, Reason};

use crate::benchmark::Failure;
use crate::timed::Timed;

/// Allowed ratio of a result to the peak at a GPU's highest known clock, since vendors overclock
/// boards.
const SLACK: f64 = 1.25;

/// Ratio to the listed memory bandwidth up to which a result gets no note: memory may be
/// overclocked, and data may stay in a cache even if arrays are several times its size.
const BANDWIDTH_SLACK: f64 = 1.1;

/// Factor above the listed memory bandwidth at which a result is rejected.
const BANDWIDTH_LIMIT: f64 = 1.3;

/// Allowed ratio of a result to the measured peak of a CPU: boost clocks change between the two
/// measurements, and another program on the same core may halve the rate of a burst.
const CPU_SLACK: f64 = 2.0;

/// Maximum repetitions of a burst, 10 ms apart, before a result above its rate is rejected: other
/// programs may have slowed down the burst.
const LOOKS: u32 = 100;

/// Upper bound on the bandwidth between registers and L1 of a CPU core in GB/s: three 64-byte
/// vectors per clock at 6.5 GHz.
const CORE_GB_S: f64 = 3.0 * 64.0 * 6.5;

/// Upper bound on the rate of a CPU core without tiles in GFLOP/s: two 64-byte vectors of f32
/// multiply-adds per clock at 6.5 GHz. A lane of f32 holds two 16-bit or four 8-bit numbers.
const CORE_GFLOPS: f64 = 2.0 * 16.0 * 2.0 * 6.5;

/// Lower bound on the latency of any cache in nanoseconds: three clocks at 6.5 GHz.
pub(crate) const SHORTEST_LATENCY_NS: f64 = 3.0 / 6.5;

/// Rejects bandwidths above the limits of the memory (beyond the caches) or of the cores or compute
/// units (within them). Returns a `peak_note` if the bandwidth exceeds the memory's listed peak by
/// more than the tolerances.
pub(crate) fn check_bandwidth(
    gb_s: f64,
    operation: &Operation,
    info: &DeviceInfo,
    threads: u32,
) -> Result<Option<String>, Failure> {
    if let (Some(peak), true) = (info.peak_bandwidth_gb_s, beyond_caches(operation, info)) {
        return check_memory(gb_s, peak);
    }
    let (limit, name) = if gpu::is_gpu(info) {
        (gpu::cache_gb_s(info), "the bandwidth limit of the GPU's compute units")
    } else {
        (CORE_GB_S * cores(info, threads), "the bandwidth limit of the CPU cores")
    };
    check(gb_s, limit, "GB/s", name)?;
    Ok(None)
}

/// Rejects bandwidths above the limit of a memory with a peak of `peak` GB/s. Returns a `peak_note`
/// if the bandwidth exceeds the listed peak by more than the tolerances.
pub(crate) fn check_memory(gb_s: f64, peak: f64) -> Result<Option<String>, Failure> {
    let name = format!("{BANDWIDTH_LIMIT} times the memory's peak of {peak:.1} GB/s");
    check(gb_s, BANDWIDTH_LIMIT * peak, "GB/s", &name)?;
    if gb_s <= BANDWIDTH_SLACK * peak {
        return Ok(None);
    }
    let percent = 100.0 * gb_s / peak;
    Ok(Some(format!(
        "the result is {percent:.0} % of the memory's listed peak: the memory is overclocked, or a \
         cache held part of the data"
    )))
}

/// Returns the ratio of array size to cache size that puts an array in memory: four, as STREAM
/// requires. A memory-side cache (AMD Infinity Cache, the third level of a GPU) need not evict the
/// oldest lines, so it takes eight.
pub(crate) fn times_of_last_cache(info: &DeviceInfo) -> u64 {
    let last = info.caches.iter().max_by_key(|cache| cache.size_bytes);
    if gpu::is_gpu(info) && last.is_some_and(|cache| cache.level >= 3) { 8 } else { 4 }
}

/// Returns whether the data of the operation exceeds all caches.
fn beyond_caches(operation: &Operation, info: &DeviceInfo) -> bool {
    are_beyond_caches(operation.footprint_bytes(), info)
}

/// Returns whether `bytes` exceeds all caches.
pub(crate) fn are_beyond_caches(bytes: u64, info: &DeviceInfo) -> bool {
    info.last_level_cache_bytes().is_some_and(|cache| bytes > cache.saturating_mul(4))
}

/// Sets the field with the memory that holds the data of the case, if it can be derived from sizes:
/// the nearest cache that holds all data, or else memory. Data of less than four times the
/// last-level cache is partly in that cache.
pub(crate) fn lies_in(timed: &Timed<'_>, fields: &mut Fields) {
    lie_in(timed.operation.footprint_bytes(), timed, fields);
}

/// Implements [`lies_in`] for `bytes` of data.
pub(crate) fn lie_in(bytes: u64, timed: &Timed<'_>, fields: &mut Fields) {
    // After a flush, the size does not determine the location.
    if timed.is_cold() {
        return;
    }
    let info = timed.device.info();
    if let Some(place) = place(bytes, &info.caches, timed.threads()) {
        fields.set(
            "lies_in",
            if may_be_nearer(bytes, info) { format!("L1 or {place}") } else { place },
        );
    }
}

/// Returns whether `bytes` may fit in the caches of all compute units of a GPU together. Runtimes
/// do not report the sizes of these caches; none exceeds 256 KiB (NVIDIA since Hopper).
fn may_be_nearer(bytes: u64, info: &DeviceInfo) -> bool {
    const MOST: u64 = 256 << 10;
    let first = info.caches.iter().map(|cache| cache.level).min();
    gpu::is_gpu(info)
        && first.is_some_and(|level| level > 1)
        && bytes <= u64::from(info.units) * MOST
}

fn place(bytes: u64, caches: &[Cache], threads: u32) -> Option<String> {
    let last = caches.iter().max_by_key(|cache| cache.size_bytes)?;
    Some(match caches.iter().find(|cache| reachable_bytes(cache, threads) >= bytes) {
        Some(cache) => format!("L{}", cache.level),
        None if bytes < 4 * reachable_bytes(last, threads) => {
            format!("memory, in part L{}", last.level)
        }
        None => "memory".to_owned(),
    })
}

/// Returns the total size of the caches of one level that the threads reach.
fn reachable_bytes(cache: &Cache, threads: u32) -> u64 {
    cache.size_bytes * u64::from(threads.div_ceil(cache.shared_by.unwrap_or(threads).max(1)))
}

/// Returns the number of CPU cores in use: the requested number of threads, or all if another
/// runtime (`PoCL`) distributes the work.
fn cores(info: &DeviceInfo, threads: u32) -> f64 {
    let ours = info.device.is_cpu();
    f64::from(if ours { threads } else { info.units }.max(1))
}

/// Rejects rates above the peak of CPU cores, or of a GPU's compute units.
pub(crate) fn check_core_rate(gflops: f64, timed: &Timed<'_>) -> Result<(), Failure> {
    let info = timed.device.info();
    if gpu::is_gpu(info) {
        // The rate of sparse products includes operations on zeros.
        let counted = if timed.options.provider.as_deref() == Some("sparse") { 2.0 } else { 1.0 };
        return check_gpu_rate(
            gflops,
            counted,
            info,
            timed.operation.dtype().unwrap_or(Dtype::F32),
        );
    }
    check_cores(gflops, timed.operation.dtype().unwrap_or(Dtype::F32), info, &timed.options)
}

/// Rejects rates above the peak of CPU cores for this type. Tile units (AMX) compute eight times as
/// much as vectors.
fn check_cores(
    gflops: f64,
    dtype: Dtype,
    info: &DeviceInfo,
    options: &Options,
) -> Result<(), Failure> {
    let in_a_lane = match dtype {
        Dtype::F16 | Dtype::Bf16 => 2.0,
        Dtype::I8 => 4.0,
        _ => 1.0,
    };
    let in_tiles = if info.device.is_cpu() && host_cpu::has_wider_units(dtype) { 8.0 } else { 1.0 };
    let limit = CORE_GFLOPS * in_a_lane * in_tiles * cores(info, options.threads.unwrap_or(1));
    check(gflops, limit, "GFLOP/s", "the arithmetic limit of the CPU cores")
}

/// Rejects rates above the peak of a GPU. `counted` is the ratio of counted to executed operations.
fn check_gpu_rate(
    gflops: f64,
    counted: f64,
    info: &DeviceInfo,
    dtype: Dtype,
) -> Result<(), Failure> {
    let limit = SLACK * counted * gpu::most_gflops(info, dtype);
    check(
        gflops,
        limit,
        "GFLOP/s",
        &format!("the arithmetic limit of the GPU's compute units in {dtype}"),
    )
}

/// Performance of a product or a convolution relative to the arithmetic units.
pub(crate) struct Compute {
    time_ns: f64,
    gflops: f64,
    intensity: Option<f64>,
    peak_gflops: Option<f64>,
    /// Rate in GFLOP/s that the memory bandwidth permits, if known.
    memory_gflops: Option<f64>,
    /// Clock to which the peak of a GPU refers, and a note on the peak.
    clock: Option<PeakClock>,
    note: Option<String>,
}

impl Compute {
    /// Computes the performance and rejects rates above the peak. The peak is that of the data
    /// sheet for a known GPU, otherwise it is measured.
    pub(crate) fn measure(timed: &Timed<'_>, time_ns: f64) -> Result<Self, Failure> {
        let rate = gigaflops(timed.operation.flops(), time_ns);
        let dtype = timed.operation.dtype().unwrap_or(Dtype::F32);
        let peak = peak_above(rate, timed.device, dtype, &timed.options)?;
        let info = timed.device.info();
        let intensity = timed.operation.arithmetic_intensity();
        let memory = info.peak_bandwidth_gb_s.filter(|_| beyond_caches(&timed.operation, info));
        let memory_gflops = memory.zip(intensity).map(|(gb_s, intensity)| gb_s * intensity);
        // A rate that was reached is possible, so a case slightly above the burst raises the peak.
        let peak_gflops = peak.map(|peak| peak.max(rate));
        let rated = gpu::rated_gpu(info);
        let clock = rated.best(dtype).and(rated.clock());
        let note = best_peak_note(info, dtype, rate);
        Ok(Self { time_ns, gflops: rate, intensity, peak_gflops, memory_gflops, clock, note })
    }

    /// Returns the percentage of the arithmetic peak, if known.
    pub(crate) fn utilization_percent(&self) -> Option<f64> {
        self.peak_gflops.map(|peak| 100.0 * self.gflops / peak)
    }

    /// Returns time, rates and the percentage of the roofline: the arithmetic peak, or the limit
    /// set by memory. If the memory peak is unknown, as on most CPUs, the roofline is the
    /// arithmetic peak.
    pub(crate) fn fields(&self) -> Fields {
        let mut fields = Fields::new().with("time_ms", self.time_ns / 1e6);
        fields.set("gflops", self.gflops);
        fields.set("tflops", self.gflops / 1e3);
        if let Some(intensity) = self.intensity {
            fields.set("arithmetic_intensity", intensity);
        }
        if let Some(peak) = self.peak_gflops {
            fields.set("peak_gflops", peak);
            let roof = self.memory_gflops.map_or(peak, |memory| memory.min(peak));
            fields.set("roofline_percent", 100.0 * self.gflops / roof);
        }
        if let Some(clock) = self.clock {
            fields.set("peak_clock_mhz", clock.mhz);
            fields.set("peak_clock_source", clock.source.as_str());
        }
        set_note(&mut fields, self.note.as_deref());
        fields
    }
}

/// Adds the note of a plausibility check to the fields of its case.
pub(crate) fn set_note(fields: &mut Fields, note: Option<&str>) {
    if let Some(note) = note {
        fields.set("peak_note", note);
    }
}

/// Rejects rates of `dtype` above the peak, for cases with several operations. Returns the peak, if
/// known.
pub(crate) fn check_compute(
    gflops: f64,
    device: &dyn Device,
    dtype: Dtype,
    options: &Options,
) -> Result<Option<f64>, Failure> {
    peak_above(gflops, device, dtype, options)
}

/// Returns the peak of `dtype`, if known, and rejects `gflops` above it. For a GPU it is that of
/// the data sheet if available, since libraries may exceed the burst kernel.
fn peak_above(
    gflops: f64,
    device: &dyn Device,
    dtype: Dtype,
    options: &Options,
) -> Result<Option<f64>, Failure> {
    let info = device.info();
    if gpu::is_gpu(info) {
        check_gpu_rate(gflops, 1.0, info, dtype)?;
        return match gpu::peak_gflops(info, dtype) {
            Some(peak) => Ok(Some(peak)),
            None => measured_peak(device, dtype, options),
        };
    }
    if !info.device.is_cpu() {
        // A burst through another driver does not reach the peak of the CPU.
        check_cores(gflops, dtype, info, options)?;
        return measured_peak(device, dtype, options);
    }
    let (burst, peak) = match measured_peak(device, dtype, options)? {
        Some(peak) => (dtype, peak),
        None => match measured_peak(device, Dtype::F32, options)? {
            Some(peak) => (Dtype::F32, peak),
            None => return Ok(None),
        },
    };
    // Without a native burst, four i8 count as one f32, and 16-bit types are computed in f32.
    let times = if burst != dtype && dtype == Dtype::I8 { 4.0 } else { 1.0 };
    let mut limit = peak;
    for _ in 0..LOOKS {
        if gflops <= limit * times * CPU_SLACK {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        limit = limit
            .max(measured_peak(device, burst, options)?.unwrap_or(0.0))
            .max(peak_of_cores(device, burst, options)?);
    }
    check(gflops, limit * times * CPU_SLACK, "GFLOP/s", "twice the measured peak")?;
    Ok((times <= 1.0).then_some(peak))
}

/// Returns the rate of a single core multiplied by the number of threads: on a busy machine, one
/// core is often undisturbed, but all cores together rarely are. Returns zero if the threads of the
/// device cannot be chosen.
fn peak_of_cores(device: &dyn Device, dtype: Dtype, options: &Options) -> Result<f64, Failure> {
    let threads = options.threads.unwrap_or(1);
    if threads == 1 || !device.info().device.is_cpu() {
        return Ok(0.0);
    }
    let alone = Options { threads: Some(1), ..options.clone() };
    Ok(measured_peak(device, dtype, &alone)?.unwrap_or(0.0) * f64::from(threads))
}

/// Rejects a value above `limit`, described by `name`.
pub(crate) fn check(found: f64, limit: f64, unit: &str, name: &str) -> Result<(), Failure> {
    if found.is_finite() && found <= limit {
        return Ok(());
    }
    Err(Failure::Failed(Reason::new(
        "impossible result",
        format!("{found:.1} {unit} is above {name}, {limit:.1} {unit}"),
        "suspect the clock, or a kernel that does less than it should: run again; if it fails \
         again, report this as a bug",
    )))
}

/// Returns the arithmetic peak of `dtype` with the given threads in GFLOP/s: the best of several
/// bursts of a few milliseconds in total. `None` if the device has no kernel for it.
fn measured_peak(
    device: &dyn Device,
    dtype: Dtype,
    options: &Options,
) -> Result<Option<f64>, Failure> {
    const BURSTS: u32 = 16;
    let operations = burst(device.info(), dtype, options.threads.unwrap_or(1));
    let operation = Operation::PeakArithmetic(PeakArithmetic { dtype, operations });
    let flops = operation.flops();
    let options = Options { threads: options.threads, ..Options::default() };
    let mut timed = match Timed::prepare(device, operation, options) {
        Ok(timed) => timed,
        Err(Failure::Skipped(_)) => return Ok(None),
        Err(failed) => return Err(failed),
    };
    let mut best = f64::INFINITY;
    for _ in 0..BURSTS {
        best = best.min(timed.sample(1)?);
    }
    let peak = gigaflops(flops, best);
    check_core_rate(peak, &timed)?;
    Ok(Some(peak))
}

/// Returns the operations of a burst on `threads` threads of a CPU, or on a whole GPU.
pub(crate) fn burst(info: &DeviceInfo, dtype: Dtype, threads: u32) -> u64 {
    let threads = if info.device.is_cpu() { threads } else { info.units };
    if gpu::is_gpu(info) {
        gpu::burst_operations(info, dtype)
    } else {
        // Tile units do up to 32 times as much.
        let in_tiles =
            if info.device.is_cpu() && host_cpu::has_wider_units(dtype) { 32 } else { 1 };
        // Waking other threads takes about 40 µs, which is negligible against a millisecond of
        // work.
        let awake = if info.device.is_cpu() && threads > 1 { 16 } else { 1 };
        PeakArithmetic::UNIT * 512 * in_tiles * awake * u64::from(threads.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::operation::Gemm;
    use rsb_device::scripted::{Script, ScriptedDevice};

    /// A simulated MI210.
    fn gpu() -> ScriptedDevice {
        let mut script = Script::default();
        script.info.device = "rocm:0".parse().unwrap();
        script.info.arch = Some("gfx90a:sramecc+:xnack-".to_owned());
        script.info.units = 104;
        script.info.max_clock_mhz = Some(1700.0);
        script.info.peak_bandwidth_gb_s = Some(1638.4);
        ScriptedDevice::new(script)
    }

    /// Returns the fields of an f32 product at a rate of `gflops`.
    fn product(
        device: &ScriptedDevice,
        [m, n, k]: [u64; 3],
        gflops: f64,
    ) -> Result<Fields, Failure> {
        let operation = Operation::Gemm(Gemm::new(Dtype::F32, m, n, k));
        let time_ns = operation.flops() / gflops;
        let timed = Timed::prepare(device, operation, Options::default())?;
        Compute::measure(&timed, time_ns).map(|compute| compute.fields())
    }

    #[test]
    fn the_roof_of_a_gpu_is_its_data_sheet_or_its_memory() {
        let gpu = gpu();
        // Peak: 104 units × 256 operations × 1.7 GHz = 45.3 TFLOP/s. All data is in the cache.
        let cached = product(&gpu, [64, 64, 64], 22_630.4).unwrap();
        assert!((cached.number("roofline_percent").unwrap() - 50.0).abs() < 0.1);
        // A matrix that is read once, at 1638 GB/s, for half an operation per byte.
        let streamed = product(&gpu, [2048, 1, 2048], 409.6).unwrap();
        assert!((streamed.number("roofline_percent").unwrap() - 50.0).abs() < 0.5);
    }

    #[test]
    fn data_lies_where_it_fits() {
        const MIB: u64 = 1 << 20;
        let cache =
            |level, size_bytes, shared_by| Cache { level, size_bytes, shared_by: Some(shared_by) };
        // 16 threads with private caches, and two last-level caches of 105 MiB.
        let caches = [cache(1, 48 << 10, 1), cache(2, 2 * MIB, 1), cache(3, 105 * MIB, 8)];
        assert_eq!(place(32 << 10, &caches, 1).as_deref(), Some("L1"));
        assert_eq!(place(MIB, &caches, 1).as_deref(), Some("L2"));
        assert_eq!(place(128 * MIB, &caches, 1).as_deref(), Some("memory, in part L3"));
        assert_eq!(place(128 * MIB, &caches, 16).as_deref(), Some("L3"));
        assert_eq!(place(420 * MIB, &caches, 1).as_deref(), Some("memory"));
        assert_eq!(place(420 * MIB, &caches, 16).as_deref(), Some("memory, in part L3"));
        assert_eq!(place(MIB, &[], 1), None, "the place is unknown without caches");
    }

    #[test]
    fn a_gpu_may_hold_a_little_in_the_caches_of_its_units() {
        let mut info = gpu().info().clone();
        info.caches = vec![Cache { level: 2, size_bytes: 8 << 20, shared_by: None }];
        assert!(
            may_be_nearer(8 << 10, &info) && !may_be_nearer(27 << 20, &info),
            "104 units have caches of at most 256 KiB each"
        );
        info.caches.insert(0, Cache { level: 1, size_bytes: 16 << 10, shared_by: Some(1) });
        assert!(!may_be_nearer(8 << 10, &info), "a known first level must be used");
    }

    /// Checks a copy of 1 GiB arrays at `gb_s`. Returns a note, `None`, or the reason for rejecting
    /// it.
    fn copy_at(gb_s: f64) -> Result<Option<String>, Failure> {
        let copy = Operation::Stream(rsb_device::operation::MemoryStream {
            pattern: rsb_device::operation::StreamPattern::Copy,
            dtype: Dtype::F32,
            elements: 1 << 28,
            stores: rsb_device::operation::Stores::Temporal,
        });
        check_bandwidth(gb_s, &copy, gpu().info(), 1)
    }

    #[test]
    fn bandwidth_a_little_above_the_listed_peak_is_noted_and_far_above_is_refused() {
        const PEAK: f64 = 1638.4;
        for share in [0.8, 1.0, 1.09] {
            assert_eq!(copy_at(share * PEAK).unwrap(), None, "{share}");
        }
        let note = copy_at(1.2 * PEAK).unwrap().unwrap();
        assert!(note.contains("120 %"), "{note}");
        match copy_at(1.31 * PEAK) {
            Err(Failure::Failed(reason)) => {
                assert!(reason.why.contains("memory's peak of 1638.4 GB/s"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_memory_side_cache_takes_arrays_of_eight_times_its_size() {
        let mut info = gpu().info().clone();
        info.caches = vec![Cache { level: 3, size_bytes: 96 << 20, shared_by: None }];
        assert_eq!(times_of_last_cache(&info), 8, "Infinity Cache");
        info.caches[0].level = 2;
        assert_eq!(times_of_last_cache(&info), 4, "the second level of a GPU");
        info.caches[0].level = 3;
        info.device = "cpu:0".parse().unwrap();
        assert_eq!(times_of_last_cache(&info), 4, "the third level of a CPU");
    }

    #[test]
    fn above_the_data_sheet_nothing_is_believed() {
        let noted = product(&gpu(), [64, 64, 64], 50_000.0).unwrap();
        assert!(
            noted.text("peak_note").unwrap().contains("110 % of the peak at the 1700 MHz"),
            "a rate reached at a boost clock must be noted"
        );
        assert_eq!(noted.number("peak_clock_mhz"), Some(1700.0));
        assert_eq!(noted.text("peak_clock_source"), Some("driver"));
        assert_eq!(product(&gpu(), [64, 64, 64], 40_000.0).unwrap().get("peak_note"), None);
        match product(&gpu(), [64, 64, 64], 60_000.0) {
            Err(Failure::Failed(reason)) => {
                assert!(reason.why.contains("56576.0 GFLOP/s"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}
