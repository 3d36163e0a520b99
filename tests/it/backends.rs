//! The suite that compares backends, on the installed drivers, such as lavapipe and PoCL.

use crate::common::backend::{covers, is_here, verified};
use crate::common::{Bench, SMALL, words};

#[test]
fn one_hardware_through_every_backend_stands_in_one_table_and_one_chart() {
    let here: Vec<&str> =
        ["vulkan", "opencl"].into_iter().filter(|backend| is_here(backend)).collect();
    if here.is_empty() {
        return;
    }
    let bench = Bench::new();
    let suite = words("run --suite hardware-acceleration --axis dtype=f32 --axis size=1MiB --json");
    let run = bench.run(&[suite.as_slice(), SMALL.as_slice()].concat()).expect(0).json();
    let results = verified(&run);
    for backend in &here {
        let at = format!("/{backend}:");
        let own: Vec<_> = results
            .iter()
            .filter(|one| one["benchmark_id"].as_str().unwrap().contains(&at))
            .cloned()
            .collect();
        covers(&own, &["compute-peak", "memory-bandwidth", "gemm", "tensor-ops"]);
    }
    let devices = run["devices"].as_array().unwrap();
    let of = |backend: &str| {
        devices.iter().filter(|one| one["device"].as_str().unwrap().starts_with(backend)).count()
    };
    assert_eq!(of("cpu:"), 1);
    assert!(here.iter().all(|backend| of(backend) > 0), "{devices:?}");
    assert!(devices.iter().all(|one| one["name"].is_string() && one["device_type"].is_string()));
    let mut drivers =
        devices.iter().filter(|one| !one["device"].as_str().unwrap().starts_with("cpu:"));
    assert!(
        drivers.all(|one| {
            let driver = &run["environment"]["drivers"][one["device"].as_str().unwrap()];
            driver == &one["driver"] && driver.as_str().is_some_and(|text| text.contains('.'))
        }),
        "each device must name its driver and the version: {devices:?}"
    );
    let on_cpu = devices.iter().filter(|one| one["device_type"] == "cpu").count();
    if on_cpu < 2 {
        return;
    }
    let text = bench.run("report --format text").expect(0).stdout;
    assert!(text.contains("Backends on the CPU"), "{text}");
    assert!(
        text.contains("every device here is the CPU"),
        "the report must say that all devices are the CPU: {text}"
    );
    let markdown = bench.run("report --output -").expect(0).stdout;
    let (_, section) = markdown.split_once("## Backends compared").unwrap();
    for benchmark in ["compute-peak", "memory-bandwidth", "gemm", "tensor-ops", "convolution"] {
        let row =
            section.lines().find(|line| line.starts_with(&format!("| {benchmark} "))).unwrap();
        assert!(
            row.matches('\u{d7}').count() >= 2,
            "at least two backends must have a ratio: {row}"
        );
    }
    bench.run("report --format svg --output charts").expect(0);
    let charts = std::fs::read_dir(bench.path("charts")).unwrap();
    let names: Vec<String> =
        charts.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(names.iter().filter(|name| name.starts_with("backends-")).count(), 1, "{names:?}");
}

#[test]
fn the_suite_takes_an_axis_for_those_that_have_it_and_refuses_one_that_none_has() {
    let plan = words("run --suite hardware-acceleration --backend cpu --dry-run --json");
    let bench = Bench::new();
    let of = |axis: &str| bench.run(&[plan.as_slice(), &["--axis", axis]].concat());
    assert_eq!(
        of("shape=64x64x64").code,
        2,
        "a shape of three sizes must be refused for a tensor operation"
    );
    let document = of("dtype=f64").expect(0).json();
    let cases = document["cases"].as_array().unwrap();
    let ids: Vec<&str> = cases.iter().map(|case| case["id"].as_str().unwrap()).collect();
    assert!(!ids.is_empty() && ids.iter().all(|id| id.contains("/f64")), "{ids:?}");
    assert!(of("color=red").expect(2).stderr.contains("color"));
}
