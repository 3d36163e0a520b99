//! `config`: writes a configuration file with every key, or checks one.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use rsb_app::config::{Config, FILE_NAME};
use rsb_store::output;

use crate::cli::ConfigVerb;
use crate::exit::{CliError, CliResult, Exit};
use crate::show;

/// Every key with its description.
const EXAMPLE: &str = include_str!("../../docs/rusty-stack-bench.example.toml");

/// Runs the subcommand `config`.
///
/// # Errors
/// If the file to write already exists or cannot be written, or the file to check is invalid.
pub fn run(verb: &ConfigVerb) -> CliResult {
    match verb {
        ConfigVerb::Save { file } => save(&path(file.as_deref())),
        ConfigVerb::Check { file } => check(&path(file.as_deref())),
    }
}

fn path(named: Option<&Path>) -> PathBuf {
    named.unwrap_or(Path::new(FILE_NAME)).to_owned()
}

fn save(path: &Path) -> CliResult {
    if path.symlink_metadata().is_ok() {
        let path = path.display();
        return Err(CliError::usage(anyhow!(
            "{path} already exists; name another file, or edit it and run `config check`"
        )));
    }
    output::write(path, &commented_out(EXAMPLE)).map_err(rsb_app::output_error)?;
    show::text(&format!(
        "wrote {}; every key is commented out, so the defaults still apply",
        path.display()
    ))?;
    Ok(Exit::Pass)
}

fn check(path: &Path) -> CliResult {
    Config::read(path).map_err(CliError::usage)?;
    show::text(&format!("{} is valid", path.display()))?;
    Ok(Exit::Pass)
}

/// Returns `example` with every key commented out, so that it is equivalent to the defaults,
/// including those that depend on the suite.
fn commented_out(example: &str) -> String {
    let mut text = String::new();
    for line in example.lines() {
        let is_kept = line.is_empty()
            || line.starts_with('#')
            || (line.starts_with('[') && !line.starts_with("[["));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}{line}", if is_kept { "" } else { "# " });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_means_the_defaults_and_is_never_written_over_another_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.toml");
        assert!(matches!(save(&file), Ok(Exit::Pass)));
        let config = Config::read(&file).unwrap();
        assert_eq!(config, Config { components: config.components.clone(), ..Config::default() });
        assert!(
            config
                .components
                .values()
                .all(|component| *component == rsb_app::config::ComponentSection::default())
        );
        assert!(std::fs::read_to_string(&file).unwrap().contains("# runs = 100"));
        assert!(matches!(check(&file), Ok(Exit::Pass)));
        assert!(save(&file).unwrap_err().error.to_string().contains("already exists"));
        std::fs::write(&file, "[run]\nrunz = 3\n").unwrap();
        assert!(check(&file).unwrap_err().error.to_string().contains("runz"));
        let missing = check(&dir.path().join("b.toml")).unwrap_err().error.to_string();
        assert!(missing.contains("config save FILE"), "{missing}");
    }
}
