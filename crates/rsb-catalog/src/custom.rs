//! User-defined benchmarks: a closure in a program, or a command in a file. They are planned,
//! measured, stored and judged like built-in benchmarks.

mod command;
mod file;

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use rsb_device::{Device, DeviceInfo};
use rsb_model::{Field, Params, Reason};
use rsb_stats::policy_file::TargetFile;
use rsb_workloads::{
    AxisInfo, AxisKind, Benchmark, BenchmarkInfo, Breadth, Failure, Grid, IdForm, PrepareResult,
    Prepared, RunsOn,
};

use crate::entry_file::EntryFileError;
use crate::{frameworks, selection};

/// Environment variable with the path of the `--custom` file, also passed to workers.
pub const VARIABLE: &str = "RSB_CUSTOM";

/// Function that sets up one case and verifies it before anything is timed.
pub type PrepareFn = dyn Fn(&Params) -> Result<Box<dyn Prepared>, Failure> + Send + Sync;

/// User-defined benchmark, which runs on the host.
pub struct OwnBenchmark {
    name: &'static str,
    about: &'static str,
    axes: &'static [AxisInfo],
    grid: Grid,
    targets: Vec<TargetFile>,
    prepare: Box<PrepareFn>,
}

/// Invalid definition of a user-defined benchmark.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("benchmark `{name}`: {why}")]
pub struct OwnBenchmarkError {
    /// Name of the benchmark.
    pub name: String,
    /// Error, and the valid form.
    pub why: String,
}

/// Registered `--custom` file, targets of registered benchmarks, and targets of the configuration.
struct CustomRegistry {
    file: Option<PathBuf>,
    targets: Vec<TargetFile>,
    configured: Vec<TargetFile>,
}

static CUSTOM_REGISTRY: RwLock<CustomRegistry> =
    RwLock::new(CustomRegistry { file: None, targets: Vec::new(), configured: Vec::new() });

impl OwnBenchmark {
    /// Returns a benchmark without axes and targets. The names live as long as the process.
    pub fn new(name: &'static str, about: &'static str, prepare: Box<PrepareFn>) -> Self {
        Self { name, about, axes: &[], grid: Vec::new(), targets: Vec::new(), prepare }
    }

    /// Adds the axis `name` with its values. Every combination of axis values is a case.
    #[must_use]
    pub fn axis(mut self, name: &'static str, values: Vec<String>) -> Self {
        let about = "an axis of your own";
        let axis =
            AxisInfo { name, about, default: None, form: IdForm::Named, kind: AxisKind::Word };
        // Like the names, the axes live as long as the process.
        self.axes = [self.axes, &[axis]].concat().leak();
        self.grid.push((name, values));
        self
    }

    /// Adds a target. Its pattern refers to the part of the case id after the benchmark name: `*`,
    /// or `*/n=1000`.
    #[must_use]
    pub fn target(mut self, target: TargetFile) -> Self {
        let id = format!("*/{}/{}", self.name, target.id);
        self.targets.push(TargetFile { id, ..target });
        self
    }

    /// Returns the name of the benchmark.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Sets up one case and verifies it.
    ///
    /// # Errors
    /// If the case cannot run on this machine or fails.
    pub fn prepare_case(&self, params: &Params) -> Result<Box<dyn Prepared>, Failure> {
        (self.prepare)(params)
    }

    /// Registers the benchmark in this process.
    ///
    /// # Errors
    /// If the name is invalid or taken, an axis has no values or an invalid one, or a target is
    /// invalid.
    pub fn register(self) -> Result<(), OwnBenchmarkError> {
        let (name, targets) = (self.name, self.targets.clone());
        self.check().map_err(|why| OwnBenchmarkError { name: name.to_owned(), why })?;
        rsb_workloads::register(Box::new(self))
            .map_err(|error| OwnBenchmarkError { name: name.to_owned(), why: error.to_string() })?;
        CUSTOM_REGISTRY.write().unwrap_or_else(PoisonError::into_inner).targets.extend(targets);
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        if !is_name(self.name) {
            return Err(
                "the name is not valid; use a letter, then letters, digits, dashes and underscores"
                    .to_owned(),
            );
        }
        if self.name == selection::ALL || frameworks::find(self.name).is_some() {
            return Err("the name is reserved for this program; choose another".to_owned());
        }
        for (axis, (name, values)) in self.axes.iter().zip(&self.grid) {
            if !is_name(name) || self.axes.iter().filter(|other| other.name == *name).count() > 1 {
                return Err(format!(
                    "the axis name `{name}` is not valid or used twice; use a letter, then letters \
                     and digits"
                ));
            }
            if values.is_empty() {
                return Err(format!("the axis `{name}` has no values; give it one or more"));
            }
            if let Some(value) = values.iter().find(|value| axis.canonical(value).is_none()) {
                return Err(format!(
                    "`{value}` is not a value of `{name}`; write {}",
                    axis.form_of_values()
                ));
            }
        }
        self.targets.iter().try_for_each(check_target)
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

fn check_target(target: &TargetFile) -> Result<(), String> {
    let metric = &target.metric;
    if Field::resolve(metric).is_none_or(|field| field.better().is_none()) {
        return Err(format!(
            "a target names `{metric}`, which is not a metric; use one of docs/glossary.md, such \
             as time_ms"
        ));
    }
    match [target.above, target.below] {
        [Some(limit), None] | [None, Some(limit)] if limit.is_finite() => Ok(()),
        _ => Err(format!(
            "the target for {metric} needs one of `above` and `below`, with a finite value"
        )),
    }
}

impl Benchmark for OwnBenchmark {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: self.name,
            about: self.about,
            axes: self.axes,
            runs_on: RunsOn::Host(&[]),
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, _: Breadth, _: &DeviceInfo) -> Vec<Grid> {
        vec![self.grid.clone()]
    }

    fn footprint_bytes(&self, _: &Params) -> Result<u64, Reason> {
        Ok(0) // Only who brings it knows.
    }

    fn prepare<'d>(&self, params: &Params, _: &'d dyn Device) -> PrepareResult<'d> {
        self.prepare_case(params)
    }
}

/// Registers the benchmarks in the file at `path`. Loading the same file again has no effect.
///
/// # Errors
/// If the file cannot be read, contains an error, or defines a name that is already taken.
pub fn load(path: &Path) -> Result<(), EntryFileError> {
    // Workers can have a different working directory.
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if file().is_some_and(|known| known == whole) {
        return Ok(());
    }
    for benchmark in file::read(path)? {
        benchmark.register().map_err(|error| EntryFileError::Invalid {
            path: path.to_owned(),
            message: error.to_string(),
        })?;
    }
    CUSTOM_REGISTRY.write().unwrap_or_else(PoisonError::into_inner).file = Some(whole);
    Ok(())
}

/// Returns the names of benchmarks that two `--custom` files define differently.
pub fn differing_benchmarks(before: &Path, after: &Path) -> Vec<String> {
    file::differing(before, after)
}

/// Returns the path of the loaded `--custom` file.
pub fn file() -> Option<PathBuf> {
    CUSTOM_REGISTRY.read().unwrap_or_else(PoisonError::into_inner).file.clone()
}

/// Returns the targets of all registered benchmarks and of the configuration, in the form of a
/// policy.
pub fn targets() -> Vec<TargetFile> {
    let brought = CUSTOM_REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    [&brought.targets[..], &brought.configured].concat()
}

/// Sets the targets of the configuration, replacing the previous ones.
pub fn configure(targets: Vec<TargetFile>) {
    CUSTOM_REGISTRY.write().unwrap_or_else(PoisonError::into_inner).configured = targets;
}

/// Returns the benchmark called `name`. If it is unknown, first loads the file named by the
/// environment variable [`VARIABLE`].
///
/// # Errors
/// If that file contains an error, or no benchmark has this name.
pub fn find(name: &str) -> Result<&'static dyn Benchmark, Reason> {
    if let (None, Some(path)) = (rsb_workloads::find(name), std::env::var_os(VARIABLE)) {
        load(Path::new(&path)).map_err(|error| {
            let what = format!("benchmark {name}");
            Reason::new(what, error.to_string(), "fix the file of --custom")
        })?;
    }
    rsb_workloads::find(name).ok_or_else(|| {
        let cure = "pass the file that defines it with --custom, or use a program and worker of the same version";
        Reason::new(
            format!("benchmark {name}"),
            "this worker has no benchmark with this name",
            cure,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(name: &'static str) -> OwnBenchmark {
        let prepare =
            |_: &Params| Err(Failure::Skipped(Reason::new("case", "it is for a test", "none")));
        OwnBenchmark::new(name, "for a test", Box::new(prepare))
    }

    fn values(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    fn target(metric: &str, below: Option<f64>) -> TargetFile {
        TargetFile {
            id: "*".to_owned(),
            metric: metric.to_owned(),
            above: None,
            below,
            fail: false,
            reference: None,
        }
    }

    #[test]
    fn each_mistake_says_what_would_be_right() {
        for (benchmark, expected) in [
            (own("gemm"), "already"),
            (own("pytorch"), "reserved"),
            (own("all"), "reserved"),
            (own("a/b"), "letters, digits"),
            (own("mod-test-a").axis("n", Vec::new()), "no values"),
            (own("mod-test-a").axis("n", values(&["a b"])), "not a value of `n`"),
            (own("mod-test-a").axis("n", values(&["1"])).axis("n", values(&["1"])), "used twice"),
            (own("mod-test-a").target(target("speed", Some(1.0))), "not a metric"),
            (own("mod-test-a").target(target("time_ms", None)), "`above` and `below`"),
            (own("mod-test-a").target(target("time_ms", Some(f64::NAN))), "finite"),
        ] {
            let message = benchmark.register().unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
