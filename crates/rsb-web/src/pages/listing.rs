//! Paginated lists: runs, cases, and the results of a search in both.

use rsb_report::html::element::{anchor, escape, linked_table};
use rsb_report::number::{format_count, format_moment};
use rsb_report::{Column, RunRow, Table, Tone, trend::short};

use crate::address::{Address, CaseView, ListFilter, PageView};
use crate::cards::{CardColumn, CardTable, number, text};
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::{SourceResult, StoredCase};

const ROWS: usize = 100;
const FOUND: usize = 20;

pub(super) fn runs<'v>(
    site: &Site<'_>,
    view: &'v PageView,
    query: &ListFilter,
) -> SourceResult<Sheet<'v>> {
    let all = site.source().runs()?;
    let is_shown = |run: &&RunRow| is_run(run, &query.find) && is_of_branch(run, &query.branch);
    let matching: Vec<RunRow> = all.iter().filter(is_shown).cloned().collect();
    let mut sheet = Sheet::new("Runs", Some(view));
    sheet.push(&branches(site, &query.branch, |branch| {
        PageView::Runs(ListFilter { branch, page: 0, ..query.clone() })
    }));
    sheet.push(&filter(site, view, "run, suite, commit or machine"));
    let (shown, pages) = paginate(site, &matching, query, PageView::Runs);
    sheet.push(&run_table(site, shown, "Stored runs"));
    sheet.push(&outside(all.len() - matching.len(), "run is", "runs are"));
    sheet.push(&pages);
    if all.is_empty() {
        sheet
            .say(Tone::Caution, "No runs are stored yet. `rusty-stack-bench run` makes the first.");
    }
    Ok(sheet)
}

pub(super) fn search<'v>(
    site: &Site<'_>,
    view: &'v PageView,
    find: &str,
) -> SourceResult<Sheet<'v>> {
    let mut sheet = Sheet::new("Search", Some(view));
    if find.is_empty() {
        sheet.paragraph(
            "Search for a part of a case's name or a run's id, or the beginning of a commit.",
        );
        return Ok(sheet);
    }
    let (cases, runs) = (site.source().cases()?, site.source().runs()?);
    let found: Vec<StoredCase> =
        cases.iter().filter(|case| holds(&case.id, find)).cloned().collect();
    let shown = found.get(..found.len().min(FOUND)).unwrap_or_default();
    let list = ListFilter { find: find.to_owned(), ..ListFilter::default() };
    let all = link_to_all(site, found.len(), PageView::Cases(list.clone()));
    sheet.section("cases", "Cases", case_table(site, shown, "Cases found") + &all);
    let found_runs: Vec<RunRow> = runs.iter().filter(|run| is_run(run, find)).cloned().collect();
    let shown = found_runs.get(..found_runs.len().min(FOUND)).unwrap_or_default();
    let all = link_to_all(site, found_runs.len(), PageView::Runs(list));
    sheet.section("runs", "Runs", run_table(site, shown, "Runs found") + &all);
    if found.is_empty() && found_runs.is_empty() {
        sheet.say(Tone::Caution, "Nothing was found: no case and no run contains that text.");
    }
    Ok(sheet)
}

/// Returns whether `run` is of `branch`; every run is if that is empty.
pub(super) fn is_of_branch(run: &RunRow, branch: &str) -> bool {
    branch.is_empty() || run.branch.as_deref() == Some(branch)
}

/// Returns the links to the same page for each branch, if the runs are of several. `shown` is the
/// branch of the page; empty for all.
pub(super) fn branches(site: &Site<'_>, shown: &str, view: impl Fn(String) -> PageView) -> String {
    let names = site.branches();
    if !site.answers() || (names.len() < 2 && shown.is_empty()) {
        return String::new();
    }
    let mut items = String::new();
    for (name, title) in std::iter::once(("", "all")).chain(names.iter().map(|name| (*name, *name)))
    {
        let here = if name == shown { " aria-current=\"true\"" } else { "" };
        let link = escape(&site.link(Address::page(view(name.to_owned()))));
        items.push_str(&format!("<li><a href=\"{link}\"{here}>{}</a>", escape(title)));
    }
    format!("<nav aria-label=\"Branch\"><ul class=\"choice\"><li>Branch:{items}</ul></nav>\n")
}

/// Returns the number of results with a link to all of them, if they are not all on the page.
fn link_to_all(site: &Site<'_>, count: usize, view: PageView) -> String {
    let link = anchor(&site.link(Address::page(view)), "all of them");
    if count > FOUND { format!("<p>{count} were found: {link}.</p>\n") } else { String::new() }
}

const RUN_COLUMNS: &[CardColumn] = &[
    text("run"),
    text("commit"),
    text("profile"),
    number("measured"),
    number("skipped"),
    number("failed"),
    text("machine"),
];

pub(super) fn run_table<'r>(
    site: &Site<'_>,
    runs: impl IntoIterator<Item = &'r RunRow>,
    caption: &'static str,
) -> String {
    let mut table = CardTable::new(caption, RUN_COLUMNS);
    for run in runs {
        table.push(&[
            site.run_link(&run.run_id, &site.run_name(run)) + interrupted(run),
            run.commit.as_deref().map_or_else(String::new, |commit| site.commit(commit)),
            escape(&run.profile),
            run.measured.to_string(),
            count(run.skipped, "caution"),
            count(run.failed, "bad"),
            site.machine_html(&run.machine),
        ]);
    }
    table.html()
}

/// Returns the mark of an interrupted run.
const fn interrupted(run: &RunRow) -> &'static str {
    if run.finished.is_none() { " <span class=\"caution\">interrupted</span>" } else { "" }
}

fn count(count: usize, class: &str) -> String {
    if count == 0 { String::new() } else { format!("<span class=\"{class}\">{count}</span>") }
}

fn case_table(site: &Site<'_>, cases: &[StoredCase], caption: &str) -> String {
    let table = Table::of(
        cases,
        &[
            (Column::elided("case"), &|case| short(&case.id).into()),
            (Column::left("last measured"), &|case| format_moment(case.last).into()),
            (Column::left("outcome"), &|case| rsb_report::run::outcome_cell(case.outcome)),
        ],
    );
    linked_table(&table, caption, &|row, column| {
        let case = cases.get(row).filter(|_| column == 0)?;
        Some(site.link(Address::page(PageView::Case(CaseView::of(&case.id)))))
    })
}

/// Returns the filter form of a list, which keeps the other parts of the address.
pub(super) fn filter(site: &Site<'_>, view: &PageView, what: &str) -> String {
    if !site.answers() {
        return String::new();
    }
    let (mut find, mut hidden) = (String::new(), String::new());
    for (key, value) in view.pairs() {
        match key {
            "find" => find = value,
            "page" => {}
            _ => hidden.push_str(&format!(
                "<input type=\"hidden\" name=\"{key}\" value=\"{}\">",
                escape(&value)
            )),
        }
    }
    format!(
        "<form action=\"{}\" method=\"get\" class=\"filter\">{hidden}<label for=\"find\">Only \
         with</label> \
         <input type=\"search\" id=\"find\" name=\"find\" value=\"{}\" placeholder=\"{what}\"> \
         <button>Show</button></form>\n",
        view.name(),
        escape(&find)
    )
}

/// Returns the rows of the requested page, and the links to the other pages.
pub(super) fn paginate<'r, T>(
    site: &Site<'_>,
    rows: &'r [T],
    query: &ListFilter,
    view: fn(ListFilter) -> PageView,
) -> (&'r [T], String) {
    let pages = rows.len().div_ceil(ROWS).max(1);
    let page = query.page.min(pages - 1);
    let shown = rows.get(page * ROWS..rows.len().min((page + 1) * ROWS)).unwrap_or_default();
    let link = |page| site.link(Address::page(view(ListFilter { page, ..query.clone() })));
    (shown, page_links(page, pages, link))
}

/// Returns the links to the neighbors, and to both ends, of a page of a list.
pub(super) fn page_links(page: usize, pages: usize, link: impl Fn(usize) -> String) -> String {
    if pages < 2 {
        return String::new();
    }
    let targets = [
        ("first", 0),
        ("before", page.saturating_sub(1)),
        ("next", (page + 1).min(pages - 1)),
        ("last", pages - 1),
    ];
    let mut items = format!("<li>page {} of {pages}", page + 1);
    for (title, target) in targets {
        let text = if target == page { title.to_owned() } else { anchor(&link(target), title) };
        items.push_str(&format!("<li>{text}"));
    }
    format!("<nav aria-label=\"Pages of this list\"><ul>{items}</ul></nav>\n")
}

pub(super) fn outside(count: usize, one: &str, many: &str) -> String {
    if count == 0 {
        return String::new();
    }
    let count = format_count(count, &format!("more {one}"), &format!("more {many}"));
    format!("<p>{count} outside this filter.</p>\n")
}

pub(super) fn holds(text: &str, find: &str) -> bool {
    find.is_empty() || text.to_lowercase().contains(&find.to_lowercase())
}

fn is_run(run: &RunRow, find: &str) -> bool {
    let commit = run.commit.as_deref().unwrap_or_default();
    [run.run_id.as_str(), &run.suite, &run.machine].iter().any(|text| holds(text, find))
        || commit.starts_with(find)
}
