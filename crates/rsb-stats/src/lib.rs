//! Estimators, confidence intervals, hypothesis tests, trend analysis and the verdicts of the gate.
//!
//! **Invariant:** pure and seeded. No input or output, no clock, no global state: the same input
//! always gives the same result.
//!
//! Start at [`gate()`] for verdicts, [`trend()`] for time series, [`location`] for the time of a
//! case.

pub mod accept;
pub mod compare;
pub mod conclusion;
pub mod distribution;
pub mod effect;
pub mod estimate;
pub mod gate;
pub mod glob;
pub mod history;
pub mod hypothesis;
pub mod interval;
pub mod minimum;
pub mod multiple_testing;
pub mod noise_model;
pub mod policy;
pub mod policy_file;
pub mod remeasure;
pub mod rng;
pub mod thin;
pub mod trend;
pub mod trimmed;
mod wording;

pub use conclusion::{CaseConclusion, Doubt, Evidence};
pub use estimate::{ESTIMATOR, location, median, median_absolute_deviation, statistics};
pub use gate::{
    FirstCall, exit_code, gate, gate_in_turns, gate_in_turns_confirmed, gate_paired,
    threshold_checks, with_one_sided, with_paired, with_same_code, with_statistics,
    with_unmeasured,
};
pub use history::{AcceptedLevel, StoredRuns, gate_history};
pub use policy::{Policy, PolicyError};
pub use policy_file::PolicyFile;
pub use remeasure::{open_cases, suspects, undecided_cases};
pub use thin::thin;
pub use trend::{SeriesInput, TrendSettings, trend, trend_with};
