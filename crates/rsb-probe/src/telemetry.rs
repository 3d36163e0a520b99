//! Current state of a GPU, from its files: temperature, power, clocks, load, memory, throttling.
//!
//! A missing, non-numeric or implausible value is absent. A sleeping GPU is not read, because that
//! would wake it and its readings would describe the wake-up.
//!
//! The engine decides which values are recorded with a measurement (`measure::telemetry`).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rsb_model::gpu_sample::{GpuSample, Temperatures};

use crate::ProbeOptions;
use crate::gpu::{self, details, levels, sysfs_gpu};
use crate::host::{Host, entries, read_line, read_number};
use crate::limit::Pending;
use crate::plausible;

mod intel;
mod metrics;
#[cfg(feature = "cuda")]
mod nvml;
mod sampler;
mod throttle;

pub use sampler::Sampler;

use metrics::Metrics;

/// Time limit of one sample. A healthy GPU answers within milliseconds.
const SAMPLE_LIMIT: Duration = Duration::from_millis(500);

/// A GPU whose sensors can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuDirectory {
    /// PCI address, as in [`rsb_model::gpu::Gpu::pci_address`].
    pub pci_address: Option<String>,
    source: Source,
    energy: intel::Energy,
}

impl GpuDirectory {
    fn new(pci_address: Option<String>, source: Source) -> Self {
        Self { pci_address, source, energy: intel::Energy::default() }
    }

    /// Returns the source of its readings: `sysfs`, or NVIDIA's library `nvml`.
    pub fn provider(&self) -> &'static str {
        match self.source {
            Source::Directory(_) => "sysfs",
            #[cfg(feature = "cuda")]
            Source::Nvml(_) => "nvml",
        }
    }

    /// Returns whether runtimes may use several addresses for the GPU: its partitions differ in the
    /// PCI function.
    fn is_split(&self) -> bool {
        match &self.source {
            Source::Directory(dir) => {
                read_line(&dir.join("current_compute_partition")).is_some_and(|mode| mode != "SPX")
            }
            #[cfg(feature = "cuda")]
            Source::Nvml(_) => false,
        }
    }
}

/// Source of sensor readings.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    /// Files of sysfs.
    Directory(PathBuf),
    /// NVIDIA's library, because NVIDIA's driver has no sensor files. Contains the PCI address.
    #[cfg(feature = "cuda")]
    Nvml(String),
}

/// Returns the GPUs of this machine (or of the given tree) that have sensors, in no particular
/// order.
pub fn gpus(options: &ProbeOptions) -> Vec<GpuDirectory> {
    let host = Arc::new(Host::of(options));
    let listing = Pending::start(move |report| {
        let mut found = Vec::new();
        for dir in sysfs_gpu::dirs(&host) {
            if has_sensors(&dir) {
                found.push(GpuDirectory::new(sysfs_gpu::address(&dir), Source::Directory(dir)));
            }
        }
        report(found);
    });
    listing.latest(Instant::now() + SAMPLE_LIMIT).unwrap_or_default()
}

/// Returns whether the driver of the GPU in `dir` provides sensors.
fn has_sensors(dir: &Path) -> bool {
    dir.join("hwmon").is_dir() || dir.join("gpu_busy_percent").is_file() || gpu::intel::is_here(dir)
}

/// Returns the GPU at `pci_address`, such as `0000:03:00.0`.
pub fn gpu_at(options: &ProbeOptions, pci_address: &str) -> Option<GpuDirectory> {
    gpus_at(options, &[Some(pci_address)]).pop().flatten()
}

/// Returns the GPUs at `pci_addresses`, in their order. The machine is searched only once.
pub fn gpus_at(
    options: &ProbeOptions,
    pci_addresses: &[Option<&str>],
) -> Vec<Option<GpuDirectory>> {
    let mut known: HashMap<String, GpuDirectory> = HashMap::new();
    for gpu in gpus(options) {
        if let Some(address) = &gpu.pci_address {
            known.insert(address.to_ascii_lowercase(), gpu);
        }
    }
    let mut found = Vec::with_capacity(pci_addresses.len());
    for address in pci_addresses {
        found.push(address.and_then(|address| {
            find_known(&known, address).cloned().or_else(|| by_library(options, address))
        }));
    }
    found
}

/// Returns the GPU at `pci_address`, or the whole GPU of which it is a partition. The keys of
/// `known` are in lower case.
fn find_known<'a>(
    known: &'a HashMap<String, GpuDirectory>,
    pci_address: &str,
) -> Option<&'a GpuDirectory> {
    let address = pci_address.to_ascii_lowercase();
    if let Some(gpu) = known.get(&address) {
        return Some(gpu);
    }
    let (device, _) = address.rsplit_once('.')?;
    known.get(&format!("{device}.0")).filter(|gpu| gpu.is_split())
}

/// Returns an NVIDIA GPU, if NVIDIA's library knows it. The library is used only for NVIDIA GPUs of
/// this machine, not for a given tree.
#[cfg(feature = "cuda")]
fn by_library(options: &ProbeOptions, pci_address: &str) -> Option<GpuDirectory> {
    let gpu = GpuDirectory::new(Some(pci_address.to_owned()), Source::Nvml(pci_address.to_owned()));
    (options.sysfs_root.is_none() && nvml::is_there(pci_address)).then_some(gpu)
}

#[cfg(not(feature = "cuda"))]
fn by_library(_: &ProbeOptions, _: &str) -> Option<GpuDirectory> {
    None
}

/// Reads `gpu` now. Sensors that do not answer in time are listed as absent, with the reason.
pub fn sample(gpu: &GpuDirectory) -> GpuSample {
    sample_within(gpu, SAMPLE_LIMIT)
}

fn sample_within(gpu: &GpuDirectory, limit: Duration) -> GpuSample {
    let (source, energy) = (gpu.source.clone(), gpu.energy.clone());
    let reading = Pending::start(move |report| match source {
        Source::Directory(dir) => read(&dir, &energy, report),
        #[cfg(feature = "cuda")]
        Source::Nvml(address) => report((nvml::sample(&address), true)),
    });
    let (sample, is_whole) = reading.latest(Instant::now() + limit).unwrap_or_default();
    if is_whole {
        return sample;
    }
    let late = format!("sensors that did not respond within {} ms", limit.as_millis());
    let absent = sample.absent.iter().cloned().chain([late]).collect();
    GpuSample { absent, ..sample }
}

/// Reads the files, fastest first, and reports after each group whether the sample is complete.
fn read(dir: &Path, energy: &intel::Energy, report: &dyn Fn((GpuSample, bool))) {
    let mut sample = GpuSample::default();
    if details::asleep(dir) == Some(true) {
        sample.absent.push("every sensor: the GPU is asleep".to_owned());
        report((sample, true));
        return;
    }
    sample.vram_used_mb = read_megabytes(&dir.join("mem_info_vram_used"));
    sample.vram_total_mb =
        read_megabytes(&dir.join("mem_info_vram_total")).filter(|megabytes| *megabytes > 0.0);
    report((sample.clone(), false));
    sample.utilization_percent = read_number::<f64>(&dir.join("gpu_busy_percent"))
        .filter(|share| (0.0..=100.0).contains(share));
    let monitor = details::monitor(dir);
    if let Some(monitor) = &monitor {
        read_monitor(monitor, &mut sample);
    }
    report((sample.clone(), false));
    match metrics::read(&dir.join("gpu_metrics")) {
        Some(Ok(metrics)) => complete(&mut sample, metrics),
        Some(Err(reason)) => sample.absent.push(format!("throttle reasons: {reason}")),
        None => {}
    }
    sample.sclk_mhz = sample.sclk_mhz.or_else(|| levels::clocks(&dir.join("pp_dpm_sclk")).now_mhz);
    sample.mclk_mhz = sample.mclk_mhz.or_else(|| levels::clocks(&dir.join("pp_dpm_mclk")).now_mhz);
    intel::clocks(dir, &mut sample);
    if let Some(monitor) = &monitor {
        intel::power_of(monitor, energy, &mut sample);
    }
    report((sample, true));
}

/// Reads a number of bytes, in MB; all ones are treated as unknown.
fn read_megabytes(file: &Path) -> Option<f64> {
    let bytes = read_number::<u64>(file).filter(|bytes| *bytes != u64::MAX)?;
    Some(bytes as f64 / 1e6)
}

/// Reads the sensors in a hwmon directory.
fn read_monitor(monitor: &Path, sample: &mut GpuSample) {
    for file in entries(monitor) {
        let Some(stem) = file.strip_suffix("_label") else { continue };
        let Some(label) = read_line(&monitor.join(&file)) else { continue };
        let (input, is_temperature) =
            (monitor.join(format!("{stem}_input")), stem.starts_with("temp"));
        match label.as_str() {
            "edge" => sample.temperature_c.edge = read_celsius(&input),
            "junction" => sample.temperature_c.junction = read_celsius(&input),
            "mem" => sample.temperature_c.memory = read_celsius(&input),
            // Intel's xe, which uses the same label for voltage and energy of the chip.
            "pkg" if is_temperature => sample.temperature_c.junction = read_celsius(&input),
            "vram" if is_temperature => sample.temperature_c.memory = read_celsius(&input),
            "sclk" => sample.sclk_mhz = read_megahertz(&input),
            "mclk" => sample.mclk_mhz = read_megahertz(&input),
            label if stem.starts_with("in") && details::is_of_chip(stem, Some(label)) => {
                sample.voltage_mv = read_millivolts(&input);
            }
            _ => {}
        }
    }
    if sample.voltage_mv.is_none() && !monitor.join("in0_label").exists() {
        sample.voltage_mv = read_millivolts(&monitor.join("in0_input"));
    }
    sample.fan_rpm = read_number(&monitor.join("fan1_input"))
        .and_then(|turns| plausible::now(turns, plausible::turns));
    // Intel's i915 has a single temperature, of the package, without a label.
    if sample.temperature_c == Temperatures::default() && !monitor.join("temp1_label").exists() {
        sample.temperature_c.junction = read_celsius(&monitor.join("temp1_input"));
    }
    // Current power if available, or else the GPU's own short average.
    sample.power_w = read_watts(&monitor.join("power1_input"))
        .or_else(|| read_watts(&monitor.join("power1_average")));
}

/// Reads a temperature in °C; hwmon stores thousandths.
fn read_celsius(file: &Path) -> Option<f64> {
    metrics::celsius(read_number::<f64>(file)? / 1e3)
}

/// Reads a clock in MHz; hwmon stores Hz.
fn read_megahertz(file: &Path) -> Option<f64> {
    plausible::now(read_number::<f64>(file)? / 1e6, plausible::megahertz)
}

/// Reads a voltage in mV, the unit of hwmon.
fn read_millivolts(file: &Path) -> Option<f64> {
    plausible::now(read_number(file)?, plausible::millivolts)
}

/// Reads a power in W; hwmon stores µW.
fn read_watts(file: &Path) -> Option<f64> {
    plausible::now(read_number::<f64>(file)? / 1e6, plausible::watts)
}

/// Fills in values that other files lack, and adds values that only `metrics` has.
fn complete(sample: &mut GpuSample, metrics: Metrics) {
    let Temperatures { edge, junction, memory } = sample.temperature_c;
    sample.temperature_c = Temperatures {
        edge: edge.or(metrics.temperature_c.edge),
        junction: junction.or(metrics.temperature_c.junction),
        memory: memory.or(metrics.temperature_c.memory),
    };
    sample.power_w = sample.power_w.or(metrics.power_w);
    sample.utilization_percent = sample.utilization_percent.or(metrics.utilization_percent);
    sample.sclk_mhz = sample.sclk_mhz.or(metrics.sclk_mhz);
    sample.mclk_mhz = sample.mclk_mhz.or(metrics.mclk_mhz);
    sample.throttle_counters = metrics.throttle_counters;
    sample.throttle_reasons = metrics
        .throttle_status
        .map(|status| throttle::reasons(status, sample.temperature_c.junction));
}

#[cfg(test)]
mod tests;
