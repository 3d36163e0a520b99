//! The Python environment that frameworks are measured in: shown, examined, made.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow};
use rsb_model::Reason;
use rsb_model::format::FORMAT_VERSION;
use serde_json::json;

use crate::cli::{PythonArgs, PythonVerb, SetupArgs};
use crate::exit::{Ended, Exit, Trouble};
use crate::frameworks::{self, Component, Environment};
use crate::show;

/// The verb `python`.
///
/// # Errors
/// When words are off, or an environment cannot be made.
pub fn run(verb: &PythonVerb) -> Ended {
    match verb {
        PythonVerb::List(args) => list(args),
        PythonVerb::Doctor(args) => doctor(args),
        PythonVerb::Setup(args) => setup(args),
    }
}

fn environment(args: &PythonArgs) -> Result<Environment, Reason> {
    args.python.as_deref().map_or_else(frameworks::chosen, frameworks::ask)
}

fn list(args: &PythonArgs) -> Ended {
    let found = environment(args);
    let packages = found.as_ref().map(frameworks::packages_of).unwrap_or_default();
    let known: Vec<&str> = frameworks::all().iter().flat_map(|component| component.packages).copied().collect();
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

fn doctor(args: &PythonArgs) -> Ended {
    let found = environment(args);
    let state = |component: &Component| match &found {
        Ok(environment) => frameworks::readiness_in(component.name, environment),
        Err(reason) => Err(reason.clone()),
    };
    let states: Vec<(&str, Result<(), Reason>)> =
        frameworks::all().iter().map(|component| (component.name, state(component))).collect();
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
        let row = |(name, state): &(&str, Result<(), Reason>)| match state {
            Ok(()) => format!("  {name}: ready"),
            Err(reason) => format!("  {name}: {reason}"),
        };
        show::text(&std::iter::once(head).chain(states.iter().map(row)).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(if found.is_ok() { Exit::Pass } else { Exit::Failure })
}

fn setup(args: &SetupArgs) -> Ended {
    let mut packages: Vec<String> = Vec::new();
    for name in &args.components {
        let component = frameworks::find(name).ok_or_else(|| {
            let known = frameworks::all().iter().map(|component| component.name).collect::<Vec<_>>().join(", ");
            Trouble::usage(anyhow!("there is no component `{name}`; there are {known}"))
        })?;
        for package in component.install.iter().map(|&package| package.to_owned()) {
            if !packages.contains(&package) {
                packages.push(package);
            }
        }
    }
    let folder = args.dir.clone().or_else(rsb_probe::own_python_environment);
    let folder = folder.ok_or_else(|| Trouble::usage(anyhow!("there is no home folder; name a folder with --dir")))?;
    let is_there = folder.join("bin/python3").is_file();
    if folder.exists() && !is_there {
        let message =
            format!("{} is there and is no Python environment; name another folder with --dir", folder.display());
        return Err(Trouble::usage(anyhow!(message)));
    }
    let machine = rsb_probe::environment(&rsb_probe::ProbeOptions::default());
    // A library of ROCm without a card of AMD is no machine of ROCm.
    let rocm = machine.rocm.filter(|_| machine.gpus.iter().any(|gpu| gpu.gfx_target.is_some()));
    for step in steps(&folder, is_there, args.python.as_deref(), &packages, rocm.as_deref()) {
        eprintln!("$ {}", step.join(" "));
        if !args.dry_run {
            start(&step)?;
        }
    }
    eprintln!(
        "frameworks are measured in {} unless a variable or an active environment names another",
        folder.display()
    );
    Ok(Exit::Pass)
}

/// The commands that make the environment: with uv where it is, else with venv and pip.
fn steps(
    folder: &Path,
    is_there: bool,
    python: Option<&Path>,
    packages: &[String],
    rocm: Option<&str>,
) -> Vec<Vec<String>> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let base = python.map_or_else(|| "python3".to_owned(), text);
    let own = text(&folder.join("bin/python3"));
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let uv = on_path("uv");
    let mut steps = Vec::new();
    if !is_there {
        steps.push(match uv {
            Some(_) => words(&["uv", "venv", "--python", &base, &text(folder)]),
            None => words(&[&base, "-m", "venv", &text(folder)]),
        });
    }
    let install = |from: &[&str], packages: &[String]| {
        let program = match uv {
            Some(_) => words(&["uv", "pip", "install", "--python", &own]),
            None => words(&[&own, "-m", "pip", "install"]),
        };
        [program, words(from), packages.to_vec()].concat()
    };
    // PyTorch's wheels for ROCm are kept apart, by the version of ROCm, and have versions of their own.
    let major_minor = rocm.map(|version| version.splitn(3, '.').take(2).collect::<Vec<_>>().join("."));
    let (of_rocm, others): (Vec<String>, Vec<String>) =
        packages.iter().cloned().partition(|package| major_minor.is_some() && package == "torch");
    if let Some(version) = major_minor.filter(|_| !of_rocm.is_empty()) {
        let index = format!("https://download.pytorch.org/whl/rocm{version}");
        steps.push(install(&["--index-url", &index], &of_rocm));
    }
    if !others.is_empty() {
        steps.push(install(&[], &others.iter().map(|package| locked(package)).collect::<Vec<_>>()));
    }
    steps
}

/// The package at the version that this project is tested with, where there is one.
fn locked(package: &str) -> String {
    let known = include_str!("../../python/frameworks.txt").lines();
    known
        .filter(|line| line.split("==").next() == Some(package))
        .map(str::to_owned)
        .next()
        .unwrap_or(package.to_owned())
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

fn start(step: &[String]) -> anyhow::Result<()> {
    let Some((program, arguments)) = step.split_first() else { return Ok(()) };
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(std::io::stderr())
        .status()
        .with_context(|| format!("cannot start {program}"))?;
    anyhow::ensure!(status.success(), "`{}` failed: {status}; what it said stands above", step.join(" "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_made_once_and_filled() {
        let folder = Path::new("/data/python");
        let packages = ["torch".to_owned()];
        let fresh = steps(folder, false, Some(Path::new("/opt/python3.11")), &packages, None);
        assert!(fresh[0].contains(&"/opt/python3.11".to_owned()) && fresh[0].contains(&"/data/python".to_owned()));
        assert!(
            fresh[1].iter().any(|word| word.starts_with("torch=="))
                && fresh[1].contains(&"/data/python/bin/python3".to_owned())
        );
        assert_eq!(steps(folder, true, None, &packages, None).len(), 1, "what is there is kept");
        assert!(steps(folder, true, None, &[], None).is_empty());
    }

    #[test]
    fn rocm_has_wheels_of_its_own() {
        let packages = ["torch".to_owned(), "onnx".to_owned(), "vllm".to_owned()];
        let [torch, others]: [Vec<String>; 2] =
            steps(Path::new("/p"), true, None, &packages, Some("7.0.2")).try_into().unwrap();
        assert!(
            torch.iter().any(|word| word.ends_with("/rocm7.0")) && torch.contains(&"torch".to_owned()),
            "{torch:?}"
        );
        assert!(
            others.iter().any(|word| word.starts_with("onnx==")) && others.contains(&"vllm".to_owned()),
            "{others:?}"
        );
    }
}
