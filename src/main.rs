//! Parse, dispatch, exit code.

use std::process::ExitCode;

use rusty_stack_bench::cli::{self, Verb};
use rusty_stack_bench::exit::{CliError, Exit};
use rusty_stack_bench::{commands, console, show};

fn main() -> ExitCode {
    if let Some(ended) = rsb_engine::measure::as_child() {
        return ended;
    }
    let cli = cli::parse();
    let style = show::style(cli.color);
    let ended = commands::environment::check().and_then(|()| match cli.verb {
        Verb::Tui(args) => commands::tui::run(&args, style),
        Verb::Probe(args) => commands::probe::run(&args, style),
        Verb::Doctor(args) => commands::doctor::run(&args, style),
        Verb::GpuCapability(args) => commands::gpu_capability::run(&args, style),
        Verb::List(args) => commands::list::run(&args, style),
        Verb::Run(args) => commands::run::run(&args, style),
        Verb::Benchmark(name, args) => commands::run::benchmark(&name, &args, style),
        Verb::Gate(args) => commands::gate::run(&args, style),
        Verb::Compare(args) => commands::compare::run(&args, style),
        Verb::Bisect(args) => commands::bisect::run(&args, style),
        Verb::Baseline(verb) => commands::baseline::run(&verb, style),
        Verb::Trend(args) => commands::trend::run(&args, style),
        Verb::Health(args) => commands::health::run(&args, style),
        Verb::History(args) => commands::history::run(&args, style),
        Verb::Watch(args) => commands::watch::run(&args, style),
        Verb::Query(args) => commands::query::run(&args, style),
        Verb::Export(args) => commands::export::run(&args),
        Verb::Import(args) => commands::import::run(&args),
        Verb::Prune(args) => commands::prune::run(&args),
        Verb::Store(verb) => commands::store::run(&verb),
        Verb::Report(args) => commands::report::run(&args, style),
        Verb::Chart(args) => commands::chart::run(&args, style),
        Verb::Serve(args) => commands::serve::run(&args, style),
        Verb::Components(args) => commands::components::run(&args),
        Verb::Models(args) => commands::models::run(&args, style),
        Verb::Recommend(args) => commands::recommend::run(&args),
        Verb::Python(verb) => commands::python::run(&verb),
        Verb::Init(args) => commands::init::run(&args),
        Verb::Schema(args) => commands::schema::run(&args),
        Verb::Completions { shell } => commands::completions::run(shell),
        Verb::Man => commands::man::run(),
    });
    match ended {
        Ok(exit) => exit.into(),
        Err(CliError { kind, error }) => {
            console::say(&format!("error: {}", show::chain(&error)));
            Exit::from(kind).into()
        }
    }
}
