//! The shared store on a real PostgreSQL server started by the tests, from Debian's package
//! `postgresql`.
#![allow(clippy::unwrap_used, missing_docs)] // In a test a failed step is a failed test.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use rsb_model::{
    BenchmarkResult, CaseId, Environment, Fields, Outcome, Run, RunId, Samples, Timestamp,
};
use rsb_store::shared::{SendOutcome, SharedStore, SharedStoreError};
use rsb_store::{Store, sealed_text};

/// A PostgreSQL server on a free port that stops at the end of the test.
struct Server {
    dir: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
}

impl Server {
    /// Returns `None` if PostgreSQL is not installed.
    fn prepare() -> Option<Self> {
        let Some(programs) = programs() else {
            test_needs::missing(
                "postgres",
                "PostgreSQL's programs are not in /usr/lib/postgresql/*/bin",
            );
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        // The server refuses to run as root, so root runs it as another user, who owns the files.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Self { dir, programs, port };
        let data = server.data();
        server.run(
            "initdb",
            &[
                "-D",
                &data,
                "-U",
                "bench",
                "--auth=trust",
                "--no-sync",
                "--encoding=UTF8",
                "--locale=C",
            ],
        );
        Some(server)
    }

    fn start() -> Option<Self> {
        let server = Self::prepare()?;
        server.up("");
        Some(server)
    }

    fn data(&self) -> String {
        self.dir.path().join("data").display().to_string()
    }

    fn up(&self, more: &str) {
        let settings = format!(
            "-c listen_addresses=127.0.0.1 -c port={} -c unix_socket_directories={} -c \
             max_connections=40 -c shared_buffers=16MB \
             {more}",
            self.port,
            self.dir.path().display()
        );
        let log = self.dir.path().join("log").display().to_string();
        self.run(
            "pg_ctl",
            &["-D", &self.data(), "-w", "-t", "120", "-l", &log, "-o", &settings, "start"],
        );
    }

    /// Stops the server as in a crash.
    fn crash(&self) {
        self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "stop"]);
    }

    fn certificate(&self) {
        let path = |name: &str| self.dir.path().join(name).display().to_string();
        let (root_key, root) = (path("root.key"), path("root.crt"));
        let (key, certificate) =
            (format!("{}/server.key", self.data()), format!("{}/server.crt", self.data()));
        let new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"];
        let authority = ["-subj", "/CN=authority", "-keyout", &root_key, "-out", &root];
        self.command("openssl", &[&new[..], &authority].concat());
        let server = [
            "-subj",
            "/CN=127.0.0.1",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
            "-CA",
            &root,
            "-CAkey",
            &root_key,
            "-keyout",
            &key,
            "-out",
            &certificate,
        ];
        self.command("openssl", &[&new[..], &server].concat());
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        self.command(self.programs.join(program).to_str().unwrap(), arguments);
    }

    fn command(&self, program: &str, arguments: &[&str]) {
        let mut command = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--", program]);
            command
        } else {
            Command::new(program)
        };
        // The server inherits open files, so a pipe for the output would never end.
        let out = self.dir.path().join("said");
        let said = fs::File::create(&out).unwrap();
        let status = command
            .current_dir(self.dir.path())
            .args(arguments)
            .stdin(std::process::Stdio::null())
            .stdout(said.try_clone().unwrap())
            .stderr(said)
            .status()
            .unwrap();
        assert!(status.success(), "{program} {arguments:?}: {}", fs::read_to_string(&out).unwrap());
    }

    fn address(&self) -> String {
        format!("postgres://bench:secret@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    fn connect(&self) -> SharedStore {
        SharedStore::connect(&self.address()).unwrap()
    }

    fn count(&self, sql: &str) -> i64 {
        postgres::Client::connect(&self.address(), postgres::NoTls)
            .unwrap()
            .query_one(sql, &[])
            .unwrap()
            .get(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if Path::new(&self.data()).join("postmaster.pid").exists() {
            self.crash();
        }
    }
}

fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    versions
        .flatten()
        .map(|version| version.path().join("bin"))
        .find(|bin| bin.join("initdb").exists())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn run(name: &str, second: i64, cases: u32) -> Run {
    let started = Timestamp::from_second(second).unwrap();
    let mut run =
        Run::begin(RunId(name.to_owned()), started, "quick", "quick", Environment::default());
    run.finished = Some(started);
    for case in 0..cases {
        let mut fields = Fields::default();
        fields.set("time_ms", f64::from(case) + second as f64 / 1e3);
        fields.set("gflops", 3.5);
        let id = CaseId::from_segments(&[
            "cpu_performance".to_owned(),
            format!("case-{case}"),
            "cpu:0".to_owned(),
        ]);
        run.benchmarks.push(BenchmarkResult {
            results: vec![fields],
            samples: vec![Samples { replicate: 0, iters: vec![1, 2], times_ns: vec![1.25, 2.5] }],
            ..BenchmarkResult::new(id, started, Outcome::Measured)
        });
    }
    run
}

fn store(runs: &[Run]) -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_for_writing(dir.path()).unwrap();
    for run in runs {
        store.rewrite(run).unwrap();
    }
    (dir, store)
}

/// Merges the runs of `shared` that `store` lacks; returns the number fetched.
fn take_in(shared: &mut SharedStore, store: &Store) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let fetched = shared.fetch(store, dir.path()).unwrap();
    store.merge(dir.path(), |_| {}).unwrap();
    fetched
}

fn in_order(store: &Store) -> Vec<Run> {
    let ids: Vec<RunId> = store.runs().unwrap().into_iter().rev().map(|run| run.run_id).collect();
    ids.iter().map(|id| store.run(&id.0).unwrap()).collect()
}

#[test]
fn what_one_machine_sends_another_takes_in_once_and_as_it_was() {
    let Some(server) = Server::start() else { return };
    let runs: Vec<Run> = (0..5).map(|at| run(&format!("run-{at}"), 1000 + at, 3)).collect();
    let (_dir, here) = store(&runs);
    let mut shared = server.connect();
    let mut sent = Vec::new();
    shared.send_all(&here, |id, how| sent.push((id.0.clone(), how.unwrap()))).unwrap();
    assert_eq!(sent.len(), 5);
    assert!(sent.iter().all(|(_, how)| *how == SendOutcome::Added));
    // The database already has these runs, so they are not sent again.
    shared.send_all(&here, |id, _| panic!("{id} must not be sent twice")).unwrap();
    assert_eq!(shared.send(&runs[2]).unwrap(), SendOutcome::Known);
    let (_other, there) = store(&[]);
    assert_eq!(take_in(&mut shared, &there), 5);
    assert_eq!(in_order(&there), in_order(&here));
    assert_eq!(take_in(&mut shared, &there), 0);
    // Fetched runs are not sent back under another name.
    shared.send_all(&there, |id, _| panic!("{id} must not be sent back")).unwrap();
    assert_eq!(server.count("SELECT count(*) FROM rsb_runs"), 5);
    assert_eq!(server.count("SELECT count(*) FROM rsb_metrics"), 5 * 3 * 2);
    assert_eq!(server.count("SELECT count(*) FROM rsb_series"), 3 * 2);
}

#[test]
fn a_run_that_was_measured_further_replaces_itself_and_a_namesake_gets_a_name_of_its_own() {
    let Some(server) = Server::start() else { return };
    let mut shared = server.connect();
    let mut grown = run("same", 1000, 2);
    assert_eq!(shared.send(&grown).unwrap(), SendOutcome::Added);
    grown.benchmarks[0].samples.push(Samples { replicate: 1, iters: vec![1], times_ns: vec![7.0] });
    assert_eq!(shared.send(&grown).unwrap(), SendOutcome::Replaced);
    assert_eq!(server.count("SELECT count(*) FROM rsb_metrics"), 2 * 2);
    let namesake = run("same", 2000, 2);
    assert_eq!(shared.send(&namesake).unwrap(), SendOutcome::Added);
    assert_eq!(shared.send(&namesake).unwrap(), SendOutcome::Known);
    let (_dir, there) = store(&[]);
    assert_eq!(take_in(&mut shared, &there), 2);
    let all = in_order(&there);
    assert_eq!(all.iter().map(|run| run.run_id.0.as_str()).collect::<Vec<_>>(), ["same", "same-2"]);
    assert_eq!(all[0].benchmarks[0].samples.len(), 2);
}

#[test]
fn many_writers_and_many_first_connections_lose_and_double_nothing() {
    let Some(server) = Server::start() else { return };
    let runs: Vec<Run> = (0..12).map(|at| run(&format!("run-{at}"), 1000 + at, 8)).collect();
    // Every writer creates the tables, and sends its own runs and the first four, which all writers
    // share.
    thread::scope(|scope| {
        for writer in 0..4 {
            let (server, runs) = (&server, &runs);
            scope.spawn(move || {
                let mut shared = server.connect();
                for run in runs.iter().take(4).chain(runs.iter().skip(4 + writer * 2).take(2)) {
                    shared.send(run).unwrap();
                }
            });
        }
    });
    assert_eq!(server.count("SELECT count(*) FROM rsb_schema"), 1);
    assert_eq!(server.count("SELECT count(*) FROM rsb_runs"), 12);
    assert_eq!(server.count("SELECT count(*) FROM rsb_metrics"), 12 * 8 * 2);
    let (_dir, there) = store(&[]);
    take_in(&mut server.connect(), &there);
    assert_eq!(in_order(&there).len(), 12);
}

#[test]
fn runs_of_one_name_go_back_and_forth_without_multiplying() {
    let Some(server) = Server::start() else { return };
    // Two runs with the same name, from two machines that began in the same second on the same
    // commit.
    let (_first, first) = store(&[run("same", 1000, 2)]);
    let (_second, second) = store(&[run("same", 1001, 2)]);
    let mut shared = server.connect();
    for _ in 0..3 {
        for here in [&first, &second] {
            shared.send_all(here, |_, sent| assert!(sent.is_ok())).unwrap();
            take_in(&mut shared, here);
        }
    }
    assert_eq!(server.count("SELECT count(*) FROM rsb_runs"), 2);
    assert_eq!(server.count("SELECT count(*) FROM rsb_metrics"), 2 * 2 * 2);
    assert_eq!((in_order(&first).len(), in_order(&second).len()), (2, 2));
}

#[test]
fn what_was_measured_further_is_sent_again_and_an_older_copy_takes_nothing_back() {
    let Some(server) = Server::start() else { return };
    let old = run("grown", 1000, 1);
    let (_here, here) = store(std::slice::from_ref(&old));
    let (_there, there) = store(&[]);
    let mut shared = server.connect();
    shared.send_all(&here, |_, sent| assert!(sent.is_ok())).unwrap();
    take_in(&mut shared, &there);
    let mut grown = old;
    grown.benchmarks[0].samples.push(Samples { replicate: 1, iters: vec![1], times_ns: vec![7.0] });
    here.rewrite(&grown).unwrap();
    let mut sent = Vec::new();
    shared.send_all(&here, |_, how| sent.push(how.unwrap())).unwrap();
    assert_eq!(sent, [SendOutcome::Replaced]);
    shared
        .send_all(&there, |id, _| panic!("{id} is older than the shared copy and must not be sent"))
        .unwrap();
    let (_third, third) = store(&[]);
    take_in(&mut shared, &third);
    assert_eq!(in_order(&third)[0].benchmarks[0].samples.len(), 2);
}

#[test]
fn a_run_that_is_refused_does_not_keep_the_others() {
    let Some(server) = Server::start() else { return };
    let mut odd = run("odd", 1000, 1);
    odd.suite = "qu\0ick".to_owned();
    let (_here, here) = store(&[odd, run("after", 1001, 1)]);
    let mut shared = server.connect();
    let mut told = Vec::new();
    shared.send_all(&here, |id, sent| told.push((id.0.clone(), sent.is_ok()))).unwrap();
    assert_eq!(told, [("odd".to_owned(), false), ("after".to_owned(), true)]);
}

#[test]
fn a_server_that_dies_in_mid_write_costs_nothing_and_doubles_nothing() {
    let Some(server) = Server::start() else { return };
    let runs: Vec<Run> = (0..40).map(|at| run(&format!("run-{at:02}"), 1000 + at, 40)).collect();
    let (_dir, here) = store(&runs);
    let mut shared = server.connect();
    let acknowledged = std::sync::Mutex::new(Vec::new());
    let ended = thread::scope(|scope| {
        let (shared, acknowledged, path) = (&mut shared, &acknowledged, here.results_dir());
        let sender = scope.spawn(move || {
            let here = Store::open_existing(path).unwrap();
            shared.send_all(&here, |id, _| acknowledged.lock().unwrap().push(id.0.clone()))
        });
        while acknowledged.lock().unwrap().len() < 3 {
            thread::yield_now();
        }
        server.crash();
        sender.join().unwrap()
    });
    let before = acknowledged.into_inner().unwrap();
    if before.len() < runs.len() {
        let said = ended.unwrap_err().to_string();
        assert!(said.contains("repeat the command") && !said.contains("secret"), "{said}");
    }
    let gone = SharedStore::connect(&server.address()).unwrap_err().to_string();
    assert!(
        gone.contains("cannot be reached") && gone.contains("stay in the results directory"),
        "{gone}"
    );
    server.up("");
    let mut shared = server.connect();
    let mut later = Vec::new();
    shared.send_all(&here, |id, _| later.push(id.0.clone())).unwrap();
    assert!(
        later.iter().all(|id| !before.contains(id)),
        "acknowledged runs must not be sent again"
    );
    assert_eq!(server.count("SELECT count(*) FROM rsb_runs"), 40);
    assert_eq!(server.count("SELECT count(*) FROM rsb_metrics"), 40 * 40 * 2);
    let (_there, there) = store(&[]);
    take_in(&mut shared, &there);
    assert_eq!(in_order(&there), in_order(&here));
}

#[test]
fn a_wrong_password_is_refused_and_not_shown() {
    let Some(server) = Server::prepare() else { return };
    let rules = Path::new(&server.data()).join("pg_hba.conf");
    fs::write(rules, "host all all 127.0.0.1/32 scram-sha-256\n").unwrap();
    server.up("");
    let refused = SharedStore::connect(&server.address()).unwrap_err().to_string();
    assert!(
        refused.contains("password authentication failed") && !refused.contains("secret"),
        "{refused}"
    );
    assert!(refused.contains("runs stay in the results directory"), "{refused}");
}

#[test]
fn tables_of_a_later_program_are_refused() {
    let Some(server) = Server::start() else { return };
    drop(server.connect());
    let mut client = postgres::Client::connect(&server.address(), postgres::NoTls).unwrap();
    client.batch_execute("INSERT INTO rsb_schema VALUES (99)").unwrap();
    let refused = SharedStore::connect(&server.address()).unwrap_err();
    assert!(matches!(refused, SharedStoreError::Newer { found: 99, .. }), "{refused}");
}

/// The connection is made in a separate process, because an environment variable sets the
/// certificate file.
#[test]
fn an_encrypted_connection_is_checked_against_the_certificates() {
    let Some(server) = Server::prepare() else { return };
    server.certificate();
    server.up("-c ssl=on");
    let address = server.address().replace("sslmode=disable", "sslmode=require");
    let child = |certificates: Option<&Path>| -> Output {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "in_a_child", "--nocapture", "--include-ignored"])
            .env("RSB_TEST_ADDRESS", &address);
        if let Some(file) = certificates {
            command.env("SSL_CERT_FILE", file);
        }
        command.output().unwrap()
    };
    let root = server.dir.path().join("root.crt");
    let trusted = child(Some(&root));
    assert!(trusted.status.success(), "{}", String::from_utf8_lossy(&trusted.stderr));
    assert!(String::from_utf8_lossy(&trusted.stdout).contains("encrypted: true"));
    let unknown = child(None);
    assert!(!unknown.status.success());
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("cannot be reached"), "{unknown:?}");
}

#[test]
#[ignore = "run by the test of encryption in a separate process"]
fn in_a_child() {
    let Ok(address) = std::env::var("RSB_TEST_ADDRESS") else { return };
    let mut shared = match SharedStore::connect(&address) {
        Ok(shared) => shared,
        Err(error) => panic!("{error}"),
    };
    println!("encrypted: {}", shared.is_encrypted().unwrap());
}

#[test]
fn a_wrong_address_is_refused_without_its_password() {
    for address in ["postgres://me:secret@host/db?sslmode=sometimes", "postgres://me:secret"] {
        let wrong = SharedStore::connect(address).unwrap_err().to_string();
        assert!(
            wrong.contains("is not a PostgreSQL address") && !wrong.contains("secret"),
            "{wrong}"
        );
    }
}

#[test]
fn documents_are_sealed_as_files_are() {
    // A document in the shared store is a run file: the same function reads it.
    let text = sealed_text(&run("sealed", 1000, 1)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sealed.json");
    fs::write(&path, &text).unwrap();
    assert_eq!(rsb_store::read_run(&path).unwrap(), run("sealed", 1000, 1));
}
