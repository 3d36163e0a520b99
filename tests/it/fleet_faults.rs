//! Faults of a cluster that end without a lost or doubled case.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::preload::shared_library;
use crate::common::slurm::{Cluster, NODES};
use crate::common::{Bench, says};
use crate::fleet::{bench, files_below, first_running, in_state, run_count};

/// A wall clock that is an hour ahead.
const CLOCK_AHEAD: &str = "#define _GNU_SOURCE\n\
    #include <sys/syscall.h>\n\
    #include <time.h>\n\
    #include <unistd.h>\n\
    int clock_gettime(clockid_t clock, struct timespec *time) {\n\
        int result = syscall(SYS_clock_gettime, clock, time);\n\
        if (clock == CLOCK_REALTIME) time->tv_sec += 3600;\n\
        return result;\n\
    }\n";

/// Replaces `before` in the configuration.
fn configure(bench: &Bench, before: &str, after: &str) {
    let config = std::fs::read_to_string(bench.path("fleet.toml")).unwrap();
    assert!(config.contains(before), "{config}");
    bench.write("fleet.toml", &config.replace(before, after));
}

/// Waits until `is_done` holds.
fn wait_for(what: &str, mut is_done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_done() {
        assert!(began.elapsed() < Duration::from_mins(3), "{what}");
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// Returns the reason of the report for `node`.
fn reason(report: &Value, node: &str) -> String {
    let nodes = report["nodes"].as_array().unwrap();
    let found = nodes.iter().find(|one| one["name"] == node).unwrap();
    found["reason"].as_str().unwrap().to_owned()
}

/// Checks that the store has one run of two cases for each of `nodes` nodes.
fn each_case_is_stored_once(bench: &Bench, nodes: usize) {
    assert_eq!(run_count(bench), nodes);
    let mut stored = Vec::new();
    for path in bench.run_files() {
        let run: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let cases = run["benchmarks"].as_array().unwrap();
        assert_eq!(cases.len(), 2, "{run:#}");
        for case in cases {
            assert_eq!(case["outcome"], "measured", "{case:#}");
            stored.push(format!("{} {}", run["notes"], case["benchmark_id"]));
        }
    }
    stored.sort();
    stored.dedup();
    assert_eq!(stored.len(), 2 * nodes, "{stored:#?}");
}

#[test]
fn faults_of_five_jobs_at_once_lose_and_double_no_case() {
    let Some(cluster) = Cluster::start() else { return };
    let bench = bench(&cluster, "none");
    let Some(clock) = shared_library(&bench, CLOCK_AHEAD) else { return };
    let preload = format!("[ \\\"$node\\\" = n5 ] && export LD_PRELOAD={}", clock.display());
    configure(&bench, "setup = [", &format!("setup = [\"{preload}\", "));
    configure(&bench, "max_parallel = 1", "max_parallel = 12");
    cluster.fail_prolog("n1", true);
    cluster.rename_node("n2", "n3");
    bench.write("pause-n0", "0.3");
    bench.write("pause-n4", "0.3");
    bench.run("fleet submit --campaign faults").expect(0);

    let job_of = |node: &str| first_running(&bench, node)["job"].to_string();
    let limited = job_of("n0");
    let requeued = job_of("n4");
    bench.write("pause-n0", "5");
    bench.write("pause-n4", "5");
    let update = |job: &str, change: &str| {
        cluster.text("scontrol", &["update", &format!("jobid={job}"), change]);
    };
    update(&limited, "EndTime=now+1");
    update(&requeued, "requeue=1");
    cluster.text("scontrol", &["requeue", &requeued]);
    // The queue has the job again, so its first end is not final.
    let of_requeued = || {
        let status = bench.run("fleet status --json").expect(0).json();
        let nodes = status["nodes"].as_array().unwrap().clone();
        nodes.into_iter().find(|one| one["node"] == "n4").unwrap()
    };
    wait_for("n4 is queued again", || of_requeued()["state"] == "queued");
    assert_eq!(of_requeued()["job"].to_string(), requeued);
    wait_for("the job of n4 runs on n6", || {
        update(&requeued, "ReqNodeList=n6");
        update(&requeued, "StartTime=now+1");
        std::thread::sleep(Duration::from_secs(3));
        of_requeued()["state"] == "failed"
    });
    cluster.wait(&bench);

    let report = bench.run("fleet report --json").expect(4).json();
    for (node, expected) in [
        ("n0", "stopped: cancelled, or at its time limit"),
        ("n1", "ended as CANCELLED without a completion marker"),
        ("n2", "ran on n3 instead of n2"),
        ("n4", "ran on n6 instead of n4"),
    ] {
        says(&reason(&report, node), &[expected]);
    }
    assert_eq!(in_state(&report, "error"), ["n0", "n1", "n2", "n4"], "{report:#}");
    assert_eq!(in_state(&report, "undecided"), ["n3", "n5"], "two are no class: {report:#}");
    says(&bench.run("fleet collect").expect(0).stdout, &["8 runs collected"]);

    cluster.fail_prolog("n1", false);
    cluster.rename_node("n2", "n2");
    bench.write("pause-n0", "0");
    bench.write("pause-n4", "0");
    says(&bench.run("fleet resume").expect(0).stdout, &["4 nodes and 0 jobs"]);
    cluster.wait(&bench);
    let report = bench.run("fleet report --json").expect(0).json();
    assert_eq!(in_state(&report, "ok").len(), NODES.len(), "{report:#}");
    says(&bench.run("fleet collect").expect(0).stdout, &["4 runs collected, 8 already"]);
    each_case_is_stored_once(&bench, NODES.len());
}

/// A small file system of its own, unmounted when this value is dropped.
struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// Mounts 24 MB at `path`, or records why that is not possible.
    fn mount(path: PathBuf) -> Option<Self> {
        std::fs::create_dir_all(&path).unwrap();
        let disk = Self { path };
        let arguments = ["-t", "tmpfs", "-o", "size=24m", "fleet"];
        let is_mounted = disk.command("mount", &arguments);
        if !is_mounted {
            test_needs::missing("mount", "no temporary file system can be mounted here");
            return None;
        }
        Some(disk)
    }

    fn command(&self, program: &str, arguments: &[&str]) -> bool {
        let output = Command::new(program).args(arguments).arg(&self.path).output();
        output.is_ok_and(|output| output.status.success())
    }

    /// Fills the disk with one file.
    fn fill(&self) {
        let mut filled = std::fs::File::create(self.path.join("filler")).unwrap();
        while std::io::Write::write_all(&mut filled, &[1; 4096]).is_ok() {}
    }

    fn empty(&self) {
        std::fs::remove_file(self.path.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.command("umount", &["--lazy"]);
    }
}

#[test]
fn a_shared_directory_that_cannot_be_written_for_a_while_costs_no_case() {
    let Some(cluster) = Cluster::start() else { return };
    let bench = bench(&cluster, "none");
    configure(&bench, "max_parallel = 1", "max_parallel = 6");
    let Some(disk) = SmallDisk::mount(bench.path("shared")) else { return };
    cluster.text("scontrol", &["update", "partitionname=main", "state=down"]);
    bench.run("fleet submit --campaign faults").expect(0);
    assert!(disk.command("mount", &["-o", "remount,ro"]));
    let refused = bench.run("fleet submit --campaign other").expect(2).stderr;
    says(&refused, &["cannot create", "`results_dir`"]);
    cluster.text("scontrol", &["update", "partitionname=main", "state=up"]);
    let failed = ["-h", "--states=FAILED", "-o", "%r"];
    wait_for("a job fails", || cluster.text("squeue", &failed).contains("JobLaunchFailure"));
    assert!(disk.command("mount", &["-o", "remount,rw"]));
    cluster.wait(&bench);

    bench.write("pause", "0.2");
    bench.run("fleet resume").expect(0);
    first_running(&bench, "");
    disk.fill();
    std::thread::sleep(Duration::from_secs(5));
    says(&bench.run("fleet collect").stdout, &["collected"]);
    disk.empty();
    bench.write("pause", "0");
    cluster.wait(&bench);
    for _ in 0..3 {
        bench.run("fleet resume").expect(0);
        cluster.wait(&bench);
    }
    let report = bench.run("fleet report --json").expect(0).json();
    assert_eq!(in_state(&report, "ok").len(), NODES.len(), "{report:#}");
    bench.run("fleet collect");
    each_case_is_stored_once(&bench, NODES.len());
}

#[test]
fn two_campaigns_at_once_and_nodes_without_their_gpus_mix_no_results() {
    let Some(cluster) = Cluster::start() else { return };
    let bench = bench(&cluster, "none");
    let short = ["n5", "n11"];
    for node in short {
        cluster.remove_gpus(node);
    }
    configure(&bench, "max_parallel = 1", "max_parallel = 12");
    bench.run("fleet submit --campaign one").expect(0);
    bench.run("fleet submit --campaign two").expect(0);
    for campaign in ["one", "two"] {
        wait_for(campaign, || {
            let status = bench.run(&["fleet", "status", "--json", "--campaign", campaign]);
            let nodes = status.expect(0).json()["nodes"].as_array().unwrap().clone();
            assert_eq!(nodes.len(), 10, "{nodes:#?}");
            nodes.iter().all(|node| node["state"] == "done")
        });
        let report = bench.run(&["fleet", "report", "--campaign", campaign]).expect(0).stdout;
        says(&report, &["skipped: node n11", "inval", &format!("{campaign}: 10 ok")]);
        let collect = ["fleet", "collect", "--campaign", campaign];
        says(&bench.run(&collect).expect(0).stdout, &["10 runs collected, 0 already"]);
    }
    each_case_is_stored_once(&bench, 20);
    assert!(Path::new(&bench.path("shared/one")).is_dir());
}

#[test]
fn a_burn_in_continues_after_an_eviction_and_reports_the_drift_of_a_node() {
    let Some(cluster) = Cluster::start() else { return };
    let bench = bench(&cluster, "none");
    configure(&bench, "max_parallel = 1", "max_parallel = 6");
    configure(&bench, "[slurm]\n", "[slurm]\nconstraint = \"mi300x\"\n");
    bench.run("fleet submit --campaign burn --duration 40s").expect(0);
    let segments = |node: &str| {
        let written = files_below(&bench.path("shared/burn/nodes"));
        let is_run = |path: &&PathBuf| {
            let is_of_node = path.display().to_string().contains(&format!("/{node}/results."));
            is_of_node && path.extension().is_some_and(|end| end == "json")
        };
        written.iter().filter(is_run).count()
    };
    wait_for("each node has a segment", || NODES[..6].iter().all(|node| segments(node) > 0));
    let evicted = first_running(&bench, "n5")["job"].to_string();
    cluster.text("scancel", &[&evicted]);
    // After the first quarter of the segments, and before the last.
    std::thread::sleep(Duration::from_secs(12));
    bench.write("slow", "n3");
    cluster.wait(&bench);
    let report = bench.run("fleet report --json").expect(3).json();
    assert_eq!(in_state(&report, "error"), ["n5"], "{report:#}");
    let segments_of =
        |report: &Value| report["burn_in"]["nodes"]["n5"]["segments"].as_u64().unwrap_or_default();
    let before = segments_of(&report);

    says(&bench.run("fleet resume").expect(0).stdout, &["1 node and 4 jobs of pairs"]);
    cluster.wait(&bench);
    let report = bench.run("fleet report --json").expect(3).json();
    assert_eq!(in_state(&report, "error"), [] as [String; 0], "{report:#}");
    let burn_in = &report["burn_in"];
    for node in &NODES[..6] {
        let node = &burn_in["nodes"][*node];
        assert!(node["segments"].as_u64().unwrap() >= 2, "{report:#}");
    }
    assert!(segments_of(&report) > before, "{report:#}");
    let drift = burn_in["drift"].as_array().unwrap();
    let moved = drift.iter().filter(|row| row["comparison"]["verdict"] == "Regressed");
    let moved: Vec<&Value> = moved.collect();
    assert_eq!(moved.len(), 2, "{moved:#?}");
    for row in moved {
        assert_eq!(row["node"], "n3", "{row:#}");
        let low = row["comparison"]["confidence_interval"][0].as_f64().unwrap();
        assert!((9.0..10.1).contains(&low), "{row:#}");
    }
    let text = bench.run("fleet report").expect(3).stdout;
    says(&text, &["burn-in of n5: ", " segments in 0.0 h; cpu_performance/scripted", "Regressed"]);
    says(&bench.run("fleet resume").expect(0).stdout, &["nothing to submit"]);
}
