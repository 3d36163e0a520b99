//! Protocol between the measuring process and a worker: one JSON document per line.
//!
//! The worker prepares a case and then runs exactly the requested number of iterations. It is a
//! separate process, so that a crash or hang affects one case only. Native and Python workers use
//! the same protocol.

use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::field::Fields;
use crate::ids::{CaseId, DeviceType};
use crate::outcome::Reason;

/// Command-line argument that makes the program run as a worker.
pub const WORKER_ARGUMENT: &str = "__worker";

/// Environment variable with the directory in which the processes of a run share reference results.
pub const REFERENCES: &str = "RSB_REFERENCES";

/// Environment variable with the PCI address of the GPU that a framework's case was planned on.
pub const PCI_ADDRESS: &str = "RSB_PCI_ADDRESS";

/// Environment variable that slows cases down on purpose, to test the gate:
/// `<part of an id>=<factor>`.
pub const SLOWDOWN: &str = "RSB_TEST_SLOWDOWN";

/// Returns `time_ns` of the case `id`, multiplied by the factor of a slowdown in the form of
/// [`SLOWDOWN`] if its pattern matches the id.
pub fn apply_slowdown(id: &CaseId, time_ns: f64, rule: &str) -> f64 {
    let named = rule.rsplit_once('=').filter(|(part, _)| id.as_str().contains(part));
    time_ns * named.and_then(|(_, factor)| factor.parse::<f64>().ok()).unwrap_or(1.0)
}

/// Request to a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub enum Request {
    /// Allocates, fills and compiles, and verifies the result against a reference.
    Prepare {
        /// Case to prepare.
        case: Case,
    },
    /// Runs exactly this number of iterations.
    Sample {
        /// Number of iterations.
        iters: u64,
    },
    /// Runs exactly this number of iterations and counts their instructions.
    Count {
        /// Number of iterations.
        iters: u64,
    },
    /// Computes the fields of the case from the time per iteration, then exits.
    Finish {
        /// Time per iteration in nanoseconds, estimated from all samples.
        time_ns: f64,
    },
}

/// Response of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum Response {
    /// The case is prepared and its result verified.
    Ready {
        /// Type of hardware that will run the case.
        device_type: DeviceType,
        /// PCI address of the GPU, if the case runs on one and its runtime reports it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pci_address: Option<String>,
    },
    /// The iterations ran.
    Sampled {
        /// Device time of all iterations together, in nanoseconds.
        time_ns: f64,
    },
    /// The iterations ran and their instructions were counted.
    Counted {
        /// Instructions of all iterations together. Absent if Valgrind counts them, because it
        /// reports after the worker exits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<u64>,
    },
    /// Fields of the case.
    Finished {
        /// Parameters, metrics and facts.
        fields: Fields,
    },
    /// The case cannot run on this machine.
    Skipped {
        /// Missing item, cause and remedy.
        reason: Reason,
    },
    /// The device of the case cannot be opened, although it existed when the case was planned.
    Gone {
        /// Missing item, cause and remedy.
        reason: Reason,
    },
    /// The case failed.
    Failed {
        /// Failure, cause and remedy.
        reason: Reason,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the time of a 2 ns case with this slowdown.
    fn slowed(slowdown: &str) -> f64 {
        let id = CaseId::from_segments(&["component_specific", "pytorch", "cpu:0", "matmul"]);
        apply_slowdown(&id, 2.0, slowdown)
    }

    #[test]
    fn a_case_is_slowed_where_it_is_named() {
        assert_eq!(
            (slowed("pytorch=1.5"), slowed("/matmul=2"), slowed("triton=9")),
            (3.0, 4.0, 2.0)
        );
        assert_eq!(
            (slowed("pytorch"), slowed("pytorch=soon")),
            (2.0, 2.0),
            "an invalid factor must be ignored"
        );
    }
}
