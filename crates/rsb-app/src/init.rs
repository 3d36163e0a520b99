//! Initial files of a project: its policy, and the configuration of its CI.

use std::path::Path;

use itertools::Itertools as _;
use rsb_gate::revisions::SurveyedTarget;

use crate::AppError;

/// CI system of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ci {
    /// GitHub Actions.
    Github,
    /// GitLab CI.
    Gitlab,
    /// Any other CI; `init` creates a script with the commands.
    None,
}

/// A file of a new project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitFile {
    /// Its path.
    pub path: &'static str,
    /// Whether the path is relative to the top of the repository instead of the project.
    pub is_at_top: bool,
    /// Its content.
    pub text: String,
}

/// Returns the files for a project in `directory` of its repository (empty for its top) with bench
/// `targets`, which are `None` if it is not a cargo project.
///
/// # Errors
/// [`AppError::usage`] for a cargo project without bench targets that `gate --against` can measure.
pub fn files(
    ci: Ci,
    directory: &Path,
    targets: Option<&[SurveyedTarget]>,
) -> Result<Vec<InitFile>, AppError> {
    if let Some(targets) = targets
        && !targets.iter().any(|target| target.is_supported)
    {
        return Err(AppError::usage(anyhow::anyhow!("{}", nothing_to_measure(targets))));
    }
    let arguments = Arguments::of(directory, targets);
    let policy = InitFile {
        path: "baselines/policy.toml",
        is_at_top: false,
        text: include_str!("init/policy.toml").to_owned(),
    };
    let configured = match ci {
        Ci::Github => InitFile {
            path: ".github/workflows/benchmarks.yml",
            is_at_top: true,
            text: format!("{}{}", include_str!("init/benchmarks.yml"), arguments.github()),
        },
        Ci::Gitlab => InitFile {
            path: ".gitlab/benchmarks.yml",
            is_at_top: true,
            text: arguments.insert_into(include_str!("init/gitlab.yml")),
        },
        Ci::None => InitFile {
            path: "benchmarks.sh",
            is_at_top: true,
            text: arguments.insert_into(include_str!("init/any-ci.sh")),
        },
    };
    Ok(vec![policy, configured])
}

/// Describes the bench targets, with one line per package.
pub fn describe(targets: &[SurveyedTarget]) -> String {
    let packages = targets.iter().into_group_map_by(|target| target.package.as_path());
    let lines =
        packages.iter().sorted_by_key(|(package, _)| **package).map(|(package, targets)| {
            let place = if package.as_os_str().is_empty() { Path::new(".") } else { *package };
            let names = targets.iter().map(|target| {
                let how = if target.is_supported { "" } else { ", not measured" };
                format!("{} ({}{how})", target.name, target.harness)
            });
            format!("bench targets in {}: {}", place.display(), names.sorted().join(", "))
        });
    lines.collect_vec().join("\n")
}

fn nothing_to_measure(targets: &[SurveyedTarget]) -> String {
    const CURE: &str = "name a command that measures: `gate --against REV --bench CMD \
                        --bench-format NAME`";
    if targets.is_empty() {
        return format!(
            "no bench target found; add `[[bench]]` to Cargo.toml or a file in benches/, or {CURE}"
        );
    }
    let names = targets
        .iter()
        .map(|target| format!("`{}` uses {}", target.name, target.harness))
        .join(", ");
    format!("no bench target can be measured: {names}; {CURE}")
}

/// Arguments of the gate for a project.
struct Arguments {
    directory: String,
    features: Vec<String>,
}

impl Arguments {
    fn of(directory: &Path, targets: Option<&[SurveyedTarget]>) -> Self {
        let targets = targets.unwrap_or_default();
        let features = targets.iter().flat_map(|target| &target.features);
        Self {
            directory: directory.display().to_string(),
            features: features.cloned().sorted().dedup().collect(),
        }
    }

    /// Returns the inputs of the action.
    fn github(&self) -> String {
        let mut inputs = Vec::new();
        if !self.directory.is_empty() {
            inputs.push(format!("          working-directory: {}", self.directory));
        }
        if !self.features.is_empty() {
            let features = self.features.join(",");
            inputs.push(format!(
                "          arguments: |\n            --\n            --features={features}"
            ));
        }
        let all = inputs.join("\n");
        if inputs.is_empty() { String::new() } else { format!("        with:\n{all}\n") }
    }

    /// Returns `text` with the directory and the arguments of cargo inserted.
    fn insert_into(&self, text: &str) -> String {
        let features = self.features.join(",");
        let cargo =
            if features.is_empty() { String::new() } else { format!(" -- --features={features}") };
        let text = text.replace(" CARGO_ARGUMENTS", &cargo);
        if self.directory.is_empty() {
            return text.replace("    - cd DIRECTORY\n", "").replace("/DIRECTORY", "");
        }
        text.replace("DIRECTORY", &self.directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str, harness: &'static str, is_supported: bool) -> SurveyedTarget {
        SurveyedTarget {
            name: name.to_owned(),
            package: "benches".into(),
            harness,
            is_supported,
            features: vec!["rand".to_owned()],
        }
    }

    #[test]
    fn each_ci_gets_the_directory_and_the_features() {
        let targets = [target("parse", "Criterion", true), target("pairs", "tango", false)];
        for ci in [Ci::Github, Ci::Gitlab, Ci::None] {
            let all = files(ci, Path::new("rust"), Some(&targets)).unwrap();
            let text = &all[1].text;
            assert!(text.contains("rust") && text.contains("--features=rand"), "{text}");
            let plain = files(ci, Path::new(""), Some(&[])).is_err();
            assert!(plain, "{ci:?}");
            let at_top = files(ci, Path::new(""), None).unwrap().remove(1).text;
            assert!(!at_top.contains("cd .") && !at_top.contains("DIRECTORY"), "{at_top}");
        }
        let expected = "bench targets in benches: pairs (tango, not measured), parse (Criterion)";
        assert_eq!(describe(&targets), expected);
    }

    #[test]
    fn a_project_that_cannot_be_measured_is_refused_with_the_cure() {
        let targets = [target("pairs", "tango", false)];
        let error = files(Ci::Github, Path::new(""), Some(&targets)).unwrap_err().error.to_string();
        assert!(error.contains("`pairs` uses tango") && error.contains("--bench CMD"), "{error}");
        assert!(
            files(Ci::Github, Path::new(""), None).is_ok(),
            "a project without Cargo.toml is accepted"
        );
    }
}
