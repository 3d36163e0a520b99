//! Where benchmarks are looked up: those of this crate, and those that somebody brings of his own.

use std::sync::{PoisonError, RwLock};

use crate::benchmark::Benchmark;
use crate::benchmarks::all;

/// What was brought, for as long as the process lives.
static REGISTERED: RwLock<Vec<&'static dyn Benchmark>> = RwLock::new(Vec::new());

/// A benchmark of that name is here already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is a benchmark `{name}` already; choose another name")]
pub struct NameTaken {
    name: String,
}

/// Makes `benchmark` known to this process by its name, for ever.
///
/// # Errors
/// When the name is taken.
pub fn register(benchmark: Box<dyn Benchmark>) -> Result<(), NameTaken> {
    if find(benchmark.name()).is_some() {
        return Err(NameTaken { name: benchmark.name().to_owned() });
    }
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(Box::leak(benchmark));
    Ok(())
}

/// What was brought, in the order in which it came.
pub fn registered_benchmarks() -> Vec<&'static dyn Benchmark> {
    REGISTERED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Every benchmark that has a name here.
pub fn all_benchmarks() -> impl Iterator<Item = &'static dyn Benchmark> {
    all().iter().copied().chain(registered_benchmarks())
}

/// The benchmark of that name.
pub fn find(name: &str) -> Option<&'static dyn Benchmark> {
    all_benchmarks().find(|benchmark| benchmark.name() == name)
}
