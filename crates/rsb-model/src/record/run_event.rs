//! Progress events of a run as documents, one per line of `run --events`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TIME;
use crate::event::{Event, NoticeLevel, RunStatus};
use crate::format::FORMAT_VERSION;
use crate::ids::{CaseId, RunId};
use crate::outcome::{Outcome, Reason};

/// One line of `run --events`. Readers should skip events with an unknown name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEventDocument {
    /// Version of the document format.
    pub format_version: u32,
    /// Time of the event.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: jiff::Timestamp,
    /// The event.
    #[serde(flatten)]
    pub event: RunEvent,
}

/// Progress event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// The run begins.
    RunStarted {
        /// Id of the run.
        run_id: RunId,
        /// Number of cases that will be measured.
        cases: usize,
    },
    /// A replicate of a case begins.
    ReplicateStarted {
        /// Id of the case.
        benchmark_id: CaseId,
        /// Number of this step, from 1.
        step: usize,
        /// Total number of steps.
        steps: usize,
    },
    /// New result of a case. The last one replaces the earlier ones.
    CaseUpdated {
        /// Id of the case.
        benchmark_id: CaseId,
        /// Current outcome.
        outcome: Outcome,
        /// Number of replicates with samples.
        replicates: usize,
        /// Time per iteration in milliseconds. Null if none was measured.
        time_ms: Option<f64>,
        /// Missing or broken item with cause and remedy, if the case was not measured.
        reason: Option<Reason>,
    },
    /// The run has ended. Its file is not written yet.
    RunEnded {
        /// How the run ended.
        status: RunStatus,
    },
    /// A message for the user.
    Notice {
        /// Level of the message.
        level: NoticeLevel,
        /// Text of the message.
        text: String,
    },
}

impl RunEventDocument {
    /// Returns the document of `event` at `timestamp`; `None` if the event does not belong to a run.
    pub fn new(event: &Event, timestamp: jiff::Timestamp) -> Option<Self> {
        let event = match event {
            Event::RunStarted { run_id, cases } => {
                RunEvent::RunStarted { run_id: run_id.clone(), cases: *cases }
            }
            Event::ReplicateStarted { case, step, steps } => RunEvent::ReplicateStarted {
                benchmark_id: case.id.clone(),
                step: *step,
                steps: *steps,
            },
            Event::CaseUpdated(result) => RunEvent::CaseUpdated {
                benchmark_id: result.benchmark_id.clone(),
                outcome: result.outcome,
                replicates: result.samples.len(),
                time_ms: result.figure(TIME),
                reason: result.reason.clone(),
            },
            Event::RunEnded(status) => RunEvent::RunEnded { status: *status },
            Event::Notice(notice) => {
                RunEvent::Notice { level: notice.level, text: notice.text.clone() }
            }
            _ => return None,
        };
        Some(Self { format_version: FORMAT_VERSION, timestamp, event })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_of_a_run_are_documents_with_their_name() {
        let time: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        for (event, expected) in [
            (
                Event::RunStarted { run_id: RunId("r".to_owned()), cases: 2 },
                Some(json!({ "event": "run_started", "run_id": "r", "cases": 2 })),
            ),
            (
                Event::RunEnded(RunStatus::OutOfTime),
                Some(json!({ "event": "run_ended", "status": "out_of_time" })),
            ),
            (
                Event::warning("hot\n"),
                Some(json!({ "event": "notice", "level": "warning", "text": "hot\n" })),
            ),
            (Event::CountingStarted { cases: 1 }, None),
        ] {
            let expected = expected.map(|mut document| {
                document["format_version"] = FORMAT_VERSION.into();
                document["timestamp"] = "2026-01-01T00:00:00Z".into();
                document
            });
            let document = RunEventDocument::new(&event, time);
            let document = document.map(|document| serde_json::to_value(document).unwrap());
            assert_eq!(document, expected);
        }
    }
}
