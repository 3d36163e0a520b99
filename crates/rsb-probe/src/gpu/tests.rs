use std::time::Duration;

use super::*;
use crate::host::fake::Tree;

const DRM: &str = "sys/class/drm";
const KFD: &str = "sys/class/kfd/kfd/topology/nodes";

fn gpus(tree: &Tree) -> Vec<Gpu> {
    gpus_of(tree.host(), Duration::from_secs(30))
}

fn gpus_of(host: Host, limit: Duration) -> Vec<Gpu> {
    let deadline = Instant::now() + limit;
    start(&Arc::new(host), deadline).finish(deadline)
}

fn card(tree: &Tree, number: u32, id: &str, address: &str) {
    let event = format!("DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID={id}\nPCI_SLOT_NAME={address}\n");
    tree.write(&format!("{DRM}/card{number}/device/uevent"), &event);
}

fn node(tree: &Tree, number: u32, location: u32, values: &str) {
    let common =
        "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\ndomain 0\n";
    tree.write(&format!("{KFD}/{number}/properties"), &format!("{common}location_id {location}\n{values}"));
}

fn bank(tree: &Tree, number: u32, size: u64) {
    let values = format!("heap_type 1\nsize_in_bytes {size}\nflags 0\nwidth 8192\nmem_clk_max 1300\n");
    tree.write(&format!("{KFD}/{number}/mem_banks/0/properties"), &values);
}

#[test]
fn both_trees_speak_of_one_card() {
    let tree = Tree::new(&[
        (&format!("{KFD}/0/properties"), "cpu_cores_count 64\nsimd_count 0\n"),
        (&format!("{DRM}/card1/device/mem_info_vram_total"), "206141652992\n"),
        (&format!("{DRM}/card1/device/product_name"), "AMD Instinct MI300X OAM\n"),
        (&format!("{DRM}/card1/device/current_compute_partition"), "SPX\n"),
        (&format!("{DRM}/card1/device/current_memory_partition"), "NPS1\n"),
        (&format!("{DRM}/card1-DP-1/device/uevent"), "PCI_ID=1002:FFFF\n"),
        ("sys/module/amdgpu/version", "6.10.5\n"),
    ]);
    card(&tree, 1, "1002:74A1", "0000:05:00.0");
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
        backends: vec![],
    };
    assert_eq!(gpus(&tree), [expected]);
}

#[test]
fn each_tree_alone_is_enough_and_what_it_lacks_is_unknown() {
    let drm = Tree::new(&[(&format!("{DRM}/card0/device/mem_info_vram_total"), "0\n")]);
    card(&drm, 0, "1002:744C", "0000:03:00.0");
    drm.write(&format!("{DRM}/card0/device/revision"), "0xcc\n");
    let found = gpus_of(Host::sysfs_only(drm.path("sys")), Duration::from_secs(30)).remove(0);
    assert_eq!((found.name.as_deref(), found.gfx_target.as_deref()), (Some("AMD Radeon RX 7900 XT"), Some("gfx1100")));
    assert_eq!((found.compute_units, found.vram_gb, found.memory_bandwidth_gb_s), (None, None, None));
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
    card(&tree, 0, "1002:74A1", "0000:05:00.0");
    // An amdgpu partition shows as a platform device beside the card.
    tree.write(&format!("{DRM}/card1/device/uevent"), "DRIVER=amdgpu-xcp\nMODALIAS=platform:amdgpu_xcp_0\n");
    for part in 0..2_u32 {
        node(&tree, 2 + part, part << 28 | 0x0500, "");
        bank(&tree, 2 + part, 24_000_000_000);
    }
    let found = gpus(&tree);
    let parts: Vec<_> = found.iter().map(|gpu| (gpu.index, gpu.vram_gb, gpu.partition.as_deref())).collect();
    assert_eq!(parts, [(0, Some(24.0), Some("CPX")), (1, Some(24.0), Some("CPX"))]);
}

#[test]
fn cards_are_in_the_order_of_the_bus_whatever_their_numbers() {
    let tree = Tree::new(&[]);
    card(&tree, 0, "1002:744C", "0000:83:00.0");
    card(&tree, 1, "8086:56A0", "0000:03:00.0");
    card(&tree, 10, "1A03:2000", "0000:01:00.0");
    node(&tree, 1, 0x4300, "");
    let addresses: Vec<_> = gpus(&tree).into_iter().map(|gpu| (gpu.index, gpu.pci_address.unwrap())).collect();
    let expected = [(0, "0000:03:00.0"), (1, "0000:43:00.0"), (2, "0000:83:00.0")];
    assert_eq!(
        addresses,
        expected.map(|(index, address)| (index, address.to_owned())),
        "a management chip is left out"
    );
}

#[test]
#[cfg(unix)]
fn the_bus_shows_cards_that_the_drm_does_not() {
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
    std::os::unix::fs::symlink(tree.path("sys/devices/0000:04:00.0"), tree.path(&format!("{DRM}/card0/device")))
        .unwrap();
    tree.write("proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 5\n");
    let found: Vec<_> =
        gpus(&tree).into_iter().map(|gpu| (gpu.pci_address.unwrap(), gpu.name.unwrap(), gpu.gfx_target)).collect();
    let expected = [
        ("0000:01:00.0", "NVIDIA H200", "sm_90"),
        ("0000:04:00.0", "AMD Radeon RX 7900 series", "gfx1100"),
        ("0000:05:00.0", "AMD Instinct MI300X", "gfx942"),
    ];
    assert_eq!(found, expected.map(|(address, name, target)| (address.into(), name.into(), Some(target.into()))));
}

#[test]
#[cfg(unix)]
fn a_card_that_hangs_is_still_listed_and_holds_up_nothing() {
    let tree = Tree::new(&[]);
    card(&tree, 0, "1002:744C", "0000:03:00.0");
    card(&tree, 1, "1002:73BF", "0000:04:00.0");
    tree.write(&format!("{DRM}/card1/device/mem_info_vram_total"), "17163091968");
    // Opening a pipe waits for a writer that never comes: as a read of a sick card does.
    let pipe = tree.path(&format!("{DRM}/card0/device/mem_info_vram_total"));
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let found = gpus_of(tree.host(), Duration::from_secs(1));
    let seen: Vec<_> = found.iter().map(|gpu| (gpu.pci_id.as_deref(), gpu.vram_gb)).collect();
    assert_eq!(seen, [(Some("1002:744c"), None), (Some("1002:73bf"), Some(17.163_091_968))]);
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
    assert!(found.iter().all(|gpu| gpu.pci_id.is_none() && gpu.vram_gb.is_none() && gpu.compute_units.is_none()));
}

#[test]
#[cfg(unix)]
fn what_may_not_be_read_is_unknown() {
    use std::os::unix::fs::PermissionsExt as _;
    let tree = Tree::new(&[(&format!("{DRM}/card0/device/mem_info_vram_total"), "17163091968")]);
    card(&tree, 0, "1002:73BF", "0000:04:00.0");
    let file = tree.path(&format!("{DRM}/card0/device/mem_info_vram_total"));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(&file).is_ok() {
        eprintln!("skipped: this user may read every file");
        return;
    }
    assert_eq!(gpus(&tree).first().map(|gpu| (gpu.vram_gb, gpu.compute_units)), Some((None, None)));
}
