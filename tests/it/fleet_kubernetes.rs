//! Campaigns on Kubernetes: manifests are checked against the published schemas, and the real
//! `kubectl` talks to a double of the API. No control plane is started.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::common::jobs::wait_for_jobs;
use crate::common::kubernetes::Api;
use crate::common::{Bench, says};
use crate::fleet::{in_state, run_count, scripted, wait_until};

const ENGINE: &str = "[kubernetes]\nimage = \"registry.example.com/bench:1\"\nnamespace = \
                      \"bench\"\nqueue = \"nightly\"\nhost_path = \"/shared\"\ntolerations = \
                      [\"amd.com/gpu\"]\nlimits = { \"amd.com/gpu\" = \"8\" }\n";

fn scripted_bench(bench: Bench, slow: &str, max_parallel: usize) -> Bench {
    let bench = scripted(bench, slow, ENGINE);
    edit(&bench, "max_parallel = 1", &format!("max_parallel = {max_parallel}"));
    bench
}

fn edit(bench: &Bench, before: &str, after: &str) {
    let config = fs::read_to_string(bench.path("fleet.toml")).unwrap();
    assert!(config.contains(before), "{config}");
    bench.write("fleet.toml", &config.replace(before, after));
}

#[test]
fn manifests_are_valid_and_need_no_kubectl() {
    let bench = scripted_bench(Bench::new().set("PATH", "/nonexistent"), "none", 2);
    says(&bench.run("fleet submit").expect(2).stderr, &["no `kubectl` in PATH", "manifests"]);
    edit(&bench, "namespace =", "nodes = [\"n0\", \"n1\"]\nnamespace =");
    let printed = bench.run("fleet manifests --campaign weekly").expect(0);
    says(&printed.stderr, &["campaign weekly: nothing was created"]);
    let items = printed.json()["items"].as_array().unwrap().clone();
    let names: Vec<&str> =
        items.iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["rsb-weekly-1", "rsb-weekly-2"]);
    edit(&bench, "host_path = \"/shared\"", "claim = \"fleet\"");
    let claim = bench.run("fleet manifests --campaign claimed").expect(0).json()["items"].clone();
    says(&bench.run("fleet status --campaign weekly").expect(0).stdout, &["no `kubectl` in PATH"]);
    let slurm = Bench::new();
    scripted(slurm, "none", "[slurm]\n").run("fleet manifests").expect(2);

    let Ok(validate) = std::env::var("RSB_KUBERNETES_VALIDATE") else {
        test_needs::missing("kubernetes-schema", "RSB_KUBERNETES_VALIDATE names no program");
        return;
    };
    for (at, item) in items.iter().chain(claim.as_array().unwrap()).enumerate() {
        let path = bench.write(&format!("manifest-{at}.json"), &item.to_string());
        for version in ["1.27", "1.32", "1.37"] {
            let mut command = Command::new(&validate);
            let output = command.args(["--strict", "-k", version]).arg(&path).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{version}: {text}\n{item:#}");
        }
    }
    let mut wrong = items[0].clone();
    wrong["spec"]["backofLimit"] = Value::from(0);
    let path = bench.write("wrong.json", &wrong.to_string());
    let status = Command::new(&validate).arg("--strict").arg(path).output().unwrap().status;
    assert!(!status.success(), "a wrong key must be found");
}

#[test]
fn one_slow_node_of_six_is_called_after_its_pairs() {
    let Some(api) = Api::start() else { return };
    let bench = scripted_bench(api.bench(), "n3", 2);
    let nodes = bench.run("fleet nodes").expect(0).stdout;
    says(&nodes, &["MI300X:8gpu", "cordoned", "tainted: node-role.kubernetes.io/control-plane"]);
    let plan = bench.run("fleet plan").expect(0).stdout;
    says(&plan, &["skipped: node n6", "skipped: node n7", "6 nodes"]);
    says(&bench.run("fleet submit --campaign first").expect(0).stdout, &["6 nodes"]);
    wait_for_jobs(&bench, String::new);
    assert!(api.most_at_once() <= 2);
    assert_eq!(api.jobs().len(), 6);
    let report = bench.run("fleet report --json").expect(4).json();
    assert_eq!(in_state(&report, "undecided"), ["n3"], "{report:#}");
    says(&bench.run("fleet resume").expect(0).stdout, &["0 nodes and 4 jobs of pairs"]);
    wait_for_jobs(&bench, String::new);
    let report = bench.run("fleet report --json").expect(3).json();
    assert_eq!(in_state(&report, "slow"), ["n3"], "{report:#}");
    assert_eq!(in_state(&report, "ok").len(), 5);
    says(&bench.run("fleet collect").expect(0).stdout, &["10 runs collected, 0 already"]);
    says(&bench.run("fleet advice").expect(0).stdout, &["kubectl cordon n3  # rusty-stack-bench"]);
}

#[test]
fn a_pending_pod_and_cancelled_jobs_lose_and_double_nothing() {
    let Some(api) = Api::start() else { return };
    let bench = scripted_bench(api.bench(), "none", 6);
    api.fill(Some("n5"));
    bench.write("pause", "2");
    bench.run("fleet submit --campaign stopped").expect(0);
    wait_until(&bench, "stopped", "5 running");
    let status = bench.run("fleet status").expect(0).stdout;
    says(&status, &["1 Insufficient amd.com/gpu"]);
    says(&bench.run("fleet cancel").expect(0).stdout, &["6 jobs cancelled"]);
    assert_eq!(api.jobs(), [] as [Value; 0]);
    bench.write("pause", "0");
    api.fill(None);
    wait_until(&bench, "stopped", "5 failed");
    says(&bench.run("fleet resume").expect(0).stdout, &["5 nodes and 0 jobs"]);
    // The sixth was cancelled before it started, which is only known two minutes after its
    // submission.
    wait_until(&bench, "stopped", "5 done");
    says(&bench.run("fleet collect").expect(0).stdout, &["5 runs collected, 0 already"]);
    assert_eq!(run_count(&bench), 5);
}

#[test]
fn what_the_cluster_refuses_is_named_with_the_cure_and_nothing_is_created() {
    let Some(api) = Api::start() else { return };
    let bench = scripted_bench(api.bench(), "none", 6);
    let good = fs::read_to_string(bench.path("fleet.toml")).unwrap();
    api.forbid();
    for (before, after, expected) in [
        ("[kubernetes]", "[kubernetes]\ncontext = \"other\"", "`kubernetes.context`"),
        ("[kubernetes]", "[kubernetes]\nnodse = []", "did you mean `nodes`?"),
        ("[kubernetes]", "[kubernetes]", "a role that may create jobs"),
        ("minutes = 1", "minutes = 1\nclasses = [\"h100*\"]", "no suite is for its class"),
    ] {
        bench.write("fleet.toml", &good.replace(before, after));
        says(&bench.run("fleet submit").expect(2).stderr, &[expected]);
        assert_eq!(api.jobs(), [] as [Value; 0], "{after}");
        assert!(!bench.path("shared").exists(), "{after}");
    }
}
