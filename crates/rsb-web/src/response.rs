//! What a reader gets.

/// An answer to a request, whoever carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageResponse {
    /// The status of HTTP: 200, 400, 404 or 500.
    pub status: u16,
    /// What the body is.
    pub content_type: &'static str,
    /// The text; every answer is one, but for pictures.
    pub body: Vec<u8>,
}

/// A page.
pub const HTML: &str = "text/html; charset=utf-8";
/// A document.
pub const JSON: &str = "application/json";
/// Figures.
pub const CSV: &str = "text/csv; charset=utf-8";
/// A drawing.
pub const SVG: &str = "image/svg+xml";
/// A picture.
pub const PNG: &str = "image/png";

impl PageResponse {
    /// An answer that is there.
    pub fn ok(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, content_type, body: body.into() }
    }

    /// What every page may do, for the header `Content-Security-Policy`: nothing is loaded from
    /// anywhere else, and nothing that stands in a page is run.
    pub const POLICY: &'static str = "default-src 'none'; style-src 'self'; script-src 'self'; \
                                      img-src 'self' data:; \
                                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                                      frame-ancestors 'none'";
}
