//! Decides which requests are answered: by the host name in the request, and by the token if there
//! is one; and which forms are accepted: by their origin, and by the token for writing.
//!
//! A foreign web page can make a browser send requests to a name of its own that resolves to this
//! machine (DNS rebinding). Unexpected names are refused; a numeric address cannot be redirected
//! this way.

use std::fs::File;
use std::hint::black_box;
use std::io::Read as _;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use anyhow::{Context as _, anyhow};
use rsb_store::read_bytes;
use rsb_web::DECISION;

use super::ServeOptions;
use crate::AppError;

/// Minimum length of a token, so that it cannot be guessed.
const FEWEST: usize = 16;

/// Requirements on every request.
pub(super) struct Guard {
    /// Names of the server in addition to `localhost` and numeric addresses.
    hosts: Vec<String>,
    token: Option<String>,
    /// Cookies are shared by all ports of a host, so each server has its own.
    cookie: String,
    writing: Option<Writing>,
}

/// Access of users who record decisions.
struct Writing {
    token: String,
    cookie: String,
    /// Session cookie of a user who entered the token; valid until the server exits.
    session: String,
    /// Value in each form made for such a user, which other sites cannot read.
    form: String,
}

/// Relevant parts of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Caller<'r> {
    pub(super) method: &'r str,
    pub(super) host: Option<&'r str>,
    pub(super) path: &'r str,
    pub(super) query: &'r str,
    pub(super) cookies: Option<&'r str>,
    pub(super) authorization: Option<&'r str>,
    pub(super) origin: Option<&'r str>,
    pub(super) fetch_site: Option<&'r str>,
}

/// Decision on a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// The request is answered.
    Answered,
    /// The token was in the address: it is stored in a cookie, and the browser is redirected to the
    /// address without it.
    Redirected { location: String, cookie: String },
    /// The request is refused, with the reason.
    Refused { status: u16, why: &'static str },
}

/// Result of [`Guard::admit_decision`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decider {
    /// The user gave the token before.
    Known,
    /// The user gave the token now; this cookie replaces it from now on.
    New { cookie: String },
    /// Nothing is recorded, for this reason.
    Refused(&'static str),
}

impl Caller<'_> {
    fn has_cookie(&self, name: &str, value: &str) -> bool {
        let cookies = self.cookies.into_iter().flat_map(|cookies| cookies.split(';'));
        let mut named =
            cookies.filter_map(|cookie| cookie.trim().strip_prefix(name)?.strip_prefix('='));
        named.any(|given| is_same(given.trim(), value))
    }
}

impl Writing {
    fn new(file: &Path, address: SocketAddr) -> Result<Self, AppError> {
        Ok(Self {
            token: token_in(file)?,
            cookie: format!("rsb_write_{}", address.port()),
            session: random_text()?,
            form: random_text()?,
        })
    }
}

/// Returns 32 hex digits that cannot be guessed.
fn random_text() -> Result<String, AppError> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("cannot read /dev/urandom")?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

impl Guard {
    /// Creates a guard with `options` for a server that listens at `address`.
    ///
    /// # Errors
    /// If others could reach the server, and neither a token nor a reason for its absence is given,
    /// or if the file contains no token.
    pub(super) fn new(options: &ServeOptions, address: SocketAddr) -> Result<Self, AppError> {
        let token = options.token_file.as_deref().map(token_in).transpose()?;
        let is_explained = options.no_token.as_ref().is_some_and(|why| !why.trim().is_empty());
        if !address.ip().is_loopback() && token.is_none() && !is_explained {
            return Err(AppError::usage(anyhow!(
                "anyone who can reach {address} could read the results: require a token with \
                 --token-file FILE, or give the reason why none is needed with --no-token \"WHY\""
            )));
        }
        if options.no_token.is_some() && !is_explained {
            return Err(AppError::usage(anyhow!(
                "--no-token needs a reason, such as \"only the build machines reach this network\""
            )));
        }
        let writing = options.write_token_file.as_deref();
        let writing = writing.map(|file| Writing::new(file, address)).transpose()?;
        if token.is_some() && writing.as_ref().map(|writing| &writing.token) == token.as_ref() {
            return Err(AppError::usage(anyhow!(
                "--write-token-file and --token-file have the same token, so readers could write; \
                 use two tokens"
            )));
        }
        let cookie = format!("rsb_{}", address.port());
        Ok(Self { hosts: options.hosts.clone(), token, cookie, writing })
    }

    pub(super) const fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Returns whether users with the token can record decisions.
    pub(super) const fn has_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Returns the value for the forms of `caller`, if that user gave the token for writing.
    pub(super) fn form_of(&self, caller: &Caller<'_>) -> Option<&str> {
        let writing = self.writing.as_ref()?;
        let is_known = caller.has_cookie(&writing.cookie, &writing.session);
        is_known.then_some(writing.form.as_str())
    }

    /// Returns the value for the forms of a user who just gave the token.
    pub(super) fn form_value(&self) -> Option<&str> {
        self.writing.as_ref().map(|writing| writing.form.as_str())
    }

    /// Returns why `caller` may not send a form, if its origin is another site.
    pub(super) fn foreign_form(&self, caller: &Caller<'_>) -> Option<&'static str> {
        let is_own = match (caller.origin, caller.fetch_site) {
            (Some(origin), _) => {
                let place = origin.split_once("://").map_or("", |(_, place)| place);
                caller.host.is_some_and(|host| host.eq_ignore_ascii_case(place))
                    || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name_of(place)))
            }
            (None, Some(site)) => site == "same-origin",
            // A program, not a browser: it needs the token.
            (None, None) => true,
        };
        (!is_own).then_some("the form was sent from another site; open it on this server")
    }

    /// Decides whether `caller` may record a decision with `token`, or with `form` from a form of
    /// this server.
    pub(super) fn admit_decision(&self, caller: &Caller<'_>, token: &str, form: &str) -> Decider {
        let Some(writing) = &self.writing else {
            return Decider::Refused("this server is read-only");
        };
        if !token.is_empty() {
            if !is_same(token.trim(), &writing.token) {
                return Decider::Refused("the write token is wrong; enter the line in its file");
            }
            let (cookie, session) = (&writing.cookie, &writing.session);
            return Decider::New {
                cookie: format!("{cookie}={session}; HttpOnly; SameSite=Strict; Path=/"),
            };
        }
        match self.form_of(caller) {
            Some(known) if is_same(form, known) => Decider::Known,
            _ => Decider::Refused(
                "the write token is missing, or the server was restarted since it was entered; \
                 enter it below",
            ),
        }
    }

    /// Decides on `caller`.
    pub(super) fn admit(&self, caller: &Caller<'_>) -> Admission {
        let sends_form = caller.method == "POST" && caller.path == DECISION && self.has_writing();
        if !matches!(caller.method, "GET" | "HEAD") && !sends_form {
            let why = "use GET or HEAD for this page";
            return Admission::Refused { status: 405, why };
        }
        if !caller.host.is_some_and(|host| self.is_own(host)) {
            let why = "unknown Host header; allow the name with `serve --host NAME`, or use an IP \
                       address";
            return Admission::Refused { status: 403, why };
        }
        let Some(token) = &self.token else { return Admission::Answered };
        let (given, query) = without_token(caller.query);
        if given.is_some_and(|given| is_same(given, token)) {
            // Relative, so that a prefix added by a proxy is kept. Without the `./`, a browser would
            // read `\\host` as `//host`, and a colon as the end of a scheme.
            let page = caller.path.rsplit('/').next().unwrap_or_default();
            let location =
                if query.is_empty() { format!("./{page}") } else { format!("./{page}?{query}") };
            let cookie = format!("{}={token}; HttpOnly; SameSite=Lax; Path=/", self.cookie);
            return Admission::Redirected { location, cookie };
        }
        let bearer = caller.authorization.and_then(|text| text.strip_prefix("Bearer "));
        if bearer.is_some_and(|given| is_same(given.trim(), token))
            || caller.has_cookie(&self.cookie, token)
        {
            return Admission::Answered;
        }
        let why = "this server requires its token: open it once with ?token=TOKEN, or send \
                   `Authorization: Bearer TOKEN`";
        Admission::Refused { status: 401, why }
    }

    /// Returns whether `host`, as given in a request, is this server.
    fn is_own(&self, host: &str) -> bool {
        let name = name_of(host);
        let is_figures =
            name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
        is_figures
            || name.eq_ignore_ascii_case("localhost")
            || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// Returns `host` without a port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            name
        }
        _ => host,
    }
}

/// Returns the token in `query`, and the query without it.
fn without_token(query: &str) -> (Option<&str>, String) {
    let token = query.split('&').find_map(|pair| pair.strip_prefix("token="));
    let others: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("token=")).collect();
    (token, others.join("&"))
}

/// Compares two tokens in a time that does not depend on the position of a difference.
fn is_same(given: &str, token: &str) -> bool {
    let differs = given.bytes().zip(token.bytes()).fold(0, |all, (a, b)| black_box(all | (a ^ b)));
    given.len() == token.len() && differs == 0
}

/// Reads the token from the first line of `path`.
fn token_in(path: &Path) -> Result<String, AppError> {
    let bytes = read_bytes(path).map_err(AppError::usage)?;
    let text = String::from_utf8_lossy(&bytes);
    let token = text.lines().next().unwrap_or_default().trim();
    let is_plain =
        token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
    if token.len() < FEWEST || token.len() > 200 || !is_plain {
        return Err(AppError::usage(anyhow!(
            "{}: the token must be a line of {FEWEST} to 200 letters, digits, `-`, `.`, `_` or \
             `~`; `head -c 24 /dev/urandom | base64 | tr -d '+/='` generates one",
            path.display()
        )));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "abcdefgh12345678";

    fn guard(token: Option<&str>) -> Guard {
        Guard {
            hosts: vec!["bench.example".into()],
            token: token.map(str::to_owned),
            cookie: "rsb_8080".into(),
            writing: None,
        }
    }

    fn writer() -> Guard {
        let writing = Writing {
            token: "write-12345678901".into(),
            cookie: "rsb_write_8080".into(),
            session: "session".into(),
            form: "form".into(),
        };
        Guard { writing: Some(writing), ..guard(None) }
    }

    fn status(admission: &Admission) -> u16 {
        match admission {
            Admission::Answered => 200,
            Admission::Redirected { .. } => 303,
            Admission::Refused { status, .. } => *status,
        }
    }

    fn get<'r>() -> Caller<'r> {
        Caller { method: "GET", host: Some("localhost:8080"), ..Caller::default() }
    }

    #[test]
    fn only_names_that_are_expected_are_answered_and_nothing_is_written() {
        for (host, expected) in [
            (Some("127.0.0.1:8080"), 200),
            (Some("[::1]:8080"), 200),
            (Some("192.168.1.7"), 200),
            (Some("LOCALHOST"), 200),
            (Some("bench.example:80"), 200),
            (Some("evil.example"), 403),
            (Some("localhost.evil.example:8080"), 403),
            (Some("127.0.0.1.evil.example"), 403),
            (Some(""), 403),
            (None, 403),
        ] {
            assert_eq!(status(&guard(None).admit(&Caller { host, ..get() })), expected, "{host:?}");
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE"] {
            assert_eq!(status(&guard(None).admit(&Caller { method, ..get() })), 405);
        }
    }

    #[test]
    fn a_token_is_asked_for_once_and_taken_out_of_the_address() {
        let guard = guard(Some(TOKEN));
        let cookie = format!("other=1; rsb_8080={TOKEN}");
        let bearer = format!("Bearer {TOKEN}");
        let in_query = format!("id=x&token={TOKEN}");
        for (caller, expected) in [
            (get(), 401),
            (Caller { query: "token=abcdefgh12345679", ..get() }, 401),
            (Caller { query: "token=", ..get() }, 401),
            (Caller { cookies: Some("rsb_8080=abcdefgh1234567"), ..get() }, 401),
            (Caller { cookies: Some("rsb_80=abcdefgh12345678"), ..get() }, 401),
            (Caller { authorization: Some(TOKEN), ..get() }, 401),
            (Caller { cookies: Some(&cookie), ..get() }, 200),
            (Caller { authorization: Some(&bearer), ..get() }, 200),
            (Caller { query: &in_query, host: Some("evil.example"), ..get() }, 403),
        ] {
            assert_eq!(status(&guard.admit(&caller)), expected, "{caller:?}");
        }
        let admitted = guard.admit(&Caller { path: "run", query: &in_query, ..get() });
        let Admission::Redirected { location, cookie } = admitted else { panic!("{admitted:?}") };
        assert_eq!(location, "./run?id=x");
        assert!(cookie.starts_with(&format!("rsb_8080={TOKEN}; HttpOnly")), "{cookie}");
    }

    #[test]
    fn the_redirect_after_a_token_stays_on_the_host() {
        let query = format!("token={TOKEN}");
        for (path, expected) in [
            ("", "./"),
            ("runs", "./runs"),
            ("a/b", "./b"),
            ("\\\\evil.example", "./\\\\evil.example"),
            ("x//evil.example", "./evil.example"),
            ("https:evil.example", "./https:evil.example"),
        ] {
            let admitted = guard(Some(TOKEN)).admit(&Caller { path, query: &query, ..get() });
            let Admission::Redirected { location, .. } = admitted else { panic!("{admitted:?}") };
            assert_eq!(location, expected, "{path}");
        }
    }

    #[test]
    fn forms_are_accepted_only_at_their_address_and_only_if_enabled() {
        let post = |path| Caller { method: "POST", path, ..get() };
        for (guard, path, expected) in [
            (guard(None), DECISION, 405),
            (writer(), DECISION, 200),
            (writer(), "", 405),
            (writer(), "run", 405),
        ] {
            assert_eq!(status(&guard.admit(&post(path))), expected, "{path}");
        }
        let put = Caller { method: "PUT", path: DECISION, ..get() };
        assert_eq!(status(&writer().admit(&put)), 405);
    }

    #[test]
    fn forms_of_other_sites_are_refused() {
        for (origin, fetch_site, is_own) in [
            (Some("http://localhost:8080"), None, true),
            (Some("https://LOCALHOST:8080"), Some("same-origin"), true),
            (Some("https://bench.example"), None, true),
            (Some("http://localhost:9999"), Some("same-site"), false),
            (Some("http://evil.example"), None, false),
            (Some("null"), None, false),
            (Some(""), None, false),
            (None, Some("cross-site"), false),
            (None, Some("same-origin"), true),
            (None, None, true),
        ] {
            let caller = Caller { origin, fetch_site, ..get() };
            assert_eq!(
                writer().foreign_form(&caller).is_none(),
                is_own,
                "{origin:?} {fetch_site:?}"
            );
        }
    }

    #[test]
    fn a_decision_needs_the_token_or_the_cookie_with_the_value_of_the_form() {
        let known = Caller { cookies: Some("a=b; rsb_write_8080=session"), ..get() };
        let wrong = Caller { cookies: Some("rsb_write_8080=session2"), ..get() };
        let kind =
            |caller: &Caller<'_>, token, form| match writer().admit_decision(caller, token, form) {
                Decider::Known => "known",
                Decider::New { .. } => "new",
                Decider::Refused(_) => "refused",
            };
        assert_eq!(kind(&get(), "write-12345678901", ""), "new");
        assert_eq!(kind(&get(), "write-12345678902", ""), "refused");
        assert_eq!(kind(&known, "wrong", "form"), "refused", "a wrong token is never ignored");
        assert_eq!(kind(&get(), "", "form"), "refused");
        assert_eq!(kind(&wrong, "", "form"), "refused");
        assert_eq!(kind(&known, "", "other"), "refused");
        assert_eq!(kind(&known, "", ""), "refused");
        assert_eq!(kind(&known, "", "form"), "known");
        let Decider::New { cookie } = writer().admit_decision(&get(), "write-12345678901", "")
        else {
            panic!()
        };
        assert_eq!(cookie, "rsb_write_8080=session; HttpOnly; SameSite=Strict; Path=/");
    }
}
