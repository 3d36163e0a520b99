//! Evaluation of stored runs: change points, the health of a machine, advice, the status of
//! components, and which device, runtime and precision fits a model.
//!
//! **Invariant:** this crate only reads. It measures nothing and gives no verdicts.

pub mod advice;
pub mod component_status;
pub mod health;
pub mod model_results;
pub mod trends;
