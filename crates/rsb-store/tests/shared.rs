//! The shared store on a real PostgreSQL server started by the tests.
#![allow(clippy::unwrap_used, missing_docs)] // In a test a failed step is a failed test.

#[path = "common/postgres_server.rs"]
mod postgres_server;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::thread;

use rsb_model::{
    BenchmarkResult, CaseId, Environment, Fields, Outcome, Run, RunId, Samples, Timestamp,
};
use rsb_store::shared::{CampaignRow, CampaignRun, SendOutcome, SharedStore, SharedStoreError};
use rsb_store::{Store, sealed_text};

use postgres_server::Server;

fn connect(server: &Server) -> SharedStore {
    SharedStore::connect(&server.address()).unwrap()
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
    let mut shared = connect(&server);
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
    let mut shared = connect(&server);
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
                let mut shared = connect(server);
                for run in runs.iter().take(4).chain(runs.iter().skip(4 + writer * 2).take(2)) {
                    shared.send(run).unwrap();
                }
            });
        }
    });
    assert_eq!(server.count("SELECT count(*) - max(version) FROM rsb_schema"), 0);
    assert_eq!(server.count("SELECT count(*) FROM rsb_runs"), 12);
    assert_eq!(server.count("SELECT count(*) FROM rsb_metrics"), 12 * 8 * 2);
    let (_dir, there) = store(&[]);
    take_in(&mut connect(&server), &there);
    assert_eq!(in_order(&there).len(), 12);
}

#[test]
fn runs_of_one_name_go_back_and_forth_without_multiplying() {
    let Some(server) = Server::start() else { return };
    // Two runs with the same name, from two machines that began in the same second on the same
    // commit.
    let (_first, first) = store(&[run("same", 1000, 2)]);
    let (_second, second) = store(&[run("same", 1001, 2)]);
    let mut shared = connect(&server);
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
    let mut shared = connect(&server);
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
    let mut shared = connect(&server);
    let mut told = Vec::new();
    shared.send_all(&here, |id, sent| told.push((id.0.clone(), sent.is_ok()))).unwrap();
    assert_eq!(told, [("odd".to_owned(), false), ("after".to_owned(), true)]);
}

#[test]
fn a_server_that_dies_in_mid_write_costs_nothing_and_doubles_nothing() {
    let Some(server) = Server::start() else { return };
    let runs: Vec<Run> = (0..40).map(|at| run(&format!("run-{at:02}"), 1000 + at, 40)).collect();
    let (_dir, here) = store(&runs);
    let mut shared = connect(&server);
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
    let mut shared = connect(&server);
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
    drop(connect(&server));
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

/// Returns the runs of a job per node, each with two steps; all nodes began at the same time.
fn campaign_runs(nodes: u32) -> Arc<Vec<CampaignRun>> {
    let mut runs = Vec::new();
    for node in 0..nodes {
        for step in 1..=2 {
            runs.push(CampaignRun {
                job: format!("nodes/n{node}"),
                step,
                attempt: "results.7.0".to_owned(),
                run: run(&format!("run-n{node}-{step}"), 1001, 3),
            });
        }
    }
    Arc::new(runs)
}

fn campaign(second: i64, text: &str) -> CampaignRow {
    let created = Timestamp::from_second(second).unwrap();
    CampaignRow { name: "weekly".to_owned(), created, text: text.to_owned() }
}

#[test]
fn each_step_of_a_campaign_is_added_once_by_however_many_collectors() {
    let Some(server) = Server::start() else { return };
    let runs = campaign_runs(10);
    let number = connect(&server).put_campaign(&campaign(1, "first")).unwrap();
    let added: usize = thread::scope(|scope| {
        let collectors: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| connect(&server).add_campaign_runs(number, &runs).unwrap()))
            .collect();
        collectors.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!(added, 20);
    assert_eq!(server.count("SELECT count(*) FROM rsb_runs"), 20);
    assert_eq!(server.count("SELECT count(*) FROM rsb_metrics"), 20 * 3 * 2);
    let mut shared = connect(&server);
    // A step that is measured again, and one that was sent as a run before.
    let again = CampaignRun { run: run("other", 5000, 1), ..runs[0].clone() };
    shared.send(&run("run-n99", 1001, 3)).unwrap();
    let sent = CampaignRun {
        job: "nodes/n99".to_owned(),
        run: run("run-n99", 1001, 3),
        ..runs[0].clone()
    };
    assert_eq!(shared.add_campaign_runs(number, &Arc::new(vec![again, sent])).unwrap(), 1);
    assert_eq!(server.count("SELECT count(*) FROM rsb_runs"), 21);
    let stored = shared.campaign_runs(number, "nodes/n3").unwrap();
    assert_eq!(stored, runs[6..8]);
    assert!(shared.campaign_runs(number, "nodes/n100").unwrap().is_empty());
}

#[test]
fn the_latest_campaign_of_a_name_is_found_and_its_text_is_replaced() {
    let Some(server) = Server::start() else { return };
    let mut shared = connect(&server);
    assert_eq!(shared.campaign(None).unwrap(), None);
    let first = shared.put_campaign(&campaign(1, "first")).unwrap();
    let second = shared.put_campaign(&campaign(2, "second")).unwrap();
    assert_eq!(shared.put_campaign(&campaign(1, "later")).unwrap(), first);
    assert_eq!(shared.campaign(Some("weekly")).unwrap(), Some((second, campaign(2, "second"))));
    assert_eq!(shared.campaign(None).unwrap().unwrap().0, second);
    assert_eq!(shared.campaign(Some("other")).unwrap(), None);
    assert_eq!(server.count("SELECT count(*) FROM rsb_campaigns WHERE document = 'later'"), 1);
}

#[test]
fn a_run_that_is_refused_adds_no_other_of_its_batch() {
    let Some(server) = Server::start() else { return };
    let mut shared = connect(&server);
    let number = shared.put_campaign(&campaign(1, "")).unwrap();
    let mut runs = campaign_runs(3).to_vec();
    runs[4].run.suite = "qu\0ick".to_owned();
    shared.add_campaign_runs(number, &Arc::new(runs)).unwrap_err();
    assert!(!shared.is_closed());
    assert_eq!(server.count("SELECT count(*) FROM rsb_runs"), 0);
    assert_eq!(shared.add_campaign_runs(number, &campaign_runs(3)).unwrap(), 6);
}
