use rsb_model::{DeviceType, Outcome};

use super::{ColumnRole, Entry, Hardware, group_by_hardware, markdown, text};
use crate::chart::ChartPlace;
use crate::charts;
use crate::report::{self, Report};
use crate::sample_backends::{device, figure_on as figure, gpu_run as gpu, run_of};
use crate::{Color, Style, run};

const WIDE: Style = Style { color: Color::Never, width: 160 };

const LARGE: &str = "gemm/f32/4096x4096x4096";
const BUS: Option<&str> = Some("0000:03:00.0");

fn speeds(hardware: &Hardware<'_>, benchmark: &str) -> Vec<Option<f64>> {
    let row = hardware.rows.iter().find(|row| row.benchmark == benchmark).unwrap();
    let speed = |cell: &Entry<'_>| match cell {
        Entry::Figure { speed, .. } => *speed,
        _ => None,
    };
    row.cells.iter().map(speed).collect()
}

#[test]
fn a_gpu_through_three_runtimes_is_one_gpu_with_three_results() {
    let run = gpu();
    let all = group_by_hardware(&run);
    let [hardware] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(hardware.title, "AMD Radeon RX 7900 XTX at 0000:03:00.0");
    let headings: Vec<_> =
        hardware.columns.iter().map(|column| (column.heading.as_str(), column.standing)).collect();
    let expected = [
        ("rocm", ColumnRole::Native),
        ("vulkan", ColumnRole::Other),
        ("opencl", ColumnRole::Other),
        ("cpu", ColumnRole::Aside),
    ];
    assert_eq!(headings, expected);
    assert_eq!(
        speeds(hardware, "gemm"),
        [Some(1.0), Some(0.25), Some(1.25), None],
        "the CPU is not ranked"
    );
    assert_eq!(
        speeds(hardware, "launch-latency"),
        [Some(1.0), Some(0.25), None, None],
        "a longer time is slower"
    );
    assert_eq!(
        speeds(hardware, "memory-bandwidth"),
        [None, Some(1.0), Some(0.5), None],
        "without a reference, the best backend is the reference"
    );
}

#[test]
fn what_people_see_of_it() {
    insta::assert_snapshot!("backends_text", text(&gpu(), WIDE));
    insta::assert_snapshot!("backends_narrow", text(&gpu(), Style { width: 80, ..WIDE }));
    insta::assert_snapshot!("backends_markdown", markdown(&gpu(), "![the chart](x.svg)\n\n"));
    let run = gpu();
    let report = Report::new(&run);
    let links: Vec<_> = charts::all(&report).iter().map(|chart| chart.link("charts")).collect();
    assert_eq!(
        links.iter().filter(|link| link.place == ChartPlace::Backends).count(),
        1,
        "one chart for the table"
    );
    let whole = report::markdown(&report, &links);
    assert!(
        whole.contains("## Backends compared") && whole.contains("charts/backends-amd-radeon"),
        "{whole}"
    );
    assert!(run::text(&run, WIDE).contains("Backends on AMD Radeon RX 7900 XTX"));
}

#[test]
fn narrow_terminals_lose_figures_and_no_comparison() {
    let narrow = text(&gpu(), Style { width: 60, ..WIDE });
    assert!(narrow.matches("0.25×").count() == 2 && !narrow.contains("6.00 TFLOP/s"), "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    let colored = text(&gpu(), Style { color: Color::Always, width: 160 });
    assert!(
        colored.contains("24.0 TFLOP/s 1.00×"),
        "color codes must not count as width: {colored}"
    );
}

#[test]
fn drivers_on_the_cpu_are_compared_with_it_and_called_so() {
    let cpu = |id: &str, name: &str| device(id, name, DeviceType::Cpu, None);
    let devices = vec![
        cpu("vulkan:0", "llvmpipe (LLVM 15)"),
        cpu("opencl:0", "cpu-haswell (PoCL)"),
        cpu("opencl:1", "Intel CPU (Intel(R) OpenCL)"),
        cpu("cpu:0", "AMD EPYC"),
    ];
    let results = ["cpu:0", "vulkan:0", "opencl:0", "opencl:1"]
        .map(|device| figure(device, LARGE, "gflops", 50.0));
    let run = run_of(devices, results.into());
    let all = group_by_hardware(&run);
    let [hardware] = all.as_slice() else { panic!("{all:?}") };
    let headings: Vec<_> = hardware.columns.iter().map(|column| column.heading.as_str()).collect();
    assert_eq!(
        headings,
        ["cpu", "vulkan", "opencl:0", "opencl:1"],
        "devices that one backend lists twice get different headings"
    );
    assert_eq!(hardware.rows.len(), 1, "a different thread count must not add a row");
    assert_eq!(speeds(hardware, "gemm"), [Some(1.0); 4]);
    assert!(text(&run, WIDE).contains("every device here is the CPU"));
}

#[test]
fn what_is_simulated_is_shown_and_never_ranked() {
    let mut run = gpu();
    for result in
        run.benchmarks.iter_mut().filter(|result| result.benchmark_id.as_str().contains("rocm:0"))
    {
        result.outcome = Outcome::Simulated;
    }
    let all = group_by_hardware(&run);
    assert_eq!(
        speeds(&all[0], "gemm"),
        [None, Some(0.2), Some(1.0), None],
        "the other backends are relative to the best of them"
    );
    assert!(text(&run, WIDE).contains("24.0 TFLOP/s sim."), "{}", text(&run, WIDE));
    for device in &mut run.devices {
        device.device_type = DeviceType::Simulated;
    }
    for result in &mut run.benchmarks {
        result.outcome =
            if result.outcome == Outcome::Measured { Outcome::Simulated } else { result.outcome };
    }
    let text = text(&run, WIDE);
    assert!(text.contains("not ranked") && !text.contains('×'), "{text}");
    assert!(charts::backends(&run).is_empty());
}

#[test]
fn twins_stay_apart_and_one_way_alone_is_no_comparison() {
    let gpu =
        |id: &str, bus: Option<&'static str>| device(id, "AMD Instinct", DeviceType::Gpu, bus);
    let other = Some("0000:c3:00.0");
    let devices = || {
        vec![
            gpu("rocm:0", BUS),
            gpu("rocm:1", other),
            gpu("vulkan:0", other),
            gpu("opencl:0", None),
        ]
    };
    let results =
        |ids: &[&str]| ids.iter().map(|id| figure(id, LARGE, "gflops", 10.0)).collect::<Vec<_>>();
    let run = run_of(devices(), results(&["rocm:0", "rocm:1", "vulkan:0"]));
    let all = group_by_hardware(&run);
    assert_eq!(all.len(), 1, "a GPU with a single backend must be left out: {all:?}");
    assert_eq!(
        all[0].columns.iter().map(|column| column.device.to_string()).collect::<Vec<_>>(),
        ["rocm:1", "vulkan:0"]
    );
    let alone = run_of(devices(), results(&["rocm:0", "rocm:1"]));
    assert_eq!((text(&alone, WIDE), markdown(&alone, "picture")), (String::new(), String::new()));
    assert!(charts::backends(&alone).is_empty());
}
