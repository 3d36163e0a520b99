//! Cases: IDs, grids, overrides, and impossible combinations.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rsb_device::Device;
use rsb_device::scripted::{Script, ScriptedDevice};
use rsb_model::{BenchmarkType, Case, DeviceRef, Reason};
use rsb_workloads::{Breadth, CaseOrReason, IdForm, UsageError, all, cases, find};

use super::common::small;

fn device() -> ScriptedDevice {
    ScriptedDevice::new(Script::default())
}

fn expanded(name: &str, overrides: &[(&str, &[&str])]) -> Result<Vec<CaseOrReason>, UsageError> {
    let owned: Vec<(String, Vec<String>)> = overrides
        .iter()
        .map(|(axis, values)| {
            ((*axis).to_owned(), values.iter().map(|&value| value.to_owned()).collect())
        })
        .collect();
    cases(find(name).unwrap(), device().info(), Breadth::Quick, &owned)
}

fn ids(name: &str, overrides: &[(&str, &[&str])]) -> Vec<String> {
    let case_of = |case: CaseOrReason| case.unwrap_or_else(|(case, _)| case);
    expanded(name, overrides)
        .unwrap()
        .into_iter()
        .map(|case| case_of(case).id.to_string())
        .collect()
}

fn impossible(name: &str, overrides: &[(&str, &[&str])]) -> Vec<(Case, Reason)> {
    expanded(name, overrides).unwrap().into_iter().filter_map(Result::err).collect()
}

#[test]
fn ids_are_as_people_know_them() {
    let gemm = ids("gemm", &[("dtype", &["f32"]), ("shape", &["1024x1024x1024"])]);
    assert_eq!(gemm, ["cpu_performance/gemm/cpu:0/f32/1024x1024x1024"]);
    let copy: &[(&str, &[&str])] = &[
        ("operation", &["copy"]),
        ("size", &["64MiB"]),
        ("cache", &["hot"]),
        ("stores", &["non-temporal"]),
        ("threads", &["2"]),
    ];
    assert_eq!(
        ids("memory-bandwidth", copy),
        ["cpu_performance/memory-bandwidth/cpu:0/copy/f32/64MiB/stores=non-temporal/threads=2"]
    );
    let batched = ids(
        "gemm",
        &[("shape", &["8x8x8"]), ("dtype", &["f64"]), ("batch_size", &["4"]), ("beta", &["0.5"])],
    );
    assert_eq!(batched, ["cpu_performance/gemm/cpu:0/f64/8x8x8/batch_size=4/beta=0.5"]);
}

#[test]
fn a_gpu_has_cases_of_its_own() {
    let mut script = Script::default();
    script.info.device = "rocm:1".parse().unwrap();
    let gpu = ScriptedDevice::new(script);
    for benchmark in all() {
        let found = cases(*benchmark, gpu.info(), Breadth::Full, &[]).unwrap();
        for case in found.into_iter().map(|case| case.unwrap_or_else(|(case, _)| case)) {
            assert!(case.id.as_str().starts_with("gpu_performance/"), "{}", case.id);
            assert!(case.id.as_str().contains("/rocm:1/"));
            assert_eq!(case.benchmark_type, BenchmarkType::GpuPerformance);
            assert!(case.params.text("threads").is_none_or(|threads| threads == "1"));
        }
    }
}

#[test]
fn ids_are_unique_and_each_breadth_has_a_fair_number() {
    for (breadth, least, most) in
        [(Breadth::Quick, 25, 45), (Breadth::Standard, 80, 240), (Breadth::Full, 1000, 4000)]
    {
        let mut seen = BTreeSet::new();
        for benchmark in all() {
            for case in cases(*benchmark, device().info(), breadth, &[]).unwrap() {
                let case = case.unwrap_or_else(|(case, _)| case);
                assert!(seen.insert(case.id.clone()), "duplicate case {}", case.id);
                assert_eq!(case.id.benchmark(), Some(benchmark.name()));
                assert_eq!(case.device, DeviceRef::CPU.into());
            }
        }
        assert!((least..=most).contains(&seen.len()), "{breadth:?} has {} cases", seen.len());
    }
}

#[test]
fn wider_breadths_keep_the_cases_of_narrower_ones() {
    let of = |breadth| -> BTreeSet<String> {
        all()
            .iter()
            .flat_map(|benchmark| cases(*benchmark, device().info(), breadth, &[]).unwrap())
            .map(|case| case.unwrap_or_else(|(case, _)| case).id.to_string())
            .collect()
    };
    let (quick, standard, full) = (of(Breadth::Quick), of(Breadth::Standard), of(Breadth::Full));
    for (narrow, wide) in [(&quick, &standard), (&standard, &full)] {
        let lost: Vec<_> = narrow.difference(wide).collect();
        assert!(lost.is_empty(), "{lost:?}");
    }
}

#[test]
fn every_default_and_every_value_in_a_grid_is_canonical() {
    for benchmark in all() {
        for axis in benchmark.axes() {
            assert_eq!(axis.default.is_some(), axis.form == IdForm::Named, "{}", axis.name);
            if let Some(default) = axis.default {
                assert_eq!(axis.canonical(default).as_deref(), Some(default));
            }
        }
        for breadth in [Breadth::Quick, Breadth::Standard, Breadth::Full] {
            for (name, values) in benchmark.grids(breadth, device().info()).into_iter().flatten() {
                let axis = benchmark.axes().iter().find(|axis| axis.name == name).unwrap();
                for value in values {
                    assert_eq!(
                        axis.canonical(&value),
                        Some(value.clone()),
                        "{}: {name}",
                        benchmark.name()
                    );
                }
            }
        }
    }
}

#[test]
fn a_wish_that_cannot_be_understood_names_what_can() {
    let error = expanded("gemm", &[("color", &["red"])]).unwrap_err();
    assert!(
        error.to_string().contains("gemm has no axis `color`; it has dtype, shape, batch_size"),
        "{error}"
    );
    let error = expanded("gemm", &[("shape", &["12x"])]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`12x` is not a value of the axis `shape`: it takes 3 sizes such as 1024x1024x1024"
    );
    let error = expanded("memory-bandwidth", &[("stores", &["sideways"])]).unwrap_err();
    assert!(error.to_string().contains("one of temporal, non-temporal"), "{error}");
    let error = expanded("memory-bandwidth", &[("size", &[])]).unwrap_err();
    assert!(error.to_string().contains("a size such as 64MiB"), "{error}");
}

#[test]
fn other_spellings_are_the_same_case() {
    let one = ids("gemm", &[("dtype", &["float32", "fp32", "f32"]), ("shape", &["8x8x8"])]);
    assert_eq!(one, ["cpu_performance/gemm/cpu:0/f32/8x8x8"]);
    let twice: &[(&str, &[&str])] = &[("size", &["65536"]), ("size", &["64KiB", "128KiB"])];
    assert_eq!(
        ids("memory-latency", twice),
        [
            "cpu_performance/memory-latency/cpu:0/64KiB",
            "cpu_performance/memory-latency/cpu:0/128KiB"
        ]
    );
}

#[test]
fn combinations_that_cannot_be_come_with_their_reason() {
    let check = |name: &str, overrides: &[(&str, &[&str])], word: &str| {
        let found = impossible(name, overrides);
        assert!(!found.is_empty(), "{name} {overrides:?}");
        for (case, reason) in found {
            assert!(reason.to_string().contains(word), "{}: {reason}", case.id);
            assert!(!reason.cure.is_empty());
        }
    };
    check(
        "memory-bandwidth",
        &[("operation", &["read"]), ("stores", &["non-temporal"])],
        "a read stores nothing",
    );
    check("memory-bandwidth", &[("size", &["512GiB"])], "of memory");
    check("gemm", &[("shape", &["99999999x99999999x99999999"])], "of memory");
    check("gemm", &[("threads", &["4096"])], "4096 threads");
    check("tensor-ops", &[("shape", &["4294967296x4294967296"])], "of memory");
    check("convolution", &[("kernel", &["64x999x999"])], "does not fit");
    check("convolution", &[("groups", &["7"])], "groups");
    check("memory-latency", &[("size", &["64B"])], "at least two");
    check("memory-bandwidth", &[("size", &["1B"])], "larger");
    check("memory-allocation", &[("size", &["1000GiB"])], "of memory");
    check("cache-hit-rate", &[("size", &["7B"])], "two cache lines");
}

proptest! {
    #[test]
    fn any_values_give_unique_ids_that_read_back(
        sizes in prop::collection::vec(1_u64..5000, 1..6),
        threads in prop::collection::vec(1_u32..4, 1..3),
    ) {
        let overrides = vec![
            ("shape".to_owned(), sizes.iter().map(|size| format!("{size}x{size}x8")).collect()),
            ("threads".to_owned(), threads.iter().map(u32::to_string).collect::<Vec<_>>()),
        ];
        let found = cases(find("gemm").unwrap(), device().info(), Breadth::Quick, &overrides).unwrap();
        let mut seen = BTreeSet::new();
        for case in found.into_iter().map(|case| case.unwrap_or_else(|(case, _)| case)) {
            prop_assert!(seen.insert(case.id.clone()));
            prop_assert_eq!(case.id.as_str().parse().ok(), Some(case.id.clone()));
        }
    }
}

#[test]
fn small_values_are_values_of_their_axes() {
    for benchmark in all() {
        assert!(
            cases(*benchmark, device().info(), Breadth::Quick, &small(benchmark.name())).is_ok()
        );
    }
}
