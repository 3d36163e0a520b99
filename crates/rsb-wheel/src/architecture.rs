//! Capabilities of GPU architectures, from the program's table. The GPU need not be present.

use pyo3::prelude::*;
use rsb_model::Architecture;
use rsb_model::architecture::{Engine, Needs, RatedGpu, Residency, matrix_fields, residency};
use rsb_model::gpu::Gpu;
use serde_json::{Value, json};

use crate::keep::{self, KeepError};

/// Vendor and family words that may be missing in a product's name.
const BRANDS: [&str; 3] = ["instinct", "radeon", "geforce"];

/// Sizes of a wave or warp to try; the target's table entry accepts only one.
const WAVES: [u32; 2] = [64, 32];

/// Returns the capabilities of the architecture `target`, such as `gfx942`, or else of the
/// architecture of the product `gpu`, as JSON.
#[pyfunction]
#[pyo3(signature = (gpu=None, target=None))]
pub(crate) fn architecture(gpu: Option<&str>, target: Option<&str>) -> PyResult<String> {
    Ok(capabilities(gpu, target)?)
}

/// Returns the occupancy in percent of a kernel on `target`, computed from the compiler's output.
/// Returns None if the table does not contain the target.
#[pyfunction]
pub(crate) fn occupancy(
    target: &str,
    registers: u32,
    shared_bytes: u32,
    warps: u32,
) -> Option<f64> {
    WAVES.into_iter().find_map(|wavefront| {
        let block_size = warps.saturating_mul(wavefront);
        let needs = Needs { registers, shared_bytes, wavefront, block_size };
        residency(target, needs).ok().map(Residency::percent)
    })
}

fn capabilities(gpu: Option<&str>, target: Option<&str>) -> Result<String, KeepError> {
    let known = match target {
        Some(target) => Architecture::find(&target.trim().to_ascii_lowercase()).ok(),
        None => gpu.and_then(of_product),
    };
    let Some(known) = known else {
        return Err(KeepError::Unknown(unknown(target.or(gpu).unwrap_or_default())));
    };
    let described = Gpu { name: gpu.map(str::to_owned), ..Gpu::default() };
    let mut rated = RatedGpu::of(&described);
    if rated.target != Some(known.target) {
        // The data sheet is missing or describes another architecture.
        rated = RatedGpu { target: Some(known.target), ..RatedGpu::default() };
    }
    let unit_rates: Vec<Value> = known
        .rates
        .iter()
        .map(|rate| {
            json!({
                "dtype": rate.dtype.as_str(),
                "engine": rate.engine.as_str(),
                "operations_per_clock": rate.per_clock_per_cu,
                "tiles": rate.tiles,
            })
        })
        .collect();
    let of_matrix = known.rates.iter().filter(|rate| rate.engine == Engine::Matrix);
    let dtypes: Vec<&str> = of_matrix.map(|rate| rate.dtype.as_str()).collect();
    keep::text(&json!({
        "fields": matrix_fields(&rated),
        "family": known.family,
        "gpus": known.gpus,
        "wavefront": known.wavefront,
        "matrix_unit": known.matrix.map(|unit| unit.to_string()),
        "supported_dtypes": dtypes,
        "rates": unit_rates,
    }))
}

/// Finds the architecture of a product, such as `AMD Instinct MI300X`.
fn of_product(name: &str) -> Option<&'static Architecture> {
    let described = Gpu { name: Some(name.to_owned()), ..Gpu::default() };
    let of_board =
        RatedGpu::of(&described).target.and_then(|target| Architecture::find(target).ok());
    of_board.or_else(|| {
        Architecture::all()
            .find(|known| known.gpus.split(", ").any(|product| is_product(name, product)))
    })
}

/// Returns whether `name` contains every word of `product`, except brands. A two-digit number in
/// `product` stands for a series: `40` matches `4090`.
fn is_product(name: &str, product: &str) -> bool {
    let given = words(name);
    let wanted = words(product);
    let mut named = wanted.iter().filter(|word| !BRANDS.contains(&word.as_str())).peekable();
    named.peek().is_some()
        && named.all(|word| {
            let is_series = word.len() == 2 && word.chars().all(|letter| letter.is_ascii_digit());
            given.iter().any(|one| {
                one == word || (is_series && one.len() == 4 && one.starts_with(word.as_str()))
            })
        })
}

fn words(text: &str) -> Vec<String> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect()
}

fn unknown(name: &str) -> String {
    let targets: Vec<&str> = Architecture::all().map(|known| known.target).collect();
    format!(
        "`{name}` is not in the table of architectures; use one of {}, or the name of a product, \
         such as Instinct MI300X",
        targets.join(", ")
    )
}
