//! Decisions that users record from the dashboard, with the real binary over HTTP: who may, what is
//! kept, and that nothing is lost in a conflict.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Bench, says};
use crate::serve::Server;
use crate::tracked_changes::{changes, with_history};

pub(crate) const WRITE: &str = "the-write-token-of-this-test";

/// A store with one open change, and its id.
pub(crate) fn with_change() -> (Bench, String) {
    let (bench, ..) = with_history(24, &|day| if day < 12 { 1.0 } else { 1.5 });
    let found = changes(&bench);
    assert_eq!(found.len(), 1, "{found:#?}");
    let id = found[0]["id"].as_str().unwrap().to_owned();
    bench.write("write", WRITE);
    (bench, id)
}

fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat()
}

/// The fields of the form, and headers of the request.
struct Form<'f> {
    fields: Vec<(&'f str, &'f str)>,
    headers: &'f str,
}

impl<'f> Form<'f> {
    /// Returns the form of a user who saw no decision yet.
    fn new(alert: &'f str, note: &'f str) -> Self {
        let fields = vec![
            ("alert", alert),
            ("seen", "0"),
            ("as", "acknowledged"),
            ("note", note),
            ("author", "Ada Lovelace"),
        ];
        Self { fields, headers: "" }
    }

    /// Sets a field.
    fn with(mut self, name: &'f str, value: &'f str) -> Self {
        self.fields.retain(|(known, _)| *known != name);
        self.fields.push((name, value));
        self
    }

    fn headers(mut self, headers: &'f str) -> Self {
        self.headers = headers;
        self
    }

    /// Sends the form to `address`, and returns the response.
    fn send(&self, address: &str) -> String {
        let fields = self.fields.iter().map(|(name, value)| format!("{name}={}", encode(value)));
        let body = fields.collect::<Vec<_>>().join("&");
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let head = format!(
            "POST /decision HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: \
             application/x-www-form-urlencoded\r\nContent-Length: {}\r\n{}\r\n",
            body.len(),
            self.headers
        );
        // A server that refuses the form closes the connection before it has read everything.
        let _ = stream.write_all((head + &body).as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }
}

fn status(answer: &str) -> &str {
    answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).unwrap_or(answer)
}

/// Returns the decisions stored with the only change.
fn stored(bench: &Bench) -> Vec<Value> {
    let text = std::fs::read_to_string(bench.path("benchmark_results/alerts.json")).unwrap();
    let book: Value = serde_json::from_str(&text).unwrap();
    book["alerts"][0]["decisions"].as_array().cloned().unwrap_or_default()
}

#[test]
fn without_the_flag_nothing_is_written_and_no_form_is_shown() {
    let (bench, id) = with_change();
    let server = Server::begin(&bench, &["serve", "--results-dir", "benchmark_results"]);
    assert_eq!(status(&Form::new(&id, "wanted").with("token", WRITE).send(&server.address)), "405");
    let form = server.ask(&format!("GET /decision?alert={id} HTTP/1.1"));
    assert_eq!(status(&form), "404");
    let overview = server.page("/");
    assert!(overview.contains("made-up-2") && !overview.contains("decision?"), "{overview}");
    // A copied command reads the same store.
    says(&overview, &[&format!("trend ack {id} --because"), "--results-dir benchmark_results"]);
    assert_eq!(stored(&bench), [] as [Value; 0]);
    drop(server);
    bench.run("serve --export site --write-token-file write").expect(2);
    bench.run("serve --export site").expect(0);
    let index = std::fs::read_to_string(bench.path("site/index.html")).unwrap();
    assert!(index.contains("made-up-2") && !index.contains("decision?"), "{index}");
}

#[test]
fn a_token_file_is_checked_before_the_server_begins() {
    let bench = Bench::new();
    bench.write("short", "short");
    bench.write("write", WRITE);
    for (arguments, expected) in [
        ("serve --write-token-file missing", "missing"),
        ("serve --write-token-file short", "16 to 200 letters"),
        ("serve --token-file write --write-token-file write", "readers could write"),
    ] {
        says(&bench.run(arguments).expect(2).stderr, &[expected]);
    }
}

#[test]
fn a_decision_needs_the_token_and_a_form_of_this_server() {
    let (bench, id) = with_change();
    let server = Server::begin(&bench, &["serve", "--write-token-file", "write"]);
    let address = server.address.as_str();
    assert!(server.page("/").contains(&format!("href=\"decision?alert={id}\"")));
    assert!(server.page(&format!("/decision?alert={id}")).contains("type=\"password\""));
    let filled = server.page(&format!("/decision?alert={id}&note=planted&author=planted"));
    assert!(!filled.contains("planted"), "a link must not fill in the form: {filled}");
    let form = |note| Form::new(&id, note).with("token", WRITE);
    let note = "my long considered note";
    let (long, huge) = ("x".repeat(501), "x".repeat(20_000));
    for (sent, expected) in [
        (Form::new(&id, note), "403"),
        (form(note).with("token", "the-write-token-of-this-tesT"), "403"),
        (Form::new(&id, note).with("form", "0123"), "403"),
        (form(note).headers("Origin: http://evil.example\r\n"), "403"),
        (form(note).headers("Origin: null\r\n"), "403"),
        (form(note).headers("Sec-Fetch-Site: cross-site\r\n"), "403"),
        (form("  \u{202e}"), "400"),
        (form(note).with("author", ""), "400"),
        (form(note).with("as", "fixed"), "400"),
        (form(note).with("as", "downstream"), "400"),
        (form(note).with("as", "downstream").with("cause", &id), "400"),
        (form(note).with("as", "downstream").with("cause", "a-00000000"), "400"),
        (form(note).with("alert", "a-00000000"), "404"),
        (form(&long), "400"),
    ] {
        let answer = sent.send(address);
        assert_eq!(status(&answer), expected, "{:?}: {answer}", sent.fields);
        assert!(!answer.contains(WRITE), "{answer}");
        let (_, entered) = sent.fields.iter().find(|(name, _)| *name == "note").unwrap();
        let is_kept = entered.trim().len() < 5 || answer.contains(entered);
        assert!(is_kept || !sent.headers.is_empty(), "the note must be kept: {answer}");
    }
    let large = form(&huge).send(address);
    assert!(large.is_empty() || status(&large) == "413", "{large}");
    assert_eq!(stored(&bench), [] as [Value; 0]);

    let own = format!("Origin: http://{address}\r\nSec-Fetch-Site: same-origin\r\n");
    let hostile = "</textarea><script>hacked=1</script> \"it's\"\r\n\u{1b}[31m";
    let sent = form(hostile).headers(&own).send(address);
    assert_eq!(status(&sent), "303", "{sent}");
    let head = sent.to_lowercase();
    says(&head, &[&format!("location: ./decision?alert={id}\r\n"), "httponly; samesite=strict"]);
    let cookie = head.split("set-cookie: ").nth(1).unwrap().split(';').next().unwrap().to_owned();
    assert!(!cookie.contains(WRITE), "{cookie}");
    let now = &stored(&bench)[0];
    assert_eq!(now["author"], "Ada Lovelace");
    assert_eq!(now["because"], "</textarea><script>hacked=1</script> \"it's\" [31m");
    assert!(now["at"].as_str().unwrap().starts_with("20"), "{now}");

    // Whoever has the cookie needs no token, but a form of this server.
    let known = format!("{own}Cookie: {cookie}\r\n");
    let page = server.ask(&format!("GET /decision?alert={id} HTTP/1.1\r\nCookie: {cookie}"));
    let shown = "acknowledged by Ada Lovelace: &lt;/textarea&gt;&lt;script&gt;";
    says(&page, &[&format!("<code>alerts.json</code> for alert <code>{id}</code>"), shown]);
    assert!(!page.contains("type=\"password\"") && !page.contains("<script>h"), "{page}");
    assert!(page.to_lowercase().contains("referrer-policy: same-origin"), "{page}");
    let proof = page.split("name=\"form\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let second = |proof| Form::new(&id, "noise").with("form", proof).with("as", "invalid");
    assert_eq!(status(&second("0123").with("seen", "1").headers(&known).send(address)), "403");
    let dismissed = second(proof).with("seen", "1");
    assert_eq!(status(&dismissed.headers(&known).send(address)), "303");
    // The same form again, as from a double click, changes nothing.
    assert_eq!(status(&second(proof).with("seen", "1").headers(&known).send(address)), "303");
    let all = stored(&bench);
    assert_eq!(all.len(), 2, "{all:#?}");
    assert_eq!(changes(&bench)[0]["state"], "invalid");
    says(&server.page("/"), &["1 reviewed change", "dismissed by Ada Lovelace: noise"]);
}

#[test]
fn a_decision_in_the_meantime_is_shown_and_the_entered_note_is_kept() {
    let (bench, id) = with_change();
    let server = Server::begin(&bench, &["serve", "--write-token-file", "write"]);
    let address = server.address.as_str();
    let answers: Vec<String> = std::thread::scope(|scope| {
        let notes = ["from one", "from another"];
        let sent = notes.map(|note| {
            let form = Form::new(&id, note).with("token", WRITE);
            scope.spawn(move || form.send(address))
        });
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    let mut codes: Vec<&str> = answers.iter().map(|answer| status(answer)).collect();
    codes.sort_unstable();
    assert_eq!(codes, ["303", "409"], "{answers:?}");
    let first = stored(&bench);
    assert_eq!(first.len(), 1, "{first:#?}");
    let kept = first[0]["because"].as_str().unwrap();
    let lost = if kept == "from one" { "from another" } else { "from one" };
    let refused = answers.iter().find(|answer| status(answer) == "409").unwrap();
    says(
        refused,
        &["another user decided in the meantime (acknowledged by Ada Lovelace", kept, lost],
    );
    assert!(refused.contains("name=\"seen\" value=\"1\""), "{refused}");
    let again = Form::new(&id, lost).with("token", WRITE).with("seen", "1").send(address);
    assert_eq!(status(&again), "303");
    assert_eq!(stored(&bench).len(), 2, "the earlier decision is kept");
}

#[test]
fn a_file_that_cannot_be_read_or_written_is_left_alone_and_the_note_is_shown() {
    let (bench, id) = with_change();
    let server = Server::begin(&bench, &["serve", "--write-token-file", "write"]);
    let before = "{ \"format_version\": 3, \"alerts\": [";
    bench.write("benchmark_results/alerts.json", before);
    let answer = Form::new(&id, "my note").with("token", WRITE).send(&server.address);
    assert_eq!(status(&answer), "500", "{answer}");
    says(&answer, &["Nothing was recorded", "alerts.json", "my note"]);
    let after = std::fs::read_to_string(bench.path("benchmark_results/alerts.json")).unwrap();
    assert_eq!(after, before);
}

#[test]
fn a_change_that_no_analysis_stored_yet_is_stored_with_the_decision() {
    let (bench, id) = with_change();
    std::fs::remove_file(bench.path("benchmark_results/alerts.json")).unwrap();
    let server = Server::begin(&bench, &["serve", "--write-token-file", "write"]);
    let sent = Form::new(&id, "a new driver")
        .with("token", WRITE)
        .with("as", "downstream")
        .with("cause", "driver 6.4")
        .send(&server.address);
    assert_eq!(status(&sent), "303", "{sent}");
    let now = &changes(&bench)[0];
    assert_eq!((&now["id"], &now["state"]), (&id.as_str().into(), &"downstream".into()));
    assert_eq!(now["decisions"][0]["caused_by"], "driver 6.4");
    let page = bench.run("trend --summary").expect(0).stdout;
    says(&page, &["downstream of driver 6.4, by Ada Lovelace: a new driver"]);
}
