//! `run --events` with the real binary.

use rsb_model::record::RunEventDocument;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::common::{Bench, SMALL, says};

/// Returns the arguments of a small run with `more`.
fn run_with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let case = ["run", "tensor-ops", "--axis", "shape=8x64", "--axis", "operation=add"];
    [&case[..], &SMALL, more].concat()
}

/// Returns the events in `lines`, each of which must match the schema.
fn parse(lines: &str) -> Vec<Value> {
    let schema = SchemaSettings::draft07().into_generator();
    let schema = schema.into_root_schema_for::<RunEventDocument>().to_value();
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    let events = lines.lines().map(|line| serde_json::from_str(line).unwrap());
    let events: Vec<Value> = events.collect();
    for event in &events {
        let problems: Vec<String> =
            validator.iter_errors(event).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{event}: {problems:?}");
    }
    events
}

/// Checks that `events` are those of a complete run with one case.
fn assert_complete(events: &[Value]) {
    let is_no_notice = |event: &&Value| event["event"] != "notice";
    let events: Vec<&Value> = events.iter().filter(is_no_notice).collect();
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["run_started", "replicate_started", "case_updated", "run_ended"]);
    assert_eq!(events[0]["cases"], 1);
    assert_eq!(events[2]["benchmark_id"], "cpu_performance/tensor-ops/cpu:0/add/f32/8x64");
    assert_eq!(events[2]["outcome"], "measured");
    assert!(events[2]["time_ms"].as_f64().unwrap() > 0.0, "{}", events[2]);
    assert_eq!(events[3]["status"], "complete");
}

#[test]
fn events_are_written_to_a_file_next_to_the_document() {
    let bench = Bench::new();
    let ended = bench.run(&run_with(&["--json", "--events", "events.jsonl"])).expect(0);
    let events = parse(&std::fs::read_to_string(bench.path("events.jsonl")).unwrap());
    assert_complete(&events);
    // A notice may come first, for example about another run on this machine.
    let started = events.iter().find(|event| event["event"] == "run_started").unwrap();
    assert_eq!(ended.json()["run_id"], started["run_id"]);
}

#[test]
fn events_on_standard_output_are_alone_there() {
    let ended = Bench::new().run(&run_with(&["--events", "-"])).expect(0);
    assert_complete(&parse(&ended.stdout));
    says(&ended.stderr, &["tensor-ops", "stored in"]);
}

#[test]
fn events_and_a_document_on_standard_output_are_a_usage_error() {
    let bench = Bench::new();
    let refused = bench.run(&run_with(&["--json", "--events", "-"])).expect(2);
    says(&refused.stderr, &["--events", "--json", "--events FILE"]);
    assert!(!bench.path("benchmark_results").exists());
}

/// If the disk is full, the events are lost, but not the run.
#[test]
fn events_that_cannot_be_written_are_a_warning() {
    let bench = Bench::new();
    let ended = bench.run(&run_with(&["--events", "/dev/full"])).expect(0);
    says(&ended.stderr, &["warning: cannot write further events"]);
    assert_eq!(bench.run_files().len(), 1);
}
