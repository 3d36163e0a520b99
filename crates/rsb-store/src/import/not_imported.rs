//! Outputs that are recognized but not imported. Each is refused by name, with the supported
//! alternative.

use serde_json::Value;

use super::json;

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
        is: is_sweep,
        name: "the summary of a sweep (`vllm bench sweep`)",
        cure: "import the `run=….json` files next to it, one for each run",
    },
    NotImported { is: is_sglang, name: "the JSON of SGLang's `bench_serving`", cure: SGLANG_CURE },
    NotImported {
        is: |document| {
            has(document, &["batch_size", "input_len", "output_len", "overall_throughput"])
        },
        name: "the JSON of SGLang's `bench_one_batch`",
        cure: SGLANG_CURE,
    },
    NotImported {
        is: |document| has(document, &["backend", "successful_requests", "total_throughput"]),
        name: "the JSON of SGLang's `bench_offline_throughput`",
        cure: SGLANG_CURE,
    },
    NotImported {
        is: |document| {
            has(document, &["mean", "median", "slope"])
                && document.pointer("/mean/point_estimate").is_some()
                || json::text(document, "reason") == Some("benchmark-complete")
        },
        name: "the estimates of one Criterion case",
        cure: CRITERION_CURE,
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
        cure: CRITERION_CURE,
    },
];

/// A text that is not imported, recognized by one of its lines.
struct TextNotImported {
    /// Words, in lower case, that all occur in that line.
    marks: &'static [&'static str],
    name: &'static str,
    cure: &'static str,
}

const TEXTS: &[TextNotImported] = &[
    TextNotImported {
        marks: &["num_prompts,", "completed,", "duration,"],
        name: "the CSV summary of a sweep (`vllm bench sweep`)",
        cure: "import the `run=….json` files next to it, one for each run",
    },
    TextNotImported {
        marks: &["serving benchmark result"],
        name: "the printed result of `vllm bench serve` or of SGLang's `bench_serving`",
        cure: "import the JSON of `vllm bench serve --save-result`",
    },
    TextNotImported {
        marks: &["name,iterations,real_time,cpu_time"],
        name: "the CSV of Google Benchmark",
        cure: "import the JSON of `--benchmark_out=FILE`",
    },
    TextNotImported {
        marks: &["benchmark  ", " time ", " cpu ", " iterations"],
        name: "the printed table of Google Benchmark",
        cure: "import the JSON of `--benchmark_out=FILE`",
    },
    TextNotImported {
        marks: &["time (mean ± σ)"],
        name: "the printed result of hyperfine",
        cure: "import the JSON of `--export-json FILE`",
    },
    TextNotImported {
        marks: &["| command ", "| mean ["],
        name: "the Markdown or Org table of hyperfine",
        cure: "import the JSON of `--export-json FILE`",
    },
    TextNotImported {
        marks: &["| mean ["],
        name: "the AsciiDoc table of hyperfine",
        cure: "import the JSON of `--export-json FILE`",
    },
    TextNotImported {
        marks: &["command,mean,stddev,"],
        name: "the CSV of hyperfine",
        cure: "import the JSON of `--export-json FILE`",
    },
    TextNotImported {
        marks: &["time:   [", "]"],
        name: "the printed result of Criterion",
        cure: CRITERION_CURE,
    },
    TextNotImported {
        marks: &["test ", " ... bench: ", " ns/iter "],
        name: "the printed result of `cargo bench` with libtest",
        cure: "measure with Criterion, and compare its directory target/criterion",
    },
    TextNotImported {
        marks: &["name (time in "],
        name: "the printed table of pytest-benchmark",
        cure: "import the JSON of `--benchmark-json FILE`",
    },
    TextNotImported {
        marks: &["| samples |", "| gpu time "],
        name: "the printed table of nvbench",
        cure: "import the JSON of `--json FILE`",
    },
    TextNotImported { marks: &["nccl info"], name: PART_OF_NCCL, cure: NCCL_CURE },
    TextNotImported { marks: &["# avg bus bandwidth"], name: PART_OF_NCCL, cure: NCCL_CURE },
];

const SGLANG_CURE: &str = "measure with `vllm bench serve --save-result`, which can send requests \
                           to any server of the OpenAI interface";
const CRITERION_CURE: &str = "compare the directory of all cases, such as target/criterion";

const PART_OF_NCCL: &str =
    "a part of a log of NCCL or RCCL without the head of the table (`size`, `time`, `algbw` …)";
const NCCL_CURE: &str = "import the whole output of the program";

const HISTORY: &str = "the history of github-action-benchmark, with many runs";
const HISTORY_CURE: &str = "show it with `trend --input FILE`";

/// Returns the reason why an output is refused, and the alternative, if `document`, or else `text`,
/// has a recognized format that is not imported.
pub(super) fn refusal_reason(document: Option<&Value>, text: &str) -> Option<(String, String)> {
    let found = document.and_then(|document| ALL.iter().find(|format| (format.is)(document)));
    let known = found.map(|found| (found.name, found.cure)).or_else(|| text_reason(text));
    known.map(|(name, cure)| (format!("it is {name}, which cannot be imported"), cure.to_owned()))
}

/// Returns the name of a recognized text format that is not imported, and the alternative.
fn text_reason(text: &str) -> Option<(&'static str, &'static str)> {
    if text.trim_start().starts_with("window.BENCHMARK_DATA") {
        return Some((HISTORY, HISTORY_CURE));
    }
    let text = text.to_ascii_lowercase();
    // Tables are padded, so marks are also searched for in lines with single spaces.
    let lines: Vec<(&str, String)> = text
        .lines()
        .map(|line| (line, line.split_whitespace().collect::<Vec<_>>().join(" ")))
        .collect();
    let is_known = |known: &&TextNotImported| {
        lines.iter().any(|(line, squeezed)| {
            [line, squeezed.as_str()]
                .iter()
                .any(|line| known.marks.iter().all(|mark| line.contains(mark)))
        })
    };
    TEXTS.iter().find(is_known).map(|known| (known.name, known.cure))
}

/// Returns whether `document` was written by `SGLang`, whose other keys are the same as vLLM's. A
/// `backend` called `sglang` is not enough, because vLLM's client can send requests to an `SGLang`
/// server too.
pub(super) fn is_sglang(document: &Value) -> bool {
    has(document, &["total_output_tokens_retokenized"])
}

/// Returns whether `document` lists all runs of a sweep, which have the same keys as one run.
fn is_sweep(document: &Value) -> bool {
    document.as_array().is_some_and(|runs| {
        !runs.is_empty()
            && runs.iter().all(|run| has(run, &["num_prompts", "completed", "duration"]))
    })
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
            (
                r#"[{"num_prompts": 8, "completed": 8, "duration": 2.0, "run_number": 0}]"#,
                "vllm bench sweep",
                "run=",
            ),
            (
                "run_number,num_prompts,completed,duration,x\n0,8,8,2.0,1",
                "vllm bench sweep",
                "run=",
            ),
            (
                r#"{"run_name": "a", "batch_size": 1, "input_len": 8, "output_len": 8, "overall_throughput": 9.0}"#,
                "bench_one_batch",
                "vllm bench serve",
            ),
            (
                r#"{"backend": "engine", "successful_requests": 8, "total_throughput": 9.0}"#,
                "bench_offline_throughput",
                "vllm bench serve",
            ),
            (
                r#"{"mean": {"point_estimate": 1.0}, "median": {}, "slope": null}"#,
                "Criterion",
                "target/criterion",
            ),
            (
                r#"{"reason": "benchmark-complete", "id": "a", "measured_values": [1.0]}"#,
                "Criterion",
                "target/criterion",
            ),
            ("fib 20    time:   [26.0 us 26.2 us 26.5 us]", "Criterion", "target/criterion"),
            ("test a ... bench:   1,234 ns/iter (+/- 56)", "libtest", "Criterion"),
            ("==== Serving Benchmark Result ====", "SGLang", "--save-result"),
            ("command,mean,stddev,median,user,system,min,max\n", "hyperfine", "--export-json"),
            ("| Command  |  Mean [ms] |  Min [ms] |", "hyperfine", "--export-json"),
            ("|===\n| Command \n| Mean [ms] \n", "hyperfine", "--export-json"),
            ("name,iterations,real_time,cpu_time,time_unit\n", "Google", "--benchmark_out"),
            ("Benchmark     Time     CPU   Iterations\n", "Google", "--benchmark_out"),
            ("  Time (mean ± σ):  1.0 ms", "hyperfine", "--export-json"),
            ("| Command | Mean [ms] | Min [ms] |", "hyperfine", "--export-json"),
            ("Name (time in us)   Min", "pytest-benchmark", "--benchmark-json"),
            ("| Size | Samples | CPU Time | Noise | GPU Time |", "nvbench", "--json"),
            ("|  Size  | Samples |  CPU Time  |  Noise  |  GPU Time  |", "nvbench", "--json"),
            ("node:7:9 [0] NCCL INFO comm destroyed", "NCCL", "whole output"),
            ("# Out of bounds values : 0 OK\n# Avg bus bandwidth : 336", "NCCL", "whole output"),
        ] {
            // The result does not depend on the file name.
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
