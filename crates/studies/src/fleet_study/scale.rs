//! `cargo xtask fleet-study --scale`: time, memory and files of a campaign of 10,000 nodes, with a
//! PostgreSQL server and a Slurm cluster that are started for it.
#![allow(clippy::unwrap_used)] // Shared with tests, in which a failed step is a failed test.

#[path = "../../../../tests/common/campaign.rs"]
mod campaign;
#[path = "../../../rsb-store/tests/common/postgres_server.rs"]
mod postgres_server;
#[allow(dead_code)] // The tests use the rest of it.
#[path = "../../../../tests/common/slurm.rs"]
mod slurm;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rsb_fleet::{FleetConfig, FleetEngine, FleetJob, sbatch_command};

use campaign::MadeUpCampaign;
use postgres_server::Server;
use slurm::Cluster;

use crate::dashboard::Dashboard;
use crate::workspace::FileTotals;

const NODES: u32 = 10_000;
const CASES: u32 = 50;
/// One node in this many is slow.
const SLOW_EVERY: u32 = 500;
const NAME: &str = "large";
/// Number of submissions that are timed.
const SUBMISSIONS: u32 = 100;
/// Number of tasks of the array whose nodes are counted.
const TASKS: usize = 12;
/// Words of a page whose campaign has not been read yet.
const BEING_READ: &str = "being read";
/// Sampling interval of a program's memory.
const LOOK: Duration = Duration::from_millis(2);

/// Prints the table of docs/fleet-study.md, from `program` or the one next to this.
pub(super) fn run(program: Option<&str>) -> Result<()> {
    let program = match program {
        Some(program) => PathBuf::from(program),
        None => std::env::current_exe()?.with_file_name("rusty-stack-bench"),
    };
    ensure!(
        program.exists(),
        "no {}; build it with `cargo build --release --features postgres`",
        program.display()
    );
    println!("| what | measured |\n|---|---|");
    let dir = tempfile::tempdir()?;
    let shared = dir.path().join("shared").display().to_string();
    let campaign = MadeUpCampaign {
        results_dir: &shared,
        name: NAME,
        created: 1_790_000_000,
        nodes: NODES,
        cases: CASES,
        slow_every: SLOW_EVERY,
    };
    campaign.write()?;
    print_files(Path::new(&shared))?;
    let study = Study { program, dir: dir.path() };
    match Server::start() {
        Some(server) => study.measure(&campaign, &server)?,
        None => println!("| PostgreSQL | not installed |"),
    }
    match Cluster::start() {
        Some(cluster) => submissions(&cluster, &FleetConfig::parse(&campaign.configuration(""))?)?,
        None => println!("| submissions | Slurm is not installed, or this is not root |"),
    }
    Ok(())
}

/// Prints the number of files, and the largest number of entries of a directory.
fn print_files(root: &Path) -> Result<()> {
    let FileTotals { files, bytes, entries } = FileTotals::below(root)?;
    row("files", &format!("{files}, {:.0} MB", bytes as f64 / 1e6));
    row("entries of the largest directory", &entries.to_string());
    Ok(())
}

/// The program, and the directory in which it runs.
struct Study<'a> {
    program: PathBuf,
    dir: &'a Path,
}

/// Time and memory of a program that ended.
struct Measured {
    seconds: f64,
    megabytes: f64,
    code: Option<i32>,
}

impl Study<'_> {
    fn measure(&self, campaign: &MadeUpCampaign<'_>, server: &Server) -> Result<()> {
        let address = server.address().replace(":secret@", "@");
        let store = format!("[store]\naddress = \"{address}\"\n");
        fs::write(self.dir.join("fleet.toml"), campaign.configuration(&store))?;
        self.row("`fleet collect` into PostgreSQL", &["collect"], 0)?;
        let values = server.count("SELECT count(*) FROM rsb_metrics");
        let size = server.count("SELECT pg_database_size(current_database())") as f64 / 1e6;
        row("values, and size of the database", &format!("{values}, {size:.0} MB"));
        ensure!(server.count("SELECT count(*) FROM rsb_campaign_runs") == i64::from(NODES));
        self.row("`fleet collect` again", &["collect"], 0)?;
        self.row("`fleet status`", &["status"], 0)?;
        self.row("`fleet report`", &["report"], 4)?;
        self.page()?;
        fs::rename(campaign.results_dir, self.dir.join("moved"))?;
        self.row("`fleet report` from PostgreSQL", &["report"], 4)
    }

    /// Measures the page of the campaign, once its files have been read.
    fn page(&self) -> Result<()> {
        let dashboard = Dashboard::start(&self.program, self.dir)?;
        let address = format!("fleet?campaign={NAME}");
        let began = Instant::now();
        while dashboard.get(&address)?.0.contains(BEING_READ) {
            thread::sleep(Duration::from_millis(200));
        }
        let read = began.elapsed().as_secs_f64();
        let (page, time) = dashboard.get(&address)?;
        let milliseconds = time.as_secs_f64() * 1e3;
        let kilobytes = page.len() / 1000;
        row(
            "page of the campaign on the dashboard",
            &format!("{milliseconds:.0} ms, {kilobytes} kB; {read:.0} s until it is first shown"),
        );
        Ok(())
    }

    /// Runs a subcommand of `fleet`, which must exit with `code`, and prints a row.
    fn row(&self, what: &str, arguments: &[&str], code: i32) -> Result<()> {
        let mut command = Command::new(&self.program);
        let out = fs::File::create(self.dir.join("out"))?;
        command.arg("fleet").args(arguments).current_dir(self.dir);
        command.stdin(Stdio::null()).stdout(out).stderr(fs::File::create(self.dir.join("error"))?);
        let began = Instant::now();
        let measured = watch(command.spawn()?, began)?;
        ensure!(
            measured.code == Some(code),
            "{what}: {:?}: {}",
            measured.code,
            fs::read_to_string(self.dir.join("error"))?
        );
        let Measured { seconds, megabytes, .. } = measured;
        row(what, &format!("{seconds:.2} s, {megabytes:.0} MB of memory"));
        Ok(())
    }
}

/// Waits for `child`, and returns its time since `began` and its largest memory.
fn watch(mut child: Child, began: Instant) -> Result<Measured> {
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut kilobytes = 0.0;
    loop {
        // The kernel keeps the maximum, which is gone when the program has ended.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        if let Some(Ok(value)) = line.map(|line| line.trim().trim_end_matches(" kB").parse()) {
            kilobytes = f64::max(kilobytes, value);
        }
        if let Some(ended) = child.try_wait()? {
            let seconds = began.elapsed().as_secs_f64();
            return Ok(Measured { seconds, megabytes: kilobytes / 1e3, code: ended.code() });
        }
        thread::sleep(LOOK);
    }
}

/// Times submissions to a cluster of twelve nodes, one by one and as an array of jobs.
fn submissions(cluster: &Cluster, config: &FleetConfig) -> Result<()> {
    let FleetEngine::Slurm(section) = config.engine() else { return Ok(()) };
    let dir = tempfile::tempdir()?;
    let script = dir.path().join("job.sh");
    fs::write(
        &script,
        format!("#!/bin/sh\nsleep 1\necho x > {}/$SLURMD_NODENAME\n", dir.path().display()),
    )?;
    let (script, path) = (script.display().to_string(), dir.path().display().to_string());
    let began = Instant::now();
    for number in 0..SUBMISSIONS {
        let job = FleetJob {
            config,
            campaign: NAME,
            node: slurm::NODES[number as usize % slurm::NODES.len()],
            number: 0,
            dir: &path,
            steps: &[],
            lane: 0,
            // It stays in the queue.
            wait_seconds: 3600,
            expected_seconds: 0,
            version: "",
        };
        let words = sbatch_command(&job, section, &script);
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        ensure!(!cluster.text("sbatch", &words).is_empty(), "sbatch refused a job");
    }
    let rate = f64::from(SUBMISSIONS) / began.elapsed().as_secs_f64();
    let limit = config.submissions_per_second;
    row("submissions in a second", &format!("{rate:.0} possible, {limit} by default"));
    row(
        "submission of 10,000 jobs",
        &format!("{:.0} min", f64::from(NODES) / f64::from(limit) / 60.0),
    );
    cluster.text("scancel", &["--me"]);

    let output = format!("--output={path}/array.txt");
    let array = format!("--array=1-{SUBMISSIONS}");
    let began = Instant::now();
    let later = ["--parsable", "--exclusive", "--begin=now+3600", &array, &output, &script];
    ensure!(!cluster.text("sbatch", &later).is_empty(), "sbatch refused an array");
    let milliseconds = began.elapsed().as_secs_f64() * 1e3;
    row(&format!("one array of {SUBMISSIONS} jobs"), &format!("{milliseconds:.0} ms"));
    cluster.text("scancel", &["--me"]);

    let array = format!("--array=1-{TASKS}%1");
    let words = ["--parsable", "--exclusive", "--wait", &array, &output, &script];
    let waited = cluster.text("sbatch", &words);
    ensure!(!waited.is_empty(), "sbatch refused an array");
    let measured = slurm::NODES.iter().filter(|node| dir.path().join(node).exists()).count();
    row(
        &format!("nodes that an array of {TASKS} jobs measures, one at a time"),
        &format!("{measured} of {}", slurm::NODES.len()),
    );
    Ok(())
}

fn row(what: &str, measured: &str) {
    println!("| {what} | {measured} |");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_spread_over_directories() {
        let dir = tempfile::tempdir().unwrap();
        let results_dir = dir.path().display().to_string();
        let campaign = MadeUpCampaign {
            results_dir: &results_dir,
            name: NAME,
            created: 1_790_000_000,
            nodes: 1000,
            cases: 1,
            slow_every: 0,
        };
        campaign.write().unwrap();
        let totals = FileTotals::below(dir.path()).unwrap();
        assert_eq!(totals.files, 2 + 4 * 1000);
        assert!(totals.entries <= 256, "{}", totals.entries);
    }
}
