//! `fleet.toml`: strict wire types. An unknown key is an error with its position and the nearest
//! known key, never ignored.
//!
//! ```toml
//! results_dir = "/shared/fleet"     # seen by every node under the same path
//! max_parallel = 8                  # nodes that measure at the same time
//!
//! [slurm]
//! partition = "gpu"
//!
//! [[suite]]
//! suite = "gpu-performance"
//! classes = ["*mi300x*"]            # hardware classes that it is for
//! minutes = 20
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use rsb_model::{Profile, Suite};
use serde::{Deserialize, Deserializer, Serialize};

use crate::engine::{FleetEngine, KubernetesSection, SlurmSection, SshSection};
use crate::verdict::VerdictRule;

/// Name of the file in the current directory.
pub const FLEET_FILE_NAME: &str = "fleet.toml";

/// Shortest time between two requests to the scheduler, in seconds.
const MIN_POLL_SECONDS: u64 = 30;

/// A `fleet.toml` that cannot be used: position, cause, and the nearest valid key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FleetConfigError {
    message: String,
}

/// The whole file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FleetConfig {
    /// The program on the nodes.
    pub program: String,
    /// Absolute directory of markers and journals, the same on every node.
    pub results_dir: String,
    /// Shell lines before measuring, such as `module load rocm`.
    pub setup: Vec<String>,
    /// Patterns of features that are attributes of a node, such as `rack = "rack-*"`. They do not
    /// distinguish hardware classes, and may explain why a group of nodes is slow.
    pub attributes: BTreeMap<String, String>,
    /// Processes per case and node. Two are the minimum for an interval.
    pub processes: u32,
    /// Maximum number of nodes that measure at the same time, for example to limit power.
    pub max_parallel: usize,
    /// Time between two submissions.
    pub stagger_seconds: u64,
    /// Maximum number of jobs that are submitted in a second: Slurm may delay more requests.
    pub submissions_per_second: u32,
    /// Time limit of a job.
    pub time_limit_minutes: u64,
    /// Burn-in: the suites of a node are repeated for this long, such as `"8h"`.
    #[serde(deserialize_with = "duration")]
    pub duration: Option<Duration>,
    /// A job that has not started within this time is removed from the queue.
    pub deadline_minutes: u64,
    /// Time between two requests to the scheduler; sites ask for 60 or more.
    pub poll_seconds: u64,
    /// A running job without a new result for this long is shown as stale.
    pub silent_minutes: u64,
    /// Nodes that were not measured within this time are measured first.
    pub stale_after_days: f64,
    slurm: Option<SlurmSection>,
    ssh: Option<SshSection>,
    kubernetes: Option<KubernetesSection>,
    /// Suites, and the hardware classes on which they are measured.
    pub suite: Vec<SuiteSection>,
    /// Rules by which a node is called slow.
    pub verdict: VerdictRule,
    /// Database that collects the results, instead of a results directory.
    pub store: Option<StoreSection>,
}

impl Default for FleetConfig {
    fn default() -> Self {
        Self {
            program: "rusty-stack-bench".to_owned(),
            results_dir: String::new(),
            setup: Vec::new(),
            attributes: BTreeMap::new(),
            processes: 5,
            max_parallel: 8,
            stagger_seconds: 2,
            submissions_per_second: 10,
            time_limit_minutes: 60,
            duration: None,
            deadline_minutes: 720,
            poll_seconds: 60,
            silent_minutes: 15,
            stale_after_days: 30.0,
            slurm: None,
            ssh: None,
            kubernetes: None,
            suite: Vec::new(),
            verdict: VerdictRule::default(),
            store: None,
        }
    }
}

/// `[store]`: the PostgreSQL database that `fleet collect` fills.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreSection {
    /// `postgres://USER@HOST/DATABASE`, without a password.
    pub address: String,
    /// File with only the password; if unset, PGPASSWORD is used.
    #[serde(default)]
    pub password_file: Option<String>,
}

/// `[[suite]]`: a suite and the hardware classes to measure it on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteSection {
    /// The suite.
    pub suite: Suite,
    /// Benchmarks of the suite to measure; all if empty.
    #[serde(default)]
    pub benchmarks: Vec<String>,
    /// Profile; the default of the suite if absent.
    #[serde(default)]
    pub profile: Option<Profile>,
    /// Patterns on the names of hardware classes; every class if empty.
    #[serde(default)]
    pub classes: Vec<String>,
    /// Suites of higher priority are measured first.
    #[serde(default)]
    pub priority: i32,
    /// Expected duration on one node.
    pub minutes: u32,
}

impl SuiteSection {
    /// Returns whether the suite is for the hardware class named `class`.
    pub fn is_for(&self, class: &str) -> bool {
        self.classes.is_empty()
            || self.classes.iter().any(|pattern| rsb_stats::glob::matches(pattern, class))
    }
}

impl FleetConfig {
    /// Parses the text of a `fleet.toml`.
    ///
    /// # Errors
    /// If it is not TOML, has an unknown key, lacks a required one, or a value is out of range.
    pub fn parse(text: &str) -> Result<Self, FleetConfigError> {
        let config: Self = toml::from_str(text).map_err(|error| FleetConfigError {
            message: with_suggestion(&error.to_string(), error.message()),
        })?;
        config.check().map_err(|message| FleetConfigError { message })?;
        Ok(config)
    }

    /// Returns the engine that starts the jobs. A configuration that was not parsed uses Slurm.
    pub fn engine(&self) -> FleetEngine<'_> {
        if let Some(ssh) = &self.ssh {
            FleetEngine::Ssh(ssh)
        } else if let Some(kubernetes) = &self.kubernetes {
            FleetEngine::Kubernetes(kubernetes)
        } else {
            FleetEngine::Slurm(self.slurm.as_ref().unwrap_or(SlurmSection::DEFAULT))
        }
    }

    /// Checks that there is exactly one engine, and its section.
    fn check_engine(&self) -> Result<(), String> {
        match (&self.slurm, &self.ssh, &self.kubernetes) {
            (Some(_), None, None) => Ok(()),
            (None, Some(ssh), None) => ssh.check(),
            (None, None, Some(kubernetes)) => kubernetes.check(),
            (None, None, None) => {
                Err("no engine; add one of `[slurm]`, `[ssh]` and `[kubernetes]`".to_owned())
            }
            _ => Err("more than one engine; keep one of `[slurm]`, `[ssh]` and `[kubernetes]`"
                .to_owned()),
        }
    }

    fn check(&self) -> Result<(), String> {
        self.check_engine()?;
        if !self.results_dir.starts_with('/') || self.results_dir.chars().any(char::is_control) {
            return Err("`results_dir` must be an absolute path that every node has".to_owned());
        }
        for (key, value) in [
            ("processes", u64::from(self.processes)),
            ("max_parallel", self.max_parallel as u64),
            ("submissions_per_second", u64::from(self.submissions_per_second)),
            ("time_limit_minutes", self.time_limit_minutes),
            ("deadline_minutes", self.deadline_minutes),
            ("silent_minutes", self.silent_minutes),
        ] {
            if value == 0 {
                return Err(format!("`{key}` must be at least 1"));
            }
        }
        if self.poll_seconds < MIN_POLL_SECONDS {
            return Err(format!("`poll_seconds` must be at least {MIN_POLL_SECONDS}"));
        }
        if self.suite.is_empty() {
            return Err("nothing to measure; add a `[[suite]]`".to_owned());
        }
        for (at, suite) in self.suite.iter().enumerate() {
            if suite.minutes == 0 || u64::from(suite.minutes) > self.time_limit_minutes {
                return Err(format!(
                    "`suite[{at}].minutes` must be at least 1 and at most `time_limit_minutes`, {}",
                    self.time_limit_minutes
                ));
            }
        }
        self.verdict.check()
    }

    /// Returns the configuration of a campaign that repeats its suites for `duration`. The time
    /// limit of its jobs leaves room for the last segment.
    #[must_use]
    pub fn with_duration(mut self, duration: Option<Duration>) -> Self {
        self.duration = duration;
        if let Some(duration) = duration {
            let segment: u64 = self.suite.iter().map(|suite| u64::from(suite.minutes)).sum();
            let needed = duration.as_secs().div_ceil(60) + segment;
            self.time_limit_minutes = self.time_limit_minutes.max(needed);
        }
        self
    }
}

fn duration<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(reader)?;
    let parsed = text.parse::<jiff::SignedDuration>().ok();
    let parsed = parsed.and_then(|duration| Duration::try_from(duration).ok());
    parsed.filter(|duration| !duration.is_zero()).map(Some).ok_or_else(|| {
        serde::de::Error::custom(format!("`{text}` is not a duration; write 90m or 8h"))
    })
}

/// Returns `shown` with the known name nearest to the unknown name in `message`, the message of a
/// TOML error: "unknown field `a`, expected one of `b`, `c`".
fn with_suggestion(shown: &str, message: &str) -> String {
    let shown = shown.trim_end();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let is_unknown = message.contains("unknown field") || message.contains("unknown variant");
    let Some(unknown) = quoted.next().filter(|_| is_unknown) else { return shown.to_owned() };
    let near = quoted
        .map(|known| (edit_distance(unknown, known), known))
        .min()
        .filter(|(distance, _)| *distance <= 1 + unknown.chars().count() / 3);
    match near {
        Some((_, near)) => format!("{shown}; did you mean `{near}`?"),
        None => shown.to_owned(),
    }
}

/// Returns how many characters must be inserted, deleted or replaced to turn `a` into `b`
/// (Levenshtein).
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, character) in a.chars().enumerate() {
        let mut next = vec![at + 1];
        for (column, other) in b.iter().enumerate() {
            let replaced = row[column] + usize::from(character != *other);
            next.push(replaced.min(row[column + 1] + 1).min(next[column] + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str =
        "results_dir = \"/shared\"\n[slurm]\n[[suite]]\nsuite = \"quick\"\nminutes = 5\n";

    #[test]
    fn an_engine_a_directory_and_a_suite_are_enough() {
        let config = FleetConfig::parse(LEAST).unwrap();
        assert_eq!(config.max_parallel, 8);
        assert!((config.verdict.minimum_effect_percent - 2.0).abs() < 1e-12);
        assert!(config.suite[0].is_for("any"));
    }

    #[test]
    fn a_burn_in_raises_the_time_limit() {
        let config = FleetConfig::parse(&format!("duration = \"2h\"\n{LEAST}")).unwrap();
        assert_eq!(config.duration, Some(Duration::from_hours(2)));
        let duration = config.duration;
        assert_eq!(config.with_duration(duration).time_limit_minutes, 125);
    }

    #[test]
    fn a_suite_names_its_classes() {
        let text = format!("{LEAST}classes = [\"*mi300x*\"]\n");
        let config = FleetConfig::parse(&text).unwrap();
        assert!(config.suite[0].is_for("gfx942,mi300x:8"));
        assert!(!config.suite[0].is_for("h100:8"));
    }

    #[test]
    fn each_mistake_names_the_key_and_the_cure() {
        for (before, after, expected) in [
            ("max_paralel = 3", "", "did you mean `max_parallel`?"),
            ("max_paralel = 3", "", "line 1"),
            ("zzzzzz = 3", "", "expected one of `program`"),
            ("", "[verdict]\nmin_node = 5", "did you mean `min_nodes`?"),
            ("", "[verdict]\nmin_nodes = 2", "`verdict.min_nodes` must be at least 3"),
            ("", "[verdict]\nminimum_effect_percent = -1.0", "minimum_effect_percent"),
            ("max_parallel = 0", "", "`max_parallel` must be at least 1"),
            ("submissions_per_second = 0", "", "`submissions_per_second` must be at least 1"),
            ("", "[store]\nadress = \"x\"", "did you mean `address`?"),
            ("poll_seconds = 1", "", "at least 30"),
            ("time_limit_minutes = 4", "", "`suite[0].minutes`"),
            ("duration = \"long\"", "", "write 90m or 8h"),
            ("duration = \"0s\"", "", "is not a duration"),
        ] {
            let text = format!("{before}\n{LEAST}{after}\n");
            let error = FleetConfig::parse(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}\n{error}");
        }
        let relative = FleetConfig::parse("results_dir = \"x\"\n[slurm]").unwrap_err().to_string();
        assert!(relative.contains("absolute path"), "{relative}");
        let nothing = FleetConfig::parse("results_dir = \"/x\"\n[slurm]").unwrap_err().to_string();
        assert!(nothing.contains("[[suite]]"), "{nothing}");
    }

    #[test]
    fn exactly_one_engine_with_a_valid_section() {
        let ssh = "[ssh]\nhosts = [\"n1\"]";
        let cluster = "[kubernetes]\nimage = \"i\"";
        for (engine, expected) in [
            ("", "add one of `[slurm]`, `[ssh]` and `[kubernetes]`"),
            (&format!("[slurm]\n{ssh}"), "keep one of"),
            ("[slurm]\npartion = \"gpu\"", "did you mean `partition`?"),
            ("[ssh]\nhost = [\"n1\"]", "did you mean `hosts`?"),
            ("[ssh]", "`ssh.hosts`"),
            ("[ssh]\nhosts = [\"-oProxyCommand=x\"]", "`ssh.hosts[0]`"),
            ("[ssh]\nhosts = [\"n1\", \"n1\"]", "n1 twice"),
            (&format!("{ssh}\noptions = [\"Port 22\"]"), "`ssh.options[0]`"),
            (&format!("{ssh}\nlabels = {{ big = [\"m*\"] }}"), "`ssh.labels.big`"),
            ("[kubernetes]", "missing field `image`"),
            (cluster, "`claim`"),
            (&format!("{cluster}\nclaim = \"a\"\nhost_path = \"/a\""), "`claim`"),
            (&format!("{cluster}\nnodes = [\"a/b\"]"), "`kubernetes.nodes[0]`"),
            (&format!("{cluster}\nhost_path = \"a\""), "`kubernetes.host_path`"),
            (&format!("{cluster}\nclaim = \"a\"\nimagee = \"\""), "did you mean `image`?"),
        ] {
            let text = LEAST.replace("[slurm]\n", &format!("{engine}\n"));
            let error = FleetConfig::parse(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}\n{error}");
        }
    }

    #[test]
    fn distances_count_insertions_deletions_and_replacements() {
        for (a, b, expected) in [("", "abc", 3), ("kitten", "sitting", 3), ("same", "same", 0)] {
            assert_eq!(edit_distance(a, b), expected, "{a} {b}");
        }
    }
}
