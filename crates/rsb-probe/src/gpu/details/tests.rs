use super::*;
use crate::host::fake::Tree;

fn read_last(tree: &Tree) -> Details {
    let last = std::cell::RefCell::new(Details::default());
    read(&tree.path("gpu"), &|details, _| drop(last.replace(details)));
    last.into_inner()
}

#[test]
fn sensors_that_lie_are_absent() {
    let tree = Tree::new(&[
        ("gpu/hwmon/hwmon4/temp1_input", "44000\n"),
        ("gpu/hwmon/hwmon4/temp1_label", "edge\n"),
        ("gpu/hwmon/hwmon4/temp2_input", "18446744073709551615\n"),
        ("gpu/hwmon/hwmon4/temp2_label", "junction\n"),
        ("gpu/hwmon/hwmon4/temp3_input", "N/A\n"),
        ("gpu/hwmon/hwmon4/temp1_crit", "94000\n"),
        ("gpu/hwmon/hwmon4/in0_input", "0\n"),
        ("gpu/hwmon/hwmon4/in0_label", "vddgfx\n"),
        ("gpu/hwmon/hwmon4/in1_input", "900\n"),
        ("gpu/hwmon/hwmon4/in1_label", "vddnb\n"),
        ("gpu/hwmon/hwmon4/freq1_input", "798080000\n"),
        ("gpu/hwmon/hwmon4/freq1_label", "sclk\n"),
        ("gpu/hwmon/hwmon4/power1_average", "41045000\n"),
        ("gpu/hwmon/hwmon4/power1_input", "41045000\n"),
        ("gpu/hwmon/hwmon4/power1_label", "PPT\n"),
        ("gpu/hwmon/hwmon4/power1_cap", "155000000\n"),
        ("gpu/hwmon/hwmon4/power1_cap_default", "0\n"),
        ("gpu/hwmon/hwmon4/temp4_input", "65261850\n"),
        ("gpu/hwmon/hwmon4/temp4_label", "mem\n"),
        ("gpu/hwmon/hwmon4/freq2_input", "99999999999999999999\n"),
        ("gpu/hwmon/hwmon4/freq2_label", "mclk\n"),
        ("gpu/hwmon/hwmon4/fan1_input", "0\n"),
    ]);
    let found = read_last(&tree);
    assert_eq!(
        found.sensors,
        ["clock sclk", "voltage vddgfx", "power", "temperature edge", "fan"],
        "0 V is a valid reading of an idle GPU"
    );
    assert_eq!((found.power_cap_w, found.power_cap_default_w), (Some(155.0), None));
}

#[test]
fn a_gpu_of_intel_s_tells_its_link_behind_the_switch_on_its_board() {
    let root = "sys/devices/pci0000:00/0000:00:01.0";
    let (switch, port) =
        (format!("{root}/0000:01:00.0"), format!("{root}/0000:01:00.0/0000:02:01.0"));
    let own = format!("{port}/0000:03:00.0");
    let check = |slot: (&str, &str), link: PcieLink| {
        let tree = Tree::new(&[]);
        let inner = ("2.5 GT/s PCIe", "1");
        for (dir, (speed, width)) in
            [(root, ("16.0 GT/s PCIe", "16")), (&switch, slot), (&port, inner), (&own, inner)]
        {
            for when in ["current", "max"] {
                tree.write(&format!("{dir}/{when}_link_speed"), speed);
                tree.write(&format!("{dir}/{when}_link_width"), width);
            }
        }
        tree.write(&format!("{own}/vendor"), "0x8086\n");
        assert_eq!(
            pcie(&tree.path(&own)),
            Pcie { now: Some(link), max: Some(link), ..Pcie::default() }
        );
    };
    check(("16.0 GT/s PCIe", "8"), PcieLink::new(16.0, 8));
    check(("8.0 GT/s PCIe", "1"), PcieLink::new(8.0, 1));
}

#[test]
fn a_link_that_the_gpu_does_not_report_is_unknown() {
    let root = "sys/devices/pci0000:00/0000:00:01.0";
    let own = format!("{root}/0000:01:00.0");
    let tree = Tree::new(&[(&format!("{own}/vendor"), "0x1002\n")]);
    for (when, width) in [("current", "8"), ("max", "16")] {
        tree.write(&format!("{root}/{when}_link_speed"), "16.0 GT/s PCIe");
        tree.write(&format!("{root}/{when}_link_width"), width);
    }
    assert_eq!(pcie(&tree.path(&own)), Pcie::default(), "the slot may be wider than the GPU");
    // The registers of a virtual function are zero.
    tree.write(&format!("{own}/current_link_speed"), "Unknown");
    tree.write(&format!("{own}/current_link_width"), "0");
    assert_eq!(pcie(&tree.path(&own)), Pcie::default());
    tree.write(&format!("{own}/current_link_speed"), "16.0 GT/s PCIe");
    tree.write(&format!("{own}/current_link_width"), "8");
    let now = Some(PcieLink::new(16.0, 8));
    assert_eq!(pcie(&tree.path(&own)), Pcie { now, ..Pcie::default() }, "without max_link files");
}

#[test]
fn an_intel_gpu_without_max_link_files_has_the_link_of_its_slot() {
    let root = "sys/devices/pci0000:00/0000:00:01.0";
    let own = format!("{root}/0000:01:00.0/0000:02:01.0/0000:03:00.0");
    let tree = Tree::new(&[
        (&format!("{own}/vendor"), "0x8086\n"),
        (&format!("{own}/current_link_speed"), "2.5 GT/s PCIe"),
        (&format!("{own}/current_link_width"), "1"),
    ]);
    for when in ["current", "max"] {
        tree.write(&format!("{root}/{when}_link_speed"), "16.0 GT/s PCIe");
        tree.write(&format!("{root}/{when}_link_width"), "8");
    }
    let now = Some(PcieLink::new(16.0, 8));
    assert_eq!(pcie(&tree.path(&own)), Pcie { now, ..Pcie::default() });
}

#[test]
fn errors_are_counted_by_block() {
    let tree = Tree::new(&[
        ("gpu/ras/umc_err_count", "ue: 1\nce: 40\nde: 3\n"),
        ("gpu/ras/gfx_err_count", "ue: 0\nce: 2\n"),
        ("gpu/ras/sdma_err_count", "ue: 0\nce: 0\n"),
        ("gpu/ras/mmhub_err_count", "ue: 18446744073709551615\nce: 1\n"),
        ("gpu/ras/hdp_err_count", "not supported\n"),
        ("gpu/ras/features", "feature mask: 0x1\n"),
    ]);
    let ecc = read_last(&tree).ecc.unwrap();
    assert_eq!(ecc.total, EccCount { uncorrectable: 1, correctable: 42, deferred: 3 });
    assert_eq!(ecc.blocks.keys().collect::<Vec<_>>(), ["gfx", "umc"]);
    assert_eq!(
        read_last(&Tree::new(&[("gpu/ras/features", "")])).ecc,
        None,
        "a GPU without error counters"
    );
}

#[test]
fn the_drivers_own_link_counts_too() {
    // A GPU behind the switch on its board: the inner link is fast and wide, independent of the
    // slot.
    let tree = Tree::new(&[
        ("gpu/current_link_speed", "32.0 GT/s PCIe\n"),
        ("gpu/current_link_width", "16\n"),
        ("gpu/pp_dpm_pcie", "0: 2.5GT/s, x16 250Mhz *\n1: 16.0GT/s, x16 1143Mhz\n"),
        ("gpu/pcie_replay_count", "3\n"),
    ]);
    let pcie = read_last(&tree).pcie;
    assert_eq!((pcie.now, pcie.max), (Some(PcieLink::new(2.5, 16)), Some(PcieLink::new(16.0, 16))));
    assert_eq!((pcie.saves_power, pcie.replays), (Some(true), Some(3)));
    let gone =
        Tree::new(&[("gpu/current_link_speed", "Unknown\n"), ("gpu/current_link_width", "255\n")]);
    assert_eq!(read_last(&gone).pcie, Pcie::default());
}
