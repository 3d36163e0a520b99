//! Memory of the GPU, memory of the host and the link between them: the cost of keeping a tensor in
//! each.

use rsb_device::device::no_peer;
use rsb_device::operation::{
    HostMemory, MemoryStream, Stores, StreamPattern, Transfer, TransferDirection,
};
use rsb_device::{Device, DeviceInfo, Operation, Options, Registry, host_cpu};
use rsb_model::{DeviceType, Dtype, Fields, Params, Reason};

use super::memory_transfer::{largest, rates, whole};
use super::{
    axis, bandwidth, bytes, dtype, grid, is_by_vendor, last_level_cache, last_level_caches,
    latency, sized_grid, sizes, stream_size,
};
use crate::axis::{AxisInfo, AxisKind, NUMA};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult, Prepared,
    RunsOn,
};
use crate::peer_copy::{PeerCopy, PeerDirection};
use crate::timed::{PreparedCase, Timed};

/// Work within each memory, and transfers over the link.
pub(super) struct MemoryTiers;

/// Size that fits in the nearest cache of any device.
const SMALLEST: u64 = 8 << 10;

const MEMORIES: &[&str] = &["device", "host"];
const LINKS: &[&str] = &["host-to-device", "device-to-host", "bidirectional"];
const PEER: &str = "peer";
const TIERS: &[&str] =
    &["device", "host", "host-to-device", "device-to-host", "bidirectional", PEER];
const WITHIN: &[&str] = &["read", "write", "triad", "read_write", "latency"];

const AXES: &[AxisInfo] = &[
    AxisInfo::value(
        "tier",
        "memory of the device or the host (all threads), or the link between them, in one or both \
         directions; peer: from the device to the next one",
        AxisKind::Choice(TIERS),
    ),
    AxisInfo::value("size", "bytes per array", AxisKind::Bytes),
    AxisInfo::with_default(
        "operation",
        "copy; within one memory also read, write, triad, read_write, and latency (dependent reads \
         by one thread)",
        "copy",
        AxisKind::Choice(&["copy", "read", "write", "triad", "read_write", "latency"]),
    ),
    AxisInfo::with_default(
        "dtype",
        "data type of the elements, within one memory",
        "f32",
        AxisKind::Dtype,
    ),
    NUMA,
];

impl MemoryTiers {
    fn is_of_the_host(params: &Params) -> bool {
        params.text("tier") == Some("host")
    }
}

impl Benchmark for MemoryTiers {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "memory-tiers",
            about: "Comparison of GPU memory, host memory and the link between them",
            axes: AXES,
            group: Some(BenchmarkGroup::Memory),
            is_sized_by_caches: true,
            runs_on: RunsOn::Gpus,
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        grids_beside(breadth, device, &host_cpu::read())
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let (tier, work, dtype) =
            (params.text("tier").unwrap_or("device"), params.text("operation"), dtype(params)?);
        let work = work.unwrap_or("copy");
        let is_link = LINKS.contains(&tier) || tier == PEER;
        if tier != "host" && params.text("numa").is_some_and(|numa| numa != "any") {
            return Err(Reason::new(
                format!("numa of {tier}"),
                "only host memory has NUMA nodes that threads can be bound to",
                "choose tier=host, or omit `numa`",
            ));
        }
        if (is_link && work != "copy") || (dtype != Dtype::F32 && (is_link || work == "latency")) {
            return Err(Reason::new(
                format!("{work} of {dtype} by {tier}"),
                "links support only copies, and links and latency have no data type",
                "choose operation=copy and dtype=f32 for a link, dtype=f32 for latency",
            ));
        }
        if work == "latency" {
            return latency::MemoryLatency.operation(params);
        }
        let size = whole(bytes(params, "size")?)?;
        let transfer =
            |direction| Transfer { direction, host_memory: HostMemory::Pinned, bytes: size };
        let pattern: StreamPattern = work.parse().unwrap_or(StreamPattern::Copy);
        // Non-temporal stores fill host memory fastest. A read has no stores, and data written in
        // place is already in the caches.
        let around =
            tier == "host" && !matches!(pattern, StreamPattern::Read | StreamPattern::ReadWrite);
        let stores = if around { Stores::NonTemporal } else { Stores::Temporal };
        Ok(match tier {
            "host-to-device" => Operation::Transfer(transfer(TransferDirection::HostToDevice)),
            "device-to-host" => Operation::Transfer(transfer(TransferDirection::DeviceToHost)),
            "bidirectional" => Operation::Transfer(transfer(TransferDirection::Bidirectional)),
            PEER => Operation::Transfer(transfer(TransferDirection::DeviceToDevice)),
            _ => Operation::Stream(MemoryStream {
                pattern,
                dtype,
                elements: size / dtype.bytes(1).max(1),
                stores,
            }),
        })
    }

    fn footprint_bytes(&self, params: &Params) -> Result<u64, Reason> {
        let needed = self.operation(params)?.footprint_bytes();
        Ok(match params.text("tier") {
            Some("host") => 0,
            // Half of the memory is allocated on the other GPU.
            Some(PEER) => needed / 2,
            _ => needed,
        })
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        self.prepare_with(params, device, &Registry::default())
    }

    fn prepare_with<'d>(
        &self,
        params: &Params,
        device: &'d dyn Device,
        backends: &Registry,
    ) -> PrepareResult<'d> {
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        let size = bytes(params, "size").map_err(Failure::Skipped)?;
        let tier = params.text("tier").unwrap_or("device").to_owned();
        if tier == PEER {
            let size = whole(size).map_err(Failure::Skipped)?;
            return Ok(Box::new(TierCopy(PeerCopy::prepare(
                device,
                next(device)?,
                size,
                PeerDirection::OneWay,
            )?)));
        }
        let timed: Timed<'d> = if Self::is_of_the_host(params) {
            let host = host(backends).map_err(Failure::Skipped)?;
            let alone = matches!(operation, Operation::PointerChase(_));
            let threads = if alone { 1 } else { host.info().units };
            Timed::from_params(
                host,
                operation,
                &params.clone().with("threads", threads.to_string()),
            )?
        } else {
            Timed::prepare(device, operation, Options::default())?
        };
        Ok(PreparedCase::new_boxed(timed, move |timed, time_ns| {
            let mut fields = match &timed.operation {
                Operation::Stream(stream) => {
                    bandwidth::fields(timed, time_ns, stream.stores.as_str(), size)?
                }
                Operation::PointerChase(_) => latency::fields(timed, time_ns, size)?,
                _ => rates(timed, time_ns)?.with("size_bytes", size),
            };
            // The latency of one read if measured, otherwise the time for the whole array.
            let latency_ns = fields.number("latency_ns").unwrap_or(time_ns);
            fields.set("latency_us", latency_ns / 1e3);
            fields.set("memory_tier", tier.clone());
            Ok(fields)
        }))
    }
}

/// Returns the position of the next device, wrapping around after the last.
fn next(device: &dyn Device) -> Result<Option<u32>, Failure> {
    let (own, peers) = (device.info().device.index, device.peers());
    match peers.iter().find(|&&peer| peer > own).or(peers.first()) {
        Some(&peer) => Ok(Some(peer)),
        None => Err(no_peer(device.info(), own + 1, &peers).into()),
    }
}

/// A copy to the next device that reports the same fields as the other tiers.
struct TierCopy<'d>(PeerCopy<'d>);

impl Prepared for TierCopy<'_> {
    fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        self.0.sample(iters)
    }

    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure> {
        let fields = self.0.fields(time_ns)?;
        Ok(fields.with("latency_us", time_ns / 1e3).with("memory_tier", PEER))
    }
}

/// Returns the cases for a GPU and its host. Sizes depend on the GPU, except that the largest size
/// in each memory exceeds the caches in front of it: the host's caches, or the GPU's last-level
/// cache (256 MiB on an MI300X).
fn grids_beside(breadth: Breadth, device: &DeviceInfo, host: &DeviceInfo) -> Vec<Grid> {
    let large = largest(device);
    let of_host = large.max(stream_size(host, last_level_caches(host)));
    // Software that emulates a GPU has no memory of its own.
    let is_real = device.device_type == DeviceType::Gpu;
    let of_device =
        if is_real { large.max(stream_size(device, last_level_cache(device))) } else { large };
    let mut grids = vec![
        sized_grid("tier=device", &sizes_up_to(of_device, breadth, large)),
        sized_grid("tier=host", &sizes_up_to(of_host, breadth, large)),
        grid([
            axis("tier", links(breadth, device)),
            sizes("size", &sizes_up_to(large, breadth, large)),
        ]),
    ];
    if breadth > Breadth::Quick {
        for (&tier, large) in MEMORIES.iter().zip([of_device, of_host]) {
            grids.push(grid([
                axis("tier", &[tier]),
                sizes("size", &[large]),
                axis("operation", WITHIN),
            ]));
            grids.push(grid([
                axis("tier", &[tier]),
                sizes("size", &[large]),
                axis("operation", &["copy", "read", "write", "triad", "read_write"]),
                axis("dtype", &["f16"]),
            ]));
        }
        if is_by_vendor(device) {
            grids.push(grid([axis("tier", &[PEER]), sizes("size", &[large])]));
        }
    }
    if breadth == Breadth::Full {
        for (&tier, most) in MEMORIES.iter().zip([of_device, of_host]) {
            grids.push(grid([
                axis("tier", &[tier]),
                sizes("size", &sizes_up_to(most, breadth, large)),
                axis("operation", WITHIN),
            ]));
        }
        let nodes = axis("numa", &["near", "far"]);
        let at_nodes = grid([axis("tier", &["host"]), sizes("size", &[of_host]), nodes]);
        let others = [at_nodes.clone(), grid([axis("operation", WITHIN)])].concat();
        grids.extend([at_nodes, others]);
    }
    grids
}

/// Returns the sizes of a suite, of which `most` is the last. `large` is the size of a whole array,
/// from which the standard suite derives a smaller size.
fn sizes_up_to(most: u64, breadth: Breadth, large: u64) -> Vec<u64> {
    let mut all = match breadth {
        Breadth::Quick => Vec::new(),
        Breadth::Standard => vec![large / 16],
        // Starts at a size within the nearest cache.
        Breadth::Full => {
            std::iter::successors(Some(SMALLEST), |size| size.checked_mul(4)).collect()
        }
    };
    all.retain(|&size| size < most);
    all.push(most);
    all
}

/// Returns the link tiers. Bidirectional transfers require a backend with two queues and are not in
/// the quick suite.
fn links(breadth: Breadth, device: &DeviceInfo) -> &'static [&'static str] {
    if breadth > Breadth::Quick && is_by_vendor(device) {
        LINKS
    } else {
        LINKS.get(..2).unwrap_or(LINKS)
    }
}

/// Opens the CPU in addition to the GPU of the case. It is leaked and lives as long as the process,
/// which is a worker for this one case.
fn host(backends: &Registry) -> Result<&'static dyn Device, Reason> {
    Ok(Box::leak(backends.open("cpu:0")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::scripted::{Script, ScriptedDevice};
    use rsb_model::environment::Cache;

    const MIB: u64 = 1 << 20;

    /// Returns the sizes of `tier` for a host with `threads` threads, `memory_bytes` of memory and
    /// a last-level cache of 105 MiB per 32 threads, and a GPU with a last-level cache of `cache`
    /// bytes.
    fn sizes_of(
        tier: &str,
        breadth: Breadth,
        threads: u32,
        memory_bytes: u64,
        cache: u64,
    ) -> Vec<u64> {
        let mut gpu = ScriptedDevice::new(Script::default()).info().clone();
        gpu.device = "rocm:0".parse().unwrap();
        gpu.device_type = DeviceType::Gpu;
        gpu.usable_memory_bytes = 64 << 30;
        let level = if cache > 128 * MIB { 3 } else { 2 };
        gpu.caches = vec![Cache { level, size_bytes: cache, shared_by: None }];
        let caches = vec![Cache { level: 3, size_bytes: 105 * MIB, shared_by: Some(32) }];
        let cpu = DeviceInfo { device: "cpu:0".parse().unwrap(), ..gpu.clone() };
        let host = DeviceInfo { units: threads, usable_memory_bytes: memory_bytes, caches, ..cpu };
        let grids = grids_beside(breadth, &gpu, &host);
        let of_tier = grids.iter().filter(|grid| grid[0].1.iter().any(|name| name == tier));
        let sizes = of_tier.flat_map(|grid| &grid[1].1);
        sizes.map(|size| rsb_model::shape::parse_bytes(size).unwrap()).collect()
    }

    fn largest_of(tier: &str, threads: u32, memory_bytes: u64) -> u64 {
        let sizes = sizes_of(tier, Breadth::Standard, threads, memory_bytes, 8 * MIB);
        sizes.into_iter().max().unwrap()
    }

    #[test]
    fn the_copy_from_ram_is_from_ram() {
        assert_eq!(largest_of("host", 32, 64 << 30), 448 * MIB);
        assert!(
            largest_of("host", 64, 64 << 30) >= 2 * 4 * 105 * MIB,
            "two sockets have two caches"
        );
        assert_eq!(
            largest_of("host", 32, 2 << 30),
            256 * MIB,
            "the largest size must be limited by the memory"
        );
        assert_eq!(largest_of("device", 32, 64 << 30), 256 * MIB);
    }

    #[test]
    fn the_copy_in_hbm_is_not_in_the_cache_before_it() {
        for breadth in [Breadth::Quick, Breadth::Standard, Breadth::Full] {
            let of_device = sizes_of("device", breadth, 32, 64 << 30, 256 * MIB);
            assert_eq!(
                of_device.into_iter().max(),
                Some(2048 * MIB),
                "eight times the Infinity Cache of an MI300X"
            );
            let of_link = sizes_of("host-to-device", breadth, 32, 64 << 30, 256 * MIB);
            assert_eq!(of_link.into_iter().max(), Some(256 * MIB), "a link has no cache");
        }
        let full = sizes_of("device", Breadth::Full, 32, 64 << 30, 256 * MIB);
        assert_eq!(full.iter().min(), Some(&(8 << 10)));
        assert!(
            full.windows(2).take_while(|pair| pair[1] > pair[0]).all(|pair| pair[1] <= 8 * pair[0]),
            "{full:?}"
        );
    }
}
