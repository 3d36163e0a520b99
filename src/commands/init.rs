//! `init`: what a project starts with, its policy and a workflow for its pull requests.

use std::path::Path;

use anyhow::Context;

use crate::cli::InitArgs;
use crate::exit::{CliResult, Exit};
use crate::{console, show};

/// The files, and what stands in them.
const FILES: [(&str, &str); 2] = [
    ("baselines/policy.toml", include_str!("init/policy.toml")),
    (".github/workflows/benchmarks.yml", include_str!("init/benchmarks.yml")),
];

/// The verb `init`: prints the files, or writes those that are not there.
///
/// # Errors
/// When one cannot be written.
pub fn run(args: &InitArgs) -> CliResult {
    if !args.write {
        let shown: Vec<String> =
            FILES.iter().map(|(name, text)| format!("# ---- {name}\n{text}")).collect();
        show::text(&shown.join("\n"))?;
        console::say(
            "hint: `rusty-stack-bench init --write` writes these files where they are not there \
             yet",
        );
        return Ok(Exit::Pass);
    }
    for (name, text) in FILES {
        let path = Path::new(name);
        // What is there stays, a link that leads nowhere included.
        if path.symlink_metadata().is_ok() {
            console::say(&format!("{name} is there already, and stays as it is"));
            continue;
        }
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)
                .with_context(|| format!("cannot create {}", parent.display()))?;
        }
        std::fs::write(path, text).with_context(|| format!("cannot write {name}"))?;
        console::say(&format!("wrote {name}"));
    }
    Ok(Exit::Pass)
}
