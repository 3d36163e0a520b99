//! Progress of a node's job, derived from its markers and the queue. Only a completion marker
//! counts as success: a job that is absent from the queue may have been cancelled, or its node may
//! have died.

use rsb_model::record::NodeProgress;

use crate::inventory::SchedulerOutputError;

/// Format of `squeue -h -o FORMAT` that [`parse_squeue`] reads: job, state, nodes, reason.
pub const SQUEUE_FORMAT: &str = "%i|%T|%N|%r";

/// Exit code in the completion marker of a job that could not be started.
const NOT_STARTED: i32 = 255;

/// Time after a submission in which the queue may not list the job yet.
const GRACE_SECONDS: u64 = 120;

/// States of jobs that have not started.
const WAITING: &[&str] = &[
    "PENDING",
    "CONFIGURING",
    "REQUEUED",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "RESV_DEL_HOLD",
    "SUSPENDED",
];
/// States of running jobs. States in neither list count as final: with a list of final states
/// instead, an unlisted state would be waited for without end.
const ACTIVE: &[&str] = &["RUNNING", "COMPLETING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"];
/// Final states that are caused by the node, not by the job.
const NODE_LOST: &[&str] = &["NODE_FAIL", "BOOT_FAIL"];

/// A line of `squeue`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueLine {
    /// Job id.
    pub job: String,
    /// State as printed by the scheduler, such as `PENDING`.
    pub state: String,
    /// Node that runs it; empty before it starts.
    pub node: String,
    /// Why it waits.
    pub reason: String,
}

impl QueueLine {
    /// Returns whether the job has not started.
    fn is_waiting(&self) -> bool {
        WAITING.contains(&self.state.as_str())
    }
}

/// Status of a job according to the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueAnswer<'a> {
    /// The scheduler, or the node, did not answer.
    Unreachable(&'a str),
    /// The scheduler was not queried.
    Unknown,
    /// The queue does not list the job.
    Absent,
    /// The queue lists the job.
    Listed(&'a QueueLine),
}

/// Observed status of a node's job. Ages are differences between times of the shared directory's
/// server, because the clock of a node may be off by an hour.
#[derive(Debug, Clone, Copy)]
pub struct JobObservation<'a> {
    /// Name of the campaign.
    pub campaign: &'a str,
    /// The node that should run it.
    pub node: &'a str,
    /// The queue.
    pub queue: QueueAnswer<'a>,
    /// Contents of the start marker of the latest attempt.
    pub start: Option<&'a str>,
    /// Contents of the completion marker of the same attempt.
    pub end: Option<&'a str>,
    /// Case of the last result.
    pub last_case: Option<&'a str>,
    /// Cases with a result.
    pub done: usize,
    /// Total number of cases; 0 if unknown.
    pub total: usize,
    /// Age of the submission.
    pub seconds_since_submit: u64,
    /// Age of the start marker.
    pub seconds_since_start: u64,
    /// Age of the last result.
    pub seconds_since_result: Option<u64>,
    /// A running job without a new result for this long is stale.
    pub silent_seconds: u64,
}

/// Contents of a marker.
struct Marker<'a> {
    node: &'a str,
    exit: Option<i32>,
}

/// Parses a marker; `None` if it belongs to another campaign or is incomplete.
fn marker<'a>(text: Option<&'a str>, campaign: &str) -> Option<Marker<'a>> {
    let text = text?;
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    if value("campaign")? != campaign {
        return None;
    }
    value("job")?;
    Some(Marker { node: value("node")?, exit: value("exit").and_then(|exit| exit.parse().ok()) })
}

/// Returns the contents of the completion marker `end.NUMBER.0` of a job that could not be started.
pub fn not_started_marker(campaign: &str, node: &str, number: u64) -> String {
    format!("campaign={campaign}\nnode={node}\njob={number}.0\nexit={NOT_STARTED}\n")
}

/// Parses the output of `squeue -h -o` with [`SQUEUE_FORMAT`].
///
/// # Errors
/// If a line has another format.
pub fn parse_squeue(text: &str) -> Result<Vec<QueueLine>, SchedulerOutputError> {
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let parts: Vec<&str> = line.trim().splitn(4, '|').collect();
        let [job, state, node, reason] = parts.as_slice() else {
            return Err(SchedulerOutputError {
                command: "squeue",
                line: at + 1,
                expected: SQUEUE_FORMAT,
                text: line.to_owned(),
            });
        };
        lines.push(QueueLine {
            job: (*job).to_owned(),
            state: (*state).to_owned(),
            node: (*node).to_owned(),
            reason: (*reason).to_owned(),
        });
    }
    Ok(lines)
}

/// Returns the state of a node's job.
pub fn node_progress(seen: &JobObservation<'_>) -> NodeProgress {
    let start = marker(seen.start, seen.campaign);
    if let Some(end) = marker(seen.end, seen.campaign) {
        // The end of an attempt is not that of a job that the administrator requeued.
        return match seen.queue {
            QueueAnswer::Listed(line) if end.exit != Some(0) && line.is_waiting() => {
                NodeProgress::Queued { why: line.reason.clone() }
            }
            _ => end_state(&end, seen.node),
        };
    }
    if let Some(start) = &start
        && start.node != seen.node
    {
        return wrong_node(start.node, seen.node);
    }
    match seen.queue {
        QueueAnswer::Listed(line) => listed_state(line, start.is_some(), seen),
        QueueAnswer::Absent => absent_state(start.is_some(), seen),
        QueueAnswer::Unknown if start.is_none() => {
            NodeProgress::Queued { why: "has not started".to_owned() }
        }
        QueueAnswer::Unknown if seen.is_silent() => seen.silent_state(),
        QueueAnswer::Unknown => seen.running_state(),
        QueueAnswer::Unreachable(_) if start.is_some() && !seen.is_silent() => seen.running_state(),
        QueueAnswer::Unreachable(why) => NodeProgress::NotReachable { why: why.to_owned() },
    }
}

fn end_state(end: &Marker<'_>, node: &str) -> NodeProgress {
    if end.node != node {
        return wrong_node(end.node, node);
    }
    let why = match end.exit {
        Some(0) => return NodeProgress::Done,
        Some(1) => "a case failed".to_owned(),
        Some(5) => "nothing could run on it".to_owned(),
        Some(76) => "another job of this account measured on it".to_owned(),
        Some(78) => "the program on it has another version; install the same on all".to_owned(),
        Some(143) => "stopped: cancelled, or at its time limit".to_owned(),
        Some(NOT_STARTED) => "it could not be started; use `fleet resume`".to_owned(),
        Some(code) => format!("exit code {code}"),
        None => "its completion marker has no exit code".to_owned(),
    };
    NodeProgress::Failed { why }
}

fn wrong_node(found: &str, expected: &str) -> NodeProgress {
    NodeProgress::Failed { why: format!("ran on {found} instead of {expected}; submit it again") }
}

fn listed_state(line: &QueueLine, is_started: bool, seen: &JobObservation<'_>) -> NodeProgress {
    let state = line.state.as_str();
    if line.is_waiting() {
        return NodeProgress::Queued { why: line.reason.clone() };
    }
    if ACTIVE.contains(&state) {
        if is_started && seen.is_silent() {
            return seen.silent_state();
        }
        return seen.running_state();
    }
    if NODE_LOST.contains(&state) {
        return NodeProgress::NotReachable { why: format!("the scheduler reports {state}") };
    }
    NodeProgress::Failed { why: format!("ended as {state} without a completion marker") }
}

fn absent_state(is_started: bool, seen: &JobObservation<'_>) -> NodeProgress {
    if is_started {
        if seen.is_silent() {
            let why = "left the queue without a completion marker".to_owned();
            return NodeProgress::Failed { why };
        }
        // A job continues to measure even if Slurm's daemon on its node died.
        let why = "left the queue, but its results are recent; wait before you repeat it";
        return NodeProgress::Stale { why: why.to_owned() };
    }
    if seen.seconds_since_submit < GRACE_SECONDS {
        return NodeProgress::Queued { why: "not listed yet".to_owned() };
    }
    let why = "left the queue before it started: cancelled, at its deadline, or its node failed";
    NodeProgress::Failed { why: why.to_owned() }
}

impl JobObservation<'_> {
    fn is_silent(&self) -> bool {
        self.seconds_since_result.unwrap_or(self.seconds_since_start) > self.silent_seconds
    }

    fn silent_state(&self) -> NodeProgress {
        let minutes = self.silent_seconds / 60;
        NodeProgress::Stale { why: format!("no result for {minutes} minutes") }
    }

    fn running_state(&self) -> NodeProgress {
        let left = self.total.saturating_sub(self.done) as u64;
        let eta_seconds = if self.done == 0 || self.total == 0 {
            None
        } else {
            Some(self.seconds_since_start.saturating_mul(left) / self.done as u64)
        };
        NodeProgress::Running {
            case: self.last_case.map(str::to_owned),
            done: self.done,
            total: self.total,
            eta_seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "campaign=c\nnode=n1\njob=7.0\nversion=x\n";

    fn seen() -> JobObservation<'static> {
        JobObservation {
            campaign: "c",
            node: "n1",
            queue: QueueAnswer::Absent,
            start: Some(START),
            end: None,
            last_case: Some("gemm"),
            done: 5,
            total: 20,
            seconds_since_submit: 1000,
            seconds_since_start: 100,
            seconds_since_result: Some(10),
            silent_seconds: 900,
        }
    }

    fn word(progress: &NodeProgress) -> &'static str {
        match progress {
            NodeProgress::Queued { .. } => "queued",
            NodeProgress::Running { .. } => "running",
            NodeProgress::Done => "done",
            NodeProgress::Failed { .. } => "failed",
            NodeProgress::NotReachable { .. } => "not reachable",
            NodeProgress::Stale { .. } => "stale",
        }
    }

    #[test]
    fn only_a_completion_marker_is_success() {
        for (end, expected) in [
            ("campaign=c\nnode=n1\njob=7.0\nexit=0\n", "done"),
            ("campaign=c\nnode=n1\njob=7.0\nexit=1\n", "failed"),
            ("campaign=c\nnode=n9\njob=7.0\nexit=0\n", "failed"),
            ("campaign=c\nnode=n1\njob=7.0\n", "failed"),
            ("campaign=old\nnode=n1\njob=7.0\nexit=0\n", "stale"),
            ("campaign=c\nnode=n", "stale"),
        ] {
            let progress = node_progress(&JobObservation { end: Some(end), ..seen() });
            assert_eq!(word(&progress), expected, "{end}: {progress:?}");
        }
    }

    #[test]
    fn each_state_of_the_queue_has_a_meaning() {
        for (state, expected) in [
            ("PENDING", "queued"),
            ("REQUEUE_HOLD", "queued"),
            ("RUNNING", "running"),
            ("COMPLETING", "running"),
            ("NODE_FAIL", "not reachable"),
            ("COMPLETED", "failed"),
            ("TIMEOUT", "failed"),
            ("OUT_OF_MEMORY", "failed"),
            ("DEADLINE", "failed"),
            ("A_STATE_OF_NEXT_YEAR", "failed"),
        ] {
            let lines = parse_squeue(&format!("7|{state}|n1|None\n")).unwrap();
            let queue = QueueAnswer::Listed(&lines[0]);
            let progress = node_progress(&JobObservation { queue, ..seen() });
            assert_eq!(word(&progress), expected, "{state}: {progress:?}");
        }
        assert!(parse_squeue("slurm_load_jobs error").is_err());
    }

    #[test]
    fn a_requeued_job_has_not_ended() {
        for (exit, state, expected) in [
            (143, "PENDING", "queued"),
            (143, "RUNNING", "failed"),
            (143, "TIMEOUT", "failed"),
            (0, "PENDING", "done"),
        ] {
            let lines = parse_squeue(&format!("7|{state}||BeginTime\n")).unwrap();
            let end = format!("campaign=c\nnode=n1\njob=7.0\nexit={exit}\n");
            let queue = QueueAnswer::Listed(&lines[0]);
            let progress = node_progress(&JobObservation { queue, end: Some(&end), ..seen() });
            assert_eq!(word(&progress), expected, "{exit} {state}: {progress:?}");
        }
    }

    #[test]
    fn absence_and_silence() {
        let silent = Some(2000);
        let rows = [
            (QueueAnswer::Absent, Some(START), silent, 1000, "failed"),
            (QueueAnswer::Absent, Some(START), Some(10), 1000, "stale"),
            (QueueAnswer::Absent, None, None, 1000, "failed"),
            (QueueAnswer::Absent, None, None, 10, "queued"),
            (QueueAnswer::Unreachable("why"), Some(START), Some(10), 1000, "running"),
            (QueueAnswer::Unreachable("why"), Some(START), silent, 1000, "not reachable"),
            (QueueAnswer::Unreachable("why"), None, None, 10, "not reachable"),
            (QueueAnswer::Unknown, Some(START), Some(10), 1000, "running"),
            (QueueAnswer::Unknown, Some(START), silent, 1000, "stale"),
            (QueueAnswer::Unknown, None, None, 1000, "queued"),
        ];
        for (queue, start, seconds_since_result, seconds_since_submit, expected) in rows {
            let row = JobObservation {
                queue,
                start,
                seconds_since_submit,
                seconds_since_result,
                ..seen()
            };
            assert_eq!(word(&node_progress(&row)), expected, "{row:?}");
        }
    }

    #[test]
    fn a_running_job_has_a_case_and_an_eta() {
        let lines = parse_squeue("7|RUNNING|n1|None\n").unwrap();
        let queue = QueueAnswer::Listed(&lines[0]);
        let expected = NodeProgress::Running {
            case: Some("gemm".to_owned()),
            done: 5,
            total: 20,
            eta_seconds: Some(300),
        };
        assert_eq!(node_progress(&JobObservation { queue, ..seen() }), expected);
        let start = Some("campaign=c\nnode=n3\njob=7.1\n");
        let other = JobObservation { queue, start, ..seen() };
        assert_eq!(word(&node_progress(&other)), "failed", "requeued onto another node");
        let quiet = JobObservation { seconds_since_result: Some(901), queue, ..seen() };
        assert_eq!(word(&node_progress(&quiet)), "stale");
    }
}
