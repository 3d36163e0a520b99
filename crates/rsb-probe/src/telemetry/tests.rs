use super::*;
use crate::host::fake::Tree;

const DEVICE: &str = "sys/class/drm/card0/device";

fn tree(files: &[(&str, &str)]) -> Tree {
    let tree = Tree::new(&[(
        &format!("{DEVICE}/uevent"),
        "PCI_ID=1002:744C\nPCI_SLOT_NAME=0000:03:00.0\n",
    )]);
    for (file, content) in files {
        tree.write(&format!("{DEVICE}/{file}"), content);
    }
    tree
}

fn options(tree: &Tree) -> ProbeOptions {
    ProbeOptions { sysfs_root: Some(tree.path("sys")) }
}

fn sampled(tree: &Tree) -> GpuSample {
    sample_within(&gpu_at(&options(tree), "0000:03:00.0").unwrap(), Duration::from_secs(30))
}

#[test]
fn a_gpu_tells_how_it_is() {
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
    assert_eq!(
        found.temperature_c,
        Temperatures { edge: Some(53.0), junction: Some(61.0), memory: None }
    );
    assert_eq!((found.power_w, found.utilization_percent), (Some(290.0), Some(97.0)));
    assert_eq!(
        (found.sclk_mhz, found.mclk_mhz),
        (Some(2499.0), Some(1249.0)),
        "the power level gives the clock if there is no sensor"
    );
    assert_eq!((found.vram_used_mb, found.vram_total_mb), (Some(1000.0), Some(25_753.026_56)));
    assert_eq!((found.throttle_reasons, found.absent), (None, vec![]));
}

/// Intel's xe uses the same labels for sensors of different kinds.
#[test]
fn xe_tells_clock_temperatures_memory_and_throttle_reasons() {
    let others = [("hwmon/hwmon8/in1_input", "900\n"), ("hwmon/hwmon8/in1_label", "pkg\n")];
    let voltage = GpuSample { voltage_mv: Some(900.0), ..GpuSample::default() };
    assert_eq!(sampled(&tree(&others)), voltage);
    let files = [
        ("hwmon/hwmon8/temp2_input", "61000\n"),
        ("hwmon/hwmon8/temp2_label", "pkg\n"),
        ("hwmon/hwmon8/temp3_input", "54000\n"),
        ("hwmon/hwmon8/temp3_label", "vram\n"),
        ("hwmon/hwmon8/energy1_input", "81000\n"),
        ("hwmon/hwmon8/energy1_label", "GPU\n"),
        ("tile0/physical_vram_size_bytes", "12884901888\n"),
        ("tile0/gt0/freq0/act_freq", "2400\n"),
        ("tile0/gt0/freq0/throttle/status", "1\n"),
        ("tile0/gt0/freq0/throttle/reason_pl1", "1\n"),
        ("tile0/gt0/freq0/throttle/reason_thermal", "0\n"),
    ];
    let expected = GpuSample {
        temperature_c: Temperatures { edge: None, junction: Some(61.0), memory: Some(54.0) },
        sclk_mhz: Some(2400.0),
        vram_total_mb: Some(12_884.901_888),
        throttle_reasons: Some(vec!["sustained power limit".to_owned()]),
        ..voltage
    };
    assert_eq!(
        sampled(&tree(&[&others[..], &files].concat())),
        expected,
        "a counter that does not move gives no power"
    );
}

#[test]
fn power_is_what_the_counter_of_energy_grows() {
    let tree = tree(&[("hwmon/hwmon8/name", "xe\n"), ("hwmon/hwmon8/energy1_input", "0\n")]);
    let gpu = gpu_at(&options(&tree), "0000:03:00.0").unwrap();
    assert_eq!(sample_within(&gpu, Duration::from_secs(30)).power_w, None);
    std::thread::sleep(Duration::from_millis(100));
    tree.write(&format!("{DEVICE}/hwmon/hwmon8/energy1_input"), "10000000\n");
    let watts = sample_within(&gpu, Duration::from_secs(30)).power_w.unwrap();
    assert!(watts > 0.0 && watts <= 100.0, "10 J in at least 100 ms must not give {watts} W");
}

/// i915 has a hwmon for each of its parts as well, and one temperature without a label.
#[test]
fn i915_tells_clock_and_temperature_and_why_there_is_no_power() {
    let tree = tree(&[
        ("hwmon/hwmon3/name", "i915_gt0\n"),
        ("hwmon/hwmon3/temp1_input", "99000\n"),
        ("hwmon/hwmon4/name", "i915\n"),
        ("hwmon/hwmon4/temp1_input", "58000\n"),
        // A directory cannot be read as a file, not even by root.
        ("hwmon/hwmon4/energy1_input/x", ""),
    ]);
    tree.write("sys/class/drm/card0/gt_act_freq_mhz", "1300\n");
    let found = sampled(&tree);
    assert_eq!(
        (found.temperature_c.junction, found.sclk_mhz, found.power_w),
        (Some(58.0), Some(1300.0), None)
    );
    assert!(
        found.absent.len() == 1 && found.absent[0].starts_with("power: energy1_input: "),
        "{:?}",
        found.absent
    );
}

/// Integrated graphics have no hwmon.
#[test]
fn clocks_alone_are_sensors() {
    let tree = tree(&[]);
    tree.write("sys/class/drm/card0/gt_cur_freq_mhz", "350\n");
    assert_eq!(sampled(&tree), GpuSample { sclk_mhz: Some(350.0), ..GpuSample::default() });
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
        ("hwmon/hwmon8/freq1_input", "99999999999999999\n"),
        ("hwmon/hwmon8/freq1_label", "sclk\n"),
        ("hwmon/hwmon8/in0_input", "4294967295\n"),
        ("hwmon/hwmon8/fan1_input", "4294967295\n"),
    ]);
    assert_eq!(sampled(&tree), GpuSample::default());
}

#[test]
fn what_idles_is_zero_and_not_absent() {
    let tree = tree(&[
        ("gpu_busy_percent", "0\n"),
        ("hwmon/hwmon8/power1_average", "0\n"),
        ("hwmon/hwmon8/freq1_input", "0\n"),
        ("hwmon/hwmon8/freq1_label", "sclk\n"),
        ("hwmon/hwmon8/freq2_input", "0\n"),
        ("hwmon/hwmon8/freq2_label", "mclk\n"),
        ("hwmon/hwmon8/in0_input", "0\n"),
        ("hwmon/hwmon8/in0_label", "vddgfx\n"),
        ("hwmon/hwmon8/fan1_input", "0\n"),
    ]);
    let found = sampled(&tree);
    let told = [found.power_w, found.sclk_mhz, found.mclk_mhz, found.voltage_mv, found.fan_rpm];
    assert_eq!((told, found.utilization_percent), ([Some(0.0); 5], Some(0.0)));
}

#[test]
fn a_voltage_and_a_fan_that_are_listed_are_read() {
    let tree = tree(&[
        ("hwmon/hwmon8/in0_input", "850\n"),
        ("hwmon/hwmon8/in0_label", "vddgfx\n"),
        ("hwmon/hwmon8/in1_input", "12000\n"),
        ("hwmon/hwmon8/in1_label", "vddnb\n"),
        ("hwmon/hwmon8/fan1_input", "1200\n"),
    ]);
    let found = sampled(&tree);
    assert_eq!((found.voltage_mv, found.fan_rpm), (Some(850.0), Some(1200.0)));
}

#[test]
fn a_table_of_another_version_is_absent_with_the_reason() {
    let tree = tree(&[("gpu_busy_percent", "5\n"), ("gpu_metrics", "\u{78}\0\u{1}\u{63}")]);
    let found = sampled(&tree);
    assert_eq!((found.throttle_reasons, found.utilization_percent), (None, Some(5.0)));
    assert!(
        found.absent.len() == 1 && found.absent[0].contains("version 1.99"),
        "{:?}",
        found.absent
    );
}

#[test]
fn a_gpu_that_sleeps_is_not_woken() {
    let tree = tree(&[("gpu_busy_percent", "0\n"), ("power/runtime_status", "suspended\n")]);
    let found = sampled(&tree);
    assert!(found.utilization_percent.is_none() && found.absent[0].contains("asleep"), "{found:?}");
}

#[test]
fn only_gpus_with_sensors_are_offered() {
    let without = tree(&[]);
    assert_eq!(gpus(&options(&without)), []);
    let with = tree(&[("gpu_busy_percent", "0\n")]);
    assert_eq!(gpus(&options(&with))[0].pci_address.as_deref(), Some("0000:03:00.0"));
    assert_eq!(gpu_at(&options(&with), "0000:99:00.0"), None);
}

#[test]
fn a_partition_meets_the_sensors_of_its_gpu() {
    let at_function = |mode: &str| {
        let tree = tree(&[("gpu_busy_percent", "0\n"), ("current_compute_partition", mode)]);
        gpus_at(&options(&tree), &[Some("0000:03:00.5"), None])
            .into_iter()
            .map(|gpu| gpu.is_some())
            .collect::<Vec<_>>()
    };
    assert_eq!(at_function("CPX\n"), [true, false]);
    assert_eq!(
        at_function("SPX\n"),
        [false, false],
        "in SPX mode, another function is another device"
    );
}

#[test]
#[cfg(unix)]
fn a_sensor_that_hangs_costs_itself_and_not_the_rest() {
    let tree = tree(&[("mem_info_vram_used", "1000000\n"), ("hwmon/hwmon8/name", "amdgpu\n")]);
    let pipe = tree.path(&format!("{DEVICE}/gpu_busy_percent"));
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let gpu = gpu_at(&options(&tree), "0000:03:00.0").unwrap();
    let found = sample_within(&gpu, Duration::from_secs(1));
    assert_eq!(found.vram_used_mb, Some(1.0));
    assert!(found.absent[0].contains("1000 ms"), "{:?}", found.absent);
}
