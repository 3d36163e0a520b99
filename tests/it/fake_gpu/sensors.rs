//! GPU sensors during a measurement and as a benchmark, from a tree that replaces `/sys`.

use serde_json::{Value, json};

use super::support::{assert_reason, case, fake_gpu, outcome, run};
use crate::common::{Bench, says, words};

/// Directory of the first GPU, at the address that the fake GPU reports.
const GPU: &str = "sys/class/drm/card0/device";

/// Returns a bench with sensors for the first fake GPU; `files` are written after the default ones
/// and may replace them.
fn with_sensors(files: &[(&str, &str)]) -> Bench {
    let bench = fake_gpu();
    let root = bench.path("sys").display().to_string();
    let usual = [
        ("uevent", "PCI_ID=1002:740F\nPCI_SLOT_NAME=0000:01:00.0\n"),
        ("gpu_busy_percent", "97\n"),
        ("mem_info_vram_used", "1000000000\n"),
        ("mem_info_vram_total", "64000000000\n"),
        ("hwmon/hwmon3/temp1_input", "53000\n"),
        ("hwmon/hwmon3/temp1_label", "edge\n"),
        ("hwmon/hwmon3/power1_average", "290000000\n"),
    ];
    for (name, content) in usual.iter().chain(files) {
        bench.write(&format!("{GPU}/{name}"), content);
    }
    bench.set("RSB_SYSFS_ROOT", &root)
}

/// Returns a `gpu_metrics` 1.3 table in which only the throttle status is known.
fn metrics(status: u64) -> Vec<u8> {
    let mut table = vec![0xff; 120];
    table[..4].copy_from_slice(&[120, 0, 1, 3]);
    table[112..].copy_from_slice(&status.to_le_bytes());
    table
}

#[test]
fn sensors_are_a_benchmark_before_any_runtime_is_installed() {
    let bench = with_sensors(&[]).set("RSB_HIP_LIBRARY", "/nonexistent/libamdhip64.so");
    let document = run(&bench, "smi-metrics --axis duration_seconds=0.01").expect(0).json();
    let watched = case(&document, "/smi-metrics/cpu:0/idle/gpu=0000:01:00.0");
    assert_eq!(outcome(watched), "simulated", "a GPU read from a sysfs tree is simulated");
    assert_eq!(watched["results"][0]["gpu_power_w"], 290.0, "{watched:#}");
    let reached = run(&with_sensors(&[]), &["smi-metrics", "--axis", "duration_seconds=0.01"])
        .expect(0)
        .json();
    assert!(case(&reached, "/smi-metrics/rocm:0/idle")["results"][0]["gpu_power_w"] == 290.0);
    assert!(
        reached.to_string().matches("/smi-metrics/").count() >= 1
            && !reached.to_string().contains("gpu=0000")
    );
}

const GEMM: [&str; 5] = ["gemm", "--axis", "shape=64x64x64", "--axis", "dtype=f32"];

fn gemm(bench: &Bench) -> Value {
    let document = run(bench, &GEMM).expect(0).json();
    let found = case(&document, "/gemm/").clone();
    assert_eq!(outcome(&found), "simulated");
    found
}

#[test]
fn sensors_are_read_beside_every_measurement() {
    let found = gemm(&with_sensors(&[]));
    let fields = &found["results"][0];
    assert_eq!(
        (&fields["gpu_power_w"], &fields["gpu_temperature_c"]),
        (&json!(290.0), &json!(53.0)),
        "{found:#}"
    );
    assert_eq!(
        (&fields["gpu_memory_used_mb"], &fields["gpu_utilization_percent"]),
        (&json!(1000.0), &json!(97.0))
    );
    let telemetry = &found["metadata"]["telemetry"][0];
    assert_eq!(telemetry["power_w"], json!({ "mean": 290.0, "min": 290.0, "max": 290.0 }));
    assert!(telemetry["samples"].as_u64().unwrap() >= 1);
    assert!(
        telemetry["throttled"].is_null() && found["metadata"]["throttled_replicates"].is_null(),
        "a GPU without throttle reports has no throttle state"
    );
}

/// The warm-up time is a lower bound, so this holds on any machine.
#[test]
fn a_gpu_works_for_half_a_second_before_its_first_sample() {
    let found = gemm(&with_sensors(&[]));
    assert!(found["metadata"]["measure_ms"].as_f64().unwrap() >= 500.0, "{found:#}");
    let iterations = found["results"][0]["warmup_runs"].as_f64().unwrap();
    assert!(iterations > 1.0, "the clocks need more warm-up than --warmup 1: {found:#}");
}

#[test]
fn the_process_of_a_case_runs_on_the_cpus_near_its_gpu() {
    let bench = with_sensors(&[]);
    for (name, content) in [("local_cpulist", "0-1023\n"), ("numa_node", "1\n")] {
        bench.write(&format!("sys/bus/pci/devices/0000:01:00.0/{name}"), content);
    }
    let fields = gemm(&bench)["results"][0].clone();
    assert_eq!(
        (&fields["numa_node"], &fields["pci_address"]),
        (&json!(1.0), &json!("0000:01:00.0")),
        "{fields:#}"
    );
    assert_eq!(
        gemm(&with_sensors(&[]))["results"][0]["numa_node"],
        Value::Null,
        "the NUMA node is null if sysfs does not report it"
    );
}

#[test]
fn a_replicate_of_a_gpu_that_was_held_back_is_flagged_and_kept() {
    for (status, flagged) in [(1_u64, json!([0])), (0, Value::Null)] {
        let bench = with_sensors(&[]);
        std::fs::write(bench.path(&format!("{GPU}/gpu_metrics")), metrics(status)).unwrap();
        let found = gemm(&bench);
        assert_eq!(found["metadata"]["telemetry"][0]["throttled"], json!(status == 1), "{found:#}");
        assert_eq!(found["metadata"]["throttled_replicates"], flagged);
        let notes = found["metadata"]["notes"].to_string();
        assert_eq!(
            notes.contains("throttled during the measurement: power limit"),
            status == 1,
            "{notes}"
        );
        assert_eq!(found["samples"].as_array().unwrap().len(), 1, "no sample may be dropped");
    }
}

/// The files are those of Intel's xe driver, and the energy counter cannot be read.
#[test]
fn sensors_of_intels_driver_are_read_beside_every_measurement() {
    let bench = fake_gpu();
    for (name, content) in [
        ("uevent", "DRIVER=xe\nPCI_ID=8086:E20B\nPCI_SLOT_NAME=0000:01:00.0\n"),
        ("tile0/physical_vram_size_bytes", "12000000000\n"),
        ("tile0/gt0/freq0/act_freq", "2400\n"),
        ("tile0/gt0/freq0/throttle/reason_pl1", "1\n"),
        ("hwmon/hwmon3/temp2_input", "61000\n"),
        ("hwmon/hwmon3/temp2_label", "pkg\n"),
        ("hwmon/hwmon3/energy1_input/x", ""),
    ] {
        bench.write(&format!("{GPU}/{name}"), content);
    }
    let root = bench.path("sys").display().to_string();
    let bench = bench.set("RSB_SYSFS_ROOT", &root);
    let found = gemm(&bench);
    let fields = &found["results"][0];
    assert_eq!(
        (&fields["gpu_temperature_c"], &fields["gpu_memory_total_mb"]),
        (&json!(61.0), &json!(12000.0))
    );
    assert!(
        !fields.as_object().unwrap().contains_key("gpu_power_w"),
        "a power that cannot be read must be absent, not zero: {found:#}"
    );
    let telemetry = &found["metadata"]["telemetry"][0];
    assert_eq!(telemetry["sclk_mhz"]["mean"], json!(2400.0), "{telemetry:#}");
    assert_eq!(telemetry["throttle_reasons"], json!(["sustained power limit"]));
    says(&telemetry["notes"].to_string(), &["unavailable: power: energy1_input: "]);
    let watched =
        run(&bench, "smi-metrics --axis load=idle --axis duration_seconds=0.01").expect(0).json();
    assert_eq!(
        case(&watched, "/smi-metrics/rocm:0/idle")["results"][0]["gpu_clock_mhz"],
        json!(2400.0)
    );
}

#[test]
fn sensors_that_lie_are_absent_not_zero() {
    let found = gemm(&with_sensors(&[
        ("gpu_busy_percent", "65535\n"),
        ("hwmon/hwmon3/power1_average", "18446744073709551615\n"),
        ("hwmon/hwmon3/temp1_input", "N/A\n"),
    ]));
    let fields = found["results"][0].as_object().unwrap();
    for name in ["gpu_power_w", "gpu_temperature_c", "gpu_utilization_percent"] {
        assert!(!fields.contains_key(name), "{name}: {found:#}");
    }
    assert_eq!(fields["gpu_memory_used_mb"], json!(1000.0));
}

#[test]
fn the_sensors_are_a_benchmark_of_their_own() {
    let bench = with_sensors(&[("pp_dpm_sclk", "0: 500Mhz\n1: 1700Mhz *\n")]);
    let arguments = words("smi-metrics --axis load=idle,memory --axis duration_seconds=0.01");
    let document = run(&bench, &arguments).expect(0).json();
    for load in ["idle", "memory"] {
        let found = case(&document, &format!("/smi-metrics/rocm:0/{load}"));
        assert_eq!(outcome(found), "simulated", "{found:#}");
        let fields = &found["results"][0];
        assert_eq!(
            (&fields["gpu_clock_mhz"], &fields["gpu_memory_total_mb"]),
            (&json!(1700.0), &json!(64000.0))
        );
        assert_eq!(
            fields["time_us"].as_f64().is_some_and(|time| time > 0.0),
            load == "memory",
            "only loads with work must have a time"
        );
        assert!(fields["sensor_reading_us"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn a_gpu_without_sensors_has_no_telemetry_and_skips_the_benchmark_of_them() {
    let bench = fake_gpu().set("RSB_SYSFS_ROOT", "/nonexistent");
    let found = gemm(&bench);
    assert!(found["metadata"]["telemetry"].is_null(), "{found:#}");
    let document = run(&bench, "smi-metrics").expect(5).json();
    assert_reason(
        case(&document, "/smi-metrics/rocm:0/idle"),
        "skipped",
        "sysfs has no sensors at 0000:01:00.0",
    );
}
