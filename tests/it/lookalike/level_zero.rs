//! The sensors of a look-alike of Intel's card, by Level Zero: beside a measurement, as a benchmark, and as a finding.
//! What is measured meanwhile is the look-alike of ROCm, whose card sits at the same place on the bus.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::Bench;
use crate::support::{assert_no_process_left, assert_reason, case, lookalike, outcome, run};

/// The program with a certain library in the place of Level Zero's loader.
fn with_loader(library: &Path) -> Bench {
    lookalike().set("RSB_LEVEL_ZERO_LIBRARY", &library.display().to_string())
}

fn both() -> Bench {
    with_loader(&rsb_lookalike::file::library().unwrap())
}

fn with_fault(fault: &str) -> Bench {
    both().set("LOOKALIKE_FAULT", fault)
}

/// A small product, measured.
fn gemm(bench: &Bench) -> Value {
    let document = run(bench, &["gemm", "--axis", "shape=64x64x64", "--axis", "dtype=f32"]).expect(0).json();
    let found = case(&document, "/gemm/").clone();
    assert_eq!(outcome(&found), "simulated");
    found
}

/// Fields that its sensors give.
const FIELDS: [&str; 4] = ["gpu_power_w", "gpu_utilization_percent", "gpu_temperature_c", "gpu_memory_used_mb"];

/// Checks that the sensors gave these fields and no others.
fn assert_fields(found: &Value, expected: &[&str]) {
    let fields = found["results"][0].as_object().unwrap();
    let given: Vec<&str> = FIELDS.into_iter().filter(|name| fields.contains_key(*name)).collect();
    assert_eq!(given, expected, "{found:#}");
}

#[test]
fn sensors_are_read_beside_every_measurement() {
    let found = gemm(&both());
    assert_fields(&found, &FIELDS);
    let within = |name: &str, low: f64, high: f64| {
        let value = found["results"][0][name].as_f64().unwrap();
        assert!((low..=high).contains(&value), "{name}: {found:#}");
    };
    within("gpu_power_w", 120.0, 140.0);
    within("gpu_utilization_percent", 40.0, 60.0);
    within("gpu_temperature_c", 52.0, 60.0);
    within("gpu_memory_used_mb", 1000.0, 17_180.0);
    let telemetry = &found["metadata"]["telemetry"][0];
    let mhz = telemetry["sclk_mhz"]["mean"].as_f64().unwrap();
    assert!((2000.0..=2200.0).contains(&mhz), "{telemetry:#}");
    assert_eq!(telemetry["throttled"], json!(false), "that somebody chose a range is no reason");
}

#[test]
fn sensors_that_lie_are_absent_and_the_others_stand() {
    for (fault, expected) in [
        ("sensor:cold", &["gpu_power_w", "gpu_utilization_percent", "gpu_memory_used_mb"][..]),
        ("sensor:backwards", &["gpu_temperature_c", "gpu_memory_used_mb"][..]),
        ("sensor:wild", &[]),
    ] {
        assert_fields(&gemm(&with_fault(fault)), expected);
    }
}

#[test]
fn a_card_that_was_held_back_is_flagged() {
    let found = gemm(&with_fault("sensor:throttled"));
    let telemetry = &found["metadata"]["telemetry"][0];
    assert_eq!(telemetry["throttled"], json!(true), "{found:#}");
    assert_eq!(telemetry["throttle_reasons"], json!(["average power cap", "temperature limit"]));
    assert_eq!(found["metadata"]["throttled_replicates"], json!([0]));
}

/// A driver that breaks as it starts does so in a child: the measurement is the same without its sensors.
#[test]
fn a_driver_that_hangs_or_dies_costs_the_sensors_alone() {
    for (fault, word) in [
        ("hang:zesInit", "did not answer within 5 s"),
        ("abort:zes", "ended the process that asked"),
        ("sensor:silent", "no driver of a device has started"),
    ] {
        let bench = with_fault(fault);
        let found = gemm(&bench);
        assert!(found["metadata"]["telemetry"].is_null(), "{fault}: {found:#}");
        let told = finding(&bench);
        assert_eq!(told["severity"], "warning", "{told:#}");
        assert!(told["why"].as_str().unwrap().contains(word) && told["cure"].is_string(), "{told:#}");
        assert_no_process_left(&bench);
    }
}

#[test]
fn without_a_function_what_needs_it_is_absent() {
    let folder = tempfile::tempdir().unwrap();
    let torn = folder.path().join("libze_loader.so.1");
    for (names, expected) in [
        (&["zesPowerGetEnergyCounter"][..], &FIELDS[1..]),
        (&["zesDeviceGetCardPowerDomain"], &FIELDS[..]),
        (&["zesDeviceEnumTemperatureSensors", "zesMemoryGetState", "zesFrequencyGetState"], &FIELDS[..2]),
    ] {
        rsb_lookalike::file::copy_without(names, &torn).unwrap();
        assert_fields(&gemm(&with_loader(&torn)), expected);
    }
    rsb_lookalike::file::copy_without(&["zesInit"], &torn).unwrap();
    let bench = with_loader(&torn);
    assert!(gemm(&bench)["metadata"]["telemetry"].is_null());
    let told = finding(&bench);
    assert!(told["why"].as_str().unwrap().contains("zesInit"), "{told:#}");
    assert!(told["what"].as_str().unwrap().contains("look-alike of a card of Intel's"), "the core shows it: {told:#}");
}

#[test]
fn the_sensors_are_a_benchmark_of_their_own() {
    let document = run(&both(), &["smi-metrics", "--axis", "load=idle", "--axis", "period_ms=1"]).expect(0).json();
    let watched = case(&document, "/smi-metrics/rocm:0/idle");
    assert_fields(watched, &FIELDS);
    assert!(watched["results"][0]["gpu_clock_mhz"].as_f64().unwrap() >= 2000.0, "{watched:#}");
    let nowhere = with_loader(Path::new("/nonexistent/libze_loader.so.1"));
    let document = run(&nowhere, &["smi-metrics"]).expect(5).json();
    assert_reason(case(&document, "/smi-metrics/"), "skipped", "sensors at 0000:01:00.0");
}

/// The one finding of `doctor` about Level Zero.
fn finding(bench: &Bench) -> Value {
    let examined = bench.run(&["doctor", "--json"]).json();
    let mut about = examined["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["what"].as_str().unwrap().contains("Level Zero"));
    let (Some(told), None) = (about.next(), about.next()) else { panic!("{examined:#}") };
    told.clone()
}

#[test]
fn what_it_sees_is_told_and_what_is_missing_has_its_cure() {
    let two = both().set("LOOKALIKE_DEVICES", "2");
    let told = finding(&two);
    assert_eq!(told["severity"], "ok", "{told:#}");
    assert_eq!(two.run(&["list", "--json"]).expect(0).json()["level_zero"], told, "both say the same");
    for address in ["0000:01:00.0", "0000:02:00.0"] {
        assert!(told["what"].as_str().unwrap().contains(address), "{told:#}");
    }
    let told = finding(&with_loader(Path::new("/nonexistent/libze_loader.so.1")));
    assert_eq!((&told["severity"], &told["what"]), (&json!("note"), &json!("Level Zero's loader is missing")));
    assert!(
        told["why"].as_str().unwrap().contains("/nonexistent") && told["cure"].as_str().unwrap().contains("libze1")
    );
    let text = with_loader(Path::new("/nonexistent/libze_loader.so.1")).run(&["list"]).expect(0).stdout;
    assert!(text.contains("Level Zero's loader is missing") && text.contains("cure: install Level Zero"), "{text}");
}
