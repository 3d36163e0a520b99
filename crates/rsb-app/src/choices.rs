//! Lists values for the required arguments of `compare`, `baseline show`, `query` and `bisect`.

use std::time::Duration;

use rsb_engine::Listener;
use rsb_gate::suggest::shell_quote;
use rsb_gate::{Directories, gate};
use rsb_store::{Baselines, RunSummary, Store};

use crate::{AppError, ProjectContext, ProjectPaths, sql_error};

/// Maximum number of baselines, runs or commits to list.
const LISTED: usize = 5;

/// Digits of an abbreviated commit.
const ABBREVIATED: usize = 10;

/// Subcommands whose required arguments are listed; `show` is that of `baseline`.
pub const SUBCOMMANDS: [&str; 4] = ["compare", "show", "query", "bisect"];

/// Returns lines that list possible arguments of the subcommand `name`, one of [`SUBCOMMANDS`];
/// empty if the store cannot be read.
pub fn of(name: &str, paths: &ProjectPaths, listener: &mut Listener<'_>) -> Vec<String> {
    let Ok(project) = ProjectContext::open(paths) else { return Vec::new() };
    lines(name, &project.directories, listener).unwrap_or_default()
}

fn lines(
    subcommand: &str,
    directories: &Directories,
    listener: &mut Listener<'_>,
) -> Result<Vec<String>, AppError> {
    if subcommand == "show" {
        let names = baselines(directories);
        let first = names.first().map_or("quick", String::as_str);
        let show = format!("baseline show {}", shell_quote(first));
        return Ok(vec![saved_baselines(&names, directories), example(&show, directories)]);
    }
    let store = gate::open(directories, listener)?;
    let runs = store.runs().map_err(AppError::usage)?;
    Ok(match subcommand {
        "compare" => vec![
            saved_baselines(&baselines(directories), directories),
            latest_runs(&runs, directories),
            example("compare previous", directories),
        ],
        "query" => {
            let mut lines = views(&store)?;
            lines.push(example(
                "query \"SELECT benchmark_id, value FROM measurements WHERE metric = 'time_ms'\"",
                directories,
            ));
            lines
        }
        _ => vec![
            commits(&runs),
            format!(
                "--case takes a part of the id of one case; `{}` lists the slower ones",
                directories.command("gate --against GOOD")
            ),
            example("bisect HEAD~8 HEAD --case gemm", directories),
        ],
    })
}

fn example(arguments: &str, directories: &Directories) -> String {
    format!("example: {}", directories.command(arguments))
}

fn baselines(directories: &Directories) -> Vec<String> {
    let mut names: Vec<String> = Baselines::new(&directories.baselines)
        .list()
        .into_iter()
        .map(|baseline| baseline.name)
        .collect();
    names.sort();
    names.dedup();
    names
}

fn saved_baselines(names: &[String], directories: &Directories) -> String {
    let save = directories.command("baseline save");
    let without = format!("no baseline is saved; `{save}` saves the latest run");
    format_list("saved baselines", names, &without)
}

fn latest_runs(runs: &[RunSummary], directories: &Directories) -> String {
    let named: Vec<String> =
        runs.iter().map(|run| format!("{} ({})", run.run_id, run.suite)).collect();
    let without = format!("no run is stored; `{}` measures one", directories.command("run"));
    format_list("latest runs", &named, &without)
}

/// Lists the commits of the stored runs, latest first.
fn commits(runs: &[RunSummary]) -> String {
    let mut commits = Vec::new();
    for commit in runs.iter().filter_map(|run| run.commit.as_deref()) {
        commits.push(commit.get(..ABBREVIATED).unwrap_or(commit).to_owned());
    }
    commits.dedup();
    format_list(
        "commits of the latest runs",
        &commits,
        "no stored run records a commit; name any two git revisions",
    )
}

fn format_list(title: &str, names: &[String], without: &str) -> String {
    if names.is_empty() {
        return without.to_owned();
    }
    let more = names.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{title}: {}{more}", names.get(..LISTED).unwrap_or(names).join(", "))
}

/// Lists each view with its columns.
fn views(store: &Store) -> Result<Vec<String>, AppError> {
    const SQL: &str =
        "SELECT 'view ' || t.name || '(' || (SELECT group_concat(c.name, ', ') FROM pragma_table_info(t.name) c) || ')'
        FROM sqlite_schema t WHERE t.type = 'view' ORDER BY t.name";
    let answer = store.select(SQL, Duration::from_secs(10)).map_err(sql_error)?;
    Ok(answer.rows.iter().flatten().filter_map(|value| value.as_str().map(str::to_owned)).collect())
}
