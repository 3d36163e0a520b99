//! The table of workloads in docs/benchmarks.md, `list`, the subcommands and the GPU bench target
//! agree, as do the GPU targets and the page of references. Each workload and component has a
//! methodology page.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::common::{Bench, says};
use rsb_catalog::plan::Machine;
use rsb_engine::measure::bench;
use rsb_model::{BackendId, CaseDevice, Reason};
use rsb_model::{Profile, Suite};
use rsb_workloads::RunsOn;

fn text(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Returns the rows of the page: name, and supported devices.
fn rows() -> Vec<(String, String)> {
    let page = text("docs/benchmarks.md");
    let (_, rest) = page.split_once("<!-- benchmarks: generated -->").unwrap();
    let (table, _) = rest.split_once("<!-- benchmarks: end -->").unwrap();
    let cells = |line: &str| {
        line.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect::<Vec<_>>()
    };
    let rows = table.lines().filter(|line| line.starts_with("| `")).map(cells);
    rows.map(|cells| (cells[1].clone(), cells[3].clone())).collect()
}

fn names(rows: impl IntoIterator<Item = impl Into<String>>) -> BTreeSet<String> {
    rows.into_iter().map(Into::into).collect()
}

#[test]
fn the_page_the_list_and_the_verbs_name_the_same_workloads() {
    let documented = names(rows().into_iter().map(|(name, _)| name));
    let document = Bench::new().run("list --json").expect(0).json();
    let listed = document["benchmarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["benchmark"].as_str().unwrap());
    let is_native = |name: &&str| {
        rsb_catalog::frameworks::find(name).is_none() && *name != rusty_stack_bench::cli::ALL
    };
    let native = names(listed.filter(is_native));
    assert_eq!(documented, native);
    let command = rusty_stack_bench::cli::command();
    for name in &documented {
        assert!(command.find_subcommand(name).is_some(), "{name} is not a subcommand");
    }
}

#[test]
fn each_workload_and_component_has_its_page_of_methods() {
    let documented = rows().into_iter().map(|(name, _)| name);
    let components =
        rsb_catalog::frameworks::all().iter().map(|component| component.name.to_owned());
    let index = text("docs/methods/README.md");
    for name in documented.chain(components).chain([rsb_catalog::models::MODELS.to_owned()]) {
        let page = text(&format!("docs/methods/{name}.md"));
        let headings = page.lines().filter_map(|line| line.strip_prefix("## ")).collect::<Vec<_>>();
        let expected = [
            "What is timed",
            "How it is verified",
            "What bounds it",
            "Hold it against",
            "What it does not tell",
        ];
        assert_eq!(headings, expected, "{name}");
        assert!(
            index.contains(&format!("[{name}]({name}.md)")),
            "docs/methods/README.md has no row of {name}"
        );
    }
}

#[test]
fn the_bench_of_gpus_measures_what_the_page_says_runs_on_gpus() {
    let on_gpus =
        names(rows().into_iter().filter(|(_, on)| on.contains("GPUs")).map(|(name, _)| name));
    let reason = Reason::new("devices of ROCm", "there is no GPU", "put one in");
    let missing = vec![(BackendId::Rocm, reason.clone()), (BackendId::Cuda, reason)];
    let machine = Machine {
        devices: Vec::new(),
        missing,
        broken: Vec::new(),
        sensors: Vec::new(),
        readiness: |_| Ok(()),
    };
    let plan = bench::plan_all(
        &bench::selections_of(Suite::GpuPerformance, Profile::Quick, &machine),
        &machine,
    )
    .unwrap();
    assert!(plan.cases.is_empty());
    let skipped = |device: &str| {
        names(
            plan.skipped
                .iter()
                .filter(|one| one.0.device.to_string() == device)
                .map(|one| &one.0.benchmark),
        )
    };
    let whole = || names(["all"]);
    assert_eq!(
        skipped("cuda"),
        if cfg!(feature = "cuda") { on_gpus.clone() } else { whole() },
        "a missing build feature must be reported once"
    );
    if cfg!(feature = "rocm") {
        assert_eq!(skipped("rocm"), on_gpus, "each benchmark must report what it lacks");
    }
    // A broken library fails each case, and the bench target exits with 1.
    let torn = Machine { broken: vec![BackendId::Rocm], ..machine };
    let plan =
        bench::plan_all(&bench::selections_of(Suite::GpuPerformance, Profile::Quick, &torn), &torn)
            .unwrap();
    let failed = names(
        plan.failed
            .iter()
            .filter(|one| one.0.device == CaseDevice::Backend(BackendId::Rocm))
            .map(|one| &one.0.benchmark),
    );
    assert_eq!(failed, if cfg!(feature = "rocm") { on_gpus.clone() } else { whole() });
    assert!(plan.skipped.iter().all(|one| one.0.device != CaseDevice::Backend(BackendId::Rocm)));
    says(&text("benches/gpu_performance.rs"), &["bench::suite(rsb_model::Suite::GpuPerformance)"]);
    assert!(text("Cargo.toml").contains("name = \"gpu_performance\"\nharness = false"));
    for expected in [
        "tensor-core",
        "memory-transfer",
        "memory-tiers",
        "launch-latency",
        "occupancy",
        "multi-gpu",
    ] {
        assert!(on_gpus.contains(expected), "{expected}");
    }
}

#[test]
fn suites_hold_what_their_machines_can_run() {
    let hosts: Vec<&str> = rsb_workloads::all()
        .iter()
        .filter(|benchmark| matches!(benchmark.info().runs_on, RunsOn::Host(_)))
        .map(|benchmark| benchmark.name())
        .collect();
    assert!(hosts.contains(&"kernel-compilation"));
    let all = names(rsb_workloads::all().iter().map(|benchmark| benchmark.name()));
    for (suite, holds) in [
        (Suite::PreInstallation, true),
        (Suite::Full, true),
        (Suite::GpuPerformance, false),
        (Suite::CpuPerformance, false),
        (Suite::Quick, false),
    ] {
        let found = rsb_catalog::suites::benchmarks(suite);
        assert!(hosts.iter().all(|name| found.contains(name) == holds), "{}", suite.as_str());
        assert_eq!(names(found) == all, holds, "{}", suite.as_str());
    }
    let gpus = |suite: Suite| rsb_catalog::suites::benchmarks(suite).contains(&"launch-latency");
    assert!(gpus(Suite::GpuPerformance) && gpus(Suite::Quick) && !gpus(Suite::CpuPerformance));
}

#[test]
fn targets_for_gpus_stand_beside_what_was_achieved_elsewhere() {
    let policy: rsb_stats::PolicyFile = toml::from_str(&text("baselines/policy.toml")).unwrap();
    let references = text("docs/references.md");
    let for_gpus: Vec<_> =
        policy.target.iter().filter(|target| target.id.starts_with("gpu_performance/")).collect();
    for (benchmark, metric, above) in [
        ("tensor-core", "roofline_percent", 80.0),
        ("memory-transfer", "link_percent", 90.0),
        ("multi-gpu", "efficiency", 0.8),
    ] {
        let of_benchmark = for_gpus.iter().filter(|target| target.id.contains(benchmark));
        let asked: Vec<_> = of_benchmark.filter(|target| target.metric == metric).collect();
        assert!(
            !asked.is_empty() && asked.iter().all(|target| target.above == Some(above)),
            "{benchmark}"
        );
    }
    for reference in for_gpus.iter().filter_map(|target| target.reference.as_deref()) {
        let shares = reference.split([' ', ',']).zip(reference.split([' ', ',']).skip(1));
        for (figure, _) in shares.filter(|(_, unit)| *unit == "%") {
            assert!(
                references.contains(&format!("| {figure} % |")),
                "{figure} % of `{reference}` is not on the page"
            );
        }
    }
}
