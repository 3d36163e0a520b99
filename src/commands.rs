//! Subcommands, one per file. Each loads its input, calls pure functions and writes the result.

pub mod baseline;
pub mod bisect;
pub mod chart;
pub mod compare;
pub mod completions;
pub mod components;
pub mod config;
pub mod doctor;
pub mod export;
pub mod fleet;
pub mod gate;
pub mod gpu_capability;
pub mod health;
pub mod help;
pub mod history;
pub mod import;
pub mod init;
pub mod list;
pub mod man;
pub mod models;
pub mod notify;
pub mod probe;
pub mod prune;
pub mod python;
pub mod query;
pub mod recommend;
pub mod report;
pub mod run;
pub mod schema;
pub mod serve;
pub mod store;
pub mod trend;
pub mod tui;
pub mod watch;

mod answer;
mod events;
mod interrupt;
mod measuring;
mod progress;
mod verdict;

use std::process::ExitCode;

use rsb_app::error_chain;
use rsb_report::Style;

use crate::cli::{self, Verb};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand; without one, shows the first steps.
///
/// # Errors
/// If the subcommand fails.
pub fn dispatch(verb: Option<Verb>, style: Style) -> CliResult {
    let Some(verb) = verb else {
        show::text(cli::CARD)?;
        return Ok(Exit::Pass);
    };
    match verb {
        Verb::Tui(args) => tui::run(&args, style),
        Verb::Probe(args) => probe::run(&args, style),
        Verb::Doctor(args) => doctor::run(&args, style),
        Verb::GpuCapability(args) => gpu_capability::run(&args, style),
        Verb::List(args) => list::run(&args, style),
        Verb::Run(args) => run::run(&args, style),
        Verb::Benchmark(name, args) => run::benchmark(&name, &args, style),
        Verb::Gate(args) => gate::run(&args, style),
        Verb::Compare(args) => compare::run(&args, style),
        Verb::Bisect(args) => bisect::run(&args, style),
        Verb::Baseline(verb) => baseline::run(&verb, style),
        Verb::Trend(args) => trend::run(&args, style),
        Verb::Fleet(verb) => fleet::run(&verb, style),
        Verb::Health(args) => health::run(&args, style),
        Verb::History(args) => history::run(&args, style),
        Verb::Watch(args) => watch::run(&args, style),
        Verb::Notify(args) => notify::run(&args),
        Verb::Query(args) => query::run(&args, style),
        Verb::Export(args) => export::run(&args),
        Verb::Import(args) => import::run(&args),
        Verb::Prune(args) => prune::run(&args),
        Verb::Store(verb) => store::run(&verb),
        Verb::Report(args) => report::run(&args, style),
        Verb::Chart(args) => chart::run(&args, style),
        Verb::Serve(args) => serve::run(&args, style),
        Verb::Components(args) => components::run(&args, style),
        Verb::Models(args) => models::run(&args, style),
        Verb::Recommend(args) => recommend::run(&args, style),
        Verb::Python(verb) => python::run(&verb),
        Verb::Init(args) => init::run(&args),
        Verb::Config(verb) => config::run(&verb),
        Verb::Schema(args) => schema::run(&args),
        Verb::Completions { shell } => completions::run(shell),
        Verb::Man => man::run(),
        Verb::Help(args) => help::run(&args, style),
    }
}

/// Converts a result to the exit code of the program, and prints the error if there is one.
pub fn finish(result: CliResult) -> ExitCode {
    match result {
        Ok(exit) => exit.into(),
        Err(CliError { kind, error }) => {
            console::say(&format!("error: {}", error_chain(&error)));
            Exit::from(kind).into()
        }
    }
}
