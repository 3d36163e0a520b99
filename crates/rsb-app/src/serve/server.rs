//! HTTP around the pages: one thread accepts requests, and a few create responses. Only decisions
//! about changes of level are written, if users with a token may record them.
//!
//! Uses hyper without a framework: there is one handler, and the limits of such a server (the time
//! for a request head and for a write, and the number of connections) are set here.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use http_body_util::channel::Channel;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rsb_engine::Event;
use rsb_model::shown::short_hash;
use rsb_report::MetricsFormat;
use rsb_web::{
    DECISION, DecisionFields, Medium, PageResponse, RefusedDecision, decision_link, decision_page,
    respond,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use super::ServeOptions;
use super::connections::{Connection, Connections, Place, WatchedStream};
use super::deciding::{read_form, record};
use super::guard::{Admission, Caller, Decider, Guard};
use super::journal_watch::JournalWatch;
use super::source::StoreSource;
use super::stored::Stored;
use crate::{AppError, error_chain};

/// Maximum time for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Maximum size in bytes of the head of a request.
const HEAD_BYTES: usize = 16 * 1024;
/// Address of the metrics for Prometheus.
const METRICS: &str = "metrics";
/// Interval at which an idle live page is sent a sign that the server is still running.
const ALIVE: Duration = Duration::from_mins(5);

type Body = Either<Full<Bytes>, Channel<Bytes, Infallible>>;

/// A listening dashboard.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// State shared by all requests.
struct Shared {
    stored: Arc<Stored>,
    guard: Guard,
    watch: JournalWatch,
    /// Connections to the store that are not in use.
    idle: Mutex<Vec<StoreSource>>,
}

impl Server {
    /// Opens the store, and listens at the address in `options`.
    ///
    /// # Errors
    /// If the results cannot be read, it cannot listen, or others could reach it without a token or
    /// a reason.
    pub fn bind(stored: &Arc<Stored>, options: &ServeOptions) -> Result<Self, AppError> {
        let first = StoreSource::open(stored, &mut |event| (stored.tell)(event))?;
        let listen = options.listen.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get).clamp(2, 8);
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder
            .enable_io()
            .enable_time()
            .max_blocking_threads(threads)
            .build()
            .context("cannot start the server")?;
        // Invalid options are reported before the first request is possible.
        Guard::new(options, listen)?;
        let listener = runtime
            .block_on(TcpListener::bind(listen))
            .with_context(|| {
                format!("cannot listen at {listen}: name another address with --listen")
            })
            .map_err(AppError::usage)?;
        let address = listener.local_addr().context("cannot read the listening address")?;
        let guard = Guard::new(options, address)?;
        let watch = JournalWatch::new(&stored.project.directories.results);
        let idle = Mutex::new(vec![first]);
        let shared = Arc::new(Shared { stored: Arc::clone(stored), guard, watch, idle });
        Ok(Self { runtime, listener, address, shared })
    }

    /// Returns the address that it listens at.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns whether readers need a token.
    pub fn has_token(&self) -> bool {
        self.shared.guard.has_token()
    }

    /// Returns whether users with the token can record decisions.
    pub fn has_writing(&self) -> bool {
        self.shared.guard.has_writing()
    }

    /// Answers requests until the program ends.
    ///
    /// # Errors
    /// If no more connections can be accepted.
    pub fn run(self) -> Result<(), AppError> {
        let _serving = rsb_engine::machine_lock::serving();
        self.runtime.block_on(serve(self.listener, self.shared))
    }
}

async fn serve(listener: TcpListener, server: Arc<Shared>) -> Result<(), AppError> {
    let connections = Connections::new();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Without a place, the connection is closed at once.
                if let Some(place) = connections.admit(peer.ip()) {
                    let connection = Arc::clone(&place.connection);
                    let task = tokio::spawn(talk(stream, place, Arc::clone(&server)));
                    connection.runs_in(task.abort_handle());
                }
            }
            // For example too many open files: current connections will end.
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn talk(stream: TcpStream, place: Place, server: Arc<Shared>) {
    let connection = Arc::clone(&place.connection);
    let service = service_fn(|request| {
        let (server, connection) = (Arc::clone(&server), Arc::clone(&connection));
        async move {
            connection.answers();
            let answer = server.answer(request, &connection).await;
            connection.sends(matches!(answer.body(), Either::Right(_)));
            Ok::<_, Infallible>(answer)
        }
    });
    let stream = WatchedStream::new(stream, &place);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_BYTES);
    if let Err(error) = http.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!("a connection ended: {error}");
    }
}

impl Shared {
    async fn answer(
        self: &Arc<Self>,
        request: Request<Incoming>,
        connection: &Connection,
    ) -> Response<Body> {
        let (request, form) = request.into_parts();
        let headers = &request.headers;
        let path = request.uri.path().trim_start_matches('/');
        let query = request.uri.query().unwrap_or_default();
        let caller = Caller {
            method: request.method.as_str(),
            host: header_text(headers, header::HOST),
            path,
            query,
            cookies: header_text(headers, header::COOKIE),
            authorization: header_text(headers, header::AUTHORIZATION),
            origin: header_text(headers, header::ORIGIN),
            fetch_site: header_text(headers, HeaderName::from_static("sec-fetch-site")),
        };
        match self.guard.admit(&caller) {
            Admission::Refused { status, why } => refusal(status, why),
            Admission::Redirected { location, cookie } => redirect(&location, Some(&cookie)),
            Admission::Answered if path == DECISION && request.method == Method::POST => {
                if let Some(why) = self.guard.foreign_form(&caller) {
                    return refusal(403, why);
                }
                connection.waits();
                let form = read_form(form).await;
                connection.answers();
                match form {
                    Ok(form) => self.record(&caller, &form).await,
                    Err((status, why)) => refusal(status, why),
                }
            }
            Admission::Answered if path == DECISION && self.guard.has_writing() => {
                // A link from elsewhere chooses the alert, and fills in nothing else.
                let alert = DecisionFields::parse(query).alert;
                let fields = DecisionFields { alert, ..DecisionFields::default() };
                self.decision_form(fields, self.guard.form_of(&caller), None).await
            }
            Admission::Answered if path == rsb_web::LIVE_EVENTS => self.events(),
            Admission::Answered if path == METRICS => {
                let accept = header_text(headers, header::ACCEPT).unwrap_or_default();
                let format = MetricsFormat::accepted_by(accept);
                let answer = self.answer_from(move |source| source.metrics(format)).await;
                http_response(answer, None, request.method == Method::HEAD)
            }
            Admission::Answered => {
                let known = header_text(headers, header::IF_NONE_MATCH).map(str::to_owned);
                let (path, query) = (path.to_owned(), query.to_owned());
                let decides = self.guard.has_writing();
                let answer = self.answer_from(move |source| {
                    respond(
                        &super::site(source, Medium::Served).with_decisions(decides),
                        &path,
                        &query,
                    )
                });
                let answer = answer.await;
                http_response(answer, known.as_deref(), request.method == Method::HEAD)
            }
        }
    }

    /// Records the decision that `caller` sends as `form`.
    async fn record(self: &Arc<Self>, caller: &Caller<'_>, form: &str) -> Response<Body> {
        let mut fields = DecisionFields::parse(form);
        let token = std::mem::take(&mut fields.token);
        let cookie = match self.guard.admit_decision(caller, &token, &fields.form) {
            Decider::Known => None,
            Decider::New { cookie } => Some(cookie),
            Decider::Refused(why) => {
                let refused = RefusedDecision { status: 403, why: why.to_owned() };
                return self.decision_form(fields, None, Some(refused)).await;
            }
        };
        let entered = fields.clone();
        let recorded = self.from_store(move |source| record(source, &entered)).await;
        let mut answer = match recorded {
            Ok(Ok(recorded)) => {
                if let Some(warning) = &recorded.warning {
                    (self.stored.tell)(&Event::warning(warning.clone()));
                }
                redirect(&format!("./{}", decision_link(&fields.alert)), None)
            }
            Ok(Err(refused)) => {
                let proof = self.guard.form_value();
                self.decision_form(fields, proof, Some(refused)).await
            }
            Err(answer) => http_response(answer, None, false),
        };
        if let Some(cookie) = cookie {
            set(answer.headers_mut(), header::SET_COOKIE, &cookie);
        }
        answer
    }

    /// Returns the page of the form for a decision.
    async fn decision_form(
        self: &Arc<Self>,
        fields: DecisionFields,
        proof: Option<&str>,
        refused: Option<RefusedDecision>,
    ) -> Response<Body> {
        let proof = proof.map(str::to_owned);
        let answer = self.answer_from(move |source| {
            let site = super::site(source, Medium::Served).with_decisions(true);
            decision_page(&site, &fields, proof.as_deref(), refused.as_ref())
        });
        let mut answer = http_response(answer.await, None, false);
        set(answer.headers_mut(), header::REFERRER_POLICY, PageResponse::OWN_REFERRER);
        answer
    }

    /// Returns the response that `make` creates from the store.
    async fn answer_from(
        self: &Arc<Self>,
        make: impl FnOnce(&StoreSource) -> PageResponse + Send + 'static,
    ) -> PageResponse {
        self.from_store(make).await.unwrap_or_else(|answer| answer)
    }

    /// Returns what `make` creates from the store, on a thread that may wait for the disk.
    ///
    /// # Errors
    /// If the store cannot be opened, as a response.
    async fn from_store<T: Send + 'static>(
        self: &Arc<Self>,
        make: impl FnOnce(&StoreSource) -> T + Send + 'static,
    ) -> Result<T, PageResponse> {
        let server = Arc::clone(self);
        let made = tokio::task::spawn_blocking(move || server.with_source(make)).await;
        made.unwrap_or_else(|error| {
            tracing::error!("rendering a page failed: {error}");
            Err(broken("rendering the page failed; report this as a bug"))
        })
    }

    fn with_source<T>(&self, make: impl FnOnce(&StoreSource) -> T) -> Result<T, PageResponse> {
        let known = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let opened = known.map_or_else(|| StoreSource::open(&self.stored, &mut |_| {}), Ok);
        let source = opened.map_err(|error| broken(&error_chain(&error.error)))?;
        let answer = make(&source);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(source);
        Ok(answer)
    }

    /// Sends a message whenever a case has ended, as long as the reader stays connected.
    fn events(&self) -> Response<Body> {
        let mut heard = match self.watch.listen() {
            Ok(heard) => heard,
            Err(error) => {
                return refusal(
                    404,
                    &format!("the results directory has no measurements yet: {error}"),
                );
            }
        };
        let (mut sender, body) = Channel::new(4);
        tokio::spawn(async move {
            loop {
                let message = match tokio::time::timeout(ALIVE, heard.recv()).await {
                    Ok(Ok(message)) => format!("data: {message}\n\n"),
                    // A reader that was too slow gets the next message.
                    Ok(Err(tokio::sync::broadcast::error::RecvError::Lagged(_))) => continue,
                    Ok(Err(tokio::sync::broadcast::error::RecvError::Closed)) => return,
                    Err(_) => ":\n\n".to_owned(),
                };
                if sender.send_data(Bytes::from(message)).await.is_err() {
                    return;
                }
            }
        });
        with_headers(StatusCode::OK, "text/event-stream", Either::Right(body))
    }
}

fn header_text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

pub(super) fn broken(why: &str) -> PageResponse {
    PageResponse {
        status: 500,
        content_type: "text/plain; charset=utf-8",
        body: format!("{why}\n").into_bytes(),
    }
}

/// Converts `answer` to HTTP, without its body if the reader has it or requested only the head.
fn http_response(answer: PageResponse, known: Option<&str>, is_head: bool) -> Response<Body> {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let tag =
        format!("\"{}{}\"", short_hash(&String::from_utf8_lossy(&answer.body)), answer.body.len());
    let is_known = known == Some(tag.as_str()) && status == StatusCode::OK;
    let length = answer.body.len();
    let body = if is_head || is_known { Bytes::new() } else { Bytes::from(answer.body) };
    let status = if is_known { StatusCode::NOT_MODIFIED } else { status };
    let mut response = with_headers(status, answer.content_type, Either::Left(Full::new(body)));
    set(response.headers_mut(), header::ETAG, &tag);
    if is_head {
        set(response.headers_mut(), header::CONTENT_LENGTH, &length.to_string());
    }
    response
}

fn refusal(status: u16, why: &str) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::FORBIDDEN);
    let body = Either::Left(Full::new(Bytes::from(format!("{why}\n"))));
    let mut response = with_headers(status, "text/plain; charset=utf-8", body);
    match status {
        StatusCode::UNAUTHORIZED => set(response.headers_mut(), header::WWW_AUTHENTICATE, "Bearer"),
        StatusCode::METHOD_NOT_ALLOWED => set(response.headers_mut(), header::ALLOW, "GET, HEAD"),
        _ => {}
    }
    response
}

fn redirect(location: &str, cookie: Option<&str>) -> Response<Body> {
    let mut response =
        with_headers(StatusCode::SEE_OTHER, "text/plain", Either::Left(Full::default()));
    set(response.headers_mut(), header::LOCATION, location);
    if let Some(cookie) = cookie {
        set(response.headers_mut(), header::SET_COOKIE, cookie);
    }
    response
}

/// Creates a response with headers that restrict what a page may do, and forbid others to store it,
/// frame it, or guess its type.
fn with_headers(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    for (name, value) in [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_SECURITY_POLICY, PageResponse::POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "private, no-cache"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        set(response.headers_mut(), name, value);
    }
    response
}

/// Sets a header. An invalid value, such as one with a line end, is left out.
fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
