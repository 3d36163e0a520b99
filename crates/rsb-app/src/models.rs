//! Models of eleven families: selects those to measure, and describes them for people and programs.

mod directory;

use std::path::Path;

use anyhow::{Context as _, anyhow};
use rsb_catalog::models::{
    self, Family, Footprint, ModelRow, PRECISIONS, RUNTIMES, SizeClass, Unpublished,
};
use rsb_model::record::{ModelCompatibility, ModelFigures, ModelRecord, ModelsDocument};
use rsb_model::{Dtype, Reason};
use rsb_report::number::format_quantity;
use rsb_report::{Cell, Column, Style, Table, Tone};
use serde_json::{Value, json};

use crate::AppError;

/// Data types whose memory needs are shown if none is selected.
const SHOWN: [Dtype; 3] = [Dtype::F32, Dtype::F16, Dtype::I8];

/// Models to measure and how, as set by flags.
#[derive(Debug, Clone, Copy)]
pub struct ModelsRequest<'a> {
    /// A TOML file of further models.
    pub catalogue: Option<&'a Path>,
    /// Models by name, directory, or name in the hub.
    pub names: &'a [String],
    /// Families.
    pub families: &'a [String],
    /// Sizes.
    pub sizes: &'a [String],
    /// Precisions.
    pub precision: &'a [String],
    /// Batch sizes.
    pub batch: &'a [String],
    /// Sequence lengths.
    pub sequence: &'a [String],
    /// Workloads.
    pub workload: &'a [String],
    /// Performance hints of `OpenVINO`.
    pub hint: &'a [String],
    /// Requests per second.
    pub rate: &'a [String],
    /// Concurrent requests.
    pub concurrency: &'a [String],
    /// A backend of devices, runtimes, or both.
    pub backend: Option<&'a str>,
}

/// The selected models.
#[derive(Debug, Clone)]
pub struct ModelsChoice {
    /// Models that are not in the catalogue.
    pub own: Vec<ModelRow>,
    /// Backend of the devices.
    pub backend: Option<String>,
    /// The axes that the request sets.
    pub axes: Vec<(String, Vec<String>)>,
}

/// Resolves `request` into models, a backend and axes.
///
/// # Errors
/// If none of the named models exists, or values do not fit together.
pub fn choose(request: &ModelsRequest<'_>) -> Result<ModelsChoice, AppError> {
    let mut own = own_models(request.catalogue)?;
    let (mut names, mut wrong) = (Vec::new(), Vec::new());
    for name in request.names {
        // A wrong name among valid ones is skipped.
        if models::find(name, &own).is_none() {
            let found = missing(name, &own);
            wrong.extend(found.as_ref().err().cloned());
            let row = found.unwrap_or_else(|reason| ModelRow::from_refusal(name, reason));
            names.push(row.name.clone());
            own.push(row);
        } else {
            names.push(name.clone());
        }
    }
    if let Some(first) = wrong.first().filter(|_| wrong.len() == request.names.len()) {
        return Err(AppError::usage(anyhow!("{first}")));
    }
    if request.names.is_empty() && request.families.is_empty() && request.sizes.is_empty() {
        names.extend(own.iter().map(|row| row.name.clone()));
    }
    let is_load = !(request.rate.is_empty() && request.concurrency.is_empty());
    if is_load && !request.workload.is_empty() && request.workload.iter().all(|name| name != "load")
    {
        return Err(AppError::usage(anyhow!(
            "--rate and --concurrency apply only to the workload `load`: add it to --workload, or \
             omit --workload"
        )));
    }
    let (backend, runtimes) = request.backend.map(runtimes_of).transpose()?.unwrap_or_default();
    let load = ["load".to_owned()];
    let workload = if is_load && request.workload.is_empty() { &load } else { request.workload };
    let axes = [
        ("family", request.families),
        ("size", request.sizes),
        ("model", names.as_slice()),
        ("dtype", request.precision),
        ("batch_size", request.batch),
        ("sequence_length", request.sequence),
        ("workload", workload),
        ("performance_hint", request.hint),
        ("request_rate", request.rate),
        ("concurrency", request.concurrency),
        ("runtime", runtimes.as_slice()),
    ];
    let given = axes.into_iter().filter(|(_, values)| !values.is_empty());
    let axes = given.map(|(name, values)| (name.to_owned(), values.to_vec())).collect();
    Ok(ModelsChoice { own, backend, axes })
}

/// Splits text such as `cpu,openvino` into a backend of devices and the runtimes to use on it.
fn runtimes_of(text: &str) -> Result<(Option<String>, Vec<String>), AppError> {
    let (runtimes, backends): (Vec<&str>, Vec<&str>) = text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .partition(|name| RUNTIMES.iter().any(|runtime| runtime.name == *name));
    let mut runtimes: Vec<String> = runtimes.into_iter().map(str::to_owned).collect();
    match backends.as_slice() {
        // Only OpenVINO was requested; it uses the CPU, its only device here.
        [] if runtimes.iter().all(|name| name != "pytorch") => {
            Ok((Some("cpu".to_owned()), runtimes))
        }
        [] => Ok((None, runtimes)),
        backends => {
            let backends = backends.join(",");
            if let Err(message) = crate::config::parse_backends(&backends) {
                let names: Vec<&str> = RUNTIMES.iter().map(|runtime| runtime.name).collect();
                let names = names.join(", ");
                return Err(AppError::usage(anyhow!(
                    "--backend: {message}, auto, or a runtime of models: {names}"
                )));
            }
            if !runtimes.is_empty() {
                runtimes.insert(0, "pytorch".to_owned());
                runtimes.dedup();
            }
            Ok((Some(backends), runtimes))
        }
    }
}

/// Reads the models in `file`.
///
/// # Errors
/// If it cannot be read, is invalid, or repeats a name of the catalogue.
pub fn own_models(file: Option<&Path>) -> Result<Vec<ModelRow>, AppError> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let text =
        rsb_store::read_text(file).with_context(|| describe_file(file)).map_err(AppError::usage)?;
    let rows =
        models::parse(&text).with_context(|| describe_file(file)).map_err(AppError::usage)?;
    if let Some(taken) =
        rows.iter().find(|row| models::catalogue().iter().any(|known| known.name == row.name))
    {
        let why = format!("`{}` is a model of the catalogue; give yours another name", taken.name);
        return Err(AppError::usage(anyhow!(why).context(describe_file(file))));
    }
    Ok(rows)
}

fn describe_file(file: &Path) -> String {
    format!("models of {}", file.display())
}

/// Finds the model `name`, which is not in a catalogue: in a directory or downloaded.
fn missing(name: &str, own: &[ModelRow]) -> Result<ModelRow, Reason> {
    if directory::is_meant(name) {
        return directory::model(name);
    }
    Err(models::unknown(name, own))
}

/// Returns the models in `own` and the catalogue in the format of the JSON document.
pub fn catalogue_rows(own: &[ModelRow]) -> Vec<Value> {
    own.iter().chain(models::catalogue()).map(|row| with_size(row, json!({}))).collect()
}

/// Formats the models in `own` and the catalogue for people.
pub fn catalogue_text(own: &[ModelRow], style: Style) -> String {
    let mut table = Table::new([
        Column::left("family and model"),
        Column::left("size"),
        Column::right("parameters"),
        Column::wrapped("published"),
    ]);
    let mut family = String::new();
    for row in own.iter().chain(models::catalogue()) {
        let own_family = row.family.to_string();
        if own_family != family {
            table.push([Cell::with_tone(&own_family, Tone::Strong)]);
            family = own_family;
        }
        let size = if row.parameters == 0 { "" } else { row.size().as_str() };
        let is_own = own.iter().any(|one| one.name == row.name);
        let unpublished = if is_own {
            "no: user-defined"
        } else {
            "no: a small model of the family's architecture"
        };
        let published = row.published.as_deref().unwrap_or(unpublished);
        let cells = [&format!("  {}", row.name), size, &shown_count(row.parameters), published];
        table.push(cells.map(Cell::from));
    }
    format!("{}\n{}{}", table.text(style), size_classes(own).text(style), searches(style))
}

/// Returns a paragraph for each size in which no model was published: what was searched.
fn searches(style: Style) -> String {
    let cells = Family::ALL
        .into_iter()
        .flat_map(|family| SizeClass::ALL.map(|size| models::unpublished(family, size)));
    cells.flatten().fold(String::new(), |text, cell| {
        let Unpublished { family, size, searched } = cell;
        let found = format!("{} ({family} {size}): {searched}", Unpublished::WORDS);
        format!("{text}\n{}", style.wrap(&found, 0))
    })
}

/// Returns the table of families and size classes, with the model that represents each.
fn size_classes(own: &[ModelRow]) -> Table {
    let sizes = SizeClass::ALL.map(|size| Column::wrapped(size.as_str()));
    let mut table = Table::new([Column::left("family")].into_iter().chain(sizes));
    for family in Family::ALL {
        let cells = SizeClass::ALL.map(|size| {
            let mut rows = own.iter().chain(models::catalogue());
            let fits =
                |row: &&ModelRow| row.family == family && row.parameters > 0 && row.size() == size;
            match rows.find(fits) {
                Some(row) => Cell::from(&row.name),
                None => Cell::with_tone(Unpublished::WORDS, Tone::Dim),
            }
        });
        table.push([Cell::from(family.to_string())].into_iter().chain(cells));
    }
    table
}

fn shown_count(parameters: u64) -> String {
    match parameters {
        0 => "not counted".to_owned(),
        large if large >= 1_000_000_000 => format!("{:.2} B", large as f64 / 1e9),
        small => format!("{:.1} M", small as f64 / 1e6),
    }
}

fn shown_size(row: &ModelRow) -> String {
    if row.parameters == 0 { "of unknown size".to_owned() } else { row.size().to_string() }
}

/// Returns the parts of a footprint, and whether each is unknown. Parts of user-defined rows are
/// unknown if the row gives neither their size nor the shape of the model.
fn unknown_parts(row: &ModelRow) -> [(&'static str, bool); 3] {
    let shape = &row.shape;
    [
        ("weights_bytes", row.parameters == 0),
        (
            "cache_bytes",
            row.generates() && shape.cache.unwrap_or(0) + shape.state.unwrap_or(0) == 0,
        ),
        ("activations_bytes", shape.hidden == 0 && shape.vocabulary.is_none()),
    ]
}

/// Returns a row in the format of the JSON document.
fn with_size(row: &ModelRow, more: Value) -> Value {
    let mut value = json!(row);
    if let (Some(fields), Value::Object(more)) = (value.as_object_mut(), more) {
        let is_counted = row.parameters > 0;
        fields.insert("size".to_owned(), if is_counted { json!(row.size()) } else { Value::Null });
        if !is_counted {
            fields.insert("parameters".to_owned(), Value::Null);
        }
        fields.extend(more);
    }
    value
}

/// Returns why `row` does not accept the requested number of positions.
fn wrong_sequence(row: &ModelRow, requested: Option<u64>) -> Option<Reason> {
    let Some(own) = row.shape.length else { return models::wrong_length(row, requested?, 0) };
    let requested = requested.filter(|requested| *requested != own)?;
    let why = format!("{} has a fixed length of {own}", row.name);
    Some(Reason::new(format!("{requested} positions"), why, "omit --sequence"))
}

/// One model, and its memory in the requested precisions.
#[derive(Debug, Clone)]
pub struct ModelSheet {
    row: ModelRow,
    batch: u64,
    length: u64,
    refused: Option<Reason>,
    memory: Vec<(Dtype, Footprint)>,
}

impl ModelSheet {
    /// Returns the sheet of the model `name`, for `batch` items of `sequence` positions.
    ///
    /// # Errors
    /// If there is no such model.
    pub fn new(
        name: &str,
        own: &[ModelRow],
        batch: u64,
        sequence: Option<u64>,
        precision: &[Dtype],
    ) -> Result<Self, AppError> {
        let known = models::find(name, own).cloned().map_or_else(|| missing(name, own), Ok);
        let row = known.map_err(|reason| AppError::usage(anyhow!("{reason}")))?;
        let length = row.shape.length.or(sequence).unwrap_or_else(|| row.usual_length());
        let refused = wrong_sequence(&row, sequence);
        let shown = if precision.is_empty() { &SHOWN[..] } else { precision };
        let memory = shown
            .iter()
            .map(|dtype| (*dtype, Footprint::of(&row, *dtype, batch, length)))
            .collect();
        Ok(Self { row, batch, length, refused, memory })
    }

    /// Returns the sheet as a JSON document.
    pub fn document(&self) -> Value {
        let mut by_dtype = serde_json::Map::new();
        for (dtype, needed) in &self.memory {
            let mut value = json!(needed);
            // A size that was not counted is unknown, not zero.
            for (name, _) in unknown_parts(&self.row).into_iter().filter(|(_, is)| *is) {
                value[name] = Value::Null;
            }
            by_dtype.insert(dtype.to_string(), value);
        }
        let more = json!({
            "batch_size": self.batch,
            "sequence_length": self.length,
            "sequence_refused": self.refused,
            "memory": by_dtype,
        });
        with_size(&self.row, more)
    }

    /// Formats the sheet for people.
    pub fn text(&self) -> String {
        let row = &self.row;
        let mut lines = vec![
            format!("{}: {}, {}", row.name, row.family, shown_size(row)),
            format!("class        {} of {}", row.class, row.library),
            match row.parameters {
                0 => "parameters   unknown: counted when it is measured".to_owned(),
                count => format!("parameters   {count} ({})", shown_count(count)),
            },
        ];
        lines.extend(
            row.active_parameters
                .map(|active| format!("per token    {active} ({})", shown_count(active))),
        );
        lines.extend(row.published.as_ref().map(|published| format!("published    {published}")));
        lines.extend(row.source.as_ref().map(|source| format!("source       {source}")));
        lines.push(format!("\nmemory for batch {}, {} positions:", self.batch, self.length));
        lines.push(format!(
            "{:<6} {:>12} {:>16} {:>14}",
            "", "weights", "keys and values", "activations, estimated"
        ));
        let [weights_unknown, cache_unknown, between_unknown] =
            unknown_parts(row).map(|(_, is)| is);
        for (dtype, needed) in &self.memory {
            let weights = shown_bytes(needed.weights_bytes, weights_unknown);
            let cache = shown_bytes(needed.cache_bytes, cache_unknown);
            let between = shown_bytes(needed.activations_bytes, between_unknown);
            lines.push(format!("{dtype:<6} {weights:>12} {cache:>16} {between:>14}"));
        }
        lines.extend(self.refused.as_ref().map(|reason| format!("\nnot measurable: {reason}")));
        lines.join("\n")
    }
}

fn shown_bytes(bytes: u64, is_unknown: bool) -> String {
    if is_unknown { "unknown".to_owned() } else { format_quantity(bytes as f64 / 1e6, "MB") }
}

/// Formats which families, runtimes and precisions work together.
pub fn compatibility_text(map: &[ModelCompatibility], style: Style) -> String {
    let precisions = PRECISIONS.iter().map(|precision| Column::wrapped(precision.as_str()));
    let mut table = Table::new([Column::left("family and runtime")].into_iter().chain(precisions));
    let mut family = "";
    // A row of the map is one family with one runtime; its columns are the precisions.
    for row in map.chunks(PRECISIONS.len()) {
        let Some(first) = row.first() else { continue };
        if first.family != family {
            table.push([Cell::with_tone(&first.family, Tone::Strong)]);
            family = &first.family;
        }
        let place = Cell::from(format!("  {} {}", first.runtime, first.backend));
        let standings = row.iter().map(|one| Cell::from(one.standing.as_str()));
        table.push([place].into_iter().chain(standings));
    }
    let note =
        style.wrap("--json adds the reason for each, and the nearest combination that works.", 0);
    format!("{}\n{note}", table.text(style))
}

/// Formats the document for people, with one line per batch size of each model.
pub fn text(document: &ModelsDocument) -> String {
    let lines = document.models.iter().flat_map(lines_of);
    let skipped = document.skipped.iter().map(|case| {
        let reason = case.reason.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{}: {}: {reason}", case.benchmark_id, case.outcome)
    });
    lines.chain(skipped).collect::<Vec<_>>().join("\n")
}

fn lines_of(record: &ModelRecord) -> Vec<String> {
    let family = record.architecture_type.as_deref().unwrap_or("unknown");
    let count = shown_count(record.parameter_count.unwrap_or(0));
    let head = format!(
        "{} ({family}, {count}) on {} by {}",
        record.model_id, record.device, record.backend
    );
    let batches = record
        .batch_results
        .iter()
        .map(|(key, figures)| format!("  {key:<18} {}", figures_text(figures)));
    std::iter::once(head).chain(batches).collect()
}

fn figures_text(figures: &ModelFigures) -> String {
    let parts = [
        ("", figures.inference_time_ms, "ms"),
        ("p99 ", figures.latency_p99_ms, "ms"),
        ("waiting ", figures.queue_time_ms, "ms"),
        ("", figures.throughput_samples_per_second, "items/s"),
        ("", figures.tokens_per_second, "tokens/s"),
        ("first token ", figures.ttft_ms, "ms"),
        ("later ", figures.tpot_ms, "ms"),
        ("memory ", figures.memory_peak_mb, "MB"),
    ];
    let values = parts
        .into_iter()
        .filter_map(|(name, value, unit)| Some(format!("{name}{}", format_quantity(value?, unit))));
    let missing = figures
        .missing
        .iter()
        .filter_map(|case| Some(format!("{}: {}", case.outcome, case.reason.as_ref()?)));
    values.chain(missing).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_beside_a_backend_is_compared_with_pytorch_there() {
        for (text, backend, runtimes) in [
            ("cpu", "cpu", ""),
            ("openvino", "cpu", "openvino"),
            ("cpu,openvino", "cpu", "pytorch,openvino"),
            ("pytorch,openvino", "", "pytorch,openvino"),
            ("rocm", "rocm", ""),
            ("cpu,rocm", "cpu,rocm", ""),
        ] {
            let found = runtimes_as_text(text);
            assert_eq!(found, Ok((backend.to_owned(), runtimes.to_owned())), "{text}");
        }
        assert!(runtimes_as_text("cpu,toaster").unwrap_err().contains("a runtime of models"));
    }

    fn runtimes_as_text(text: &str) -> Result<(String, String), String> {
        let (backend, runtimes) = runtimes_of(text).map_err(|error| error.error.to_string())?;
        Ok((backend.unwrap_or_default(), runtimes.join(",")))
    }
}
