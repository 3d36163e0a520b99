//! Secrets from environment variables and files. `Debug` and errors never print them.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;

/// Source of an address, token or password.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected { env = \"NAME\" } or { file = \"PATH\" }")]
pub enum ValueSource {
    /// The value itself; only for addresses without a secret.
    Plain(String),
    /// The name of a variable or file that holds the value.
    Named(NamedSource),
}

/// Name of an environment variable or file that holds a value.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NamedSource {
    /// An environment variable.
    Env(String),
    /// A file; white space at its end is ignored.
    File(PathBuf),
}

impl fmt::Debug for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(_) => f.write_str("Plain(…)"),
            Self::Named(named) => fmt::Debug::fmt(named, f),
        }
    }
}

/// A value that must not be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns the value, to send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl ValueSource {
    /// Returns whether the value is in the configuration file.
    pub const fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// Reads the value.
    ///
    /// # Errors
    /// If the variable is not set, the file cannot be read, or the value is empty.
    pub fn read(&self) -> Result<Secret, String> {
        let (text, place) = match self {
            Self::Plain(text) => (text.clone(), "the configuration".to_owned()),
            Self::Named(NamedSource::Env(name)) => {
                let text = std::env::var(name)
                    .map_err(|_| format!("the environment variable {name} is not set"))?;
                (text, format!("the environment variable {name}"))
            }
            Self::Named(NamedSource::File(path)) => {
                let path_shown = path.display();
                let text = std::fs::read_to_string(path)
                    .map_err(|error| format!("cannot read {path_shown}: {error}"))?;
                (text, path_shown.to_string())
            }
        };
        let text = text.trim();
        if text.is_empty() { Err(format!("{place} is empty")) } else { Ok(Secret(text.to_owned())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Table {
        url: ValueSource,
    }

    #[test]
    fn a_value_is_read_from_its_file_and_never_printed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("url");
        std::fs::write(&path, "https://hooks.example/T0/secret\n").unwrap();
        let text = format!("url = {{ file = '{}' }}", path.display());
        let table: Table = toml::from_str(&text).unwrap();
        let secret = table.url.read().unwrap();
        assert_eq!(secret.expose(), "https://hooks.example/T0/secret");
        assert!(!format!("{secret:?} {table:?}").contains("T0"));
        let plain: Table = toml::from_str("url = 'https://hooks.example/T0'").unwrap();
        assert!(plain.url.is_plain() && !format!("{plain:?}").contains("T0"));
    }

    #[test]
    fn a_missing_value_names_its_source() {
        let of = |text: &str| toml::from_str::<Table>(text).unwrap().url.read().unwrap_err();
        assert!(of("url = { env = 'NO_SUCH_VARIABLE_HERE' }").contains("NO_SUCH_VARIABLE_HERE"));
        assert!(of("url = { file = '/nonexistent/url' }").contains("/nonexistent/url"));
        let wrong = toml::from_str::<Table>("url = { vault = 'x' }").unwrap_err().to_string();
        assert!(wrong.contains("env") && wrong.contains("file"), "{wrong}");
    }
}
