//! Jobs on nodes without a scheduler, started with OpenSSH.

use std::collections::BTreeMap;

use anyhow::anyhow;
use rsb_fleet::ssh::{self, SshJob};
use rsb_fleet::{FleetConfig, FleetJob, FleetNode, QueueLine, SshSection};
use tempfile::TempDir;

use super::super::campaign::{CampaignDir, JobRecord};
use super::{CommandAnswer, Cure, QueueSnapshot, Scheduler, run};
use crate::AppError;

const NO_PROGRAM: &str = "install the client of OpenSSH";
/// Exit code of `ssh` itself; other codes are those of the remote command.
const OWN_FAILURE: i32 = 255;
/// Connections that are opened at the same time.
const CONNECTIONS: usize = 16;

/// Mistakes in the configuration, which waiting does not correct.
const CURES: &[Cure] = &[
    ("Could not resolve hostname", "correct it in `ssh.hosts`, or add it to ~/.ssh/config"),
    ("Permission denied", "`ssh HOST` must work without a password: add your key (`ssh-copy-id`)"),
    ("Host key verification failed", "accept the key of the host: run `ssh HOST` once by hand"),
    ("configuration option", "correct `ssh.options`"),
    ("command-line", "correct `ssh.options`"),
];

/// OpenSSH with its connections.
pub(super) struct Ssh<'a> {
    config: &'a FleetConfig,
    section: &'a SshSection,
    /// Sockets of the connections.
    control: TempDir,
}

impl<'a> Ssh<'a> {
    pub(super) fn new(config: &'a FleetConfig, section: &'a SshSection) -> Result<Self, AppError> {
        // The path of a socket has at most 107 bytes, which a long TMPDIR would exceed.
        let control = tempfile::Builder::new().prefix("rsb-ssh-").tempdir_in("/tmp")?;
        Ok(Self { config, section, control })
    }

    /// Runs a script on a host.
    fn run(&self, host: &str, script: &str) -> Result<CommandAnswer, AppError> {
        let control = self.control.path().display().to_string();
        run(&ssh::ssh_command(self.section, host, &control), script, NO_PROGRAM)
    }

    /// Runs the script of each host, several at a time, and returns the answers by host.
    fn run_all(
        &self,
        scripts: &BTreeMap<&str, String>,
    ) -> BTreeMap<String, Result<CommandAnswer, AppError>> {
        let scripts: Vec<(&str, &String)> =
            scripts.iter().map(|(host, script)| (*host, script)).collect();
        let mut answers = BTreeMap::new();
        for some in scripts.chunks(CONNECTIONS) {
            std::thread::scope(|scope| {
                let mut started = Vec::new();
                for (host, script) in some {
                    started.push((*host, scope.spawn(|| self.run(host, script))));
                }
                for (host, thread) in started {
                    let answer = thread.join().unwrap_or_else(|_| Err(anyhow!("panicked").into()));
                    answers.insert(host.to_owned(), answer);
                }
            });
        }
        answers
    }
}

impl Scheduler for Ssh<'_> {
    fn inventory(&self) -> Result<Vec<FleetNode>, AppError> {
        let hosts = &self.section.hosts;
        let scripts = hosts.iter().map(|host| (host.as_str(), ssh::probe_script(host)));
        let mut nodes = Vec::new();
        for (host, answer) in self.run_all(&scripts.collect()) {
            let answer = answer?;
            if answer.code == Some(OWN_FAILURE) {
                if let Some((_, cure)) = CURES.iter().find(|(part, _)| answer.stderr.contains(part))
                {
                    return Err(AppError::usage(anyhow!(
                        "cannot use {host}: {}; {cure}",
                        answer.stderr
                    )));
                }
                nodes.push(ssh::unreachable_node(self.section, &host, &answer.stderr));
                continue;
            }
            let node = ssh::parse_probe(self.section, &host, &answer.stdout);
            nodes.push(node.map_err(|error| {
                let stderr = &answer.stderr;
                AppError::usage(anyhow!("cannot use {host}: {stderr} {error}"))
            })?);
        }
        Ok(nodes)
    }

    fn check(&self, _: &[FleetJob<'_>]) -> Result<(), AppError> {
        // The inventory has just logged in to each node.
        Ok(())
    }

    fn has_lanes(&self) -> bool {
        false
    }

    fn submit(&self, job: &FleetJob<'_>, script_path: &str) -> Result<u64, AppError> {
        let ssh_job = SshJob { number: job.number, dir: job.dir.to_owned() };
        let script = ssh::start_script(self.config, &ssh_job, script_path);
        let CommandAnswer { stderr, code, .. } = self.run(job.node, &script)?;
        match code {
            Some(0) => Ok(job.number),
            Some(74) => Err(AppError::usage(anyhow!(
                "{} cannot write to `{}`; set `results_dir` to a directory that every node shares",
                job.node,
                job.dir
            ))),
            _ => Err(anyhow!("cannot start the job of {}: {stderr}", job.node).into()),
        }
    }

    fn queue(&self, dir: &CampaignDir, jobs: &[&JobRecord]) -> QueueSnapshot {
        let mut snapshot = QueueSnapshot::default();
        let scripts = scripts_by_host(dir, jobs, ssh::running_script);
        for (host, answer) in self.run_all(&scripts) {
            let running = match answer {
                Ok(answer) => ssh::parse_running(&answer.stdout).ok_or(answer.stderr),
                Err(error) => Err(error.error.to_string()),
            };
            match running {
                Ok(numbers) => {
                    for number in numbers {
                        let line = QueueLine {
                            job: number.to_string(),
                            state: "RUNNING".to_owned(),
                            node: host.clone(),
                            reason: String::new(),
                        };
                        snapshot.lines.insert(line.job.clone(), line);
                    }
                }
                Err(why) => drop(snapshot.silent_nodes.insert(host, why)),
            }
        }
        snapshot
    }

    fn cancel(&self, dir: &CampaignDir, jobs: &[&JobRecord]) -> Result<(), AppError> {
        let mut failed = Vec::new();
        for (host, answer) in self.run_all(&scripts_by_host(dir, jobs, ssh::cancel_script)) {
            match answer {
                Ok(CommandAnswer { code: Some(0), .. }) => {}
                Ok(answer) => failed.push(format!("{host}: {}", answer.stderr)),
                Err(error) => failed.push(format!("{host}: {}", error.error)),
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        Err(anyhow!("cannot end the jobs of {}; the others are cancelled", failed.join(", "))
            .into())
    }
}

/// Returns the script of each host for its jobs.
fn scripts_by_host<'a>(
    dir: &CampaignDir,
    jobs: &[&'a JobRecord],
    script: impl Fn(&[SshJob]) -> String,
) -> BTreeMap<&'a str, String> {
    let mut by_host: BTreeMap<&str, Vec<SshJob>> = BTreeMap::new();
    for record in jobs {
        let job = SshJob { number: record.job, dir: dir.of_job(record) };
        by_host.entry(&record.node).or_default().push(job);
    }
    by_host.into_iter().map(|(host, jobs)| (host, script(&jobs))).collect()
}
