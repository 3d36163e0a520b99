//! `chart`: the runs of the gallery, errors, and hostile names.

use crate::common::Bench;

/// Returns the path of a file of the gallery.
fn of_gallery(name: &str) -> String {
    format!("{}/docs/gallery/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_command_beside_each_picture_of_the_gallery_draws_it() {
    let bench = Bench::new();
    let gallery = std::fs::read_to_string(of_gallery("../gallery.md")).unwrap();
    let rows: Vec<(&str, &str)> = gallery
        .lines()
        .filter_map(|line| {
            let (picture, rest) = line.split_once("](gallery/")?.1.split_once(") |")?;
            let command = rest.split_once("`chart ")?.1.split_once('`')?.0;
            Some((picture, command))
        })
        .collect();
    assert!(rows.len() >= 26, "{}", rows.len());
    for (at, (picture, command)) in rows.into_iter().enumerate() {
        let out = bench.path(&format!("charts-{at}"));
        let command = command.replace("docs/gallery", &of_gallery(""));
        let words = ["--format", "svg", "--output", out.to_str().unwrap()];
        let command: Vec<&str> = command.split(' ').chain(words).collect();
        bench.run(&[&["chart"], &command[..]].concat()).expect(0);
        // Several charts are a directory.
        let drawn = std::fs::read_dir(&out).map_or_else(
            |_| vec![out.clone()],
            |files| files.map(|file| file.unwrap().path()).collect(),
        );
        let expected = std::fs::read_to_string(of_gallery(picture)).unwrap();
        let is_drawn = |path| std::fs::read_to_string(path).unwrap() == expected;
        assert!(drawn.iter().any(is_drawn), "{picture}");
    }
}

#[test]
fn the_ending_of_the_file_chooses_the_format() {
    let bench = Bench::new();
    let words = ["chart", "backends", &of_gallery("backends.json"), "--output"];
    for (name, start) in [("a.svg", "<svg"), ("a.html", "<!DOCTYPE html>"), ("a.txt", "")] {
        bench.run(&[&words[..], &[name]].concat()).expect(0);
        let text = std::fs::read_to_string(bench.path(name)).unwrap();
        assert!(text.to_lowercase().starts_with(&start.to_lowercase()), "{name}: {text}");
        assert_eq!(text.contains("</svg>"), !start.is_empty(), "{name}");
    }
}

#[cfg(feature = "png")]
#[test]
fn one_chart_as_png_is_a_file_and_several_are_a_directory() {
    let bench = Bench::new();
    let run = of_gallery("frameworks.json");
    let words = ["chart", "stacked-bar", &run, "--format", "png"];
    let one = [&words[..], &["--metric", "time_ms", "--output"]].concat();
    let is_png =
        |name: &str| std::fs::read(bench.path(name)).unwrap().starts_with(b"\x89PNG\r\n\x1a\n");
    bench.run(&[&one[..], &["step.png"]].concat()).expect(2);
    bench.run(&[&words[..], &["--output", "charts"]].concat()).expect(0);
    for file in std::fs::read_dir(bench.path("charts")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(
            std::path::Path::new(&name).extension() == Some("png".as_ref())
                && is_png(&format!("charts/{name}")),
            "{name}"
        );
    }
    let one = ["chart", "memory-heat-map", &run, "--format", "png"];
    assert!(bench.run(&one).expect(2).stderr.contains("--output FILE"));
    bench.run(&[&one[..], &["--output", "memory.png"]].concat()).expect(0);
    assert!(is_png("memory.png"));
}

#[cfg(not(feature = "png"))]
#[test]
fn a_build_without_png_names_the_feature_and_what_it_has() {
    let run = of_gallery("frameworks.json");
    let ended = Bench::new()
        .run(&["chart", "memory-timeline", &run, "--format", "png", "--output", "x.png"])
        .expect(2);
    crate::common::says(&ended.stderr, &["--features png", "--format svg"]);
}

#[test]
fn what_cannot_be_drawn_says_what_would_give_it() {
    let bench = Bench::new();
    let run = of_gallery("cpu-before.json");
    for (words, cure) in [
        (&["chart", "memory-timeline", &run][..], "this chart needs pytorch"),
        (&["chart", "pie", &run], "roofline"),
        (&["chart", "bar", &run, "--metric", "speed"], "bandwidth_gb_s"),
        (&["chart", "delta", &run], "--against previous"),
        (&["chart", "bar", "--input", "x.csv"], "trend"),
    ] {
        let ended = bench.run(words).expect(2);
        assert!(ended.stderr.contains(cure), "{words:?}: {}", ended.stderr);
    }
    bench.write("rusty-stack-bench.toml", "[charts]\ntheme = \"drak\"\n");
    let listed = bench.run("chart").expect(2);
    assert!(
        listed.stderr.contains("high-contrast"),
        "the list must be shown even with invalid settings: {}",
        listed.stderr
    );
}

#[test]
fn without_a_kind_only_what_the_latest_run_can_draw_is_listed() {
    let bench = Bench::new();
    let run: serde_json::Value =
        serde_json::from_str(include_str!("../../docs/gallery/cpu-before.json")).unwrap();
    bench.write_sealed("benchmark_results/runs/one.json", &run);
    let listed = bench.run("chart").expect(0).stdout;
    assert!(listed.contains("chart gauge --benchmark gemm"), "{listed}");
    for absent in ["sensors", "models", "trend", "before-after"] {
        assert!(!listed.contains(&format!("chart {absent}")), "{absent}: {listed}");
    }
}

#[test]
fn hostile_names_stay_text_in_every_form() {
    let bench = Bench::new();
    let csv = "timestamp,value,id\n1,5,<script>alert(1)</script>\u{1b}[2J\n2,6,<script>alert(1)</script>\u{1b}[2J\n";
    std::fs::write(bench.path("x.csv"), csv).unwrap();
    for format in ["text", "svg", "html"] {
        let drawn =
            bench.run(&["chart", "trend", "--input", "x.csv", "--format", format]).expect(0).stdout;
        assert!(!drawn.contains('\u{1b}') && drawn.contains("script"), "{drawn}");
        assert!(format == "text" || !drawn.contains("<script"), "{drawn}");
    }
}

#[test]
fn simulated_results_are_drawn_on_request_and_say_so() {
    let bench = Bench::new();
    let run = of_gallery("fake-gpu.json");
    let refused = bench.run(&["chart", "bar", &run]).expect(2).stderr;
    assert!(refused.contains("--simulated draws it"), "{refused}");
    let drawn = bench.run(&["chart", "bar", &run, "--simulated"]).expect(0).stdout;
    assert!(drawn.contains("(simulated)") && drawn.contains("SIMULATED, not measured"), "{drawn}");
    let report = ["report", &run, "--format", "html", "--no-data", "--output", "-"];
    assert!(!bench.run(&report).expect(0).stdout.contains("<svg"));
    let page = bench.run(&[&report[..], &["--simulated"]].concat()).expect(0).stdout;
    assert!(page.contains("<svg") && page.contains("(simulated)"));
}

/// Stores the cases of `benchmark` from a run of the gallery as the run `name`, measured in `hour`.
fn store(bench: &Bench, name: &str, hour: u32, benchmark: &str, usable_cores: u32) {
    let text = std::fs::read_to_string(of_gallery("cpu.json")).unwrap();
    let mut run: serde_json::Value = serde_json::from_str(&text).unwrap();
    run["run_id"] = name.into();
    run["sequence"] = hour.into();
    run["started"] = format!("2026-11-23T0{hour}:00:00Z").into();
    run["environment"]["cpu"]["usable_cores"] = usable_cores.into();
    run["benchmarks"].as_array_mut().unwrap().retain(|case| case["category"] == benchmark);
    bench.write_sealed(&format!("benchmark_results/runs/{name}.json"), &run);
}

#[test]
fn a_chart_across_runs_has_the_results_of_earlier_runs() {
    let bench = Bench::new();
    store(&bench, "first", 2, "gemm", 2);
    store(&bench, "second", 3, "precision", 2);
    let words = ["chart", "gauge", "--benchmark", "gemm"];
    bench.run(&words).expect(2);
    let drawn = bench.run(&[&words[..], &["--across-runs"]].concat()).expect(0).stdout;
    assert!(drawn.contains("gemm: roofline up to 95.6 %"), "{drawn}");
    bench.run("chart trend --across-runs").expect(2);
}

#[test]
fn machines_are_compared_by_the_cases_that_they_share() {
    let bench = Bench::new();
    store(&bench, "first", 2, "gemm", 2);
    bench.run("chart machines").expect(2);
    store(&bench, "second", 3, "gemm", 1);
    let drawn = bench.run("chart machines").expect(0).stdout;
    assert!(drawn.contains("relative to the fastest machine"), "{drawn}");
}

/// Returns the field that contains the value of `axis`. The field's name may differ from that of
/// the axis.
fn field_of(benchmark: &str, axis: &str) -> &'static str {
    match (benchmark, axis) {
        ("gemm", "shape") => "m, n, k",
        ("convolution", "kernel") => "weight_shape",
        ("precision", "n") | (_, "shape") => "input_shape",
        ("launch-latency", "launch_mode") | (_, "phase" | "direction") => "operation",
        ("memory-latency", "path") => "provider",
        (_, "size") => "size_bytes",
        (_, "tier") => "memory_tier",
        (_, "heads") => "num_heads, head_dim",
        (_, "kv_heads") => "num_kv_heads",
        (_, "layers") => "num_layers",
        (_, "vocabulary") => "vocabulary_size",
        (_, "output") => "output_dtype",
        (_, "weights") => "weight_dtype",
        (_, "algorithms") => "algorithms_tried",
        (_, "rotate") => "rotating_buffers",
        (_, "over") => "speedup_over",
        (_, "source") => "source_file",
        (_, "opt") => "optimization",
        (_, "arch") => "gfx_target",
        (_, axis) => rsb_model::Field::find(axis).map_or("", |field| field.name),
    }
}

/// Two cases of a benchmark must differ in an axis that separates lines; otherwise they would be
/// points at the same position of one line.
#[test]
fn no_two_cases_of_a_grid_are_one_point_of_one_line() {
    let gpu = |device: &str| rsb_device::DeviceInfo {
        device: device.parse().unwrap(),
        device_type: rsb_model::DeviceType::Gpu,
        units: 304,
        usable_memory_bytes: 128 << 30,
        ..rsb_device::host_cpu::read()
    };
    for device in [rsb_device::host_cpu::read(), gpu("rocm:0"), gpu("cuda:0"), gpu("vulkan:0")] {
        for benchmark in rsb_workloads::all() {
            let cases =
                rsb_workloads::cases(*benchmark, &device, rsb_workloads::Breadth::Standard, &[])
                    .unwrap();
            let mut seen = std::collections::BTreeMap::new();
            for case in cases.into_iter().map(|case| case.unwrap_or_else(|(case, _)| case)) {
                let is_told = |axis: &str| {
                    let fields = field_of(benchmark.name(), axis);
                    let told = |field| {
                        rsb_report::charts::LINE_KEYS.contains(&field)
                            || rsb_report::charts::LINE_AXES.contains(&field)
                    };
                    !fields.is_empty() && fields.split(", ").all(told)
                };
                let axes = benchmark.axes().iter().filter(|axis| is_told(axis.name));
                let place: Vec<_> = axes
                    .map(|axis| (axis.name, case.params.text(axis.name).map(str::to_owned)))
                    .collect();
                if let Some(other) = seen.insert(place, case.id.clone()) {
                    panic!(
                        "{} and {other} share one point: add the axis that differs to LINE_KEYS",
                        case.id
                    );
                }
            }
        }
    }
}
