//! Models of eleven families: measures them, lists them, shows what one needs, and what a run says
//! of each.

mod directory;

use std::path::Path;

use anyhow::{Context as _, anyhow};
use rsb_catalog::models::{self, Footprint, MODELS, ModelRow, PRECISIONS, RUNTIMES};
use rsb_gate::gate;
use rsb_insight::model_results::{self, Outliers};
use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::{CompatibilityDocument, ModelFigures, ModelRecord, ModelsDocument};
use rsb_model::{Dtype, Reason};
use rsb_report::number::format_quantity;
use rsb_report::{Cell, Column, Style, Table, Tone};
use serde_json::{Value, json};

use super::{run, settings};
use crate::cli::{
    ModelsArgs, ModelsCompatibilityArgs, ModelsListArgs, ModelsResultsArgs, ModelsShowArgs,
    ModelsVerb, RunArgs,
};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// The types whose memory is shown where nobody chose.
const SHOWN: [Dtype; 3] = [Dtype::F32, Dtype::F16, Dtype::I8];

/// The verb `models`.
///
/// # Errors
/// When the arguments are invalid, or the results cannot be kept or read.
pub fn run(args: &ModelsArgs, style: Style) -> CliResult {
    match &args.verb {
        None => measure(args, style),
        Some(ModelsVerb::List(args)) => list(args, style),
        Some(ModelsVerb::Show(args)) => show_one(args, style),
        Some(ModelsVerb::Results(args)) => results(args, style),
        Some(ModelsVerb::Compatibility(args)) => compatibility(args, style),
    }
}

fn measure(args: &ModelsArgs, style: Style) -> CliResult {
    let mut own = own_models(args.catalogue.as_deref())?;
    let (mut names, mut wrong) = (Vec::new(), Vec::new());
    for name in &args.model {
        // Beside others a wrong one is skipped.
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
    if let Some(first) = wrong.first().filter(|_| wrong.len() == args.model.len()) {
        return Err(CliError::usage(anyhow!("{first}")));
    }
    if args.model.is_empty() && args.families.is_empty() && args.sizes.is_empty() {
        names.extend(own.iter().map(|row| row.name.clone()));
    }
    let is_load = !(args.rate.is_empty() && args.concurrency.is_empty());
    if is_load && !args.workload.is_empty() && args.workload.iter().all(|name| name != "load") {
        return Err(CliError::usage(anyhow!(
            "--rate and --concurrency are of the workload `load`: name it in --workload, or leave \
             --workload out"
        )));
    }
    let mut measure = args.measure.clone();
    let backend = measure.backend.take().map(|text| runtimes_of(&text)).transpose()?;
    let (backend, runtimes) = backend.unwrap_or_default();
    measure.backend = backend;
    measure.runs = args.iterations.or(measure.runs);
    let load = vec!["load".to_owned()];
    let axes = [
        ("family", &args.families),
        ("size", &args.sizes),
        ("model", &names),
        ("dtype", &args.precision),
        ("batch_size", &args.batch),
        ("sequence_length", &args.sequence),
        ("workload", if is_load && args.workload.is_empty() { &load } else { &args.workload }),
        ("performance_hint", &args.hint),
        ("request_rate", &args.rate),
        ("concurrency", &args.concurrency),
        ("runtime", &runtimes),
    ];
    let given = axes.into_iter().filter(|(_, values)| !values.is_empty());
    measure.axis.extend(given.map(|(name, values)| (name.to_owned(), values.clone())));
    let names = vec![MODELS.to_owned()];
    let asked =
        RunArgs { names, models: Some(own), measure, dry_run: args.dry_run, ..RunArgs::default() };
    run::run(&asked, style)
}

/// `cpu,openvino` as a backend of devices and the runtimes that are to run there.
fn runtimes_of(text: &str) -> Result<(Option<String>, Vec<String>), CliError> {
    let (runtimes, backends): (Vec<&str>, Vec<&str>) = text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .partition(|name| RUNTIMES.iter().any(|runtime| runtime.name == *name));
    let mut runtimes: Vec<String> = runtimes.into_iter().map(str::to_owned).collect();
    match backends.as_slice() {
        // OpenVINO is asked for: on the CPU, which is the only device that it drives here.
        [] if runtimes.iter().all(|name| name != "pytorch") => {
            Ok((Some("cpu".to_owned()), runtimes))
        }
        [] => Ok((None, runtimes)),
        [backend] => {
            if let Err(message) = crate::config::parse_backend(backend) {
                let names: Vec<&str> = RUNTIMES.iter().map(|runtime| runtime.name).collect();
                let names = names.join(", ");
                return Err(CliError::usage(anyhow!(
                    "--backend: {message}, auto, or a runtime of models: {names}"
                )));
            }
            if !runtimes.is_empty() {
                runtimes.insert(0, "pytorch".to_owned());
                runtimes.dedup();
            }
            Ok((Some((*backend).to_owned()), runtimes))
        }
        several => Err(CliError::usage(anyhow!(
            "--backend: {} are several backends of devices; name one of them, with runtimes beside \
             it: cpu,openvino",
            several.join(" and ")
        ))),
    }
}

pub(super) fn own_models(file: Option<&Path>) -> Result<Vec<ModelRow>, CliError> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let text =
        rsb_store::read_text(file).with_context(|| describe_file(file)).map_err(CliError::usage)?;
    let rows =
        models::parse(&text).with_context(|| describe_file(file)).map_err(CliError::usage)?;
    if let Some(taken) =
        rows.iter().find(|row| models::catalogue().iter().any(|known| known.name == row.name))
    {
        let why =
            format!("`{}` is a model of the catalogue; give yours a name of its own", taken.name);
        return Err(CliError::usage(anyhow!(why).context(describe_file(file))));
    }
    Ok(rows)
}

fn describe_file(file: &Path) -> String {
    format!("models of {}", file.display())
}

/// The model called `name`, which is in no catalogue: in a directory or downloaded.
fn missing(name: &str, own: &[ModelRow]) -> Result<ModelRow, Reason> {
    if directory::is_meant(name) {
        return directory::model(name);
    }
    Err(models::unknown(name, own))
}

fn list(args: &ModelsListArgs, style: Style) -> CliResult {
    let own = own_models(args.catalogue.as_deref())?;
    let all: Vec<&ModelRow> = own.iter().chain(models::catalogue()).collect();
    if args.json {
        let rows: Vec<Value> = all.iter().map(|row| with_size(row, json!({}))).collect();
        show::text(&rsb_report::document("models", &rows)?)?;
    } else {
        let mut table = Table::new([
            Column::left("family and model"),
            Column::left("size"),
            Column::right("parameters"),
            Column::wrapped("published"),
        ]);
        let mut family = String::new();
        for row in all {
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
                "no: the family's architecture, made small"
            };
            let published = row.published.as_deref().unwrap_or(unpublished);
            let cells = [&format!("  {}", row.name), size, &shown_count(row.parameters), published];
            table.push(cells.map(Cell::from));
        }
        show::text(&table.text(style))?;
    }
    Ok(Exit::Pass)
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

/// Which parts of a footprint nobody knows: of a row of one's own that says neither what it counts
/// nor how it is made.
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

/// A row as documents show it.
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

/// Why `row` does not take as many positions as were asked for.
fn wrong_sequence(row: &ModelRow, asked: Option<u64>) -> Option<Reason> {
    let Some(own) = row.shape.length else { return models::wrong_length(row, asked?, 0) };
    let asked = asked.filter(|asked| *asked != own)?;
    let why = format!("{} always takes {own}", row.name);
    Some(Reason::new(format!("{asked} positions"), why, "leave --sequence out"))
}

fn show_one(args: &ModelsShowArgs, style: Style) -> CliResult {
    let own = own_models(args.catalogue.as_deref())?;
    let known =
        models::find(&args.name, &own).cloned().map_or_else(|| missing(&args.name, &own), Ok);
    let row = &known.map_err(|reason| CliError::usage(anyhow!("{reason}")))?;
    let length = row.shape.length.or(args.sequence).unwrap_or_else(|| row.usual_length());
    let refused = wrong_sequence(row, args.sequence);
    let shown = if args.precision.is_empty() { &SHOWN[..] } else { &args.precision };
    let memory: Vec<(Dtype, Footprint)> = shown
        .iter()
        .map(|dtype| (*dtype, Footprint::of(row, *dtype, args.batch, length)))
        .collect();
    if args.json {
        let mut by_dtype = serde_json::Map::new();
        for (dtype, needed) in &memory {
            let mut value = json!(needed);
            // What nobody counted is unknown, and not nothing.
            for (name, _) in unknown_parts(row).into_iter().filter(|(_, is)| *is) {
                value[name] = Value::Null;
            }
            by_dtype.insert(dtype.to_string(), value);
        }
        let more = json!({
            "batch_size": args.batch, "sequence_length": length, "sequence_refused": refused, "memory": by_dtype,
        });
        show::text(&rsb_report::document("model", &with_size(row, more))?)?;
        return Ok(Exit::Pass);
    }
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
            .map(|active| format!("of a token   {active} ({})", shown_count(active))),
    );
    lines.extend(row.published.as_ref().map(|said| format!("published    {said}")));
    lines.extend(row.source.as_ref().map(|source| format!("source       {source}")));
    lines.push(format!("\nmemory for batch {}, {length} positions:", args.batch));
    lines.push(format!(
        "{:<6} {:>12} {:>16} {:>14}",
        "", "weights", "keys and values", "activations, estimated"
    ));
    let [weights_unknown, cache_unknown, between_unknown] = unknown_parts(row).map(|(_, is)| is);
    for (dtype, needed) in memory {
        let weights = shown_bytes(needed.weights_bytes, weights_unknown);
        let cache = shown_bytes(needed.cache_bytes, cache_unknown);
        let between = shown_bytes(needed.activations_bytes, between_unknown);
        lines.push(format!("{dtype:<6} {weights:>12} {cache:>16} {between:>14}"));
    }
    lines.extend(refused.map(|reason| format!("\nnot measurable: {reason}")));
    show::text(&style.wrap_long_lines(&lines.join("\n")))?;
    Ok(Exit::Pass)
}

fn shown_bytes(bytes: u64, is_unknown: bool) -> String {
    if is_unknown { "unknown".to_owned() } else { format_quantity(bytes as f64 / 1e6, "MB") }
}

fn compatibility(args: &ModelsCompatibilityArgs, style: Style) -> CliResult {
    let (_, directories) = settings::load(&args.places)?;
    let store = gate::open(&directories, &mut console::tell)?;
    let map = model_results::compatibility(&super::recommend::of_models(&store)?);
    if args.json {
        show::json(&CompatibilityDocument { format_version: FORMAT_VERSION, compatibility: map })?;
        return Ok(Exit::Pass);
    }
    let precisions = PRECISIONS.iter().map(|precision| Column::wrapped(precision.as_str()));
    let mut table = Table::new([Column::left("family and runtime")].into_iter().chain(precisions));
    let mut family = "";
    // A row of the map is one family by one runtime, each of whose fields is a precision.
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
        style.wrap("--json gives the reason of each, and the nearest combination that works.", 0);
    show::text(&format!("{}\n{note}", table.text(style)))?;
    Ok(Exit::Pass)
}

fn results(args: &ModelsResultsArgs, style: Style) -> CliResult {
    let (_, directories) = settings::load(&args.places)?;
    let store = gate::open(&directories, &mut console::tell)?;
    let run = match &args.run {
        Some(text) => store.run(text).map_err(CliError::usage)?,
        None => gate::latest_lenient(&store, &mut console::tell)
            .map_err(|problem| CliError::usage(problem.error))?,
    };
    let outliers = if args.without_outliers { Outliers::LeftOut } else { Outliers::Marked };
    let document = model_results::document(&run, outliers);
    if document.models.is_empty() && document.skipped.is_empty() {
        return Err(CliError::usage(anyhow!(
            "the run {} measured no models; `models` measures some",
            run.run_id
        )));
    }
    if args.json {
        show::json(&document)?;
    } else {
        show::text(&style.wrap_long_lines(&text(&document)))?;
    }
    Ok(Exit::Pass)
}

/// The document for people: a line for each batch of each model.
fn text(document: &ModelsDocument) -> String {
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
    let said = parts
        .into_iter()
        .filter_map(|(name, value, unit)| Some(format!("{name}{}", format_quantity(value?, unit))));
    let missing = figures
        .missing
        .iter()
        .filter_map(|case| Some(format!("{}: {}", case.outcome, case.reason.as_ref()?)));
    said.chain(missing).collect::<Vec<_>>().join(", ")
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
        ] {
            let found = runtimes_as_text(text);
            assert_eq!(found, Ok((backend.to_owned(), runtimes.to_owned())), "{text}");
        }
        assert!(runtimes_as_text("cpu,rocm").unwrap_err().contains("name one"));
    }

    fn runtimes_as_text(text: &str) -> Result<(String, String), String> {
        let (backend, runtimes) = runtimes_of(text).map_err(|error| error.error.to_string())?;
        Ok((backend.unwrap_or_default(), runtimes.join(",")))
    }
}
