//! Campaigns that are collected in a real PostgreSQL server.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::campaign::MadeUpCampaign;
use crate::common::{Bench, ProgramOutput, says};
use crate::fleet::in_state;
use crate::postgres_server::Server;

const CASES: u32 = 4;

/// Returns the address of `server` without the password.
fn address(server: &Server) -> String {
    server.address().replace(":secret@", "@")
}

fn configure(bench: &Bench, section: &str) {
    let shared = bench.path("shared").display().to_string();
    let campaign = campaign(&shared, "any");
    bench.write("fleet.toml", &campaign.configuration(section));
}

/// Returns a campaign of eight healthy nodes.
fn campaign<'a>(results_dir: &'a str, name: &'a str) -> MadeUpCampaign<'a> {
    let created = 1_790_000_000;
    MadeUpCampaign { results_dir, name, created, nodes: 8, cases: CASES, slow_every: 0 }
}

/// Returns a bench with campaigns `may` and `later` of eight nodes, of which one is slow in the
/// latter, and a configuration with the store of `server`.
fn bench(server: &Server) -> Bench {
    let bench = Bench::new();
    let shared = bench.path("shared").display().to_string();
    let before = campaign(&shared, "may");
    before.write().unwrap();
    let created = before.created + 86_400;
    MadeUpCampaign { name: "later", created, slow_every: 8, ..before }.write().unwrap();
    configure(&bench, &format!("[store]\naddress = \"{}\"\n", address(server)));
    bench
}

#[test]
fn a_collected_campaign_is_judged_from_the_store_when_its_directory_is_gone() {
    let Some(server) = Server::start() else { return };
    let bench = bench(&server);
    let from_directory = bench.run("fleet report --campaign later --json").expect(4).json();
    assert_eq!(in_state(&from_directory, "undecided"), ["n00000"], "{from_directory:#}");
    let compare = "fleet compare may later --threshold 5 --json";
    let compared = bench.run(compare).expect(3).json();
    for campaign in ["may", "later"] {
        let collect = format!("fleet collect --campaign {campaign}");
        says(&bench.run(&collect).expect(0).stdout, &["8 runs collected, 0 already stored"]);
        says(&bench.run(&collect).expect(0).stdout, &["0 runs collected, 8 already stored"]);
    }
    assert_eq!(server.count("SELECT count(*) FROM rsb_runs"), 16);
    assert_eq!(server.count("SELECT count(*) FROM rsb_metrics"), 16 * i64::from(CASES) * 2);
    assert!(!bench.path("benchmark_results").exists(), "runs are stored in one place");

    std::fs::rename(bench.path("shared"), bench.path("moved")).unwrap();
    let stored = bench.run("fleet report --campaign later --json").expect(4).json();
    assert_eq!(stored, from_directory);
    says(&bench.run("fleet status").expect(0).stdout, &["later: 8 done"]);
    let mut again = bench.run(compare).expect(3).json();
    assert_eq!(again["rows"].take(), compared["rows"]);
    for verb in ["collect", "resume", "cancel"] {
        let refused = bench.run(&format!("fleet {verb} --campaign later")).expect(2).stderr;
        says(&refused, &["only in PostgreSQL", "`fleet report`"]);
    }
    let missing = bench.run("fleet report --campaign other").expect(2).stderr;
    says(&missing, &["cannot read campaign `other`"]);

    let copied = bench.run(&["store", "copy", &server.address(), "mine"]).expect(0).stdout;
    says(&copied, &["16 runs copied"]);
    assert!(bench.path("mine/runs").join("20260921T151320Z_1a2b3c4-n00007.json").exists());
}

#[test]
fn what_is_wrong_with_a_store_is_refused_with_the_cure_and_shows_no_password() {
    let Some(server) = Server::prepare() else { return };
    let rules = Path::new(&server.data()).join("pg_hba.conf");
    std::fs::write(rules, "host all all 127.0.0.1/32 scram-sha-256\n").unwrap();
    server.up("");
    let bench = bench(&server);
    let file = bench.write("password", "secret-of-another\n");
    let own = |section: &str| {
        configure(&bench, &format!("[store]\n{section}\n"));
        let refused = bench.run("fleet collect");
        assert!(!refused.stderr.contains("secret"), "{}", refused.stderr);
        refused
    };
    let address = format!("address = \"{}\"", address(&server));
    let with_file = format!("{address}\npassword_file = \"{}\"", file.display());
    let in_address = format!("address = \"{}\"", server.address());
    for (section, expected) in [
        (in_address.as_str(), "contains a password; move it to a file"),
        ("address = \"me:secret@host/db\"", "write postgres://USER@HOST/DATABASE"),
        ("addresses = \"postgres://me:secret@host/db\"", "did you mean `address`?"),
        (&address.replace("address", "password_file = \"/nowhere\"\naddress"), "/nowhere"),
        (&with_file, "run `chmod 600 "),
        (&address, "correct `store.password_file` or PGPASSWORD"),
    ] {
        says(&own(section).expect(2).stderr, &[expected]);
    }
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let wrong = own(&with_file).expect(2).stderr;
    says(&wrong, &["refuses the login", "password authentication failed", "PGPASSWORD"]);
    let away = "address = \"postgres://me@127.0.0.1:1/results?sslmode=disable\"";
    says(&own(away).expect(1).stderr, &["cannot reach", "repeat the command"]);
    assert!(!bench.path("benchmark_results").exists());
}

/// Waits until `condition` holds.
fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_database_that_dies_in_mid_transaction_loses_and_doubles_no_case_of_a_campaign() {
    let Some(server) = Server::start() else { return };
    let bench = bench(&server);
    // It creates the tables.
    bench.run("fleet collect --campaign may").expect(0);
    let shared = bench.path("shared").display().to_string();
    let created = 1_800_000_000;
    MadeUpCampaign { created, nodes: 250, ..campaign(&shared, "large") }.write().unwrap();
    // A transaction has added its runs when it waits for this lock.
    let mut lock = server.session("BEGIN; LOCK TABLE rsb_campaign_runs IN EXCLUSIVE MODE");
    wait_for("a lock", || {
        server.count(
            "SELECT count(*) FROM pg_locks WHERE mode = 'ExclusiveLock' AND relation = \
                      'rsb_campaign_runs'::regclass",
        ) == 1
    });
    let mut command = bench.command("fleet collect --campaign large");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("a waiting transaction", || {
        server.count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == 1
    });
    server.crash();
    let ended = ProgramOutput::of(&child.wait_with_output().unwrap()).expect(1);
    says(&ended.stderr, &["127.0.0.1", "repeat the command"]);
    lock.wait().unwrap();
    let gone = bench.run("fleet collect --campaign large").expect(1).stderr;
    says(&gone, &["cannot reach", "nothing was lost"]);

    server.up("");
    assert_eq!(server.count("SELECT count(*) FROM rsb_runs"), 8, "nothing of the batch");
    let collected = bench.run("fleet collect --campaign large").expect(0).stdout;
    says(&collected, &["250 runs collected, 0 already stored"]);
    says(&bench.run("fleet collect --campaign large").expect(0).stdout, &["0 runs collected"]);
    assert_eq!(server.count("SELECT count(*) FROM rsb_runs"), 258);
    assert_eq!(server.count("SELECT count(*) FROM rsb_metrics"), 258 * i64::from(CASES) * 2);
    std::fs::rename(bench.path("shared"), bench.path("moved")).unwrap();
    let report = bench.run("fleet report --campaign large --json").expect(0).json();
    assert_eq!(in_state(&report, "ok").len(), 250);
}
