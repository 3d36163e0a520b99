//! `python`: shows, diagnoses or creates the Python environment of the frameworks.

use rsb_app::python::EnvironmentReport;
use rsb_app::python_setup::{self, SetupRequest};

use crate::cli::{PythonArgs, PythonVerb, SetupArgs};
use crate::exit::{CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `python`.
///
/// # Errors
/// If the arguments are invalid, or an environment cannot be created.
pub fn run(verb: &PythonVerb) -> CliResult {
    match verb {
        PythonVerb::List(args) => list(args),
        PythonVerb::Doctor(args) => doctor(args),
        PythonVerb::Setup(args) => setup(args),
    }
}

fn list(args: &PythonArgs) -> CliResult {
    let report = EnvironmentReport::new(args.python.as_deref());
    if args.json {
        show::json(&report.packages_document())?;
    } else {
        show::text(&report.packages_text()?)?;
    }
    Ok(Exit::Pass)
}

fn doctor(args: &PythonArgs) -> CliResult {
    let report = EnvironmentReport::new(args.python.as_deref());
    let states = report.components();
    if args.json {
        show::json(&report.doctor_document(&states))?;
    } else {
        show::text(&report.doctor_text(&states))?;
    }
    Ok(if report.is_found() { Exit::Pass } else { Exit::Failure })
}

fn setup(args: &SetupArgs) -> CliResult {
    let request = SetupRequest {
        components: args.components.clone(),
        python: args.python.clone(),
        dir: args.dir.clone(),
        dry_run: args.dry_run,
    };
    python_setup::set_up(&request, &mut console::say)?;
    Ok(Exit::Pass)
}
