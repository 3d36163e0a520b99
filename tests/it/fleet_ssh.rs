//! Campaigns on six nodes without a scheduler, which real servers of OpenSSH on the loopback
//! interface stand for, with times from a script.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::sshd::{HOSTS, Hosts};
use crate::common::{Bench, says};
use crate::fleet::{files_below, first_running, in_state, run_count, scripted, wait_until};

const ENGINE: &str = "[ssh]\nhosts = [\"n0\", \"n1\", \"n2\", \"n3\", \"n4\", \
                      \"n5\"]\nlabels = { mi300x = [\"n*\"], rack-1 = [\"n0\", \"n1\"] }\n";

fn bench(hosts: &Hosts, slow: &str, max_parallel: usize) -> Bench {
    let bench = scripted(hosts.bench(), slow, ENGINE);
    let config = fs::read_to_string(bench.path("fleet.toml")).unwrap();
    let parallel = format!("max_parallel = {max_parallel}");
    bench.write("fleet.toml", &config.replace("max_parallel = 1", &parallel));
    bench
}

/// Returns the maximum number of jobs below `dir` that ran at the same time, by their markers.
fn most_at_once(dir: &Path) -> usize {
    let mut times: BTreeMap<String, Vec<i128>> = BTreeMap::new();
    for file in files_below(dir) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if let Some(job) = name.strip_prefix("start.").or_else(|| name.strip_prefix("end.")) {
            let data = fs::metadata(&file).unwrap();
            let time = i128::from(data.mtime()) * 1_000_000_000 + i128::from(data.mtime_nsec());
            let job = format!("{} {job}", file.parent().unwrap().display());
            times.entry(job).or_default().push(time);
        }
    }
    let spans: Vec<(i128, i128)> = times
        .values()
        .map(|both| (*both.iter().min().unwrap(), *both.iter().max().unwrap()))
        .collect();
    let at = |time: i128| spans.iter().filter(|(from, to)| *from <= time && time < *to).count();
    spans.iter().map(|(from, _)| at(*from)).max().unwrap_or(0)
}

#[test]
fn one_slow_host_of_six_is_called_after_its_pairs() {
    let Some(hosts) = Hosts::start() else { return };
    let bench = bench(&hosts, "n3", 2);
    let nodes = bench.run("fleet nodes --json").expect(0).json();
    let classes = nodes["classes"].as_array().unwrap();
    assert_eq!(classes.len(), 1, "{nodes:#}");
    assert_eq!(classes[0]["nodes"].as_array().unwrap().len(), 6);
    says(classes[0]["name"].as_str().unwrap(), &["mi300x"]);
    says(&bench.run("fleet plan").expect(0).stdout, &["6 nodes, 3 min"]);
    let submitted = bench.run("fleet submit --campaign first").expect(0);
    says(&submitted.stdout, &["6 nodes"]);
    says(&submitted.stderr, &["4 jobs wait for others to end"]);
    hosts.wait(&bench);
    assert!(most_at_once(&bench.path("shared/first/nodes")) <= 2);
    let report = bench.run("fleet report --json").expect(4).json();
    assert_eq!(in_state(&report, "undecided"), ["n3"], "{report:#}");
    says(&bench.run("fleet resume").expect(0).stdout, &["0 nodes and 4 jobs of pairs"]);
    hosts.wait(&bench);
    assert_eq!(most_at_once(&bench.path("shared/first/pairs")), 1, "pairs alternate");
    let report = bench.run("fleet report --json").expect(3).json();
    assert_eq!(in_state(&report, "slow"), ["n3"], "{report:#}");
    assert_eq!(in_state(&report, "ok").len(), 5);
    says(&bench.run("fleet collect").expect(0).stdout, &["10 runs collected, 0 already"]);
    let advice = bench.run("fleet advice").expect(0).stdout;
    says(&advice, &["remove n3 from `ssh.hosts`"]);
    assert!(!advice.contains("scontrol"), "{advice}");
}

#[test]
fn an_interrupted_submission_and_cancelled_jobs_lose_and_double_nothing() {
    let Some(hosts) = Hosts::start() else { return };
    let bench = bench(&hosts, "none", 2);
    bench.write("pause", "0.5");
    let mut command = bench.command("fleet submit --campaign stopped");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(&bench, "stopped", "2 running");
    first_running(&bench, "n0");
    let refused = bench.run("fleet cancel").expect(2).stderr;
    says(&refused, &["another process submits jobs", "Ctrl-C"]);
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    child.wait().unwrap();
    says(&bench.run("fleet cancel").expect(0).stdout, &["2 jobs cancelled"]);
    hosts.wait(&bench);
    let status = bench.run("fleet status").expect(0).stdout;
    says(&status, &["stopped: cancelled, or at its time limit", "4 not submitted"]);
    assert_eq!(bench.run("fleet report").code, 4);

    bench.write("pause", "0");
    says(&bench.run("fleet resume").expect(0).stdout, &["6 nodes and 0 jobs"]);
    hosts.wait(&bench);
    assert_eq!(in_state(&bench.run("fleet report --json").expect(0).json(), "ok").len(), 6);
    says(&bench.run("fleet collect").expect(0).stdout, &["6 runs collected, 0 already"]);
    assert_eq!(run_count(&bench), HOSTS.len());
    let scripts = files_below(&bench.path("shared/stopped/nodes"));
    let second: Vec<&PathBuf> =
        scripts.iter().filter(|path| path.ends_with("job-002.sh")).collect();
    assert_eq!(second.len(), 2, "{scripts:?}");
    let of_n0 = second.iter().find(|path| path.ends_with("n0/job-002.sh")).unwrap();
    says(&fs::read_to_string(of_n0).unwrap(), &["run --resume"]);
}

#[test]
fn a_host_that_does_not_answer_delays_no_other() {
    let Some(mut hosts) = Hosts::start() else { return };
    let bench = bench(&hosts, "none", 1);
    hosts.stop_host("n5");
    let nodes = bench.run("fleet nodes").expect(0).stdout;
    says(&nodes, &["not reachable: ", "Connection refused", "idle"]);
    says(&bench.run("fleet plan").expect(0).stdout, &["skipped: node n5", "5 nodes"]);
    bench.write("pause", "0.3");
    let mut command = bench.command("fleet submit --campaign partial");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(&bench, "partial", "1 running");
    hosts.stop_host("n4");
    bench.write("pause", "0");
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    says(&stderr, &["warning: n4 was not started"]);
    hosts.wait(&bench);
    says(&bench.run("fleet status").expect(0).stdout, &["could not be started", "4 done"]);
    hosts.start_host("n4");
    says(&bench.run("fleet resume").expect(0).stdout, &["1 node and 0 jobs"]);
    hosts.wait(&bench);
    says(&bench.run("fleet collect").expect(0).stdout, &["5 runs collected"]);
}

#[test]
fn a_lost_process_and_a_second_campaign_are_named() {
    let Some(hosts) = Hosts::start() else { return };
    let bench = bench(&hosts, "none", 6);
    bench.write("pause", "5");
    bench.run("fleet submit --campaign one").expect(0);
    let began = Instant::now();
    while bench.run("fleet nodes").expect(0).stdout.matches("busy").count() < HOSTS.len() {
        assert!(began.elapsed() < Duration::from_mins(1));
    }
    bench.run("fleet submit --campaign two").expect(0);
    hosts.wait(&bench);
    let status = bench.run("fleet status --campaign two").expect(0).stdout;
    says(&status, &["another job of this account measured on it", "6 failed"]);
    let file = files_below(&bench.path("shared/one/nodes"))
        .into_iter()
        .find(|path| path.to_string_lossy().contains("/n0/pid."))
        .unwrap();
    let pid: i32 = fs::read_to_string(file).unwrap().trim().parse().unwrap();
    rustix::process::kill_process_group(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let status = bench.run("fleet status --campaign one").expect(0).stdout;
    says(&status, &["left the queue, but its results are recent"]);
    says(&bench.run("fleet cancel --campaign one").expect(0).stdout, &["6 jobs cancelled"]);
    wait_until(&bench, "one", "5 failed");
}

#[test]
fn what_ssh_refuses_is_named_with_the_cure_and_nothing_is_started() {
    let Some(hosts) = Hosts::start() else { return };
    let bench = bench(&hosts, "none", 1);
    let good = fs::read_to_string(bench.path("fleet.toml")).unwrap();
    let option = |option: &str| format!("[ssh]\noptions = [\"{option}\"]\n");
    for (engine, expected) in [
        ("[ssh]\nhostss = []\n", "did you mean `hosts`?"),
        (&option("UserKnownHostsFile=/dev/null"), "accept the key of the host"),
        (&option("PubkeyAuthentication=no"), "must work without a password"),
        (&option("NoSuchOption=1"), "correct `ssh.options`"),
        (&option("HostName=no-such-host.invalid"), "correct it in `ssh.hosts`"),
    ] {
        bench.write("fleet.toml", &good.replace("[ssh]\n", engine));
        says(&bench.run("fleet submit").expect(2).stderr, &[expected]);
        assert!(!bench.path("shared").exists(), "{engine}");
    }
    bench.write("fleet.toml", &good);
    let without = bench.set("PATH", "/nonexistent");
    says(&without.run("fleet submit").expect(2).stderr, &["no `ssh` in PATH", "OpenSSH"]);
    assert!(!without.path("shared").exists());
}
