//! One HTTP exchange, with a time limit, the system's certificates and no redirects.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rsb_model::shown::{clean, shorten};
use ureq::Agent;
use ureq::http::{Request, Response};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Time limit of an exchange.
const LIMIT: Duration = Duration::from_secs(5);

/// Maximum size of an answer that is read, in bytes.
const MAX_ANSWER: u64 = 4 << 20;

/// Longest wait that a receiver can ask for.
const MAX_WAIT: SignedDuration = SignedDuration::from_hours(24);

/// Why a message was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The message may be accepted later.
    #[error("{why}")]
    Later {
        /// Cause.
        why: String,
        /// Time to wait, as requested by the receiver.
        after: Option<SignedDuration>,
    },
    /// The message will never be accepted.
    #[error("{why}")]
    Final {
        /// Cause.
        why: String,
    },
}

impl SendError {
    pub(crate) fn later(why: impl Into<String>) -> Self {
        Self::Later { why: why.into(), after: None }
    }

    pub(crate) fn permanent(why: impl Into<String>) -> Self {
        Self::Final { why: why.into() }
    }
}

/// Method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpMethod {
    Get,
    Post,
    Patch,
}

/// Request with a JSON body, which `Get` does not send.
pub(crate) struct HttpRequest<'a> {
    pub(crate) method: HttpMethod,
    pub(crate) url: &'a str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

/// Answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<SignedDuration>,
    /// Whether the receiver's limit of requests is used up until it is reset.
    pub(crate) is_exhausted: bool,
    pub(crate) body: String,
}

impl HttpAnswer {
    /// Returns the body of a success, or an error that does not contain `url`. Answers 408, 425,
    /// 429 and 5xx may succeed later; all others are final.
    pub(crate) fn into_result(self, url: &str) -> Result<String, SendError> {
        let text = shorten(&clean(&hide(url, self.body.trim())), 200);
        let why = format!("HTTP {}: {text}", self.status);
        match self.status {
            200..=299 => Ok(self.body),
            408 | 425 | 429 | 500.. => Err(SendError::Later { why, after: self.retry_after }),
            300..=399 => Err(SendError::permanent(format!(
                "HTTP {}: the address redirects; configure its target",
                self.status
            ))),
            _ => Err(SendError::permanent(why)),
        }
    }
}

/// Replaces `url`, its path and its query in `text`.
fn hide(url: &str, text: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find(['/', '?']).map_or("", |at| rest.get(at..).unwrap_or_default());
    let (only_path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut text = text.to_owned();
    for part in [
        url,
        rest,
        path,
        path.trim_start_matches('/'),
        only_path,
        only_path.trim_start_matches('/'),
        query,
    ] {
        // Shorter parts are not secrets, and replacing them would damage other words.
        if part.len() >= 4 {
            text = text.replace(part, "the address");
        }
    }
    text
}

/// Sends `request` and reads the answer. Errors do not contain the address, which may be a secret.
pub(crate) fn exchange(request: &HttpRequest<'_>) -> Result<HttpAnswer, SendError> {
    let url = request.url;
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return Err(SendError::later("the address must begin with https://"));
    }
    let has_token = request.headers.iter().any(|(name, _)| *name == "authorization");
    if has_token && !url.starts_with("https://") && !is_loopback(url) {
        return Err(SendError::later(
            "the token is not sent over http://; the address must begin with https://",
        ));
    }
    let agent = agent(url);
    let mut builder = Request::builder().uri(url);
    for (name, value) in &request.headers {
        builder = builder.header(*name, value);
    }
    let method = match request.method {
        HttpMethod::Get => "GET",
        HttpMethod::Post => "POST",
        HttpMethod::Patch => "PATCH",
    };
    let builder = builder.method(method);
    let invalid = |_| SendError::later("the address or a header is invalid");
    let answer = if request.method == HttpMethod::Get {
        agent.run(builder.body(()).map_err(invalid)?)
    } else {
        let builder = builder.header("content-type", "application/json");
        agent.run(builder.body(request.body.as_str()).map_err(invalid)?)
    };
    let answer = answer.map_err(|error| SendError::later(hide(url, &error.to_string())))?;
    read(answer)
}

fn read(answer: Response<ureq::Body>) -> Result<HttpAnswer, SendError> {
    let (parts, body) = answer.into_parts();
    let retry_after = parts
        .headers
        .get("retry-after")
        .and_then(|value| parse_retry_after(value.to_str().ok()?, Timestamp::now()));
    let remaining = parts.headers.get("x-ratelimit-remaining");
    let is_exhausted = remaining.is_some_and(|value| value.as_bytes() == b"0");
    let mut bytes = Vec::new();
    // If the answer ends early, its status still decides; its body is only a message.
    let read = body.into_reader().take(MAX_ANSWER).read_to_end(&mut bytes);
    let status = parts.status.as_u16();
    if let (Err(error), 200..=299) = (read, status) {
        return Err(SendError::later(format!("the answer ended early: {error}")));
    }
    Ok(HttpAnswer {
        status,
        retry_after,
        is_exhausted,
        body: String::from_utf8_lossy(&bytes).into_owned(),
    })
}

fn agent(url: &str) -> Agent {
    let mut builder = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(LIMIT))
        .user_agent(concat!("rusty-stack-bench/", env!("CARGO_PKG_VERSION")));
    if url.starts_with("https://") {
        builder = builder.tls_config(tls());
    }
    if is_loopback(url) {
        builder = builder.proxy(None);
    }
    builder.build().new_agent()
}

/// Returns a configuration that trusts the certificates of the system, or of `SSL_CERT_FILE`.
fn tls() -> TlsConfig {
    let mut roots: Vec<Certificate<'static>> = Vec::new();
    for certificate in rustls_native_certs::load_native_certs().certs {
        roots.push(Certificate::from_der(certificate.as_ref()).to_owned());
    }
    TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::from(roots))
        .build()
}

fn is_loopback(url: &str) -> bool {
    let host = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = host.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    !authority.contains('@')
        && ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| {
            host.strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/', '?']))
        })
}

/// Parses the header `Retry-After`: seconds, or a date.
fn parse_retry_after(text: &str, now: Timestamp) -> Option<SignedDuration> {
    let text = text.trim();
    let wait = if let Ok(seconds) = text.parse::<u32>() {
        SignedDuration::from_secs(i64::from(seconds))
    } else {
        let parser = jiff::fmt::rfc2822::DateTimeParser::new();
        parser.parse_timestamp(text).ok()?.duration_since(now)
    };
    Some(wait.clamp(SignedDuration::ZERO, MAX_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date_and_bounded() {
        let now = Timestamp::from_second(784_111_777).unwrap();
        let of = |text| parse_retry_after(text, now).map(|wait| wait.as_secs());
        assert_eq!(of("30"), Some(30));
        assert_eq!(of("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60));
        assert_eq!(of("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
        assert_eq!(of("4000000000"), Some(86_400));
        assert_eq!(of("soon"), None);
    }

    #[test]
    fn a_status_decides_whether_to_try_again() {
        let of = |status| {
            HttpAnswer {
                status,
                retry_after: None,
                is_exhausted: false,
                body: "no\nservice".to_owned(),
            }
            .into_result("https://h.example/x")
        };
        assert!(of(200).is_ok() && of(204).is_ok());
        for status in [408, 425, 429, 500, 503] {
            assert!(matches!(of(status), Err(SendError::Later { .. })), "{status}");
        }
        for status in [301, 400, 403, 404, 410] {
            assert!(matches!(of(status), Err(SendError::Final { .. })), "{status}");
        }
        assert_eq!(of(404).unwrap_err().to_string(), "HTTP 404: no service");
    }

    #[test]
    fn a_body_that_repeats_the_address_is_printed_without_it() {
        let url = "https://h.example/services/T0/SECRET?token=SECRET";
        for body in [
            "no https://h.example/services/T0/SECRET?token=SECRET",
            "no /services/T0/SECRET",
            "no services/T0/SECRET?token=SECRET",
            "no h.example/services/T0/SECRET?token=SECRET here",
            "no token=SECRET",
        ] {
            let answer = HttpAnswer {
                status: 404,
                retry_after: None,
                is_exhausted: false,
                body: body.to_owned(),
            };
            let why = answer.into_result(url).unwrap_err().to_string();
            assert!(why.starts_with("HTTP 404: no the address"), "{body}: {why}");
            assert!(!why.contains("SECRET"), "{body}: {why}");
        }
    }

    #[test]
    fn a_token_is_sent_in_plain_text_to_this_machine_only() {
        let request = |url| HttpRequest {
            method: HttpMethod::Post,
            url,
            headers: vec![("authorization", "Bearer SECRET".to_owned())],
            body: String::new(),
        };
        let refused = exchange(&request("http://h.example/")).unwrap_err().to_string();
        assert!(refused.contains("not sent over http://"), "{refused}");
        let closed = exchange(&request("http://127.0.0.1:1/")).unwrap_err().to_string();
        assert!(!closed.contains("not sent over http://"), "{closed}");
    }

    #[test]
    fn only_loopback_addresses_bypass_a_proxy() {
        for (url, expected) in [
            ("http://127.0.0.1:9093/api", true),
            ("http://localhost", true),
            ("http://[::1]:1/", true),
            ("http://localhost.example/", false),
            ("http://localhost:x@h.example/", false),
            ("https://hooks.slack.com/localhost", false),
        ] {
            assert_eq!(is_loopback(url), expected, "{url}");
        }
    }
}
