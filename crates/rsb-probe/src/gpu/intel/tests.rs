use super::*;
use crate::host::fake::Tree;

const GPU: &str = "sys/class/drm/card0";

fn tree(files: &[(&str, &str)]) -> Tree {
    let tree = Tree::new(&[]);
    for (file, content) in files {
        tree.write(&format!("{GPU}/{file}"), content);
    }
    tree
}

fn device(tree: &Tree) -> PathBuf {
    tree.path(&format!("{GPU}/device"))
}

#[test]
fn i915_tells_clocks_by_gt_or_by_device() {
    let clocks_of = |files: &[(&str, &str)]| clocks(&device(&tree(files)));
    let by_device = [
        ("device/vendor", "0x8086\n"),
        ("gt_act_freq_mhz", "1300\n"),
        ("gt_cur_freq_mhz", "1350\n"),
        ("gt_RP0_freq_mhz", "2400\n"),
        ("gt_max_freq_mhz", "2000\n"),
    ];
    assert_eq!(
        clocks_of(&by_device),
        IntelClocks { now: Some(1300.0), max: Some(2400.0), limit: Some(2000.0) }
    );
    let by_gt = [
        ("gt/gt0/rps_act_freq_mhz", "1700\n"),
        ("gt/gt0/rps_RP0_freq_mhz", "2450\n"),
        ("gt/gt1/rps_act_freq_mhz", "2900\n"),
    ];
    let all = [&by_device[..], &by_gt].concat();
    assert_eq!(
        clocks_of(&all),
        IntelClocks { now: Some(1700.0), max: Some(2450.0), limit: None },
        "gt1 is the video engine, so its clocks must be ignored"
    );
    assert_eq!(clocks_of(&[("device/vendor", "0x8086\n")]), IntelClocks::default());
}

#[test]
fn a_clock_that_stands_still_is_zero_and_a_request_stands_in_where_nothing_else_is_told() {
    let asked = ("gt_cur_freq_mhz", "300\n");
    let idle = tree(&[("device/vendor", "0x8086\n"), ("gt_act_freq_mhz", "0\n"), asked]);
    assert_eq!(clocks(&device(&idle)).now, Some(0.0));
    assert_eq!(clocks(&device(&tree(&[("device/vendor", "0x8086\n"), asked]))).now, Some(300.0));
}

#[test]
fn xe_tells_clocks_of_the_first_gt_of_each_tile() {
    let two = tree(&[
        ("device/tile0/gt0/freq0/act_freq", "1550\n"),
        ("device/tile0/gt0/freq0/cur_freq", "1600\n"),
        ("device/tile0/gt0/freq0/rp0_freq", "1600\n"),
        ("device/tile0/gt0/freq0/max_freq", "1400\n"),
        ("device/tile0/gt1/freq0/act_freq", "2600\n"),
        ("device/tile1/gt2/freq0/act_freq", "1590\n"),
        ("device/tile0/physical_vram_size_bytes", "68719476736\n"),
    ]);
    assert_eq!(
        clocks(&device(&two)),
        IntelClocks { now: Some(1590.0), max: Some(1600.0), limit: Some(1400.0) }
    );
}

#[test]
fn throttle_reasons_are_named_and_unknown_ones_kept() {
    let xe = |file: &str| format!("device/tile0/gt0/freq0/throttle/{file}");
    let tree = tree(&[("device/tile0/gt0/freq0/act_freq", "1550\n")]);
    assert_eq!(
        throttle_reasons(&device(&tree)),
        None,
        "no throttle reasons without a throttle directory"
    );
    for (file, content) in [("status", "1\n"), ("reason_pl1", "0\n"), ("reason_thermal", "0\n")] {
        tree.write(&format!("{GPU}/{}", xe(file)), content);
    }
    assert_eq!(throttle_reasons(&device(&tree)), Some(vec![]));
    for (file, content) in
        [("reason_pl1", "1\n"), ("reason_new_one", "1\n"), ("reason_thermal", "broken\n")]
    {
        tree.write(&format!("{GPU}/{}", xe(file)), content);
    }
    let expected = ["new one", "sustained power limit"].map(str::to_owned).to_vec();
    assert_eq!(throttle_reasons(&device(&tree)), Some(expected));
}

#[test]
fn i915_tells_its_reasons_beside_the_clocks() {
    let tree = tree(&[
        ("device/vendor", "0x8086\n"),
        ("gt/gt0/rps_act_freq_mhz", "1700\n"),
        ("gt/gt0/throttle_reason_status", "1\n"),
        ("gt/gt0/throttle_reason_prochot", "1\n"),
        ("gt/gt0/throttle_reason_pl1", "0\n"),
    ]);
    assert_eq!(throttle_reasons(&device(&tree)), Some(vec!["PROCHOT signal".to_owned()]));
}

#[test]
fn limits_are_of_the_gpu_or_of_its_package_and_one_that_is_off_is_unknown() {
    for (files, expected) in [
        (
            &[("power1_max", "190000000\n"), ("power1_rated_max", "225000000\n")][..],
            Some((Some(190.0), Some(225.0))),
        ),
        (
            &[("power2_max", "150000000\n"), ("power1_crit", "300000000\n")],
            Some((Some(150.0), None)),
        ),
        (&[("power1_max", "0\n"), ("power1_cap", "300000000\n")], Some((None, None))),
        (&[("power1_cap", "300000000\n"), ("power1_cap_default", "300000000\n")], None),
    ] {
        let tree = Tree::new(&[]);
        for (file, content) in files {
            tree.write(&format!("hwmon/{file}"), content);
        }
        assert_eq!(power_limits(&tree.path("hwmon")), expected, "{files:?}");
    }
}

#[test]
fn what_can_be_read_is_listed_beside_what_is_refused() {
    let tree = tree(&[
        ("device/tile0/gt0/freq0/act_freq", "0\n"),
        ("device/tile0/gt0/freq0/throttle/reason_pl1", "0\n"),
        ("device/hwmon/hwmon4/temp2_input", "61000\n"),
        ("device/hwmon/hwmon4/fan1_input", "900\n"),
        ("device/hwmon/hwmon4/power1_max", "190000000\n"),
        // A directory cannot be read as a file, not even by root.
        ("device/hwmon/hwmon4/energy1_input/x", ""),
    ]);
    let monitor = device(&tree).join("hwmon/hwmon4");
    let found = sensors(&device(&tree), Some(&monitor), "0000:03:00.0".to_owned());
    assert_eq!(found.readable, ["clock", "throttle reasons", "fan", "temperature", "power limit"]);
    assert!(found.has_hwmon && found.refused.len() == 1, "{found:?}");
    assert!(found.refused[0].starts_with("energy1_input: "), "{found:?}");
}
