//! Tests of saving, finding and reading baselines.

use super::*;
use crate::document;
use crate::testing::{machine, measured_case, moment, run, skipped_case};
use rsb_model::{MachineState, Samples};

fn dir() -> (tempfile::TempDir, Baselines) {
    let dir = tempfile::tempdir().unwrap();
    let baselines = Baselines::new(&dir.path().join("baselines"));
    (dir, baselines)
}

fn of(cores: u32) -> Run {
    let mut environment = machine(cores);
    environment.state = Some(MachineState { load_average: Some(0.5), ..MachineState::default() });
    Run {
        environment,
        benchmarks: vec![measured_case("b", 2.0), skipped_case("c"), measured_case("a", 1.0)],
        ..run("x", 0)
    }
}

fn baseline(name: &str, cores: u32) -> Baseline {
    let second = Run { run_id: rsb_model::RunId("y".to_owned()), ..of(cores) };
    Baseline::new(name, moment(100), &[of(cores), second]).unwrap()
}

#[test]
fn a_saved_baseline_comes_back_as_it_was() {
    let (_dir, baselines) = dir();
    let accepted = Accepted {
        id: "a".to_owned(),
        metric: Some("time_ms".to_owned()),
        because: "a known cost".to_owned(),
        when: moment(1),
        by: Some("Ada".to_owned()),
        from: Some("z".to_owned()),
        commit: None,
        old_value: Some(1.0),
        new_value: Some(1.15),
        change_percent: Some(15.0),
    };
    let saved = Baseline { accepted: vec![accepted], ..baseline("quick", 2) };
    let path = baselines.save(&saved).unwrap();
    assert!(
        path.ends_with(format!("{}/quick.json", Fingerprint::of(&machine(2)).slug())),
        "{}",
        path.display()
    );
    assert_eq!(Baseline::read(&path).unwrap(), saved);
    assert_eq!(read_recorded(&path).unwrap(), RecordedFile::Baseline(Box::new(saved.clone())));
    let run_path = path.with_file_name("run.json");
    crate::journal::write_run(&run_path, &of(2)).unwrap();
    assert_eq!(read_recorded(&run_path).unwrap(), RecordedFile::Run(Box::new(of(2))));
    let runs = saved.into_runs();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0].environment.state.as_ref().and_then(|state| state.load_average), Some(0.5));
    let ids: Vec<_> =
        runs[1].benchmarks.iter().map(|result| result.benchmark_id.as_str()).collect();
    assert!(ids.is_sorted() && ids.len() == 3);
}

#[test]
fn the_processes_of_the_last_earlier_runs_stay_with_each_case() {
    let (_dir, baselines) = dir();
    let earlier = |count: usize| -> Vec<Run> {
        let one = |at: usize| Run {
            benchmarks: vec![measured_case("a", 10.0 + at as f64), skipped_case("b")],
            ..of(2)
        };
        (0..count).map(one).collect()
    };
    let past = |baseline: &Baseline, id: &str| -> Vec<Vec<f64>> {
        let known = baseline.runs[0]
            .benchmarks
            .iter()
            .find(|result| result.benchmark_id.as_str().ends_with(id));
        known.unwrap().past_processes()
    };
    assert!(past(&baseline("quick", 2), "a").is_empty());
    let saved = baseline("quick", 2).with_past(&earlier(7));
    let read = Baseline::read(&baselines.save(&saved).unwrap()).unwrap();
    let kept = past(&read, "a");
    assert_eq!((kept.len(), kept), (PAST_RUNS, past(&saved, "a")));
    assert!(past(&read, "b").is_empty(), "a case that was never measured has no past");
    // A new baseline contains the earlier runs of the one it replaces, and the replaced baseline
    // itself.
    let next = Baseline::new("quick", moment(200), &[of(2)]).unwrap().with_past(&read.runs[..1]);
    let of_next = past(&next, "a");
    assert_eq!(of_next[..PAST_RUNS - 1], past(&read, "a")[1..]);
    assert_eq!(of_next.last().map(Vec::len), Some(read.runs[0].benchmarks[0].samples.len()));
}

#[test]
fn a_baseline_is_small_and_stable() {
    let (_dir, baselines) = dir();
    let path = baselines.save(&baseline("quick", 2)).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("\"cpu\": {").count(), 1, "the machine must be written once");
    assert!(text.lines().count() < 180, "{text}");
    let again = Baseline::read(&path).unwrap();
    baselines.save(&again).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let one_changed = {
        let mut runs = [of(2)];
        runs[0].benchmarks[0] = measured_case("b", 2.5);
        runs
    };
    let changed =
        document::to_text(&Baseline::new("quick", moment(100), &one_changed).unwrap()).unwrap();
    let old = document::to_text(&Baseline::new("quick", moment(100), &[of(2)]).unwrap()).unwrap();
    let differing = old.lines().zip(changed.lines()).filter(|(old, new)| old != new).count();
    assert_eq!(differing, 2, "only the values of the case and its samples may differ");
}

#[test]
fn names_find_this_machines_baseline_first() {
    let (dir, baselines) = dir();
    let (small, large) = (Fingerprint::of(&machine(2)), Fingerprint::of(&machine(64)));
    assert!(matches!(baselines.load("quick", None), Err(StoreError::UnknownBaseline { .. })));
    let path = baselines.save(&baseline("quick", 2)).unwrap();
    let cores = |name: &str, fingerprint| {
        baselines.load(name, fingerprint).map(|found| found.environment.cpu.unwrap().usable_cores)
    };
    assert_eq!(
        cores("quick", Some(&large)).unwrap(),
        2,
        "the only baseline is loaded, so that the gate can refuse it"
    );
    baselines.save(&baseline("quick", 64)).unwrap();
    assert_eq!(cores("quick", Some(&small)).unwrap(), 2);
    assert_eq!(cores("quick", Some(&large)).unwrap(), 64);
    assert!(
        matches!(cores("quick", None), Err(StoreError::AmbiguousBaseline { choices, .. }) if choices.len() == 2)
    );
    assert_eq!(cores(&format!("{}/quick", large.slug()), Some(&small)).unwrap(), 64);
    let path_text = path.to_str().unwrap();
    for name in [path_text, path_text.strip_suffix(".json").unwrap()] {
        assert_eq!(cores(name, Some(&large)).unwrap(), 2, "{name}");
    }
    for name in ["quick.json".to_owned(), format!("{}/quick.json", large.slug())] {
        assert_eq!(cores(&name, Some(&large)).unwrap(), 64, "{name}");
    }
    assert!(matches!(cores("../../etc/passwd", None), Err(StoreError::UnknownBaseline { .. })));
    assert!(baselines.save(&Baseline { name: "../x".to_owned(), ..baseline("x", 2) }).is_err());
    std::fs::write(dir.path().join("baselines/README.md"), "not a baseline").unwrap();
    std::fs::write(path.with_file_name("broken.json"), "{").unwrap();
    let list = baselines.list();
    assert_eq!(list.len(), 3);
    let broken = list.iter().find(|info| info.name == "broken").unwrap();
    assert!(broken.contents.as_ref().is_err_and(|problem| problem.contains("broken.json")));
    let good = list.iter().find(|info| info.slug == small.slug() && info.name == "quick").unwrap();
    let counts = good.contents.as_ref().map(|contents| (contents.cases, contents.replicates));
    assert_eq!(counts, Ok((2, 2)), "skipped cases must not count, and two runs are two replicates");
}

#[test]
fn a_name_that_ends_in_json_is_found_and_unknown_names_list_the_nearest() {
    let (_dir, baselines) = dir();
    for name in ["quick", "quick.json", "thorough", "full"] {
        baselines.save(&baseline(name, 2)).unwrap();
    }
    let here = Fingerprint::of(&machine(2));
    let name_of = |text: &str| baselines.load(text, Some(&here)).unwrap().name;
    assert_eq!([name_of("quick"), name_of("quick.json")], ["quick", "quick.json"]);
    assert_eq!(name_of("full.json"), "full");
    let message = |text: &str| baselines.find(text, Some(&here)).unwrap_err().to_string();
    assert!(message("quik").contains("; nearest: quick, "), "{}", message("quik"));
    let of_machine = message("elsewhere/quick");
    assert!(of_machine.contains(&format!("; nearest: {}/", here.slug())), "{of_machine}");
}

#[test]
fn replicates_are_counted_within_runs_too() {
    let mut run = of(2);
    let first = run.benchmarks[0].samples[0].clone();
    run.benchmarks[0]
        .samples
        .extend([1, 2].map(|replicate| Samples { replicate, ..first.clone() }));
    let count =
        |runs: &[Run]| Baseline::new("quick", moment(0), runs).unwrap().contents().replicates;
    assert_eq!(count(std::slice::from_ref(&run)), 1, "the case with the fewest replicates counts");
    run.benchmarks.truncate(1);
    assert_eq!(count(&[run.clone()]), 3);
    assert_eq!(count(&[run.clone(), run]), 6);
}

#[test]
fn runs_of_unlike_machines_make_no_baseline() {
    let error = Baseline::new("quick", moment(0), &[of(2), of(64)]).unwrap_err().to_string();
    assert!(error.contains("usable_cores is 2 in x and 64 in x"), "{error}");
    assert!(Baseline::new("quick", moment(0), &[]).is_err());
}

#[test]
fn a_baseline_that_is_not_whole_is_refused_and_one_bad_case_is_not() {
    let mut document = serde_json::to_value(baseline("quick", 2)).unwrap();
    document["runs"][0]["benchmarks"][0]["results"] = Value::from(1);
    let text = |document: &Value| sealed_text(document).unwrap();
    let read = Baseline::parse(Path::new("b.json"), text(&document).as_bytes()).unwrap();
    assert_eq!(read.runs[0].benchmarks[0].outcome, Outcome::Failed);
    assert_eq!(read.runs[0].benchmarks[1].outcome, Outcome::Measured);
    document["runs"][1] = Value::from(1);
    assert!(Baseline::parse(Path::new("b.json"), text(&document).as_bytes()).is_err());
    let (_dir, baselines) = dir();
    let path = baselines.save(&Baseline { format_version: 99, ..baseline("quick", 2) }).unwrap();
    assert!(Baseline::read(&path).unwrap_err().to_string().contains("99 is newer"));
}

#[test]
fn a_baseline_that_does_not_fit_its_place_or_itself_is_refused() {
    let (_dir, baselines) = dir();
    let path = baselines.save(&baseline("quick", 2)).unwrap();
    let here = Fingerprint::of(&machine(2));
    assert!(baselines.load("quick", Some(&here)).is_ok());
    let document = serde_json::to_value(baseline("quick", 2)).unwrap();
    let refused = |change: &dyn Fn(&mut Value), word: &str| {
        let mut document = document.clone();
        change(&mut document);
        std::fs::write(&path, sealed_text(&document).unwrap()).unwrap();
        let error = baselines.load("quick", Some(&here)).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("save it again"), "{error}");
        let listed = &baselines.list()[0].contents;
        assert!(listed.as_ref().is_err_and(|problem| problem.contains(word)), "{listed:?}");
    };
    refused(&|document| document["name"] = "other".into(), "it contains the baseline `other`");
    refused(&|document| document["runs"][1]["suite"] = "other".into(), "different suites");
    refused(
        &|document| document["environment"]["cpu"]["usable_cores"] = 64.into(),
        "usable_cores 2",
    );
    refused(
        &|document| {
            document["environment"]["cpu"]["usable_cores"] = 64.into();
            document["fingerprint"]["hardware"]["usable_cores"] = "64".into();
        },
        "its machine is",
    );
    std::fs::write(
        &path,
        sealed_text(&document).unwrap().replace("\"replicate\": 0", "\"replicate\": 9"),
    )
    .unwrap();
    let edited = baselines.load("quick", Some(&here)).unwrap_err().to_string();
    assert!(edited.contains("was changed after it was written"), "{edited}");
}

#[test]
fn a_baseline_under_the_former_name_of_its_machine_is_found_and_moved() {
    let (_dir, baselines) = dir();
    let old = baseline("quick", 2);
    let former = baselines.save(&old).unwrap();
    let mut environment = machine(2);
    environment.memory_gb = Some(64.0);
    let known_better = Fingerprint::of(&environment);
    assert_ne!(known_better.slug(), old.fingerprint.slug());
    assert_eq!(baselines.path_of(&known_better, "quick"), former);
    assert_eq!(baselines.load("quick", Some(&known_better)).unwrap(), old);
    let run = Run { environment, ..of(2) };
    let path = baselines.save(&Baseline::new("quick", moment(100), &[run]).unwrap()).unwrap();
    assert!(path.exists() && !former.exists() && baselines.path_of(&known_better, "quick") == path);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    /// After any mutation, reading fails with the file's name or returns a baseline that can be
    /// written again.
    #[test]
    fn no_mutation_of_a_baseline_panics(
        steps in proptest::collection::vec(0_usize..40, 1..8),
        value in crate::testing::junk(),
    ) {
        let mut document: Value = serde_json::from_str(&document::to_text(&baseline("quick", 2)).unwrap()).unwrap();
        crate::testing::mutate(&mut document, &steps, value);
        match Baseline::parse(Path::new("a.json"), sealed_text(&document).unwrap().as_bytes()) {
            Ok(read) => proptest::prop_assert!(document::to_text(&read).is_ok()),
            Err(error) => proptest::prop_assert!(error.to_string().contains("a.json")),
        }
    }
}
