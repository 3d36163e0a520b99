//! The Python environment that frameworks are measured in: shown, examined, made.

mod setup;

use anyhow::anyhow;
use rsb_catalog::frameworks::{self, PythonEnvironment};
use rsb_engine::python_worker;
use rsb_model::Reason;
use rsb_model::format::FORMAT_VERSION;
use serde_json::json;

use crate::cli::{PythonArgs, PythonVerb};
use crate::exit::{CliResult, Exit};
use crate::show;

/// The verb `python`.
///
/// # Errors
/// When words are off, or an environment cannot be made.
pub fn run(verb: &PythonVerb) -> CliResult {
    match verb {
        PythonVerb::List(args) => list(args),
        PythonVerb::Doctor(args) => doctor(args),
        PythonVerb::Setup(args) => setup::run(args),
    }
}

fn environment(args: &PythonArgs) -> Result<PythonEnvironment, Reason> {
    args.python.as_deref().map_or_else(frameworks::default_environment, frameworks::ask)
}

fn list(args: &PythonArgs) -> CliResult {
    let found = environment(args);
    let packages = found.as_ref().map(frameworks::packages_of).unwrap_or_default();
    let known: Vec<&str> = frameworks::all()
        .iter()
        .flat_map(|component| component.packages.iter().chain(component.install))
        .copied()
        .collect();
    let of_components = packages.iter().filter(|(name, _)| known.contains(*name));
    if args.json {
        let packages: serde_json::Map<_, _> =
            of_components.map(|(name, version)| ((*name).to_owned(), json!(version))).collect();
        let found = found.as_ref().ok();
        show::json(&json!({
            "format_version": FORMAT_VERSION,
            "program": found.map(|found| &found.program),
            "version": found.map(|found| &found.version),
            "packages": packages,
        }))?;
        return Ok(Exit::Pass);
    }
    let found = found.as_ref().map_err(|reason| anyhow!("{reason}"))?;
    let mut text = format!("Python {} at {}\n", found.version, found.program.display());
    for (name, version) in of_components {
        text.extend(["  ", name, " ", version, "\n"]);
    }
    show::text(&text)?;
    Ok(Exit::Pass)
}

fn doctor(args: &PythonArgs) -> CliResult {
    let found = environment(args);
    let mut states: Vec<(&str, Result<(), Reason>)> = Vec::new();
    for component in frameworks::all() {
        // A component that stands apart may have an environment of its own, unless one was named.
        let environment = match &args.python {
            Some(_) => found.clone(),
            None => frameworks::of_component(component),
        };
        let state = environment
            .and_then(|environment| python_worker::readiness_in(component.name, &environment));
        states.push((component.name, state));
    }
    if args.json {
        let rows: Vec<_> = states
            .iter()
            .map(|(name, state)| {
                let reason = state.as_ref().err();
                json!({
                    "component_id": name,
                    "runnable": reason.is_none(),
                    "what": reason.map(|reason| &reason.what),
                    "why": reason.map(|reason| &reason.why),
                    "cure": reason.map(|reason| &reason.cure),
                })
            })
            .collect();
        show::json(&json!({
            "format_version": FORMAT_VERSION,
            "program": found.as_ref().ok().map(|found| &found.program),
            "components": rows,
        }))?;
    } else {
        let head = found.as_ref().map_or_else(
            |reason| format!("no Python: {reason}"),
            |found| format!("Python {} at {}", found.version, found.program.display()),
        );
        let mut lines = vec![head];
        for (name, state) in &states {
            lines.push(match state {
                Ok(()) => format!("  {name}: ready"),
                Err(reason) => format!("  {name}: {reason}"),
            });
        }
        show::text(&lines.join("\n"))?;
    }
    Ok(if found.is_ok() { Exit::Pass } else { Exit::Failure })
}
