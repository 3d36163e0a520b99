//! Models of eleven families: what the catalogue holds, what a model needs of memory, and what
//! cannot be. Pure. The work itself is in `python/rsb_workloads/models.py`.

mod catalogue;
mod compatibility;
mod detect;
mod document;
mod footprint;
mod map;
mod predict;
mod prices;
mod recommend;

pub use catalogue::{
    CatalogueError, Family, ModelRow, ModelShape, ModelWork, SizeClass, catalogue, find, nearest,
    parse, representative, unknown,
};
pub use compatibility::{
    GENERATE, LOAD, ModelConfiguration, PRECISIONS, RUNTIME_NAMES, RUNTIMES, Runtime, refusal,
    runtime, wrong_length,
};
pub use detect::detect;
pub use document::{Outliers, document};
pub use footprint::Footprint;
pub use map::compatibility;
pub use prices::{Prices, PricesError};
pub use recommend::{Goal, RecommendRequest, recommend};

/// The component, which is also a verb.
pub const MODELS: &str = "models";

/// The parameter of a case that says what its model is made of, as JSON.
pub const DEFINITION: &str = "definition";
