//! Tests of the status derived from records.

use CheckStatus::{Failed, Look, Ok as Fine, Skipped};
use rsb_model::finding::FindingSeverity;
use rsb_model::{BackendId, Finding, Obstacle, Unit};

use super::*;
use crate::first_day::evidence::{
    CompiledModule, DeviceMutants, Inventory, KernelTime, ListedGpu, LoadPath, OperationMutants,
    OwnCase, PointerChaseLoads, VendorToolResult,
};
use crate::first_day::{CARDS, card};

fn on(devices: &[&str], results: Vec<BenchmarkResult>) -> CheckEvidence {
    CheckEvidence {
        devices: devices.iter().map(|name| device(name)).collect(),
        results,
        ..CheckEvidence::default()
    }
}

#[test]
fn checks_are_numbered_and_each_says_what_a_miss_means() {
    for (position, check) in CHECKS.iter().enumerate() {
        assert_eq!(usize::from(check.number), position + 1);
        assert!(!check.meaning.contains('\n') && check.meaning.len() > 20, "{}", check.name);
        assert!(
            check.card_seconds <= 600 && check.cpu_seconds <= 300,
            "each check must end within ten minutes"
        );
    }
}

#[test]
fn a_card_is_known_by_architecture_units_and_name() {
    assert_eq!(card(&device("rocm:0")).unwrap().name, "AMD Instinct MI300X");
    assert!(card(&device("cpu:0")).is_none());
    let fewer = DeviceInfo { units: 228, ..device("rocm:0") };
    let other = DeviceInfo { name: "NVIDIA H200".to_owned(), ..device("cuda:0") };
    assert!(
        card(&fewer).is_none() && card(&other).is_none(),
        "a card must not get the ranges of a different card"
    );
    for card in CARDS {
        for row in card.ranges {
            assert!(row.low < row.high && !row.source.is_empty(), "{} {}", card.name, row.quantity);
        }
    }
}

/// Every range must be looked up by a check; otherwise it would never be used.
#[test]
fn every_range_is_asked_for_by_a_check() {
    for card in CARDS {
        for row in card.ranges {
            let (first, rest) = row.quantity.split_once(' ').unwrap();
            let (number, benchmark, params, field): (u8, &str, Vec<(&str, &str)>, &'static str) =
                match first {
                    "launch" => (6, "launch-latency", vec![("launch_mode", rest)], "latency_us"),
                    "bandwidth" => {
                        (7, "memory-bandwidth", vec![("operation", rest)], "bandwidth_gb_s")
                    }
                    "latency" => (9, "memory-latency", vec![("size", rest)], "latency_ns"),
                    "compute" => (10, "compute-peak", vec![("dtype", rest)], "tflops"),
                    "matrix" => {
                        (11, "tensor-core", vec![("dtype", rest), ("engine", "matrix")], "tflops")
                    }
                    "gemm" => {
                        (12, "gemm", vec![("dtype", rest), ("shape", "8192x8192x8192")], "tflops")
                    }
                    "all-reduce" => {
                        let (gpus, size) = rest.split_once(" x ").unwrap();
                        let own = [("num_gpus", gpus), ("size", size), ("operation", "all-reduce")];
                        let own =
                            own.into_iter().chain([("communication_backend", "rccl")]).collect();
                        (15, "all-reduce", own, "bandwidth_gb_s")
                    }
                    other => panic!("unexpected benchmark {other}"),
                };
            let name = if card.arch.starts_with("sm_") { "cuda:0" } else { "rocm:0" };
            let here = DeviceInfo {
                name: card.named.to_owned(),
                arch: Some(card.arch.to_owned()),
                units: card.units,
                ..device(name)
            };
            for (measured, expected) in
                [(row.low, Fine), (row.high, Fine), (row.low * 0.5, Look), (row.high * 2.0, Look)]
            {
                let one = result(name, benchmark, &params, Fields::new().with(field, measured));
                let evidence = CheckEvidence {
                    devices: vec![here.clone()],
                    results: vec![one],
                    ..CheckEvidence::default()
                };
                let check = concluded(number, &evidence);
                assert_eq!(check.status, expected, "{} {} {measured}", card.name, row.quantity);
                let value = &check.values[0];
                assert_eq!(
                    (value.unit, value.expected.as_ref().unwrap().source.as_str()),
                    (Some(row.unit), row.source)
                );
            }
        }
    }
}

#[test]
fn a_miss_is_a_look_a_failed_case_fails_and_a_skip_is_neither() {
    let params = |mode: &'static str| [("launch_mode", mode)];
    let case = |mode, latency: f64| {
        result("rocm:0", "launch-latency", &params(mode), Fields::new().with("latency_us", latency))
    };
    let good = || case("single", 10.0);
    for (results, expected) in [
        (vec![good()], Fine),
        (vec![good(), case("graph", 60.0)], Look),
        (vec![good(), case("graph", 60.0), failed(case("back-to-back", 1.0))], Failed),
        (vec![good(), skipped(case("graph", 1.0))], Fine),
        (vec![skipped(case("graph", 1.0))], Skipped),
        (vec![], Skipped),
    ] {
        let check = concluded(6, &on(&["rocm:0"], results));
        assert_eq!(check.status, expected, "{check:#?}");
        assert_eq!(
            check.reason.is_some(),
            expected == Skipped,
            "only a skipped check has a reason"
        );
    }
}

#[test]
fn nothing_is_expected_of_a_simulated_device() {
    let mut case = result(
        "rocm:0",
        "launch-latency",
        &[("launch_mode", "single")],
        Fields::new().with("latency_us", 1e9),
    );
    case.outcome = Outcome::Simulated;
    let check = concluded(6, &on(&["rocm:0"], vec![case]));
    assert_eq!((check.status, &value(&check, "single").expected), (Fine, &None));
}

#[test]
fn a_check_that_ran_out_of_time_says_how_many_cases_had_no_turn() {
    let mut late = skipped(result("rocm:0", "gemm", &[("dtype", "f32")], Fields::new()));
    late.reason = late.reason.map(|reason| reason.of(Obstacle::NotReached));
    let measured = result("rocm:0", "gemm", &[("dtype", "f16")], Fields::new());
    let check = concluded(4, &on(&["rocm:0"], vec![late, measured]));
    assert_eq!((check.status, value(&check, "cases not run").found.as_deref()), (Look, Some("1")));
    assert_eq!(value(&check, "cases").found.as_deref(), Some("1 verified, 0 skipped, 0 failed"));
}

#[test]
fn the_inventory_is_held_against_the_vendors_tool() {
    let listed = |change: fn(&mut ListedGpu)| {
        let mut gpu = ListedGpu {
            name: "AMD Instinct MI300X".to_owned(),
            arch: Some("gfx942".to_owned()),
            units: Some(304),
            max_clock_mhz: Some(2100.0),
            pci_address: Some("0000:31:00.0".to_owned()),
        };
        change(&mut gpu);
        gpu
    };
    let inventory = |listed: Vec<ListedGpu>, hidden_by: Vec<&'static str>| Inventory {
        tool: "rocminfo",
        backend: BackendId::Rocm,
        listed: Ok(listed),
        here: vec![device("rocm:0")],
        hidden_by,
    };
    let same: fn(&mut ListedGpu) = |_| {};
    for (what, inventory, expected) in [
        ("the same", inventory(vec![listed(same)], vec![]), Fine),
        ("a GPU more", inventory(vec![listed(same), listed(same)], vec![]), Failed),
        (
            "one hidden",
            inventory(vec![listed(same), listed(same)], vec!["HIP_VISIBLE_DEVICES"]),
            Look,
        ),
        ("none listed", inventory(vec![], vec![]), Failed),
        (
            "another architecture",
            inventory(vec![listed(|gpu| gpu.arch = Some("gfx90a".into()))], vec![]),
            Failed,
        ),
        ("other units", inventory(vec![listed(|gpu| gpu.units = Some(38))], vec![]), Failed),
        (
            "another clock",
            inventory(vec![listed(|gpu| gpu.max_clock_mhz = Some(2520.0))], vec![]),
            Look,
        ),
        (
            "less known",
            inventory(vec![listed(|gpu| (gpu.units, gpu.max_clock_mhz) = (None, None))], vec![]),
            Fine,
        ),
    ] {
        let evidence = CheckEvidence { inventories: vec![inventory], ..on(&["rocm:0"], vec![]) };
        assert_eq!(concluded(1, &evidence).status, expected, "{what}");
    }
    let late = Inventory {
        listed: Err(Reason::new("rocminfo", "it did not end", "x")),
        ..inventory(vec![], vec![])
    };
    assert_eq!(
        concluded(1, &CheckEvidence { inventories: vec![late], ..CheckEvidence::default() }).status,
        Look
    );
    let broken = vec![(BackendId::Rocm, Reason::new("libamdhip64", "no symbol", "reinstall"))];
    assert_eq!(concluded(1, &CheckEvidence { broken, ..CheckEvidence::default() }).status, Failed);
    let finding =
        |severity| vec![Finding::new(severity, "ada may not use /dev/kfd", "no group", "usermod")];
    for (severity, expected) in
        [(FindingSeverity::Error, Look), (FindingSeverity::Warning, Skipped)]
    {
        assert_eq!(
            concluded(
                1,
                &CheckEvidence { findings: finding(severity), ..CheckEvidence::default() }
            )
            .status,
            expected
        );
    }
}

#[test]
fn a_module_that_does_not_compile_or_a_scalar_chase_fails() {
    let module = |source, error: Option<&str>| CompiledModule {
        device: "rocm:0".parse().unwrap(),
        source,
        error: error.map(|why| Reason::new(source, why, "report it")),
    };
    let chase = |loads| vec![PointerChaseLoads { device: "rocm:0".parse().unwrap(), loads }];
    let unknown = || LoadPath::Unknown(Reason::new("disassembly", "not installed", "install it"));
    for (modules, chases, expected) in [
        (vec![module("memory", None), module("gemm", None)], chase(LoadPath::Vector), Fine),
        (
            vec![module("memory", None), module("gemm", Some("no f16"))],
            chase(LoadPath::Vector),
            Failed,
        ),
        (vec![module("memory", None)], chase(LoadPath::Scalar), Failed),
        (vec![module("memory", None)], chase(unknown()), Fine),
        (vec![], vec![], Skipped),
    ] {
        let check = concluded(2, &CheckEvidence { modules, chases, ..on(&["rocm:0"], vec![]) });
        assert_eq!(check.status, expected, "{check:#?}");
    }
    let one = CheckEvidence {
        modules: vec![module("memory", None), module("gemm", Some("no f16"))],
        ..on(&["rocm:0"], vec![])
    };
    assert_eq!(value(&concluded(2, &one), "modules").found.as_deref(), Some("1 of 2 compile"));
}

#[test]
fn control_looks_at_how_far_processes_are_apart() {
    let case = |times: &[f64]| {
        sampled(result("cpu:0", "control", &[("size", "8KiB")], Fields::new()), times)
    };
    for (times, expected) in [(&[100.0, 105.0, 101.0][..], Fine), (&[100.0, 125.0, 101.0], Look)] {
        let check = concluded(3, &on(&["cpu:0"], vec![case(times)]));
        assert_eq!(status(&check, "spread of 3 processes, 8KiB"), expected);
    }
}

#[test]
fn a_mutant_that_survives_fails_the_check() {
    let operation = |tried, survived: &[&str]| OperationMutants {
        operation: "gemm f16".to_owned(),
        tried,
        survived: survived.iter().map(|name| (*name).to_owned()).collect(),
        ..OperationMutants::default()
    };
    let skipped = || OperationMutants {
        skipped: Some(Reason::new("mutants", "none in this build", "x")),
        ..operation(0, &[])
    };
    let broken =
        || OperationMutants { failed: Some(Reason::new("gemm", "lost", "x")), ..operation(0, &[]) };
    let crashed = || Err(Reason::new("mutate rocm:0", "signal 11", "x"));
    for (outcome, expected) in [
        (Ok(vec![operation(8, &[])]), Fine),
        (Ok(vec![operation(8, &[]), operation(8, &["zeros"])]), Failed),
        (Ok(vec![operation(8, &[]), skipped()]), Fine),
        (Ok(vec![skipped()]), Skipped),
        (Ok(vec![broken()]), Failed),
        (crashed(), Failed),
    ] {
        let mutants = vec![DeviceMutants { device: "rocm:0".parse().unwrap(), outcome }];
        let check = concluded(5, &CheckEvidence { mutants, ..on(&["rocm:0"], vec![]) });
        assert_eq!(check.status, expected, "{check:#?}");
    }
}

fn rival(rate: Result<f64, Reason>) -> VendorToolResult {
    VendorToolResult {
        device: "rocm:0".parse().unwrap(),
        tool: "BabelStream".to_owned(),
        own: OwnCase {
            benchmark: "memory-bandwidth",
            params: &[("operation", "copy")],
            field: "bandwidth_gb_s",
            unit: Unit::GigabytesPerSecond,
        },
        rate,
        below_percent: 5.0,
        above_percent: Some(5.0),
    }
}

#[test]
fn our_rate_is_held_against_that_of_another_program() {
    let own = |operation, rate: f64| {
        result(
            "rocm:0",
            "memory-bandwidth",
            &[("operation", operation)],
            Fields::new().with("bandwidth_gb_s", rate),
        )
    };
    let missing = || Err(Reason::new("hip-stream", "not installed", "install it"));
    for (rate, expected) in [
        (Ok(4100.0), Fine),
        (Ok(4300.0), Look),
        (Ok(3700.0), Look),
        (Ok(0.0), Skipped),
        (missing(), Skipped),
    ] {
        let results = vec![own("copy", 4000.0), own("read", 9999.0)];
        let check =
            concluded(7, &CheckEvidence { rivals: vec![rival(rate)], ..on(&["rocm:0"], results) });
        assert_eq!(status(&check, "memory-bandwidth over BabelStream"), expected, "{check:#?}");
    }
}

#[test]
fn a_cold_case_contains_no_more_than_its_kernel() {
    let case = |cache, time: f64| {
        result(
            "rocm:0",
            "memory-bandwidth",
            &[("cache", cache)],
            Fields::new().with("time_us", time),
        )
    };
    let kernel = |time_us| {
        vec![KernelTime {
            device: "rocm:0".parse().unwrap(),
            cache: "cold".into(),
            tool: "rocprofv3",
            time_us,
        }]
    };
    let results = || vec![case("hot", 2.0), case("cold", 6.0)];
    for (time, expected) in [(5.5, Fine), (3.0, Look)] {
        let check = concluded(
            8,
            &CheckEvidence { kernel_times: kernel(Ok(time)), ..on(&["rocm:0"], results()) },
        );
        assert_eq!(status(&check, "cold event time beyond rocprofv3"), expected, "{check:#?}");
        assert_eq!(status(&check, "cold over hot"), Fine);
    }
    let faster = concluded(8, &on(&["rocm:0"], vec![case("hot", 2.0), case("cold", 1.0)]));
    assert_eq!(status(&faster, "cold over hot"), Look);
    let absent = kernel(Err(Reason::new("rocprofv3", "not installed", "install it")));
    let check = concluded(8, &CheckEvidence { kernel_times: absent, ..on(&["rocm:0"], results()) });
    assert_eq!((check.status, status(&check, "cold event time beyond rocprofv3")), (Fine, Skipped));
}

#[test]
fn latency_rises_with_the_size() {
    let walk = |size: f64, latency: f64| {
        result(
            "cpu:0",
            "memory-latency",
            &[("size", "x")],
            Fields::new().with("size_bytes", size).with("latency_ns", latency),
        )
    };
    for (walks, expected) in [
        ([walk(1e4, 1.0), walk(1e6, 4.0), walk(1e9, 90.0)], Fine),
        ([walk(1e4, 1.0), walk(1e9, 4.0), walk(1e6, 90.0)], Look),
    ] {
        assert_eq!(status(&concluded(9, &on(&["cpu:0"], walks.to_vec())), "steps"), expected);
    }
}

#[test]
fn sparse_and_vector_rates_have_names_of_their_own() {
    let peak = |engine, sparsity| {
        let params = [("dtype", "f16"), ("engine", engine), ("sparsity", sparsity)];
        result("rocm:0", "tensor-core", &params, Fields::new().with("tflops", 1.0))
    };
    let results = vec![peak("vector", "dense"), peak("matrix", "2:4"), peak("matrix", "dense")];
    let check = concluded(11, &on(&["rocm:0"], results));
    let names: Vec<&str> = check.values.iter().map(|value| value.what.as_str()).collect();
    assert_eq!(names, ["f16, vector unit", "f16, 2:4 sparse", "f16"]);
    assert_eq!(
        (status(&check, "f16"), status(&check, "f16, 2:4 sparse")),
        (Look, Fine),
        "the dense range applies only to dense results"
    );
}

#[test]
fn transfers_are_held_against_the_link_and_both_ways_against_one() {
    let transfer = |direction, memory, rate: f64, link: Option<f64>| {
        let mut fields = Fields::new().with("bandwidth_gb_s", rate);
        if let Some(link) = link {
            fields.set("link_gb_s", link);
        }
        result(
            "rocm:0",
            "memory-transfer",
            &[("direction", direction), ("host_memory", memory)],
            fields,
        )
    };
    let gen5 = Some(63.0);
    for (what, results, expected) in [
        ("PCIe 5", vec![transfer("host-to-device", "pinned", 54.0, gen5)], Fine),
        ("half the lanes", vec![transfer("host-to-device", "pinned", 27.0, gen5)], Look),
        ("pageable", vec![transfer("host-to-device", "pageable", 9.0, gen5)], Fine),
        ("no link", vec![transfer("host-to-device", "pinned", 346.0, None)], Fine),
    ] {
        assert_eq!(concluded(13, &on(&["rocm:0"], results)).status, expected, "{what}");
    }
    for (both, expected) in [(90.0, Fine), (55.0, Look)] {
        let one_way = transfer("host-to-device", "pinned", 54.0, gen5);
        let check = concluded(
            13,
            &on(&["rocm:0"], vec![one_way, transfer("bidirectional", "pinned", both, gen5)]),
        );
        assert_eq!(status(&check, "both ways over one"), expected);
    }
}

#[test]
fn a_graph_is_not_slower_than_the_stream_of_the_same_case() {
    let decode = |mode, heads, rate: f64| {
        result(
            "rocm:0",
            "inference",
            &[("launch_mode", mode), ("heads", heads)],
            Fields::new().with("tokens_per_second", rate),
        )
    };
    for (graph, expected) in [(130.0, Fine), (80.0, Look)] {
        let others = decode("stream", "32x128", 1e6);
        let check = concluded(
            14,
            &on(
                &["rocm:0"],
                vec![others, decode("stream", "12x64", 100.0), decode("graph", "12x64", graph)],
            ),
        );
        assert_eq!(status(&check, "graph over stream"), expected, "{check:#?}");
    }
}

#[test]
fn the_same_again_may_differ_by_two_percent_on_a_card() {
    let case = |time: f64| {
        sampled(result("rocm:0", "gemm", &[("dtype", "bf16")], Fields::new()), &[time * 1e6])
    };
    for (then, now, expected) in [(100.0, 101.0, Fine), (100.0, 104.0, Look), (100.0, 90.0, Look)] {
        let mut now = case(now);
        now.timestamp = Timestamp::from_second(660).unwrap();
        let check = concluded(
            16,
            &CheckEvidence { before: vec![case(then)], ..on(&["rocm:0"], vec![now]) },
        );
        assert_eq!(status(&check, "gemm bf16, after 11 min"), expected, "{check:#?}");
    }
}
