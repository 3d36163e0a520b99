//! Nodes without a scheduler: an OpenSSH server per node, each on its own port of the loopback
//! interface.

use std::fmt::Write as _;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::Bench;

/// Names of the nodes.
pub const HOSTS: [&str; 6] = ["n0", "n1", "n2", "n3", "n4", "n5"];

const SERVER: &str = "/usr/sbin/sshd";
const CLIENT: &str = "/usr/bin/ssh";
/// Maximum time to wait for a server.
const LONGEST: Duration = Duration::from_secs(30);

/// Running servers, which are stopped when this value is dropped.
pub struct Hosts {
    dir: tempfile::TempDir,
    servers: Vec<(&'static str, u16, Option<Child>)>,
}

impl Hosts {
    /// Starts the servers, or records why it cannot.
    pub fn start() -> Option<Self> {
        for program in [SERVER, CLIENT] {
            if !Path::new(program).exists() {
                test_needs::missing("ssh", &format!("no {program}; install openssh-server"));
                return None;
            }
        }
        // Separates privileges if the server runs as root.
        if rustix::process::geteuid().is_root() {
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let mut hosts = Self { dir: tempfile::tempdir().unwrap(), servers: Vec::new() };
        for key in ["host", "user"] {
            let path = hosts.path(key).display().to_string();
            let mut command = Command::new("ssh-keygen");
            command.args(["-q", "-t", "ed25519", "-N", "", "-f", &path]);
            assert!(command.status().unwrap().success());
        }
        fs::copy(hosts.path("user.pub"), hosts.path("authorized_keys")).unwrap();
        for name in HOSTS {
            let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            hosts.servers.push((name, listener.local_addr().unwrap().port(), None));
        }
        hosts.write_client();
        for name in HOSTS {
            hosts.start_host(name);
        }
        Some(hosts)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a client with its own configuration, because OpenSSH reads that of the user from the
    /// home directory only.
    fn write_client(&self) {
        let dir = self.dir.path().display();
        let key = fs::read_to_string(self.path("host.pub")).unwrap();
        fs::write(self.path("known_hosts"), format!("nodes {key}")).unwrap();
        let mut config = String::new();
        for (name, port, _) in &self.servers {
            writeln!(config, "Host {name}\nHostName 127.0.0.1\nPort {port}").unwrap();
        }
        writeln!(
            config,
            "Host *\nHostKeyAlias nodes\nUserKnownHostsFile {dir}/known_hosts\nIdentityFile \
             {dir}/user\nIdentitiesOnly yes"
        )
        .unwrap();
        fs::write(self.path("config"), config).unwrap();
        let client = format!("#!/bin/sh\nexec {CLIENT} -F {dir}/config \"$@\"\n");
        fs::create_dir(self.path("bin")).unwrap();
        fs::write(self.path("bin/ssh"), client).unwrap();
        fs::set_permissions(self.path("bin/ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Returns a directory in which `ssh` reaches these hosts.
    pub fn bench(&self) -> Bench {
        let path = std::env::var("PATH").unwrap();
        Bench::new().set("PATH", &format!("{}:{path}", self.path("bin").display()))
    }

    fn server(&mut self, name: &str) -> &mut (&'static str, u16, Option<Child>) {
        self.servers.iter_mut().find(|(host, ..)| *host == name).unwrap()
    }

    /// Starts the server of a host.
    pub fn start_host(&mut self, name: &str) {
        let dir = self.dir.path().display().to_string();
        let port = self.server(name).1;
        let config = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {dir}/host\nAuthorizedKeysFile \
             {dir}/authorized_keys\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication \
             no\nPermitRootLogin yes\nMaxStartups 100\nSetEnv FLEET_NODE={name} \
             TMPDIR={dir}\n"
        );
        let path = self.path(&format!("sshd-{name}"));
        fs::write(&path, config).unwrap();
        let log = self.path(&format!("log-{name}"));
        let mut command = Command::new(SERVER);
        command.args(["-D", "-f"]).arg(&path).arg("-E").arg(log);
        let child = command.stdin(Stdio::null()).spawn().unwrap();
        self.server(name).2 = Some(child);
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < LONGEST, "{}", self.log(name));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Stops the server of a host with its connections. Jobs that it started go on.
    pub fn stop_host(&mut self, name: &str) {
        if let Some(mut child) = self.server(name).2.take() {
            let pid = child.id();
            let connections = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
            for pid in connections.unwrap_or_default().split_whitespace() {
                if let Some(pid) = pid.parse().ok().and_then(Pid::from_raw) {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.path(&format!("log-{name}"))).unwrap_or_default()
    }

    /// Waits until all jobs of `bench` have ended.
    pub fn wait(&self, bench: &Bench) {
        super::jobs::wait_for_jobs(bench, || HOSTS.map(|name| self.log(name)).concat());
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in HOSTS {
            self.stop_host(name);
        }
    }
}
