//! Files that programs of earlier formats wrote (`tests/fixtures/format-N`) are read and mean what they meant.

#![allow(clippy::unwrap_used)] // In a test a failed step is a failed test.

use std::fs;
use std::path::{Path, PathBuf};

use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::Comparison;
use rsb_model::{CaseDevice, DeviceRef, Fingerprint, Note, Outcome, ReasonCode, Run, Verdict};
use rsb_stats::Policy;
use rsb_store::{Baseline, Baselines, HistoryFilter, Store, read_comparison, read_recorded, read_run, read_series};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/format-1").join(name)
}

fn run(id: &str) -> Run {
    read_run(&fixture(&format!("results/runs/{id}_nogit.json"))).unwrap()
}

fn baseline(name: &str) -> Baseline {
    Baseline::read(&fixture(&format!("baselines/amd-epyc-2c-b10b9586/{name}.json"))).unwrap()
}

/// Whether `std_dev` over the mean is `cv` in every case with samples; there is at least one.
fn spread_is_consistent(run: &Run) {
    let measured = run.benchmarks.iter().filter(|result| !result.samples.is_empty());
    let mut cases = 0;
    for result in measured {
        let (fields, statistics) = (result.fields().unwrap(), result.statistics.as_ref().unwrap());
        let (cv, std_dev) = (fields.number("cv").unwrap(), fields.number("std_dev").unwrap());
        assert!((cv * statistics.mean / std_dev - 1.0).abs() < 1e-9, "{}: {cv} {std_dev}", result.benchmark_id);
        assert!(std_dev < 1.0, "it is in ms, and these cases take microseconds: {std_dev}");
        cases += 1;
    }
    assert!(cases > 0 && run.format_version == FORMAT_VERSION);
}

#[test]
fn runs_are_read_with_their_notes_devices_and_spread() {
    let first = run("20261122T072350Z");
    spread_is_consistent(&first);
    assert_eq!((first.notes.as_slice(), first.devices[0].device), (&[Note::Unsealed][..], DeviceRef::CPU));
    let case = first.benchmarks[0].case().unwrap();
    assert_eq!((case.device, case.benchmark.as_str()), (CaseDevice::Device(DeviceRef::CPU), "gemm"));
    let slowed = run("20261122T072401Z");
    spread_is_consistent(&slowed);
    assert_eq!((slowed.slowdown(), slowed.is_interrupted()), (Some("gemm=1.5"), false));
    let cv = slowed.benchmarks[0].fields().unwrap().number("cv").unwrap();
    assert!((cv - 0.778_900_779_042_3).abs() < 1e-12, "the file has it as `std_dev`: {cv}");
    let stopped = run("20261122T072412Z");
    spread_is_consistent(&stopped);
    assert_eq!((stopped.notes.as_slice(), stopped.is_interrupted()), (&[Note::Interrupted, Note::Unsealed][..], true));
    let absent = &run("20261122T072408Z").benchmarks[0];
    assert_eq!((absent.outcome, absent.benchmark_id.device().to_string().as_str()), (Outcome::Skipped, "rocm"));
    assert_eq!(absent.case().unwrap().device.device(), None);
}

#[test]
fn a_run_that_is_read_is_written_as_today_and_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_for_writing(dir.path()).unwrap();
    let old = run("20261122T072401Z");
    let path = store.rewrite(&old).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"code\": \"slowed\"") && text.contains("\"format_version\": 3"), "{text}");
    assert_eq!(read_run(&path).unwrap(), old, "no figure is turned twice");
}

#[test]
fn an_old_baseline_and_an_old_run_have_the_figures_that_they_had() {
    let comparisons = fs::read_dir(fixture("results/comparisons")).unwrap();
    let paths: Vec<PathBuf> = comparisons.map(|entry| entry.unwrap().path()).collect();
    let [path] = paths.as_slice() else { panic!("{paths:?}") };
    let old = read_comparison(path).unwrap();
    assert_eq!((old.verdict, old.comparisons[0].reason_code), (Verdict::Regressed, ReasonCode::AboveThreshold));
    let (before, after) = (baseline("old").into_runs(), [run("20261122T072401Z")]);
    let today = rsb_stats::gate(&before, &after, &Policy::default(), &[], old.timestamp);
    let told = |rows: &[Comparison]| -> Vec<(String, Option<f64>, Option<f64>)> {
        let name = |row: &Comparison| format!("{} {}", row.id, row.metric);
        rows.iter().map(|row| (name(row), row.baseline_value, row.difference_percent)).collect()
    };
    assert_eq!(told(&today.comparisons), told(&old.comparisons));
    // Two processes a side of two cases tell less than that version believed: intervals are wider since, and none is green.
    assert_eq!(today.verdict, Verdict::Inconclusive);
    let checks: Vec<_> =
        old.threshold_checks.iter().map(|check| (check.expected_text(), check.actual_text(), check.passed)).collect();
    assert!(checks.contains(&("> 0.001 GFLOP/s".to_owned(), "12.45 GFLOP/s".to_owned(), Some(true))), "{checks:?}");
    assert!(checks.iter().any(|check| check.0 == "> 1000000 GFLOP/s" && check.2 == Some(false)), "{checks:?}");
    let check = &old.threshold_checks[0];
    assert_eq!((check.expected, check.actual, check.metric.as_str()), (0.001, Some(12.45), "gflops"));
    assert_eq!(check.id, "cpu_performance/gemm/cpu:0/f32/16x16x16");
}

#[test]
fn baselines_are_read_with_what_was_accepted() {
    let accepted = baseline("accepted");
    assert_eq!((accepted.format_version, accepted.accepted[0].because.as_str()), (FORMAT_VERSION, "a known cost"));
    accepted.runs.iter().for_each(spread_is_consistent);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("again.json");
    accepted.write(&path).unwrap();
    assert_eq!(Baseline::read(&path).unwrap(), accepted, "no figure is turned twice");
    assert!(matches!(read_recorded(&path), Ok(rsb_store::RecordedFile::Baseline(_))));
}

#[test]
fn a_directory_of_results_is_indexed_and_the_journal_of_a_killed_run_recovered() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["runs", "comparisons"] {
        let to = dir.path().join(name);
        fs::create_dir(&to).unwrap();
        for entry in fs::read_dir(fixture("results").join(name)).unwrap() {
            let from = entry.unwrap().path();
            fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
        }
    }
    let store = Store::open_for_writing(dir.path()).unwrap();
    let runs = store.runs().unwrap();
    let notes: Vec<&[Note]> = runs.iter().rev().map(|run| run.notes.as_slice()).collect();
    let slowed = Note::Slowed { slowdown: "gemm=1.5".to_owned() };
    let cut_off = Note::CutOff { ended: 3, planned: Some(4), torn_lines: 0 };
    let unsealed = Note::Unsealed;
    let expected: [&[Note]; 5] = [
        std::slice::from_ref(&unsealed),
        &[slowed, unsealed.clone()],
        std::slice::from_ref(&unsealed),
        &[Note::Interrupted, unsealed.clone()],
        &[cut_off], // Its file is of today.
    ];
    assert_eq!(notes, expected);
    assert_eq!(
        store.latest().unwrap().unwrap().run_id.0,
        "20261122T072418Z_nogit",
        "by time, before there was a sequence"
    );
    let recovered = store.run("20261122T072418Z").unwrap();
    spread_is_consistent(&recovered);
    assert_eq!((recovered.benchmarks.len(), recovered.is_interrupted()), (3, true));
    assert_eq!(store.comparisons().unwrap()[0].verdict, Verdict::Regressed);
    let rows = store.history(&HistoryFilter::default()).unwrap();
    assert!(rows.iter().any(|row| row.outcome == Outcome::Skipped));
    assert!(rows.iter().all(|row| row.metric.as_deref() != Some("cv")), "spread is no metric");
}

/// Format 2 had no checksums and no sequence, and named machines by less.
#[test]
fn files_of_format_2_are_found_where_they_lie_and_say_that_they_have_no_checksum() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/format-2");
    let runs = ["20261122T114502Z_nogit", "20261122T114503Z_nogit"]
        .map(|id| read_run(&top.join(format!("results/runs/{id}.json"))).unwrap());
    for run in &runs {
        spread_is_consistent(run);
        assert_eq!(
            (run.notes.as_slice(), run.sequence, run.imported),
            (&[Note::Shared, Note::Unsealed][..], None, false)
        );
    }
    // This program knows the revision of the CPU too.
    let mut environment = runs[0].environment.clone();
    let cpu = environment.cpu.as_mut().unwrap();
    (cpu.family, cpu.model_number, cpu.stepping) = (Some(26), Some(2), Some(1));
    let here = Fingerprint::of(&environment);
    let baselines = Baselines::new(&top.join("baselines"));
    let baseline = baselines.load("old", Some(&here)).unwrap();
    assert!(baselines.path_of(&here, "old").starts_with(top.join("baselines").join(here.former_slug())));
    let comparison = fs::read_dir(top.join("results/comparisons")).unwrap().next().unwrap().unwrap().path();
    let old = read_comparison(&comparison).unwrap();
    let today = rsb_stats::gate(&baseline.into_runs(), &runs[1..], &Policy::default(), &[], old.timestamp);
    assert_eq!((today.comparisons.len(), today.missing.len()), (old.comparisons.len(), 0));
    let changes = |rows: &[Comparison]| rows.iter().map(|row| row.difference_percent).collect::<Vec<_>>();
    assert_eq!(changes(&today.comparisons), changes(&old.comparisons));
}

#[test]
fn an_export_is_a_series_of_its_cases() {
    let series = read_series(&fixture("export.csv")).unwrap();
    assert!(series.iter().map(|one| one.points.len()).sum::<usize>() > 10);
}
