//! What the measuring process and a worker say to each other, one JSON document a line.
//!
//! The worker prepares a case and then runs exactly as many iterations as it is asked for. It is a process of its
//! own, so that what crashes or hangs costs one case. Native and Python workers speak the same words.

use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::field::Fields;
use crate::ids::DeviceType;
use crate::outcome::Reason;

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
        /// The card's address on the bus, where it is one and tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pci_address: Option<String>,
    },
    /// The iterations took this long by the device's clock.
    Sampled {
        /// Nanoseconds for all iterations together.
        time_ns: f64,
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
    /// The case broke.
    Failed {
        /// What, why, cure.
        reason: Reason,
    },
}
