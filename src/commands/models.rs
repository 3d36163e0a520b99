//! `models`: measures models of eleven families, lists them, shows the requirements of one, and
//! shows the results of a run per model.

use anyhow::anyhow;
use rsb_app::models::{self as app, ModelSheet, ModelsRequest};
use rsb_app::project::chosen_run;
use rsb_app::{ProjectContext, recommend};
use rsb_catalog::models::MODELS;
use rsb_insight::model_results::{self, Outliers};
use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::CompatibilityDocument;
use rsb_report::Style;

use super::measuring;
use crate::cli::{
    ModelsArgs, ModelsCompatibilityArgs, ModelsListArgs, ModelsResultsArgs, ModelsShowArgs,
    ModelsVerb, RunArgs,
};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `models`.
///
/// # Errors
/// If the arguments are invalid, or the results cannot be stored or read.
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
    let chosen = app::choose(&ModelsRequest {
        catalogue: args.catalogue.as_deref(),
        names: &args.model,
        families: &args.families,
        sizes: &args.sizes,
        precision: &args.precision,
        batch: &args.batch,
        sequence: &args.sequence,
        workload: &args.workload,
        hint: &args.hint,
        rate: &args.rate,
        concurrency: &args.concurrency,
        backend: args.measure.backend.as_deref(),
    })?;
    let mut measure = args.measure.clone();
    measure.backend = chosen.backend;
    measure.runs = args.iterations.or(measure.runs);
    measure.axis.extend(chosen.axes);
    let names = vec![MODELS.to_owned()];
    let models = Some(chosen.own);
    let run = RunArgs { names, models, measure, ..RunArgs::default() };
    measuring::run(&run, style)
}

fn list(args: &ModelsListArgs, style: Style) -> CliResult {
    let own = app::own_models(args.catalogue.as_deref())?;
    let text = if args.json {
        rsb_report::document("models", &app::catalogue_rows(&own))?
    } else {
        app::catalogue_text(&own, style)
    };
    show::text(&text)?;
    Ok(Exit::Pass)
}

fn show_one(args: &ModelsShowArgs, style: Style) -> CliResult {
    let own = app::own_models(args.catalogue.as_deref())?;
    let sheet = ModelSheet::new(&args.name, &own, args.batch, args.sequence, &args.precision)?;
    let text = if args.json {
        rsb_report::document("model", &sheet.document())?
    } else {
        style.wrap_long_lines(&sheet.text())
    };
    show::text(&text)?;
    Ok(Exit::Pass)
}

fn compatibility(args: &ModelsCompatibilityArgs, style: Style) -> CliResult {
    let store = ProjectContext::open(&args.places.paths())?.store(&mut console::tell)?;
    let map = model_results::compatibility(&recommend::of_models(&store)?);
    if args.json {
        show::json(&CompatibilityDocument { format_version: FORMAT_VERSION, compatibility: map })?;
    } else {
        show::text(&app::compatibility_text(&map, style))?;
    }
    Ok(Exit::Pass)
}

fn results(args: &ModelsResultsArgs, style: Style) -> CliResult {
    let store = ProjectContext::open(&args.places.paths())?.store(&mut console::tell)?;
    let run = chosen_run(&store, args.run.as_deref(), &mut console::tell)?;
    let outliers = if args.without_outliers { Outliers::LeftOut } else { Outliers::Marked };
    let document = model_results::document(&run, outliers);
    if document.models.is_empty() && document.skipped.is_empty() {
        return Err(CliError::usage(anyhow!(
            "the run {} measured no models; measure some with `models`",
            run.run_id
        )));
    }
    if args.json {
        show::json(&document)?;
    } else {
        show::text(&style.wrap_long_lines(&app::text(&document)))?;
    }
    Ok(Exit::Pass)
}
