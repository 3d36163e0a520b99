//! Pages as a browser shows them: the report, at a desk and on a phone, in light and in dark, to eyes and to ears.

use crate::common::Bench;
use crate::common::browser::{Browser, Reader};
use crate::common::made_up::{again, scale, with_baseline};

/// A name that wants to run, to load and to leave its place.
const HOSTILE: &str = "</td><img src=//example.invalid/x onerror=hacked=1><script>hacked=1</script>&lt;\u{202e}";

/// A run with a regression, a failure, a skip, and hostile names of each kind, as a page.
fn hostile_report(bench: &Bench, run: &serde_json::Value) -> std::path::PathBuf {
    let mut worse = again(run, "worse");
    for at in [2, 3] {
        scale(&mut worse["benchmarks"][at], 1.3);
    }
    worse["benchmarks"][3]["category"] = HOSTILE.into();
    for (at, outcome) in [(4, "failed"), (5, "skipped")] {
        let case = &mut worse["benchmarks"][at];
        case["outcome"] = outcome.into();
        for field in ["what", "why", "cure"] {
            case[field] = format!("{field} {HOSTILE}").into();
        }
        case["samples"] = serde_json::json!([]);
        case["results"] = serde_json::json!([]);
        case.as_object_mut().unwrap().shift_remove("statistics");
    }
    bench.write_sealed("worse.json", &worse);
    bench.write("rusty-stack-bench.toml", &format!("[report]\ntitle = {}\n", serde_json::json!(HOSTILE)));
    bench.run(&["report", "worse.json", "--format", "html", "--output", "page.html"]).expect(0);
    bench.path("page.html")
}

/// None of `readers` meets a barrier or has to move the page sideways, nothing is complained of, and nothing is asked for elsewhere.
fn check(browser: &Browser, own: &str, readers: &[Reader]) {
    for reader in readers {
        browser.read_as(*reader);
        assert_eq!(browser.barriers(), Vec::<String>::new(), "{reader:?} {own}");
        let width = browser.run("return document.documentElement.scrollWidth");
        assert!(width.as_u64().unwrap() <= u64::from(reader.width), "{reader:?} {own}: {width} pixels wide");
    }
    assert_eq!(browser.console(), Vec::<String>::new(), "{own}");
    for address in browser.requests() {
        assert!(address.starts_with(own) || address.starts_with("data:"), "{address} leaves {own}");
    }
}

#[test]
fn a_report_is_read_by_everybody_and_asks_nobody() {
    let Some(browser) = Browser::begin() else { return };
    let (bench, run) = with_baseline(Bench::new());
    let page = hostile_report(&bench, &run);
    browser.open_file(&page);
    check(&browser, "file://", &[Reader::DESK, Reader::PHONE]);
    let title = HOSTILE.trim_end_matches('\u{202e}');
    assert_eq!(browser.text("return document.title + typeof hacked"), format!("{title}undefined"));
    let told = browser.text("return document.querySelector('#verdict').innerText");
    assert!(told.contains("Regressed: 2") && told.contains("Failed: 1"), "{told}");
    // The first key leads to the verdict; nothing on the way is out of sight.
    browser.press('\u{e004}');
    assert_eq!(browser.text("return document.activeElement.textContent"), "Skip to the verdict");
    browser.press('\u{e007}');
    assert_eq!(browser.text("return location.hash"), "#verdict");
    let colors = "return getComputedStyle(document.body).backgroundColor";
    browser.read_as(Reader::PHONE);
    let dark = browser.text(colors);
    browser.read_as(Reader::DESK);
    assert_ne!(browser.text(colors), dark);

    // A run of a real machine; each chart is so much to look through that the largest run takes as long as all else.
    let gallery = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/gallery/cpu-before.json");
    bench.run(&["report", gallery, "--format", "html", "--output", "real.html"]).expect(0);
    browser.open_file(&bench.path("real.html"));
    assert!(browser.run("return document.querySelectorAll('figure svg').length").as_u64().unwrap() > 2);
    check(&browser, "file://", &[Reader::DESK, Reader::PHONE]);
    bench.run(&["chart", "gauge", gallery, "--format", "html", "--output", "chart.html"]).expect(0);
    browser.open_file(&bench.path("chart.html"));
    check(&browser, "file://", &[Reader::DESK, Reader::PHONE]);
}
