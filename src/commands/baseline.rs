//! Saves, lists and shows baselines.

use anyhow::anyhow;
use rsb_model::{Fingerprint, Run, Timestamp};
use rsb_report::{BaselineRow, Style};
use rsb_store::{Baseline, Baselines};

use super::judge;
use super::settings::{self, Folders};
use crate::cli::BaselineVerb;
use crate::exit::{Ended, Exit, Trouble};
use crate::show;

/// The verb `baseline`.
///
/// # Errors
/// When a run or baseline cannot be read, or the folder cannot be written.
pub fn run(verb: &BaselineVerb, style: Style) -> Ended {
    match verb {
        BaselineVerb::Save { name, run, places } => save(name.as_deref(), run, &settings::load(places)?.1),
        BaselineVerb::List { json, places } => list(&settings::load(places)?.1, *json, style),
        BaselineVerb::Show { name, json, places } => show_one(name, &settings::load(places)?.1, *json, style),
    }
}

fn save(name: Option<&str>, named: &[String], folders: &Folders) -> Ended {
    let store = judge::open(folders)?;
    let runs: Vec<Run> = match named {
        [] => vec![judge::latest(&store)?],
        named => named.iter().map(|text| store.run(text).map_err(Trouble::usage)).collect::<Result<_, _>>()?,
    };
    if let Some(run) =
        runs.iter().find(|run| run.finished.is_none() || run.notes.iter().any(|note| note.starts_with("interrupted")))
    {
        return Err(Trouble::usage(anyhow!(
            "the run {} was interrupted, and cases are missing from it; measure a whole one",
            run.run_id
        )));
    }
    let measured: usize = runs.iter().map(|run| run.counts().measured).sum();
    if measured == 0 {
        return Err(Trouble::usage(anyhow!(
            "nothing was measured in that run; a baseline needs at least one measured case"
        )));
    }
    let suite = runs.first().map_or("quick", |run| run.suite.as_str());
    let baseline = Baseline::new(name.unwrap_or(suite), Timestamp::now(), &runs).map_err(Trouble::usage)?;
    let path = Baselines::new(&folders.baselines).save(&baseline)?;
    show::text(&format!(
        "saved {} ({measured} cases measured) as {}\nCommit it, and later runs on this kind of machine are judged against it.",
        baseline.name,
        path.display()
    ))?;
    Ok(Exit::Pass)
}

fn list(folders: &Folders, json: bool, style: Style) -> Ended {
    let mut rows = Vec::new();
    for info in Baselines::new(&folders.baselines).list() {
        match info.contents {
            Ok(contents) => rows.push(BaselineRow {
                name: info.name,
                created: contents.created,
                commit: contents.commit,
                machine: info.slug,
                cases: contents.cases,
                replicates: contents.runs,
            }),
            Err(problem) => eprintln!("warning: {}: {problem}", info.path.display()),
        }
    }
    let text = if json { rsb_report::document("baselines", &rows)? } else { rsb_report::list::baselines(&rows, style) };
    show::text(&text)?;
    Ok(Exit::Pass)
}

fn show_one(name: &str, folders: &Folders, json: bool, style: Style) -> Ended {
    let baseline = if settings::is_path(name) {
        Baseline::read(std::path::Path::new(name)).map_err(Trouble::usage)?
    } else {
        let here = Fingerprint::of(&rsb_probe::environment(&rsb_probe::ProbeOptions::default()));
        Baselines::new(&folders.baselines).load(name, Some(&here)).map_err(Trouble::usage)?
    };
    if json {
        show::json(&baseline)?;
    } else {
        for run in &baseline.clone().into_runs() {
            show::text(&rsb_report::run::text(run, style))?;
        }
    }
    Ok(Exit::Pass)
}
