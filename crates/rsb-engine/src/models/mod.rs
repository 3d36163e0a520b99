//! Models of eleven families: what the catalogue holds, what a model needs of memory, what cannot
//! be, and the cases of a sweep. Pure. The work itself is in
//! `python/rusty_stack_bench/workloads/models.py`.

mod cases;
mod catalogue;
mod compatibility;
mod detect;
mod document;
mod footprint;
mod map;
mod predict;
mod prices;
mod recommend;

pub(crate) use cases::wrong_name;
pub use cases::{ModelSelection, cases, representative, unknown};
pub use catalogue::{
    CatalogueError, Family, ModelRow, ModelShape, ModelWork, SizeClass, catalogue, find, nearest,
    parse,
};
pub(crate) use compatibility::RUNTIME_NAMES;
pub use compatibility::{ModelConfiguration, RUNTIMES, Runtime, refusal, wrong_length};
pub use detect::detect;
pub use document::{Outliers, document};
pub use footprint::Footprint;
pub use map::{PRECISIONS, compatibility};
pub use prices::{Prices, PricesError};
pub use recommend::{Goal, RecommendRequest, recommend};

/// The component, which is also a verb.
pub const MODELS: &str = "models";

/// The parameter of a case that says what its model is made of, as JSON.
pub const DEFINITION: &str = "definition";
