//! Models of eleven families: the catalog, memory needs and compatibility rules. No I/O. The
//! benchmark code is in `python/rusty_stack_bench/workloads/models.py`.

mod catalogue;
mod compatibility;
mod detect;
mod footprint;
mod unpublished;

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
pub use unpublished::{Unpublished, unpublished};

/// Name of the component and of its subcommand.
pub const MODELS: &str = "models";

/// Case parameter that defines the model, as JSON.
pub const DEFINITION: &str = "definition";
