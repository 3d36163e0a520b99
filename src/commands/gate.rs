//! Judges a run against a baseline.

use anyhow::anyhow;
use rsb_model::{Fingerprint, Run};
use rsb_report::Style;
use rsb_store::Baselines;

use super::judge::{self, Judge};
use super::{against, doubt};
use crate::cli::GateArgs;
use crate::exit::{Ended, Exit, Trouble};
use crate::show;

/// The verb `gate`.
///
/// # Errors
/// When a side cannot be read or there is nothing to compare.
pub fn run(args: &GateArgs, style: Style) -> Ended {
    if let Some(revision) = &args.against {
        return against::run(args, revision, style);
    }
    let judge = Judge::load(&args.judge)?;
    let named = judge.sides(&args.baseline)?;
    let current = judge.current(&args.current)?;
    let saved = if args.baseline.is_empty() { saved_for(&judge, &current) } else { Ok(named) };
    let baseline = match saved {
        Ok(runs) => runs,
        Err(trouble) if trouble.exit == Exit::NoVerdict => {
            show::text(&format!("NO VERDICT: {}", show::chain(&trouble.error)))?;
            return Ok(if args.baseline_optional { Exit::Pass } else { Exit::NoVerdict });
        }
        Err(trouble) => return Err(trouble),
    };
    let current = match args.budget {
        Some(budget) => {
            let mut more = Vec::new();
            for run in current {
                more.push(doubt::resolve(&judge, &baseline, run, budget)?);
            }
            more
        }
        None => current,
    };
    let result = judge.conclude(&baseline, &current, style)?;
    Ok(judge::exit_of(&result))
}

/// The baseline saved for the machine and suite of `current`.
fn saved_for(judge: &Judge<'_>, current: &[Run]) -> Result<Vec<Run>, Trouble> {
    let first = current.first().ok_or_else(|| Trouble::no_verdict(anyhow!("there is no run to judge")))?;
    let fingerprint = Fingerprint::of(&first.environment);
    let baselines = Baselines::new(&judge.folders.baselines);
    if !baselines.path_of(&fingerprint, &first.suite).exists() {
        let others = baselines.list();
        let others = if others.is_empty() {
            String::new()
        } else {
            let names: Vec<String> = others.iter().map(|info| format!("{}/{}", info.slug, info.name)).collect();
            format!("; there are baselines of {}", names.join(", "))
        };
        return Err(Trouble::no_verdict(anyhow!(
            "no baseline `{}` was saved for this machine ({}){others}; save one with `rusty-stack-bench baseline save`",
            first.suite,
            fingerprint.slug(),
        )));
    }
    Ok(baselines.load(&first.suite, Some(&fingerprint)).map_err(Trouble::usage)?.into_runs())
}
