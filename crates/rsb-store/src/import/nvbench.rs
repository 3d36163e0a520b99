//! nvbench's JSON, schema 1: seconds by the device's clock, with cold caches. With `--jsonbin`,
//! samples are in a binary file next to it.

use std::path::{Component, Path};

use rsb_model::{BenchmarkType, DeviceType, Fields};
use serde_json::Value;

use super::error::Problem;
use super::json;
use super::sink::{ImportedCase, Sink};
use super::{Importer, Input};
use crate::input;

const SAMPLE_BYTES: usize = 4;

pub(super) const IMPORTER: Importer = Importer {
    name: "nvbench",
    benchmark_type: BenchmarkType::GpuPerformance,
    device_type: Some(DeviceType::Gpu),
    // A run of this program also has both keys; one in a newer format must not be read as output of
    // nvbench.
    is_document: |document| {
        json::has_keys(document, &["devices", "benchmarks"])
            && !json::has_keys(document, &["run_id"])
    },
    keys: &["/meta/version/json", "/devices", "/benchmarks", "/benchmarks/0/states"],
    marks: &[],
    read,
};

fn read(input: &Input<'_>, sink: &mut Sink) -> Result<(), Problem> {
    let documents = json::documents(input.text)?;
    documents.iter().try_for_each(|document| read_document(input.path, document, sink))
}

fn read_document(path: &Path, document: &Value, sink: &mut Sink) -> Result<(), Problem> {
    let benchmarks = json::list(document, "benchmarks")?;
    match document.pointer("/meta/version/json/major") {
        None => {
            let problem = "it is nvbench JSON from before schema 1 (without `meta.version.json`), \
                           which cannot be imported";
            return Err(Problem::refusal(
                problem,
                "measure again with an nvbench of 2022 or later",
            ));
        }
        Some(major) if major.as_u64() != Some(1) => {
            let problem =
                format!("it is nvbench JSON of schema {major}, and only schema 1 is supported");
            return Err(Problem::refusal(
                problem,
                "update rusty-stack-bench, or measure with an nvbench of schema 1",
            ));
        }
        Some(_) => {}
    }
    let devices = document.get("devices").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let source = Source { path, devices };
    for benchmark in benchmarks {
        let name = json::text(benchmark, "name").unwrap_or("unnamed");
        match json::list(benchmark, "states") {
            Ok(states) => states.iter().for_each(|state| add(&source, sink, name, state)),
            Err(_) => sink.unreadable(name, "it has no list `states`"),
        }
    }
    Ok(())
}

/// Path of a document, and the GPUs listed in it.
struct Source<'a> {
    path: &'a Path,
    devices: &'a [Value],
}

fn add(source: &Source<'_>, sink: &mut Sink, benchmark: &str, state: &Value) {
    let name =
        format!("{benchmark}/{}", json::text(state, "name").unwrap_or("unnamed").replace(' ', ","));
    if state.get("is_skipped").and_then(Value::as_bool) == Some(true) {
        sink.put_skipped(&name, json::text(state, "skip_reason").unwrap_or("no reason given"));
    } else {
        sink.put(&name, figures(source, state));
    }
}

fn figures(source: &Source<'_>, state: &Value) -> Result<ImportedCase, String> {
    let summaries =
        Summaries(state.get("summaries").and_then(Value::as_array).ok_or("it has no `summaries`")?);
    let mut found = match samples(source.path, &summaries) {
        Ok(Some(seconds)) => ImportedCase::of_samples(1, &seconds),
        Ok(None) => summarized(&summaries)?,
        Err(problem) => {
            let mut found = summarized(&summaries)?;
            found.note("samples_left_out", problem);
            found
        }
    };
    let scaled = [
        ("nv/cold/bw/global/bytes_per_second", "bandwidth_gb_s", 1e-9),
        ("nv/cold/bw/item_rate", "throughput_samples_per_second", 1.0),
        ("nv/cold/time/gpu/stdev/relative", "cv", 1.0),
        ("nv/cold/sample_size", "num_runs", 1.0),
    ];
    for (tag, field, factor) in scaled {
        if let Some(value) = summaries.number(tag)? {
            found.fields.set(field, value * factor);
        }
    }
    if let (Some(cv), Some(mean)) = (found.fields.number("cv"), mean(&summaries)) {
        found.fields.set("std_dev", cv * mean * 1e3);
    }
    // Batch times are measured without flushing caches, so they are kept but not compared.
    if let Some(batch) = summaries.number("nv/batch/time/gpu/mean")? {
        found.note("batch_time_ms", batch * 1e3);
    }
    let own = state.get("device").filter(|device| device.is_u64());
    let device = source.devices.iter().find(|device| own.is_some() && device.get("id") == own);
    if let Some(name) = device.and_then(|device| json::text(device, "name")) {
        found.note("device", name);
    }
    Ok(found)
}

/// Times of one execution in seconds: by the device's clock, or by the host's for a benchmark without
/// a device.
const TIMES: [&str; 3] = ["nv/cold/time/gpu", "nv/cold/time/cpu", "nv/cpu_only/time/cpu"];

/// Creates a case from the median, which only newer versions write, or else from the mean.
fn summarized(summaries: &Summaries<'_>) -> Result<ImportedCase, String> {
    for time in TIMES {
        for estimator in ["median", "mean"] {
            if let Some(seconds) = summaries.number(&format!("{time}/{estimator}"))? {
                let mut found = ImportedCase::of(Fields::new().with("time_ms", seconds * 1e3));
                found.note("estimator", estimator);
                return Ok(found);
            }
        }
    }
    Err("it has no median or mean time".to_owned())
}

/// Returns the mean seconds of an execution.
fn mean(summaries: &Summaries<'_>) -> Option<f64> {
    TIMES.iter().find_map(|time| summaries.number(&format!("{time}/mean")).ok()?)
}

/// The summaries of a state, which are looked up by tag. nvbench writes 64-bit numbers as text.
struct Summaries<'a>(&'a [Value]);

impl Summaries<'_> {
    fn value(&self, tag: &str, name: &str) -> Option<&Value> {
        let summary = self.0.iter().find(|summary| json::text(summary, "tag") == Some(tag))?;
        let data = summary.get("data")?.as_array()?;
        data.iter().find(|datum| json::text(datum, "name") == Some(name))?.get("value")
    }

    fn number(&self, tag: &str) -> Result<Option<f64>, String> {
        let Some(value) = self.value(tag, "value").filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        let number = value.as_f64().or_else(|| value.as_str()?.parse().ok());
        number.map(Some).ok_or_else(|| format!("`{tag}` is {value}, not a number"))
    }
}

/// Reads the samples, in seconds; `None` if there are none. The error is the reason why the file of
/// the samples cannot be used.
fn samples(document: &Path, summaries: &Summaries<'_>) -> Result<Option<Vec<f64>>, String> {
    const TAG: &str = "nv/json/bin:nv/cold/sample_times";
    let Some(name) = summaries.value(TAG, "filename").and_then(Value::as_str) else {
        return Ok(None);
    };
    // The document is untrusted, so it may only refer to files in its own directory or below.
    let named = Path::new(name);
    if !named.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(format!("`{name}` is outside the directory of the document"));
    }
    let dir = document.parent().unwrap_or(Path::new(""));
    let beside = [Some(dir), dir.parent()].into_iter().flatten().map(|dir| dir.join(named));
    let path = beside
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| format!("`{name}` does not exist"))?;
    let bytes = input::read(&path, input::MOST_OF_OTHERS)
        .map_err(|problem| format!("`{name}`: {problem}"))?;
    let size = summaries
        .value(TAG, "size")
        .and_then(|size| size.as_u64().or_else(|| size.as_str()?.parse().ok()));
    let (floats, rest) = bytes.as_chunks::<SAMPLE_BYTES>();
    if floats.is_empty() || !rest.is_empty() || size != Some(floats.len() as u64) {
        return Err(format!(
            "`{name}` does not contain as many samples as the document gives: it was cut off"
        ));
    }
    Ok(Some(floats.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use rsb_model::{BenchmarkType, Outcome};

    use crate::import::mutations::{read, sample};
    use crate::import::{Format, detect, import};

    #[test]
    fn seconds_become_milliseconds_and_skips_stay_skips() {
        let run = read(Format::Nvbench, sample(Format::Nvbench)).unwrap();
        let [copy, skipped] = &run.benchmarks[..] else { panic!("{run:?}") };
        assert_eq!(copy.benchmark_id.as_str(), "gpu_performance/nvbench/copy/Device=0,Size=2^20");
        assert_eq!(copy.benchmark_type, BenchmarkType::GpuPerformance);
        let fields = copy.fields().unwrap();
        assert_eq!(
            (fields.number("time_ms"), fields.number("bandwidth_gb_s")),
            (Some(0.25), Some(82.0))
        );
        assert_eq!(
            (fields.number("num_runs"), fields.number("cv"), fields.number("std_dev")),
            (Some(78.0), Some(0.01), Some(0.0025))
        );
        assert_eq!(copy.metadata["device"], "GPU");
        assert_eq!(copy.metadata["samples_left_out"], "`out.json-bin/0.bin` does not exist");
        assert_eq!(skipped.outcome, Outcome::Skipped);
        assert_eq!(skipped.reason.as_ref().unwrap().why, "not a conversion");
    }

    #[test]
    fn the_median_is_used_if_there_is_one() {
        let text = sample(Format::Nvbench);
        let mean = r#"{"tag": "nv/cold/time/gpu/mean","#;
        let median = r#"{"tag": "nv/cold/time/gpu/median",
            "data": [{"name": "value", "type": "float64", "value": "0.0002"}]},"#;
        for (text, time, estimator) in [
            (text.to_owned(), 0.25, "mean"),
            (text.replace(mean, &format!("{median}{mean}")), 0.2, "median"),
        ] {
            let run = read(Format::Nvbench, &text).unwrap();
            let case = &run.benchmarks[0];
            assert_eq!(case.fields().unwrap().number("time_ms"), Some(time));
            assert_eq!(case.fields().unwrap().number("std_dev"), Some(0.0025));
            assert_eq!(case.metadata["estimator"], estimator);
        }
    }

    #[test]
    fn samples_beside_the_document_are_read_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let document = dir.path().join("out.json");
        let bytes: Vec<u8> =
            [0.001_f32, 0.002, 0.004].iter().flat_map(|time| time.to_le_bytes()).collect();
        fs::create_dir(dir.path().join("out.json-bin")).unwrap();
        let side = dir.path().join("out.json-bin/0.bin");
        fs::write(&document, sample(Format::Nvbench)).unwrap();
        fs::write(&side, &bytes).unwrap();
        let case = &import(&document, None).unwrap().benchmarks[0];
        let times = case.samples[0].per_iteration().unwrap();
        assert!(
            times
                .iter()
                .zip([1e6, 2e6, 4e6])
                .all(|(time, expected)| (time / expected - 1.0).abs() < 1e-6)
        );
        fs::write(&side, &bytes[..9]).unwrap();
        let case = &import(&document, None).unwrap().benchmarks[0];
        assert!(
            case.samples.is_empty()
                && case.metadata["samples_left_out"].as_str().unwrap().contains("cut off")
        );
        fs::write(&document, sample(Format::Nvbench).replace("out.json-bin/0", "/etc/0")).unwrap();
        let case = &import(&document, None).unwrap().benchmarks[0];
        assert!(
            case.metadata["samples_left_out"].as_str().unwrap().contains("outside the directory")
        );
    }

    #[test]
    fn another_schema_is_refused_by_name() {
        let text = sample(Format::Nvbench);
        let newer = text.replace("\"major\": 1", "\"major\": 2");
        let older =
            text.replace(r#""meta": {"version": {"json": {"major": 1, "minor": 0}}}, "#, "");
        // The earliest versions store states by name instead of in a list.
        let keyed = r#"{"devices": [{"id": 0}], "benchmarks": [{"index": 0, "name": "copy", "states": {"Size=1": {}}}]}"#;
        for (text, name, cure) in [
            (newer.as_str(), "schema 2", "update rusty-stack-bench"),
            (&older, "before schema 1", "2022 or later"),
            (keyed, "before schema 1", "2022 or later"),
        ] {
            assert_eq!(detect(Path::new("out.json"), text), Some(Format::Nvbench));
            let error = read(Format::Nvbench, text).unwrap_err().to_string();
            assert!(
                error.contains("refused") && error.contains(name) && error.contains(cure),
                "{error}"
            );
        }
    }
}
