//! Style and script, which every page shares.

use rsb_report::html::site::style;

use crate::response::{PageResponse, SVG};
use crate::site::Site;

/// Additional style of pages, compared with reports.
const STYLE: &str = include_str!("../assets/site.css");
/// Pointer and keyboard interaction of charts. Pages work without it.
const SCRIPT: &str = include_str!("../assets/page.js");
const FAVICON: &str = include_str!("../assets/favicon.svg");

pub(crate) const NAMES: [&str; 3] = ["style.css", "page.js", ICON];
/// Name of the feed of changes, which pages announce.
pub(crate) const FEED: &str = "alerts.atom";
/// Name of the icon.
pub(crate) const ICON: &str = "favicon.svg";

pub(crate) fn find(site: &Site<'_>, name: &str) -> Option<PageResponse> {
    match name {
        "style.css" => {
            Some(PageResponse::ok("text/css; charset=utf-8", style(site.theme(), STYLE)))
        }
        "page.js" => Some(PageResponse::ok("text/javascript; charset=utf-8", SCRIPT)),
        ICON => Some(PageResponse::ok(SVG, FAVICON)),
        _ => None,
    }
}
