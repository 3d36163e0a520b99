//! Commands that messages suggest. Pasted into a shell, they use the files and directories of the
//! current call.

use itertools::Itertools as _;
use rsb_catalog::plan;
use rsb_catalog::selection::ALL;
use rsb_model::{PlanSelection, Profile, Run, Suite};
use rsb_store::import::Format;

use crate::Directories;

impl Directories {
    /// Returns the command line that calls this program with `arguments` and the files and
    /// directories named in the current call.
    pub fn command(&self, arguments: &str) -> String {
        format!("rusty-stack-bench {arguments}{}", self.arguments)
    }
}

/// Returns the subcommand that measures the suite or the benchmarks of `run` again, with its
/// profile, backends, devices and axes. Benchmarks that this program lacks need their file: the
/// command then ends with `--custom FILE`, or is only `run` if another tool measured them.
pub fn measure_again(run: &Run) -> String {
    let names = run
        .benchmarks
        .iter()
        .filter_map(|result| result.category.as_deref())
        .sorted_unstable()
        .dedup()
        .collect_vec();
    let (mut command, default) = if let Ok(suite) = run.suite.parse::<Suite>() {
        (format!("run --suite {}", suite.as_str()), suite.profile())
    } else if run.suite == ALL {
        (ALL.to_owned(), Profile::Quick)
    } else if !names.is_empty() && names.iter().all(|name| plan::has_benchmark(name)) {
        (format!("run {}", quote_all(names)), Profile::Quick)
    } else if run.suite == names.join("_") && run.suite.parse::<Format>().is_err() {
        (format!("run {} --custom FILE", quote_all(names)), Profile::Quick)
    } else {
        return "run".to_owned();
    };
    if let Ok(profile) = run.profile.parse::<Profile>()
        && profile != default
    {
        command.extend([" --profile ", profile.as_str()]);
    }
    let PlanSelection { backends, devices, axes, .. } = &run.selection;
    if !backends.is_empty() {
        command.extend([" --backend ", &backends.iter().map(|name| name.as_str()).join(",")]);
    }
    if !devices.is_empty() {
        command.extend([" --device ", &devices.iter().join(",")]);
    }
    for (name, values) in axes {
        command.extend([" --axis ", &shell_quote(&format!("{name}={}", values.join(",")))]);
    }
    command
}

fn quote_all(names: Vec<&str>) -> String {
    names.into_iter().map(shell_quote).join(" ")
}

/// Quotes `word` for a shell if necessary.
pub fn shell_quote(word: &str) -> String {
    if !word.is_empty()
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "_./:=@%+,-^".contains(c))
    {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use rsb_model::{BackendId, Environment, RunId, Timestamp};

    use super::*;

    /// Returns a run of `suite` with a result of each benchmark.
    fn run(suite: &str, profile: &str, benchmarks: &[&str]) -> Run {
        let (id, environment) = (RunId("x".to_owned()), Environment::default());
        let mut run = Run::begin(id, Timestamp::UNIX_EPOCH, suite, profile, environment);
        for benchmark in benchmarks {
            let result = serde_json::json!({
                "benchmark_id": format!("cpu_performance/{benchmark}/cpu:0/one"),
                "timestamp": Timestamp::UNIX_EPOCH,
                "benchmark_type": "cpu_performance",
                "category": benchmark,
                "outcome": "measured",
                "environment": {},
                "results": [],
                "metadata": {},
            });
            run.benchmarks.push(serde_json::from_value(result).unwrap());
        }
        run
    }

    #[test]
    fn a_run_is_measured_again_with_its_suite_or_benchmarks_and_its_profile() {
        struct Row {
            suite: &'static str,
            profile: &'static str,
            benchmarks: &'static [&'static str],
            expected: &'static str,
        }
        for Row { suite, profile, benchmarks, expected } in [
            Row {
                suite: "quick",
                profile: "quick",
                benchmarks: &["gemm"],
                expected: "run --suite quick",
            },
            Row {
                suite: "cpu-performance",
                profile: "thorough",
                benchmarks: &[],
                expected: "run --suite cpu-performance --profile thorough",
            },
            Row {
                suite: "gemm_tensor-ops",
                profile: "quick",
                benchmarks: &["tensor-ops", "gemm", "tensor-ops"],
                expected: "run gemm tensor-ops",
            },
            Row {
                suite: "gemm",
                profile: "criterion",
                benchmarks: &["gemm"],
                expected: "run gemm",
            },
            Row { suite: "all", profile: "quick", benchmarks: &["gemm"], expected: "all" },
            Row {
                suite: "hyperfine",
                profile: "quick",
                benchmarks: &["hyperfine"],
                expected: "run",
            },
            Row {
                suite: "mine_yours",
                profile: "thorough",
                benchmarks: &["yours", "mine"],
                expected: "run mine yours --custom FILE --profile thorough",
            },
        ] {
            assert_eq!(measure_again(&run(suite, profile, benchmarks)), expected);
        }
    }

    #[test]
    fn a_run_is_measured_again_on_its_backends_with_its_axes() {
        let mut run = run("gemm", "quick", &["gemm"]);
        run.selection = PlanSelection {
            backends: vec![BackendId::Cuda, BackendId::Vulkan],
            devices: vec![0, 2],
            axes: [("shape".to_owned(), vec!["a b".to_owned(), "c".to_owned()])].into(),
            ..PlanSelection::default()
        };
        assert_eq!(
            measure_again(&run),
            "run gemm --backend cuda,vulkan --device 0,2 --axis 'shape=a b,c'"
        );
    }

    #[test]
    fn a_command_names_the_same_directories() {
        let mut directories = Directories::new(None, None, None);
        assert_eq!(directories.command("gate"), "rusty-stack-bench gate");
        directories.arguments = " --results-dir runs".to_owned();
        assert_eq!(
            directories.command("baseline save"),
            "rusty-stack-bench baseline save --results-dir runs"
        );
    }

    #[test]
    fn words_are_quoted_for_a_shell_only_if_needed() {
        assert_eq!(shell_quote("cpu_performance/gemm/cpu:0/f32"), "cpu_performance/gemm/cpu:0/f32");
        assert_eq!(shell_quote("it's (one)"), r"'it'\''s (one)'");
    }
}
