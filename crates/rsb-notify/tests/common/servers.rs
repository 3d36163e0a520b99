//! Servers that receive alerts: a small HTTP server, aiosmtpd and Alertmanager.
#![allow(dead_code)] // Each test program uses its own part.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Alertmanager, from Debian's package of this name.
const ALERTMANAGER: &str = "prometheus-alertmanager";

/// Reaction of the server to a request.
#[derive(Debug, Clone)]
pub enum Reaction {
    /// Sends this text and closes the connection.
    Answer(String),
    /// Closes the connection without an answer.
    Close,
    /// Keeps the connection open without an answer.
    Hang,
}

/// Returns an HTTP answer; each of `headers` ends with `\r\n`.
pub fn answer(status: &str, headers: &str, body: &str) -> Reaction {
    let length = body.len();
    let headers = format!("{headers}content-length: {length}\r\nconnection: close\r\n");
    Reaction::Answer(format!("HTTP/1.1 {status}\r\n{headers}\r\n{body}"))
}

/// Starts a server that reacts to one request after another with `reactions`, and to further ones
/// with the last of them. Returns its address and the requests.
pub fn serve(reactions: Vec<Reaction>) -> (String, Receiver<String>) {
    let (requests, received) = channel();
    let mut at = 0;
    let address = serve_by(move |request| {
        let _ = requests.send(request);
        at += 1;
        reactions[(at - 1).min(reactions.len() - 1)].clone()
    });
    (address, received)
}

/// Starts a server that reacts to each request as `react` returns. Returns its address.
pub fn serve_by(mut react: impl FnMut(String) -> Reaction + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let mut held = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().unwrap();
            // A client that is killed leaves an incomplete request.
            let Ok(request) = read_request(&mut stream) else { continue };
            match react(request) {
                Reaction::Answer(text) => drop(stream.write_all(text.as_bytes())),
                Reaction::Close => {}
                Reaction::Hang => held.push(stream),
            }
        }
    });
    address
}

/// A server with the limits of a Slack webhook: at most 50 blocks, 150 characters in a header,
/// 3,000 in any other text, 13,200 in all, and one message per second.
pub struct Slack {
    /// Address.
    pub address: String,
    /// Requests that it accepted.
    pub accepted: Receiver<String>,
    /// Answers to all other requests.
    pub refused: Receiver<String>,
}

impl Slack {
    /// Starts the server.
    pub fn start() -> Self {
        let (accept, accepted) = channel();
        let (refuse, refused) = channel();
        let mut last: Option<Instant> = None;
        let address = serve_by(move |request| {
            let (_, body) = request.split_once("\r\n\r\n").unwrap();
            let problem = match serde_json::from_str(body) {
                Ok(payload) => slack_problem(&payload),
                Err(error) => Some(format!("invalid_payload: {error}")),
            };
            if let Some(problem) = problem {
                let _ = refuse.send(problem.clone());
                return answer("400 Bad Request", "", &problem);
            }
            if last.is_some_and(|last| last.elapsed() < Duration::from_secs(1)) {
                let _ = refuse.send("rate_limited".to_owned());
                return answer("429 Too Many Requests", "retry-after: 1\r\n", "rate_limited");
            }
            last = Some(Instant::now());
            let _ = accept.send(request);
            answer("200 OK", "", "ok")
        });
        Self { address, accepted, refused }
    }
}

/// Returns why Slack would refuse `payload`. Lengths are in UTF-16 units, which are at least as
/// many as characters.
fn slack_problem(payload: &Value) -> Option<String> {
    let length = |text: &Value| text.as_str().unwrap_or_default().encode_utf16().count();
    let blocks = payload["blocks"].as_array()?;
    let mut total = length(&payload["text"]);
    for block in blocks {
        let (kind, limit, text) = match block["type"].as_str() {
            Some("header") => ("plain_text", 150, &block["text"]),
            Some("section") => ("mrkdwn", 3000, &block["text"]),
            Some("context") => ("mrkdwn", 3000, &block["elements"][0]),
            _ => return Some(format!("invalid_blocks: {block}")),
        };
        let size = length(&text["text"]);
        if text["type"] != kind || !(1..=limit).contains(&size) {
            return Some(format!("invalid_blocks: {size} characters in {block}"));
        }
        total += size;
    }
    if blocks.len() > 50 || total > 13_200 {
        return Some(format!("invalid_blocks: {} blocks, {total} characters", blocks.len()));
    }
    None
}

/// Reads one request with its body.
pub fn read_request(stream: &mut impl Read) -> io::Result<String> {
    let mut text = String::new();
    let mut chunk = [0; 4096];
    loop {
        let count = stream.read(&mut chunk)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        text.push_str(&String::from_utf8_lossy(&chunk[..count]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.to_lowercase().lines().find_map(|line| {
            line.strip_prefix("content-length: ").map(|length| length.parse::<usize>().unwrap())
        });
        if body.len() >= length.unwrap_or(0) {
            return Ok(text);
        }
    }
}

/// Creates a self-signed certificate for 127.0.0.1.
pub fn make_certificate(certificate: &Path, key: &Path) {
    let new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"];
    let names = ["-addext", "subjectAltName=IP:127.0.0.1"];
    let leaf = ["-addext", "basicConstraints=critical,CA:FALSE"];
    let output = Command::new("openssl")
        .args([&new[..], &names, &leaf].concat())
        .arg("-keyout")
        .arg(key)
        .arg("-out")
        .arg(certificate)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A server that is killed at the end of the test.
pub struct Server(pub Child);

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Returns a port that is free now.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts Alertmanager with its files in `dir`. It resolves alerts without an end after one second,
/// and reports to `hook`. Returns it with its address; `None` if it is not installed.
pub fn start_alertmanager(dir: &Path, hook: &str) -> Option<(Server, String)> {
    let config = dir.join("alertmanager.yml");
    let text = format!(
        "global: {{ resolve_timeout: 1s }}\nroute: {{ receiver: hook, group_by: ['...'], \
         group_wait: 100ms, group_interval: 100ms, repeat_interval: 1h }}\nreceivers:\n- name: \
         hook\n  webhook_configs:\n  - url: {hook}/\n"
    );
    fs::write(&config, text).unwrap();
    let address = format!("127.0.0.1:{}", free_port());
    let child = Command::new(ALERTMANAGER)
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.path={}", dir.display()))
        .arg(format!("--web.listen-address={address}"))
        .arg("--cluster.listen-address=")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(child) = child else {
        test_needs::missing("alertmanager", &format!("{ALERTMANAGER} is not installed"));
        return None;
    };
    let server = Server(child);
    for _ in 0..200 {
        if TcpStream::connect(&address).is_ok() {
            return Some((server, format!("http://{address}")));
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("{ALERTMANAGER} does not listen at {address}");
}

/// Returns the key and the status of each alert in the next message of Alertmanager to `hook`.
pub fn next_statuses(hook: &Receiver<String>) -> Vec<String> {
    let request = hook.recv_timeout(Duration::from_secs(20)).unwrap();
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let document: Value = serde_json::from_str(body).unwrap();
    let alerts = document["alerts"].as_array().unwrap().iter();
    alerts
        .map(|alert| format!("{} {}", alert["labels"]["alert"], alert["status"]).replace('"', ""))
        .collect()
}

/// An SMTP server with its certificate and the mails that it received.
pub struct MailServer {
    dir: tempfile::TempDir,
    /// Port with STARTTLS.
    pub starttls: String,
    /// Port with TLS from the beginning.
    pub implicit: String,
    _process: Server,
}

impl MailServer {
    /// Returns `None` if aiosmtpd is not installed.
    pub fn start() -> Option<Self> {
        let python = std::env::var("RSB_SMTP_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let probe = Command::new(&python).args(["-c", "import aiosmtpd"]).output();
        if !probe.is_ok_and(|output| output.status.success()) {
            let why = "aiosmtpd is not installed; RSB_SMTP_PYTHON names a Python that has it";
            test_needs::missing("smtp", why);
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let [certificate, key] = ["server.crt", "server.key"].map(|name| dir.path().join(name));
        make_certificate(&certificate, &key);
        let mut process = Command::new(&python)
            .args(["-c", include_str!("../smtp_server.py")])
            .args([&certificate, &key])
            .arg(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ports = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut ports).unwrap();
        let (starttls, implicit) = ports.trim().split_once(' ').unwrap();
        let (starttls, implicit) = (starttls.to_owned(), implicit.to_owned());
        Some(Self { dir, starttls, implicit, _process: Server(process) })
    }

    /// Returns the path of the certificate.
    pub fn certificate(&self) -> PathBuf {
        self.dir.path().join("server.crt")
    }

    /// Returns the mails, oldest first.
    pub fn mails(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().path());
        let is_mail =
            |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("mail-");
        let mut paths: Vec<PathBuf> = entries.filter(is_mail).collect();
        paths.sort();
        paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
    }
}
