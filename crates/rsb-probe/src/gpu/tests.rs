use std::time::Duration;

use rsb_model::gpu::{EccCount, GpuCache, GpuCacheKind, GpuKind, PcieLink};

use super::*;
use crate::host::fake::Tree;

const DRM: &str = "sys/class/drm";
const KFD: &str = "sys/class/kfd/kfd/topology/nodes";

fn gpus(tree: &Tree) -> Vec<Gpu> {
    gpus_of(tree.host(), Duration::from_secs(30))
}

fn gpus_of(host: Host, limit: Duration) -> Vec<Gpu> {
    found_in(host, limit).gpus
}

fn found_in(host: Host, limit: Duration) -> GpuInventory {
    let deadline = Instant::now() + limit;
    start(&Arc::new(host), deadline).finish(deadline)
}

/// Makes opening a file block, as reading a faulty GPU does: a FIFO without a writer.
#[cfg(unix)]
fn hang(tree: &Tree, file: &str) {
    let pipe = tree.path(file);
    std::fs::create_dir_all(pipe.parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
}

fn unread(place: &str, asked: &str, answer: Answer) -> UnreadGpu {
    UnreadGpu { place: place.into(), asked: asked.into(), answer }
}

fn gpu(tree: &Tree, number: u32, id: &str, address: &str) {
    let event = format!("DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID={id}\nPCI_SLOT_NAME={address}\n");
    tree.write(&format!("{DRM}/card{number}/device/uevent"), &event);
}

fn node(tree: &Tree, number: u32, location: u32, values: &str) {
    let common = "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\nvendor_id \
                  4098\ndevice_id 29857\ndomain 0\n";
    tree.write(
        &format!("{KFD}/{number}/properties"),
        &format!("{common}location_id {location}\n{values}"),
    );
}

fn bank(tree: &Tree, number: u32, size: u64) {
    let values =
        format!("heap_type 1\nsize_in_bytes {size}\nflags 0\nwidth 8192\nmem_clk_max 1300\n");
    tree.write(&format!("{KFD}/{number}/mem_banks/0/properties"), &values);
}

#[test]
fn both_trees_speak_of_one_gpu() {
    let tree = Tree::new(&[
        (&format!("{KFD}/0/properties"), "cpu_cores_count 64\nsimd_count 0\n"),
        (&format!("{DRM}/card1/device/mem_info_vram_total"), "206141652992\n"),
        (&format!("{DRM}/card1/device/product_name"), "AMD Instinct MI300X OAM\n"),
        (&format!("{DRM}/card1/device/current_compute_partition"), "SPX\n"),
        (&format!("{DRM}/card1/device/current_memory_partition"), "NPS1\n"),
        (&format!("{DRM}/card1-DP-1/device/uevent"), "PCI_ID=1002:FFFF\n"),
        ("sys/module/amdgpu/version", "6.10.5\n"),
    ]);
    gpu(&tree, 1, "1002:74A1", "0000:05:00.0");
    node(&tree, 1, 0x0500, "num_xcc 8\n");
    bank(&tree, 1, 206_141_652_992);
    let expected = Gpu {
        index: 0,
        name: Some("AMD Instinct MI300X OAM".into()),
        pci_id: Some("1002:74a1".into()),
        pci_address: Some("0000:05:00.0".into()),
        gfx_target: Some("gfx942".into()),
        compute_units: Some(304),
        vram_gb: Some(206.141_652_992),
        memory_bandwidth_gb_s: Some(5324.8),
        driver: Some("amdgpu 6.10.5".into()),
        partition: Some("SPX/NPS1".into()),
        kind: Some(GpuKind::Discrete),
        virtual_function: Some(false),
        kfd_node: Some(1),
        memory: GpuMemory {
            kind: Some("HBM3".into()),
            width_bits: Some(8192),
            max_mhz: Some(1300.0),
            ..GpuMemory::default()
        },
        ..Gpu::default()
    };
    assert_eq!(gpus(&tree), [expected]);
}

#[test]
fn each_tree_alone_is_enough_and_what_it_lacks_is_unknown() {
    let drm = Tree::new(&[(&format!("{DRM}/card0/device/mem_info_vram_total"), "0\n")]);
    gpu(&drm, 0, "1002:744C", "0000:03:00.0");
    drm.write(&format!("{DRM}/card0/device/revision"), "0xcc\n");
    let found = gpus_of(Host::sysfs_only(drm.path("sys")), Duration::from_secs(30)).remove(0);
    assert_eq!(
        (found.name.as_deref(), found.gfx_target.as_deref()),
        (Some("AMD Radeon RX 7900 XT"), Some("gfx1100"))
    );
    assert_eq!(
        (found.compute_units, found.vram_gb, found.memory_bandwidth_gb_s),
        (None, None, None)
    );
    assert_eq!((found.driver.as_deref(), found.partition), (Some("amdgpu"), None));

    let kfd = Tree::new(&[(&format!("{KFD}/2/name"), "aqua_vanjaram\n")]);
    node(&kfd, 2, 0x6300, "");
    let found = gpus(&kfd).remove(0);
    assert_eq!(
        (found.name.as_deref(), found.pci_address.as_deref()),
        (Some("AMD Instinct MI300X"), Some("0000:63:00.0"))
    );
    assert_eq!((found.compute_units, found.vram_gb, found.driver), (Some(304), None, None));
}

#[test]
fn partitions_are_devices_of_their_own() {
    let tree = Tree::new(&[
        (&format!("{DRM}/card0/device/mem_info_vram_total"), "206000000000"),
        (&format!("{DRM}/card0/device/current_compute_partition"), "CPX"),
    ]);
    gpu(&tree, 0, "1002:74A1", "0000:05:00.0");
    // An amdgpu partition appears as a platform device next to the GPU.
    tree.write(
        &format!("{DRM}/card1/device/uevent"),
        "DRIVER=amdgpu-xcp\nMODALIAS=platform:amdgpu_xcp_0\n",
    );
    // The number of a partition is in the highest bits, or in the PCI function if the chip has a
    // unique ID.
    for (shift, values) in [(28, ""), (0, "unique_id 16404946649897475633\n")] {
        for part in 0..2_u32 {
            let location = part << shift | 0x0500;
            node(&tree, 2 + part, location, &format!("{values}drm_render_minor {}\n", 128 + part));
            bank(&tree, 2 + part, 24_000_000_000);
        }
        let found = gpus(&tree);
        let parts: Vec<_> = found
            .iter()
            .map(|gpu| {
                (
                    gpu.vram_gb,
                    gpu.memory_bandwidth_gb_s,
                    gpu.partition_index,
                    gpu.render_node.as_deref(),
                )
            })
            .collect();
        let share = Some(5324.8 / 2.0);
        assert_eq!(
            parts,
            [
                (Some(24.0), share, Some(0), Some("renderD128")),
                (Some(24.0), share, Some(1), Some("renderD129"))
            ]
        );
        for gpu in &found {
            assert_eq!((gpu.partition.as_deref(), gpu.partitions), (Some("CPX"), Some(2)));
            assert_eq!(
                (gpu.driver.as_deref(), gpu.pci_address.as_deref()),
                (Some("amdgpu"), Some("0000:05:00.0"))
            );
        }
    }
}

#[test]
fn gpus_are_in_the_order_of_the_bus_whatever_their_numbers() {
    let tree = Tree::new(&[]);
    gpu(&tree, 0, "1002:744C", "0000:83:00.0");
    gpu(&tree, 1, "8086:56A0", "0000:03:00.0");
    gpu(&tree, 10, "1A03:2000", "0000:01:00.0");
    node(&tree, 1, 0x4300, "");
    let addresses: Vec<_> =
        gpus(&tree).into_iter().map(|gpu| (gpu.index, gpu.pci_address.unwrap())).collect();
    let expected = [(0, "0000:03:00.0"), (1, "0000:43:00.0"), (2, "0000:83:00.0")];
    assert_eq!(
        addresses,
        expected.map(|(index, address)| (index, address.to_owned())),
        "a management chip must be left out"
    );
}

#[test]
#[cfg(unix)]
fn the_bus_shows_gpus_that_the_drm_does_not() {
    let tree = Tree::new(&[]);
    let function = |address: &str, class: &str, vendor: &str, device: &str| {
        for (file, value) in [("class", class), ("vendor", vendor), ("device", device)] {
            tree.write(&format!("sys/devices/{address}/{file}"), value);
        }
        let link = tree.path(&format!("sys/bus/pci/devices/{address}"));
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(tree.path(&format!("sys/devices/{address}")), link).unwrap();
    };
    function("0000:01:00.0", "0x030200", "0x10de", "0x2335");
    function("0000:02:00.0", "0x020000", "0x8086", "0x1234");
    function("0000:04:00.0", "0x030000", "0x1002", "0x744c");
    function("0000:05:00.0", "0x120000", "0x1002", "0x74a1");
    std::fs::create_dir_all(tree.path(&format!("{DRM}/card0"))).unwrap();
    std::os::unix::fs::symlink(
        tree.path("sys/devices/0000:04:00.0"),
        tree.path(&format!("{DRM}/card0/device")),
    )
    .unwrap();
    tree.write(
        "proc/driver/nvidia/gpus/0000:01:00.0/information",
        "Model: \t\t NVIDIA H200\nIRQ: 5\n",
    );
    let found: Vec<_> = gpus(&tree)
        .into_iter()
        .map(|gpu| (gpu.pci_address.unwrap(), gpu.name.unwrap(), gpu.gfx_target))
        .collect();
    let expected = [
        ("0000:01:00.0", "NVIDIA H200", "sm_90"),
        ("0000:04:00.0", "AMD Radeon RX 7900 series", "gfx1100"),
        ("0000:05:00.0", "AMD Instinct MI300X", "gfx942"),
    ];
    assert_eq!(
        found,
        expected.map(|(address, name, target)| (address.into(), name.into(), Some(target.into())))
    );
}

#[test]
#[cfg(unix)]
fn a_gpu_that_hangs_is_still_listed_and_holds_up_nothing() {
    let tree = Tree::new(&[]);
    gpu(&tree, 0, "1002:744C", "0000:03:00.0");
    gpu(&tree, 1, "1002:73BF", "0000:04:00.0");
    tree.write(&format!("{DRM}/card1/device/mem_info_vram_total"), "17163091968");
    hang(&tree, &format!("{DRM}/card0/device/mem_info_vram_total"));
    let found = found_in(tree.host(), Duration::from_secs(1));
    let seen: Vec<_> = found.gpus.iter().map(|gpu| (gpu.pci_id.as_deref(), gpu.vram_gb)).collect();
    assert_eq!(seen, [(Some("1002:744c"), None), (Some("1002:73bf"), Some(17.163_091_968))]);
    assert_eq!(found.unread, [unread("card0", "its name and memory", Answer::Late)]);
}

#[test]
#[cfg(unix)]
fn what_hangs_or_fails_is_told_and_never_silent() {
    let tree = Tree::new(&[]);
    for number in 0..3 {
        gpu(&tree, number, "1002:744C", &format!("0000:0{number}:00.0"));
    }
    std::fs::remove_file(tree.path(&format!("{DRM}/card0/device/uevent"))).unwrap();
    hang(&tree, &format!("{DRM}/card0/device/uevent"));
    hang(&tree, &format!("{DRM}/card2/device/pp_dpm_sclk"));
    hang(&tree, &format!("{KFD}/1/properties"));
    // Reading a directory as a file is refused.
    std::fs::create_dir_all(tree.path(&format!("{KFD}/2/properties"))).unwrap();
    std::fs::create_dir_all(tree.path(&format!("{DRM}/card3/device/vendor"))).unwrap();
    let found = found_in(tree.host(), Duration::from_secs(1));
    let addresses: Vec<_> =
        found.gpus.iter().filter_map(|gpu| gpu.pci_address.as_deref()).collect();
    assert_eq!(addresses, ["0000:01:00.0", "0000:02:00.0"]);
    let expected = [
        unread("card0", answers::IDENTITY, Answer::Late),
        unread("card2", "its clocks", Answer::Late),
        unread("card3", answers::IDENTITY, Answer::Failed),
        unread("node 1 of the compute driver", answers::IDENTITY, Answer::Late),
        unread("node 2 of the compute driver", answers::IDENTITY, Answer::Failed),
    ];
    assert_eq!(found.unread, expected);
}

#[test]
#[cfg(unix)]
fn a_list_that_hangs_is_told_with_the_gpus_that_came_before_it() {
    let tree = Tree::new(&[]);
    gpu(&tree, 0, "1002:744C", "0000:03:00.0");
    hang(&tree, "sys/bus/pci/devices/0000:04:00.0/class");
    let found = found_in(tree.host(), Duration::from_secs(1));
    assert_eq!(found.gpus.len(), 1);
    assert_eq!(found.unread, [unread("the list of GPUs", "its entries", Answer::Late)]);
}

#[test]
fn figures_that_cannot_be_are_unknown() {
    let tree = Tree::new(&[
        (&format!("{DRM}/card0/device/mem_info_vram_total"), "9223372036854775807\n"),
        (&format!("{DRM}/card0/device/pp_dpm_sclk"), "0: 99999999999999999999Mhz *\n"),
        (&format!("{DRM}/card0/device/pcie_replay_count"), "4294967295\n"),
        (&format!("{DRM}/card0/device/hwmon/hwmon3/power1_cap"), "99999999999999\n"),
        (&format!("{DRM}/card0/device/ras/umc_err_count"), "ue: 4294967295\nce: 0\n"),
        (&format!("{KFD}/1/caches/0/properties"), "level 2\nsize 4294967295\ntype 9\n"),
        (
            &format!("{KFD}/1/io_links/0/properties"),
            "type 2\nnode_to 0\nmax_bandwidth 4294967295\n",
        ),
    ]);
    gpu(&tree, 0, "1002:74A1", "0000:05:00.0");
    node(&tree, 1, 0x0500, "max_engine_clk_fcompute 4294967295\n");
    let bank = "heap_type 1\nsize_in_bytes 18446744073709551615\nwidth 4294967295\nmem_clk_max \
                4294967295\n";
    tree.write(&format!("{KFD}/1/mem_banks/0/properties"), bank);
    let gpu = gpus(&tree).remove(0);
    assert_eq!((gpu.max_mhz, gpu.vram_gb, gpu.power_cap_w, gpu.ecc), (None, None, None, None));
    assert_eq!(
        (gpu.memory.max_mhz, gpu.memory.width_bits, gpu.memory_bandwidth_gb_s),
        (None, None, None)
    );
    assert_eq!((gpu.pcie.replays, gpu.caches, gpu.links[0].gb_s), (None, vec![], None));
}

#[test]
fn malformed_trees_are_unknown_and_never_fatal() {
    let tree = Tree::new(&[
        (&format!("{DRM}/card0/device/uevent"), "PCI_ID=zz:yy\nPCI_SLOT_NAME"),
        (&format!("{DRM}/card1/device/vendor"), "0x1002\n\0\0\0"),
        (&format!("{DRM}/card1/device/mem_info_vram_total"), "18446744073709551616\n"),
        (&format!("{DRM}/card2"), "a file"),
        (&format!("{KFD}/x/properties"), "simd_count 4\n"),
        (&format!("{KFD}/3/properties"), "\u{fffd}\nsimd_count -1\n"),
        (&format!("{KFD}/4/properties"), "simd_count 64\nsimd_per_cu 0\nlocation_id 99999999999\n"),
    ]);
    let found = gpus(&tree);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found.iter().all(|gpu| gpu.pci_id.is_none()
            && gpu.vram_gb.is_none()
            && gpu.compute_units.is_none())
    );
}

#[test]
#[cfg(unix)]
fn what_may_not_be_read_is_unknown() {
    use std::os::unix::fs::PermissionsExt as _;
    let tree = Tree::new(&[(&format!("{DRM}/card0/device/mem_info_vram_total"), "17163091968")]);
    gpu(&tree, 0, "1002:73BF", "0000:04:00.0");
    let file = tree.path(&format!("{DRM}/card0/device/mem_info_vram_total"));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(&file).is_ok() {
        eprintln!("skipped: this user may read every file");
        return;
    }
    assert_eq!(gpus(&tree).first().map(|gpu| (gpu.vram_gb, gpu.compute_units)), Some((None, None)));
}

#[test]
fn links_name_the_other_gpus_by_their_place_in_the_list() {
    let tree = Tree::new(&[(&format!("{KFD}/0/properties"), "cpu_cores_count 64\nsimd_count 0\n")]);
    node(&tree, 1, 0x6300, "");
    node(&tree, 2, 0x4300, "");
    let link = |from: u32, dir: &str, values: &str| {
        tree.write(&format!("{KFD}/{from}/{dir}/properties"), values);
    };
    link(1, "io_links/0", "type 2\nnode_to 0\nweight 20\nmax_bandwidth 32000\n");
    link(
        1,
        "io_links/1",
        "type 11\nnode_to 2\nweight 15\nmin_bandwidth 50000\nmax_bandwidth 50000\n",
    );
    link(1, "p2p_links/0", "type 2\nnode_to 9\nweight 72\nmax_bandwidth 0\n");
    link(2, "io_links/0", "type 99\nweight 5\n");
    let found = gpus(&tree);
    let to = |kind: &str, peer, weight, gb_s| GpuLink {
        kind: kind.into(),
        peer,
        weight: Some(weight),
        gb_s,
    };
    // Node 1 is the second GPU on the bus; a missing node is no GPU of the list.
    assert_eq!(
        found[1].links,
        [
            to("pcie", None, 20, Some(32.0)),
            to("pcie", None, 72, None),
            to("xgmi", Some(0), 15, Some(50.0))
        ]
    );
    assert_eq!(found[0].links, [], "a link to a missing node must be left out");
}

#[test]
fn caches_are_counted_by_size_and_kind() {
    let tree = Tree::new(&[]);
    node(&tree, 1, 0x6300, "max_engine_clk_fcompute 2100\ndrm_render_minor 128\n");
    let cache = |number: u32, level: u32, size: u32, holds: u32| {
        let values = format!(
            "level {level}\nsize {size}\ncache_line_size 128\ntype {holds}\nsibling_map 1,0\n"
        );
        tree.write(&format!("{KFD}/1/caches/{number}/properties"), &values);
    };
    for number in 0..3 {
        cache(number, 1, 32, 9);
    }
    cache(3, 1, 64, 10);
    cache(4, 2, 4096, 9);
    cache(5, 3, 0, 9);
    let gpu = gpus(&tree).remove(0);
    let kinds = [
        (1, GpuCacheKind::Data, 32 << 10, 3),
        (1, GpuCacheKind::Instruction, 64 << 10, 1),
        (2, GpuCacheKind::Data, 4 << 20, 1),
    ];
    let expected =
        kinds.map(|(level, kind, size_bytes, count)| GpuCache { level, kind, size_bytes, count });
    assert_eq!(gpu.caches, expected, "a size of zero is unknown");
    assert_eq!((gpu.max_mhz, gpu.render_node.as_deref()), (Some(2100.0), Some("renderD128")));
}

#[test]
#[cfg(unix)]
fn the_link_is_that_of_the_narrowest_stretch_above_the_gpu() {
    let tree = Tree::new(&[]);
    let above = "sys/devices/pci0000:00/0000:00:01.1";
    let own = format!("{above}/0000:01:00.0/0000:02:00.0/0000:03:00.0");
    let stretch = |dir: &str, now: (&str, &str), max: (&str, &str)| {
        let values = [now.0, now.1, max.0, max.1];
        let files =
            ["current_link_speed", "current_link_width", "max_link_speed", "max_link_width"];
        for (file, value) in files.iter().zip(values) {
            tree.write(&format!("{dir}/{file}"), value);
        }
    };
    stretch(&own, ("16.0 GT/s PCIe", "16"), ("16.0 GT/s PCIe", "16"));
    stretch(&format!("{above}/0000:01:00.0"), ("8.0 GT/s PCIe", "8"), ("16.0 GT/s PCIe", "16"));
    stretch(above, ("8.0 GT/s PCIe", "8"), ("8.0 GT/s PCIe", "16"));
    tree.write(
        &format!("{own}/uevent"),
        "DRIVER=amdgpu\nPCI_ID=1002:744C\nPCI_SLOT_NAME=0000:03:00.0\n",
    );
    std::fs::create_dir_all(tree.path(&format!("{DRM}/card0"))).unwrap();
    std::os::unix::fs::symlink(tree.path(&own), tree.path(&format!("{DRM}/card0/device"))).unwrap();
    let pcie = gpus(&tree).remove(0).pcie;
    assert_eq!(pcie.now, Some(PcieLink::new(8.0, 8)));
    assert_eq!(pcie.max, Some(PcieLink::new(8.0, 16)), "the maximum is limited by the slot");
    assert_eq!(pcie.saves_power, None);
}

#[test]
fn a_gpu_that_sleeps_is_not_asked_what_would_wake_it() {
    let files = [
        ("mem_info_vram_total", "17163091968"),
        ("current_link_speed", "2.5 GT/s PCIe"),
        ("current_link_width", "1"),
        ("pp_dpm_mclk", "0: 96Mhz *\n1: 1000Mhz\n"),
        ("hwmon/hwmon3/power1_cap", "289000000"),
        ("ras/umc_err_count", "ue: 1\nce: 2\n"),
    ];
    let tree = Tree::new(&[]);
    gpu(&tree, 0, "1002:73BF", "0000:04:00.0");
    for (file, content) in files {
        tree.write(&format!("{DRM}/card0/device/{file}"), content);
    }
    let awake = gpus(&tree).remove(0);
    assert_eq!(
        (awake.asleep, awake.memory.max_mhz, awake.power_cap_w),
        (None, Some(1000.0), Some(289.0))
    );
    let counted = EccCount { uncorrectable: 1, correctable: 2, deferred: 0 };
    assert_eq!(awake.ecc.map(|ecc| (ecc.total, ecc.blocks.len())), Some((counted, 1)));
    tree.write(&format!("{DRM}/card0/device/power/runtime_status"), "suspended\n");
    let asleep = gpus(&tree).remove(0);
    assert_eq!((asleep.asleep, asleep.vram_gb), (Some(true), Some(17.163_091_968)));
    assert_eq!(
        (asleep.pcie, asleep.memory.max_mhz, asleep.power_cap_w, asleep.ecc),
        (rsb_model::gpu::Pcie::default(), None, None, None)
    );
}

#[test]
fn parts_of_cpus_and_shares_of_gpus_are_told_apart() {
    for (id, address, kind, is_virtual) in [
        ("1002:744C", "0000:03:00.0", Some(GpuKind::Discrete), Some(false)),
        ("1002:164E", "0000:10:00.0", Some(GpuKind::Integrated), Some(false)),
        ("1002:74A0", "0000:05:00.0", Some(GpuKind::Integrated), Some(false)),
        ("1002:163F", "0000:04:00.0", Some(GpuKind::Integrated), Some(false)),
        ("1002:1638", "0000:05:00.0", Some(GpuKind::Integrated), Some(false)),
        ("1002:74B5", "0000:05:00.0", Some(GpuKind::Discrete), Some(true)),
        ("1002:73AE", "0000:05:00.0", Some(GpuKind::Discrete), Some(true)),
        ("1002:FFFF", "0000:05:00.0", None, None),
        ("8086:A780", "0000:00:02.0", Some(GpuKind::Integrated), None),
        // A guest may see any function of integrated graphics at any address.
        ("8086:A780", "0000:06:10.0", None, None),
        ("8086:56A0", "0000:03:00.0", Some(GpuKind::Discrete), None),
        ("8086:E20B", "0000:00:02.0", Some(GpuKind::Discrete), None),
        ("10DE:2335", "0000:03:00.0", Some(GpuKind::Discrete), None),
    ] {
        let tree = Tree::new(&[]);
        gpu(&tree, 0, id, address);
        let gpu = gpus(&tree).remove(0);
        assert_eq!((gpu.kind, gpu.virtual_function), (kind, is_virtual), "{id}");
    }
}

#[test]
#[cfg(unix)]
fn virtual_functions_on_their_host_have_the_kind_of_their_physical_function() {
    for (id, address, share_id, kind, target) in [
        ("8086:B080", "0000:00:02.0", "8086:B080", GpuKind::Integrated, None),
        ("8086:56C0", "0000:03:00.0", "8086:56C0", GpuKind::Discrete, None),
        ("1002:74A1", "0000:05:00.0", "1002:FFFF", GpuKind::Discrete, Some("gfx942")),
        ("10DE:2335", "0000:07:00.0", "10DE:2335", GpuKind::Discrete, Some("sm_90")),
    ] {
        let tree = Tree::new(&[(&format!("{DRM}/card9/device/sriov_totalvfs"), "7\n")]);
        gpu(&tree, 9, id, address);
        for number in 1..3 {
            gpu(&tree, number, share_id, &address.replace(".0", &format!(".{number}")));
            let link = tree.path(&format!("{DRM}/card{number}/device/physfn"));
            std::os::unix::fs::symlink(format!("../{address}"), link).unwrap();
        }
        let found = gpus(&tree);
        let seen: Vec<_> = found
            .iter()
            .map(|gpu| (gpu.kind, gpu.virtual_function, gpu.physical_function.as_deref()))
            .collect();
        let share = (Some(kind), Some(true), Some(address));
        assert_eq!(seen, [(Some(kind), Some(false), None), share, share], "{id}");
        assert_eq!(found[2].gfx_target.as_deref(), target, "{id}");
    }
}

#[test]
#[cfg(unix)]
fn a_virtual_function_is_listed_without_a_driver_for_it_or_its_physical_function() {
    let bus = "sys/bus/pci/devices";
    let tree = Tree::new(&[]);
    for address in ["0000:00:02.0", "0000:00:02.1"] {
        for (file, value) in [("class", "0x030000"), ("vendor", "0x8086"), ("device", "0xb080")] {
            tree.write(&format!("{bus}/{address}/{file}"), value);
        }
        let event = format!("PCI_ID=8086:B080\nPCI_SLOT_NAME={address}\n");
        tree.write(&format!("{bus}/{address}/uevent"), &event);
    }
    let link = tree.path(&format!("{bus}/0000:00:02.1/physfn"));
    std::os::unix::fs::symlink("../0000:00:02.0", link).unwrap();
    let found = gpus(&tree);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|gpu| gpu.kind == Some(GpuKind::Integrated)), "{found:?}");
    assert_eq!(
        found[1].describe_virtual_function(&found).as_deref(),
        Some("a virtual function of GPU 0 on this host")
    );
}
