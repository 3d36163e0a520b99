//! What cannot be. A clock that lies, or a kernel that does not do its work, gives figures above what the hardware can
//! have: such a result is refused, naming the limit.

use rsb_device::operation::PeakArithmetic;
use rsb_device::{Device, DeviceInfo, Operation, Options};
use rsb_model::unit::gigaflops;
use rsb_model::{DeviceType, Dtype, Fields, Reason};

use crate::benchmark::Failure;
use crate::timed::Timed;

/// How far above a measured peak a figure may be: boost clocks move between the two measurements.
const SLACK: f64 = 1.25;

/// More than any processor core moves between its registers and its nearest cache: three 64-byte vectors a clock at
/// 6.5 GHz, in GB/s.
const CORE_GB_S: f64 = 3.0 * 64.0 * 6.5;

/// More than any processor core computes without tiles: two 64-byte vectors of f32 multiply-adds a clock at 6.5 GHz.
const CORE_GFLOPS: f64 = 2.0 * 16.0 * 2.0 * 6.5;

/// No cache answers sooner: three clocks at 6.5 GHz, in nanoseconds.
pub(crate) const SHORTEST_LATENCY_NS: f64 = 3.0 / 6.5;

/// Refuses a time that no clock can give.
pub(crate) fn check_time(time_ns: f64) -> Result<(), Failure> {
    if time_ns.is_finite() && time_ns > 0.0 {
        return Ok(());
    }
    Err(Failure::Failed(Reason::new(
        "time of an iteration",
        format!("the device's clock gives {time_ns} ns"),
        "suspect the driver's timer, or a kernel that was never launched",
    )))
}

/// Refuses traffic above what the memory (beyond the caches) or the cores (within them) can have.
pub(crate) fn check_bandwidth(
    gb_s: f64,
    operation: &Operation,
    info: &DeviceInfo,
    threads: u32,
) -> Result<(), Failure> {
    let beyond_caches =
        info.last_level_cache_bytes().is_some_and(|cache| operation.footprint_bytes() > cache.saturating_mul(4));
    if let (Some(peak), true) = (info.peak_bandwidth_gb_s, beyond_caches) {
        return check(gb_s, peak, "GB/s", "the memory's peak");
    }
    if info.device_type == DeviceType::Gpu {
        return Ok(());
    }
    check(gb_s, CORE_GB_S * f64::from(threads.max(1)), "GB/s", "what processor cores can move")
}

/// Refuses a peak above what processor cores can compute. Of other devices only they themselves know.
pub(crate) fn check_core_rate(gflops: f64, timed: &Timed<'_>) -> Result<(), Failure> {
    if timed.device.info().device_type == DeviceType::Gpu {
        return Ok(());
    }
    check(gflops, CORE_GFLOPS * f64::from(timed.threads().max(1)), "GFLOP/s", "what processor cores can compute")
}

/// What the time of a product or a convolution says about the arithmetic units.
pub(crate) struct Compute {
    time_ns: f64,
    gflops: f64,
    intensity: Option<f64>,
    peak_gflops: Option<f64>,
}

impl Compute {
    /// Measures the peak beside the case, and refuses a rate above it.
    pub(crate) fn measure(timed: &Timed<'_>, time_ns: f64) -> Result<Self, Failure> {
        let rate = gigaflops(timed.operation.flops(), time_ns);
        let dtype = timed.operation.dtype().unwrap_or(Dtype::F32);
        let measured = measured_peak(timed.device, dtype, &timed.options)?;
        if let Some(peak) = measured {
            // Units for whole tiles of bf16 (AMX) do up to 32 times what the f32 units do, and have no burst here.
            let factor = if dtype == Dtype::Bf16 { 32.0 } else { 1.0 };
            check_gflops(rate, peak * factor)?;
        }
        // What was achieved is possible: a case that beats the burst by a little has found a higher peak.
        let peak_gflops = measured.filter(|_| dtype != Dtype::Bf16).map(|peak| peak.max(rate));
        Ok(Self { time_ns, gflops: rate, intensity: timed.operation.arithmetic_intensity(), peak_gflops })
    }

    /// Time, rates, and the share of the roof. Where the memory's peak is unknown, as on most processors, the roof is
    /// that of the arithmetic units alone.
    pub(crate) fn fields(&self) -> Fields {
        let mut fields = Fields::new().with("time_ms", self.time_ns / 1e6);
        fields.set("gflops", self.gflops);
        fields.set("tflops", self.gflops / 1e3);
        if let Some(intensity) = self.intensity {
            fields.set("arithmetic_intensity", intensity);
        }
        if let Some(peak) = self.peak_gflops {
            fields.set("peak_gflops", peak);
            fields.set("roofline_percent", 100.0 * self.gflops / peak);
        }
        fields
    }
}

/// Refuses a rate clearly above `peak`, which was measured or is known.
fn check_gflops(gflops: f64, peak: f64) -> Result<(), Failure> {
    check(gflops, peak * SLACK, "GFLOP/s", "the peak measured beside it")
}

fn check(found: f64, limit: f64, unit: &str, name: &str) -> Result<(), Failure> {
    if found.is_finite() && found <= limit {
        return Ok(());
    }
    Err(Failure::Failed(Reason::new(
        "impossible result",
        format!("{found:.1} {unit} is above {name}, {limit:.1} {unit}"),
        "suspect the clock, or a kernel that does less than it should: run it again, then report it",
    )))
}

/// The arithmetic peak of `dtype` on as many threads, in GFLOP/s: the best of several bursts of a few milliseconds
/// together. `None` where the device has no kernel for it. 16-bit types are computed in f32 on processors.
fn measured_peak(device: &dyn Device, dtype: Dtype, options: &Options) -> Result<Option<f64>, Failure> {
    const BURSTS: u32 = 16;
    let dtype = match dtype {
        Dtype::F16 | Dtype::Bf16 if device.info().device_type != DeviceType::Gpu => Dtype::F32,
        other => other,
    };
    let threads = u64::from(options.threads.unwrap_or(1).max(1));
    let operation =
        Operation::PeakArithmetic(PeakArithmetic { dtype, operations: PeakArithmetic::UNIT * 512 * threads });
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
