//! A page under construction: the head, the links to other pages, a search form, and the content.

use rsb_report::Tone;
use rsb_report::html::element::{anchor, class, escape, prose};
use rsb_report::html::site::PageSection;

use crate::address::{Address, FleetView, ListFilter, PageView};
use crate::assets::{FEED, ICON};
use crate::response::PageResponse;
use crate::site::Site;

pub(crate) struct Sheet<'v> {
    title: String,
    /// HTML below the title.
    subtitle: String,
    /// View of the page, which is marked in the list of pages.
    view: Option<&'v PageView>,
    /// When a browser sends the page's address, and with it the origin of a form.
    referrer: &'static str,
    body: String,
}

impl<'v> Sheet<'v> {
    pub(crate) fn new(title: &str, view: Option<&'v PageView>) -> Self {
        Self {
            title: title.to_owned(),
            subtitle: String::new(),
            view,
            referrer: "no-referrer",
            body: String::new(),
        }
    }

    /// Lets the browser send the origin of a form to this server.
    #[must_use]
    pub(crate) const fn with_own_referrer(mut self) -> Self {
        self.referrer = PageResponse::OWN_REFERRER;
        self
    }

    #[must_use]
    pub(crate) fn under(mut self, subtitle: &str) -> Self {
        self.subtitle = escape(subtitle);
        self
    }

    /// Sets the line below the title as HTML.
    #[must_use]
    pub(crate) fn under_html(mut self, subtitle: String) -> Self {
        self.subtitle = subtitle;
        self
    }

    pub(crate) fn push(&mut self, html: &str) {
        self.body.push_str(html);
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        self.body.push_str(&format!("<p>{}</p>\n", prose(text)));
    }

    /// Adds a sentence that a reader must not miss.
    pub(crate) fn say(&mut self, tone: Tone, text: &str) {
        let class = class(tone).map_or_else(|| "say".to_owned(), |class| format!("say {class}"));
        self.body.push_str(&format!("<p class=\"{class}\">{}</p>\n", prose(text)));
    }

    /// Adds a section with a title, unless it is empty.
    pub(crate) fn section(&mut self, id: &'static str, title: &'static str, body: String) {
        if !body.is_empty() {
            self.body.push_str(&PageSection::new(id, title, body).html());
        }
    }

    pub(crate) fn html(&self, site: &Site<'_>) -> String {
        let title = escape(&self.title);
        let subtitle = match self.subtitle.as_str() {
            "" => String::new(),
            text => format!("<p class=\"subtitle\">{text}</p>\n"),
        };
        // An exported file has no headers; the server sends the same policy as a header.
        let policy = PageResponse::POLICY.replace("; frame-ancestors 'none'", "");
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"{}\">\n\
             <title>{title} · rusty-stack-bench</title>\n<link rel=\"icon\" href=\"{ICON}\">\n\
             <link rel=\"alternate\" type=\"application/atom+xml\" title=\"Changes\" \
             href=\"{FEED}\">\n\
             <link rel=\"stylesheet\" href=\"style.css\">\n<script src=\"page.js\" \
             defer></script>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#content\">Skip to the content</a>\n\
             <header class=\"site\">\n{}{}</header>\n\
             <main id=\"content\">\n<h1>{title}</h1>\n{subtitle}{}</main>\n<footer>\n{}</footer>\n</body>\n</html>\n",
            self.referrer,
            self.pages(site),
            search(site, self.view),
            self.body,
            self.footer(site),
        )
    }

    fn pages(&self, site: &Site<'_>) -> String {
        let shown = self.view.map(PageView::name);
        let mut items = String::new();
        for (title, view) in entries(site) {
            let here = if shown == Some(view.name()) { " aria-current=\"page\"" } else { "" };
            let link = escape(&site.link(Address::page(view)));
            items.push_str(&format!("<li><a href=\"{link}\"{here}>{title}</a>"));
        }
        format!("<nav aria-label=\"Pages\"><ul>{items}</ul></nav>\n")
    }

    fn footer(&self, site: &Site<'_>) -> String {
        let document = self.view.filter(|view| has_document(view)).map(|view| {
            let link = site.link(Address::json(view.clone()));
            format!("{} for programs. ", anchor(&link, "The document"))
        });
        let how = if site.records_decisions() {
            "Only pages of active campaigns update themselves; reload others to see new results."
        } else if site.answers() {
            "Read only. Only pages of active campaigns update themselves; reload others to see new \
             results."
        } else {
            "A copy in files: `rusty-stack-bench serve` also searches, filters and compares any \
             two runs."
        };
        format!("<p>{}{}</p>\n", document.unwrap_or_default(), prose(how))
    }
}

fn has_document(view: &PageView) -> bool {
    match view {
        PageView::Search { .. } => false,
        PageView::Compare(query) => !query.from.is_empty() && !query.to.is_empty(),
        _ => true,
    }
}

/// Returns the pages that every page links to.
fn entries(site: &Site<'_>) -> Vec<(&'static str, PageView)> {
    let mut entries = vec![
        ("Overview", PageView::Overview { branch: String::new() }),
        ("Runs", PageView::Runs(ListFilter::default())),
        ("Cases", PageView::Cases(ListFilter::default())),
        ("Compare", PageView::Compare(crate::address::CompareView::default())),
        ("Machines", PageView::Machines),
        ("Models", PageView::Models),
        ("Baselines", PageView::Baselines),
        ("Doctor", PageView::Doctor),
        ("Live", PageView::Live),
    ];
    entries.extend(fleet_entry(site).map(|view| ("Fleet", PageView::Fleet(view))));
    // Pages that change from moment to moment, or need a server, are not exported.
    entries.retain(|(_, view)| {
        site.answers() || !matches!(view, PageView::Live | PageView::Compare(_) | PageView::Doctor)
    });
    entries
}

/// Returns the only campaign, or the list of several; `None` if there is none.
fn fleet_entry(site: &Site<'_>) -> Option<FleetView> {
    match site.campaigns() {
        Ok(campaigns) => match campaigns.as_slice() {
            [] => None,
            [only] => Some(FleetView::of(&only.campaign)),
            _ => Some(FleetView::default()),
        },
        Err(_) => Some(FleetView::default()),
    }
}

fn search(site: &Site<'_>, view: Option<&PageView>) -> String {
    if !site.answers() {
        return String::new();
    }
    let text =
        if let Some(PageView::Search { find }) = view { escape(find) } else { String::new() };
    format!(
        "<form role=\"search\" action=\"search\" method=\"get\"><label class=\"unseen\" \
         for=\"find-all\">Search cases and \
         runs</label><input type=\"search\" id=\"find-all\" name=\"find\" value=\"{text}\" \
         placeholder=\"case or run\"> <button>Search</button></form>\n"
    )
}
