//! GPU sensors over a period, similar to rocm-smi, with the GPU idle or busy. Under load, the time
//! of the work is measured, which shows whether the GPU sustains its clocks. No vendor tool is
//! needed: the sensors are read from the driver's files.

use std::time::{Duration, Instant};

use rsb_device::operation::{Gemm, MemoryStream, Stores, StreamPattern};
use rsb_device::{Device, DeviceInfo, Operation, Options, reference};
use rsb_model::unit::{gigabytes_per_second, gigaflops};
use rsb_model::{DeviceType, Dtype, Fields, Params, Reason};
use rsb_model::{GpuSample, GpuTelemetry};
use rsb_probe::ProbeOptions;
use rsb_probe::telemetry::{GpuDirectory, Sampler, gpu_at, sample};

use super::{fixed_grid, is_cpu, number};
use crate::axis::{AxisInfo, AxisKind};
use crate::benchmark::{
    Benchmark, BenchmarkInfo, Breadth, Failure, Grid, Iterations, PrepareResult, Prepared, RunsOn,
};
use crate::plausibility::{check_bandwidth, check_compute, set_note};
use crate::timed::{Timed, check_time};

/// GPU sensor benchmark.
pub(super) struct SmiMetrics;

const AXES: &[AxisInfo] = &[
    AxisInfo::value(
        "load",
        "load on the GPU: idle, memory (triads) or compute (matrix products)",
        AxisKind::Choice(&["idle", "memory", "compute"]),
    ),
    AxisInfo::with_default(
        "gpu",
        "GPU to read: here, for the device itself, or a PCI address, if no runtime is installed",
        HERE,
        AxisKind::BusAddressOrHere,
    ),
    AxisInfo::with_default(
        "duration_seconds",
        "how long the sensors are read",
        "1",
        AxisKind::NumberOrZero,
    ),
    AxisInfo::with_default(
        "sample_interval_ms",
        "time between two readings",
        "50",
        AxisKind::Count,
    ),
];

/// Value that selects the device that runs the case.
const HERE: &str = "here";

/// Duration in nanoseconds of the work queued at a time, long enough that the GPU never waits.
const AHEAD_NS: f64 = 2e7;

impl Benchmark for SmiMetrics {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "smi-metrics",
            about: "GPU sensors over time: temperature, power, clocks, load, memory, throttling",
            axes: AXES,
            runs_on: RunsOn::GpusAndSensors,
            // Each process samples for the whole duration.
            iterations: Iterations::Long,
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        // Without a runtime, no work can be launched on a GPU.
        match breadth {
            _ if is_cpu(device) => vec![fixed_grid("load=idle")],
            Breadth::Quick => vec![fixed_grid("load=idle,compute")],
            _ => vec![fixed_grid(
                "load=idle,memory,compute duration_seconds=60 sample_interval_ms=1000",
            )],
        }
    }

    fn footprint_bytes(&self, params: &Params) -> Result<u64, Reason> {
        Ok(work(params, DeviceType::Gpu).map_or(0, |operation| operation.footprint_bytes()))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        prepare_in(&ProbeOptions::here(), params, device)
    }
}

fn prepare_in<'d>(
    options: &ProbeOptions,
    params: &Params,
    device: &'d dyn Device,
) -> PrepareResult<'d> {
    let elsewhere = params.text("gpu").filter(|&gpu| gpu != HERE);
    let gpu = gpu(options, device, elsewhere).map_err(Failure::Skipped)?;
    let [period, interval] = times(params).map_err(Failure::Skipped)?;
    let load = match work(params, device.info().device_type) {
        Some(_) if elsewhere.is_some() => {
            let cure = "choose load=idle, or install the GPU's runtime and omit `gpu`";
            let why = "only its sensors are available, through the driver's files";
            return Err(Failure::Skipped(Reason::new("work for the GPU", why, cure)));
        }
        Some(operation) => Some(Load::prepare(device, operation)?),
        None => None,
    };
    // A GPU selected by its PCI address is not the device of the case, so its type is set here. A
    // test directory that replaces sysfs counts as simulated.
    let device_type = elsewhere.map(|_| match options.sysfs_root {
        None => DeviceType::Gpu,
        Some(_) => DeviceType::Simulated,
    });
    let name = params.text("load").unwrap_or_default().to_owned();
    Ok(Box::new(Case { gpu, load, name, period, interval, device_type }))
}

/// Maximum time to wait beyond the period for a second reading.
const LATEST: Duration = Duration::from_secs(5);

/// Returns the period and the time between readings.
fn times(params: &Params) -> Result<[Duration; 2], Reason> {
    /// Longest useful period in seconds.
    const MOST_SECONDS: f64 = 3600.0;
    let seconds: f64 = number(params, "duration_seconds")?;
    let interval: u64 = number(params, "sample_interval_ms")?;
    if !(0.0..=MOST_SECONDS).contains(&seconds) {
        let why = format!("sensors are read for at most {MOST_SECONDS} s");
        return Err(Reason::new(format!("duration_seconds={seconds}"), why, "choose 0 to 3600"));
    }
    Ok([Duration::from_secs_f64(seconds), Duration::from_millis(interval.max(1))])
}

/// Returns the sysfs directory of the GPU at the address `elsewhere`, or otherwise of the device,
/// if at least one of its sensors is readable.
fn gpu(
    options: &ProbeOptions,
    device: &dyn Device,
    elsewhere: Option<&str>,
) -> Result<GpuDirectory, Reason> {
    let name = elsewhere.map_or_else(|| device.info().device.to_string(), str::to_owned);
    let address =
        elsewhere.map(str::to_owned).or_else(|| device.pci_address()).ok_or_else(|| {
            let cure = "measure it through a runtime that reports the address, such as --backend \
                        rocm; gpu-capability shows idle GPUs";
            Reason::new(
                format!("sensors of {name}"),
                "the device does not report its PCI address, so its sensors cannot be found",
                cure,
            )
        })?;
    let gpu = gpu_at(options, &address)
        .ok_or_else(|| no_sensors(&name, format!("sysfs has no sensors at {address}")))?;
    let first = sample(&gpu);
    let figures = GpuSample { absent: Vec::new(), ..first.clone() };
    if figures == GpuSample::default() {
        let why = first.absent.first().map_or_else(
            || "no sensor returns a value".to_owned(),
            |absent| format!("absent: {absent}"),
        );
        return Err(no_sensors(&name, why));
    }
    Ok(gpu)
}

fn no_sensors(name: &str, why: String) -> Reason {
    Reason::new(
        format!("sensors of {name}"),
        why,
        "load the kernel driver (amdgpu, i915 or xe), and expose /sys of the GPU to the container \
         or guest; NVIDIA GPUs need libnvidia-ml from their driver",
    )
}

/// Returns the operation that keeps the GPU busy, a few milliseconds at a time on any GPU.
fn work(params: &Params, device_type: DeviceType) -> Option<Operation> {
    // An emulated device would take minutes.
    let is_real = device_type == DeviceType::Gpu;
    match params.text("load") {
        Some("memory") => Some(Operation::Stream(MemoryStream {
            pattern: StreamPattern::Triad,
            dtype: Dtype::F32,
            elements: if is_real { 64 << 20 } else { 1 << 12 },
            stores: Stores::Temporal,
        })),
        Some("compute") => {
            let side = if is_real { 2048 } else { 64 };
            Some(Operation::Gemm(Gemm::new(Dtype::F32, side, side, side)))
        }
        _ => None,
    }
}

/// Work for the GPU while its sensors are read.
struct Load<'d> {
    timed: Timed<'d>,
    /// Number of launches that keep the GPU busy for about [`AHEAD_NS`].
    launches: u64,
}

impl<'d> Load<'d> {
    fn prepare(device: &'d dyn Device, operation: Operation) -> Result<Self, Failure> {
        let mut timed = Timed::prepare(device, operation, Options::default())?;
        let time = timed.sample(1)?;
        check_time(time)?;
        Ok(Self { timed, launches: (AHEAD_NS / time).clamp(1.0, 1000.0) as u64 })
    }

    /// Returns the performance of the GPU if one launch takes `time_ns`.
    fn fields(&self, time_ns: f64) -> Result<Fields, Failure> {
        let Timed { device, operation, options, .. } = &self.timed;
        let mut fields =
            Fields::new().with("init", reference::init(operation)).with("time_us", time_ns / 1e3);
        self.timed.accuracy.set(&mut fields);
        if let Operation::Gemm(product) = operation {
            let rate = gigaflops(operation.flops(), time_ns);
            check_compute(rate, *device, product.dtype, options)?;
            return Ok(fields.with("tflops", rate / 1e3));
        }
        let rate = gigabytes_per_second(operation.bytes_moved(), time_ns);
        let note = check_bandwidth(rate, operation, device.info(), self.timed.threads())?;
        let mut fields = fields.with("bandwidth_gb_s", rate);
        set_note(&mut fields, note.as_deref());
        Ok(fields)
    }
}

/// Number of readings over which the time is averaged.
const READINGS: u64 = 10;

/// Returns the time in nanoseconds to read all sensors `count` times.
fn readings(gpu: &GpuDirectory, count: u64) -> f64 {
    let began = Instant::now();
    for _ in 0..count {
        std::hint::black_box(sample(gpu));
    }
    began.elapsed().as_nanos() as f64
}

struct Case<'d> {
    gpu: GpuDirectory,
    load: Option<Load<'d>>,
    name: String,
    period: Duration,
    interval: Duration,
    /// Type of the sampled device, if it is not the device of the case.
    device_type: Option<DeviceType>,
}

impl Case<'_> {
    /// Samples the sensors for the period while the GPU works. A time series needs two readings, so
    /// on a busy host sampling continues for up to [`LATEST`] longer.
    fn watch(&mut self) -> Result<GpuTelemetry, Failure> {
        let sampler = Sampler::start(self.gpu.clone(), self.interval);
        let until = Instant::now() + self.period;
        let latest = until + self.interval + LATEST;
        if self.load.is_none() {
            std::thread::sleep(self.period);
        }
        loop {
            let now = Instant::now();
            if now >= until && (sampler.sample_count() > 1 || now >= latest) {
                return Ok(sampler.stop());
            }
            match &mut self.load {
                None => std::thread::sleep(self.interval),
                Some(load) => {
                    load.timed.sample(load.launches)?;
                }
            }
        }
    }
}

impl Prepared for Case<'_> {
    /// Returns the device time of `iters` launches of the work. For an idle GPU, returns the host
    /// time of `iters` sensor readings, which the gate ignores.
    fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        let total = match &mut self.load {
            Some(load) => load.timed.sample(iters)?,
            None => readings(&self.gpu, iters),
        };
        check_time(total)?;
        Ok(total)
    }

    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure> {
        check_time(time_ns)?;
        let period = self.watch()?;
        let mut fields =
            Fields::new().with("operation", "read sensors").with("provider", self.gpu.provider());
        fields.set("load", self.name.clone());
        fields.set("duration_seconds", self.period.as_secs_f64());
        fields.set("sample_interval_ms", self.interval.as_secs_f64() * 1e3);
        fields.set("sensor_reading_us", readings(&self.gpu, READINGS) / READINGS as f64 / 1e3);
        fields.set("sensor_readings", period.samples);
        fields.set("snapshots", period.snapshots());
        fields.extend(period.fields());
        for (name, spread) in
            [("gpu_clock_mhz", period.sclk_mhz), ("gpu_memory_clock_mhz", period.mclk_mhz)]
        {
            if let Some(spread) = spread {
                fields.set(name, spread.mean);
            }
        }
        if let Some(throttled) = period.throttled {
            fields.set("gpu_throttled", throttled);
            fields.set("throttle_reasons", period.throttle_reasons.join(", "));
        }
        if let Some(load) = &self.load {
            fields.extend(load.fields(time_ns)?);
        }
        Ok(fields)
    }

    fn device_type(&self) -> Option<DeviceType> {
        self.device_type
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::scripted::{Fault, Script, ScriptedDevice};

    const GPU: &str = "class/drm/card0/device";

    /// Creates a directory tree like /sys with one GPU.
    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, ProbeOptions) {
        let dir = tempfile::tempdir().unwrap();
        let uevent = ("uevent", "PCI_ID=1002:744C\nPCI_SLOT_NAME=0000:03:00.0\n");
        for (name, content) in files.iter().chain(&[uevent]) {
            let path = dir.path().join(GPU).join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let options = ProbeOptions { sysfs_root: Some(dir.path().to_owned()) };
        (dir, options)
    }

    const FILES: &[(&str, &str)] = &[
        ("gpu_busy_percent", "97\n"),
        ("mem_info_vram_used", "1000000000\n"),
        ("mem_info_vram_total", "24000000000\n"),
        ("hwmon/hwmon8/temp1_input", "53000\n"),
        ("hwmon/hwmon8/temp1_label", "edge\n"),
        ("hwmon/hwmon8/power1_average", "290000000\n"),
        ("pp_dpm_sclk", "0: 500Mhz\n1: 2499Mhz *\n"),
        ("pp_dpm_mclk", "0: 96Mhz\n1: 1249Mhz *\n"),
    ];

    fn device(fault: Option<Fault>) -> ScriptedDevice {
        let mut script = Script { faults: fault.into_iter().collect(), ..Script::default() };
        script.info.pci_address = Some("0000:03:00.0".to_owned());
        ScriptedDevice::new(script)
    }

    fn params(load: &str) -> Params {
        Params::new()
            .with("load", load)
            .with("duration_seconds", "0.01")
            .with("sample_interval_ms", "1")
    }

    #[test]
    fn a_period_shows_what_the_sensors_say() {
        let (_dir, options) = tree(FILES);
        for load in ["idle", "memory", "compute"] {
            let device = device(None);
            let mut prepared = prepare_in(&options, &params(load), &device).unwrap();
            let time = prepared.sample(20).unwrap() / 20.0;
            let fields = prepared.fields(time).unwrap();
            for (name, value) in [
                ("gpu_temperature_c", 53.0),
                ("gpu_power_w", 290.0),
                ("gpu_utilization_percent", 97.0),
                ("gpu_memory_used_mb", 1000.0),
                ("gpu_memory_total_mb", 24_000.0),
                ("gpu_clock_mhz", 2499.0),
                ("gpu_memory_clock_mhz", 1249.0),
            ] {
                assert_eq!(fields.number(name), Some(value), "{load}: {name}");
            }
            assert!(
                fields.number("sensor_readings").unwrap() >= 2.0
                    && fields.number("sensor_reading_us").unwrap() > 0.0
            );
            let snapshot = &fields.get("snapshots").unwrap()[0];
            assert!(
                snapshot["timestamp"].is_string()
                    && snapshot["compute_utilization_percent"] == 97.0,
                "{snapshot}"
            );
            assert_eq!(fields.text("provider"), Some("sysfs"));
            let rates =
                ["time_us", "bandwidth_gb_s", "tflops"].map(|name| fields.number(name).is_some());
            assert_eq!(
                rates,
                [load != "idle", load == "memory", load == "compute"],
                "each load must report only its own rates"
            );
            assert_eq!(fields.text("load"), Some(load));
            assert_eq!(
                fields.get("accuracy_error").is_some(),
                load != "idle",
                "only an idle load has no accuracy error"
            );
            assert_eq!(fields.get("gpu_throttled"), None, "this GPU does not report throttling");
        }
    }

    #[test]
    fn a_gpu_is_watched_before_any_runtime_is_installed() {
        let (_dir, options) = tree(FILES);
        let host = rsb_cpu::CpuDevice::new();
        let idle = params("idle").with("gpu", "0000:03:00.0");
        let mut prepared = prepare_in(&options, &idle, &host).unwrap();
        assert_eq!(
            prepared.device_type(),
            Some(DeviceType::Simulated),
            "a GPU read from a sysfs tree is simulated"
        );
        let fields = prepared.fields(1e3).unwrap();
        assert_eq!(
            (fields.number("gpu_power_w"), fields.number("gpu_clock_mhz")),
            (Some(290.0), Some(2499.0))
        );
        for (load, address, word) in [
            ("memory", "0000:03:00.0", "only its sensors"),
            ("idle", "0000:99:00.0", "sysfs has no sensors"),
        ] {
            match prepare_in(&options, &params(load).with("gpu", address), &host).err() {
                Some(Failure::Skipped(reason)) => assert!(reason.why.contains(word), "{reason}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn sensors_that_are_not_there_are_a_skip_with_the_cure() {
        check_skipped(
            FILES,
            &ScriptedDevice::new(Script::default()),
            "does not report its PCI address",
        );
        check_skipped(&[], &device(None), "sysfs has no sensors at 0000:03:00.0");
        check_skipped(
            &[("gpu_busy_percent", "65535\n")],
            &device(None),
            "no sensor returns a value",
        );
        check_skipped(
            &[("gpu_busy_percent", "1\n"), ("power/runtime_status", "suspended\n")],
            &device(None),
            "asleep",
        );
    }

    fn check_skipped(files: &[(&str, &str)], device: &ScriptedDevice, word: &str) {
        let (_dir, options) = tree(files);
        match prepare_in(&options, &params("idle"), device).err() {
            Some(Failure::Skipped(reason)) => assert!(reason.why.contains(word), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn work_that_is_wrong_is_no_load() {
        let (_dir, options) = tree(FILES);
        let broken = device(Some(Fault::WrongResult { launch: 0 }));
        match prepare_in(&options, &params("memory"), &broken).err() {
            Some(Failure::Failed(reason)) => {
                assert!(reason.to_string().contains("wrong result"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}
