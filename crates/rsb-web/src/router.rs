//! Routing of requests to responses.

use crate::address::{Address, AddressError, Form, LONGEST_QUERY};
use crate::response::{HTML, JSON, PageResponse};
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::SourceError;
use crate::{api, assets, chart_file, feeds, pages};

/// Responds to a request for `path`, without the leading slash, with `query`.
pub fn respond(site: &Site<'_>, path: &str, query: &str) -> PageResponse {
    if query.len() > LONGEST_QUERY {
        return trouble(site, 400, "the query is too long", is_for_programs(path));
    }
    if let Some(asset) = assets::find(site, path) {
        return asset;
    }
    if let Some(made) = feeds::find(site, path) {
        return made.unwrap_or_else(|error| trouble(site, 500, &error.to_string(), true));
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

pub(crate) fn answer(site: &Site<'_>, address: &Address) -> PageResponse {
    let answered = match &address.form {
        Form::Page => {
            pages::page(site, &address.view).map(|sheet| PageResponse::ok(HTML, sheet.html(site)))
        }
        Form::Json => api::document(site, &address.view).map(|text| PageResponse::ok(JSON, text)),
        Form::Chart { name, format } => chart_file::file(site, &address.view, name, *format),
    };
    answered.unwrap_or_else(|error| {
        let status = match error {
            SourceError::NotThere(_) => 404,
            SourceError::Senseless(_) => 400,
            SourceError::Unreadable(_) => 500,
            SourceError::NotReady(_) => 503,
        };
        trouble(site, status, &error.to_string(), address.form == Form::Json)
    })
}

/// Returns an error response.
fn trouble(site: &Site<'_>, status: u16, why: &str, is_for_programs: bool) -> PageResponse {
    if is_for_programs {
        let body = serde_json::json!({ "error": why }).to_string() + "\n";
        return PageResponse { status, content_type: JSON, body: body.into_bytes() };
    }
    let title = match status {
        404 => "Not found",
        400 => "Invalid request",
        _ => "The data cannot be read",
    };
    let mut sheet = Sheet::new(title, None);
    sheet.say(rsb_report::Tone::Caution, why);
    PageResponse { status, content_type: HTML, body: sheet.html(site).into_bytes() }
}
