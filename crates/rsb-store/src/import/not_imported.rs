//! Outputs that are recognized but not imported. Each is refused by name, with the supported
//! alternative.

use serde_json::Value;

struct NotImported {
    is: fn(&Value) -> bool,
    name: &'static str,
    cure: &'static str,
}

const ALL: &[NotImported] = &[
    NotImported {
        is: |document| has(document, &["nccl_version", "config", "results"]),
        name: "the JSON of nccl-tests (-J)",
        cure: "import the text that it prints",
    },
    NotImported {
        is: |document| has(document, &["elapsed_time", "num_requests", "requests_per_second"]),
        name: "the JSON of `vllm bench throughput`",
        cure: "import the JSON of `vllm bench serve --save-result`",
    },
    NotImported {
        is: |document| has(document, &["avg_latency", "latencies", "percentiles"]),
        name: "the JSON of `vllm bench latency`",
        cure: "import the JSON of `vllm bench serve --save-result`",
    },
    NotImported {
        is: is_sglang,
        name: "the JSON of SGLang's `bench_serving`",
        cure: "measure with `vllm bench serve --save-result`, which can send requests to any server of \
               the OpenAI interface",
    },
    NotImported {
        is: |document| has(document, &["lastUpdate", "repoUrl", "entries"]),
        name: HISTORY,
        cure: HISTORY_CURE,
    },
    NotImported {
        is: is_list_of_names,
        name: "a list of Google Benchmark case names (--benchmark_list_tests)",
        cure: "import the output without that flag",
    },
    NotImported {
        is: |document| has(document, &["iters", "times"]) || is_old_sample(document),
        name: "the samples of one Criterion case",
        cure: "compare the directory of all cases, such as target/criterion",
    },
];

const HISTORY: &str = "the history of github-action-benchmark, with many runs";
const HISTORY_CURE: &str = "show it with `trend --input FILE`";

/// Returns why an output is refused and the cure, if it has a recognized format that is not
/// imported: its `document`, or else its `text`.
pub(super) fn refusal_reason(document: Option<&Value>, text: &str) -> Option<(String, String)> {
    let found = document.and_then(|document| ALL.iter().find(|format| (format.is)(document)));
    let known = found.map(|found| (found.name, found.cure)).or_else(|| text_reason(text));
    known.map(|(name, cure)| (format!("it is {name}, which cannot be imported"), cure.to_owned()))
}

/// Returns the name and the cure of a text that is recognized but not imported.
fn text_reason(text: &str) -> Option<(&'static str, &'static str)> {
    if text.trim_start().starts_with("window.BENCHMARK_DATA") {
        return Some((HISTORY, HISTORY_CURE));
    }
    let is_nccl = ["NCCL INFO", "# Avg bus bandwidth"];
    is_nccl.iter().any(|mark| text.contains(mark)).then_some((
        "a part of a log of NCCL or RCCL without the head of the table (`size`, `time`, `algbw` …)",
        "import the whole output of the program",
    ))
}

/// Returns whether `document` is of `SGLang`, whose other keys are those of vLLM. A `backend` called
/// `sglang` would not show it, because vLLM's client can send requests to that server too.
pub(super) fn is_sglang(document: &Value) -> bool {
    has(document, &["total_output_tokens_retokenized"])
}

fn has(document: &Value, keys: &[&str]) -> bool {
    keys.iter().all(|key| document.get(key).is_some())
}

fn is_list_of_names(document: &Value) -> bool {
    if document.as_object().is_none_or(|document| document.len() != 1) {
        return false;
    }
    let Some(benchmarks) = document.get("benchmarks").and_then(Value::as_array) else {
        return false;
    };
    !benchmarks.is_empty()
        && benchmarks.iter().all(|entry| {
            entry.as_object().is_some_and(|entry| entry.len() == 1 && entry.contains_key("name"))
        })
}

/// Returns whether a document is two lists of equal length: iterations and times.
fn is_old_sample(document: &Value) -> bool {
    let lists: Option<Vec<&Vec<Value>>> =
        document.as_array().and_then(|lists| lists.iter().map(Value::as_array).collect());
    matches!(lists.as_deref(), Some([iters, times]) if !iters.is_empty() && iters.len() == times.len())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rsb_model::Timestamp;

    use crate::import::import_text;

    #[test]
    fn what_is_not_imported_is_refused_by_name_with_what_to_give() {
        for (text, name, cure) in [
            (
                r#"{"version": 1, "nccl_version": 22907, "config": {}, "results": []}"#,
                "nccl-tests (-J)",
                "prints",
            ),
            (
                r#"{"elapsed_time": 2.5, "num_requests": 8, "requests_per_second": 3.2}"#,
                "vllm bench throughput",
                "serve",
            ),
            (
                r#"{"avg_latency": 1.0, "latencies": [1.0], "percentiles": {}}"#,
                "vllm bench latency",
                "serve",
            ),
            (
                r#"{"benchmarks": [{"name": "BM_A"}, {"name": "BM_B"}]}"#,
                "--benchmark_list_tests",
                "without",
            ),
            (
                r#"{"sampling_mode": "Flat", "iters": [1.0], "times": [9.0]}"#,
                "Criterion",
                "target/criterion",
            ),
            ("[[1.0, 2.0], [9.0, 18.0]]", "Criterion", "target/criterion"),
            (
                r#"{"backend": "sglang", "num_prompts": 8, "completed": 8, "duration": 2.0,
                    "total_output_tokens_retokenized": 80}"#,
                "SGLang",
                "vllm bench serve",
            ),
            (
                "window.BENCHMARK_DATA = {\"entries\": {}}",
                "github-action-benchmark",
                "trend --input",
            ),
            (
                r#"{"lastUpdate": 1, "repoUrl": "", "entries": {}}"#,
                "github-action-benchmark",
                "trend --input",
            ),
            ("node:7:9 [0] NCCL INFO comm destroyed", "NCCL", "whole output"),
            ("# Out of bounds values : 0 OK\n# Avg bus bandwidth : 336", "NCCL", "whole output"),
        ] {
            // Independent of the file name.
            for file in ["out.json", "vllm.json"] {
                let error = import_text(Path::new(file), text, None, Timestamp::UNIX_EPOCH)
                    .unwrap_err()
                    .to_string();
                assert!(
                    [file, "refused", name, cure].iter().all(|part| error.contains(part)),
                    "{error}"
                );
            }
        }
    }
}
