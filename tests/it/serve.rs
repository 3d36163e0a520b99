//! The dashboard with the real binary: which requests are answered and with which headers, that it
//! writes nothing, and the export as files.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::made_up::{again, scale, with_baseline};
use crate::common::{Bench, SMALL, says};

pub(crate) const TOKEN: &str = "a-token-of-this-test";

/// A server that is stopped when the test ends.
pub(crate) struct Server {
    child: Child,
    /// Host and port.
    pub(crate) address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub(crate) fn begin(bench: &Bench, arguments: &[&str]) -> Self {
        let mut child =
            bench.command(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("http://").unwrap_or_else(|| panic!("{line}"));
        let address = address.split('/').next().unwrap().to_owned();
        Self { child, address }
    }

    /// Sends `head`, the lines of a request, and returns the response. If the head is too long,
    /// there may be none: the server closes the connection before it has read everything, and its
    /// response is lost.
    pub(crate) fn ask(&self, head: &str) -> String {
        let stream = TcpStream::connect(&self.address).unwrap();
        Self::ask_at(stream, &self.address, head)
    }

    /// Sends `head` to another server at `address`, over `stream`.
    pub(crate) fn ask_at(mut stream: TcpStream, address: &str, head: &str) -> String {
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let host =
            if head.contains("Host:") { String::new() } else { format!("Host: {address}\r\n") };
        let _ = stream.write_all(format!("{head}\r\n{host}Connection: close\r\n\r\n").as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    /// Returns the body of the page at `path`, which must exist.
    pub(crate) fn page(&self, path: &str) -> String {
        let answer = self.ask(&format!("GET {path} HTTP/1.1\r\nAuthorization: Bearer {TOKEN}"));
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }
}

/// Returns every file below `dir`.
fn files(dir: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { BTreeSet::from([path]) })
        .collect()
}

#[test]
fn a_server_is_read_by_those_who_may_and_its_files_are_whole() {
    let (bench, run) = with_baseline(Bench::new());
    let mut slower = again(&run, "20991231T000000Z_slower");
    scale(&mut slower["benchmarks"][2], 1.3);
    bench.write_sealed("benchmark_results/runs/20991231T000000Z_slower.json", &slower);
    bench.write("token", TOKEN);
    let outside = bench.run("serve --listen 0.0.0.0:0").expect(2);
    says(&outside.stderr, &["--token-file", "--no-token"]);

    let server = Server::begin(&bench, &["serve", "--token-file", "token"]);
    assert!(server.page("/").contains("REGRESSED"));
    let before = files(&bench.path("benchmark_results"));
    for (head, expected) in [
        ("GET / HTTP/1.1".to_owned(), "401"),
        (format!("GET / HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer {TOKEN}"), "403"),
        (format!("POST / HTTP/1.1\r\nAuthorization: Bearer {TOKEN}"), "405"),
        (format!("GET /?token={TOKEN} HTTP/1.1"), "303"),
        (format!("GET /run?id=../../token HTTP/1.1\r\nAuthorization: Bearer {TOKEN}"), "404"),
        (
            format!(
                "GET /compare?from=token&to=20991231 HTTP/1.1\r\nAuthorization: Bearer {TOKEN}"
            ),
            "404",
        ),
        (format!("GET /{} HTTP/1.1\r\nAuthorization: Bearer {TOKEN}", "x".repeat(40_000)), "431"),
    ] {
        let answer = server.ask(&head);
        let is_cut_off = expected == "431" && answer.is_empty();
        assert!(
            is_cut_off || answer.starts_with(&format!("HTTP/1.1 {expected}")),
            "{head:.60}: {answer}"
        );
    }
    let answer =
        server.ask(&format!("HEAD / HTTP/1.1\r\nAuthorization: Bearer {TOKEN}")).to_lowercase();
    for header in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
    ] {
        assert!(answer.contains(header), "{header}: {answer}");
    }
    assert!(answer.ends_with("\r\n\r\n") && !answer.contains("access-control"), "{answer}");
    let compared = server.page("/compare?from=tensor-ops&to=20991231");
    says(&compared, &["REGRESSED", "23 more outside this filter"]);
    let document: serde_json::Value =
        serde_json::from_str(&server.page("/api/run?id=20991231")).unwrap();
    assert_eq!(document["benchmarks"], slower["benchmarks"]);
    // Runs stored meanwhile are shown, and the server wrote nothing.
    assert_eq!(files(&bench.path("benchmark_results")), before);
    bench.write_sealed("benchmark_results/runs/later.json", &again(&run, "later"));
    assert!(server.page("/runs").contains("later"));

    bench.run("serve --export site").expect(0);
    let site = bench.path("site");
    for page in files(&site).iter().filter(|path| path.extension().is_some_and(|end| end == "html"))
    {
        let html = std::fs::read_to_string(page).unwrap();
        let links = html.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        for link in links.filter(|link| !link.starts_with('#') && *link != "data:,") {
            assert!(
                site.join(link).is_file(),
                "{} links to the missing page {link}",
                page.display()
            );
        }
    }
    assert!(site.join("index.html").is_file());
}

#[test]
fn readers_that_are_slow_hold_up_no_other() {
    let (bench, _) = with_baseline(Bench::new());
    bench.write("token", TOKEN);
    let server = Server::begin(&bench, &["serve", "--token-file", "token"]);
    // Half of the clients never complete their request; the others never read the response.
    let request = format!(
        "GET / HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n",
        server.address
    );
    let slow: Vec<TcpStream> = (0..64)
        .map(|at| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            let length = if at % 2 == 0 { request.len() / 2 } else { request.len() };
            stream.write_all(&request.as_bytes()[..length]).unwrap();
            stream
        })
        .collect();
    server.page("/runs");
    drop(slow);
}

#[test]
fn a_request_is_answered_within_a_second_beside_hundreds_of_slow_readers() {
    let (bench, _) = with_baseline(Bench::new());
    let server = Server::begin(&bench, &["serve"]);
    let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    server.page("/");
    // More than the server has connections for; a part of them sends its request slowly.
    let mut slow = Vec::new();
    for at in 0..600 {
        let Ok(mut stream) = TcpStream::connect(&server.address) else { break };
        let length = if at % 8 == 0 { request.len() } else { request.len() / 2 };
        let _ = stream.write_all(&request.as_bytes()[..length]);
        slow.push(stream);
    }
    assert_eq!(slow.len(), 600);
    std::thread::sleep(Duration::from_secs(2));
    for _ in 0..5 {
        let began = Instant::now();
        server.page("/runs");
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    }
    drop(slow);
}

#[test]
fn a_run_beside_a_dashboard_says_so() {
    let bench = Bench::new();
    let dir = bench.path("").display().to_string();
    let bench = bench.set("TMPDIR", &dir);
    let tiny =
        [&["tensor-ops", "--axis", "operation=add", "--axis", "shape=8x64", "--json"][..], &SMALL]
            .concat();
    let says = |document: &serde_json::Value| document["notes"].to_string().contains("`serve`");
    assert!(!says(&bench.run(&tiny).expect(0).json()));
    let server = Server::begin(&bench, &["serve"]);
    assert!(says(&bench.run(&tiny).expect(0).json()));
    drop(server);
    assert!(!says(&bench.run(&tiny).expect(0).json()));
}
