//! Benchmarks of one's own: a closure of a program, or the command in a file. They are planned,
//! measured, stored and judged as every other: all that is special about them is who brings them.

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

/// The variable that names the file of `--custom`; workers are told by it too.
pub const VARIABLE: &str = "RSB_CUSTOM";

/// Prepares one case: sets up, and verifies before anything is timed.
pub type PrepareFn = dyn Fn(&Params) -> Result<Box<dyn Prepared>, Failure> + Send + Sync;

/// A benchmark that is not in the catalogue. It runs on the host.
pub struct OwnBenchmark {
    name: &'static str,
    about: &'static str,
    axes: &'static [AxisInfo],
    grid: Grid,
    targets: Vec<TargetFile>,
    prepare: Box<PrepareFn>,
}

/// What cannot be a benchmark of one's own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("benchmark `{name}`: {why}")]
pub struct OwnBenchmarkError {
    /// Whose.
    pub name: String,
    /// What is wrong, and what would be right.
    pub why: String,
}

/// What the benchmarks that were registered bring along beside themselves, and what a configuration
/// aims at.
struct CustomRegistry {
    file: Option<PathBuf>,
    targets: Vec<TargetFile>,
    configured: Vec<TargetFile>,
}

static CUSTOM_REGISTRY: RwLock<CustomRegistry> =
    RwLock::new(CustomRegistry { file: None, targets: Vec::new(), configured: Vec::new() });

impl OwnBenchmark {
    /// One without axes and targets. Names live as long as the process.
    pub fn new(name: &'static str, about: &'static str, prepare: Box<PrepareFn>) -> Self {
        Self { name, about, axes: &[], grid: Vec::new(), targets: Vec::new(), prepare }
    }

    /// Adds the axis `name` with its values: every combination of the axes is a case.
    #[must_use]
    pub fn axis(mut self, name: &'static str, values: Vec<String>) -> Self {
        let about = "an axis of your own";
        let axis =
            AxisInfo { name, about, default: None, form: IdForm::Named, kind: AxisKind::Word };
        // As the names, they live as long as the process.
        self.axes = [self.axes, &[axis]].concat().leak();
        self.grid.push((name, values));
        self
    }

    /// Adds a target, whose pattern is of what stands behind the name in an id: `*`, or `*/n=1000`.
    #[must_use]
    pub fn target(mut self, target: TargetFile) -> Self {
        let id = format!("*/{}/{}", self.name, target.id);
        self.targets.push(TargetFile { id, ..target });
        self
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Sets one case of it up and verifies it.
    ///
    /// # Errors
    /// When it cannot run here, or breaks.
    pub fn prepare_case(&self, params: &Params) -> Result<Box<dyn Prepared>, Failure> {
        (self.prepare)(params)
    }

    /// Makes it known to this process.
    ///
    /// # Errors
    /// When its name is taken or none, an axis has no values or one that is no word, or a target
    /// says nothing.
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
                "a name is a letter, then letters, digits, dashes and underscores".to_owned()
            );
        }
        if self.name == selection::ALL || frameworks::find(self.name).is_some() {
            return Err("the name means something else here; choose another".to_owned());
        }
        for (axis, (name, values)) in self.axes.iter().zip(&self.grid) {
            if !is_name(name) || self.axes.iter().filter(|other| other.name == *name).count() > 1 {
                return Err(format!(
                    "the axis `{name}` needs a name of its own: a letter, then letters and digits"
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
    if Field::find(metric).is_none_or(|field| field.better().is_none()) {
        return Err(format!(
            "a target names `{metric}`, which is no metric; see docs/glossary.md, such as time_ms"
        ));
    }
    match [target.above, target.below] {
        [Some(limit), None] | [None, Some(limit)] if limit.is_finite() => Ok(()),
        _ => Err(format!(
            "the target for {metric} needs one of `above` and `below`, a finite figure"
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

/// Registers the benchmarks in the file at `path`. The same file again changes nothing.
///
/// # Errors
/// When it cannot be read, has a mistake, or names what is there already.
pub fn load(path: &Path) -> Result<(), EntryFileError> {
    // Workers may start elsewhere.
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

/// The benchmarks that two files of `--custom` define in unlike ways, by name.
pub fn differing_benchmarks(before: &Path, after: &Path) -> Vec<String> {
    file::differing(before, after)
}

/// The file whose benchmarks are known here.
pub fn file() -> Option<PathBuf> {
    CUSTOM_REGISTRY.read().unwrap_or_else(PoisonError::into_inner).file.clone()
}

/// The targets of every benchmark that was brought, and those of the configuration, as a policy has
/// them.
pub fn targets() -> Vec<TargetFile> {
    let brought = CUSTOM_REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    [&brought.targets[..], &brought.configured].concat()
}

/// Takes the targets of a configuration in place of those of the last one.
pub fn configure(targets: Vec<TargetFile>) {
    CUSTOM_REGISTRY.write().unwrap_or_else(PoisonError::into_inner).configured = targets;
}

/// The benchmark called `name`, also where only the file that this process was started with has it.
///
/// # Errors
/// When that file has a mistake, or nobody knows the name.
pub fn find(name: &str) -> Result<&'static dyn Benchmark, Reason> {
    if let (None, Some(path)) = (rsb_workloads::find(name), std::env::var_os(VARIABLE)) {
        load(Path::new(&path)).map_err(|error| {
            let what = format!("benchmark {name}");
            Reason::new(what, error.to_string(), "mend the file of --custom")
        })?;
    }
    rsb_workloads::find(name).ok_or_else(|| {
        let cure =
            "name the file that has it with --custom, or use the program and worker of one version";
        Reason::new(format!("benchmark {name}"), "this worker does not know it", cure)
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
            (own("pytorch"), "something else"),
            (own("all"), "something else"),
            (own("a/b"), "letters, digits"),
            (own("mod-test-a").axis("n", Vec::new()), "no values"),
            (own("mod-test-a").axis("n", values(&["a b"])), "not a value of `n`"),
            (
                own("mod-test-a").axis("n", values(&["1"])).axis("n", values(&["1"])),
                "name of its own",
            ),
            (own("mod-test-a").target(target("speed", Some(1.0))), "no metric"),
            (own("mod-test-a").target(target("time_ms", None)), "`above` and `below`"),
            (own("mod-test-a").target(target("time_ms", Some(f64::NAN))), "finite"),
        ] {
            let message = benchmark.register().unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
