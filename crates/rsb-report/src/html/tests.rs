//! Tests of the page: content, accessibility, and resistance to injected markup.

use std::collections::{BTreeMap, BTreeSet};

use rsb_model::record::{Comparison, Recommendation};
use rsb_model::{
    BenchmarkResult, CaseId, ComparisonResult, Fields, Note, Outcome, Reason, Run, Verdict,
};

use super::{PageLook, PageTheme, page};
use crate::hostile::hostile;
use crate::{Report, ReportPart, report, sample};

fn advice() -> Vec<Recommendation> {
    let one = |action: &str, evidence: &str| Recommendation {
        action: action.into(),
        evidence: evidence.into(),
    };
    vec![
        one("plug it in", "at the start of the run: the machine runs on its battery"),
        one(
            "look with `rusty-stack-bench doctor`",
            "memory-transfer rocm:0/h2d: 8.0 GB/s, 25 % of the link",
        ),
    ]
}

/// A tag with its attributes. The name of an end tag starts with `/`.
type Tag = (String, BTreeMap<String, String>);

/// Returns the tags of `html` in order, and fails the test if the page is not well-formed.
fn tags(html: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let style = html.find("<style>").unwrap()..html.find("</style>").unwrap();
    let outside = html[..style.start].to_owned() + &html[style.end + "</style>".len()..];
    for piece in outside.split('<').skip(1).filter(|piece| !piece.starts_with("!doctype html>")) {
        let (tag, text) =
            piece.split_once('>').unwrap_or_else(|| panic!("`<{piece}` is not closed"));
        assert!(!text.contains('>'), "a bare > after <{tag}>: {text}");
        let tag = tag.trim_end_matches('/');
        let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut attributes = BTreeMap::new();
        while !rest.trim().is_empty() {
            let (key, quoted) = rest.split_once("=\"").unwrap_or_else(|| panic!("<{tag}>: {rest}"));
            let (value, after) = quoted.split_once('"').unwrap();
            assert!(after.is_empty() || after.starts_with(' '), "<{tag}>");
            assert_eq!(attributes.insert(key.trim().to_owned(), value.to_owned()), None, "<{tag}>");
            rest = after;
        }
        tags.push((name.to_owned(), attributes));
    }
    tags
}

const ELEMENTS: [&str; 43] = [
    "html", "head", "meta", "title", "body", "a", "header", "h1", "h2", "h3", "p", "nav", "ul",
    "li", "main", "section", "div", "table", "caption", "thead", "tbody", "tr", "th", "td",
    "strong", "code", "br", "figure", "details", "summary", "footer", "svg", "desc", "rect",
    "line", "circle", "polyline", "polygon", "text", "template", "path", "g", "ellipse",
];
const ATTRIBUTES: [&str; 37] = [
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "class",
    "href",
    "aria-label",
    "aria-labelledby",
    "id",
    "role",
    "tabindex",
    "scope",
    "viewBox",
    "x",
    "y",
    "x1",
    "x2",
    "y1",
    "y2",
    "cx",
    "cy",
    "r",
    "width",
    "height",
    "fill",
    "stroke",
    "stroke-width",
    "points",
    "dy",
    "text-anchor",
    "font-size",
    "font-weight",
    "transform",
    "opacity",
    "data-encoding",
    "d",
];

/// Asserts that `html` contains only known elements and attributes, loads and runs nothing, and
/// links only within itself.
#[track_caller]
fn check(html: &str) {
    let tags = tags(html);
    let mut ids = BTreeSet::new();
    for (name, attributes) in &tags {
        assert!(ELEMENTS.contains(&name.trim_start_matches('/')), "<{name}>");
        for (key, value) in attributes {
            assert!(ATTRIBUTES.contains(&key.as_str()), "<{name} {key}=\"{value}\">");
            assert!(key != "id" || ids.insert(value.clone()), "duplicate id {value}");
            assert!(key != "href" || value.starts_with('#'), "{value}");
        }
    }
    let led_to = |attributes: &BTreeMap<String, String>| -> Vec<String> {
        let links = attributes.get("href").map(|link| link.trim_start_matches('#').to_owned());
        let names = attributes
            .get("aria-labelledby")
            .map(|ids| ids.split(' ').map(str::to_owned).collect::<Vec<_>>());
        links.into_iter().chain(names.into_iter().flatten()).collect()
    };
    for id in tags.iter().flat_map(|(_, attributes)| led_to(attributes)) {
        assert!(ids.contains(&id), "no element has the id {id}");
    }
    for loads in ["@import", "url(", "src=\"", "expression("] {
        assert!(!html.contains(loads), "{loads}");
    }
    for element in [
        "table", "ul", "section", "div", "figure", "svg", "main", "nav", "details", "strong",
        "code", "h3",
    ] {
        let count = |name: &str| tags.iter().filter(|(tag, _)| tag == name).count();
        assert_eq!(count(element), count(&format!("/{element}")), "<{element}>");
    }
}

#[test]
fn a_whole_page() {
    let (run, comparison, advice) = (sample::run(), sample::comparison(), advice());
    let mut before = sample::environment();
    before.kernel = Some("6.1.0-17-amd64".into());
    let report = Report::new(&run)
        .with_comparison(&comparison)
        .with_baseline(&before)
        .with_recommendations(&advice);
    let whole = page(&report, &PageLook::default());
    check(&whole);
    let without_charts =
        [ReportPart::Environment, ReportPart::Comparison, ReportPart::Recommendations];
    let html = page(&report.with_parts(&without_charts), &PageLook::default());
    check(&html);
    assert!(!html.contains("<svg"));
    let (_, body) = html.split_once("<body>").unwrap();
    insta::assert_snapshot!("page", body);
    // Sections are in reading order.
    let at = |text: &str| whole.find(text).unwrap_or_else(|| panic!("{text}"));
    let order = ["verdict", "changes", "charts", "results", "method", "details"];
    let places = order.map(|id| at(&format!("<section id=\"{id}\"")));
    assert!(places.is_sorted(), "{places:?}");
    let tile = |title: &str| at(&format!("{title}: "));
    assert!(at("REGRESSED") < tile("Regressed") && tile("Regressed") < tile("No verdict"));
    assert!(
        tile("No verdict") < tile("Failed") && tile("Failed") < places[1],
        "problems must come before all other sections"
    );
    // Heading levels increase one at a time.
    let levels: Vec<u32> =
        tags(&whole).iter().filter_map(|(name, _)| name.strip_prefix('h')?.parse().ok()).collect();
    assert!(levels[0] == 1 && levels.iter().filter(|level| **level == 1).count() == 1);
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
}

#[test]
fn everything_has_a_name_for_whoever_does_not_see_it() {
    let (run, comparison) = (sample::run(), sample::comparison());
    let html = page(&Report::new(&run).with_comparison(&comparison), &PageLook::default());
    let tags = tags(&html);
    let all = |name: &'static str| {
        tags.iter().filter(move |(tag, _)| tag == name).map(|(_, attributes)| attributes)
    };
    assert!(
        all("svg").count() > 3
            && all("svg").all(|svg| svg["role"] == "img" && svg.contains_key("aria-labelledby"))
    );
    assert_eq!(all("svg").count(), all("desc").count());
    assert_eq!(all("table").count(), all("caption").count());
    assert!(all("th").all(|th| ["col", "row"].contains(&th["scope"].as_str())));
    let rows =
        html.matches("<tr><th scope=\"row\"").count() + html.matches("<th scope=\"row\"").count();
    assert!(rows > 20, "{rows}");
    for (landmark, count) in [("header", 1), ("nav", 1), ("main", 1), ("footer", 1)] {
        assert_eq!(all(landmark).count(), count, "{landmark}");
    }
    // A word and a shape accompany every meaningful color.
    for word in ["Regressed", "Improved", "Inconclusive", "NotComparable"] {
        assert!(html.contains(&format!("\">{word}<")), "{word}");
    }
    for class in ["good", "bad", "caution"] {
        assert!(html.contains(&format!(".{class}:not(.r)::before {{ content:")), "{class}");
    }
    let wide: Vec<_> =
        all("div").filter(|div| div.get("class").is_some_and(|class| class == "wide")).collect();
    assert!(wide.iter().all(|div| div["tabindex"] == "0" && !div["aria-label"].is_empty()));
}

#[test]
fn no_text_becomes_markup_or_a_link() {
    const ATTACK: &str = "x\"><img src=x \
                          onerror=alert(1)>'</template></style><script>alert(1)</script><a \
                          href=\"javascript:alert(1)\"\
                          onclick='x'>&lt;b&gt; ![i](javascript:x) [l](javascript:x) `</code><svg \
                          onload=x>`";
    let (run, comparison, advice) = (sample::run(), sample::comparison(), advice());
    let pages = |report: Report<'_>| {
        let html = page(&report, &PageLook::default());
        check(&html);
        assert!(
            html.contains("&lt;img src=x onerror=alert(1)&gt;") || !html.contains("onerror"),
            "{html}"
        );
        report::markdown(&report, &[])
    };
    let mut markdown: Vec<String> = Vec::new();
    markdown.extend(hostile(&run, ATTACK).iter().map(|run| pages(Report::new(run))));
    markdown.extend(
        hostile(&comparison, ATTACK)
            .iter()
            .map(|result| pages(Report::new(&run).with_comparison(result))),
    );
    markdown.extend(
        hostile(&advice, ATTACK)
            .iter()
            .map(|advice| pages(Report::new(&run).with_recommendations(advice))),
    );
    let environments = hostile(&sample::environment(), ATTACK);
    markdown.extend(
        environments.iter().map(|before| {
            pages(Report::new(&run).with_comparison(&comparison).with_baseline(before))
        }),
    );
    markdown.push(pages(Report::new(&run).with_title(Some(ATTACK)).with_no_comparison(ATTACK)));
    let met = markdown.iter().filter(|text| text.contains("alert(1)")).count();
    assert!(met > 30, "only {met} of {} texts contain the attack", markdown.len());
    for text in markdown {
        assert!(
            !text.contains("<img")
                && !text.contains("<script")
                && !text.contains("<svg")
                && !text.contains("<a ")
        );
        // An escaped bracket does not start a link.
        assert!(!text.replace("\\]", "").contains("](javascript"), "{text}");
    }
}

/// Returns a run of `cases` cases with a comparison of each; every tenth Regressed and every tenth
/// has no verdict.
fn large(cases: usize) -> (Run, ComparisonResult) {
    let mut run = sample::run();
    let id = |at: usize| {
        let benchmark =
            ["gemm", "tensor-ops", "memory-bandwidth", "convolution", "softmax"][at % 5];
        format!("cpu_performance/{benchmark}/cpu:0/f32/{at}x1024x1024/stores=non-temporal")
    };
    let fields = Fields::new().with("gflops", 88.0).with("roofline_percent", 71.0);
    let measured = sample::measured_case(&id(0), 5e6, &fields);
    let case = |at: usize| {
        let id: CaseId = id(at).parse().unwrap();
        BenchmarkResult {
            category: id.benchmark().map(str::to_owned),
            benchmark_id: id,
            ..measured.clone()
        }
    };
    run.benchmarks = (0..cases).map(case).collect();
    let mut result = sample::comparison();
    let row = |at: usize| {
        let template = match at % 10 {
            0 => &result.comparisons[2],
            1 => &result.comparisons[5],
            _ => &result.comparisons[0],
        };
        Comparison { id: id(at).parse().unwrap(), ..template.clone() }
    };
    result.comparisons = (0..cases).map(row).collect();
    (run, result)
}

#[test]
fn a_page_is_small_and_hides_nothing_that_is_bad() {
    for (cases, most) in [(30, 300_000), (1000, 1_000_000)] {
        let (run, comparison) = large(cases);
        let html = page(&Report::new(&run).with_comparison(&comparison), &PageLook::default());
        println!("{cases} cases: {} bytes", html.len());
        assert!(html.len() < most, "{cases} cases: {} bytes", html.len());
        assert!(html.matches("<tr><th scope=\"row\">").count() > cases, "a row for each result");
    }
    let (mut run, mut comparison) = large(5000);
    for result in run.benchmarks.iter_mut().rev().take(700) {
        (result.outcome, result.reason) =
            (Outcome::Failed, Some(Reason::new("case", "it broke", "mend it")));
    }
    comparison.missing = vec!["cpu_performance/gemm/cpu:0/gone".parse().unwrap()];
    let report = Report::new(&run).with_comparison(&comparison);
    let html = page(&report, &PageLook::default());
    for part in [
        "Regressed: 500<",
        "No verdict: 501<",
        "Failed: 700<",
        "and 488 more, each of them under <a href=\"#changes\">",
    ] {
        assert!(html.contains(part), "{part}");
    }
    let bad = comparison.comparisons.iter().filter(|row| row.verdict != Verdict::Unchanged);
    for row in bad {
        let case = row.id.parts().unwrap().point;
        assert!(html.contains(&format!(" {case}<td")), "{case} has no row");
    }
    assert_eq!(html.matches("<td class=\"bad\">failed").count(), 700);
    assert!(
        html.contains("2300 measured cases are left out") && html.contains("--format csv"),
        "the page must count the results left out"
    );
    assert!(
        html.contains("3500 more that changed less are left out"),
        "the page must count the changes left out"
    );
    // Without the section that has a row for each case, the first section must list all of them.
    let alone = page(&report.with_parts(&[ReportPart::Environment]), &PageLook::default());
    assert!(!alone.contains("id=\"changes\"") && !alone.contains("#changes"));
    assert_eq!(alone.matches("<li><strong>").count(), 500 + 501 + 12 + 1 + 1);
}

#[test]
fn a_page_without_a_comparison_says_why_and_one_with_data_holds_it() {
    let run = sample::run();
    let html = page(
        &Report::new(&run).with_no_comparison("the run is the baseline itself"),
        &PageLook::default(),
    );
    assert!(html.contains(
        "<p class=\"say caution\">Not compared with a baseline: the run is the \
                       baseline itself.</p>"
    ));
    assert!(html.contains("The run itself is not in this page."));
    let look = PageLook {
        theme: PageTheme::Light,
        data: Some("<template id=\"run\">eJw=</template>\n"),
        ..PageLook::default()
    };
    let html = page(&Report::new(&run), &look);
    assert!(
        html.contains("<template id=\"run\">eJw=</template>\n</body>")
            && html.contains("gate --current PAGE")
    );
    assert!(!html.contains("prefers-color-scheme"));
    check(&html);
}

#[test]
fn notes_of_a_run_stand_beside_its_verdict() {
    let mut run = sample::run();
    run.notes = vec![Note::Slowed { slowdown: "gemm=1.15".into() }];
    let html = page(&Report::new(&run), &PageLook::default());
    let verdict =
        html.split_once("<section id=\"verdict\"").unwrap().1.split_once("</section>").unwrap().0;
    assert!(verdict.contains("slowed on purpose: gemm=1.15"), "{verdict}");
}
