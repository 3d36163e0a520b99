use super::*;
use crate::host::fake::Tree;
use rsb_model::finding::FindingSeverity;

fn facts_in(tree: &Tree) -> DoctorInput {
    facts_of(&Arc::new(tree.host()))
}

#[test]
fn the_facts_of_a_machine_are_gathered() {
    let tree = Tree::new(&[
        (
            "sys/class/drm/card0/device/uevent",
            "DRIVER=amdgpu\nPCI_ID=1002:744C\nPCI_SLOT_NAME=0000:03:00.0\n",
        ),
        ("sys/class/drm/card0/device/drm/renderD128/dev", "226:128\n"),
        ("dev/dri/renderD128", ""),
        ("opt/rocm-6.4.2/.info/version", "6.4.2-120\n"),
        ("opt/rocm-6.4.2/lib/libamdhip64.so.6", ""),
        ("opt/rocm-6.4.2/lib/libhsa-runtime64.so.1", ""),
        ("opt/rocm-6.4.2/lib/librocblas.so.4", ""),
        ("opt/rocm-6.4.2/lib/rocblas/library/TensileLibrary_lazy_gfx90a.dat", ""),
        ("opt/rocm-6.0.0/share/left", ""),
    ])
    .variable("HSA_OVERRIDE_GFX_VERSION", "9.0.10")
    .variable("HOME", "/home/ada");
    let facts = facts_in(&tree);
    assert_eq!((facts.gpus.len(), facts.has_kfd, facts.has_drm), (1, false, true));
    let host = facts.host.as_ref().unwrap();
    assert_eq!(host.variables.keys().collect::<Vec<_>>(), ["HSA_OVERRIDE_GFX_VERSION"]);
    assert_eq!((host.remnants.len(), host.installations.len(), host.devices.len()), (1, 1, 2));
    let words = [
        "compute driver is missing",
        "/dev/kfd does not exist",
        "libhiprtc is missing",
        "no kernels for gfx1100",
        "HSA_OVERRIDE_GFX_VERSION is 9.0.10",
        "rocm-6.0.0 is not a complete installation",
    ];
    let found = findings(&facts);
    for word in words {
        assert!(found.iter().any(|finding| finding.what.contains(word)), "{word}: {found:#?}");
    }
    assert_eq!(
        found.iter().filter(|finding| finding.severity > FindingSeverity::Note).count(),
        words.len(),
        "{found:#?}"
    );
}

#[test]
fn a_tree_for_sysfs_leaves_the_host_out() {
    let tree = Tree::new(&[("sys/class/kfd/kfd/topology/nodes/0/properties", "simd_count 0\n")]);
    let facts = facts(&ProbeOptions { sysfs_root: Some(tree.path("sys")) });
    assert_eq!(facts, DoctorInput { has_kfd: true, ..DoctorInput::default() });
}

#[test]
fn the_sensors_of_intels_gpus_are_looked_at() {
    let gpu = |number: u32, driver: &str| {
        let event =
            format!("DRIVER={driver}\nPCI_ID=8086:56A0\nPCI_SLOT_NAME=0000:0{number}:00.0\n");
        (format!("sys/class/drm/card{number}/device/uevent"), event)
    };
    let tree = Tree::new(&[
        ("sys/class/drm/card3/device/hwmon/hwmon1/temp1_input", "58000\n"),
        ("sys/class/drm/card3/gt_act_freq_mhz", "0\n"),
        ("sys/class/drm/card4/device/hwmon/hwmon2/energy1_input/x", ""),
        ("sys/class/drm/card5/device/power/runtime_status", "suspended\n"),
    ]);
    for (number, driver) in [(3, "i915"), (4, "xe"), (5, "xe"), (6, "vfio-pci")] {
        let (path, event) = gpu(number, driver);
        tree.write(&path, &event);
    }
    let facts = facts(&ProbeOptions { sysfs_root: Some(tree.path("sys")) });
    let places: Vec<&str> =
        facts.intel_sensors.iter().map(|sensors| sensors.place.as_str()).collect();
    assert_eq!(
        places,
        ["0000:03:00.0", "0000:04:00.0"],
        "a sleeping GPU and a GPU with another driver must be left out"
    );
    let found = findings(&facts);
    for words in [
        "xe is bound",
        "i915 is bound",
        "0000:03:00.0: clock, temperature",
        "not every sensor of the Intel GPU at 0000:04:00.0",
    ] {
        assert!(found.iter().any(|finding| finding.what.contains(words)), "{words}: {found:#?}");
    }
}

#[test]
#[cfg(unix)]
fn a_host_with_virtual_functions_of_its_graphics_is_no_guest() {
    let tree = Tree::new(&[
        ("sys/class/drm/card1/device/hwmon/hwmon3/energy1_input", "100000\n"),
        ("sys/class/drm/card1/device/sriov_totalvfs", "7\n"),
    ]);
    for (card, function) in [(1, 0), (0, 1), (2, 2)] {
        let device = format!("sys/class/drm/card{card}/device");
        let event = format!("DRIVER=xe\nPCI_ID=8086:B080\nPCI_SLOT_NAME=0000:00:02.{function}\n");
        tree.write(&format!("{device}/uevent"), &event);
        if function > 0 {
            let link = tree.path(&format!("{device}/physfn"));
            std::os::unix::fs::symlink("../0000:00:02.0", link).unwrap();
        }
    }
    let found = findings(&facts(&ProbeOptions { sysfs_root: Some(tree.path("sys")) }));
    let notes: Vec<&str> = found
        .iter()
        .filter(|finding| finding.severity != FindingSeverity::Ok)
        .map(|finding| finding.what.as_str())
        .collect();
    let share = "GPUs 1 and 2 (8086:b080): it is a virtual function of GPU 0 on this host";
    assert_eq!(notes, [share, "only a sysfs tree was examined"], "{found:#?}");
    assert!(found.iter().all(|finding| !finding.why.contains("this guest")), "{found:#?}");
}

#[test]
fn this_machine_can_be_examined() {
    let found = examine(&ProbeOptions::default());
    assert!(found.iter().all(|finding| !finding.what.is_empty() && !finding.why.is_empty()));
    assert!(
        found
            .iter()
            .all(|finding| finding.severity == FindingSeverity::Ok || finding.cure.is_some()),
        "{found:#?}"
    );
}
