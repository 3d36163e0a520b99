//! Snapshots of the full output for fixed sample data. They do not contain color, so colors are
//! asserted separately.

use rsb_model::{
    BenchmarkResult, ComparisonResult, Environment, Fields, Outcome, Reason, Run, Verdict,
};

use crate::chart::{ChartLink, ChartPlace};
use crate::charts;
use crate::comparison::{self, Detail};
use crate::gate::{self, GateFormat};
use crate::list::{BaselineRow, ComparisonRow, HistoryTableRow, RunRow};
use crate::matrix::CaseRow;
use crate::sample;
use crate::{
    Color, Report, Style, document, environment, gpus, json, list, matrix, report, run, trend,
};

const NARROW: Style = Style { color: Color::Never, width: 80 };
const COLORED: Style = Style { color: Color::Always, width: 100 };

/// Returns the sample run with only a few results.
fn short_run() -> Run {
    let mut run = sample::run();
    run.benchmarks.retain(|result| {
        let id = result.benchmark_id.as_str();
        result.outcome != Outcome::Measured || id.contains("64MiB") || id.contains("gemm/cpu:0/f32")
    });
    run
}

fn empty_run() -> Run {
    let run = sample::run();
    Run {
        benchmarks: Vec::new(),
        notes: Vec::new(),
        finished: None,
        environment: Environment::default(),
        ..run
    }
}

fn only_skips() -> Run {
    let mut run = sample::run();
    run.benchmarks.retain(|result| result.outcome == Outcome::Skipped);
    run
}

#[test]
fn a_run_on_a_terminal() {
    insta::assert_snapshot!(run::text(&short_run(), Style::PLAIN));
}

#[test]
fn counted_instructions_are_a_column_of_every_table() {
    let mut run = short_run();
    let [text, markdown] = tables(&run);
    assert!(!text.contains("instructions") && !markdown.contains("instructions"));
    let measured = |result: &&mut BenchmarkResult| result.outcome == Outcome::Measured;
    let result = run.benchmarks.iter_mut().find(measured).unwrap();
    result.results[0].set("instructions", 12_345_678.0);
    for table in tables(&run) {
        assert!(table.contains("instructions") && table.contains("12.3 M"), "{table}");
    }
}

fn tables(run: &Run) -> [String; 2] {
    let wide = Style { width: 200, ..Style::PLAIN };
    [run::text(run, wide), report::markdown(&Report::new(run), &[])]
}

#[test]
fn a_run_on_a_narrow_terminal_stays_inside() {
    let text = run::text(&short_run(), NARROW);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_run_that_measured_nothing() {
    insta::assert_snapshot!("empty_run", run::text(&empty_run(), Style::PLAIN));
    insta::assert_snapshot!("only_skips", run::text(&only_skips(), Style::PLAIN));
    insta::assert_snapshot!("only_skips_brief", run::brief(&only_skips(), Style::PLAIN));
    let (empty, skips) = (empty_run(), only_skips());
    for run in [&empty, &skips] {
        let report = Report::new(run);
        assert_eq!(charts::all(&report), []);
        let markdown = report::markdown(&report, &[]);
        assert!(
            !markdown.contains("## Key results") && markdown.contains("## Method"),
            "{markdown}"
        );
    }
    assert_eq!(run::csv_rows(&empty).unwrap().lines().count(), 1);
    assert_eq!(run::csv_rows(&skips).unwrap().lines().count(), 1 + skips.benchmarks.len());
}

#[test]
fn a_simulated_case_is_called_so_and_never_ranked() {
    let mut run = short_run();
    run.benchmarks.truncate(3);
    for result in &mut run.benchmarks {
        result.outcome = Outcome::Simulated;
    }
    let text = run::text(&run, Style::PLAIN);
    assert_eq!(text.matches("simulated").count(), 4, "three rows and the counts: {text}");
    let report = Report::new(&run);
    assert!(
        charts::all(&report).is_empty() && !report::markdown(&report, &[]).contains("Key results")
    );
}

#[test]
fn a_whole_report() {
    let (run, comparison) = (short_run(), sample::comparison());
    let report = Report::new(&run).with_comparison(&comparison);
    let links = [
        ChartLink {
            title: "by size".into(),
            path: "charts/by size.svg".into(),
            place: ChartPlace::Benchmark("memory-bandwidth".into()),
        },
        ChartLink {
            title: "changes".into(),
            path: "charts/comparison.svg".into(),
            place: ChartPlace::Comparison,
        },
        ChartLink {
            title: "more".into(),
            path: "charts/more.svg".into(),
            place: ChartPlace::Other,
        },
    ];
    insta::assert_snapshot!("report_markdown", report::markdown(&report, &links));
    let text = report::text(&report, "", Style::PLAIN);
    assert_eq!(text.matches("Targets").count(), 1);
    assert!(text.rsplit("\n\n").next().is_some_and(|last| last.starts_with("REGRESSED")), "{text}");
    let value: serde_json::Value = serde_json::from_str(&report::json(&report).unwrap()).unwrap();
    assert_eq!(
        (&value["format_version"], &value["comparison"]["verdict"]),
        (&3.into(), &"Regressed".into())
    );
}

#[test]
fn targets_are_shown_without_a_comparison_too() {
    let (run, checks) = (short_run(), sample::checks());
    let text = report::text(&Report::new(&run).with_checks(&checks), "", Style::PLAIN);
    assert_eq!(text.matches("missed").count(), 2, "{text}");
    assert!(
        report::markdown(&Report::new(&run).with_checks(&checks), &[])
            .contains("Not compared with a baseline")
    );
}

#[test]
fn a_comparison_brief_and_full() {
    let result = sample::comparison();
    insta::assert_snapshot!(
        "comparison_brief",
        comparison::text(&result, Style::PLAIN, Detail::Brief)
    );
    insta::assert_snapshot!(
        "comparison_full",
        comparison::text(&result, Style::PLAIN, Detail::Full)
    );
    insta::assert_snapshot!("comparison_csv", comparison::csv_rows(&result).unwrap());
    let markdown = gate::write(&result, GateFormat::Markdown, Style::PLAIN, Detail::Brief).unwrap();
    insta::assert_snapshot!("gate_markdown", markdown);
    let value: serde_json::Value = serde_json::from_str(
        &gate::write(&result, GateFormat::Json, Style::PLAIN, Detail::Brief).unwrap(),
    )
    .unwrap();
    assert_eq!(
        value["comparisons"].as_array().map(Vec::len),
        Some(result.comparisons.len()),
        "JSON leaves nothing out"
    );
}

#[test]
fn the_verdict_comes_last_and_in_words() {
    let mut result = sample::comparison();
    result.threshold_checks.retain(|check| check.passed != Some(false));
    result.verdict = Verdict::Inconclusive;
    assert_eq!(
        last_sentence(&result),
        "NO VERDICT: 5 of 10 comparisons are undecided (4 skipped, 1 too noisy); 1 case is missing \
         from the current run.",
    );
    result.verdict = Verdict::Improved;
    result.missing.clear();
    assert_eq!(last_sentence(&result), "PASS: none of 10 comparisons regressed, 1 improved.");
    result.verdict = Verdict::Unchanged;
    result.comparisons.truncate(1);
    assert_eq!(last_sentence(&result), "PASS: none of 1 comparison regressed.");
    result.verdict = Verdict::Inconclusive;
    result.comparisons.clear();
    assert_eq!(last_sentence(&result), "NO VERDICT: there is nothing to compare.");
}

fn last_sentence(result: &ComparisonResult) -> String {
    let text = comparison::text(result, Style::PLAIN, Detail::Brief);
    text.trim_end().rsplit("\n\n").next().unwrap().replace('\n', " ")
}

#[test]
fn verdicts_have_their_colors() {
    let text = comparison::text(&sample::comparison(), COLORED, Detail::Full);
    for (word, code) in
        [("Regressed", "1;31"), ("Improved", "32"), ("Inconclusive", "33"), ("NotComparable", "33")]
    {
        assert!(text.contains(&format!("\x1b[{code}m{word} [")), "{word}");
    }
    assert!(
        text.rsplit("\n\n").next().is_some_and(|last| last.starts_with("\x1b[1;31mREGRESSED")),
        "{text}"
    );
    let text = run::text(&short_run(), COLORED);
    assert!(
        text.contains("\x1b[1;31mfailed\x1b[0m") && text.contains("\x1b[32m15 measured\x1b[0m"),
        "{text}"
    );
    for text in [
        run::text(&short_run(), Style::PLAIN),
        comparison::text(&sample::comparison(), Style::PLAIN, Detail::Full),
        trend::text(&sample::trends(), None, Style::PLAIN),
        environment::text(&sample::environment(), Style::PLAIN),
    ] {
        assert!(!text.contains('\x1b'), "{text}");
    }
}

#[test]
fn trends_as_text_markdown_and_csv() {
    let document = sample::trends();
    insta::assert_snapshot!(
        "trend_text",
        trend::text(&document, None, Style { width: 120, ..Style::PLAIN })
    );
    insta::assert_snapshot!("trend_markdown", trend::markdown(&document));
    let csv = trend::csv_rows(&document).unwrap();
    assert_eq!(csv.lines().count(), 4);
    assert!(
        csv.lines().last().is_some_and(|line| line.starts_with("nightly build,value,widgets,1,")),
        "{csv}"
    );
    let none = rsb_model::record::TrendDocument {
        format_version: 1,
        series: Vec::new(),
        changes: Vec::new(),
        common_changes: Vec::new(),
    };
    assert!(trend::text(&none, None, Style::PLAIN).starts_with("No series"));
}

#[test]
fn the_machine() {
    insta::assert_snapshot!("environment", environment::text(&sample::environment(), Style::PLAIN));
    insta::assert_snapshot!(
        "environment_unknown",
        environment::text(&Environment::default(), Style::PLAIN)
    );
    let some = Environment { gpus: gpus::sample::gpus(), ..sample::environment() };
    insta::assert_snapshot!("environment_gpus", environment::text(&some, Style::PLAIN));
    let tree = Environment { gpus: gpus::sample::gpus(), ..Environment::default() };
    let text = environment::text(&tree, Style::PLAIN);
    assert!(
        !text.contains("Software") && !text.contains("no runtime"),
        "properties that were not examined must not be shown as missing: {text}"
    );
    assert_eq!(environment::line(&tree), "3 × AMD Instinct MI210");
}

#[test]
fn lists() {
    let history = HistoryTableRow {
        run_id: "r1".into(),
        timestamp: sample::moment(),
        commit: Some("1a2b3c4d5e6f".into()),
        id: "cpu_performance/gemm/cpu:0/f32/8x8x8".into(),
        metric: Some("gflops".into()),
        unit: Some("GFLOP/s".into()),
        value: Some(104.23),
        outcome: Outcome::Measured,
    };
    let broken = HistoryTableRow {
        metric: None,
        unit: None,
        value: None,
        outcome: Outcome::Failed,
        ..history.clone()
    };
    let rows = [history, broken];
    insta::assert_snapshot!("history", list::history(&rows, Style::PLAIN));
    let run = RunRow {
        branch: None,
        finished: Some(sample::moment()),
        run_id: "20261121T090312Z_1a2b3c4".into(),
        started: sample::moment(),
        suite: "quick".into(),
        profile: "quick".into(),
        commit: None,
        machine: "amd-epyc-7763-2c-1a2b3c4d".into(),
        measured: 28,
        skipped: 3,
        failed: 0,
    };
    let interrupted = RunRow { finished: None, ..run.clone() };
    assert!(list::runs(&[interrupted], Style::PLAIN).contains("28, interrupted"));
    insta::assert_snapshot!("runs", list::runs(&[run], Style::PLAIN));
    let baseline = BaselineRow {
        name: "main".into(),
        created: sample::moment(),
        commit: Some("1a2b3c4d5e6f".into()),
        machine: "amd-epyc-7763-2c-1a2b3c4d".into(),
        cases: 28,
        replicates: 3,
    };
    insta::assert_snapshot!("baselines", list::baselines(&[baseline], Style::PLAIN));
    let comparison = ComparisonRow {
        comparison_id: "c".into(),
        timestamp: sample::moment(),
        baseline: "main".into(),
        current: "r1".into(),
        verdict: Verdict::Improved,
    };
    assert!(list::comparisons(&[comparison], COLORED).contains("\x1b[32mImproved\x1b[0m"));
}

#[test]
fn what_can_run_here() {
    let reason =
        Reason::new("ROCm", "libamdhip64.so was not found", "install ROCm, or set ROCM_PATH");
    let python = Reason::new("pytorch", "Python has no module torch", "pip install torch");
    let of_models = Reason::new("backend mps", "it only runs models", "measure with --backend cpu");
    let mut rows = vec![
        case_row("gemm", "cpu", None),
        case_row("gemm", "rocm", Some(reason.clone())),
        case_row("gemm", "vulkan", None),
        case_row("all-reduce", "cpu", Some(gpu_only("all-reduce on cpu"))),
        case_row("all-reduce", "rocm", Some(reason)),
        case_row("all-reduce", "vulkan", None),
        case_row("launch-latency", "cpu", Some(gpu_only("launch-latency on cpu"))),
        case_row("pytorch", "any", Some(python)),
        case_row("all", "mps", Some(of_models)),
    ];
    rows[5].cases = 0;
    insta::assert_snapshot!("cases", matrix::text(&rows, NARROW, Detail::Brief));
    insta::assert_snapshot!("cases_full", matrix::text(&rows, NARROW, Detail::Full));
    insta::assert_snapshot!("cases_json", document("cases", &rows[..2]).unwrap());
}

fn case_row(benchmark: &str, backend: &str, missing: Option<Reason>) -> CaseRow {
    CaseRow {
        benchmark: benchmark.into(),
        about: format!("how fast {benchmark} is"),
        is_own: false,
        backend: backend.into(),
        devices: Vec::new(),
        cases: 6,
        missing,
    }
}

fn gpu_only(on: &str) -> Reason {
    Reason::new(on, "it only runs on GPUs", "choose a GPU backend, such as --backend rocm")
}

#[test]
fn empty_lists_say_what_to_do() {
    for text in [
        list::runs(&[], Style::PLAIN),
        list::baselines(&[], Style::PLAIN),
        list::history(&[], Style::PLAIN),
        list::comparisons(&[], Style::PLAIN),
        matrix::text(&[], Style::PLAIN, Detail::Brief),
    ] {
        assert!(text.starts_with("No ") && text.ends_with(".\n"), "{text}");
    }
}

#[test]
fn hostile_text_reaches_no_reader() {
    let id = format!("cpu_performance/gemm/cpu:0/|`<img src=x>`|{}", "x".repeat(400));
    let evil = "\x1b[2J<script>alert(1)</script> | `x`\n# title";
    let mut run = empty_run();
    run.benchmarks.push(sample::measured_case(
        &id,
        5e6,
        &Fields::new().with("gflops", 3.0).with("peak_gflops", 9.0),
    ));
    run.benchmarks.push(sample::unmeasured_case(
        &id,
        Outcome::Failed,
        Reason::new(evil, evil, evil),
    ));
    run.notes.push(rsb_model::Note::Text(evil.into()));
    let report = Report::new(&run);
    let markdown = report::markdown(&report, &[]);
    assert!(
        !markdown.contains("<script") && !markdown.contains("<img") && !markdown.contains('\x1b'),
        "{markdown}"
    );
    assert_eq!(markdown.matches("\n# ").count(), 0, "only the first heading is of level 1");
    let columns: Vec<usize> = markdown
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(|line| line.replace("\\|", "").matches('|').count())
        .collect();
    assert!(columns.len() > 5 && columns.windows(2).all(|pair| pair[0].abs_diff(pair[1]) <= 3));
    let text = run::text(&run, Style::PLAIN);
    assert!(!text.contains('\x1b'));
    let row = text.lines().find(|line| line.contains("FLOP/s")).unwrap();
    assert!(row.chars().count() <= 100, "{row}");
    for chart in charts::all(&report) {
        assert!(
            !crate::svg(&chart).unwrap().contains("<img") && chart.name.len() <= 120,
            "{}",
            chart.name
        );
    }
    assert_eq!(
        run::csv_rows(&run).unwrap().lines().count(),
        1 + 2 + 1,
        "the header, two metrics, one failure"
    );
}

#[test]
fn json_is_the_run_itself() {
    let run = short_run();
    let read: Run = serde_json::from_str(&json(&run).unwrap()).unwrap();
    assert_eq!(
        (&read.run_id, &read.environment, read.counts()),
        (&run.run_id, &run.environment, run.counts())
    );
    assert_eq!(run::text(&read, Style::PLAIN), run::text(&run, Style::PLAIN));
}

#[test]
fn a_run_as_csv() {
    let mut run = short_run();
    run.benchmarks.drain(1..run.benchmarks.len() - 1);
    insta::assert_snapshot!(run::csv_rows(&run).unwrap());
}
