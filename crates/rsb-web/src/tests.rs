//! Tests of the pages as a reader, a screen reader, an attacker and a program use them.

mod fleet;
mod made_up;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;

use serde_json::Value;

use crate::address::{
    Address, CaseView, CompareView, ListFilter, PageView, SeriesBy, ShownVerdicts,
};
use crate::{
    DecisionFields, Medium, NameBook, RefusedDecision, Site, decision_page, export_site, respond,
};
use made_up::{CASES, MadeUp};

const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'&`<script>\u{202e}\u{1b}[31m</td>--";

fn served(source: &MadeUp) -> Site<'_> {
    Site::new(source, Medium::Served).with_names(names())
}

const FORGE: &str = "https://github.com/owner/name/commit/";

fn names() -> NameBook {
    NameBook {
        machines: BTreeMap::from([("other-4c".to_owned(), HOSTILE.to_owned())]),
        forge: rsb_report::Forge::from_remote("git@github.com:owner/name.git"),
    }
}

fn open(site: &Site<'_>, link: &str) -> String {
    let (path, query) = link.split_once('?').unwrap_or((link, ""));
    let response = respond(site, path.trim_start_matches("./"), query);
    let body = String::from_utf8(response.body).unwrap();
    assert_eq!(response.status, 200, "{link}: {body}");
    body
}

fn page(site: &Site<'_>, view: PageView) -> String {
    open(site, &Address::page(view).link())
}

/// Returns the values of `attribute` in `html`, unescaped.
fn values(html: &str, attribute: &str) -> BTreeSet<String> {
    let unescape = |text: &str| {
        text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    };
    html.split(&format!(" {attribute}=\""))
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .map(unescape)
        .collect()
}

fn links(html: &str) -> BTreeSet<String> {
    let mut links = values(html, "href");
    links.extend(values(html, "src"));
    links.retain(|link| link != "data:," && !link.starts_with(FORGE));
    links
}

/// Checks that a page uses only scripts and styles from its own files, that quoted text has no
/// effect, and that a screen reader can navigate the page.
fn check(link: &str, html: &str) {
    let html = &*html.replace(&format!("<a href=\"{FORGE}"), "<a href=\"");
    for part in [
        "<img",
        "<script>",
        " style=\"",
        "javascript:",
        "http://",
        "https://",
        "\u{202e}",
        "\u{1b}",
        " onclick",
    ] {
        assert!(!html.contains(part), "{link} must not contain {part:?}");
    }
    let ids: Vec<&str> =
        html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len(), "{link}: duplicate ids: {ids:?}");
    let labels = values(html, "for");
    let fields = html.split("<input ").skip(1).filter_map(|rest| rest.split('>').next());
    for field in fields.filter(|field| !field.starts_with("type=\"hidden\"")) {
        let id = format!(" {field}")
            .split(" id=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next().map(str::to_owned));
        assert!(
            id.is_some_and(|id| labels.contains(&id)),
            "{link}: a field without a label: {field}"
        );
    }
    for part in [
        "<html lang=\"en\">",
        "<h1>",
        "<main id=\"content\">",
        "href=\"#content\"",
        "name=\"viewport\"",
    ] {
        assert!(html.contains(part), "{link} must contain {part}");
    }
    for target in values(html, "href").iter().filter_map(|link| link.strip_prefix('#')) {
        assert!(unique.contains(target), "{link}: no element has the id {target}");
    }
}

#[test]
fn every_link_leads_somewhere_and_no_name_is_obeyed() {
    let source = MadeUp::new(HOSTILE);
    let site = served(&source);
    let mut waiting = VecDeque::from(["./".to_owned()]);
    let mut known: BTreeSet<String> = waiting.iter().cloned().collect();
    let mut kinds = BTreeSet::new();
    while let Some(link) = waiting.pop_front() {
        let body = open(&site, &link);
        kinds.insert(link.split('?').next().unwrap_or_default().to_owned());
        if !body.starts_with("<!doctype html>") {
            continue;
        }
        check(&link, &body);
        // Orders and windows of every page, and the charts of every run and case, are thousands of
        // similar pages.
        let is_new = |link: &String| {
            let holds = |parts: &[&str]| parts.iter().any(|part| link.contains(part));
            let is_variant = holds(&["sort=", "page=", "runs="]) && link.matches('=').count() > 3;
            let is_other = holds(&["run?", "charts?", "compare?"])
                && !holds(&[&MadeUp::ids()[2], "compare?show"]);
            let is_chart = holds(&["chart="]) && holds(&["metric=", "show=", "sort="]);
            !(link.starts_with('#') || is_variant || is_other || is_chart)
        };
        waiting.extend(
            links(&body).into_iter().filter(is_new).filter(|link| known.insert(link.clone())),
        );
        assert!(known.len() < 3000, "{link}");
    }
    let expected = [
        "./",
        "api/baselines",
        "api/case",
        "api/cases",
        "api/compare",
        "api/doctor",
        "api/fleet",
        "api/live",
        "api/machines",
        "api/models",
        "api/overview",
        "api/run",
        "api/runs",
        "alerts.atom",
        "baselines",
        "case",
        "cases",
        "charts",
        "compare",
        "doctor",
        "favicon.svg",
        "fleet",
        "live",
        "machines",
        "models",
        "page.js",
        "run",
        "runs",
        "style.css",
    ];
    for kind in expected {
        assert!(kinds.contains(kind), "no link leads to {kind}: {kinds:?}");
    }
}

#[test]
fn an_export_is_whole_and_asks_nothing() {
    let source = MadeUp::new(HOSTILE);
    let site = Site::new(&source, Medium::Exported).with_names(names());
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let count = export_site(&site, |name, bytes| {
        assert!(files.insert(name.to_owned(), bytes.to_vec()).is_none(), "{name} is written twice");
        Ok::<(), Infallible>(())
    })
    .unwrap();
    assert_eq!(count, files.len());
    let pages = files.iter().filter(|(name, _)| {
        std::path::Path::new(name).extension().is_some_and(|end| end == "html")
    });
    for (name, bytes) in pages.clone() {
        let html = String::from_utf8(bytes.clone()).unwrap();
        check(name, &html);
        assert!(!html.contains("<form"), "{name}");
        let missing: Vec<String> = links(&html)
            .into_iter()
            .filter(|link| !link.starts_with('#') && !files.contains_key(link))
            .collect();
        assert!(missing.is_empty(), "{name} links to missing pages {missing:?}");
    }
    assert!(files.contains_key("index.html") && pages.count() > 11 + CASES);
}

#[test]
fn a_run_adds_little_to_an_export_besides_its_document() {
    let bytes = |runs| {
        let source = MadeUp::with_runs("64", runs);
        let site = Site::new(&source, Medium::Exported).with_names(names());
        let mut total = 0;
        export_site(&site, |name, bytes| {
            total += if name.starts_with("api/run-") { 0 } else { bytes.len() };
            Ok::<(), Infallible>(())
        })
        .unwrap();
        total
    };
    let (few, many) = (bytes(20), bytes(60));
    let of_a_run = (many - few) / 40;
    assert!(of_a_run <= 10_000, "{of_a_run} bytes for each run");
}

#[test]
fn the_overview_lists_each_change_once_with_what_to_do() {
    let source = MadeUp::new("64");
    let html = page(&served(&source), PageView::Overview { branch: String::new() });
    for part in [
        "<a href=\"#moved\"><strong>1</strong> slower</a>",
        "<li class=\"count dim\"><strong>0</strong> faster",
        "<a href=\"#noisy\"><strong>1</strong> noisy</a>",
        "<a href=\"#unmeasured\"><strong>1</strong> not measured</a>",
        "<svg class=\"spark\"",
        "27 Nov 09:03",
        "bisect 0505050505 0606060606 --case cpu_performance/gemm/cpu:0/f32/0x64",
        "trend ack",
        "title=\"20261107T090312Z_0a2b3c4\"",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    assert_eq!(html.matches("+30.0 %").count(), 1, "{html}");
    assert_eq!(html.matches(">gemm f32/0x64<").count(), 1, "{html}");
}

#[test]
fn a_branch_is_compared_with_main_and_filters_the_lists() {
    let source = MadeUp::with_branch("64", "feature/x");
    let site = served(&source);
    let opened = page(&site, PageView::Compare(CompareView::default()));
    let link = "compare?from=main&amp;to=feature/x";
    assert!(opened.contains(&format!("<a href=\"{link}\">feature/x and main</a>")), "{opened}");
    let compared = open(&site, &link.replace("&amp;", "&"));
    for part in [
        &format!("<a href=\"{link}\" aria-current=\"true\">feature/x and main</a>"),
        "<p class=\"subtitle\">1 Dec 09:03 · 0a0a0a0 · 64 · feature/x against main, ",
        "<option value=\"feature/x\" selected>branch feature/x</option>",
    ] {
        assert!(compared.contains(part), "{part}\n{compared}");
    }
    for (link, here) in [
        ("./?branch=main", "./?branch=feature/x"),
        ("runs?branch=main", "runs?branch=feature/x"),
        ("cases?branch=main&sort=week", "cases?branch=feature/x&amp;sort=week"),
    ] {
        let html = open(&site, link);
        assert!(html.contains(&format!("<a href=\"{here}\">feature/x</a>")), "{link}\n{html}");
        assert!(html.contains("aria-current=\"true\">main</a>"), "{link}\n{html}");
    }
    let runs = open(&site, "runs?branch=feature/x");
    assert_eq!(runs.matches("run?id=").count(), 1, "{runs}");
    let one = page(&served(&MadeUp::new("64")), PageView::Runs(ListFilter::default()));
    assert!(!one.contains("Branch:"), "{one}");
}

#[test]
fn a_case_is_drawn_with_its_other_data_types_branches_and_the_mean_of_its_benchmark() {
    let source = MadeUp::with_branch("64", "feature/x");
    let site = served(&source);
    let case = CaseView::of(&source.slower());
    let plain = page(&site, PageView::Case(case.clone()));
    for (by, title) in [("branch", "branches"), ("mean", "geometric mean of gemm")] {
        let link = format!("case?id={}&amp;by={by}", case.id);
        assert!(plain.contains(&format!("<a href=\"{link}\">{title}</a>")), "{by}\n{plain}");
    }
    assert!(!plain.contains("id=\"together\"") && !plain.contains(">data types<"), "{plain}");
    let branches = CaseView { by: SeriesBy::Branch, ..case.clone() };
    let html = page(&site, PageView::Case(branches.clone()));
    for part in [
        "time_ms by branch",
        "<p class=\"hint\">Series: main, feature/x.</p>",
        "aria-current=\"true\">as measured</a>",
        "&amp;by=branch&amp;ratio=first\">ratio to the first series</a>",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    let ratio = page(&site, PageView::Case(CaseView { ratio: true, ..branches }));
    assert!(ratio.contains("time_ms, ratio to main"), "{ratio}");
    let mean = page(&site, PageView::Case(CaseView { by: SeriesBy::Mean, ..case }));
    for part in ["relative to the first run", "this case, geometric mean of 12 cases of gemm"] {
        assert!(mean.contains(part), "{part}\n{mean}");
    }
}

#[test]
fn a_healthy_store_says_what_could_have_been_found() {
    let source = MadeUp::healthy("64");
    let html = page(&served(&source), PageView::Overview { branch: String::new() });
    for part in [
        "the last on ",
        "Nothing moved: no new change in 12 cases",
        "varies by 0.8 %",
        "A lasting change of 10 % or more",
        "<li class=\"count dim\"><strong>0</strong> slower",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
}

#[test]
fn runs_and_machines_have_names_and_commits_lead_to_their_forge() {
    let source = MadeUp::new("64");
    let site = served(&source);
    let runs = page(&site, PageView::Runs(ListFilter::default()));
    for part in [
        "title=\"20261107T090312Z_0a2b3c4\">27 Nov 09:03 · 0606060 · 64</a>",
        &format!("<a href=\"{FORGE}{}\"", "06".repeat(20)),
        "<span title=\"other-4c\">&lt;img src=x",
    ] {
        assert!(runs.contains(part), "{part}\n{runs}");
    }
    let [_, before, after] = MadeUp::ids();
    let compared = page(&site, PageView::Compare(CompareView::of(&before, &after)));
    assert!(compared.contains("27 Nov 09:03 · 0606060 · 64 against "), "{compared}");
}

#[test]
fn nothing_bad_is_hidden_by_a_filter() {
    let source = MadeUp::new("64");
    let [_, before, after] = MadeUp::ids();
    let asked = CompareView::of(&before, &after);
    let site = served(&source);
    let compare = |view: &CompareView| page(&site, PageView::Compare(view.clone()));
    let shown = compare(&asked);
    assert!(
        shown.contains("REGRESSED") && shown.contains("<span class=\"bad\">Regressed</span>"),
        "{shown}"
    );
    assert!(
        shown.contains(&format!("{} more outside this filter: all unchanged", CASES - 1)),
        "{shown}"
    );
    let loud = "<p class=\"bad\">1 more outside this filter: 1 regressed";
    for hiding in [
        CompareView { show: ShownVerdicts::Improved, ..asked.clone() },
        CompareView { find: "nothing".into(), ..asked.clone() },
    ] {
        let html = compare(&hiding);
        let told = html
            .split("<p class=\"bad\">")
            .find(|part| part.contains("outside this filter: 1 regressed"));
        assert!(told.is_some() && html.contains("REGRESSED"), "{html}");
    }
    let all = compare(&CompareView { show: ShownVerdicts::All, ..asked });
    assert!(!all.contains("outside this filter") && !all.contains(loud));
}

#[test]
fn a_comparison_opens_on_the_newest_pair_and_is_no_pass_while_undecided() {
    let source = MadeUp::new("64");
    let site = served(&source);
    let html = page(&site, PageView::Compare(CompareView::default()));
    assert!(
        html.contains("<p class=\"subtitle\">1 Dec 09:03 · 0a0a0a0 · 64 against 30 Nov"),
        "{html}"
    );
    assert!(html.contains("<option value=\"20261111T090312Z_0a2b3c4\" selected>1 Dec"), "{html}");
    assert!(html.contains("<p class=\"say caution\">NO VERDICT: 1 of 13"), "{html}");
    assert!(!html.contains("<p class=\"say good\">"), "{html}");
}

#[test]
fn runs_that_cannot_be_compared_leave_the_choice_of_others() {
    let source = MadeUp::new("64");
    let one = CompareView { from: "a".to_owned(), to: "a".to_owned(), ..CompareView::default() };
    let html = page(&served(&source), PageView::Compare(one));
    assert!(html.contains("both are one run") && html.contains("<form"), "{html}");
}

#[test]
fn cases_are_grouped_sorted_and_filtered_by_their_address() {
    let source = MadeUp::new("64");
    let site = served(&source);
    let html = open(&site, "cases");
    for part in [
        "<h2 class=\"group\">gemm <span class=\"dim\">cpu:0/f32</span></h2>",
        "<h2 class=\"group\">memory-bandwidth <span class=\"dim\">cpu:0</span></h2>",
        ">0x64</a><td class=\"r\" data-label=\"last\">1.30 µs<td class=\"r\" data-label=\"7 \
         days\">+30.0 %",
        "<td class=\"r\" data-label=\"runs\">11<",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    let position = |html: &str, case: &str| html.find(&format!(">{case}</a>")).unwrap();
    let sorted = open(&site, "cases?sort=value&find=gemm");
    assert!(position(&html, "0x64") < position(&html, "11x64"));
    assert!(position(&sorted, "11x64") < position(&sorted, "0x64"));
    assert!(
        sorted.contains("name=\"sort\" value=\"value\"") && !sorted.contains("memory-bandwidth")
    );
}

#[test]
fn a_history_says_what_moved_and_every_point_what_would_explain_it() {
    let source = MadeUp::new("64");
    let site = served(&source);
    let view = CaseView::of(&source.slower());
    let html = page(&site, PageView::Case(view.clone()));
    for part in [
        "<p class=\"say bad\">",
        "<h3 class=\"bad\">Slower since 27 Nov 09:03 · 0606060 (+30.0 %)",
        "data-zoom=\"case?id=cpu_performance/gemm/cpu:0/f32/0x64\"",
        "data-run=\"run?id=\"",
        "\n7\t27 Nov 09:03 · 0606060 · 1.30 µs (+29.7 %)\t20261107T090312Z_0a2b3c4",
        "<tr id=\"run-11\">",
        "bisect 0505050505 0606060606 --case cpu_performance/gemm/cpu:0/f32/0x64",
        "git switch --detach 0606060606",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    assert!(html.contains(">µs</text>") && html.contains(">25 Nov<"), "{html}");
    assert!(!html.contains("from run 7 on"), "a change with an alert must be listed once: {html}");
    let window = page(&site, PageView::Case(CaseView { window: Some((3, 6)), ..view.clone() }));
    assert!(window.contains("<tr id=\"run-6\">") && !window.contains("<tr id=\"run-7\">"));
    let csv = open(
        &site,
        &(Address::page(PageView::Case(CaseView { window: Some((3, 6)), ..view })).link()
            + "&chart=trend-cpu-performance-gemm-cpu-0-f32-0x64-time-ms.csv"),
    );
    assert_eq!(csv.lines().count(), 5, "{csv}");
}

#[test]
fn documents_are_versioned_and_errors_say_why_in_their_own_form() {
    let source = MadeUp::new(HOSTILE);
    let site = served(&source);
    let [nothing, before, after] = MadeUp::ids();
    for link in [
        "api/overview".to_owned(),
        "api/runs".into(),
        format!("api/run?id={before}"),
        format!("api/compare?from={before}&to={after}"),
    ] {
        let document: Value = serde_json::from_str(&open(&site, &link)).unwrap();
        assert!(document["format_version"].is_u64(), "{link}");
    }
    for (link, status, why) in [
        (format!("run?id={nothing}"), 404, "no run is called"),
        (format!("api/compare?from={before}&to={before}"), 400, "both are one run"),
        ("nowhere".to_owned(), 404, "there is no page"),
        ("runs?sort=x".to_owned(), 400, "is not a parameter of the page"),
        (format!("run?id={}", "x".repeat(5000)), 400, "too long"),
        (format!("api/run?id={nothing}"), 404, "no run is called"),
        ("api/compare".to_owned(), 400, "name both sides"),
        (format!("run?id={before}&chart=none.csv"), 404, "no chart"),
        (format!("charts?id={before}&chart=none.png"), 404, "no chart"),
    ] {
        let (path, query) = link.split_once('?').unwrap_or((&link, ""));
        let response = respond(&site, path, query);
        let body = String::from_utf8(response.body).unwrap();
        assert_eq!((response.status, body.contains(why)), (status, true), "{link}: {body}");
        let is_json = serde_json::from_str::<Value>(&body)
            .is_ok_and(|document| document["error"].is_string());
        assert_eq!(is_json, path.starts_with("api/"), "{link}");
    }
}

#[test]
fn the_live_page_counts_replicates_and_cases_with_a_result() {
    let source = MadeUp::new("x");
    let html = page(&served(&source), PageView::Live);
    assert!(html.contains("<progress value=\"10\" max=\"35\">"), "{html}");
    assert!(html.contains("10 of 35 replicates, 14 of 14 cases with a result"), "{html}");
    assert!(html.contains("<div id=\"live-runs\">") && html.contains("<tr id=\"row-"), "{html}");
    let document: Value = serde_json::from_str(&open(&served(&source), "api/live")).unwrap();
    assert_eq!(document["live"][0]["progress"]["done"], 10);
}

#[test]
fn the_form_for_a_decision_keeps_what_was_entered_and_obeys_no_name() {
    let source = MadeUp::new(HOSTILE);
    let site = served(&source).with_decisions(true);
    let overview = links(&page(&site, PageView::Overview { branch: String::new() }));
    let link = overview.iter().find(|link| link.starts_with("decision?")).unwrap();
    let DecisionFields { alert, .. } = DecisionFields::parse(link.split_once('?').unwrap().1);
    let text = || HOSTILE.to_owned();
    let entered = DecisionFields {
        alert,
        note: text(),
        author: text(),
        cause: text(),
        ..DecisionFields::default()
    };
    let refused = RefusedDecision { status: 409, why: text() };
    for proof in [None, Some("proof")] {
        let shown = decision_page(&site, &entered, proof, Some(&refused));
        let html = String::from_utf8(shown.body).unwrap();
        check("decision", &html);
        assert_eq!((shown.status, html.contains("type=\"password\"")), (409, proof.is_none()));
        assert!(values(&html, "value").iter().any(|value| value.contains("onerror")), "{html}");
    }
    let unknown = DecisionFields { alert: text(), note: text(), ..DecisionFields::default() };
    let shown = decision_page(&site, &unknown, None, None);
    let html = String::from_utf8(shown.body).unwrap();
    check("decision", &html);
    assert!(shown.status == 404 && html.contains("<blockquote>"), "{html}");
}

#[test]
fn a_badge_and_a_feed_tell_the_state_and_escape_names() {
    let (changed, healthy) = (MadeUp::new(HOSTILE), MadeUp::healthy("x"));
    let json =
        |source| -> Value { serde_json::from_str(&open(&served(source), "badge.json")).unwrap() };
    assert_eq!([&json(&changed)["message"], &json(&changed)["color"]], ["1 slower", "red"]);
    assert_eq!(json(&healthy)["message"], "no change");
    assert_eq!(json(&changed)["schemaVersion"], 1);
    let badge = open(&served(&changed), "badge.svg");
    assert!(badge.starts_with("<svg ") && badge.contains(">1 slower</text>"), "{badge}");
    let feed = open(&served(&changed), "alerts.atom");
    assert_eq!(feed.matches("<entry>").count(), 1, "{feed}");
    assert!(feed.contains("<updated>2026-11-27T09:03:12Z</updated>"), "{feed}");
    assert!(feed.contains("<title>Slower since 27 Nov 09:03 · 0606060"), "{feed}");
    assert!(
        !feed.contains("<img") && !feed.contains("<script") && !feed.contains('\u{1b}'),
        "{feed}"
    );
    assert!(!open(&served(&healthy), "alerts.atom").contains("<entry>"));
}

#[test]
fn a_search_finds_cases_and_runs_and_says_when_it_does_not() {
    let source = MadeUp::new("64");
    let site = served(&source);
    let found = open(&site, "search?find=11X64");
    assert!(found.contains("gemm cpu:0/f32/11x64") && !found.contains("3x64<"), "{found}");
    assert!(
        open(&site, "search?find=0606060").contains("20261107T090312Z"),
        "a run must be found by its commit"
    );
    assert!(open(&site, "search?find=%3Cb%3E").contains("Nothing was found"));
}

#[test]
fn the_script_is_small_and_writes_no_html() {
    let script = include_str!("../assets/page.js");
    assert!(script.len() < 14_000);
    for word in
        ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("]
    {
        assert!(!script.contains(word), "{word}");
    }
}
