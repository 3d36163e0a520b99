//! Metrics for Prometheus with the real binary, and the rules and the dashboard in docs, checked by
//! promtool and scraped by Prometheus.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::common::made_up::{again, scale, with_baseline};
use crate::common::{Bench, says};

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-to").join(name)
}

/// Runs promtool with `input`; `None` if it is not installed.
fn promtool(arguments: &[&str], input: &str) -> Option<Output> {
    let mut command = Command::new("promtool");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        test_needs::missing("promtool", "promtool is not installed; Debian: prometheus");
        return None;
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Some(child.wait_with_output().unwrap())
}

/// Checks that promtool accepts the input without a warning.
fn assert_accepted(arguments: &[&str], input: &str) {
    let Some(output) = promtool(arguments, input) else { return };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}\n{input}");
}

/// Returns a directory with a judged run that has a regressed case, and the id of this case.
fn with_regressed_case() -> (Bench, String) {
    let (bench, run) = with_baseline(Bench::new());
    let mut slower = again(&run, "20991231T000000Z_slower");
    scale(&mut slower["benchmarks"][2], 1.3);
    let file = "benchmark_results/runs/20991231T000000Z_slower.json";
    bench.write_sealed(file, &slower);
    bench.run(&["gate", "--baseline", "tensor-ops", "--current", file]).expect(3);
    let case = slower["benchmarks"][2]["benchmark_id"].as_str().unwrap().to_owned();
    (bench, case)
}

/// Writes a campaign of two nodes to which no job was submitted.
fn write_campaign(bench: &Bench) {
    let shared = bench.path("fleet");
    let config = "[slurm]\n[[suite]]\nsuite = 'quick'\nminutes = 1\n";
    bench.write("fleet.toml", &format!("results_dir = '{}'\n{config}", shared.display()));
    let task = |node: &str| {
        serde_json::json!({
            "node": node, "class": "cpu", "gpus": 0, "minutes": 1, "starts_after_seconds": 0,
            "suites": [{ "suite": "quick", "minutes": 1 }], "availability": "idle",
        })
    };
    let plan = serde_json::json!({
        "format_version": rsb_model::format::FORMAT_VERSION, "name": "weekly", "version": "1",
        "nodes": [], "skipped": [],
        "tasks": [task("n1"), task("n2")],
    });
    bench.write("fleet/weekly/campaign.json", &plan.to_string());
}

#[test]
fn the_states_of_the_newest_campaign_and_its_nodes_are_exported() {
    let bench = Bench::new();
    bench.run("export --format openmetrics").expect(0);
    write_campaign(&bench);
    let text = bench.run("export --format openmetrics").expect(0).stdout;
    let lines = [
        "rsb_campaign_jobs{campaign=\"weekly\",state=\"not_submitted\"} 2\n",
        "rsb_campaign_jobs{campaign=\"weekly\",state=\"running\"} 0\n",
        "rsb_campaign_nodes{campaign=\"weekly\",state=\"not_measured\"} 2\n",
        "rsb_campaign_nodes{campaign=\"weekly\",state=\"slow\"} 0\n",
        "rsb_node_state{campaign=\"weekly\",node=\"n2\",state=\"not_measured\"} 1\n",
    ];
    says(&text, &lines);
    assert_accepted(&["check", "metrics"], &text);
    bench.write("fleet.toml", "");
    let refused = bench.run("export --format openmetrics").expect(2);
    says(&refused.stderr, &["fleet.toml"]);
}

#[test]
fn an_exported_file_has_times_and_verdicts_and_is_accepted_by_promtool() {
    let (bench, case) = with_regressed_case();
    let printed = bench.run("export --format openmetrics").expect(0).stdout;
    bench.run("export --format openmetrics --output bench.prom").expect(0);
    let text = std::fs::read_to_string(bench.path("bench.prom")).unwrap();
    assert_eq!(text, printed);
    says(
        &text,
        &[
            &format!("rsb_case_time_seconds{{case=\"{case}\",machine=\""),
            "verdict=\"Regressed\"} 1\n",
            "rsb_runs{machine=\"",
            "rsb_alerts{severity=\"critical\",state=\"new\"} 0\n",
            "rsb_dropped_cases 0\n",
        ],
    );
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    assert_accepted(&["check", "metrics"], &text);
    let few = bench.run("export --format openmetrics --max-series 7").expect(0).stdout;
    says(&few, &[&format!("rsb_case_time_seconds{{case=\"{case}\""), "rsb_dropped_cases 12\n"]);
    let refused = bench.run("export --max-series 7").expect(2);
    says(&refused.stderr, &["--max-series", "--format openmetrics"]);
}

/// Begins a run like `run` that has no case yet. Returns its journal, and a case to add.
fn begin_run(bench: &Bench, run: Value) -> (rsb_store::Journal, rsb_model::BenchmarkResult) {
    let mut run: rsb_model::Run = serde_json::from_value(run).unwrap();
    let case = run.benchmarks.remove(0);
    run.run_id = rsb_model::RunId("running".into());
    run.benchmarks.clear();
    let store = rsb_store::Store::open_for_writing(&bench.path("benchmark_results")).unwrap();
    (store.begin(&run).unwrap(), case)
}

#[test]
fn the_progress_of_a_running_benchmark_is_exported() {
    let (bench, run) = with_baseline(Bench::new());
    let (mut journal, case) = begin_run(&bench, run);
    journal.set_progress(rsb_model::run::ReplicateProgress { done: 3, total: 12 });
    journal.add(&case).unwrap();
    let text = bench.run("export --format openmetrics").expect(0).stdout;
    let done = "rsb_running_replicates{state=\"done\"} 3\n";
    says(&text, &["rsb_running_runs 1\n", done, "{state=\"planned\"} 12\n"]);
    assert_accepted(&["check", "metrics"], &text);
    drop(journal);
    let text = bench.run("export --format openmetrics").expect(0).stdout;
    says(&text, &["rsb_running_runs 0\n", "rsb_running_replicates{state=\"done\"} 0\n"]);
}

#[test]
fn the_rules_fire_and_end_as_in_their_tests() {
    let tests = page("prometheus-rules-test.yml");
    assert_accepted(&["test", "rules", tests.to_str().unwrap()], "");
}

#[test]
fn promtool_accepts_the_rules_and_every_query_of_the_dashboard() {
    let rules = page("prometheus-rules.yml");
    assert_accepted(&["check", "rules", rules.to_str().unwrap()], "");
    let text = std::fs::read_to_string(page("grafana-dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let mut queries: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    // Grafana itself evaluates `label_values(METRIC, label)`.
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        let Some(query) = variable["query"]["query"].as_str() else { continue };
        let arguments = query.strip_prefix("label_values(").unwrap().strip_suffix(')').unwrap();
        queries.push(arguments.split_once(", ").unwrap().0);
    }
    assert!(queries.len() >= panels.len() + 2);
    let rules: Vec<Value> = queries
        .iter()
        .enumerate()
        .map(|(at, query)| serde_json::json!({ "record": format!("query_{at}"), "expr": query }))
        .collect();
    let group = serde_json::json!({ "groups": [{ "name": "dashboard", "rules": rules }] });
    let bench = Bench::new();
    // JSON is valid YAML.
    let file = bench.write("dashboard.yml", &group.to_string());
    assert_accepted(&["check", "rules", file.to_str().unwrap()], "");
}

/// Checks `dashboard` with the types of `@grafana/schema`, as a literal, in which unknown fields
/// are errors. Returns the errors; `None` if the package is missing.
fn type_errors(dashboard: &Value) -> Option<String> {
    let Some(packages) = std::env::var_os("RSB_GRAFANA_SCHEMA") else {
        let why =
            "RSB_GRAFANA_SCHEMA must name the node_modules with @grafana/schema and typescript";
        test_needs::missing("grafana", why);
        return None;
    };
    let bench = Bench::new();
    std::os::unix::fs::symlink(&packages, bench.path("node_modules")).unwrap();
    let source = format!(
        "import type {{ Dashboard }} from '@grafana/schema';\nexport const it: Dashboard = \
         {dashboard};\n"
    );
    let file = bench.write("dashboard.ts", &source);
    let output = Command::new("node")
        .arg(Path::new(&packages).join("typescript/bin/tsc"))
        .args(["--noEmit", "--strict", "--module", "esnext", "--moduleResolution", "bundler"])
        .arg(file)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.success(), errors.is_empty(), "{errors}");
    Some(errors)
}

#[test]
fn the_dashboard_has_the_types_of_grafana() {
    let text = std::fs::read_to_string(page("grafana-dashboard.json")).unwrap();
    let mut dashboard: Value = serde_json::from_str(&text).unwrap();
    let Some(errors) = type_errors(&dashboard) else { return };
    assert_eq!(errors, "");
    dashboard["panels"][0]["title"] = 1.into();
    dashboard["panels"][1]["gridpos"] = Value::Null;
    let errors = type_errors(&dashboard).unwrap();
    says(&errors, &["error TS", "gridpos"]);
}

/// Checks that every metric named in the rules and the dashboard is exported, so that a renamed
/// metric is noticed.
#[test]
fn rules_and_dashboard_name_only_existing_metrics() {
    let (bench, _) = with_regressed_case();
    write_campaign(&bench);
    let text = bench.run("export --format openmetrics").expect(0).stdout;
    for name in ["prometheus-rules.yml", "grafana-dashboard.json", "metrics.md"] {
        let page = std::fs::read_to_string(page(name)).unwrap();
        let words = page.split(|at: char| !(at.is_ascii_alphanumeric() || at == '_'));
        for metric in words.filter(|word| word.starts_with("rsb_")) {
            assert!(text.contains(&format!("# TYPE {metric} gauge\n")), "{name}: {metric}");
        }
    }
}

#[cfg(feature = "serve")]
mod scraped {
    use std::net::TcpStream;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::alert_servers::{Server as ChildServer, free_port};
    use crate::serve::{Server, TOKEN};

    #[test]
    fn metrics_need_the_token_and_follow_the_accept_header() {
        let (bench, case) = with_regressed_case();
        bench.write("token", TOKEN);
        let server = Server::begin(&bench, &["serve", "--token-file", "token"]);
        let refused = server.ask("GET /metrics HTTP/1.1");
        assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
        assert!(!refused.contains("rsb_"), "{refused}");
        for (accept, content_type, is_open) in [
            ("text/plain", "text/plain; version=0.0.4", false),
            ("application/openmetrics-text;version=1.0.0", "application/openmetrics-text", true),
        ] {
            let answer = server.ask(&format!(
                "GET /metrics HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nAccept: {accept}"
            ));
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            says(head, &["200", &format!("content-type: {content_type}")]);
            says(body, &[&format!("rsb_case_time_seconds{{case=\"{case}\"")]);
            assert_eq!(body.ends_with("# EOF\n"), is_open, "{body}");
            assert_accepted(&["check", "metrics"], body);
        }
    }

    #[test]
    fn the_progress_of_a_run_and_the_nodes_of_a_campaign_are_current() {
        let (bench, run) = with_baseline(Bench::new());
        let (mut journal, case) = begin_run(&bench, run);
        write_campaign(&bench);
        let server = Server::begin(&bench, &["serve"]);
        for done in [3, 7] {
            journal.set_progress(rsb_model::run::ReplicateProgress { done, total: 12 });
            journal.add(&case).unwrap();
            let text = server.ask("GET /metrics HTTP/1.1");
            let expected = format!("rsb_running_replicates{{state=\"done\"}} {done}\n");
            says(&text, &[&expected, "node=\"n1\",state=\"not_measured\"} 1\n"]);
        }
    }

    /// Starts Prometheus, which scrapes `target` with the token in `token` and evaluates the rules.
    /// Returns it with its address; `None` if it is not installed.
    fn start_prometheus(bench: &Bench, target: &str) -> Option<(ChildServer, String)> {
        let config = serde_json::json!({
            "global": { "scrape_interval": "1s", "evaluation_interval": "1s" },
            "rule_files": [page("prometheus-rules.yml")],
            "scrape_configs": [{
                "job_name": "bench",
                "authorization": { "credentials_file": bench.path("token") },
                "static_configs": [{ "targets": [target] }],
            }],
        });
        let config = bench.write("prometheus.yml", &config.to_string());
        let address = format!("127.0.0.1:{}", free_port());
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", bench.path("tsdb").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(child) = child else {
            test_needs::missing("promtool", "prometheus is not installed; Debian: prometheus");
            return None;
        };
        Some((ChildServer(child), address))
    }

    #[test]
    fn prometheus_scrapes_with_the_token_and_a_rule_fires() {
        let (bench, _) = with_regressed_case();
        bench.write("token", TOKEN);
        let server = Server::begin(&bench, &["serve", "--token-file", "token"]);
        let Some((_prometheus, address)) = start_prometheus(&bench, &server.address) else {
            return;
        };
        let mut last = String::new();
        for _ in 0..300 {
            if let Ok(stream) = TcpStream::connect(&address) {
                last = Server::ask_at(stream, &address, "GET /api/v1/alerts HTTP/1.1");
                if last.contains("BenchmarkCasesRegressed") && last.contains("firing") {
                    return;
                }
            }
            thread::sleep(Duration::from_millis(200));
        }
        panic!("no alert fires: {last}");
    }
}
