//! The format that an unknown file resembles most, and why it is not of that format.

use serde_json::Value;

use super::Format;

/// A format and which of its marks a file has.
struct Resemblance {
    format: Format,
    found: usize,
    missing: Vec<&'static str>,
}

/// Returns the end of a message: the format whose marks are most complete in the file, and the
/// marks that it lacks. `None` if no format has at least half of its marks in the file.
pub(super) fn guess(document: Option<&Value>, text: &str) -> Option<String> {
    // A list of documents is judged by its first.
    let document = document.map(|document| document.get(0).unwrap_or(document));
    let text = text.to_ascii_lowercase();
    let all = Format::ALL.into_iter().map(|format| {
        let importer = format.importer();
        let (marks, has): (_, &dyn Fn(&str) -> bool) = match document {
            Some(document) => (importer.keys, &|key| document.pointer(key).is_some()),
            None => (importer.marks, &|mark| text.contains(mark)),
        };
        let missing: Vec<&str> = marks.iter().copied().filter(|mark| !has(mark)).collect();
        Resemblance { format, found: marks.len() - missing.len(), missing }
    });
    let close = all.filter(|one| one.found > 0 && one.found >= one.missing.len());
    // The first of equally close ones, in the order in which they are tried.
    let nearest = close.reduce(|best, one| {
        let is_closer = one.found * (best.found + best.missing.len())
            > best.found * (one.found + one.missing.len());
        if is_closer { one } else { best }
    })?;
    let missing: Vec<String> =
        nearest.missing.iter().map(|mark| format!("`{}`", mark.trim_matches('/'))).collect();
    (!missing.is_empty()).then(|| {
        let (format, missing) = (nearest.format, missing.join(", "));
        format!("; it resembles that of {format} most, but lacks {missing}")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::guess;
    use crate::import::json::cut_document;
    use crate::import::mutations::SAMPLES;
    use crate::import::{Format, json};

    #[test]
    fn the_nearest_format_is_named_with_what_the_file_lacks() {
        for (text, format, missing) in [
            (
                r#"{"benchmarks": [{"name": "a", "time_unit": "ns"}]}"#,
                "google-benchmark",
                "`context`",
            ),
            (r#"{"benchmarks": [{"stats": {}}]}"#, "pytest-benchmark", "`machine_info`"),
            (r#"[{"results": [{"median": 1.0}]}]"#, "hyperfine", "`results/0/command`"),
            (r#"{"num_prompts": 1, "duration": 2.0}"#, "vllm", "`completed`, `request_throughput`"),
            ("size,time,busbw\n8,9.5,1", "nccl-tests", "`algbw`"),
        ] {
            let nearest = guess(json::first(text).as_ref(), text).unwrap();
            assert!(nearest.contains(format) && nearest.contains(missing), "{nearest}");
        }
        for text in ["hello", "{}", "[1, 2]", r#"{"results": []}"#] {
            assert_eq!(guess(json::first(text).as_ref(), text), None, "{text}");
        }
    }

    #[test]
    fn keys_exist_in_the_documents_of_their_format() {
        for (format, text) in SAMPLES {
            let Some(document) = json::first(text) else { continue };
            for key in format.importer().keys.iter().filter(|key| **key != "/request_throughput") {
                assert!(document.pointer(key).is_some(), "{format}: {key}");
            }
        }
    }

    #[test]
    fn documents_that_were_cut_off_keep_what_is_complete() {
        let text = r#"{"a": [1, {"b": "},{\\\"", "c": 2}, {"d": 3, "e": "f"#;
        assert_eq!(cut_document(text), Some(json!({"a": [1, {"b": "},{\\\"", "c": 2}, {"d": 3}]})));
        assert_eq!(cut_document("plain {"), None);
        let google = crate::import::mutations::sample(Format::GoogleBenchmark);
        let cut = cut_document(google.split("BM_Sort_cv").next().unwrap()).unwrap();
        assert!((Format::GoogleBenchmark.importer().is_document)(&cut));
    }
}
