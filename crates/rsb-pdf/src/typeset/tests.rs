//! Tests with reports as written by the main program, and with malicious ones.

use serde_json::{Value, json};

use super::{TypesetError, pdf};

/// Returns a document with an item of every kind, and `text` in every text field.
fn document(text: &str, rows: usize) -> Value {
    let prose = json!([{ "text": text, "code": false }, { "text": text, "code": true }]);
    let item = json!({ "lead": prose, "said": prose, "see": { "id": "verdict", "title": text }, "lines": [prose] });
    let cell = |tone: &str| json!({ "text": text, "tone": tone });
    let row =
        |note: Value| json!({ "cells": [cell("bad"), cell("plain"), cell("dim")], "note": note });
    let column = |align: &str, names_row: bool| json!({ "title": text, "align": align, "names_row": names_row });
    let mut all = vec![row(prose.clone())];
    all.resize(rows, row(Value::Null));
    let table = json!({
        "kind": "table", "caption": text, "rows": all,
        "columns": [column("left", true), column("left", false), column("right", false)],
    });
    let svg = "<svg width=\"900\" height=\"400\" viewBox=\"0 0 900 400\" \
               xmlns=\"http://www.w3.org/2000/svg\">\
               <text x=\"20\" y=\"20\" font-family=\"sans-serif\" \
               font-size=\"12\">TEXT</text></svg>";
    let svg =
        svg.replace("TEXT", &text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"));
    json!({
        "format_version": 1, "id": "run-1", "language": "en", "title": text, "subtitle": text,
        "moment": "2026-11-23 06:30:00", "footer": prose,
        "sections": [
            { "id": "verdict", "title": "Verdict", "blocks": [
                { "kind": "say", "tone": "bad", "text": prose },
                { "kind": "paragraph", "text": prose },
                { "kind": "note", "text": prose },
                { "kind": "tiles", "tiles": [{ "title": text, "tone": "caution", "items": [item] }] },
            ] },
            { "id": "results", "title": "Results", "blocks": [
                { "kind": "heading", "text": text },
                { "kind": "list", "items": [item, item] },
                table,
                { "kind": "folded", "summary": text, "blocks": [table] },
                { "kind": "chart", "number": 1, "title": text, "description": text, "svg": svg, "width": 900, "height": 400 },
            ] },
        ],
    })
}

fn made(document: &Value) -> Vec<u8> {
    pdf(document.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// The output is requested as PDF/UA-1, so the typesetter rejects any text that does not conform.
#[test]
fn a_report_conforms_and_the_same_report_gives_the_same_bytes() {
    let report = document("gemm cpu:0/f32/1024x1024x1024 +12.3 % – 1.2 µs", 3);
    let file = made(&report);
    assert!(file.starts_with(b"%PDF-1.7") && file.len() < 200_000, "{} bytes", file.len());
    assert!(
        file.windows(21).any(|part| part == b"<pdfuaid:part>1</pdfu"),
        "the metadata must declare PDF/UA-1 conformance"
    );
    assert_eq!(file, made(&report));
}

#[test]
fn no_text_is_markup_code_or_a_name_of_something() {
    let plain = made(&document("x", 1)).len();
    for attack in [
        "#read(\"/etc/passwd\")",
        "#panic(\"obeyed\")",
        "$x/0$ *a* _b_ `c` @verdict <verdict> = h - i + j / k: l ~ \\ --- https://example.com #[",
        "\"); panic(\"obeyed\"); (\"",
        "a\u{202e}b\u{2066}c\u{1b}[31m\u{0}\u{7f}\u{85}\u{2028}\r\n\tFORGED",
        "中文 \u{1f469}\u{200d}\u{1f4bb} \u{e000} \u{fffe} \u{10ffff} עברית عربي \u{301}\u{302}",
        "<svg onload=x>&lt;]]><!--",
        &"W".repeat(400),
        "",
    ] {
        let file = made(&document(attack, 1));
        assert!(file.len() > plain / 2, "{attack}");
    }
}

#[test]
fn what_is_no_report_is_refused_by_name() {
    for (text, expected) in [
        ("", "not a report"),
        ("[]", "version null"),
        ("{\"format_version\": 2}", "version 2"),
        ("{\"format_version\": 1}", "cannot typeset the document"),
        ("{\"format_version\": 1, \"x\": ", "not a report"),
    ] {
        let error = pdf(text.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(expected), "{text}: {error}");
    }
    let mut unknown = document("x", 1);
    unknown["sections"][0]["blocks"][0]["kind"] = "video".into();
    assert!(
        matches!(pdf(unknown.to_string().as_bytes()), Err(TypesetError::Typeset(said)) if said.contains("video"))
    );
}
