//! The report and the dashboard in a browser: on a desktop and on a phone, in light and dark mode,
//! on screen and for screen readers.

use crate::common::Bench;
use crate::common::browser::{Browser, Reader};
use crate::common::made_up::{again, scale, with_baseline};
#[cfg(feature = "serve")]
use crate::serve::Server;
#[cfg(feature = "serve")]
use crate::serve_decisions::{WRITE, with_change};

/// A name that tries to run a script, to load a file and to break out of its element.
const HOSTILE: &str =
    "</td><img src=//example.invalid/x onerror=hacked=1><script>hacked=1</script>&lt;\u{202e}";

/// Writes the page of a run with a regression, a failure, a skip, and hostile names of each kind.
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
    bench.write(
        "rusty-stack-bench.toml",
        &format!("[report]\ntitle = {}\n", serde_json::json!(HOSTILE)),
    );
    bench.run("report worse.json --format html --output page.html").expect(0);
    bench.path("page.html")
}

/// Checks that the page has no accessibility violations, no horizontal scrolling, no console
/// messages and no requests to other hosts, for each of `readers`.
fn check(browser: &Browser, own: &str, readers: &[Reader]) {
    for reader in readers {
        browser.read_as(*reader);
        assert_eq!(browser.barriers(), Vec::<String>::new(), "{reader:?} {own}");
        let width = browser.run("return document.documentElement.scrollWidth");
        assert!(
            width.as_u64().unwrap() <= u64::from(reader.width),
            "{reader:?} {own}: {width} pixels wide"
        );
    }
    assert_eq!(browser.console(), Vec::<String>::new(), "{own}");
    for address in browser.requests() {
        assert!(
            address.starts_with(own) || address.starts_with("data:"),
            "{address} is outside {own}"
        );
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
    // The first Tab press focuses the link that skips to the verdict; Enter follows it.
    browser.press('\u{e004}');
    assert_eq!(browser.text("return document.activeElement.textContent"), "Skip to the verdict");
    browser.press('\u{e007}');
    assert_eq!(browser.text("return location.hash"), "#verdict");
    let colors = "return getComputedStyle(document.body).backgroundColor";
    browser.read_as(Reader::PHONE);
    let dark = browser.text(colors);
    browser.read_as(Reader::DESK);
    assert_ne!(browser.text(colors), dark);

    // A run of a real machine, but not the largest one: checking each of its charts would double
    // the total time.
    let gallery = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/gallery/cpu-before.json");
    bench.run(&["report", gallery, "--format", "html", "--output", "real.html"]).expect(0);
    browser.open_file(&bench.path("real.html"));
    assert!(
        browser.run("return document.querySelectorAll('figure svg').length").as_u64().unwrap() > 2
    );
    check(&browser, "file://", &[Reader::DESK, Reader::PHONE]);
    bench.run(&["chart", "gauge", gallery, "--format", "html", "--output", "chart.html"]).expect(0);
    browser.open_file(&bench.path("chart.html"));
    check(&browser, "file://", &[Reader::DESK, Reader::PHONE]);
}

/// Checks the pages of `serve` for a slower case, in runs with hostile names.
#[cfg(feature = "serve")]
#[test]
fn the_dashboard_is_read_by_everybody_and_asks_nobody_else() {
    let Some(browser) = Browser::begin() else { return };
    let (bench, run) = with_baseline(Bench::new());
    for day in 1..=6 {
        let name = format!("2099010{day}T000000Z_x");
        let mut next = again(&run, &name);
        next["started"] = format!("2099-01-0{day}T00:00:00Z").into();
        scale(&mut next["benchmarks"][2], if day > 3 { 1.3 } else { 1.0 + 0.001 * f64::from(day) });
        next["benchmarks"][3]["category"] = HOSTILE.into();
        bench.write_sealed(&format!("benchmark_results/runs/{name}.json"), &next);
    }
    crate::fleet_pages::campaign(&bench, "first", &run);
    let server = Server::begin(&bench, &["serve"]);
    let own = format!("http://{}/", server.address);
    let open = |path: &str| browser.open(&format!("{own}{path}"));
    // The page of a campaign renews itself, also if the campaign is not read at first.
    open("fleet?campaign=first");
    browser.wait_until("document.querySelector('#not-ok .command button') !== null");
    check(&browser, &own, &[Reader::DESK, Reader::PHONE]);
    open("fleet?campaign=first&node=n8");
    check(&browser, &own, &[Reader::PHONE]);
    assert_eq!(browser.text("return typeof hacked"), "undefined");
    for path in ["cases", "machines", "live", "run?id=20990106"] {
        open(path);
        check(&browser, &own, &[Reader::PHONE]);
    }
    open("");
    check(&browser, &own, &[Reader::DESK, Reader::PHONE]);
    assert_eq!(browser.text("return typeof hacked"), "undefined");

    // The filter `every row` also shows the rows that were only counted before.
    open("compare?from=20990101&to=20990106");
    check(&browser, &own, &[Reader::PHONE, Reader::DESK]);
    let rows = || {
        browser.run("return document.querySelectorAll('#rows tbody tr').length").as_u64().unwrap()
    };
    let (changed, said) = (rows(), browser.text("return document.querySelector('main').innerText"));
    assert!(said.contains("REGRESSED") && said.contains("more outside this filter"), "{said}");
    browser.run(
        "[...document.querySelectorAll('a')].find(link => \
                 link.textContent.startsWith('every row')).click()",
    );
    browser.wait_until("location.search.includes('show=all')");
    assert!(rows() > changed && changed > 0, "{changed} rows, then {}", rows());

    // With the keyboard only: the chart announces its values, and can show fewer runs.
    open("case?id=cpu_performance/tensor-ops/cpu:0/made-up-2");
    check(&browser, &own, &[Reader::PHONE, Reader::DESK]);
    let has_png = "return [...document.querySelectorAll('.files a')].some(link => link.textContent \
                   === 'PNG')";
    assert_eq!(browser.run(has_png), cfg!(feature = "png"));
    // The page creates the PNG itself if the server cannot.
    browser.run(
        "const figure = document.querySelector('figure.chart');
        [...figure.querySelectorAll('.files a')].filter(link => link.textContent === 'PNG').forEach(link => link.remove());
        const source = document.querySelector('script').src;
        const script = document.createElement('script');
        URL.createObjectURL = blob => { blob.arrayBuffer().then(bytes => { window.made = new Uint8Array(bytes); }); return '#'; };
        script.src = source;
        document.head.append(script);",
    );
    browser.wait_until("document.querySelector('.files button') !== null");
    browser.run("document.querySelector('.files button').click()");
    browser.wait_until("window.made && window.made.length > 5000");
    assert_eq!(browser.text("return String.fromCharCode(...window.made.slice(1, 4))"), "PNG");
    browser.run("document.querySelector('figure.chart [role=group]').focus()");
    browser.press('\u{e012}');
    let figure = browser.text("return document.querySelector('figure.chart output').textContent");
    assert!(figure.contains("ms") || figure.contains("µs"), "{figure}");
    browser.press('+');
    browser.wait_until("location.search.includes('runs=')");
    browser.press('/');
    assert_eq!(browser.text("return document.activeElement.type"), "search");
}

/// A browser conceals the origin of a form from a page whose referrer policy is too strict.
#[cfg(feature = "serve")]
#[test]
fn a_decision_is_recorded_in_a_browser_and_its_form_is_for_everybody() {
    let Some(browser) = Browser::begin() else { return };
    let (bench, id) = with_change();
    let server = Server::begin(&bench, &["serve", "--write-token-file", "write"]);
    let own = format!("http://{}/", server.address);
    browser.open(&own);
    browser.run("document.querySelector('a[href^=decision]').click()");
    browser.wait_until(&format!("location.search === '?alert={id}'"));
    check(&browser, &own, &[Reader::PHONE, Reader::DESK]);
    let decide = |choice: &str, note: &str| {
        browser.run(&format!(
            "document.querySelector('#as-{choice}').click();
            document.querySelector('#note').value = '{note}';
            document.querySelector('#author').value = 'Ada';
            document.querySelector('.decision > button').click()"
        ));
        browser.wait_until(&format!(
            "document.body && document.body.innerText.includes('by Ada: {note}')"
        ));
    };
    browser.run(&format!("document.querySelector('#token').value = '{WRITE}'"));
    decide("acknowledged", "wanted");
    assert_eq!(browser.run("return document.querySelector('#token')"), serde_json::Value::Null);
    decide("invalid", "noise");
    check(&browser, &own, &[Reader::PHONE, Reader::DESK]);
}
