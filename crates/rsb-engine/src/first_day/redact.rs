//! Removes the names of the host and the user from files that users attach to an issue.

use serde_json::Value;

/// Names to remove, each with its replacement.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    /// Directories of the user, replaced wherever they occur.
    paths: Vec<String>,
    /// Names and their replacements, replaced as whole words.
    names: Vec<(String, &'static str)>,
}

/// Names that identify neither a person nor a machine, and words that occur in the documents.
const ORDINARY: &[&str] = &[
    "root",
    "user",
    "users",
    "home",
    "admin",
    "guest",
    "test",
    "bench",
    "localhost",
    "host",
    "cpu",
    "gpu",
    "amd",
    "nvidia",
    "intel",
    "rocm",
    "cuda",
    "vulkan",
    "opencl",
    "oneapi",
    "linux",
    "ubuntu",
    "debian",
    "fedora",
    "ci",
    "runner",
];

impl Redaction {
    /// Creates a redaction of `user`, `host` and the directory `home`. Ordinary names such as
    /// `root` do not identify a user and are kept.
    pub fn new(user: Option<&str>, host: Option<&str>, home: Option<&str>) -> Self {
        let mut names: Vec<(String, &'static str)> = Vec::new();
        names
            .extend(user.filter(|name| is_identifying(name)).map(|name| (name.to_owned(), "USER")));
        names
            .extend(host.filter(|name| is_identifying(name)).map(|name| (name.to_owned(), "HOST")));
        // The host name may occur without its domain, too.
        let first = host.and_then(|host| host.split_once('.')).map(|(first, _)| first);
        names.extend(
            first.filter(|name| is_identifying(name)).map(|name| (name.to_owned(), "HOST")),
        );
        let home = home.filter(|home| home.len() > 1 && *home != "/root");
        Self { paths: home.map(str::to_owned).into_iter().collect(), names }
    }

    /// Creates a redaction for the user and host of this process. `user` overrides the environment.
    pub fn here(user: Option<&str>) -> Self {
        let user =
            user.map(str::to_owned).or_else(|| variable("USER")).or_else(|| variable("LOGNAME"));
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self::new(user.as_deref(), Some(&host), variable("HOME").as_deref())
    }

    /// Returns `text` with the names replaced.
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for path in &self.paths {
            text = text.replace(path.as_str(), "~");
        }
        for (name, instead) in &self.names {
            text = replace_word(&text, name, instead);
        }
        text
    }

    /// Replaces the names in every string of `value`, except in keys.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            Value::Object(members) => members.values_mut().for_each(|value| self.value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn is_identifying(name: &str) -> bool {
    name.len() > 1 && !ORDINARY.contains(&name.to_ascii_lowercase().as_str())
}

/// Returns the value of an environment variable, unless it is empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Replaces `word` in `text`, unless a letter, digit or underscore is next to it.
fn replace_word(text: &str, word: &str, instead: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, found) = rest.split_at(at);
        let after = found.strip_prefix(word).unwrap_or_default();
        let before_word = before.chars().next_back().or_else(|| out.chars().next_back());
        let is_word = !before_word.is_some_and(is_word_char)
            && !after.chars().next().is_some_and(is_word_char);
        out.push_str(before);
        out.push_str(if is_word { instead } else { word });
        rest = after;
    }
    out + rest
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
