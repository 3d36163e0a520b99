//! A made-up campaign: the directory that its jobs leave behind, without samples beyond one time
//! per process.

use std::fs;
use std::io;
use std::path::Path;

use rsb_fleet::{FleetNode, NodeTask, node_directory};
use rsb_model::environment::Cpu;
use rsb_model::{
    BenchmarkResult, CaseId, DeviceType, Environment, Fields, Outcome, Run, RunId, Samples,
    Timestamp,
};
use serde_json::{Value, json};

/// Number of processes per case.
const PROCESSES: u32 = 5;
/// Time from the creation to the first run, in seconds.
const BEGINS_AFTER: i64 = 3600;

/// Describes the campaign.
#[derive(Clone, Copy)]
pub struct MadeUpCampaign<'a> {
    /// `results_dir` of the configuration.
    pub results_dir: &'a str,
    /// Name of the campaign.
    pub name: &'a str,
    /// Time of its creation, in seconds since 1970.
    pub created: i64,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of cases of each node.
    pub cases: u32,
    /// Every node of this number, of the nodes from 0, is 10 % slow; none if it is 0.
    pub slow_every: u32,
}

impl MadeUpCampaign<'_> {
    /// Returns a `fleet.toml` for it, which ends with the lines `more`.
    pub fn configuration(&self, more: &str) -> String {
        format!(
            "results_dir = \"{}\"\n[slurm]\n[[suite]]\nsuite = \"custom\"\nminutes = 1\n{more}",
            self.results_dir
        )
    }

    /// Writes the plan, the list of jobs, and for each node its markers and its run.
    pub fn write(&self) -> io::Result<()> {
        let names: Vec<String> = (0..self.nodes).map(|at| format!("n{at:05}")).collect();
        let nodes: Vec<FleetNode> = names.iter().map(FleetNode::new).collect();
        let tasks: Vec<Value> = names.iter().map(|name| task(name)).collect();
        for task in tasks.iter().take(1) {
            serde_json::from_value::<NodeTask>(task.clone())?;
        }
        let plan = json!({
            "format_version": rsb_model::format::FORMAT_VERSION,
            "name": self.name,
            "created": Timestamp::from_second(self.created).map_err(io::Error::other)?,
            "version": "rusty-stack-bench 0.1.0",
            "nodes": nodes,
            "tasks": tasks,
            "skipped": [],
        });
        let root = Path::new(self.results_dir).join(self.name);
        fs::create_dir_all(&root)?;
        fs::write(root.join("campaign.json"), plan.to_string())?;
        let mut jobs = String::new();
        for (at, name) in (0..).zip(&names) {
            jobs.extend(["\n".to_owned(), json!({ "job": at + 1, "node": name }).to_string()]);
            self.write_node(at, name)?;
        }
        fs::write(root.join("jobs.jsonl"), jobs)
    }

    fn write_node(&self, at: u32, name: &str) -> io::Result<()> {
        let directory = node_directory(self.results_dir, self.name, name);
        let job = at + 1;
        let dir = Path::new(&directory);
        let runs = dir.join(format!("results.{job}.0/1/runs"));
        fs::create_dir_all(&runs)?;
        let marker = format!("campaign={}\nnode={name}\njob={job}.0\n", self.name);
        fs::write(dir.join("job-001.sh"), "#!/bin/sh\n")?;
        fs::write(dir.join(format!("start.{job}.0")), format!("{marker}version=0.1.0\n"))?;
        fs::write(dir.join(format!("end.{job}.0")), format!("{marker}exit=0\n"))?;
        let run = self.run(at)?;
        let text = rsb_store::sealed_text(&run)?;
        fs::write(runs.join(format!("{}.json", run.run_id)), text)
    }

    /// Returns the run of node number `at`. All nodes begin within a second.
    fn run(&self, at: u32) -> io::Result<Run> {
        let started = (self.created + BEGINS_AFTER) * 1_000_000 + i64::from(at % 1000);
        let started = Timestamp::from_microsecond(started).map_err(io::Error::other)?;
        let cpu = Cpu { model: Some("Made-up CPU".to_owned()), usable_cores: 64, ..Cpu::default() };
        let environment = Environment { cpu: Some(cpu), ..Environment::default() };
        let id = RunId(format!("{}_1a2b3c4", started.strftime("%Y%m%dT%H%M%SZ")));
        let mut run = Run::begin(id, started, "custom", "standard", environment);
        run.finished = Some(started);
        let is_slow = self.slow_every > 0 && at.is_multiple_of(self.slow_every);
        let level = if is_slow { 1.1 } else { 1.0 };
        run.benchmarks = (0..self.cases).map(|case| result(at, case, level, started)).collect();
        Ok(run)
    }
}

fn task(name: &str) -> Value {
    json!({
        "node": name,
        "class": "node",
        "gpus": 0,
        "suites": [{
            "suite": "custom", "benchmarks": [], "profile": null, "classes": [], "priority": 0,
            "minutes": 1
        }],
        "minutes": 1,
        "starts_after_seconds": 0,
        "availability": "idle",
    })
}

/// Returns the result of a case, whose times differ by 0.3 % between processes and nodes.
fn result(at: u32, case: u32, level: f64, timestamp: Timestamp) -> BenchmarkResult {
    let noise = |seed: u32| f64::from((seed * 7919 + case * 104_729) % 1009) / 1009.0 - 0.5;
    let own = 1e6 * f64::from(case + 1) * level * (1.0 + 0.01 * noise(at));
    let mut samples = Vec::new();
    for replicate in 0..PROCESSES {
        let time = own * (1.0 + 0.01 * noise(at * 5 + replicate + 17));
        samples.push(Samples { replicate, iters: vec![1], times_ns: vec![time] });
    }
    let name = format!("case-{case:03}");
    BenchmarkResult {
        device_type: Some(DeviceType::Cpu),
        results: vec![Fields::new().with("time_ms", own / 1e6).with("gflops", 1e9 / own)],
        samples,
        ..BenchmarkResult::new(
            CaseId::from_segments(&["cpu_performance", "gemm", "cpu:0", "f32", &name]),
            timestamp,
            Outcome::Measured,
        )
    }
}
