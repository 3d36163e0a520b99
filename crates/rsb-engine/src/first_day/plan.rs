//! Selection of the cases of each check on a device; pure functions.

use rsb_catalog::plan::{CustomEntry, Machine, Plan, PlanError, Selection, plan};
use rsb_catalog::suites;
use rsb_device::DeviceInfo;
use rsb_model::shape::format_bytes;
use rsb_model::{BackendId, DeviceType, Profile, Suite};

use super::expected;
use crate::measure::{Count, Settings};

/// Checks whose first case is measured again at the end.
pub(super) const AGAIN: [u8; 5] = [7, 10, 11, 12, 13];

/// Shape (m × n × k) of a product large enough to keep a GPU busy.
const LARGE_PRODUCT: &str = "8192x8192x8192";

/// Returns the devices to check: those that `selection` names, or the first card of each backend.
/// If there is no card, returns the first device of each backend, so that CPU drivers are checked
/// as well.
///
/// # Errors
/// If `selection` names a device that is not available.
pub(super) fn targets(
    selection: &Selection,
    machine: &Machine,
) -> Result<Vec<DeviceInfo>, PlanError> {
    let request =
        Selection { names: vec!["control".to_owned()], axes: Vec::new(), ..selection.clone() };
    let chosen = plan(&request, machine)?.devices;
    if !selection.devices.is_empty() {
        return Ok(chosen);
    }
    let cards: Vec<DeviceInfo> =
        chosen.iter().filter(|device| device.device_type != DeviceType::Cpu).cloned().collect();
    let pool = match (cards.is_empty(), selection.backend()) {
        (false, _) => cards,
        (true, Some(_)) => chosen,
        (true, None) => machine.devices.clone(),
    };
    let mut targets: Vec<DeviceInfo> = Vec::new();
    for device in pool {
        if targets.iter().all(|known| known.device.backend != device.device.backend) {
            targets.push(device);
        }
    }
    Ok(targets)
}

/// Returns whether `device` is a real GPU, on which timings are meaningful.
pub(super) fn is_card(device: &DeviceInfo) -> bool {
    device.device_type == DeviceType::Gpu
}

/// Plans the cases of check `number` on all of `devices`.
///
/// # Errors
/// If an entry in this module names an axis that a benchmark lacks.
pub(super) fn of_check(
    number: u8,
    devices: &[DeviceInfo],
    machine: &Machine,
) -> Result<Plan, PlanError> {
    let mut whole = Plan::default();
    for device in devices {
        let selection = Selection {
            custom: entries(number, device, machine),
            backends: vec![device.device.backend],
            devices: vec![device.device.index],
            ..Selection::new(Suite::Custom, profile(number, is_card(device)))
        };
        if selection.custom.is_empty() {
            continue;
        }
        let mut own = plan(&selection, machine)?;
        if number == 7 {
            keep_largest(&mut own);
        }
        whole.cases.extend(own.cases);
        whole.skipped.extend(own.skipped);
        whole.failed.extend(own.failed);
        whole.devices.extend(own.devices);
    }
    Ok(whole)
}

/// Returns the settings of check `number`.
pub(super) fn settings(number: u8, has_card: bool) -> Settings {
    let settings = Settings::of(profile(number, has_card));
    let replicates = if number == 3 || has_card && number != 4 && number != 11 { 3 } else { 1 };
    Settings { replicates: Count::exactly(replicates), ..settings }
}

/// Returns the profile of check `number`. The matrix peaks of a card are measured for seconds; all
/// other cases are short.
const fn profile(number: u8, has_card: bool) -> Profile {
    if number == 11 && has_card { Profile::Standard } else { Profile::Quick }
}

/// Keeps only the cases of the largest size, which no cache can hold.
fn keep_largest(plan: &mut Plan) {
    let most = plan.cases.iter().map(size_bytes).max().unwrap_or(0);
    plan.cases.retain(|case| size_bytes(case) == most);
}

fn size_bytes(case: &rsb_model::Case) -> u64 {
    case.params.get_with("size", rsb_model::shape::parse_bytes).unwrap_or(0)
}

fn entry(benchmark: &str, axes: &[(&str, &[&str])]) -> CustomEntry {
    let mut own = Vec::new();
    for (name, values) in axes {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        own.push(((*name).to_owned(), values));
    }
    CustomEntry { benchmark: benchmark.to_owned(), axes: own }
}

fn entries(number: u8, device: &DeviceInfo, machine: &Machine) -> Vec<CustomEntry> {
    let (card, is_cpu) = (is_card(device), device.device.is_cpu());
    let narrow = if card { "f16" } else { "f32" };
    match number {
        3 => vec![entry("control", &[])],
        4 => suites::benchmarks(Suite::Quick).into_iter().map(|name| entry(name, &[])).collect(),
        6 if !is_cpu => vec![entry("launch-latency", &[])],
        7 => vec![bandwidth(card)],
        8 => vec![entry(
            "memory-bandwidth",
            &[
                ("operation", &["copy"]),
                ("dtype", &["f32"]),
                ("size", &["1MiB"]),
                ("stores", &["temporal"]),
                ("cache", &["hot", "cold"]),
            ],
        )],
        9 => vec![latency(device)],
        10 if by_vendor(device) => {
            vec![entry("compute-peak", &[("dtype", &["f32", "f64", "f16"])])]
        }
        10 => vec![entry("compute-peak", &[("dtype", &["f32", "f64"]), ("threads", &["1"])])],
        11 if !is_cpu => vec![entry("tensor-core", &[])],
        12 => products(device),
        13 if !is_cpu => vec![entry(
            "memory-transfer",
            &[
                ("direction", &["host-to-device", "device-to-host", "bidirectional"]),
                ("host_memory", &["pinned", "pageable"]),
                ("size", &[if card { "256MiB" } else { "4MiB" }]),
            ],
        )],
        14 => vec![entry(
            "inference",
            &[
                ("phase", &["decode"]),
                ("dtype", &[narrow]),
                ("heads", &[if card { "12x64" } else { "4x32" }]),
                ("launch_mode", &["stream", "graph"]),
            ],
        )],
        15 => collectives(device, machine),
        _ => Vec::new(),
    }
}

fn by_vendor(device: &DeviceInfo) -> bool {
    matches!(device.device.backend, BackendId::Rocm | BackendId::Cuda)
}

fn bandwidth(card: bool) -> CustomEntry {
    let mut entry = entry(
        "memory-bandwidth",
        &[
            ("operation", &["copy", "read", "triad"]),
            ("dtype", &["f32"]),
            ("stores", &["temporal"]),
            ("cache", &["hot"]),
        ],
    );
    if card {
        entry.axes.push(("size".to_owned(), vec!["1GiB".to_owned()]));
    }
    entry
}

/// Returns a pointer chase for each cache, and one for memory beyond the caches. The sizes are
/// those in the table of this card; for other cards, they are derived from the caches.
fn latency(device: &DeviceInfo) -> CustomEntry {
    const SMALLEST: u64 = 16 << 10;
    let known = expected::card(device).map(|card| card.ranges).unwrap_or_default();
    let mut sizes: Vec<String> = known
        .iter()
        .filter_map(|row| row.quantity.strip_prefix("latency "))
        .map(str::to_owned)
        .collect();
    if sizes.is_empty() {
        let mut bytes: Vec<u64> = device.caches.iter().map(|cache| cache.size_bytes / 2).collect();
        let most = if is_card(device) { 1 << 30 } else { 256 << 20 };
        let beyond = device.last_level_cache_bytes().unwrap_or(32 << 20).saturating_mul(4);
        bytes.push(beyond.next_power_of_two().clamp(64 << 20, most));
        bytes.push(SMALLEST);
        bytes.retain(|size| *size >= SMALLEST);
        bytes.sort_unstable();
        bytes.dedup();
        sizes = bytes.into_iter().map(format_bytes).collect();
    }
    let mut entry = entry("memory-latency", &[("path", &["vector"])]);
    entry.axes.push(("size".to_owned(), sizes));
    entry
}

fn products(device: &DeviceInfo) -> Vec<CustomEntry> {
    if !is_card(device) {
        let shape: &[&str] =
            if device.device.is_cpu() { &["1024x1024x1024"] } else { &["256x256x256"] };
        return vec![entry("gemm", &[("dtype", &["f32"]), ("shape", shape)])];
    }
    let large: (&str, &[&str]) = ("shape", &[LARGE_PRODUCT]);
    let libraries: &[&str] = match device.device.backend {
        BackendId::Rocm => &["rocblas", "hipblaslt"],
        BackendId::Cuda => &["cublas", "cublaslt"],
        _ => return vec![entry("gemm", &[("dtype", &["f16"]), ("shape", &["4096x4096x4096"])])],
    };
    vec![
        entry("gemm", &[("dtype", &["bf16", "f16"]), large, ("provider", libraries)]),
        entry("gemm", &[("dtype", &["fp8"]), large, ("transpose", &["nt"])]),
    ]
}

/// Returns every collective of the vendor's library, and this program's ring all-reduce. Returns
/// none with fewer than two GPUs of one backend.
fn collectives(device: &DeviceInfo, machine: &Machine) -> Vec<CustomEntry> {
    let count = gpus_of(device.device.backend, machine);
    let library: &[&str] = match device.device.backend {
        BackendId::Rocm => &["rccl"],
        BackendId::Cuda => &["nccl"],
        _ => return Vec::new(),
    };
    if count < 2 || device.device.index != 0 {
        return Vec::new();
    }
    let gpus: &[&str] = if count >= 8 { &["2", "8"] } else { &["2"] };
    let sizes: &[&str] = if is_card(device) { &["8MiB", "1GiB"] } else { &["1MiB"] };
    vec![
        collective_entry(library, COLLECTIVES, gpus, sizes),
        collective_entry(&["ring"], &["all-reduce"], gpus, sizes),
    ]
}

fn collective_entry(
    backends: &[&str],
    operations: &[&str],
    gpus: &[&str],
    sizes: &[&str],
) -> CustomEntry {
    let axes: [(&str, &[&str]); 6] = [
        ("communication_backend", backends),
        ("operation", operations),
        ("num_gpus", gpus),
        ("dtype", &["f32"]),
        ("size", sizes),
        ("placement", &["out-of-place"]),
    ];
    entry("all-reduce", &axes)
}

const COLLECTIVES: &[&str] =
    &["all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "send-receive"];

/// Returns the number of available devices of `backend`.
pub(super) fn gpus_of(backend: BackendId, machine: &Machine) -> usize {
    machine.devices.iter().filter(|device| device.device.backend == backend).count()
}
