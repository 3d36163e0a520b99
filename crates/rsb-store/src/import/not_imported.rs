//! Documents that are recognized but not imported. Each is refused by name, with the supported
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

/// Returns why `document` is refused and the cure, if it has a recognized format that is not
/// imported.
pub(super) fn refusal_reason(document: &Value) -> Option<(String, String)> {
    let found = ALL.iter().find(|format| (format.is)(document))?;
    Some((format!("it is {}, which cannot be imported", found.name), found.cure.to_owned()))
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
