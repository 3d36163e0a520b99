//! `init`: the initial files of a project, namely its policy and the configuration of its CI.

use std::path::{Path, PathBuf};

use anyhow::Context;
use rsb_app::init::{self, Ci};
use rsb_app::output_error;
use rsb_gate::revisions;
use rsb_store::output;

use crate::cli::{CiName, InitArgs};
use crate::exit::{CliResult, Exit};
use crate::{console, show};

/// Looks for bench targets, then prints the files or writes those that do not exist.
///
/// # Errors
/// If the project has no bench target that can be measured, or a file cannot be written.
pub fn run(args: &InitArgs) -> CliResult {
    let here = Path::new(".");
    let targets = revisions::survey(here)?;
    let top = revisions::git(here, &["rev-parse", "--show-toplevel"]).ok().map(PathBuf::from);
    let directory = revisions::git(here, &["rev-parse", "--show-prefix"]).unwrap_or_default();
    let ci = match args.ci {
        CiName::Github => Ci::Github,
        CiName::Gitlab => Ci::Gitlab,
        CiName::None => Ci::None,
    };
    let directory = Path::new(directory.trim_end_matches('/'));
    let files = init::files(ci, directory, targets.as_deref())?;
    match &targets {
        Some(targets) => console::say(&init::describe(targets)),
        None => console::say(
            "note: no cargo project here; give the gate a command: `--bench CMD --bench-format \
             NAME`",
        ),
    }
    if !args.write {
        let shown: Vec<String> =
            files.iter().map(|file| format!("# ---- {}\n{}", file.path, file.text)).collect();
        show::text(&shown.join("\n"))?;
        let named = match args.ci {
            CiName::Github => "",
            CiName::Gitlab => " --ci gitlab",
            CiName::None => " --ci none",
        };
        console::say(&format!(
            "hint: `rusty-stack-bench init --write{named}` writes the files that do not exist"
        ));
        return Ok(Exit::Pass);
    }
    for file in files {
        let name = file.path;
        let from = if file.is_at_top { top.as_deref().unwrap_or(here) } else { here };
        let path = from.join(name);
        // Keep an existing file, even if it is a dangling link.
        if path.symlink_metadata().is_ok() {
            console::say(&format!("{name} already exists and is not changed"));
            continue;
        }
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)
                .with_context(|| format!("cannot create {}", parent.display()))?;
        }
        output::write_bytes(&path, file.text.as_bytes()).map_err(output_error)?;
        console::say(&format!("wrote {name}"));
    }
    console::say("the gate measures for 5 s per case, from 3 to 15 minutes in total");
    Ok(Exit::Pass)
}
