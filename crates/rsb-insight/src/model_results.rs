//! Model results of runs: as a document, as a compatibility map, and as a recommendation. Pure.

mod document;
mod map;
mod predict;
mod prices;
mod recommend;

pub use document::{Outliers, document};
pub use map::compatibility;
pub use prices::{Prices, PricesError};
pub use recommend::{Goal, RecommendRequest, recommend};
