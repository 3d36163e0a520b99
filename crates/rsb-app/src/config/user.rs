//! Configuration of the user, overridden key by key by that of the project. It sets only
//! directories and formats, never how to measure or judge.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Config, ConfigError, LogFormat, RunSection};

/// Path of the file below the user's configuration directory.
const FILE: &str = "rusty-stack-bench/config.toml";

/// The file `$XDG_CONFIG_HOME/rusty-stack-bench/config.toml`, by default in `~/.config`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UserConfig {
    run: UserRunSection,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct UserRunSection {
    #[serde(alias = "output_dir")]
    results_dir: Option<PathBuf>,
    log_dir: Option<PathBuf>,
    log_format: Option<LogFormat>,
}

impl UserConfig {
    /// Reads the file of the user who runs this process; without one, nothing is set.
    ///
    /// # Errors
    /// If it cannot be read, has an unknown key, or names a relative directory.
    pub fn find() -> Result<Self, ConfigError> {
        Self::find_in(|name| std::env::var_os(name))
    }

    fn find_in(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, ConfigError> {
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|at| at.is_absolute());
        let home = absolute("HOME");
        let base =
            absolute("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
        let Some(path) = base.map(|base| base.join(FILE)) else { return Ok(Self::default()) };
        if path.symlink_metadata().is_err() {
            return Ok(Self::default());
        }
        Self::parse(&Config::read_text(&path)?, home.as_deref())
            .map_err(|message| ConfigError::Invalid { path, message })
    }

    fn parse(text: &str, home: Option<&Path>) -> Result<Self, String> {
        let mut user: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let run = &mut user.run;
        for (key, dir) in [("results_dir", &mut run.results_dir), ("log_dir", &mut run.log_dir)] {
            let Some(dir) = dir else { continue };
            if let (Ok(rest), Some(home)) = (dir.strip_prefix("~"), home) {
                *dir = home.join(rest);
            }
            if !dir.is_absolute() {
                return Err(format!(
                    "`run.{key}` is {}, which depends on the current directory; write an absolute \
                     path, or one that begins with ~/",
                    dir.display()
                ));
            }
        }
        Ok(user)
    }

    /// Sets the keys that `run`, the section of a project, lacks.
    pub fn fill(&self, run: &mut RunSection) {
        let own = &self.run;
        run.results_dir = run.results_dir.take().or_else(|| own.results_dir.clone());
        run.log_dir = run.log_dir.take().or_else(|| own.log_dir.clone());
        run.log_format = run.log_format.or(own.log_format);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_replaces_the_keys_of_the_user() {
        let text = "[run]\noutput_dir = \"~/runs\"\nlog_dir = \"/logs\"\nlog_format = \"json\"\n";
        let user = UserConfig::parse(text, Some(Path::new("/home/a"))).unwrap();
        let mut run = RunSection { log_dir: Some("here".into()), ..RunSection::default() };
        user.fill(&mut run);
        assert_eq!(run.results_dir.as_deref(), Some(Path::new("/home/a/runs")));
        assert_eq!(run.log_dir.as_deref(), Some(Path::new("here")));
        assert_eq!(run.log_format, Some(LogFormat::Json));
    }

    #[test]
    fn the_file_is_found_by_xdg_or_home_and_may_be_missing() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().to_owned();
        let at = |name: &'static str, path: PathBuf| {
            UserConfig::find_in(move |asked| (asked == name).then(|| path.clone().into_os_string()))
        };
        assert_eq!(at("HOME", home.clone()).unwrap(), UserConfig::default());
        assert_eq!(UserConfig::find_in(|_| None).unwrap(), UserConfig::default());
        let file = home.join(".config").join(FILE);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "[run]\nresults_dir = \"/r\"\n").unwrap();
        let found = at("HOME", home.clone()).unwrap();
        assert_eq!(found.run.results_dir.as_deref(), Some(Path::new("/r")));
        assert_eq!(at("XDG_CONFIG_HOME", home.join(".config")).unwrap(), found);
    }

    #[test]
    fn a_key_that_could_change_a_verdict_and_a_relative_directory_are_refused() {
        for (text, expected) in [
            ("[thresholds]\ngemm = 50.0\n", "expected `run`"),
            ("[run]\nruns = 50\n", "unknown field `runs`"),
            ("[run]\nresults_dir = \"runs\"\n", "absolute path"),
            ("[run]\nlog_dir = \"~other/logs\"\n", "absolute path"),
        ] {
            let error = UserConfig::parse(text, Some(Path::new("/home/a"))).unwrap_err();
            assert!(error.contains(expected), "{text}\n{error}");
        }
    }
}
