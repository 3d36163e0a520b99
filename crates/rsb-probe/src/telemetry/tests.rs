use super::*;
use crate::host::fake::Tree;

const DEVICE: &str = "sys/class/drm/card0/device";

fn tree(files: &[(&str, &str)]) -> Tree {
    let tree = Tree::new(&[(&format!("{DEVICE}/uevent"), "PCI_ID=1002:744C\nPCI_SLOT_NAME=0000:03:00.0\n")]);
    for (file, content) in files {
        tree.write(&format!("{DEVICE}/{file}"), content);
    }
    tree
}

fn options(tree: &Tree) -> ProbeOptions {
    ProbeOptions { sysfs_root: Some(tree.path("sys")) }
}

fn sampled(tree: &Tree) -> GpuSample {
    sample_within(&card_at(&options(tree), "0000:03:00.0").unwrap(), Duration::from_secs(30))
}

#[test]
fn a_card_tells_how_it_is() {
    let tree = tree(&[
        ("gpu_busy_percent", "97\n"),
        ("mem_info_vram_used", "1000000000\n"),
        ("mem_info_vram_total", "25753026560\n"),
        ("hwmon/hwmon8/temp1_input", "53000\n"),
        ("hwmon/hwmon8/temp1_label", "edge\n"),
        ("hwmon/hwmon8/temp2_input", "61000\n"),
        ("hwmon/hwmon8/temp2_label", "junction\n"),
        ("hwmon/hwmon8/power1_average", "290000000\n"),
        ("hwmon/hwmon8/freq1_input", "2499000000\n"),
        ("hwmon/hwmon8/freq1_label", "sclk\n"),
        ("pp_dpm_mclk", "0: 96Mhz\n1: 1249Mhz *\n"),
    ]);
    let found = sampled(&tree);
    assert_eq!(found.temperature_c, Temperatures { edge: Some(53.0), junction: Some(61.0), memory: None });
    assert_eq!((found.power_w, found.utilization_percent), (Some(290.0), Some(97.0)));
    assert_eq!((found.sclk_mhz, found.mclk_mhz), (Some(2499.0), Some(1249.0)), "the level where there is no sensor");
    assert_eq!((found.vram_used_mb, found.vram_total_mb), (Some(1000.0), Some(25_753.026_56)));
    assert_eq!((found.throttle_reasons, found.absent), (None, vec![]));
}

/// Intel's xe has no power in its files, but temperatures; its names are shared by sensors of other kinds.
#[test]
fn a_card_of_intels_tells_its_temperatures() {
    let others = [
        ("hwmon/hwmon8/energy2_input", "81000\n"),
        ("hwmon/hwmon8/energy2_label", "pkg\n"),
        ("hwmon/hwmon8/in1_input", "900\n"),
        ("hwmon/hwmon8/in1_label", "pkg\n"),
    ];
    assert_eq!(sampled(&tree(&others)), GpuSample::default());
    let temperatures = [
        ("hwmon/hwmon8/temp2_input", "61000\n"),
        ("hwmon/hwmon8/temp2_label", "pkg\n"),
        ("hwmon/hwmon8/temp3_input", "54000\n"),
        ("hwmon/hwmon8/temp3_label", "vram\n"),
    ];
    let temperature_c = Temperatures { edge: None, junction: Some(61.0), memory: Some(54.0) };
    let all = [&others[..], &temperatures].concat();
    assert_eq!(sampled(&tree(&all)), GpuSample { temperature_c, ..GpuSample::default() });
}

#[test]
fn sensors_that_lie_are_absent() {
    let tree = tree(&[
        ("gpu_busy_percent", "65535\n"),
        ("mem_info_vram_used", "18446744073709551615\n"),
        ("mem_info_vram_total", "0\n"),
        ("hwmon/hwmon8/temp1_input", "N/A\n"),
        ("hwmon/hwmon8/temp1_label", "edge\n"),
        ("hwmon/hwmon8/temp2_input", "65535000\n"),
        ("hwmon/hwmon8/temp2_label", "junction\n"),
        ("hwmon/hwmon8/power1_average", "18446744073709551615\n"),
        ("hwmon/hwmon8/freq1_input", "0\n"),
        ("hwmon/hwmon8/freq1_label", "sclk\n"),
    ]);
    assert_eq!(sampled(&tree), GpuSample::default());
}

#[test]
fn a_table_of_another_version_is_absent_with_the_reason() {
    let tree = tree(&[("gpu_busy_percent", "5\n"), ("gpu_metrics", "\u{78}\0\u{1}\u{63}")]);
    let found = sampled(&tree);
    assert_eq!((found.throttle_reasons, found.utilization_percent), (None, Some(5.0)));
    assert!(found.absent.len() == 1 && found.absent[0].contains("version 1.99"), "{:?}", found.absent);
}

#[test]
fn a_card_that_sleeps_is_not_woken() {
    let tree = tree(&[("gpu_busy_percent", "0\n"), ("power/runtime_status", "suspended\n")]);
    let found = sampled(&tree);
    assert!(found.utilization_percent.is_none() && found.absent[0].contains("sleeps"), "{found:?}");
}

#[test]
fn only_cards_with_sensors_are_offered() {
    let without = tree(&[]);
    assert_eq!(cards(&options(&without)), []);
    let with = tree(&[("gpu_busy_percent", "0\n")]);
    assert_eq!(cards(&options(&with))[0].pci_address.as_deref(), Some("0000:03:00.0"));
    assert_eq!(card_at(&options(&with), "0000:99:00.0"), None);
}

#[test]
#[cfg(unix)]
fn a_sensor_that_hangs_costs_itself_and_not_the_rest() {
    let tree = tree(&[("mem_info_vram_used", "1000000\n"), ("hwmon/hwmon8/name", "amdgpu\n")]);
    let pipe = tree.path(&format!("{DEVICE}/gpu_busy_percent"));
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let card = card_at(&options(&tree), "0000:03:00.0").unwrap();
    let found = sample_within(&card, Duration::from_secs(1));
    assert_eq!(found.vram_used_mb, Some(1.0));
    assert!(found.absent[0].contains("1000 ms"), "{:?}", found.absent);
}
