//! Changes that cannot change a program: CI configuration and license files whose names no other
//! file mentions.

use std::path::Path;

/// Directories of CI configuration.
const CI_DIRECTORIES: [&str; 5] = [".github", ".gitlab", ".circleci", ".buildkite", ".woodpecker"];

/// Files of CI configuration at the top of a repository.
const CI_FILES: [&str; 9] = [
    ".gitlab-ci.yml",
    ".travis.yml",
    ".cirrus.yml",
    ".appveyor.yml",
    "appveyor.yml",
    "azure-pipelines.yml",
    "bors.toml",
    "codecov.yml",
    ".codecov.yml",
];

/// Prefixes of the names of license files.
const LICENSES: [&str; 4] = ["LICENSE", "LICENCE", "COPYING", "UNLICENSE"];

/// Returns whether `path`, from the top of a repository, is CI configuration or a license. Rust
/// code and manifests never are.
pub(super) fn is_inert(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let is_rust = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("rs"));
    if is_rust || matches!(name, "Cargo.toml" | "Cargo.lock") {
        return false;
    }
    let first = path.components().next().and_then(|part| part.as_os_str().to_str());
    let is_ci = first.is_some_and(|first| CI_DIRECTORIES.contains(&first))
        || (path.components().count() == 1 && CI_FILES.contains(&name));
    is_ci || LICENSES.iter().any(|license| name.starts_with(license))
}

/// Returns arguments of `git grep` that find files of `commit` that may read one of the inert files
/// `changed`: any file that mentions its name, except prose and inert files, and Rust code that
/// mentions a directory of CI configuration.
pub(super) fn grep_for_readers(commit: &str, changed: &[impl AsRef<Path>]) -> Vec<Vec<String>> {
    let words = |fixed: &[&str]| fixed.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut by_name = words(&["grep", "--quiet", "--fixed-strings"]);
    let mut by_directory = by_name.clone();
    for path in changed.iter().map(AsRef::as_ref) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        by_name.extend(["-e".to_owned(), name.into_owned()]);
    }
    by_directory
        .extend(CI_DIRECTORIES.iter().flat_map(|name| ["-e".to_owned(), (*name).to_owned()]));
    by_name.extend([commit.to_owned(), "--".to_owned(), ":/".to_owned()]);
    by_name.push(":(top,exclude,glob)**/*.md".to_owned());
    by_name.extend(CI_DIRECTORIES.iter().map(|name| format!(":(top,exclude){name}")));
    by_name.extend(LICENSES.iter().map(|name| format!(":(top,exclude,glob)**/{name}*")));
    by_directory.extend([commit.to_owned(), "--".to_owned(), ":(top)*.rs".to_owned()]);
    vec![by_name, by_directory]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_configuration_and_licenses_are_inert_and_code_is_not() {
        for (path, expected) in [
            (".github/workflows/ci.yml", true),
            (".github/dependabot.yml", true),
            (".gitlab-ci.yml", true),
            ("LICENSE-MIT", true),
            ("crates/a/COPYING", true),
            (".github/tool/src/main.rs", false),
            (".github/tool/Cargo.toml", false),
            ("docs/.github/x.yml", false),
            ("ci/.gitlab-ci.yml", false),
            ("README.md", false),
            ("src/lib.rs", false),
            ("data.json", false),
        ] {
            assert_eq!(is_inert(Path::new(path)), expected, "{path}");
        }
    }
}
