//! The script of a job, and the arguments of `sbatch`.
//!
//! A job writes two markers into its directory, `start.ATTEMPT` and `end.ATTEMPT`, lines of
//! `key=value` that [`crate::progress`] reads, and the results of its steps to
//! `results.ATTEMPT/NUMBER`. Each attempt has its own files, because the processes of a job that
//! Slurm declared dead may still write.

use std::fmt::Write as _;
use std::time::Duration;

use crate::config::{FleetConfig, SuiteSection};
use crate::engine::{FleetEngine, SlurmSection};

/// Longest name of a campaign, which is part of the names of its jobs.
const MAX_CAMPAIGN_BYTES: usize = 20;
/// Prefixes of environment variables that change what a command of Slurm, or the program on the
/// node, does.
const CALLER_VARIABLES: &[&str] =
    &["SBATCH_", "SINFO_", "SQUEUE_", "SCANCEL_", "RSB_", "PGPASSWORD"];

/// A suite that a job measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStep {
    /// Position among the suites of the node, from 1; also the name of its results directory.
    pub number: usize,
    /// The suite.
    pub suite: SuiteSection,
    /// Results directory of an interrupted attempt, of which only the missing cases are measured.
    pub continues: Option<String>,
    /// Burn-in: all steps of the job are repeated until this time has passed, each repetition with
    /// the next numbers.
    pub repeat_for: Option<Duration>,
}

/// One job on one node.
#[derive(Debug, Clone, Copy)]
pub struct FleetJob<'a> {
    /// The configuration.
    pub config: &'a FleetConfig,
    /// Name of the campaign, for which [`is_campaign_name`] holds.
    pub campaign: &'a str,
    /// Name of the node.
    pub node: &'a str,
    /// Number of the job in its campaign. Slurm uses its own job id instead.
    pub number: u64,
    /// Directory of its markers and results.
    pub dir: &'a str,
    /// Suites that it measures.
    pub steps: &'a [JobStep],
    /// Jobs of one lane run one after the other; there are `max_parallel` lanes. Only Slurm uses
    /// lanes.
    pub lane: usize,
    /// Minimum time from the submission to the start.
    pub wait_seconds: u64,
    /// Expected time from the submission to the start, if every node is free.
    pub expected_seconds: u64,
    /// What `--version` of the program prints here; a node with another version refuses to measure.
    pub version: &'a str,
}

/// Returns whether `text` can name a campaign: lowercase letters, digits and inner hyphens, at most
/// 20 of them.
pub fn is_campaign_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty()
        && text.len() <= MAX_CAMPAIGN_BYTES
        && text.bytes().all(is_plain)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Returns whether the environment variable `name` of the caller must be hidden from Slurm's
/// commands, which would pass it on to the job.
pub fn is_caller_variable(name: &str) -> bool {
    CALLER_VARIABLES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the directory of a node's markers and results. Nodes are spread over 256 directories.
pub fn node_directory(results_dir: &str, campaign: &str, node: &str) -> String {
    format!("{}/{campaign}/nodes/{:02x}/{node}", results_dir.trim_end_matches('/'), spread(node))
}

/// Returns the directory of job number `turn` among the pair jobs for the node `suspect`.
pub fn pair_directory(results_dir: &str, campaign: &str, suspect: &str, turn: usize) -> String {
    let spread = spread(suspect);
    format!("{}/{campaign}/pairs/{spread:02x}/{suspect}/{turn}", results_dir.trim_end_matches('/'))
}

/// Returns the FNV-1a hash of the text. It is stable across versions of Rust, as directory names
/// require.
fn spread(text: &str) -> u32 {
    let hash = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, hash) & 0xff
}

/// Returns the command that submits the script in `script_path`: one job per node, because arrays
/// leave nodes planned but idle.
pub fn sbatch_command(job: &FleetJob<'_>, slurm: &SlurmSection, script_path: &str) -> Vec<String> {
    let config = job.config;
    let expected = job.wait_seconds.max(job.expected_seconds).div_ceil(60);
    let mut command = vec![
        "sbatch".to_owned(),
        "--parsable".to_owned(),
        format!("--job-name=rsb-{}-{}", job.campaign, job.lane),
        "--dependency=singleton".to_owned(),
        format!("--nodelist={}", job.node),
        "--nodes=1".to_owned(),
        "--exclusive".to_owned(),
        "--no-requeue".to_owned(),
        format!(
            "--deadline=now+{}minutes",
            expected + config.deadline_minutes + config.time_limit_minutes
        ),
        format!("--time={}", config.time_limit_minutes),
        format!("--output={}/slurm-%j.txt", job.dir),
    ];
    if job.wait_seconds > 0 {
        command.push(format!("--begin=now+{}seconds", job.wait_seconds));
    }
    for (flag, value) in [
        ("partition", &slurm.partition),
        ("account", &slurm.account),
        ("qos", &slurm.qos),
        ("constraint", &slurm.constraint),
        ("gres", &slurm.gres),
    ] {
        if let Some(value) = value {
            command.push(format!("--{flag}={value}"));
        }
    }
    if let Some(nice) = slurm.nice {
        command.push(format!("--nice={nice}"));
    }
    command.push(script_path.to_owned());
    command
}

/// Parses what `sbatch --parsable` prints, `ID` or `ID;CLUSTER`, and returns the id. `None` for
/// anything else.
pub fn parse_job_id(output: &str) -> Option<u64> {
    // Plugins of a site may print additional lines before the id.
    let line = output.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    line.split(';').next()?.parse().ok()
}

/// The part of a script that writes markers and runs the steps. If a directory is full or
/// read-only, writing is retried for ten minutes.
const FUNCTIONS: &str = r#"mark() {
    tries=0
    until mkdir -p "$dir" \
        && printf 'campaign=%s\nnode=%s\njob=%s\n%s\n' "$campaign" "$node" "$attempt" "$2" >"$dir/.$1" \
        && mv -f "$dir/.$1" "$dir/$1"; do
        tries=$((tries + 1))
        [ "$tries" -lt 60 ] || exit 74
        sleep 10
    done 2>/dev/null
}
finish() {
    trap - TERM INT
    mark "end.$attempt" "exit=$1"
    exit "$1"
}
child=
# Slurm signals every process of a job. A second signal ends the program at once, and costs its
# finished cases, so it is sent only if the first did not reach it. Descriptor 9 may be the lock of
# the node, which this must not keep.
stop() {
    trap '' TERM INT
    if [ -n "$child" ]; then
        (sleep 10; kill "$child") 2>/dev/null 9>&- &
        wait "$child"
        kill "$!"
    fi
    finish 143
}
trap stop TERM INT
# measure NUMBER CONTINUES COMMAND...
measure() {
    out="$dir/results.$attempt/$1"
    mkdir -p "$dir/results.$attempt" || finish 74
    [ -z "$2" ] || cp -R "$2" "$out" || finish 74
    shift 2
    "$@" --results-dir "$out" &
    child=$!
    wait "$child" || worst=$?
    child=
}
worst=0
"#;

/// Returns the command that stops the script in `script_path` at the time limit of the job, for
/// engines that do not.
pub fn limited_command(config: &FleetConfig, script_path: &str) -> Vec<String> {
    let seconds = (config.time_limit_minutes * 60).to_string();
    ["timeout", "-s", "TERM", "-k", "120", &seconds, "/bin/sh", script_path]
        .map(str::to_owned)
        .to_vec()
}

/// Returns the lines that set `node` and `attempt`, and refuse a second job on the same node.
fn identity(job: &FleetJob<'_>) -> String {
    match job.config.engine() {
        FleetEngine::Slurm(_) => "node=\"${SLURMD_NODENAME:-$(uname -n)}\"\n\
             attempt=\"${SLURM_JOB_ID:-0}.${SLURM_RESTART_COUNT:-0}\"\n"
            .to_owned(),
        FleetEngine::Ssh(_) => {
            let (node, number) = (job.node, job.number);
            format!("node={node}\nattempt={number}.0\n[ ! -e end.$attempt ] || exit 75\n")
        }
        FleetEngine::Kubernetes(_) => {
            // In rare cases, Kubernetes starts a second pod for a job.
            let number = job.number;
            format!(
                "node=\"${{FLEET_NODE:-$(uname -n)}}\"\n[ ! -e end.{number}.0 ] || exit 75\n\
                 restart=0\nuntil mkdir try.{number}.$restart 2>/dev/null || [ $restart -ge 9 ]; \
                 do\n    restart=$((restart + 1))\ndone\nattempt={number}.$restart\n"
            )
        }
    }
}

/// Returns the POSIX shell script that a node runs. Its own exit codes: 74 if the results cannot be
/// written, 75 if another node runs the job or it was given up before it started, 76 if another job
/// of the account measures on the node, 78 if the program has another version, 143 if the job was
/// stopped.
pub fn job_script(job: &FleetJob<'_>) -> String {
    let config = job.config;
    let program = quote(&config.program);
    let mut script = format!(
        "#!/bin/sh\n# rusty-stack-bench: campaign {campaign}, node {node}\ncampaign={campaign}\n\
         dir={dir}\ncd \"$dir\" || exit 74\n{identity}{FUNCTIONS}",
        identity = identity(job),
        campaign = job.campaign,
        node = job.node,
        dir = quote(job.dir),
    );
    for line in &config.setup {
        let _ = writeln!(script, "{line}");
    }
    let _ = write!(
        script,
        "version=$({program} --version 2>/dev/null) || version=none\n\
         mark \"start.$attempt\" \"version=$version\"\n\
         [ \"$node\" = {} ] || finish 75\n[ \"$version\" = {} ] || finish 78\n",
        quote(job.node),
        quote(job.version),
    );
    if matches!(config.engine(), FleetEngine::Ssh(_)) {
        script.push_str(&lock_lines(job.node));
    }
    let repeat_for = job.steps.iter().find_map(|step| step.repeat_for);
    if repeat_for.is_some() {
        script.push_str("began=$(date +%s)\npassed=0\nwhile :; do\n");
    }
    for step in job.steps {
        let from = quote(step.continues.as_deref().unwrap_or_default());
        let number = match repeat_for {
            Some(_) => format!("\"$((passed + {}))\"", step.number),
            None => step.number.to_string(),
        };
        let _ = write!(script, "measure {number} {from} {program} run");
        if step.continues.is_some() {
            script.push_str(" --resume");
        } else {
            script.push_str(&suite_arguments(&step.suite));
        }
        let _ = writeln!(script, " --replicates {}", config.processes);
    }
    if let Some(repeat_for) = repeat_for {
        // A failed segment ends the burn-in.
        let _ = write!(
            script,
            "passed=$((passed + {}))\n[ \"$worst\" = 0 ] && [ $(($(date +%s) - began)) -lt {} ] || \
             break\ndone\n",
            job.steps.len(),
            repeat_for.as_secs()
        );
    }
    script.push_str("finish \"$worst\"\n");
    script
}

/// Returns the file of the lock that a job holds on its node, as a word of a shell script. Each
/// account has its own lock.
pub(crate) fn lock_file(node: &str) -> String {
    format!("\"${{TMPDIR:-/tmp}}/rusty-stack-bench-$(id -u)-{node}.lock\"")
}

/// Returns the lines of a job script that take the lock of the node. The lock is released when the
/// last process of the job ends.
fn lock_lines(node: &str) -> String {
    // A failed redirection of `exec` ends the shell, so it is tried before.
    let file = lock_file(node);
    format!("(: >>{file}) || finish 74\nexec 9>>{file}\nflock -n 9 || finish 76\n")
}

fn suite_arguments(suite: &SuiteSection) -> String {
    let mut arguments = String::new();
    for name in &suite.benchmarks {
        let _ = write!(arguments, " {}", quote(name));
    }
    let _ = write!(arguments, " --suite {}", suite.suite.as_str());
    if let Some(profile) = suite.profile {
        let _ = write!(arguments, " --profile {}", profile.as_str());
    }
    arguments
}

/// Quotes `text` for a POSIX shell.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "results_dir = \"/shared/it's\"\n[[suite]]\nsuite = \"quick\"\nbenchmarks \
                          = [\"gemm\"]\nprofile = \"standard\"\nminutes = 5\n";

    fn with_job<T>(engine: &str, check: impl Fn(&FleetJob<'_>) -> T) -> T {
        let config = FleetConfig::parse(&format!("{CONFIG}{engine}")).unwrap();
        let dir = node_directory(&config.results_dir, "weekly-1", "n2.site");
        let suite = config.suite[0].clone();
        let steps = [
            JobStep { number: 1, suite: suite.clone(), continues: None, repeat_for: None },
            JobStep {
                number: 2,
                suite,
                continues: Some("/old results/2".to_owned()),
                repeat_for: None,
            },
        ];
        check(&FleetJob {
            config: &config,
            campaign: "weekly-1",
            node: "n2.site",
            number: 7,
            dir: &dir,
            steps: &steps,
            lane: 3,
            wait_seconds: 90,
            expected_seconds: 0,
            version: "rusty-stack-bench 0.1.0",
        })
    }

    #[test]
    fn sbatch_names_one_node_and_every_configured_option() {
        let engine = "[slurm]\npartition = \"gpu\"\nqos = \"low\"\nnice = 100\n";
        let command = with_job(engine, |job| {
            let FleetEngine::Slurm(slurm) = job.config.engine() else { panic!() };
            sbatch_command(job, slurm, "/tmp/job.sh")
        });
        let dir = node_directory("/shared/it's", "weekly-1", "n2.site");
        let output = format!("--output={dir}/slurm-%j.txt");
        let expected = [
            "sbatch",
            "--parsable",
            "--job-name=rsb-weekly-1-3",
            "--dependency=singleton",
            "--nodelist=n2.site",
            "--nodes=1",
            "--exclusive",
            "--no-requeue",
            "--deadline=now+782minutes",
            "--time=60",
            output.as_str(),
            "--begin=now+90seconds",
            "--partition=gpu",
            "--qos=low",
            "--nice=100",
            "/tmp/job.sh",
        ];
        assert_eq!(command, expected);
        assert!(is_caller_variable("SBATCH_QOS") && !is_caller_variable("SLURM_CONF"));
    }

    #[test]
    fn job_ids_with_and_without_a_cluster() {
        for (output, expected) in [
            ("17\n", Some(17)),
            ("note\n17;west\n", Some(17)),
            ("Submitted batch job 17", None),
            ("", None),
        ] {
            assert_eq!(parse_job_id(output), expected, "{output}");
        }
    }

    #[test]
    fn the_script_checks_node_and_version_before_it_measures() {
        let script = with_job("[slurm]\n", job_script);
        let place = |part: &str| script.find(part).unwrap_or_else(|| panic!("{part}\n{script}"));
        assert!(script.starts_with("#!/bin/sh\n"));
        assert!(script.contains(r"'/shared/it'\''s/weekly-1/nodes/"), "{script}");
        let start = place("mark \"start.$attempt\"");
        let node = place("[ \"$node\" = 'n2.site' ] || finish 75");
        let version = place("[ \"$version\" = 'rusty-stack-bench 0.1.0' ] || finish 78");
        let run = place(
            "measure 1 '' 'rusty-stack-bench' run 'gemm' --suite quick --profile standard \
             --replicates 5",
        );
        let resume =
            place("measure 2 '/old results/2' 'rusty-stack-bench' run --resume --replicates 5");
        assert!(start < node && node < version && version < run && run < resume);
        assert!(resume < place("finish \"$worst\""));
    }

    #[test]
    fn a_script_for_ssh_has_its_own_number_and_a_lock() {
        let script = with_job("[ssh]\nhosts = [\"n2.site\"]\n", job_script);
        for part in ["node=n2.site\nattempt=7.0\n", "flock -n 9 || finish 76"] {
            assert!(script.contains(part), "{part}\n{script}");
        }
        assert!(!script.contains("SLURM"), "{script}");
    }

    #[test]
    fn a_burn_in_repeats_its_steps_with_new_numbers() {
        let script = with_job("[slurm]\n", |job| {
            let mut steps = job.steps.to_vec();
            for step in &mut steps {
                step.number += 4;
            }
            steps[0].repeat_for = Some(Duration::from_hours(8));
            job_script(&FleetJob { steps: &steps, ..*job })
        });
        let place = |part: &str| script.find(part).unwrap_or_else(|| panic!("{part}\n{script}"));
        let first = place("measure \"$((passed + 5))\" '' 'rusty-stack-bench' run");
        let second = place("measure \"$((passed + 6))\" '/old results/2'");
        let next = place("passed=$((passed + 2))\n");
        let end = place("[ $(($(date +%s) - began)) -lt 28800 ] || break\ndone\nfinish \"$worst\"");
        assert!(place("while :; do") < first && first < second && second < next && next < end);
    }

    #[test]
    fn names_of_campaigns_are_plain_and_short() {
        for (name, expected) in [
            ("weekly-1", true),
            ("", false),
            ("-a", false),
            ("A", false),
            ("a/b", false),
            ("a-name-of-21-characte", false),
        ] {
            assert_eq!(is_campaign_name(name), expected, "{name}");
        }
    }

    #[test]
    fn quoted_text_stays_one_word() {
        assert_eq!(quote("a'b $c"), r"'a'\''b $c'");
    }
}
