//! Small files about the state of the store for other programs: a badge, and a feed of changes.

use rsb_model::Timestamp;
use rsb_model::record::TrackedAlert;
use rsb_report::html::element::escape;
use serde_json::json;

use crate::address::{Address, CaseView, PageView};
use crate::assets::FEED;
use crate::pages::{change_headline, moved_cases};
use crate::response::{JSON, PageResponse, SVG};
use crate::site::Site;
use crate::source::{OverviewData, SourceResult};

/// Names of the files.
pub(crate) const NAMES: [&str; 3] = ["badge.svg", "badge.json", FEED];

/// Maximum number of entries in the feed.
const ENTRIES: usize = 50;
const LABEL: &str = "benchmarks";

/// Returns the file `name`; `None` if it is no such file.
pub(crate) fn find(site: &Site<'_>, name: &str) -> Option<SourceResult<PageResponse>> {
    let make = match name {
        "badge.svg" => {
            |_: &Site<'_>, material: &OverviewData| PageResponse::ok(SVG, badge(material))
        }
        "badge.json" => |_: &Site<'_>, material: &OverviewData| {
            let Status { message, color, .. } = status(material);
            let body = json!({
                "schemaVersion": 1, "label": LABEL, "message": message, "color": color,
            });
            PageResponse::ok(JSON, body.to_string() + "\n")
        },
        FEED => |site: &Site<'_>, material: &OverviewData| {
            PageResponse::ok("application/atom+xml; charset=utf-8", feed(site, material))
        },
        _ => return None,
    };
    Some(site.source().overview("").map(|material| make(site, &material)))
}

/// State of the store in a few words.
struct Status {
    message: String,
    /// Name of the color, as shields.io knows it.
    color: &'static str,
    /// The color, dark enough for white text.
    shade: &'static str,
}

fn status(material: &OverviewData) -> Status {
    let [slower, faster] = moved_cases(material);
    let (message, color, shade) = match (material.latest.is_some(), slower, faster) {
        (false, ..) => ("not measured".to_owned(), "lightgrey", "#57606a"),
        (true, 1.., _) => (format!("{slower} slower"), "red", "#b3261e"),
        (true, 0, 1..) => (format!("{faster} faster"), "green", "#176639"),
        (true, 0, 0) => ("no change".to_owned(), "green", "#176639"),
    };
    Status { message, color, shade }
}

fn badge(material: &OverviewData) -> String {
    let Status { message, shade, .. } = status(material);
    let width = |text: &str| 7 * text.chars().count() + 12;
    let (left, right) = (width(LABEL), width(&message));
    let (all, middle) = (left + right, left + right / 2);
    let label = left / 2;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"20\" role=\"img\" \
         aria-label=\"{LABEL}: {message}\"><title>{LABEL}: {message}</title>\
         <rect width=\"{all}\" height=\"20\" rx=\"3\" fill=\"#3b4046\"/>\
         <path d=\"M{left} 0h{0}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{0}z\" fill=\"{shade}\"/>\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" \
         font-size=\"11\"><text x=\"{label}\" y=\"14\">{LABEL}</text>\
         <text x=\"{middle}\" y=\"14\">{message}</text></g></svg>\n",
        right - 3
    )
}

/// Returns the changes as an Atom feed, the newest first.
fn feed(site: &Site<'_>, material: &OverviewData) -> String {
    let mut alerts: Vec<&TrackedAlert> = material.alerts.iter().collect();
    alerts.sort_by(|a, b| since(b).cmp(&since(a)).then_with(|| a.id.cmp(&b.id)));
    let updated = alerts.first().map(|alert| since(alert));
    let updated = updated.or_else(|| material.health.latest.as_ref().map(|run| run.timestamp));
    let updated = updated.unwrap_or_default();
    let mut entries = String::new();
    for alert in alerts.iter().take(ENTRIES) {
        entries.push_str(&entry(site, alert));
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed \
         xmlns=\"http://www.w3.org/2005/Atom\">\n<id>urn:rusty-stack-bench:alerts</id>\n\
         <title>rusty-stack-bench: changes</title>\n<updated>{updated}</updated>\n\
         <author><name>rusty-stack-bench</name></author>\n<link rel=\"self\" href=\"{FEED}\"/>\n\
         {entries}</feed>\n"
    )
}

/// Returns the start of the first run after a change. When it was first seen is not stored before a
/// user looks at it.
const fn since(alert: &TrackedAlert) -> Timestamp {
    alert.range.first_after.timestamp
}

fn entry(site: &Site<'_>, alert: &TrackedAlert) -> String {
    let cases: Vec<&str> = alert.moves.iter().map(|one| one.id.as_str()).collect();
    let machine = site.machine(&alert.machine);
    let link = cases.first().map_or_else(String::new, |id| {
        let link = site.link(Address::page(PageView::Case(CaseView::of(id))));
        format!("<link href=\"{}\"/>", escape(&link))
    });
    format!(
        "<entry><id>urn:rusty-stack-bench:alert:{}</id><title>{} on {}</title>\
         <updated>{}</updated>{link}<summary>{}</summary></entry>\n",
        escape(&alert.id),
        escape(&change_headline(site, alert, alert.moves.first())),
        escape(&machine),
        since(alert),
        escape(&cases.join(", ")),
    )
}
