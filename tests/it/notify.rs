//! `notify` and `[[notify]]` with the real binary. What `trend` reports is tested in
//! `tracked_changes`.

use crate::common::made_up::{again, scale, with_baseline};
use crate::common::other_project::{commit, repository, write};
use crate::common::revisions::git;
use crate::common::{Bench, says};
use serde_json::Value;

const CONFIG: &str = "rusty-stack-bench.toml";

/// Returns the configuration of a receiver that runs the shell script `script`.
fn receiver(script: &str) -> String {
    format!("[[notify]]\nname = \"team\"\ncommand = {{ run = [\"sh\", \"-c\", \"{script}\"] }}\n")
}

/// Returns event and title of each message in the file `messages`.
fn received(bench: &Bench) -> Vec<[String; 2]> {
    let text = std::fs::read_to_string(bench.path("messages")).unwrap_or_default();
    let parse = |line: &str| {
        let message: Value = serde_json::from_str(line).unwrap();
        ["event", "title"].map(|key| message[key].as_str().unwrap().to_owned())
    };
    text.lines().map(parse).collect()
}

#[test]
fn a_gate_is_reported_when_it_fails_and_when_it_passes_again() {
    let (bench, run) = with_baseline(Bench::new());
    let gate = |factor: f64, code: i32| {
        let mut current = again(&run, "current");
        scale(&mut current["benchmarks"][2], factor);
        bench.write_sealed("current.json", &current);
        bench.run("gate --baseline tensor-ops --current current.json").expect(code)
    };
    bench.write(CONFIG, &receiver("exit 1"));
    let failed = gate(1.3, 3);
    says(&failed.stderr, &["warning: 1 message waits for `team`", "notify status"]);
    let due = bench.run("notify --dry-run").expect(0).stdout;
    says(&due, &["team: 0 messages", "waits until", "for team: critical: gate: ", "sh failed"]);
    bench.write(CONFIG, &receiver("cat >> messages; echo >> messages"));
    std::thread::sleep(std::time::Duration::from_secs(1)); // The second attempt is due then.
    gate(1.3, 3);
    let case = run["benchmarks"][2]["benchmark_id"].as_str().unwrap();
    let messages = received(&bench);
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert_eq!(messages[0][0], "new");
    let text = std::fs::read_to_string(bench.path("messages")).unwrap();
    says(&text, &["rusty-stack-bench notify ack gate-"]);
    says(&messages[0][1], &["critical: gate: 1 case regressed", "against tensor-ops", case]);
    bench.run("notify ack gate-nothing --because x").expect(2);
    let known = bench.run("notify ack gate- --because wanted").expect(0).stdout;
    says(&known, &["gate-", " is acknowledged: wanted"]);
    says(&bench.run("notify status").expect(0).stdout, &["; acknowledged: wanted"]);
    gate(1.0, 0);
    gate(1.0, 0);
    let messages = received(&bench);
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!(messages[1][0], "recovered");
    says(&messages[1][1], &["recovered: gate passes", "against tensor-ops"]);
}

#[test]
fn no_output_contains_a_secret() {
    let bench = Bench::new()
        .set("SLACK_URL", "http://127.0.0.1:1/services/T0SECRET")
        .set("WRONG_URL", "SECRET://hooks/SECRET")
        .set("KEY", "whsec_SECRET!");
    bench.write("password", "SECRET\n");
    bench.write(
        CONFIG,
        "[[notify]]\nname = 'team'\nslack = { url = { env = 'SLACK_URL' } }\n[[notify]]\nname = \
         'wrong'\nslack = { url = { env = 'WRONG_URL' } }\n[[notify]]\nname = 'hook'\nwebhook = { \
         url = 'http://127.0.0.1:1/', secret = { env = 'KEY' } }\n[[notify]]\nname = \
         'mail'\nemail = { host = 'localhost', port = 1, user = 'u', password = { file = \
         'password' }, from = 'a@b.example', to = ['c@d.example'] }\n[[notify]]\nname = \
         'unset'\nslack = { url = { env = 'NO_SUCH_VARIABLE' } }\n",
    );
    for (arguments, code, expected) in [
        ("notify test team", 1, "`team` did not accept the message"),
        ("notify test wrong", 1, "must begin with https://"),
        ("notify test hook", 1, "whsec_"),
        ("notify test mail", 1, "`mail` did not accept the message"),
        ("notify test unset", 1, "NO_SUCH_VARIABLE is not set"),
        ("notify test other", 2, "team, wrong, hook, mail, unset"),
        ("notify status", 0, "mail (email): 0 open alerts"),
        ("notify --dry-run", 0, "team: 0 messages"),
        ("notify", 0, ""),
    ] {
        let ended = bench.run(arguments).expect(code);
        let text = ended.stdout + &ended.stderr;
        says(&text, &[expected]);
        assert!(!text.contains("SECRET"), "{arguments}: {text}");
    }
    bench.write(CONFIG, "[[notify]]\nname = 'team'\nslack = { url = 'https://hooks/SECRET' }\n");
    let refused = bench.run("notify status").expect(2);
    says(&refused.stderr, &["`slack.url` is a secret", "env = \"NAME\""]);
    assert!(!refused.stderr.contains("SECRET"), "{}", refused.stderr);
}

#[test]
fn without_a_receiver_the_error_names_the_table_to_add() {
    let bench = Bench::new();
    for arguments in ["notify", "notify --dry-run", "notify status", "notify test team"] {
        says(&bench.run(arguments).expect(2).stderr, &["[[notify]]", "docs/how-to/alerts.md"]);
    }
}

#[test]
fn a_silence_holds_alerts_back_and_is_listed_until_it_is_ended() {
    let (bench, run) = with_baseline(Bench::new());
    bench.write(CONFIG, &receiver("cat >> messages; echo >> messages"));
    bench.run("notify silence gate- --for 1h").expect(0);
    let mut slower = again(&run, "current");
    scale(&mut slower["benchmarks"][2], 1.3);
    bench.write_sealed("current.json", &slower);
    bench.run("gate --baseline tensor-ops --current current.json").expect(3);
    let due = bench.run("notify --dry-run").expect(0).stdout;
    says(&due, &["team: 0 messages", "held back, silenced until 20", ": gate: 1 case regressed"]);
    bench.run("notify").expect(0);
    assert_eq!(received(&bench), [] as [[String; 2]; 0]);
    bench.run("notify silence gate- --end").expect(0);
    bench.run("notify").expect(0);
    assert_eq!(received(&bench).len(), 1);
    let added = bench.run(&["notify", "silence", "gemm/*", "--for", "2d", "--because", "new BIOS"]);
    says(&added.expect(0).stdout, &["alerts that match `gemm/*` are held back until 20"]);
    says(&bench.run("notify status").expect(0).stdout, &["silenced until", "gemm/*: new BIOS"]);
    bench.run(&["notify", "silence", "gemm/*", "--end"]).expect(0);
    assert!(!bench.run("notify status").expect(0).stdout.contains("silenced"));
    let none = bench.run(&["notify", "silence", "gemm/*", "--end"]).expect(2);
    says(&none.stderr, &["no silence of `gemm/*`"]);
}

#[test]
fn a_change_under_test_cannot_edit_what_sends_alerts() {
    for table in [
        "command = { run = ['./to-team.sh'] }",
        "command = { run = ['sh', 'to-team.sh'] }",
        "slack = { url = { file = 'to-team.sh' } }",
    ] {
        let bench = repository("");
        write(&bench, "", &[("parsing", &[("fib", 1000.0)])]);
        bench.write("to-team.sh", "true\n");
        bench.write(CONFIG, &format!("[[notify]]\nname = 'team'\n{table}\n"));
        commit(&bench, "fast");
        let refused = bench.run("gate --against HEAD").expect(2);
        says(&refused.stderr, &["`notify` \"team\":", "to-team.sh is inside the repository"]);
    }
}

#[test]
fn an_outbox_in_the_repository_sends_nothing() {
    let bench = repository("");
    write(&bench, "", &[("parsing", &[("fib", 1000.0)])]);
    bench.write(CONFIG, &receiver("touch sent"));
    bench.write("benchmark_results/notify.json", "{}");
    commit(&bench, "fast");
    git(&bench, &["add", "--force", "benchmark_results/notify.json"]);
    write(&bench, "", &[("parsing", &[("fib", 1300.0)])]);
    let failed = bench.run("gate --against HEAD").expect(3);
    says(&failed.stderr, &["no alert is sent: git tracks"]);
    assert!(!bench.path("sent").exists());
}
