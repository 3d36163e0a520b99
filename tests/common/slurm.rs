//! A Slurm cluster on the loopback interface: a controller and twelve nodes in two classes of six.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Nodes of both classes.
pub const NODES: [&str; 12] =
    ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11"];

/// Maximum time to wait for a condition.
const LONGEST: Duration = Duration::from_mins(3);

/// A running cluster; its daemons are stopped when this value is dropped.
pub struct Cluster {
    dir: tempfile::TempDir,
}

impl Cluster {
    /// Starts a cluster, or records why it cannot.
    pub fn start() -> Option<Self> {
        for program in ["munged", "slurmctld", "slurmd", "sbatch"] {
            let places = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];
            if !places.iter().any(|dir| Path::new(dir).join(program).exists()) {
                test_needs::missing("slurm", &format!("no {program}; install slurm-wlm and munge"));
                return None;
            }
        }
        if !rustix::process::geteuid().is_root() {
            test_needs::missing("slurm", "the daemons of the test cluster need root");
            return None;
        }
        let cluster = Self { dir: tempfile::tempdir().unwrap() };
        cluster.write_configuration();
        cluster.start_daemons();
        Some(cluster)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the configuration file of Slurm, for `SLURM_CONF`.
    pub fn conf(&self) -> String {
        self.path("slurm.conf").display().to_string()
    }

    fn write_configuration(&self) {
        let dir = self.dir.path().display();
        for name in ["munge", "state", "spool", "log", "dev"] {
            fs::create_dir(self.path(name)).unwrap();
            fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o711)).unwrap();
        }
        fs::set_permissions(self.dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
        let key = self.path("munge/key");
        let secret: Vec<u8> = (0..1024_u32).map(|at| (at * 7 % 251) as u8).collect();
        fs::write(&key, secret).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        let base = free_ports();
        let mut conf = format!(
            "ClusterName=test\nSlurmctldHost=localhost\nSlurmctldPort={base}\n\
             AuthType=auth/munge\nAuthInfo=socket={dir}/munge/sock\nCredType=cred/munge\n\
             SlurmUser=root\nSlurmdUser=root\nStateSaveLocation={dir}/state\n\
             SlurmdSpoolDir={dir}/spool/%n\nSlurmctldPidFile={dir}/slurmctld.pid\n\
             SlurmdPidFile={dir}/slurmd-%n.pid\nSlurmctldLogFile={dir}/log/slurmctld\n\
             SlurmdLogFile={dir}/log/slurmd-%n\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nMpiDefault=none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core\nGresTypes=gpu\nReturnToService=1\nSlurmdTimeout=10\n\
             KillWait=20\nAccountingStorageType=accounting_storage/none\n\
             JobAcctGatherType=jobacct_gather/none\n\
             SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0\n\
             Prolog={dir}/prolog\nTaskProlog={dir}/task-prolog\n"
        );
        // They act on the files that `fail_prolog` and `rename_node` write.
        self.write_script("prolog", &format!("[ ! -e {dir}/broken-$SLURMD_NODENAME ]\n"));
        let renamed = format!("cat {dir}/renamed-$SLURMD_NODENAME 2>/dev/null; true\n");
        self.write_script("task-prolog", &renamed);
        let mut gres = String::new();
        for (at, node) in NODES.iter().enumerate() {
            let model = if at < 6 { "mi300x" } else { "mi250" };
            let port = usize::from(base) + 1 + at;
            for gpu in 0..4 {
                fs::write(self.path(&format!("dev/{node}-gpu{gpu}")), "").unwrap();
            }
            let rack = at / 3;
            let hardware = format!("Feature={model},rack-{rack} Gres=gpu:{model}:4");
            writeln!(
                conf,
                "NodeName={node} NodeHostname=localhost Port={port} CPUs=2 RealMemory=1000 {hardware}"
            )
            .unwrap();
            let files = format!("{dir}/dev/{node}-gpu[0-3]");
            writeln!(gres, "NodeName={node} Name=gpu Type={model} File={files}").unwrap();
        }
        conf += "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n";
        fs::write(self.path("slurm.conf"), conf).unwrap();
        fs::write(self.path("gres.conf"), gres).unwrap();
    }

    fn start_daemons(&self) {
        let dir = self.dir.path().display();
        run(Command::new("munged").args([
            format!("--key-file={dir}/munge/key"),
            format!("--socket={dir}/munge/sock"),
            format!("--pid-file={dir}/munge/pid"),
            format!("--log-file={dir}/munge/log"),
            format!("--seed-file={dir}/munge/seed"),
        ]));
        run(Command::new("slurmctld").args(["-f", &self.conf()]));
        for node in NODES {
            run(Command::new("slurmd").args(["-f", &self.conf(), "-N", node]));
        }
        let began = Instant::now();
        while self.text("sinfo", &["-h", "-N", "-t", "idle", "-o", "%N"]).lines().count() < 12 {
            assert!(began.elapsed() < LONGEST, "{}", self.text("sinfo", &["-N", "-l"]));
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn write_script(&self, name: &str, lines: &str) {
        fs::write(self.path(name), format!("#!/bin/sh\n{lines}")).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Lets the prolog of jobs on `node` fail, or succeed again.
    pub fn fail_prolog(&self, node: &str, fails: bool) {
        let file = self.path(&format!("broken-{node}"));
        if fails {
            fs::write(file, "").unwrap();
            return;
        }
        fs::remove_file(file).unwrap();
        self.text("scontrol", &["update", &format!("nodename={node}"), "state=resume"]);
    }

    /// Lets `node` report another name to its jobs; its own name removes the file.
    pub fn rename_node(&self, node: &str, name: &str) {
        let file = self.path(&format!("renamed-{node}"));
        if node == name {
            fs::remove_file(file).unwrap();
        } else {
            fs::write(file, format!("export SLURMD_NODENAME={name}\n")).unwrap();
        }
    }

    /// Restarts the daemon of `node` with one GPU instead of four.
    pub fn remove_gpus(&self, node: &str) {
        let gres = fs::read_to_string(self.path("gres.conf")).unwrap();
        let fewer = gres.replace(&format!("{node}-gpu[0-3]"), &format!("{node}-gpu0"));
        fs::write(self.path("gres.conf"), fewer).unwrap();
        self.stop(&format!("slurmd-{node}.pid"), Signal::TERM);
        std::thread::sleep(Duration::from_millis(500));
        run(Command::new("slurmd").args(["-f", &self.conf(), "-N", node]));
        let began = Instant::now();
        while self.text("sinfo", &["-h", "-N", "-n", node, "-o", "%T"]).contains("idle") {
            assert!(began.elapsed() < LONGEST, "{}", self.text("sinfo", &["-N", "-l"]));
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Kills the daemon of a node.
    pub fn kill_node(&self, node: &str) {
        self.stop(&format!("slurmd-{node}.pid"), Signal::KILL);
    }

    /// Stops the controller and waits until it no longer answers.
    pub fn stop_controller(&self) {
        self.stop("slurmctld.pid", Signal::TERM);
        let began = Instant::now();
        while self.text("scontrol", &["ping"]).contains("UP") {
            assert!(began.elapsed() < LONGEST, "the controller does not stop");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Starts the controller again.
    pub fn start_controller(&self) {
        run(Command::new("slurmctld").args(["-f", &self.conf()]));
    }

    /// Sends `signal` to the daemon whose process id is in `file`, and removes the file.
    fn stop(&self, file: &str, signal: Signal) {
        let path = self.path(file);
        let Ok(text) = fs::read_to_string(&path) else { return };
        if let Some(pid) = text.trim().parse().ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, signal);
        }
        let _ = fs::remove_file(path);
    }

    /// Runs a command of Slurm and returns its standard output.
    pub fn text(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(program);
        let output = command.args(arguments).env("SLURM_CONF", self.conf()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Cancel the jobs first, because they outlive the daemons.
        self.text("scancel", &["--me", "--signal=KILL", "--full"]);
        for node in NODES {
            self.stop(&format!("slurmd-{node}.pid"), Signal::TERM);
        }
        self.stop("slurmctld.pid", Signal::TERM);
        self.stop("munge/pid", Signal::TERM);
        // The daemons write to the directory until they end.
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the first of thirteen consecutive free ports. Clusters of one process get different
/// ports; different processes start the search at different ports.
fn free_ports() -> u16 {
    static CLUSTERS: AtomicU32 = AtomicU32::new(0);
    let is_free = |port: u16| std::net::TcpListener::bind(("0.0.0.0", port)).is_ok();
    for _ in 0..100 {
        let cluster = CLUSTERS.fetch_add(1, Ordering::Relaxed);
        let place = (std::process::id() * 7 + cluster) % 800;
        let base = 20_000 + u16::try_from(place).unwrap() * 13;
        if (base..base + 13).all(is_free) {
            return base;
        }
    }
    panic!("no thirteen free ports");
}
