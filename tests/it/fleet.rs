//! Campaigns on a real Slurm cluster of twelve virtual nodes, with times from a script.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::common::slurm::{Cluster, NODES};
use crate::common::{Bench, says};
use crate::schemas::check;

/// Script that prints the time of a process: 10 ms to 10.02 ms, and 10 % more on the node named in
/// the file `slow`. `pause-NODE`, or `pause`, holds the seconds that it waits before.
const TIMES: &str = r#"#!/bin/sh
name=${SLURMD_NODENAME:-$FLEET_NODE}
factor=1000
[ "$name" = "$(cat {dir}/slow)" ] && factor=1100
pause=$(cat {dir}/pause-$name 2>/dev/null || cat {dir}/pause)
[ "$pause" = 0 ] || sleep "$pause"
seed=$(printf '%s %s' "$name" "$PPID" | cksum | cut -d ' ' -f 1)
echo "took $((factor * (100000 + seed % 200)))e-7 ms"
"#;

/// Prepares a directory with a configuration for `cluster`.
pub fn bench(cluster: &Cluster, slow: &str) -> Bench {
    let bench = Bench::new().set("SLURM_CONF", &cluster.conf());
    scripted(bench, slow, "[slurm]\npartition = \"main\"\n")
}

/// Adds a configuration with the section of an engine, and scripted times.
pub fn scripted(bench: Bench, slow: &str, engine: &str) -> Bench {
    let dir = bench.dir.path().display().to_string();
    bench.write(
        "rusty-stack-bench.toml",
        "[[notify]]\nname = 'team'\ncommand = { run = ['sh', '-c', 'cat >> messages; echo >> \
         messages'] }\n",
    );
    bench.write("slow", slow);
    bench.write("pause", "0");
    bench.write("times.sh", &TIMES.replace("{dir}", &dir));
    bench.write(
        "custom.toml",
        &format!(
            "[[benchmark]]\nname = \"scripted\"\ncommand = [\"sh\", \"{dir}/times.sh\", \"{{size}}\"]\n\
             axes = {{ size = [1, 2] }}\nfigure = {{ after = \"took\", unit = \"ms\" }}\n"
        ),
    );
    bench.write(
        "fleet.toml",
        &format!(
            "program = \"{}\"\nresults_dir = \"{dir}/shared\"\nmax_parallel = 1\n\
             stagger_seconds = 0\nprocesses = 2\nsetup = [\"export RSB_CUSTOM={dir}/custom.toml \
             RSB_CACHE_DIR={dir}/cache XDG_CONFIG_HOME={dir}/cache RSB_RUNS=10 RSB_WARMUP=1\"]\n\
             attributes = {{ rack = \"rack-*\" }}\n{engine}[[suite]]\n\
             suite = \"custom\"\nbenchmarks = [\"scripted\"]\nminutes = 1\n[verdict]\n\
             confirm_after_minutes = 0\nconfirm_rounds = 1\n",
            env!("CARGO_BIN_EXE_rusty-stack-bench")
        ),
    );
    bench
}

/// Returns the names of the nodes in `state`.
pub fn in_state(report: &Value, state: &str) -> Vec<String> {
    let nodes = report["nodes"].as_array().unwrap();
    let found = nodes.iter().filter(|node| node["state"] == state);
    found.map(|node| node["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the titles of the alerts that were sent.
fn titles(bench: &Bench) -> Vec<String> {
    let text = std::fs::read_to_string(bench.path("messages")).unwrap_or_default();
    let messages = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    messages.map(|message| message["title"].as_str().unwrap().to_owned()).collect()
}

pub fn run_count(bench: &Bench) -> usize {
    bench.run_files().len()
}

#[test]
fn one_slow_node_of_twelve_is_called_after_its_pairs_and_none_without_it() {
    let Some(cluster) = Cluster::start() else { return };
    let slow = bench(&cluster, "n8");
    says(&slow.run("fleet init").expect(2).stderr, &["`fleet.toml` exists", "--file"]);
    slow.run("fleet init --file written.toml").expect(0);
    let planned = slow.run("fleet plan --file written.toml").expect(0).stdout;
    says(&planned, &["mi300x:4gpu", "mi250:4gpu", "gpu-performance", "12 nodes, 41 min"]);

    let nodes = slow.run("fleet nodes --json").expect(0).json();
    let classes = nodes["classes"].as_array().unwrap();
    assert_eq!(classes.len(), 2, "{nodes:#}");
    assert!(classes.iter().all(|class| class["nodes"].as_array().unwrap().len() == 6));
    let plan = slow.run("fleet plan").expect(0).stdout;
    says(&plan, &["12 nodes, 12 min if every node is free; nothing was submitted"]);
    says(&slow.run("fleet submit --campaign first").expect(0).stdout, &["12 nodes"]);
    assert_eq!(slow.run("fleet report").code, 4, "nothing is judged while jobs run");
    cluster.wait(&slow);

    says(&slow.run("fleet collect").expect(0).stdout, &["12 runs collected, 0 already"]);
    says(&slow.run("fleet collect").expect(0).stdout, &["0 runs collected, 12 already"]);
    let report = slow.run("fleet report --json").expect(4).json();
    assert_eq!(in_state(&report, "undecided"), ["n8"], "{report:#}");
    assert_eq!(in_state(&report, "ok").len(), 11);
    says(&slow.run("fleet advice").expect(0).stdout, &["no node of campaign first is slow"]);

    says(&slow.run("fleet resume").expect(0).stdout, &["0 nodes and 4 jobs of pairs"]);
    says(&slow.run("fleet resume").expect(0).stdout, &["nothing to submit"]);
    cluster.wait(&slow);
    assert_eq!(titles(&slow), [] as [String; 0], "a suspect is no verdict");
    let report = slow.run("fleet report --json").expect(3).json();
    assert_eq!(in_state(&report, "slow"), ["n8"], "{report:#}");
    assert_eq!(in_state(&report, "ok").len(), 11);
    let metrics = slow.run("export --format openmetrics").expect(0).stdout;
    says(
        &metrics,
        &[
            "rsb_campaign_nodes{campaign=\"first\",state=\"ok\"} 11\n",
            "rsb_campaign_nodes{campaign=\"first\",state=\"slow\"} 1\n",
            "rsb_node_state{campaign=\"first\",node=\"n8\",state=\"slow\"} 1\n",
        ],
    );
    let slower = report["confirmations"]["n8"]["slower_percent"].as_f64().unwrap();
    assert!((slower - 10.0).abs() < 0.5, "{report:#}");
    says(&slow.run("fleet advice").expect(0).stdout, &["nodename=n8 state=drain", "% in pairs"]);
    let state = cluster.text("sinfo", &["-h", "-n", "n8", "-o", "%T"]);
    assert!(!state.contains("drain"), "advice is never run: {state}");
    says(&slow.run("fleet collect").expect(0).stdout, &["4 runs collected, 12 already"]);
    assert_eq!(run_count(&slow), 16);
    let sent = titles(&slow);
    assert_eq!(sent.len(), 1, "{sent:?}");
    says(&sent[0], &["campaign first: node slow: n8 +"]);

    slow.write("slow", "none");
    slow.run("fleet submit --campaign before").expect(0);
    cluster.wait(&slow);
    let compared = slow.run("fleet compare before first --threshold 5 --json").expect(3).json();
    check("fleet-comparison", &compared);
    let rows = compared["rows"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["node"] == "n8"), "{compared:#}");
    assert_eq!(compared["totals"]["no_verdict"], 0, "{compared:#}");
    slow.run("fleet compare before first --threshold 5 --node n8").expect(3);
    let class = slow.run("fleet compare before first --threshold 5 --class mi300x*").expect(0);
    says(&class.stdout, &["PASS: first against before, 6 nodes, threshold 5 %: 0 regressed"]);
    let back = slow.run("fleet compare first before --threshold 5").expect(0).stdout;
    says(&back, &["Improved", "2 improved"]);
    says(&slow.run("fleet compare first first").expect(2).stderr, &["name two campaigns"]);
    says(&slow.run("fleet compare first before --node n99").expect(2).stderr, &["no node of"]);

    let healthy = bench(&cluster, "none");
    healthy.run("fleet submit").expect(0);
    cluster.wait(&healthy);
    let report = healthy.run("fleet report --json").expect(0).json();
    assert_eq!(in_state(&report, "ok").len(), NODES.len(), "{report:#}");
    says(&healthy.run("fleet resume").expect(0).stdout, &["nothing to submit"]);
}

#[test]
fn a_cancelled_job_and_a_resumed_campaign_lose_and_double_nothing() {
    let Some(cluster) = Cluster::start() else { return };
    let bench = bench(&cluster, "none");
    bench.write("pause", "0.3");
    bench.run("fleet submit --campaign broken").expect(0);
    let running = first_running(&bench, "")["job"].to_string();
    cluster.text("scancel", &[&running]);
    bench.write("pause", "0");
    cluster.wait(&bench);
    let report = bench.run("fleet report --json").expect(4).json();
    let stopped = in_state(&report, "error");
    assert_eq!(stopped.len(), 1, "{report:#}");
    let collected = bench.run("fleet collect").expect(0).stdout;
    says(&collected, &["11 runs collected"]);

    says(&bench.run("fleet resume").expect(0).stdout, &["1 node and 0 jobs"]);
    let scripts = files_below(&bench.path("shared/broken/nodes"));
    let second = scripts.iter().find(|path| path.ends_with(format!("{}/job-002.sh", stopped[0])));
    let script = std::fs::read_to_string(second.unwrap()).unwrap();
    says(&script, &["run --resume"]);
    says(&bench.run("fleet resume").expect(0).stdout, &["nothing to submit"]);
    cluster.wait(&bench);
    assert_eq!(in_state(&bench.run("fleet report --json").expect(0).json(), "ok").len(), 12);
    says(&bench.run("fleet collect").expect(0).stdout, &["1 run collected, 11 already"]);
    let sent = titles(&bench);
    assert_eq!(sent.len(), 2, "{sent:?}");
    says(&sent[0], &["campaign broken: node without a result: ", &stopped[0]]);
    says(&sent[1], &["recovered: campaign broken: no node is reported as without a result"]);
    let mut cases = 0;
    for path in bench.run_files() {
        let run: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let results = run["benchmarks"].as_array().unwrap();
        assert!(results.iter().all(|case| case["samples"].as_array().unwrap().len() == 2), "{run}");
        cases += results.len();
    }
    assert_eq!((run_count(&bench), cases), (12, 24), "each case of each node once");

    bench.write("pause", "0.3");
    bench.run("fleet submit --campaign ended").expect(0);
    says(&bench.run("fleet cancel --campaign ended").expect(0).stdout, &["12 jobs cancelled"]);
    cluster.wait(&bench);
    assert_eq!(bench.run("fleet report --campaign ended").code, 4);
}

/// Waits until the status of a campaign, which another process may still create, has `part`.
pub fn wait_until(bench: &Bench, campaign: &str, part: &str) {
    let began = std::time::Instant::now();
    loop {
        let status = bench.run(&format!("fleet status --campaign {campaign}"));
        if status.stdout.contains(part) {
            return;
        }
        assert!(began.elapsed().as_secs() < 90, "{}{}", status.stdout, status.stderr);
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

/// Waits until a job has results, and returns its status.
pub fn first_running(bench: &Bench, node: &str) -> Value {
    let began = std::time::Instant::now();
    loop {
        let status = bench.run("fleet status --json").expect(0).json();
        let nodes = status["nodes"].as_array().unwrap();
        let is_measuring = |one: &&Value| {
            one["state"] == "running"
                && one["done"] != 0
                && (node.is_empty() || one["node"] == node)
        };
        if let Some(found) = nodes.iter().find(is_measuring) {
            return found.clone();
        }
        assert!(began.elapsed().as_secs() < 180, "{status:#}");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

#[test]
fn a_fault_of_a_node_or_the_controller_costs_no_other_node() {
    let Some(cluster) = Cluster::start() else { return };
    let bench = bench(&cluster, "none");
    cluster.text("scontrol", &["update", "nodename=n0", "state=drain", "reason=test"]);
    let program = env!("CARGO_BIN_EXE_rusty-stack-bench");
    let other = format!(
        "#!/bin/sh\n[ \"$SLURMD_NODENAME $1\" = 'n1 --version' ] && echo old && exit\nexec {program} \
         \"$@\"\n"
    );
    let path = bench.write("program", &other);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = std::fs::read_to_string(bench.path("fleet.toml")).unwrap();
    bench.write("fleet.toml", &config.replace(program, &path.display().to_string()));
    bench.write("pause", "0.2");
    bench.run("fleet submit --campaign faults").expect(0);

    first_running(&bench, "n2");
    cluster.kill_node("n2");
    cluster.stop_controller();
    let status = bench.run("fleet status").expect(0).stdout;
    says(&status, &["the scheduler does not answer", "another version"]);
    let failed = bench.run("fleet submit --campaign never").expect(1).stderr;
    says(&failed, &["Unable to contact slurm controller"]);
    bench.write("pause", "0");
    cluster.start_controller();
    cluster.wait(&bench);
    let written = files_below(&bench.path("shared/faults/nodes"));
    let is_run = |path: &std::path::Path| path.extension().is_some_and(|end| end == "json");
    let of_n3 = |path: &std::path::Path| path.display().to_string().contains("/n3/results.");
    let torn = written.into_iter().find(|path| is_run(path) && of_n3(path)).unwrap();
    let text = std::fs::read(&torn).unwrap();
    std::fs::write(&torn, &text[..text.len() / 2]).unwrap();

    says(&bench.run("fleet collect").expect(1).stdout, &["9 runs collected", "1 unreadable"]);
    let report = bench.run("fleet report --json").expect(4).json();
    assert_eq!(in_state(&report, "error"), ["n1", "n3"], "{report:#}");
    let text = bench.run("fleet report").expect(4).stdout;
    says(&text, &["another version", "skipped: node n0", "drained"]);
    bench.write("program", &format!("#!/bin/sh\nexec {program} \"$@\"\n"));
    says(&bench.run("fleet resume").expect(0).stdout, &["2 nodes and 0 jobs"]);
    cluster.wait(&bench);
    says(&bench.run("fleet collect").expect(1).stdout, &["2 runs collected, 9 already"]);
    assert_eq!(in_state(&bench.run("fleet report --json").expect(0).json(), "ok").len(), 11);
}

/// Returns the files below `dir`.
pub fn files_below(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

#[test]
fn what_cannot_run_is_refused_with_the_cure_and_nothing_is_submitted() {
    let Some(cluster) = Cluster::start() else { return };
    let bench = bench(&cluster, "none");
    let good = std::fs::read_to_string(bench.path("fleet.toml")).unwrap();
    for (before, after, expected) in [
        ("partition = \"main\"", "partition = \"no\"", "`slurm.partition`"),
        ("[slurm]\n", "submissions_per_second = 0\n[slurm]\n", "`submissions_per_second`"),
        ("[slurm]\n", "[slurm]\nconstraint = \"h100\"\n", "mi250, mi300x"),
        ("[slurm]\n", "[slurm]\nconstraint = \"(h100|h200)\"\n", "`slurm.constraint`"),
        ("[slurm]\n", "[slurm]\ngres = \"gpu:9\"\n", "`slurm.gres`"),
        ("[slurm]\n", "[slurm]\npartion = \"main\"\n", "did you mean `partition`?"),
        ("/shared\"", "/fleet.toml/x\"", "`results_dir`"),
        ("minutes = 1", "minutes = 1\nclasses = [\"h100*\"]", "no suite is for its class"),
    ] {
        assert!(good.contains(before), "{before}");
        bench.write("fleet.toml", &good.replace(before, after));
        says(&bench.run("fleet submit").expect(2).stderr, &[expected]);
        assert_eq!(cluster.text("squeue", &["-h", "--states=all"]), "", "{after}");
        assert!(!bench.path("shared").exists(), "{after}");
    }
    bench.write("fleet.toml", &good);
    bench.run("fleet submit --campaign No").expect(2);
    let missing = bench.run("fleet report").expect(2).stderr;
    says(&missing, &["no campaign in", "`fleet submit`"]);
}

#[test]
fn without_a_scheduler_the_cure_is_named() {
    let bench = Bench::new().set("PATH", "/nonexistent");
    says(&bench.run("fleet plan").expect(2).stderr, &["`fleet init`", "--file"]);
    says(&bench.run("fleet init").expect(2).stderr, &["no `sinfo` in PATH", "login node"]);
    assert!(!bench.path("fleet.toml").exists());
    bench.write(
        "fleet.toml",
        "results_dir = \"/tmp\"
[slurm]
[[suite]]
suite = \"quick\"
minutes = 1
",
    );
    says(&bench.run("fleet submit").expect(2).stderr, &["no `sinfo` in PATH", "login node"]);
}
