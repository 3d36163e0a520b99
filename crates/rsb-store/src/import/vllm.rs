//! vLLM's serving benchmark: one document per run, with means and percentiles over its requests.
//!
//! Keys that end in `_ms` are in milliseconds; the same keys without this suffix are in seconds.
//! Each statistic is a separate case, because a better median may hide a worse tail. Failed
//! requests have no latency: they are reported, they lower the goodput, and the request rate of a
//! run with failures is not compared.
//!
//! An id contains the parameters of the load, never its results. The tool records neither the
//! dataset nor the lengths of its requests; if they are given with `--metadata`, the ids contain
//! them.

use rsb_model::{BenchmarkType, Fields};
use serde_json::Value;

use super::dates::Unzoned;
use super::error::Problem;
use super::json;
use super::not_imported;
use super::sink::{ImportedCase, Sink};
use super::{Importer, Input};

/// Names of request metrics in the tool's output, and the corresponding fields.
const LATENCIES: [(&str, &str); 4] =
    [("ttft", "ttft_ms"), ("tpot", "tpot_ms"), ("itl", "itl_ms"), ("e2el", "total_latency_ms")];

pub(super) const IMPORTER: Importer = Importer {
    name: "vllm",
    benchmark_type: BenchmarkType::ComponentSpecific,
    device_type: None,
    is_document: |document| {
        json::has_keys(document, &["num_prompts", "completed", "duration"])
            && !not_imported::is_sglang(document)
    },
    keys: &["/num_prompts", "/completed", "/duration", "/request_throughput"],
    marks: &[],
    read,
};

fn read(input: &Input<'_>, sink: &mut Sink) -> Result<(), Problem> {
    for document in json::documents(input.text)? {
        if !document.is_object() {
            return Err(Problem::shape("it is not an object with `num_prompts` and `completed`"));
        }
        sink.read_timestamp(&document, "date", Unzoned::Local)?;
        if DATASET.iter().all(|key| document.get(key).is_none()) {
            sink.note(NO_DATASET.to_owned());
        }
        let name = name(&document);
        match Requests::of(&document) {
            Ok(requests) => add(&document, &name, &requests, sink),
            Err(problem) => sink.unreadable(&name, &problem),
        }
    }
    Ok(())
}

/// Metadata keys that may describe the dataset, named like the flags.
const DATASET: [&str; 7] = [
    "dataset_name",
    "dataset",
    "dataset_path",
    "input_len",
    "output_len",
    "random_input_len",
    "random_output_len",
];

const NO_DATASET: &str = "vllm records neither the dataset nor the lengths of its requests: \
                          compare only runs of the same dataset, or run vllm with `--metadata \
                          dataset_name=… input_len=… output_len=…` to add them to the ids";

/// Keys that describe the load. `burstiness` is 1 unless set otherwise.
const LOAD: [&str; 7] = [
    "num_prompts",
    "request_rate",
    "burstiness",
    "max_concurrency",
    "ramp_up_strategy",
    "ramp_up_start_rps",
    "ramp_up_end_rps",
];

/// Returns the name of a case from the parameters of the load, so that only equal loads are
/// compared.
fn name(document: &Value) -> String {
    let mut parts = vec![json::text(document, "model_id").unwrap_or("model").to_owned()];
    for key in DATASET.into_iter().chain(LOAD) {
        let Some(value) = document.get(key).filter(|value| !value.is_null()) else { continue };
        let is_usual = key == "burstiness" && value.as_f64() == Some(1.0);
        if !is_usual {
            let text = value.as_str().map_or(value.to_string(), str::to_owned);
            parts.push(format!("{key}={text}"));
        }
    }
    parts.join("/")
}

/// Returns the tokens per request, if all requests have the same number.
fn tokens_each(document: &Value, key: &str) -> Option<u64> {
    let (total, completed) = (document.get(key)?.as_u64()?, document.get("completed")?.as_u64()?);
    (total > 0 && total.checked_rem(completed)? == 0).then(|| total / completed)
}

struct Requests {
    sent: f64,
    completed: f64,
    failed: f64,
    /// Number of requests that met their latency targets; `None` if no targets were set.
    good: Option<f64>,
    seconds: f64,
}

impl Requests {
    fn of(document: &Value) -> Result<Self, String> {
        let sent = count(document, "num_prompts")?.ok_or("it has no `num_prompts`")?;
        let completed = count(document, "completed")?.ok_or("it has no `completed`")?;
        let failed = count(document, "failed")?.unwrap_or(sent - completed).max(sent - completed);
        let seconds = json::required_number(document, "duration")?;
        let good = count(document, "good_completed")?;
        if completed > sent
            || completed + failed > sent
            || good.is_some_and(|good| good > completed)
        {
            return Err(format!(
                "the counts contradict each other: of {sent} requests, {completed} completed and \
                 {failed} failed"
            ));
        }
        if !(seconds.is_finite() && seconds > 0.0) {
            return Err(format!("`duration` is {seconds}; it must be above zero"));
        }
        Ok(Self { sent, completed, failed, good, seconds })
    }
}

fn count(document: &Value, key: &str) -> Result<Option<f64>, String> {
    let number = json::number(document, key)?;
    match number.filter(|number| !(*number >= 0.0 && number.fract() == 0.0)) {
        Some(wrong) => Err(format!("`{key}` is {wrong}, not a count")),
        None => Ok(number),
    }
}

fn add(document: &Value, name: &str, requests: &Requests, sink: &mut Sink) {
    if requests.completed == 0.0 {
        return sink.put_failed(name, &format!("none of its {} requests completed", requests.sent));
    }
    let mut part = |part: &str, figure: Result<Option<(&'static str, f64)>, String>| match figure {
        Ok(None) => {}
        Ok(Some((field, value))) => {
            sink.put(&format!("{name}/{part}"), Ok(metric_case(document, requests, field, value)));
        }
        Err(problem) => sink.unreadable(&format!("{name}/{part}"), &problem),
    };
    if requests.failed == 0.0 {
        let rate = json::number(document, "request_throughput");
        part("requests", rate.map(|rate| Some(("requests_per_second", rate?))));
    }
    let goodput = goodput(document, requests);
    if goodput != Ok(0.0) {
        part("goodput", goodput.clone().map(|rate| Some(("requests_per_second", rate))));
    }
    for (key, name) in
        [("output_throughput", "output_tokens"), ("total_token_throughput", "all_tokens")]
    {
        part(name, json::number(document, key).map(|rate| Some(("tokens_per_second", rate?))));
    }
    for key in document.as_object().into_iter().flat_map(|object| object.keys()) {
        if let Some((name, field, factor)) = latency(key) {
            // Without a second token there is no time between tokens, and the tool writes zero.
            let may_be_unknown = ["tpot_ms", "itl_ms"].contains(&field);
            let figure = json::number(document, key)
                .map(|value| value.filter(|value| !(may_be_unknown && *value == 0.0)));
            part(&name, figure.map(|value| Some((field, value? * factor))));
        }
    }
    losses(name, requests, goodput == Ok(0.0), sink);
}

/// Adds failed cases and a note for failed requests, so that they are not hidden behind a rate.
fn losses(name: &str, requests: &Requests, none_is_good: bool, sink: &mut Sink) {
    if none_is_good {
        let why =
            format!("none of the {} requests that completed met its targets", requests.completed);
        sink.put_failed(&format!("{name}/goodput"), &why);
    }
    if requests.failed > 0.0 {
        let why = format!("{} of {} requests failed", requests.failed, requests.sent);
        sink.put_failed(&format!("{name}/requests"), &why);
        sink.note(format!("vllm: {why}; the latencies are of the completed ones"));
    }
}

/// Returns the goodput in requests per second: requests that met their targets, or all completed
/// requests if there were no targets.
fn goodput(document: &Value, requests: &Requests) -> Result<f64, String> {
    // Some versions wrote the key with a colon.
    let reported =
        json::number(document, "request_goodput")?.or(json::number(document, "request_goodput:")?);
    // Failed requests are included in the duration but not in the count.
    Ok(reported.unwrap_or_else(|| requests.good.unwrap_or(requests.completed) / requests.seconds))
}

/// Returns the case name, the field and the factor to milliseconds of a key such as `p99_ttft_ms`
/// (milliseconds) or `p99_ttft` (seconds).
fn latency(key: &str) -> Option<(String, &'static str, f64)> {
    let (statistic, rest) = key.split_once('_')?;
    let is_percentile =
        statistic.strip_prefix('p').is_some_and(|number| number.parse::<f64>().is_ok());
    if !(is_percentile || ["mean", "median"].contains(&statistic)) {
        return None;
    }
    let (metric, factor) = rest.strip_suffix("_ms").map_or((rest, 1e3), |metric| (metric, 1.0));
    let (metric, field) = LATENCIES.into_iter().find(|(own, _)| *own == metric)?;
    Some((format!("{metric}/{statistic}"), field, factor))
}

fn metric_case(
    document: &Value,
    requests: &Requests,
    field: &'static str,
    value: f64,
) -> ImportedCase {
    let mut fields = Fields::new().with(field, value).with("num_prompts", requests.sent);
    for (key, field) in
        [("total_input_tokens", "prompt_length"), ("total_output_tokens", "output_length")]
    {
        if let Some(tokens) = tokens_each(document, key) {
            fields.set(field, tokens);
        }
    }
    let mut found = ImportedCase::of(fields);
    for key in ["backend", "label", "tokenizer_id"] {
        found.note(key, document.get(key).cloned().unwrap_or_default());
    }
    found.note("completed_requests", requests.completed);
    found.note("failed_requests", requests.failed);
    if let Some(good) = requests.good {
        found.note("good_requests", good);
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rsb_model::{BenchmarkType, CaseId, Outcome, Run};

    use crate::import::Format;
    use crate::import::mutations::{read, sample};

    /// Returns the end of an id, after the parameters of the load.
    fn part(id: &CaseId) -> &str {
        id.as_str().rsplit_once("max_concurrency=4/").map_or(id.as_str(), |(_, part)| part)
    }

    fn figures(run: &Run) -> BTreeMap<&str, (&'static str, f64)> {
        let measured = run.benchmarks.iter().filter(|case| case.outcome == Outcome::Measured);
        measured
            .filter_map(|case| Some((part(&case.benchmark_id), case.fields()?.metrics().next()?)))
            .map(|(part, (field, value))| (part, (field.name, value)))
            .collect()
    }

    #[test]
    fn keys_without_a_suffix_are_seconds() {
        let text = sample(Format::Vllm);
        let run = read(Format::Vllm, text).unwrap();
        let id =
            "component_specific/vllm/org/model/num_prompts=40/request_rate=inf/max_concurrency=4/";
        assert!(
            run.benchmarks.iter().all(|case| case.benchmark_id.as_str().starts_with(id)),
            "{run:?}"
        );
        assert!(
            run.benchmarks
                .iter()
                .all(|case| case.benchmark_type == BenchmarkType::ComponentSpecific)
        );
        let expected = BTreeMap::from([
            ("requests", ("requests_per_second", 0.5)),
            ("goodput", ("requests_per_second", 0.5)),
            ("output_tokens", ("tokens_per_second", 64.0)),
            ("ttft/median", ("ttft_ms", 1500.0)),
            ("ttft/p99", ("ttft_ms", 4500.0)),
            ("tpot/median", ("tpot_ms", 45.0)),
            ("e2el/mean", ("total_latency_ms", 7000.0)),
        ]);
        assert_eq!(figures(&run), expected);
        let milliseconds = text.replace("\"median_ttft\": 1.5", "\"median_ttft_ms\": 1500.0");
        assert_eq!(figures(&read(Format::Vllm, &milliseconds).unwrap()), expected);
    }

    #[test]
    fn failed_requests_count_against_the_goodput_and_are_told() {
        let text = sample(Format::Vllm)
            .replace("\"good_completed\": null", "\"good_completed\": 20, \"failed\": 4");
        let text = text.replace("\"num_prompts\": 40", "\"num_prompts\": 44");
        let run = read(Format::Vllm, &text).unwrap();
        assert_eq!(figures(&run)["goodput"], ("requests_per_second", 0.25));
        assert!(!figures(&run).contains_key("requests"));
        let requests =
            run.benchmarks.iter().find(|case| part(&case.benchmark_id) == "requests").unwrap();
        assert_eq!(requests.reason.as_ref().unwrap().why, "4 of 44 requests failed");
        assert!(
            run.benchmarks
                .iter()
                .filter(|case| case.outcome == Outcome::Measured)
                .all(|case| case.metadata["failed_requests"] == 4.0)
        );
        assert!(
            run.notes.iter().any(|note| note.to_string().contains("4 of 44 requests failed")),
            "{:?}",
            run.notes
        );
    }

    #[test]
    fn an_id_says_what_was_asked_for_and_not_what_came_of_it() {
        let text = sample(Format::Vllm);
        let asked = "num_prompts=40/request_rate=inf/max_concurrency=4/ttft/p99";
        for (from, to) in [
            // Results differ from the original: fewer completed requests, and other lengths.
            ("\"completed\": 40, ", "\"completed\": 39, \"failed\": 1, "),
            ("40960", "40961"),
            ("5120", "7"),
            ("\"total_input_tokens\": 40960,", ""),
            ("\"burstiness\": 1.0, ", ""),
            ("\"model_id\"", "\"label\": \"after\", \"backend\": \"openai\", \"model_id\""),
        ] {
            assert!(text.contains(from));
            assert_eq!(ttft_id(&text.replace(from, to)), asked, "{to}");
        }
        for (from, to, other) in [
            ("\"inf\"", "2.5", "num_prompts=40/request_rate=2.5/max_concurrency=4/ttft/p99"),
            (
                "\"burstiness\": 1.0",
                "\"burstiness\": 0.5",
                "num_prompts=40/request_rate=inf/burstiness=0.5/max_concurrency=4/ttft/p99",
            ),
            (
                "\"max_concurrency\": 4",
                "\"max_concurrency\": null",
                "num_prompts=40/request_rate=inf/ttft/p99",
            ),
            (
                "\"burstiness\": 1.0",
                "\"dataset_name\": \"random\", \"input_len\": \"1024\"",
                "dataset_name=random/input_len=1024/num_prompts=40/request_rate=inf/max_concurrency=4/ttft/p99",
            ),
            (
                "\"burstiness\": 1.0",
                "\"ramp_up_strategy\": \"linear\", \"ramp_up_start_rps\": 1, \"ramp_up_end_rps\": \
                 9",
                "num_prompts=40/request_rate=inf/max_concurrency=4/ramp_up_strategy=linear/ramp_up_start_rps=1/ramp_up_end_rps=9/ttft/p99",
            ),
        ] {
            assert_eq!(ttft_id(&text.replace(from, to)), other);
        }
        assert!(has_dataset_note(text));
        let named = text.replace("\"burstiness\"", "\"dataset_name\": \"random\", \"burstiness\"");
        assert!(!has_dataset_note(&named));
    }

    /// Returns the end of the id of the time to the first token.
    fn ttft_id(text: &str) -> String {
        let run = read(Format::Vllm, text).unwrap();
        let case = run
            .benchmarks
            .iter()
            .find(|case| case.benchmark_id.as_str().ends_with("/ttft/p99"))
            .unwrap();
        case.benchmark_id
            .as_str()
            .strip_prefix("component_specific/vllm/org/model/")
            .unwrap()
            .to_owned()
    }

    fn has_dataset_note(text: &str) -> bool {
        let run = read(Format::Vllm, text).unwrap();
        run.notes.iter().any(|note| note.to_string().contains("dataset"))
    }

    #[test]
    fn a_date_without_a_zone_is_told_to_be_a_guess_and_once() {
        let text = sample(Format::Vllm);
        let later = text.replace("20260102-030405", "20260102-040506");
        let run = read(Format::Vllm, &format!("{later}\n{text}\n{text}")).unwrap();
        assert_eq!(run.started.to_string(), "2026-01-02T03:04:05Z");
        assert_eq!(run.finished.unwrap().to_string(), "2026-01-02T04:05:06Z");
        let guesses =
            run.notes.iter().filter(|note| note.to_string().contains("no time zone")).count();
        assert_eq!(guesses, 2, "one note for each date: {:?}", run.notes);
    }

    #[test]
    fn the_goodput_of_the_key_with_a_colon_counts() {
        let text = sample(Format::Vllm)
            .replace("\"request_goodput\": null", "\"request_goodput:\": 0.125");
        assert_eq!(
            figures(&read(Format::Vllm, &text).unwrap())["goodput"],
            ("requests_per_second", 0.125)
        );
    }

    #[test]
    fn a_second_document_is_a_second_set_of_cases() {
        let text = sample(Format::Vllm);
        let run = read(Format::Vllm, &format!("{text}\n{text}")).unwrap();
        assert_eq!(run.counts().measured, 14);
    }

    #[test]
    fn impossible_counts_and_figures_are_no_measurements() {
        let text = sample(Format::Vllm);
        for (from, to, measured) in [
            ("\"completed\": 40", "\"completed\": 41", 0),
            ("\"completed\": 40", "\"completed\": 0", 0),
            ("\"completed\": 40", "\"completed\": -1", 0),
            ("\"good_completed\": null", "\"good_completed\": 0", 6),
            ("\"request_goodput\": null", "\"request_goodput\": -1", 6),
            ("\"median_ttft\": 1.5", "\"median_ttft\": 0", 6),
            ("\"duration\": 80.0", "\"duration\": 0", 0),
            ("\"median_ttft\": 1.5", "\"median_ttft\": -1.5", 6),
            ("\"median_ttft\": 1.5", "\"median_ttft\": \"soon\"", 6),
        ] {
            let run = read(Format::Vllm, &text.replace(from, to)).unwrap();
            assert_eq!(run.counts().measured, measured, "{to}");
            assert!(run.counts().failed > 0, "{to}");
        }
    }
}
