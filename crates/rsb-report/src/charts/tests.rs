//! Checks of every chart: nothing exceeds the sheet, empty data draws nothing, and marks are at the
//! correct positions.

use rsb_model::{DeviceType, Fields, Outcome, Run, Samples, Verdict};

use super::{
    CHART_KINDS, ChartKind, ChartSubject, all, bars, comparison, distribution, slug,
    throughput_by_size, trend_chart,
};
use crate::chart::{AxisScale, Chart, DatasetKind, Paint};
use crate::report::Report;
use crate::sample;

fn attributes<'a>(svg: &'a str, name: &str) -> Vec<&'a str> {
    svg.split(&format!(" {name}=\"")).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

fn numbers(svg: &str, names: &[&str]) -> Vec<f64> {
    names.iter().flat_map(|name| attributes(svg, name)).map(|text| text.parse().unwrap()).collect()
}

fn texts(svg: &str) -> Vec<(&str, &str, f64, f64)> {
    let parse = |part: &'static str, text: &str| attributes(text, part)[0].parse().unwrap();
    svg.split("<text")
        .skip(1)
        .map(|text| {
            let body = text.split(">\n").nth(1).unwrap().split("\n</text").next().unwrap();
            (body, attributes(text, "text-anchor")[0], parse("x", text), parse("font-size", text))
        })
        .collect()
}

fn drawn(chart: &Chart) -> String {
    crate::svg(chart).unwrap()
}

fn count(chart: &Chart, is_wanted: impl Fn(DatasetKind) -> bool) -> usize {
    chart
        .datasets
        .iter()
        .filter(|dataset| is_wanted(dataset.kind))
        .map(|dataset| dataset.points.len())
        .sum()
}

/// Asserts that all shapes and horizontal texts of `chart` are inside its sheet.
fn check_inside(chart: &Chart) {
    let svg = &drawn(chart);
    let (width, height) = (numbers(svg, &["width"])[0], numbers(svg, &["height"])[0]);
    let inside =
        |values: Vec<f64>, limit: f64| values.iter().all(|value| (0.0..=limit).contains(value));
    assert!(inside(numbers(svg, &["x", "x1", "x2", "cx"]), width), "{svg}");
    assert!(inside(numbers(svg, &["y", "y1", "y2", "cy"]), height), "{svg}");
    for points in attributes(svg, "points") {
        for point in points.split_whitespace() {
            let (x, y) = point.split_once(',').unwrap();
            assert!(
                inside(vec![x.parse().unwrap()], width) && inside(vec![y.parse().unwrap()], height),
                "{svg}"
            );
        }
    }
    assert!(svg.find("NaN").is_none() && svg.trim_end().ends_with("</svg>"), "{svg}");
    for (text, anchor, x, size) in
        texts(&svg.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    {
        // A common sans-serif character is about 0.56 times its size wide.
        let wide = text.chars().count() as f64 * size * 0.56;
        let (left, right) = match anchor {
            "start" => (x, x + wide),
            "end" => (x - wide, x),
            _ => (x - wide / 2.0, x + wide / 2.0),
        };
        let upwards = svg.contains(&format!("{text}\n</text")) && x <= 20.0 && anchor == "middle";
        assert!(
            upwards || (left >= -2.0 && right <= width + 2.0),
            "`{text}` spans {left} to {right}, outside the width {width}"
        );
    }
}

fn only(mut run: Run, benchmark: &str) -> Run {
    run.benchmarks.retain(|result| {
        result.outcome == Outcome::Measured && result.category.as_deref() == Some(benchmark)
    });
    run
}

#[test]
fn everything_stays_on_the_sheet() {
    let (run, result) = (sample::run(), sample::comparison());
    let mut charts = all(&Report::new(&run).with_comparison(&result));
    charts.extend(sample::trends().series.iter().filter_map(trend_chart));
    assert!(charts.len() > 9, "{}", charts.len());
    charts.iter().for_each(check_inside);
    let mut names: Vec<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), charts.len(), "chart names must be unique");
}

#[test]
fn extremes_stay_on_the_sheet_too() {
    let mut run = only(sample::run(), "gemm");
    for (index, result) in run.benchmarks.iter_mut().enumerate() {
        result.benchmark_id =
            format!("cpu_performance/gemm/cpu:0/{}", "<&long/".repeat(40 + index)).parse().unwrap();
        let value = [1e-300, 1e300, 0.0, f64::MAX, 1.0, 5e9][index];
        result.results = vec![
            Fields::new()
                .with("gflops", value)
                .with("size_bytes", 1 << index)
                .with("throughput_gb_s", value),
        ];
    }
    let mut result = sample::comparison();
    for (index, each) in result.comparisons.iter_mut().enumerate() {
        each.difference_percent =
            [Some(1e12), Some(f64::NAN), Some(-100.0), Some(0.0), None][index % 5];
        each.confidence_interval = [Some([-1e300, 1e300]), None, Some([f64::NAN, 1.0])][index % 3];
    }
    let mut charts = bars(&run);
    charts.extend(throughput_by_size(&run));
    charts.extend(comparison(&result));
    charts.extend(run.benchmarks.iter().filter_map(distribution));
    let mut series = sample::trends().series.remove(0);
    for values in [
        vec![0.0, 0.0],
        vec![-1e300, 1e300, f64::NAN],
        vec![1e-300; 400],
        vec![5.0, f64::INFINITY, 5.0],
    ] {
        series.change_points[0].index = values.len() - 1;
        series.values = values;
        charts.extend(trend_chart(&series));
    }
    assert!(charts.len() > 8, "{}", charts.len());
    charts.iter().for_each(check_inside);
    assert!(charts.iter().all(|chart| !drawn(chart).contains("<&") && chart.name.len() < 130));
}

#[test]
fn nothing_is_drawn_from_nothing() {
    let mut run = sample::run();
    for result in &mut run.benchmarks {
        result.outcome = Outcome::Simulated;
    }
    assert!(
        bars(&run).is_empty() && throughput_by_size(&run).is_empty(),
        "simulated results must not be ranked"
    );
    let mut result = sample::comparison();
    result.comparisons.retain(|each| each.verdict == Verdict::NotComparable);
    assert_eq!(comparison(&result), None);
    let mut series = sample::trends().series.remove(0);
    series.values.truncate(1);
    assert_eq!(trend_chart(&series), None);
}

#[test]
fn unreadable_samples_have_no_distribution() {
    let mut result = sample::run().benchmarks.remove(0);
    assert!(distribution(&result).is_some());
    for samples in
        [vec![], vec![Samples { replicate: 0, iters: vec![1; 9], times_ns: vec![f64::NAN; 9] }]]
    {
        result.samples = samples;
        assert_eq!(distribution(&result), None);
    }
    result.samples = vec![Samples { replicate: 0, iters: vec![1; 9], times_ns: vec![5.0; 9] }];
    check_inside(&distribution(&result).unwrap());
}

#[test]
fn every_sample_is_a_dot_and_every_replicate_has_its_median() {
    let mut result = sample::run().benchmarks.remove(0);
    for samples in &mut result.samples {
        samples
            .times_ns
            .iter_mut()
            .enumerate()
            .for_each(|(index, time)| *time = 100.0 + index as f64);
    }
    let is_dot = |kind| kind == DatasetKind::Dots;
    let chart = distribution(&result).unwrap();
    assert_eq!((count(&chart, is_dot), chart.y_axis.labels.len()), (90, 3));
    assert_eq!(count(&chart, |kind| kind == DatasetKind::Ticks), 3, "a median for each replicate");
    result.samples[0].times_ns[0] = 1e6;
    let chart = distribution(&result).unwrap();
    assert_eq!(count(&chart, is_dot), 89);
    assert!(chart.subtitle.contains("1 beyond the right edge, up to 250 µs"), "{}", chart.subtitle);
}

#[test]
fn a_chart_has_at_most_eight_lines() {
    let mut run = only(sample::run(), "memory-bandwidth");
    assert_eq!(throughput_by_size(&run).len(), 1);
    let more = run.benchmarks.clone().into_iter().map(|mut result| {
        let fields = std::mem::take(&mut result.results).remove(0);
        result.results = vec![fields.with("threads", 2)];
        result
    });
    run.benchmarks.extend(more.collect::<Vec<_>>());
    let charts = throughput_by_size(&run);
    assert_eq!(charts.len(), 2);
    let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
    assert!(
        titles.iter().any(|title| title.ends_with("2 threads")) && titles[0] != titles[1],
        "{titles:?}"
    );
    for chart in &charts {
        assert!(chart.legend_datasets().count() <= 8);
        check_inside(chart);
    }
}

#[test]
fn one_size_is_no_line_and_kinds_of_device_are_never_mixed() {
    let mut run = only(sample::run(), "tensor-ops");
    assert!(throughput_by_size(&run).is_empty());
    assert_eq!(bars(&run).len(), 1);
    run.benchmarks.iter_mut().take(3).for_each(|result| result.device_type = Some(DeviceType::Gpu));
    let names: Vec<String> = bars(&run).into_iter().map(|chart| chart.name).collect();
    assert_eq!(
        names,
        ["bars-tensor-ops-throughput-gb-s-gpu", "bars-tensor-ops-throughput-gb-s-cpu"]
    );
    run.benchmarks.truncate(1);
    assert!(bars(&run).is_empty(), "a single bar without a peak is not drawn");
}

#[test]
fn bars_mark_the_peak_and_stop_at_forty() {
    let mut run = only(sample::run(), "gemm");
    let chart = &bars(&run)[0];
    assert_eq!(
        drawn(chart).matches("stroke-width=\"3\"").count(),
        6 + 1,
        "one mark for each bar and one in the legend"
    );
    let one = run.benchmarks[0].clone();
    run.benchmarks.extend(std::iter::repeat_n(one, 60));
    let chart = &bars(&run)[0];
    assert!(chart.subtitle.contains("26 cases are in the table only"), "{}", chart.subtitle);
    check_inside(chart);
}

#[test]
fn worse_is_right_whichever_way_is_better() {
    let mut result = sample::comparison();
    result.comparisons.retain(|each| each.verdict.is_decided());
    let centers = |result: &rsb_model::ComparisonResult| -> Vec<f64> {
        let chart = comparison(result).unwrap();
        let changes =
            chart.datasets.iter().filter(|dataset| dataset.kind == DatasetKind::Intervals);
        changes.flat_map(|dataset| &dataset.points).map(|point| point.x).collect()
    };
    let before = centers(&result);
    for each in &mut result.comparisons {
        each.better = match each.better {
            rsb_model::Better::Lower => rsb_model::Better::Higher,
            rsb_model::Better::Higher => rsb_model::Better::Lower,
        };
    }
    let after = centers(&result);
    assert!(before.iter().any(|change| *change > 0.0));
    assert_eq!(after, before.iter().map(|change| -change).collect::<Vec<_>>());
}

#[test]
fn names_fit_files_and_links() {
    assert_eq!(slug("bars-gemm-a/b c__d-f32."), "bars-gemm-a-b-c-d-f32");
    assert_eq!(slug("/Grüße/"), "gr-e");
    let [one, other] = ["1", "2"].map(|end| slug(&("x".repeat(120) + end)));
    assert!(one != other && one.len() <= 100, "{one}");
    let mut run = sample::run();
    run.benchmarks.retain(|result| !result.samples.is_empty());
    run.benchmarks.truncate(1);
    let mut other = run.benchmarks[0].clone();
    other.benchmark_id =
        run.benchmarks[0].benchmark_id.as_str().replacen('/', "-", 1).parse().unwrap();
    run.benchmarks.push(other);
    let charts = all(&Report::new(&run));
    let mut names: Vec<String> = charts.iter().map(Chart::file_name).collect();
    assert!(names.len() > 1, "{names:?}");
    names.sort();
    names.dedup();
    assert_eq!(names.len(), charts.len(), "{names:?}");
    let chart = Chart { name: "a".into(), ..throughput_by_size(&sample::run()).remove(0) };
    assert_eq!(
        (chart.link("x/").path, chart.link("").path),
        ("x/a.svg".to_owned(), "a.svg".to_owned())
    );
}

#[test]
fn backends_stay_on_the_sheet_however_unlike_they_are() {
    let mut run = crate::sample_backends::gpu_run();
    check_inside(&super::backends(&run)[0]);
    let svg = &drawn(&super::backends(&run)[0]);
    assert!(svg.contains("as fast as the reference"), "the legend must explain the dashed line");
    // White rectangles: the sheet, and one behind the text of each bar, which interrupts the dashed
    // line.
    let (white, bars) = (svg.matches("fill=\"#FFFFFF\"").count(), svg.matches("×\n").count());
    assert!(bars > 3 && white == 1 + bars, "{white} white rectangles, {bars} bars");
    assert_eq!(super::backends(&run)[0].name, "backends-amd-radeon-rx-7900-xtx-at-0000-03-00.0");
    for result in &mut run.benchmarks {
        if let Some(fields) =
            result.results.first_mut().filter(|_| result.benchmark_id.as_str().contains("opencl:0"))
        {
            fields.set("gflops", 1e9);
        }
    }
    let charts = super::backends(&run);
    check_inside(&charts[0]);
    assert!(drawn(&charts[0]).contains("<polygon"), "a bar cut at the edge has an arrow head");
}

/// Returns a run with three sizes for each operation, at the given rates.
fn rates(of: &[(&'static str, [f64; 3])]) -> Run {
    let mut run = only(sample::run(), "memory-bandwidth");
    let one = run.benchmarks.remove(0);
    run.benchmarks.clear();
    for (operation, rates) in of {
        for (size, rate) in [1_u64 << 20, 1 << 24, 1 << 28].into_iter().zip(rates) {
            let mut result = one.clone();
            let fields = Fields::new().with("operation", *operation).with("size_bytes", size);
            result.results = vec![fields.with("bandwidth_gb_s", *rate)];
            run.benchmarks.push(result);
        }
    }
    run
}

/// Returns the height of every mark above the lower edge of a frame of 310 pixels.
fn heights(chart: &Chart) -> Vec<f64> {
    let marks = chart.legend_datasets().flat_map(|dataset| &dataset.points);
    marks.map(|point| 310.0 * chart.y_axis.share(point.y)).collect()
}

#[test]
fn what_would_lie_on_the_axis_takes_a_log_axis() {
    let wide =
        throughput_by_size(&rates(&[("copy", [200.0, 180.0, 160.0]), ("read", [0.3, 0.9, 2.0])]))
            .remove(0);
    assert_eq!((wide.y_axis.scale, wide.legend_datasets().count()), (AxisScale::Log, 2));
    assert!(wide.subtitle.contains("logarithmic"), "{}", wide.subtitle);
    let heights = heights(&wide);
    assert_eq!(heights.len(), 6);
    let far_apart = |a: f64, b: f64| (a - b).abs() > 20.0;
    assert!(
        heights.iter().all(|height| *height > 10.0),
        "no point may be on the axis: {heights:?}"
    );
    assert!(far_apart(heights[3], heights[4]) && far_apart(heights[4], heights[5]), "{heights:?}");
    check_inside(&wide);
    let narrow = throughput_by_size(&rates(&[
        ("copy", [200.0, 180.0, 160.0]),
        ("read", [30.0, 90.0, 100.0]),
    ]))
    .remove(0);
    assert_eq!((narrow.y_axis.scale, narrow.y_axis.bounds[0] == 0.0), (AxisScale::Linear, true));
}

#[test]
fn a_line_joins_points_that_differ_by_size_alone() {
    let mut run = rates(&[("copy", [200.0, 180.0, 160.0]), ("read", [100.0, 90.0, 80.0])]);
    let mut twin = run.benchmarks[0].clone();
    twin.results = vec![std::mem::take(&mut twin.results).remove(0).with("bandwidth_gb_s", 50.0)];
    run.benchmarks.push(twin);
    let chart = throughput_by_size(&run).remove(0);
    let kinds: Vec<(&str, DatasetKind)> =
        chart.legend_datasets().map(|dataset| (dataset.name.as_str(), dataset.kind)).collect();
    assert_eq!(kinds, [("copy", DatasetKind::Marks), ("read", DatasetKind::Line)]);
    let last = run.benchmarks.len() - 1;
    for (index, result) in run.benchmarks.iter_mut().enumerate() {
        let fields = std::mem::take(&mut result.results).remove(0);
        result.results =
            vec![fields.with("host_memory", if index == last { "pageable" } else { "pinned" })];
    }
    let chart = throughput_by_size(&run).remove(0);
    let kinds: Vec<(&str, DatasetKind)> =
        chart.legend_datasets().map(|dataset| (dataset.name.as_str(), dataset.kind)).collect();
    let named = [
        ("copy, pinned", DatasetKind::Line),
        ("read, pinned", DatasetKind::Line),
        ("copy, pageable", DatasetKind::Marks),
    ];
    assert_eq!(kinds, named, "series are named by what differs, and one point is not a line");
}

#[test]
fn the_legend_names_nothing_that_cannot_be_seen() {
    let chart =
        throughput_by_size(&rates(&[("copy", [200.0, 18.0, 1.0]), ("read", [0.0; 3])])).remove(0);
    assert_eq!(
        chart.legend_datasets().map(|dataset| dataset.name.as_str()).collect::<Vec<_>>(),
        ["copy"]
    );
    assert!(
        chart.subtitle.ends_with("; 3 cases with no throughput are not drawn"),
        "{}",
        chart.subtitle
    );
    assert!(!drawn(&chart).contains("read"));
    let mut result = sample::comparison();
    result.comparisons.retain(|each| each.verdict == Verdict::Regressed);
    let names: Vec<String> = comparison(&result)
        .unwrap()
        .legend_datasets()
        .map(|dataset| dataset.name.clone())
        .collect();
    assert_eq!(names, ["Regressed", "threshold"]);
}

#[test]
fn a_chart_is_data_that_a_page_can_read() {
    let chart = throughput_by_size(&sample::run()).remove(0);
    let json = serde_json::to_value(&chart).unwrap();
    assert!(
        json["x_axis"]["labels"][0]["text"].is_string() && json["y_axis"]["title"] == "GB/s",
        "{json}"
    );
    assert!(
        json["datasets"][1]["points"][0]["y"].is_number() && json["legend_position"] == "below",
        "{json}"
    );
    let mut broken = chart;
    broken.datasets[1].points[0].y = f64::NAN;
    assert_eq!(crate::svg(&broken), None);
}

fn subject<'a>(
    run: &'a Run,
    comparison: &'a rsb_model::ComparisonResult,
    series: &'a [rsb_model::record::SeriesTrend],
) -> ChartSubject<'a> {
    ChartSubject { run: Some(run), comparison: Some(comparison), series, ..ChartSubject::default() }
}

#[test]
fn every_kind_stays_on_the_sheet_and_has_names_of_its_own() {
    let (run, result, trends) = (sample::run(), sample::comparison(), sample::trends());
    for kind in &CHART_KINDS {
        let charts = kind.draw(&subject(&run, &result, &trends.series));
        charts.iter().for_each(check_inside);
        let mut names: Vec<String> = charts.iter().map(Chart::file_name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), charts.len(), "{}", kind.name);
        assert!(kind.draw(&ChartSubject::default()).is_empty(), "{}", kind.name);
        for dash in ["-", "_", ""] {
            let found = ChartKind::find(&kind.name.replace('-', dash));
            assert_eq!(found.map(|found| found.name), Some(kind.name));
        }
    }
}

#[test]
fn a_change_without_a_verdict_is_neither_better_nor_worse() {
    let result = sample::comparison();
    let decided = |paint: Paint| -> Vec<String> {
        let chart = super::delta(&result).unwrap();
        let own = chart.datasets.iter().filter(|dataset| dataset.paint == paint);
        own.flat_map(|dataset| &dataset.points).map(|point| point.text.clone()).collect()
    };
    let undecided = result.comparisons.iter().filter(|each| {
        !each.verdict.is_decided() && each.difference_percent.is_some_and(f64::is_finite)
    });
    assert_eq!(decided(Paint::Caution).len(), undecided.count());
    assert!(!decided(Paint::Good).is_empty() && !decided(Paint::Bad).is_empty());
    assert!(
        decided(Paint::Good).iter().all(|text| text.starts_with('-')),
        "improved times have a negative sign"
    );
}

#[test]
fn scaling_counts_from_the_smallest_and_leaves_single_points_out() {
    let mut run = only(sample::run(), "gemm");
    run.benchmarks.truncate(3);
    for (result, (threads, rate)) in
        run.benchmarks.iter_mut().zip([(1, 10.0), (2, 18.0), (4, 30.0)])
    {
        let id = format!("cpu_performance/gemm/cpu:0/f32/8x8x8/threads={threads}");
        result.benchmark_id = id.parse().unwrap();
        result.results = vec![Fields::new().with("threads", threads).with("gflops", rate)];
    }
    let kind = ChartKind::find("scaling").unwrap();
    let draw = |run: &Run| kind.draw(&ChartSubject { run: Some(run), ..ChartSubject::default() });
    let chart = draw(&run).remove(0);
    let said: Vec<&str> =
        chart.datasets[1].points.iter().map(|point| point.text.as_str()).collect();
    assert_eq!(said, ["1.00x", "1.80x", "3.00x"]);
    run.benchmarks.truncate(1);
    assert!(draw(&run).is_empty());
}

#[test]
fn memory_has_its_peak_where_most_was_held() {
    let mut run = only(sample::run(), "gemm");
    run.benchmarks.truncate(3);
    for (index, (result, held)) in run.benchmarks.iter_mut().zip([5.0, 80.0, 20.0]).enumerate() {
        result.timestamp = run.started + std::time::Duration::from_secs(10 * (index as u64 + 1));
        result.results = vec![Fields::new().with("memory_used_mb", held)];
    }
    let kind = ChartKind::find("memory-timeline").unwrap();
    let chart = kind.draw(&ChartSubject { run: Some(&run), ..ChartSubject::default() }).remove(0);
    let peak = chart.datasets.iter().find(|dataset| dataset.paint == Paint::Warning).unwrap();
    assert_eq!((peak.points[0].x, peak.points[0].text.as_str()), (20.0, "peak 80.0 MB"));
}

#[test]
fn the_memory_of_a_process_is_not_called_activations() {
    let mut run = only(sample::run(), "gemm");
    run.benchmarks.truncate(2);
    for result in &mut run.benchmarks {
        result.benchmark_type = rsb_model::BenchmarkType::ComponentSpecific;
        result.device_type = Some(DeviceType::Cpu);
        result.results =
            vec![Fields::new().with("model_size_gb", 0.0177).with("memory_used_mb", 308.0)];
    }
    let known = Fields::new().with("model_size_gb", 0.0177).with("memory_used_mb", 19.7);
    run.benchmarks[1].results = vec![known.with("activations_memory_mb", 2.0)];
    let charts = super::stacked::memory_breakdown(&run);
    let rests: Vec<&str> = charts.iter().map(|chart| chart.datasets[1].name.as_str()).collect();
    assert_eq!(rests, ["activations, keys and values", "libraries, copies, activations"]);
    for chart in &charts {
        assert_eq!(chart.datasets[1].points.len(), 1, "each case must have one bar");
    }
}

#[test]
fn a_model_has_a_bar_for_each_runtime_of_its_smallest_batch() {
    let pass = |model: &str, runtime: &str, batch: u64, time: f64| {
        let mut result = sample::run().benchmarks.remove(0);
        let id = [
            "component_specific",
            "models",
            "cpu:0",
            "forward",
            model,
            "f32",
            &format!("{runtime}-{batch}"),
        ];
        result.benchmark_id = rsb_model::CaseId::from_segments(&id);
        result.category = Some("models".to_owned());
        let fields = rsb_model::Fields::new()
            .with("model", model)
            .with("provider", runtime)
            .with("dtype", "f32");
        result.results = vec![fields.with("batch_size", batch).with("forward_time_ms", time)];
        result
    };
    let benchmarks = vec![
        pass("bert-tiny", "pytorch", 8, 80.0),
        pass("bert-tiny", "pytorch", 1, 20.0),
        pass("bert-tiny", "openvino", 1, 10.0),
        pass("vit-tiny", "pytorch", 1, 60.0),
    ];
    let run = Run { benchmarks, ..sample::run() };
    let charts = super::models::models(&run);
    let [chart] = charts.as_slice() else { panic!("{charts:?}") };
    check_inside(chart);
    let points = |dataset: &crate::chart::Dataset| {
        dataset.points.iter().map(|point| point.x).collect::<Vec<_>>()
    };
    let bars: Vec<(&str, Vec<f64>)> =
        chart.datasets.iter().map(|set| (set.name.as_str(), points(set))).collect();
    assert_eq!(bars, [("pytorch on cpu:0", vec![20.0, 60.0]), ("openvino on cpu:0", vec![10.0])]);
}

#[test]
fn a_heat_map_orders_sizes_from_small_to_large_and_words_as_they_come() {
    let mut run = sample::run();
    run.benchmarks.reverse();
    let kind = CHART_KINDS.iter().find(|kind| kind.name == "heat-map").unwrap();
    let charts = kind.draw(&ChartSubject { run: Some(&run), ..ChartSubject::default() });
    let axes: Vec<_> = charts.iter().flat_map(|chart| [&chart.x_axis, &chart.y_axis]).collect();
    let mut sized = axes.iter().filter(|axis| axis.title == "size").peekable();
    assert!(sized.peek().is_some());
    for axis in sized {
        let bytes: Vec<u64> = axis
            .labels
            .iter()
            .map(|label| rsb_model::shape::parse_bytes(&label.text).unwrap())
            .collect();
        assert!(bytes.is_sorted(), "{:?}", axis.labels);
    }
}
