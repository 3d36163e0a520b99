//! Responses to requests.

/// A response to a request, independent of the transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageResponse {
    /// HTTP status: 200, 400, 404, 500 or 503; of a form also 403 or 409.
    pub status: u16,
    /// MIME type of the body.
    pub content_type: &'static str,
    /// Body; text in every response except PNG images.
    pub body: Vec<u8>,
}

/// MIME type of a page.
pub const HTML: &str = "text/html; charset=utf-8";
/// MIME type of a JSON document.
pub const JSON: &str = "application/json";
/// MIME type of the values of a chart.
pub const CSV: &str = "text/csv; charset=utf-8";
/// MIME type of a drawing.
pub const SVG: &str = "image/svg+xml";
/// MIME type of an image.
pub const PNG: &str = "image/png";

impl PageResponse {
    /// Creates a successful response.
    pub fn ok(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, content_type, body: body.into() }
    }

    /// Referrer policy of a page with a form that changes something. With `no-referrer`, a browser
    /// conceals the origin of the form.
    pub const OWN_REFERRER: &'static str = "same-origin";

    /// Content security policy of every page, for the header `Content-Security-Policy`: nothing is
    /// loaded from elsewhere, and no inline script or style is applied.
    pub const POLICY: &'static str = "default-src 'none'; style-src 'self'; script-src 'self'; \
                                      img-src 'self' data:; \
                                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                                      frame-ancestors 'none'";
}
