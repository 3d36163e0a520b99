//! Benchmark registry: those of this crate and user-defined ones.

use std::sync::{PoisonError, RwLock};

use crate::benchmark::Benchmark;
use crate::benchmarks::all;

/// User-defined benchmarks, kept for the lifetime of the process.
static REGISTERED: RwLock<Vec<&'static dyn Benchmark>> = RwLock::new(Vec::new());

/// Error for a benchmark name that is already in use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the benchmark `{name}` already exists; choose another name")]
pub struct NameTaken {
    name: String,
}

/// Registers `benchmark` by its name for the lifetime of the process.
///
/// # Errors
/// If the name is taken.
pub fn register(benchmark: Box<dyn Benchmark>) -> Result<(), NameTaken> {
    if find(benchmark.name()).is_some() {
        return Err(NameTaken { name: benchmark.name().to_owned() });
    }
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(Box::leak(benchmark));
    Ok(())
}

/// Returns the user-defined benchmarks in order of registration.
pub fn registered_benchmarks() -> Vec<&'static dyn Benchmark> {
    REGISTERED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Returns every benchmark of this crate and every user-defined one.
pub fn all_benchmarks() -> impl Iterator<Item = &'static dyn Benchmark> {
    all().iter().copied().chain(registered_benchmarks())
}

/// Returns the benchmark with this name.
pub fn find(name: &str) -> Option<&'static dyn Benchmark> {
    all_benchmarks().find(|benchmark| benchmark.name() == name)
}
