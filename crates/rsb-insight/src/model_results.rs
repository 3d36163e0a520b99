//! What runs show of models: their results as a document, what runs where, and a recommendation.
//! Pure.

mod document;
mod map;
mod predict;
mod prices;
mod recommend;

pub use document::{Outliers, document};
pub use map::compatibility;
pub use prices::{Prices, PricesError};
pub use recommend::{Goal, RecommendRequest, recommend};
