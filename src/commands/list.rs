//! The benchmarks, and where each can run here: every one on every backend, or why not.

use std::fmt::Write as _;

use rsb_engine::plan::{self, Machine};
use rsb_engine::{frameworks, machine, measure, suites};
use rsb_model::finding::Finding;
use rsb_model::format::FORMAT_VERSION;
use rsb_model::{BackendId, Reason};
use rsb_probe::ProbeOptions;
use rsb_report::{CaseRow, Style};
use rsb_workloads::{Benchmark, Breadth, RunsOn};

use crate::cli::ListArgs;
use crate::config::Config;
use crate::exit::{CliError, CliResult, Exit};
use crate::show;

/// The verb `list`.
///
/// # Errors
/// When the settings are wrong, or standard output cannot be written.
pub fn run(args: &ListArgs, style: Style) -> CliResult {
    // Nothing of it counts here, but a file that the next `run` refuses should not pass.
    Config::find(args.config.as_deref()).map_err(CliError::usage)?;
    // Its drivers take a while to start, as do those of the backends.
    let asking = std::thread::spawn(|| rsb_probe::doctor::about_level_zero(&ProbeOptions::default()));
    let machine = machine::here();
    let rows = rows(&machine);
    let level_zero = asking.join().ok().flatten();
    if args.json {
        let mut document = serde_json::json!({ "format_version": FORMAT_VERSION, "benchmarks": rows });
        if let Some(finding) = level_zero {
            document["level_zero"] = serde_json::to_value(finding)?;
        }
        show::json(&document)?;
    } else {
        show::text(&rsb_report::matrix::text(&rows, style))?;
        if let Some(finding) = level_zero {
            show::text(&told(&finding))?;
        }
        if args.verbose {
            show::text(&axes())?;
        }
    }
    Ok(Exit::Pass)
}

/// A finding in a paragraph below the matrix.
fn told(finding: &Finding) -> String {
    let cure = finding.cure.as_ref().map(|cure| format!("  cure: {cure}\n")).unwrap_or_default();
    format!("\n{}\n  {}\n{cure}", finding.what, finding.why)
}

fn rows(machine: &Machine) -> Vec<CaseRow> {
    let native = rsb_workloads::all()
        .iter()
        .flat_map(|benchmark| BackendId::ALL.map(|backend| row(*benchmark, backend, machine)));
    let components = frameworks::all().iter().map(|component| CaseRow {
        benchmark: component.name.to_owned(),
        about: component.about.to_owned(),
        backend: "any".to_owned(),
        devices: Vec::new(),
        cases: frameworks::count(component),
        missing: (machine.readiness)(component.name).err(),
    });
    let to_come = suites::RUN_TIMES_TO_COME.iter().map(|(name, cure)| CaseRow {
        benchmark: "all".to_owned(),
        about: "every native benchmark".to_owned(),
        backend: (*name).to_owned(),
        devices: Vec::new(),
        cases: 0,
        missing: Some(suites::to_come(name, cure)),
    });
    native.chain(components).chain(to_come).collect()
}

/// Why no compiler of `backends` is here, as the first of them says it; nothing where one is.
fn no_compiler(backends: &[BackendId]) -> Option<Reason> {
    let mut reasons = Vec::new();
    for &backend in backends {
        match measure::has_compiler(backend) {
            Ok(()) => return None,
            Err(reason) => reasons.push(reason),
        }
    }
    reasons.into_iter().next()
}

fn row(benchmark: &dyn Benchmark, backend: BackendId, machine: &Machine) -> CaseRow {
    let prefix = format!("{backend}:");
    let devices: Vec<_> = machine.devices.iter().filter(|device| device.device.0.starts_with(&prefix)).collect();
    let missing = machine.missing.iter().find(|(missing, _)| *missing == backend).map(|(_, reason)| reason.clone());
    let fits = match benchmark.runs_on() {
        RunsOn::Any | RunsOn::CardsAndHost(_) => true,
        RunsOn::CardsAndSensors => backend != BackendId::Cpu || !machine.sensors.is_empty(),
        RunsOn::Cards => backend != BackendId::Cpu,
        RunsOn::Host(_) => backend == BackendId::Cpu,
    };
    let missing = match benchmark.runs_on().tools() {
        _ if !fits => Some(plan::unfit(benchmark, backend)),
        [] => missing,
        tools if backend == BackendId::Cpu => no_compiler(tools),
        _ => missing,
    };
    CaseRow {
        benchmark: benchmark.name().to_owned(),
        about: benchmark.about().to_owned(),
        backend: backend.as_str().to_owned(),
        devices: devices.iter().map(|device| device.name.clone()).collect(),
        cases: devices.iter().map(|device| plan::count(benchmark, device, Breadth::Full)).sum(),
        missing,
    }
}

/// Each benchmark with its axes, for `--axis`.
fn axes() -> String {
    let mut text = String::from("\nAxes, for --axis NAME=V1,V2\n");
    for benchmark in rsb_workloads::all() {
        text.extend(["\n", benchmark.name(), "\n"]);
        for axis in benchmark.axes() {
            let default = axis.default.map(|value| format!(" [default: {value}]")).unwrap_or_default();
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {:<14} {}{default}", axis.name, axis.about);
        }
    }
    text
}
