//! The pages of a campaign that is being measured, from the files of its directory alone.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::made_up::{again, scale, with_baseline};
use crate::common::{Bench, says};
use crate::schemas::check;
use crate::serve::Server;

/// A journal of a run in progress.
const JOURNAL: &str = include_str!("../../crates/rsb-tui/src/tests/recorded.partial.jsonl");
/// Names of nodes are file names, so that they cannot contain a slash.
const HOSTILE: &str = "n9<img src=x onerror=hacked=1><script>hacked=1";

/// Returns the directory of a node relative to the results directory.
fn node_directory(campaign: &str, node: &str) -> String {
    let hash = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let spread = node.bytes().fold(0x811c_9dc5, hash) & 0xff;
    format!("shared/{campaign}/nodes/{spread:02x}/{node}")
}

/// Writes a campaign of ten nodes: n8 is 10 % slow, n5 was cancelled, n3 is being measured, n4
/// waits, and the others are ok.
pub(crate) fn campaign(bench: &Bench, name: &str, run: &Value) {
    let dir = bench.dir.path().display();
    bench.write(
        "fleet.toml",
        &format!(
            "program = \"/bin/true\"\nresults_dir = \"{dir}/shared\"\n[slurm]\n[[suite]]\nsuite = \
             \"quick\"\nminutes = 1\n[verdict]\nconfirm = false\n"
        ),
    );
    let nodes = ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", HOSTILE, "n10"];
    let (mut listed, mut tasks, mut jobs) = (Vec::new(), Vec::new(), String::new());
    for (job, node) in (1..).zip(nodes) {
        listed.push(json!({
            "name": node, "availability": "idle", "state": "idle", "features": [],
            "gpu_model": null, "gpus": 0, "cpus": 2, "attributes": {}, "fingerprint": null,
            "probed_gpus": null
        }));
        tasks.push(json!({
            "node": node, "class": "cpu:2", "gpus": 0, "minutes": 1, "starts_after_seconds": 0,
            "suites": [{ "suite": "quick", "minutes": 1 }], "availability": "idle"
        }));
        jobs.push('\n');
        jobs.push_str(&json!({ "job": job, "node": node }).to_string());
        node_files(bench, name, node, job, run);
    }
    let plan = json!({
        "format_version": 3, "name": name, "version": "rusty-stack-bench 0.1.0", "nodes": listed,
        "tasks": tasks, "skipped": []
    });
    bench.write(&format!("shared/{name}/jobs.jsonl"), &jobs);
    bench.write(&format!("shared/{name}/campaign.json"), &plan.to_string());
}

fn node_files(bench: &Bench, campaign: &str, node: &str, job: u64, run: &Value) {
    let dir = node_directory(campaign, node);
    bench.write(&format!("{dir}/job-001.sh"), "");
    if node == "n4" {
        return;
    }
    let marker = format!("campaign={campaign}\nnode={node}\njob={job}.0\nversion=x\n");
    bench.write(&format!("{dir}/start.{job}.0"), &marker);
    let runs = format!("{dir}/results.{job}.0/0/runs");
    match node {
        "n3" => drop(bench.write(&format!("{runs}/x.partial.jsonl"), JOURNAL)),
        "n5" => drop(bench.write(&format!("{dir}/end.{job}.0"), &(marker + "exit=143\n"))),
        _ => {
            let mut own = again(run, &format!("20991231T000000Z_{job}"));
            let factor = if node == "n8" { 1.1 } else { 1.0 + 3e-4 * (job % 4) as f64 };
            for case in own["benchmarks"].as_array_mut().unwrap() {
                scale(case, factor);
            }
            bench.write_sealed(&format!("{runs}/run.json"), &own);
            bench.write(&format!("{dir}/end.{job}.0"), &(marker + "exit=0\n"));
        }
    }
}

/// Returns the page at `path` as soon as it contains `part`: a campaign is read in the background.
fn page_with(server: &Server, path: &str, part: &str) -> String {
    let begun = Instant::now();
    loop {
        let html = server.page(path);
        if html.contains(part) {
            return html;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "no {part:?} in {html}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Puts programs in front of the scheduler's, which note that they were called.
fn watched() -> Bench {
    let bench = Bench::new();
    for name in ["squeue", "sinfo", "scontrol", "sacct", "sbatch", "scancel"] {
        let called = bench.path("called").display().to_string();
        let path =
            bench.write(&format!("bin/{name}"), &format!("#!/bin/sh\necho {name} >> {called}\n"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", bench.path("bin").display(), std::env::var("PATH").unwrap());
    bench.set("PATH", &path)
}

#[test]
fn a_campaign_is_shown_from_its_files_while_it_is_measured() {
    let (bench, run) = with_baseline(watched());
    let server = Server::begin(&bench, &["serve", "--no-token", "a test"]);
    assert!(!server.page("/runs").contains(">Fleet<"), "there is no campaign yet");
    says(&server.page("/fleet"), &["There is no campaign."]);
    campaign(&bench, "first", &run);
    page_with(&server, "/runs", "href=\"fleet?campaign=first\">Fleet");
    let html = page_with(&server, "/fleet?campaign=first", "nodes slow");
    says(
        &html,
        &[
            "1 of 10 nodes slow · 6 ok · 1 error · 1 being measured · 1 queued",
            "stopped: cancelled, or at its time limit",
            "<code>scontrol update nodename=n8 state=drain",
            "fleet resume --campaign first",
            "data-refresh",
        ],
    );
    assert!(!html.contains("<img") && !html.contains("<script>hacked"), "{html}");
    let json = |path: &str| serde_json::from_str::<Value>(&server.page(path)).unwrap();
    let document = json("/api/fleet?campaign=first");
    check("campaign", &document);
    let states: Vec<&str> = document["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["state"].as_str().unwrap())
        .collect();
    assert_eq!(states[..4], ["slow", "error", "not_measured", "not_measured"], "{document:#}");
    let running = &document["nodes"][2]["progress"];
    assert_eq!(running["state"], "running", "{running:#}");
    assert!(document["classes"][0]["spread_percent"].as_f64().unwrap() < 0.2, "{document:#}");
    let slow = json("/api/fleet?campaign=first&node=n8");
    check("campaign-node", &slow);
    assert_eq!(slow["cases"].as_array().unwrap().len(), 12, "{slow:#}");
    says(&server.page("/fleet?campaign=first&node=n8"), &["Node n8", "slow: +9.9 %"]);
    assert!(!bench.path("called").exists(), "a page must not call the scheduler");

    bench.run("serve --export site").expect(0);
    let exported = std::fs::read_to_string(bench.path("site/fleet-campaign-first.html")).unwrap();
    says(&exported, &["1 of 10 nodes slow", "scontrol update nodename=n8"]);
}

#[test]
fn a_campaign_that_is_torn_or_absent_says_what_is_the_matter() {
    let (bench, run) = with_baseline(Bench::new());
    campaign(&bench, "first", &run);
    campaign(&bench, "torn", &run);
    bench.write("shared/torn/campaign.json", "{\"format_version\": 3, \"na");
    // A file of a node is damaged, and a campaign without a plan is being written.
    let damaged = format!("{}/results.1.0/0/runs/run.json", node_directory("first", "n1"));
    bench.write(&damaged, "{}");
    bench.write("shared/begun/.lock", "");
    let server = Server::begin(&bench, &["serve", "--no-token", "a test"]);
    let list = page_with(&server, "/fleet", "nodes slow");
    says(&list, &["fleet?campaign=first", "fleet?campaign=torn", "cannot be shown"]);
    assert!(!list.contains("begun"), "{list}");
    let torn = page_with(&server, "/fleet?campaign=torn", "This campaign cannot be shown: ");
    says(&torn, &["campaign.json</code> is not the plan of a campaign"]);
    says(&server.page("/fleet?campaign=first"), &["Files that cannot be read", "run.json"]);
    let answer = server.ask("GET /fleet?campaign=../first HTTP/1.1");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    bench.run("serve --export site").expect(0);
    bench.write("fleet.toml", "max_paralel = 3\n");
    let broken = page_with(&server, "/fleet", "The campaigns cannot be listed: ");
    says(&broken, &["max_parallel"]);
}
