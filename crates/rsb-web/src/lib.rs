//! The dashboard without its server: addresses ([`Address`]), responses ([`respond`]), and the data
//! source ([`PageSource`]). `serve` sends them over HTTP, or writes them as files
//! ([`export_site`]).
//!
//! **Invariant:** no input or output, no clock. Every text of a run is escaped at the point of
//! output, by the functions of [`rsb_report::html::element`]. A page has no inline script and no
//! inline style, and is readable without either.

#![allow(
    clippy::format_push_string,
    clippy::format_collect,
    reason = "pages are small; the shape of a line is easier to see in `format!` than in `write!`"
)]

pub mod address;
mod api;
mod assets;
mod cards;
mod chart_file;
mod crawl;
mod feeds;
mod figure;
mod name_book;
mod names;
mod pages;
mod response;
mod router;
mod sheet;
mod site;
pub mod source;
mod spark;
#[cfg(test)]
mod tests;

pub use address::{Address, AddressError};
pub use crawl::{SiteExportError, export_site};
pub use name_book::NameBook;
pub use pages::{
    DECISION, DecisionFields, LIVE_EVENTS, RefusedDecision, decision_link, decision_page,
};
pub use response::PageResponse;
pub use router::respond;
pub use site::{Draw, Medium, Site};
pub use source::PageSource;
