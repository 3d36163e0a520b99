//! Tests of the probe with trees captured from real machines, which are outside the repository.
//! Without them (`RSB_SHARED`, or `../shared` next to it) these tests print that they were skipped.

#![allow(clippy::unwrap_used)] // In a test a failed step is a failed test.

use std::process::Command;

use rsb_model::Dtype;
use rsb_model::architecture::{self, Engine};
use rsb_model::gpu::{Gpu, GpuCache, GpuCacheKind, GpuKind, PcieLink};
use rsb_model::gpu_sample::Temperatures;
use rsb_probe::{ProbeOptions, environment, telemetry};
use tempfile::TempDir;

/// Unpacks a capture and arranges it like `/sys`.
fn tree(name: &str, layout: &[(&str, &str)]) -> Option<TempDir> {
    let archive = test_needs::capture(name)?;
    let dir = tempfile::tempdir().unwrap();
    let unpacked = dir.path().join("unpacked");
    std::fs::create_dir(&unpacked).unwrap();
    let tar = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&unpacked).status();
    if !tar.is_ok_and(|status| status.success()) {
        test_needs::missing("tar", "it is not installed");
        return None;
    }
    for (from, to) in layout {
        let to = dir.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::rename(unpacked.join(from), to).unwrap();
    }
    Some(dir)
}

fn probe(tree: &TempDir) -> Vec<Gpu> {
    let options = ProbeOptions { sysfs_root: Some(tree.path().to_owned()) };
    assert_eq!(options.check(), Ok(()));
    let found = environment(&options);
    assert!(
        found.os.is_none()
            && found.cpu.is_none()
            && found.memory_gb.is_none()
            && found.python.is_none()
    );
    found.gpus
}

/// Expected facts about a captured GPU.
struct Expected {
    capture: &'static str,
    gpu: &'static str,
    pci_id: &'static str,
    address: &'static str,
    name: &'static str,
    target: &'static str,
    memory: &'static str,
    vram_gb: Option<f64>,
    memory_mhz: f64,
    core_mhz: f64,
    link: (f64, u32),
    cap_w: f64,
}

/// Expected values, entered by hand from AMD's product pages and the settings of the GPUs' owners:
///
/// - RX 580 with 4 GB: GDDR5 of 7 Gbit/s (4 × 1750 MHz), PCI Express 3.0 x16; vendor's clock 1366
///   MHz at 155 W.
/// - RX Vega 56: 8 GB of HBM2, PCI Express 3.0 x16; memory set to 920 MHz, 15 % above 800 MHz.
/// - RX 6900 XT: 16 GB of GDDR6 of 16 Gbit/s (16 × 1000 MHz), PCI Express 4.0 x16.
/// - RX 7900 XTX (identified by its board): GDDR6 of 20 Gbit/s (16 × 1250 MHz, rounded down to 1249
///   by the driver), PCI Express 4.0 x16.
/// - RX 9070: GDDR6 of 20 Gbit/s, PCI Express 5.0 x16, here in a slot of PCI Express 4.0; power
///   reduced from 220 to 200 W.
const GPUS: [Expected; 5] = [
    Expected {
        capture: "rx580",
        gpu: "card0",
        pci_id: "1002:67df",
        address: "0000:09:00.0",
        name: "AMD Radeon RX 580 series",
        target: "gfx803",
        memory: "GDDR5",
        vram_gb: Some(4.294_967_296),
        memory_mhz: 1750.0,
        core_mhz: 1366.0,
        link: (8.0, 16),
        cap_w: 155.0,
    },
    Expected {
        capture: "vega56",
        gpu: "card0",
        pci_id: "1002:687f",
        address: "0000:0b:00.0",
        name: "AMD Radeon RX Vega",
        target: "gfx900",
        memory: "HBM2",
        vram_gb: Some(8.573_157_376),
        memory_mhz: 920.0,
        core_mhz: 1590.0,
        link: (8.0, 16),
        cap_w: 260.0,
    },
    Expected {
        capture: "rx6900xt",
        gpu: "card0",
        pci_id: "1002:73bf",
        address: "0000:0c:00.0",
        name: "AMD Radeon RX 6900 XT",
        target: "gfx1030",
        memory: "GDDR6",
        vram_gb: Some(17.163_091_968),
        memory_mhz: 1000.0,
        core_mhz: 2660.0,
        link: (16.0, 16),
        cap_w: 289.0,
    },
    Expected {
        capture: "rx7900xtx",
        gpu: "card0",
        pci_id: "1002:744c",
        address: "0000:03:00.0",
        name: "AMD Radeon RX 7900 XTX",
        target: "gfx1100",
        memory: "GDDR6",
        vram_gb: None,
        memory_mhz: 1249.0,
        core_mhz: 2219.0,
        link: (16.0, 16),
        cap_w: 290.0,
    },
    Expected {
        capture: "rx9070",
        gpu: "card1",
        pci_id: "1002:7550",
        address: "0000:03:00.0",
        name: "AMD Radeon RX 9070 series",
        target: "gfx1201",
        memory: "GDDR6",
        vram_gb: None,
        memory_mhz: 1258.0,
        core_mhz: 2070.0,
        link: (16.0, 16),
        cap_w: 200.0,
    },
];

fn drm_tree(expected: &Expected) -> Option<TempDir> {
    let (name, gpu) = (expected.capture, expected.gpu);
    let layout = (format!("{name}/{gpu}"), format!("class/drm/{gpu}"));
    tree(&format!("sysfs/{name}.tar.gz"), &[(&layout.0, &layout.1)])
}

#[test]
fn gpus_of_the_drm_alone() {
    for expected in &GPUS {
        let Some(tree) = drm_tree(expected) else { return };
        let gpu = probe(&tree).remove(0);
        let name = expected.capture;
        assert_eq!(gpu.name.as_deref(), Some(expected.name), "{name}");
        assert_eq!(gpu.pci_id.as_deref(), Some(expected.pci_id), "{name}");
        assert_eq!(gpu.pci_address.as_deref(), Some(expected.address), "{name}");
        assert_eq!(gpu.gfx_target.as_deref(), Some(expected.target), "{name}");
        assert_eq!(
            (gpu.kind, gpu.virtual_function),
            (Some(GpuKind::Discrete), Some(false)),
            "{name}"
        );
        assert_eq!(
            (gpu.vram_gb, gpu.driver.as_deref()),
            (expected.vram_gb, Some("amdgpu")),
            "{name}"
        );
        assert_eq!(gpu.memory.kind.as_deref(), Some(expected.memory), "{name}");
        assert_eq!(gpu.memory.max_mhz, Some(expected.memory_mhz), "{name}");
        assert_eq!(gpu.max_mhz, Some(expected.core_mhz), "{name}");
        let (gt_s, width) = expected.link;
        assert_eq!(gpu.pcie.now, Some(PcieLink::new(gt_s, width)), "{name}");
        assert_eq!(gpu.pcie.max, Some(PcieLink::new(gt_s, width)), "{name}");
        assert_eq!(gpu.power_cap_w, Some(expected.cap_w), "{name}");
        assert!(
            gpu.sensors.iter().any(|sensor| sensor == "temperature edge"),
            "{name}: {:?}",
            gpu.sensors
        );
        // The DRM does not report these values, and they are not guessed from the name.
        assert_eq!((gpu.compute_units, gpu.memory.width_bits), (None, None), "{name}");
        assert_eq!(
            (gpu.memory_bandwidth_gb_s, gpu.ecc, gpu.partition),
            (None, None, None),
            "{name}"
        );
        assert!(gpu.caches.is_empty() && gpu.links.is_empty(), "{name}");
    }
}

#[test]
fn gpus_tell_how_they_were() {
    let none: Option<Vec<String>> = None;
    for (capture, edge, junction, memory, power, clocks, busy, reasons) in [
        ("rx580", 44.0, None, None, 41.045, (798.08, 1750.0), 11.0, none.clone()),
        ("vega56", 38.0, Some(38.0), Some(39.0), 8.0, (26.0, 167.0), 0.0, none.clone()),
        ("rx6900xt", 56.0, Some(59.0), Some(54.0), 36.0, (500.0, 1000.0), 3.0, Some(vec![])),
        ("rx7900xtx", 53.0, Some(61.0), Some(68.0), 68.0, (31.0, 1249.0), 3.0, none),
        ("rx9070", 48.0, Some(52.0), Some(72.0), 49.0, (900.0, 1124.0), 25.0, Some(vec![])),
    ] {
        let expected = GPUS.iter().find(|gpu| gpu.capture == capture).unwrap();
        let Some(tree) = drm_tree(expected) else { return };
        let options = ProbeOptions { sysfs_root: Some(tree.path().to_owned()) };
        let found = telemetry::sample(&telemetry::gpu_at(&options, expected.address).unwrap());
        assert_eq!(
            found.temperature_c,
            Temperatures { edge: Some(edge), junction, memory },
            "{capture}"
        );
        assert_eq!(
            (found.power_w, found.utilization_percent),
            (Some(power), Some(busy)),
            "{capture}"
        );
        assert_eq!((found.sclk_mhz, found.mclk_mhz), (Some(clocks.0), Some(clocks.1)), "{capture}");
        assert_eq!((found.throttle_reasons, found.absent), (reasons, vec![]), "{capture}");
    }
}

/// Radeon 880M: 12 compute units, up to 2900 MHz, 2 MB of L2.
#[test]
fn a_part_with_both_trees_is_one_device() {
    let layout = [("strixpoint/card1", "class/drm/card1"), ("strixpoint/kfd", "class/kfd/kfd")];
    let Some(tree) = tree("sysfs/strixpoint.tar.gz", &layout) else { return };
    let gpu = probe(&tree).remove(0);
    assert_eq!((gpu.pci_id.as_deref(), gpu.kind), (Some("1002:150e"), Some(GpuKind::Integrated)));
    assert_eq!((gpu.gfx_target.as_deref(), gpu.compute_units), (Some("gfx1150"), Some(12)));
    assert_eq!(gpu.name.as_deref(), Some("AMD Radeon 880M"));
    assert_eq!((gpu.max_mhz, gpu.render_node.as_deref()), (Some(2900.0), Some("renderD128")));
    assert_eq!((gpu.vram_gb, gpu.memory.shared_gb), (Some(0.536_870_912), Some(16.441_004_032)));
    assert_eq!((gpu.memory.kind, gpu.memory.width_bits), (None, Some(128)));
    assert_eq!(gpu.memory_bandwidth_gb_s, None, "the type of the CPU's memory is not reported");
    let cache =
        |level, kind, kib: u64, count| GpuCache { level, kind, size_bytes: kib << 10, count };
    let expected = [
        cache(1, GpuCacheKind::Data, 16, 6),
        cache(1, GpuCacheKind::Data, 32, 12),
        cache(1, GpuCacheKind::Data, 256, 2),
        cache(1, GpuCacheKind::Instruction, 32, 6),
        cache(2, GpuCacheKind::Data, 2048, 1),
    ];
    assert_eq!(gpu.caches, expected);
    let options = ProbeOptions { sysfs_root: Some(tree.path().to_owned()) };
    let found = telemetry::sample(&telemetry::gpu_at(&options, "0000:c1:00.0").unwrap());
    assert_eq!(
        (found.temperature_c.edge, found.power_w, found.sclk_mhz),
        (Some(38.0), Some(9.087), Some(848.0))
    );
    assert_eq!(found.mclk_mhz, Some(836.0), "only gpu_metrics reports the memory clock");
    assert_eq!(
        (found.throttle_reasons, found.throttle_counters.get("fast power limit")),
        (None, Some(&92_382))
    );
}

/// MI210: 104 compute units at up to 1700 MHz; four of them joined by links of 50 GB/s each way.
#[test]
fn nodes_of_the_kfd_alone() {
    let layout = [("testdata/topo-mi210-xgmi-pcie", "class/kfd/kfd/topology")];
    let Some(tree) = tree("kfd/kfd-topo-mi210-xgmi-pcie.tgz", &layout) else { return };
    let found = probe(&tree);
    assert_eq!(found.len(), 8, "the two CPU nodes must not be listed");
    for gpu in &found {
        assert_eq!(
            (gpu.name.as_deref(), gpu.pci_id.as_deref()),
            (Some("AMD Instinct MI210"), Some("1002:740f"))
        );
        assert_eq!((gpu.gfx_target.as_deref(), gpu.compute_units), (Some("gfx90a"), Some(104)));
        assert_eq!((gpu.kind, gpu.max_mhz), (Some(GpuKind::Discrete), Some(1700.0)));
        assert_eq!((gpu.vram_gb, gpu.memory_bandwidth_gb_s, &gpu.driver), (None, None, &None));
        assert_eq!((gpu.memory.kind.as_deref(), gpu.pcie.now), (Some("HBM2e"), None));
        let peers = |kind: &str| {
            let links = gpu.links.iter().filter(|link| link.kind == kind && link.peer.is_some());
            links.map(|link| (link.peer.unwrap(), link.weight, link.gb_s)).collect::<Vec<_>>()
        };
        let (near, far) = (peers("xgmi"), peers("pcie"));
        assert!(
            near.len() == 3 && near.iter().all(|link| (link.1, link.2) == (Some(15), Some(50.0))),
            "{near:?}"
        );
        assert!(
            far.len() == 4 && far.iter().all(|link| (link.1, link.2) == (Some(72), None)),
            "{far:?}"
        );
        let mut met: Vec<u32> =
            near.iter().chain(&far).map(|link| link.0).chain([gpu.index]).collect();
        met.sort_unstable();
        assert_eq!(
            met,
            (0..8).collect::<Vec<_>>(),
            "each GPU must be linked to every other GPU once"
        );
        assert!(
            gpu.links.iter().any(|link| link.peer.is_none() && link.gb_s == Some(32.0)),
            "each GPU must be linked to the CPU"
        );
    }
    let addresses: Vec<_> = found.iter().filter_map(|gpu| gpu.pci_address.as_deref()).collect();
    assert!(addresses.len() == 8 && addresses.is_sorted(), "{addresses:?}");
    assert!(addresses.contains(&"0000:63:00.0"), "{addresses:?}");
    // AMD's data sheet: 22.6 TFLOP/s of f64 on the vector unit, 45.3 on the matrix unit, 181 of
    // f16.
    for (dtype, engine, printed) in [
        (Dtype::F64, Engine::Vector, 22.6),
        (Dtype::F64, Engine::Matrix, 45.3),
        (Dtype::F16, Engine::Matrix, 181.0),
    ] {
        let peaks = architecture::peaks(&found[0]).unwrap();
        let peak = peaks.iter().find(|peak| (peak.dtype, peak.engine) == (dtype, engine)).unwrap();
        assert!((peak.tflops / printed - 1.0).abs() < 5e-3, "{peak:?}");
    }
}

/// Compares the output of `rocminfo` on a real machine with the table and the rule for targets.
#[test]
fn the_table_agrees_with_rocminfo() {
    let Some(file) = test_needs::capture("rocminfo/MI300X_x4_rocminfo.txt") else { return };
    let text = std::fs::read_to_string(file).unwrap();
    let value = |agent: &str, name: &str| {
        let line =
            agent.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap_or_default();
        line.trim_start_matches(':').trim().to_owned()
    };
    let mut seen = 0;
    for agent in
        text.split("*******").filter(|agent| agent.contains("Device Type:             GPU"))
    {
        let (chip, units) = (value(agent, "Chip ID"), value(agent, "Compute Unit"));
        let device: u32 = chip.split('(').next().unwrap().parse().unwrap();
        let units: u32 = units.parse().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let node = dir.path().join("class/kfd/kfd/topology/nodes/1");
        std::fs::create_dir_all(&node).unwrap();
        let simds = units * 4;
        let properties =
            format!("simd_count {simds}\nsimd_per_cu 4\nvendor_id 4098\ndevice_id {device}\n");
        std::fs::write(node.join("properties"), properties).unwrap();
        let gpu = probe(&dir).remove(0);
        assert_eq!(gpu.gfx_target, Some(value(agent, "Name")));
        assert_eq!(gpu.compute_units, Some(units));
        assert!(gpu.name.is_some_and(|name| name.starts_with(&value(agent, "Marketing Name"))));
        seen += 1;
    }
    assert_eq!(seen, 4, "the capture has four accelerators besides the CPUs");
}
