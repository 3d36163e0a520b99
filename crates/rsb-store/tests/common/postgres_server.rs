//! A PostgreSQL server for tests, from Debian's package `postgresql`.
#![allow(dead_code)] // Each program of tests uses a part of it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A PostgreSQL server on a free port that stops at the end of the test.
pub struct Server {
    pub dir: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
}

impl Server {
    /// Creates a server that is not started; `None` if PostgreSQL is not installed.
    pub fn prepare() -> Option<Self> {
        let Some(programs) = programs() else {
            test_needs::missing(
                "postgres",
                "PostgreSQL's programs are not in /usr/lib/postgresql/*/bin",
            );
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        // The server refuses to run as root, so root runs it as another user, who owns the files.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Self { dir, programs, port };
        let data = server.data();
        server.run(
            "initdb",
            &[
                "-D",
                &data,
                "-U",
                "bench",
                "--auth=trust",
                "--no-sync",
                "--encoding=UTF8",
                "--locale=C",
            ],
        );
        Some(server)
    }

    /// Starts a server that trusts every user; `None` if PostgreSQL is not installed.
    pub fn start() -> Option<Self> {
        let server = Self::prepare()?;
        server.up("");
        Some(server)
    }

    /// Returns the directory of its data.
    pub fn data(&self) -> String {
        self.dir.path().join("data").display().to_string()
    }

    /// Starts the server, with `more` settings.
    pub fn up(&self, more: &str) {
        let settings = format!(
            "-c listen_addresses=127.0.0.1 -c port={} -c unix_socket_directories={} -c \
             max_connections=40 -c shared_buffers=16MB \
             {more}",
            self.port,
            self.dir.path().display()
        );
        let log = self.dir.path().join("log").display().to_string();
        self.run(
            "pg_ctl",
            &["-D", &self.data(), "-w", "-t", "120", "-l", &log, "-o", &settings, "start"],
        );
    }

    /// Stops the server as in a crash.
    pub fn crash(&self) {
        self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "stop"]);
    }

    /// Writes a certificate for it, and that of its authority.
    pub fn certificate(&self) {
        let path = |name: &str| self.dir.path().join(name).display().to_string();
        let (root_key, root) = (path("root.key"), path("root.crt"));
        let (key, certificate) =
            (format!("{}/server.key", self.data()), format!("{}/server.crt", self.data()));
        let new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"];
        let authority = ["-subj", "/CN=authority", "-keyout", &root_key, "-out", &root];
        self.command("openssl", &[&new[..], &authority].concat());
        let server = [
            "-subj",
            "/CN=127.0.0.1",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
            "-CA",
            &root,
            "-CAkey",
            &root_key,
            "-keyout",
            &key,
            "-out",
            &certificate,
        ];
        self.command("openssl", &[&new[..], &server].concat());
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        self.command(self.programs.join(program).to_str().unwrap(), arguments);
    }

    fn command(&self, program: &str, arguments: &[&str]) {
        let mut command = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--", program]);
            command
        } else {
            Command::new(program)
        };
        // The server inherits open files, so a pipe for the output would never end.
        let out = self.dir.path().join("said");
        let said = fs::File::create(&out).unwrap();
        let status = command
            .current_dir(self.dir.path())
            .args(arguments)
            .stdin(std::process::Stdio::null())
            .stdout(said.try_clone().unwrap())
            .stderr(said)
            .status()
            .unwrap();
        assert!(status.success(), "{program} {arguments:?}: {}", fs::read_to_string(&out).unwrap());
    }

    /// Returns its address, with a password.
    pub fn address(&self) -> String {
        format!("postgres://bench:secret@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    /// Starts a session that runs `sql` and waits; its process ends with the server.
    pub fn session(&self, sql: &str) -> std::process::Child {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-X", "-q", "-c", &format!("{sql}; SELECT pg_sleep(120)"), &self.address()]);
        let quiet = std::process::Stdio::null;
        command.stdout(quiet()).stderr(quiet()).spawn().unwrap()
    }

    /// Returns the number that a query returns.
    pub fn count(&self, sql: &str) -> i64 {
        let mut command = Command::new(self.programs.join("psql"));
        let output = command.args(["-X", "-A", "-t", "-c", sql, &self.address()]).output().unwrap();
        let number = String::from_utf8_lossy(&output.stdout).trim().parse();
        number.unwrap_or_else(|_| panic!("{sql}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if Path::new(&self.data()).join("postmaster.pid").exists() {
            self.crash();
        }
    }
}

fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    versions
        .flatten()
        .map(|version| version.path().join("bin"))
        .find(|bin| bin.join("initdb").exists())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
