//! What stored runs show: changes of level, the health of a machine, advice, the status of
//! components, and which device, runtime and precision fits a model.
//!
//! **Invariant:** it only reads. Nothing is measured, and no verdict is given.

pub mod advice;
pub mod component_status;
pub mod health;
pub mod model_results;
pub mod trends;
