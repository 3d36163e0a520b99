//! Waiting for the jobs of a campaign.

use std::time::{Duration, Instant};

use super::Bench;
use super::slurm::Cluster;

/// Maximum time to wait.
const LONGEST: Duration = Duration::from_mins(3);

impl Cluster {
    /// Waits until all jobs of `bench` have ended.
    pub fn wait(&self, bench: &Bench) {
        wait_for_jobs(bench, || self.text("squeue", &["-a"]));
    }
}

/// Waits until all jobs of `bench` have ended. `log` is shown if they do not.
pub fn wait_for_jobs(bench: &Bench, log: impl Fn() -> String) {
    let began = Instant::now();
    loop {
        let status = bench.run("fleet status --json").expect(0).json();
        let nodes = status["nodes"].as_array().unwrap();
        let ended = ["done", "failed"].map(serde_json::Value::from);
        let is_active =
            |node: &serde_json::Value| node["state"].is_string() && !ended.contains(&node["state"]);
        if !nodes.iter().any(is_active) {
            return;
        }
        assert!(began.elapsed() < LONGEST, "{status:#}\n{}", log());
        std::thread::sleep(Duration::from_millis(300));
    }
}
