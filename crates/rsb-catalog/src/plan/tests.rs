//! Tests of plans for small machines.

use rsb_model::DeviceRef;

use super::*;
use crate::custom::OwnBenchmark;
use rsb_model::Profile;

fn machine() -> Machine {
    let device = DeviceInfo {
        units: 2,
        usable_memory_bytes: 8 << 30,
        ..DeviceInfo::new(DeviceRef::CPU, "test", DeviceType::Cpu)
    };
    let reason = Reason::new("backend rocm", "no driver", "install one");
    let readiness = |name: &str| Err(Reason::new(name, "it is not installed", "install it"));
    Machine {
        devices: vec![device],
        missing: vec![(BackendId::Rocm, reason)],
        broken: Vec::new(),
        sensors: Vec::new(),
        readiness,
    }
}

fn selection(names: &[&str], suite: Suite) -> Selection {
    Selection {
        names: names.iter().map(|&name| name.to_owned()).collect(),
        ..Selection::new(suite, Profile::Quick)
    }
}

#[test]
fn a_suite_runs_what_is_here_and_says_what_is_not() {
    let quick = plan(&selection(&[], Suite::Quick), &machine()).unwrap();
    assert!(quick.cases.len() > 10);
    assert!(quick.skipped.iter().any(|(case, _)| case.id.as_str() == "gpu_performance/all/rocm"));
    let gpu = plan(&selection(&[], Suite::GpuPerformance), &machine()).unwrap();
    assert!(gpu.cases.is_empty() && !gpu.skipped.is_empty());
    let component = plan(&selection(&[], Suite::Component), &machine()).unwrap();
    assert!(component.cases.is_empty());
    assert_eq!(component.skipped.len(), frameworks::all_and_models().count());
}

#[test]
fn components_that_are_here_are_planned_where_frameworks_run() {
    let ready = Machine { readiness: |_| Ok(()), ..machine() };
    let ids = |backend: Option<BackendId>, axes: &[(&str, &str)]| {
        let axes = axes
            .iter()
            .map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()]))
            .collect();
        let asked = Selection {
            backends: Vec::from_iter(backend),
            axes,
            ..selection(&["pytorch"], Suite::Quick)
        };
        let plan = plan(&asked, &ready).unwrap();
        let of = |case: &Case| case.id.to_string();
        (
            plan.cases.iter().map(of).collect::<Vec<_>>(),
            plan.skipped.iter().map(|(case, _)| of(case)).collect::<Vec<_>>(),
        )
    };
    let (here, skipped) = ids(None, &[("workload", "matmul"), ("shape", "64x64x64")]);
    assert_eq!(
        (here, skipped.len()),
        (vec!["component_specific/pytorch/cpu:0/matmul/f32/64x64x64".to_owned()], 0)
    );
    let (on_gpus, _) = ids(Some(BackendId::Cuda), &[("workload", "matmul")]);
    assert!(!on_gpus.is_empty() && on_gpus.iter().all(|id| id.contains("/cuda:0/")), "{on_gpus:?}");
    assert_eq!(
        ids(Some(BackendId::Vulkan), &[]),
        (Vec::new(), vec!["component_specific/pytorch".to_owned()])
    );
}

#[test]
fn a_backend_asked_for_by_name_skips_each_benchmark() {
    let asked = Selection {
        backends: vec![BackendId::Rocm],
        ..selection(&["gemm", "tensor-ops"], Suite::Quick)
    };
    let plan = plan(&asked, &machine()).unwrap();
    assert!(plan.cases.is_empty());
    let ids: Vec<&str> = plan.skipped.iter().map(|(case, _)| case.id.as_str()).collect();
    assert_eq!(ids, ["gpu_performance/gemm/rocm", "gpu_performance/tensor-ops/rocm"]);
}

#[test]
fn what_would_run_through_a_broken_library_fails() {
    let broken = Machine { broken: vec![BackendId::Rocm], ..machine() };
    let asked = Selection { backends: vec![BackendId::Rocm], ..selection(&["gemm"], Suite::Quick) };
    let found = plan(&asked, &broken).unwrap();
    assert_eq!((found.cases.len(), found.skipped.len(), found.failed.len()), (0, 0, 1));
    let quick = plan(&selection(&[], Suite::Quick), &broken).unwrap();
    assert!(quick.cases.len() > 10, "CPU cases must still be planned");
    let ended: Vec<_> =
        quick.without_figures().filter(|(_, outcome, _)| *outcome == Outcome::Failed).collect();
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].0.id.as_str(), "gpu_performance/all/rocm");
}

#[test]
fn mistakes_are_named_with_the_cure() {
    let message = |selection: Selection| plan(&selection, &machine()).unwrap_err().to_string();
    assert!(message(selection(&["gem"], Suite::Quick)).contains("did you mean `gemm`?"));
    assert!(!message(selection(&["zzz"], Suite::Quick)).contains("did you mean"));
    let axis = Selection {
        axes: vec![("color".into(), vec!["red".into()])],
        ..selection(&["gemm"], Suite::Quick)
    };
    assert!(message(axis).contains("shape"), "the error must list the axes that exist");
    let value = Selection {
        axes: vec![("dtype".into(), vec!["f33".into()])],
        ..selection(&["gemm"], Suite::Quick)
    };
    assert!(message(value).contains("f33"));
    let device = Selection { devices: vec![7], ..selection(&["gemm"], Suite::Quick) };
    assert!(message(device).contains("cpu:0"));
    assert!(message(selection(&[], Suite::Custom)).contains("[[custom]]"));
}

#[test]
fn what_runs_on_gpus_alone_says_what_is_missing_when_it_is_named() {
    let ids = |selection: &Selection| {
        let plan = plan(selection, &machine()).unwrap();
        assert!(plan.cases.is_empty());
        plan.skipped
            .iter()
            .map(|(case, reason)| (case.id.to_string(), reason.why.clone()))
            .collect::<Vec<_>>()
    };
    let named = selection(&["launch-latency"], Suite::Quick);
    let rocm = ("gpu_performance/launch-latency/rocm".to_owned(), "no driver".to_owned());
    assert_eq!(ids(&named), std::slice::from_ref(&rocm));
    assert_eq!(ids(&Selection { backends: vec![BackendId::Rocm], ..named.clone() }), [rocm]);
    let quick = plan(&selection(&[], Suite::Quick), &machine()).unwrap();
    assert!(
        quick.skipped.iter().all(|(case, _)| case.benchmark != "launch-latency"),
        "a suite must report each backend once"
    );
}

#[test]
fn several_backends_are_planned_together_and_each_case_once() {
    let of = |backends: &[BackendId]| {
        let named = selection(&["gemm", "kernel-compilation"], Suite::Quick);
        plan(&Selection { backends: backends.to_vec(), ..named }, &machine()).unwrap()
    };
    let cpu = of(&[BackendId::Cpu]);
    let rocm = of(&[BackendId::Rocm]);
    let both = of(&[BackendId::Rocm, BackendId::Cpu]);
    let ids = |plan: &Plan| {
        let mut ids: Vec<String> = plan.cases.iter().map(|case| case.id.to_string()).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(ids(&both), ids(&cpu), "the cases of the host must not be planned twice");
    assert_eq!(both.skipped.len(), rocm.skipped.len() + cpu.skipped.len());
    assert_eq!(both.devices.len(), 1);
}

#[test]
fn what_needs_no_gpu_is_planned_on_the_host() {
    for backend in [None, Some(BackendId::Cpu), Some(BackendId::Rocm), Some(BackendId::Cuda)] {
        let named = Selection {
            backends: Vec::from_iter(backend),
            ..selection(&["kernel-compilation"], Suite::Quick)
        };
        let plan = plan(&named, &machine()).unwrap();
        assert!(!plan.cases.is_empty() && plan.skipped.is_empty(), "{backend:?}");
        assert!(plan.cases.iter().all(|case| case.device == DeviceRef::CPU.into()));
    }
    let listed = CustomEntry { benchmark: "kernel-compilation".to_owned(), axes: Vec::new() };
    let entries = Selection { custom: vec![listed], ..selection(&[], Suite::Custom) };
    assert!(
        !plan(&entries, &machine()).unwrap().cases.is_empty(),
        "a custom entry must be planned like a named benchmark"
    );
    let vulkan = Selection {
        backends: vec![BackendId::Vulkan],
        ..selection(&["kernel-compilation"], Suite::Quick)
    };
    let planned = plan(&vulkan, &machine()).unwrap();
    let [(_, reason)] = planned.skipped.as_slice() else { panic!("{planned:?}") };
    assert!(planned.cases.is_empty() && reason.cure.contains("choose cpu"), "{reason}");
}

#[test]
fn what_runs_on_the_cpu_alone_has_no_cases_on_other_backends() {
    let planned = |backend| {
        let named = selection(&["memory-allocation"], Suite::Quick);
        plan(&Selection { backends: Vec::from_iter(backend), ..named }, &machine()).unwrap()
    };
    for backend in [None, Some(BackendId::Cpu)] {
        let found = planned(backend);
        assert!(!found.cases.is_empty() && found.skipped.is_empty(), "{backend:?}: {found:?}");
    }
    for backend in [BackendId::Rocm, BackendId::Opencl] {
        let found = planned(Some(backend));
        let [(_, reason)] = found.skipped.as_slice() else { panic!("{backend}: {found:?}") };
        assert!(found.cases.is_empty(), "{backend}: {found:?}");
        assert!(reason.why.contains("only runs on the CPU"), "{backend}: {reason}");
    }
}

#[test]
fn what_is_not_for_the_backend_asked_for_says_so() {
    let on = |name: &str, backend| {
        let planned = plan(
            &Selection { backends: Vec::from_iter(backend), ..selection(&[name], Suite::Quick) },
            &machine(),
        )
        .unwrap();
        assert!(planned.cases.is_empty());
        planned
            .skipped
            .iter()
            .map(|(case, reason)| format!("{} {reason}", case.id))
            .collect::<Vec<_>>()
            .join(";")
    };
    let own = on("launch-latency", Some(BackendId::Cpu));
    assert!(own.contains("launch-latency/cpu ") && own.contains("--backend rocm"), "{own}");
    for backend in [None, Some(BackendId::Rocm)] {
        let missing = on("launch-latency", backend);
        assert!(
            missing.contains("launch-latency/rocm ") && missing.contains("no driver"),
            "{missing}"
        );
        assert!(!missing.contains(';'), "the reason must appear exactly once: {missing}");
    }
}

#[test]
fn little_memory_is_told_where_arrays_are_smaller_for_it() {
    let little = || {
        let mut machine = machine();
        machine.devices[0].usable_memory_bytes = 1 << 29;
        machine
    };
    let notes = |name: &str| plan(&selection(&[name], Suite::Quick), &little()).unwrap().notes;
    assert!(notes("memory-bandwidth")[0].to_string().contains("free memory"));
    assert_eq!(notes("gemm"), []);
}

#[test]
fn sensors_are_watched_before_any_runtime_is_installed() {
    let shown =
        Machine { sensors: vec!["0000:03:00.0".into(), "0000:83:00.0".into()], ..machine() };
    let ids = |machine: &Machine, selection: &Selection| {
        let plan = plan(selection, machine).unwrap();
        plan.cases.iter().map(|case| case.id.to_string()).collect::<Vec<_>>()
    };
    let named = selection(&["smi-metrics"], Suite::Quick);
    let both = ids(&shown, &named);
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(both[1].ends_with("smi-metrics/cpu:0/idle/gpu=0000:83:00.0"), "{both:?}");
    assert_eq!(ids(&shown, &Selection { backends: vec![BackendId::Rocm], ..named.clone() }), both);
    assert!(ids(&machine(), &named).is_empty());
    let before = ids(&shown, &selection(&[], Suite::PreInstallation));
    assert!(both.iter().all(|id| before.contains(id)), "{before:?}");
    let mut gpu = machine().devices.swap_remove(0);
    gpu.device = "rocm:0".parse().unwrap();
    gpu.pci_address = Some("0000:03:00.0".into());
    let reached = Machine { devices: [shown.devices.clone(), vec![gpu]].concat(), ..shown };
    let found = ids(&reached, &Selection { backends: vec![BackendId::Rocm], ..named });
    assert!(
        found[0].contains("smi-metrics/rocm:0/idle") && found[2].ends_with("0000:83:00.0"),
        "{found:?}"
    );
    assert_eq!(
        (found.len(), found[1].contains("/compute")),
        (3, true),
        "a GPU gets work only if a runtime reaches it: {found:?}"
    );
}

#[test]
fn smi_metrics_without_a_gpu_names_the_gpu_and_its_driver() {
    let named = selection(&["smi-metrics"], Suite::Quick);
    for backend in [None, Some(BackendId::Cpu), Some(BackendId::Rocm)] {
        let plan =
            plan(&Selection { backends: Vec::from_iter(backend), ..named.clone() }, &machine())
                .unwrap();
        assert!(plan.cases.is_empty(), "{backend:?}");
        let [(case, reason)] = plan.skipped.as_slice() else {
            panic!("{backend:?}: {:?}", plan.skipped)
        };
        assert_eq!(case.benchmark, "smi-metrics");
        assert_eq!(
            reason.to_string(),
            "GPU sensors: smi-metrics reads them from an AMD, NVIDIA or Intel GPU through its \
             kernel driver (amdgpu, nvidia, \
             i915 or xe) (run it on a machine with such a GPU, without --backend cpu; \
             `rusty-stack-bench doctor` shows the \
             GPUs and drivers found here)"
        );
    }
}

#[test]
fn an_axis_concerns_the_benchmarks_that_have_it() {
    let shaped = Selection {
        axes: vec![("shape".into(), vec!["64x64x64".into()])],
        ..selection(&["gemm", "memory-bandwidth"], Suite::Quick)
    };
    let plan = plan(&shaped, &machine()).unwrap();
    let gemm: Vec<&str> = plan
        .cases
        .iter()
        .filter(|case| case.benchmark == "gemm")
        .map(|case| case.id.as_str())
        .collect();
    assert!(gemm.iter().all(|id| id.contains("64x64x64")), "{gemm:?}");
    assert!(plan.cases.iter().any(|case| case.benchmark == "memory-bandwidth"));
}

#[test]
fn benchmarks_that_somebody_brings_are_planned_with_their_targets() {
    let prepare = |_: &Params| {
        Err(rsb_workloads::Failure::Skipped(Reason::new("case", "it is for a test", "none")))
    };
    let target = rsb_stats::policy_file::TargetFile {
        id: "*".to_owned(),
        metric: "time_ms".to_owned(),
        above: None,
        below: Some(5.0),
        fail: false,
        reference: None,
    };
    let own = || OwnBenchmark::new("plan-test-sum", "for a test", Box::new(prepare));
    let values = ["10", "20"].map(str::to_owned).to_vec();
    own().axis("n", values).target(target).register().unwrap();
    let planned = plan(&selection(&["plan-test-sum"], Suite::Quick), &machine()).unwrap();
    let ids: Vec<&str> = planned.cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(
        ids,
        ["cpu_performance/plan-test-sum/cpu:0/n=10", "cpu_performance/plan-test-sum/cpu:0/n=20"]
    );
    assert!(crate::custom::targets().iter().any(|target| target.id == "*/plan-test-sum/*"));
    let again = own().register().unwrap_err().to_string();
    assert!(again.contains("already"), "{again}");
}

#[test]
fn the_stored_selection_does_not_depend_on_the_order_of_requests() {
    let axis = |name: &str, values: &[&str]| {
        (name.to_owned(), values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>())
    };
    let record = |backends: [BackendId; 2], axes: Vec<(String, Vec<String>)>| {
        let asked =
            Selection { backends: backends.to_vec(), axes, ..selection(&["gemm"], Suite::Quick) };
        plan(&asked, &machine()).unwrap().selection
    };
    let one = record(
        [BackendId::Cpu, BackendId::Rocm],
        vec![axis("dtype", &["f32", "f64"]), axis("shape", &["64x64x64"])],
    );
    let same = record(
        [BackendId::Rocm, BackendId::Cpu],
        vec![axis("shape", &["64x64x64"]), axis("dtype", &["f64", "f32"])],
    );
    assert_eq!(one, same);
    assert_ne!(one, record([BackendId::Rocm, BackendId::Cpu], vec![axis("dtype", &["f64"])]));
    assert!(plan(&selection(&[], Suite::Quick), &machine()).unwrap().selection.is_empty());
}
