//! From a request to its answer.

use std::cell::RefCell;

use rsb_report::Theme;

use crate::address::{Address, AddressError, Form, LONGEST_QUERY};
use crate::response::{HTML, JSON, PageResponse};
use crate::sheet::Sheet;
use crate::source::{PageSource, SourceError};
use crate::{api, assets, figure, pages};

/// How the pages reach their readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// By a server that answers.
    Served,
    /// As files, which answer nothing: what would ask is left out.
    Exported,
}

/// Makes a picture of a drawing; `None` where the build cannot.
pub type Draw<'d> = dyn Fn(&str) -> Option<Vec<u8>> + 'd;

/// Everything that pages are made from.
pub struct Site<'s> {
    source: &'s dyn PageSource,
    medium: Medium,
    theme: Theme,
    /// What makes PNG of SVG.
    draw: Option<&'s Draw<'s>>,
    /// What the pages that were made so far lead to.
    linked: RefCell<Vec<Address>>,
}

impl<'s> Site<'s> {
    /// What `source` tells, for `medium`.
    pub fn new(source: &'s dyn PageSource, medium: Medium) -> Self {
        Self { source, medium, theme: Theme::default(), draw: None, linked: RefCell::default() }
    }

    /// With pictures of charts as PNG.
    #[must_use]
    pub const fn with_pictures(mut self, draw: &'s Draw<'s>) -> Self {
        self.draw = Some(draw);
        self
    }

    pub(crate) const fn source(&self) -> &'s dyn PageSource {
        self.source
    }

    pub(crate) const fn theme(&self) -> &Theme {
        &self.theme
    }

    pub(crate) const fn draw(&self) -> Option<&'s Draw<'s>> {
        self.draw
    }

    /// Whether questions are answered: forms, filters, windows.
    pub(crate) fn answers(&self) -> bool {
        self.medium == Medium::Served
    }

    /// A link to `address`, as it is written in a page.
    pub(crate) fn link(&self, address: Address) -> String {
        match self.medium {
            Medium::Served => address.link(),
            Medium::Exported => {
                let file = address.file();
                self.linked.borrow_mut().push(address);
                file
            }
        }
    }

    /// What was linked since this was asked last.
    pub(crate) fn take_links(&self) -> Vec<Address> {
        self.linked.take()
    }
}

/// The answer to the request of `path`, without the slash at its begin, with `query`.
pub fn respond(site: &Site<'_>, path: &str, query: &str) -> PageResponse {
    if query.len() > LONGEST_QUERY {
        return trouble(site, 400, "the query is too long", is_for_programs(path));
    }
    if let Some(asset) = assets::find(site, path) {
        return asset;
    }
    match Address::parse(path, query) {
        Ok(address) => answer(site, &address),
        Err(error @ AddressError::NoPage(_)) => {
            trouble(site, 404, &error.to_string(), is_for_programs(path))
        }
        Err(error) => trouble(site, 400, &error.to_string(), is_for_programs(path)),
    }
}

fn is_for_programs(path: &str) -> bool {
    path.starts_with("api/")
}

/// The answer to a request that was understood.
pub(crate) fn answer(site: &Site<'_>, address: &Address) -> PageResponse {
    let answered = match &address.form {
        Form::Page => {
            pages::page(site, &address.view).map(|sheet| PageResponse::ok(HTML, sheet.html(site)))
        }
        Form::Json => {
            api::document(site.source(), &address.view).map(|text| PageResponse::ok(JSON, text))
        }
        Form::Chart { name, format } => figure::file(site, &address.view, name, *format),
    };
    answered.unwrap_or_else(|error| {
        let status = match error {
            SourceError::NotThere(_) => 404,
            SourceError::Senseless(_) => 400,
            SourceError::Unreadable(_) => 500,
        };
        trouble(site, status, &error.to_string(), address.form == Form::Json)
    })
}

/// What says why there is no answer.
fn trouble(site: &Site<'_>, status: u16, why: &str, is_for_programs: bool) -> PageResponse {
    if is_for_programs {
        let body = serde_json::json!({ "error": why }).to_string() + "\n";
        return PageResponse { status, content_type: JSON, body: body.into_bytes() };
    }
    let title = match status {
        404 => "Not found",
        400 => "That cannot be answered",
        _ => "It could not be read",
    };
    let mut sheet = Sheet::new(title, None);
    sheet.say(rsb_report::Tone::Caution, why);
    PageResponse { status, content_type: HTML, body: sheet.html(site).into_bytes() }
}
