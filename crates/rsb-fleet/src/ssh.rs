//! Input for `ssh`: its arguments, and the scripts that the shell of a node reads from its standard
//! input, so that they do not depend on the login shell.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::config::FleetConfig;
use crate::engine::SshSection;
use crate::inventory::{Availability, FleetNode, SchedulerOutputError};
use crate::submission::{limited_command, lock_file, quote};

/// Seconds to wait for a connection.
const CONNECT_SECONDS: u32 = 10;
/// Seconds for which an idle connection stays open for the next command.
const PERSIST_SECONDS: u32 = 120;
/// Line that [`PROBE`] prints last.
const PROBE_END: &str = "probe=complete";

/// Prints properties of the node as `KEY=VALUE` lines. GPUs are counted by their drivers: those of
/// AMD have compute units in the topology of KFD.
const PROBE: &str = r#"printf 'kernel=%s\n' "$(uname -r)"
printf 'cpus=%s\n' "$(getconf _NPROCESSORS_ONLN)"
amd=$(grep -ls '^simd_count [1-9]' /sys/class/kfd/kfd/topology/nodes/*/properties | wc -l)
nvidia=$(ls -d /proc/driver/nvidia/gpus/* 2>/dev/null | wc -l)
printf 'gpus=%s\n' "$((amd + nvidia))"
"#;

/// Returns the command that runs the shell of `host`, which reads its script from standard input.
/// Connections are shared through sockets in `control_dir`, which only the user may read.
pub fn ssh_command(ssh: &SshSection, host: &str, control_dir: &str) -> Vec<String> {
    let mut command = vec!["ssh".to_owned(), "-T".to_owned()];
    let own = [
        "BatchMode=yes".to_owned(),
        format!("ConnectTimeout={CONNECT_SECONDS}"),
        "ControlMaster=auto".to_owned(),
        format!("ControlPath={control_dir}/%C"),
        format!("ControlPersist={PERSIST_SECONDS}"),
        "ServerAliveInterval=10".to_owned(),
        "ForwardX11=no".to_owned(),
    ];
    // The first value of an option counts, so the user's come first, except for the mode: a
    // question would be waited for without end.
    let user = ssh.options.iter().filter(|option| !option.to_lowercase().starts_with("batchmode="));
    for option in user.cloned().chain(own) {
        command.extend(["-o".to_owned(), option]);
    }
    command.extend(["--", host, "/bin/sh", "-s"].map(str::to_owned));
    command
}

/// Returns the script whose output [`parse_probe`] reads.
pub fn probe_script(host: &str) -> String {
    let lock = lock_file(host);
    format!(
        "{PROBE}if [ -e {lock} ] && ! flock -n {lock} true; then echo busy=yes; fi\n\
         echo {PROBE_END}\n"
    )
}

/// Parses what the script of [`probe_script`] printed on `host`.
///
/// # Errors
/// If the output is not complete, as if the shell of the node does not run the script.
pub fn parse_probe(
    ssh: &SshSection,
    host: &str,
    output: &str,
) -> Result<FleetNode, SchedulerOutputError> {
    let lines: Vec<&str> = output.lines().collect();
    if lines.last() != Some(&PROBE_END) {
        return Err(SchedulerOutputError {
            command: "ssh",
            line: lines.len(),
            expected: PROBE_END,
            text: lines.last().copied().unwrap_or_default().to_owned(),
        });
    }
    let values: BTreeMap<&str, &str> =
        lines.iter().filter_map(|line| line.split_once('=')).collect();
    let number = |key: &str| values.get(key).and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut node = FleetNode::new(host);
    node.features = ssh.features(host);
    node.cpus = number("cpus");
    node.gpus = number("gpus");
    if values.contains_key("busy") {
        node.availability = Availability::Busy;
        "busy".clone_into(&mut node.state);
    }
    if let Some(kernel) = values.get("kernel").filter(|kernel| !kernel.is_empty()) {
        node.attributes.insert("kernel".to_owned(), (*kernel).to_owned());
    }
    Ok(node)
}

/// Returns a node that does not answer.
pub fn unreachable_node(ssh: &SshSection, host: &str, why: &str) -> FleetNode {
    let mut node = FleetNode::new(host);
    node.features = ssh.features(host);
    node.availability = Availability::Unavailable;
    node.state = format!("not reachable: {why}");
    node
}

/// Job of a node, as in the scripts that look for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshJob {
    /// Number of the job in its campaign.
    pub number: u64,
    /// Directory of its markers and results.
    pub dir: String,
}

/// Returns the script that starts the job in the file `script_path`, independent of the connection.
/// The file `pid.NUMBER` in its directory then contains the leader of its process group. Exits with
/// 74 if the node does not see the directory.
pub fn start_script(config: &FleetConfig, job: &SshJob, script_path: &str) -> String {
    let command: Vec<String> =
        limited_command(config, script_path).iter().map(|word| quote(word)).collect();
    let SshJob { number, dir } = job;
    format!(
        "cd {} || exit 74\nsetsid {} </dev/null >output.{number}.txt 2>&1 &\n\
         echo \"$!\" >pid.{number} || {{ kill \"$!\"; exit 74; }}\n",
        quote(dir),
        command.join(" "),
    )
}

/// Shell function `leader NUMBER DIR`: succeeds with the process in `pid` if the job runs. After a
/// restart of the node, another process may have the same number.
const LEADER: &str = r#"leader() {
    pid=$(cat "$2/pid.$1" 2>/dev/null) || return 1
    tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "$2/job-"
}
"#;

/// Returns the script that prints the numbers of those `jobs` that run.
pub fn running_script(jobs: &[SshJob]) -> String {
    let mut script = LEADER.to_owned();
    for SshJob { number, dir } in jobs {
        let _ = writeln!(script, "leader {number} {} && echo {number}", quote(dir));
    }
    script.push_str("echo end\n");
    script
}

/// Parses what [`running_script`] printed; `None` if it did not run to its end.
pub fn parse_running(output: &str) -> Option<Vec<u64>> {
    let lines = output.strip_suffix("end\n")?.lines();
    Some(lines.filter_map(|line| line.parse().ok()).collect())
}

/// Returns the script that ends those `jobs` that run. The leader passes the signal on to its
/// process group, once to each process, so that the program keeps its finished cases.
pub fn cancel_script(jobs: &[SshJob]) -> String {
    let mut script = LEADER.to_owned();
    for SshJob { number, dir } in jobs {
        let _ = writeln!(script, "leader {number} {} && kill \"$pid\"", quote(dir));
    }
    script.push_str("true\n");
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> SshSection {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn options_of_the_user_come_first_but_questions_are_never_asked() {
        let ssh = section("hosts = [\"n1\"]\noptions = [\"Port=2222\", \"BatchMode=no\"]");
        let command = ssh_command(&ssh, "n1", "/tmp/x");
        assert_eq!(command[..4], ["ssh", "-T", "-o", "Port=2222"]);
        assert!(!command.contains(&"BatchMode=no".to_owned()), "{command:?}");
        assert!(command.contains(&"ControlPath=/tmp/x/%C".to_owned()), "{command:?}");
        assert_eq!(command[command.len() - 4..], ["--", "n1", "/bin/sh", "-s"]);
    }

    #[test]
    fn a_probe_has_the_labels_of_its_host() {
        let ssh = section("hosts = [\"n1\"]\nlabels = { mi300x = [\"n*\"], old = [\"m*\"] }");
        let output = "kernel=6.1\ncpus=64\ngpus=8\nbusy=yes\nprobe=complete\n";
        let node = parse_probe(&ssh, "n1", output).unwrap();
        assert_eq!((node.gpus, node.cpus, node.availability), (8, 64, Availability::Busy));
        assert_eq!(node.attributes["kernel"], "6.1");
        assert!(node.features.contains("mi300x") && !node.features.contains("old"));
        assert!(parse_probe(&ssh, "n1", "Welcome\n").is_err());
        let node = unreachable_node(&ssh, "n1", "timed out");
        assert_eq!(node.availability, Availability::Unavailable);
    }

    #[test]
    fn running_jobs_are_only_known_from_a_complete_answer() {
        assert_eq!(parse_running("7\n9\nend\n"), Some(vec![7, 9]));
        assert_eq!(parse_running("end\n"), Some(Vec::new()));
        assert_eq!(parse_running("7\n"), None);
    }
}
