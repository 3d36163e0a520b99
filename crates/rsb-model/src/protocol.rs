//! What the measuring process and a worker say to each other, one JSON document a line.
//!
//! The worker prepares a case and then runs exactly as many iterations as it is asked for. It is a
//! process of its own, so that what crashes or hangs costs one case. Native and Python workers
//! speak the same words.

use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::field::Fields;
use crate::ids::{CaseId, DeviceType};
use crate::outcome::Reason;

/// The argument that makes the program a worker.
pub const WORKER_ARGUMENT: &str = "__worker";

/// The variable that names the directory in which the processes of a run keep what references give.
pub const REFERENCES: &str = "RSB_REFERENCES";

/// The variable that names the address on the bus of the GPU that a framework's case was planned
/// on.
pub const PCI_ADDRESS: &str = "RSB_PCI_ADDRESS";

/// The variable that makes cases slower on purpose, to prove the gate: `<part of an id>=<factor>`.
pub const SLOWDOWN: &str = "RSB_TEST_SLOWDOWN";

/// `time_ns` of the case `id`, made longer where `said` names it.
pub fn apply_slowdown(id: &CaseId, time_ns: f64, said: &str) -> f64 {
    let named = said.rsplit_once('=').filter(|(part, _)| id.as_str().contains(part));
    time_ns * named.and_then(|(_, factor)| factor.parse::<f64>().ok()).unwrap_or(1.0)
}

/// What a worker is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub enum Request {
    /// Allocate, fill, compile, and verify against a reference.
    Prepare {
        /// The case.
        case: Case,
    },
    /// Run exactly this many iterations.
    Sample {
        /// How many.
        iters: u64,
    },
    /// Run exactly this many iterations and count the instructions that they execute.
    Count {
        /// How many.
        iters: u64,
    },
    /// Turn the time of one iteration into the case's fields, then leave.
    Finish {
        /// Nanoseconds of one iteration, as estimated from every sample.
        time_ns: f64,
    },
}

/// What a worker answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum Response {
    /// The case is ready and its result verified.
    Ready {
        /// What will run it.
        device_type: DeviceType,
        /// The GPU's address on the bus, where it is one and tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pci_address: Option<String>,
    },
    /// The iterations took this long by the device's clock.
    Sampled {
        /// Nanoseconds for all iterations together.
        time_ns: f64,
    },
    /// The iterations executed this many instructions.
    Counted {
        /// Instructions of all iterations together; none where Valgrind counts them, which tells
        /// when the worker has left.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<u64>,
    },
    /// The fields of the case.
    Finished {
        /// Parameters, metrics and facts.
        fields: Fields,
    },
    /// The case cannot run here.
    Skipped {
        /// What, why, cure.
        reason: Reason,
    },
    /// The device of the case cannot be opened, though it was there when the case was planned.
    Gone {
        /// What, why, cure.
        reason: Reason,
    },
    /// The case broke.
    Failed {
        /// What, why, cure.
        reason: Reason,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a case of 2 ns takes with this slowdown.
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
            "what is no factor changes nothing"
        );
    }
}
