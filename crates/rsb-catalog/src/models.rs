//! Models of eleven families: what the catalogue holds, what a model needs of memory, and what
//! cannot be. Pure. The work itself is in `python/rusty_stack_bench/workloads/models.py`.

mod catalogue;
mod compatibility;
mod detect;
mod footprint;

pub use catalogue::{
    CatalogueError, Family, ModelRow, ModelShape, ModelWork, SizeClass, catalogue, find, nearest,
    parse, representative, unknown,
};
pub use compatibility::{
    GENERATE, LOAD, ModelConfiguration, PRECISIONS, RUNTIME_NAMES, RUNTIMES, Runtime, refusal,
    runtime, wrong_length,
};
pub use detect::detect;
pub use footprint::{Footprint, bytes_of};

/// The component, which is also a verb.
pub const MODELS: &str = "models";

/// The parameter of a case that says what its model is made of, as JSON.
pub const DEFINITION: &str = "definition";
