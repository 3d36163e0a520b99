//! The time of one pass of each model: one bar per runtime and device, a chart per precision,
//! smallest batch.

use itertools::Itertools as _;
use rsb_model::{BenchmarkResult, Run};

use super::{axis, left_out, slug};
use crate::chart::{Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::label::{benchmark_of, device_of, measured_results};
use crate::number::format_quantity;

const MAX_MODELS: usize = 24;
/// Share of a row that its bars fill together.
const FILLED: f64 = 0.8;

struct Pass<'a> {
    model: &'a str,
    place: String,
    dtype: &'a str,
    batch: f64,
    time_ms: f64,
}

/// Returns a chart for each precision in which models were measured.
pub fn models(run: &Run) -> Vec<Chart> {
    let mut passes: Vec<Pass<'_>> = measured_results(run).filter_map(pass).collect();
    // Only the smallest batch of each precision is drawn.
    passes.sort_by(|a, b| a.batch.total_cmp(&b.batch));
    let by_dtype = passes.iter().into_group_map_by(|pass| pass.dtype);
    let by_dtype = by_dtype.into_iter().sorted_unstable_by_key(|(dtype, _)| *dtype);
    by_dtype.filter_map(|(dtype, own)| chart(dtype, &own)).collect()
}

fn pass(result: &BenchmarkResult) -> Option<Pass<'_>> {
    let fields = result.fields().filter(|_| benchmark_of(result) == "models")?;
    let time_ms =
        fields.number("forward_time_ms").filter(|time| time.is_finite() && *time > 0.0)?;
    let place = format!("{} on {}", fields.text("provider")?, device_of(&result.benchmark_id)?);
    let batch = fields.number("batch_size")?;
    Some(Pass { model: fields.text("model")?, place, dtype: fields.text("dtype")?, batch, time_ms })
}

fn chart(dtype: &str, passes: &[&Pass<'_>]) -> Option<Chart> {
    let smallest = passes.first()?.batch;
    let passes: Vec<&&Pass<'_>> = passes.iter().filter(|pass| pass.batch <= smallest).collect();
    let all: Vec<&str> = passes.iter().map(|pass| pass.model).unique().collect();
    let rows: Vec<&str> = all.iter().take(MAX_MODELS).copied().collect();
    let places: Vec<&str> = passes.iter().map(|pass| pass.place.as_str()).unique().collect();
    let thickness = FILLED / places.len() as f64;
    let mut datasets = Vec::new();
    for (index, place) in places.iter().enumerate() {
        let shift = (index as f64 - (places.len() as f64 - 1.0) / 2.0) * thickness;
        let mut points = Vec::new();
        for pass in passes.iter().filter(|pass| pass.place == *place) {
            let Some(row) = rows.iter().position(|name| *name == pass.model) else { continue };
            let text = format_quantity(pass.time_ms, "ms");
            points.push(Point::at(pass.time_ms, row as f64 + shift).saying(text));
        }
        let kind = DatasetKind::Bars { thickness };
        datasets.push(Dataset::new(kind, Paint::Series(index), points).with_name(*place));
    }
    let x_axis = axis::from_zero("ms", passes.iter().map(|pass| pass.time_ms), 6);
    let fastest = rows.iter().filter_map(|model| {
        let own = passes.iter().filter(|pass| pass.model == *model);
        own.min_by(|a, b| a.time_ms.total_cmp(&b.time_ms)).map(|pass| pass.place.as_str())
    });
    let (place, wins) = fastest.counts().into_iter().max_by_key(|(place, wins)| (*wins, *place))?;
    let more = all.len() - rows.len();
    let rest = left_out(more, "model is", "models are", "in the table only");
    Some(Chart {
        name: slug(&format!("models-{dtype}")),
        title: format!("models in {dtype}: {place} is fastest for {wins} of {}", rows.len()),
        subtitle: format!(
            "time of one pass in batches of {smallest:.0}; lower is better{}{rest}",
            axis::scale_words(&x_axis)
        ),
        place: ChartPlace::Benchmark("models".to_owned()),
        x_axis,
        y_axis: axis::rows(rows.iter().map(|name| (*name).to_owned())),
        datasets,
        legend_position: Legend::Below,
    })
}
