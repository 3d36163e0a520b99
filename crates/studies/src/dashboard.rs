//! A dashboard server for studies.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

/// A dashboard that is stopped in the end.
pub(crate) struct Dashboard {
    child: Child,
    /// Host and port.
    pub(crate) address: String,
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        let _ = self.child.kill(); // It may have ended.
        let _ = self.child.wait();
    }
}

impl Dashboard {
    /// Starts `serve` for `store`, in that directory.
    pub(crate) fn start(program: &Path, store: &Path) -> Result<Self> {
        let mut child = Command::new(program)
            .args(["serve", "--results-dir"])
            .arg(store)
            .current_dir(store)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
        let address = line.trim().trim_start_matches("http://").split('/').next();
        let address = address.filter(|text| text.contains(':')).context("no address")?.to_owned();
        Ok(Self { child, address })
    }

    /// Returns the page at `path`, and the time until its last byte.
    pub(crate) fn get(&self, path: &str) -> Result<(String, Duration)> {
        let begun = Instant::now();
        let mut stream = TcpStream::connect(&self.address)?;
        let head =
            format!("GET /{path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address);
        stream.write_all(head.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        ensure!(
            answer.starts_with("HTTP/1.1 200"),
            "{path}: {}",
            answer.lines().next().unwrap_or_default()
        );
        Ok((answer, begun.elapsed()))
    }
}
