//! Resolves `--case` to a case that the program itself would measure.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::anyhow;
use rsb_engine::EngineError;
use rsb_model::Case;
use rsb_stats::glob;

use crate::revisions::against::cases_of;
use crate::revisions::project::Build;

/// Suites in which the case is searched: one contains every point of every benchmark, another the
/// cases of the configuration.
const SUITES: [&str; 3] = ["quick", "full", "custom"];

/// Maximum number of ids in an error.
const SHOWN: usize = 10;

/// A case and, for this program, the suite that contains it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChosenCase {
    pub(super) case: Case,
    suite: &'static str,
}

/// Finds the case of `build` that `wanted` names.
///
/// # Errors
/// If there is none, there are several, or the program cannot list its cases.
pub(super) fn find(build: &Build, wanted: &str) -> Result<ChosenCase, EngineError> {
    let cases = match build {
        Build::ThisProgram(program) => of_every_suite(program)?,
        Build::Benches(_) | Build::Custom { .. } => build
            .cases_fitting(&[])
            .into_iter()
            .map(|case| ChosenCase { case, suite: "" })
            .collect(),
    };
    let list = match build {
        Build::ThisProgram(_) => "`run --suite full --dry-run` lists the cases of this tree",
        Build::Benches(_) => "`cargo bench -- --list` lists the cases of this tree",
        Build::Custom { .. } => "`list --custom FILE` lists the benchmarks of the file",
    };
    choose(wanted, cases, list).map_err(|message| EngineError::usage(anyhow!(message)))
}

fn of_every_suite(program: &Path) -> Result<Vec<ChosenCase>, EngineError> {
    let mut cases: Vec<ChosenCase> = Vec::new();
    let mut first_error = None;
    for suite in SUITES {
        match cases_of(program, &["--suite", suite], None) {
            Ok(found) => {
                let new: Vec<Case> = found
                    .into_iter()
                    .filter(|case| cases.iter().all(|known| known.case.id != case.id))
                    .collect();
                cases.extend(new.into_iter().map(|case| ChosenCase { case, suite }));
            }
            // The suite `custom` exists only if the user configured it.
            Err(_) if suite == "custom" => {}
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    match first_error {
        Some(error) if cases.is_empty() => Err(EngineError::usage(error)),
        _ => Ok(cases),
    }
}

/// Checks that `build` has the case, and returns the reason as the error if not.
pub(super) fn has(build: &Build, found: &ChosenCase) -> Result<(), String> {
    let cases = match build {
        Build::ThisProgram(program) => cases_of(program, &["--suite", found.suite], None),
        Build::Benches(_) | Build::Custom { .. } => Ok(build.cases_fitting(&[])),
    };
    match cases {
        Ok(cases) if cases.iter().any(|case| case.id == found.case.id) => Ok(()),
        Ok(_) => Err(format!("it has no case {}", found.case.id)),
        Err(error) => Err(format!("it cannot list its cases: {error:#}")),
    }
}

/// Returns the case with this id, or the only one whose id matches the pattern.
fn choose(wanted: &str, mut cases: Vec<ChosenCase>, list: &str) -> Result<ChosenCase, String> {
    if let Some(exact) = cases.iter().position(|found| found.case.id.as_str() == wanted) {
        return Ok(cases.swap_remove(exact));
    }
    let pattern = format!("*{wanted}*");
    let fitting: Vec<&ChosenCase> =
        cases.iter().filter(|found| glob::matches(&pattern, found.case.id.as_str())).collect();
    match fitting.as_slice() {
        [one] => Ok((*one).clone()),
        [] => {
            let nearest = cases
                .iter()
                .map(|found| (strsim::jaro_winkler(wanted, found.case.id.as_str()), found))
                .max_by(|(a, _), (b, _)| a.total_cmp(b));
            let near = nearest
                .map(|(_, found)| format!(", did you mean `{}`?", found.case.id))
                .unwrap_or_default();
            Err(format!("the good commit has no case `{wanted}`{near}; {list}"))
        }
        several => {
            let mut message =
                format!("`{wanted}` matches {} cases; name one of them:", several.len());
            for found in several.iter().take(SHOWN) {
                // Writing to a String cannot fail.
                let _ = write!(message, "\n  {}", found.case.id);
            }
            if several.len() > SHOWN {
                let _ = write!(message, "\n  and {} more; {list}", several.len() - SHOWN);
            }
            Err(message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::{BenchmarkType, CaseId, Params};

    fn cases() -> Vec<ChosenCase> {
        ["gemm", "gemm-batched", "sum"]
            .map(|name| {
                let case = Case {
                    id: CaseId::from_segments(&["cpu_performance", name, "cpu:0"]),
                    benchmark: name.to_owned(),
                    benchmark_type: BenchmarkType::CpuPerformance,
                    device: rsb_model::DeviceRef::CPU.into(),
                    params: Params::new(),
                };
                ChosenCase { case, suite: "quick" }
            })
            .to_vec()
    }

    #[test]
    fn an_id_or_what_fits_one_alone_is_the_case() {
        for (wanted, expected) in [
            ("cpu_performance/gemm/cpu:0", Ok("gemm")),
            ("sum", Ok("sum")),
            ("*/gemm/*", Ok("gemm")),
            (
                "gemm",
                Err("matches 2 cases; name one of them:\n  cpu_performance/gemm/cpu:0\n  \
                     cpu_performance/gemm-b"),
            ),
            ("cpu_performance/smu/cpu:0", Err("did you mean `cpu_performance/sum/cpu:0`?")),
        ] {
            match (choose(wanted, cases(), ""), expected) {
                (Ok(found), Ok(name)) => assert_eq!(found.case.benchmark, name),
                (Err(message), Err(part)) => assert!(message.contains(part), "{message}"),
                (found, expected) => panic!("{wanted}: {found:?} for {expected:?}"),
            }
        }
    }
}
