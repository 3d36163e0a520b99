//! Names of sides: splits them and expands patterns.

use std::path::{Path, PathBuf};

use rsb_stats::glob;
use rsb_store::criterion_dir::{LATEST, saved_names};

/// Splits `DIR` or `DIR@NAME`: an output directory of Criterion with its latest or a saved result.
pub(super) fn criterion_dir(text: &str) -> Option<(&Path, &str)> {
    if Path::new(text).is_dir() {
        return Some((Path::new(text), LATEST));
    }
    text.rsplit_once('@').map(|(dir, name)| (Path::new(dir), name)).filter(|(dir, _)| dir.is_dir())
}

/// Returns every side that `text` names. A pattern in the name of a saved Criterion result
/// (`before-*`) expands to all matching names, sorted; other text is returned as is. A name without
/// a directory refers to the Criterion directory of this project, if that has such results.
pub(super) fn expand_pattern(text: &str) -> Vec<String> {
    let own = own_dir();
    let (dir, name) = match criterion_dir(text) {
        Some((dir, name)) => (dir, name),
        None if !text.contains(['/', '@']) && own.is_dir() => (own.as_path(), text),
        None => return vec![text.to_owned()],
    };
    let is_short = criterion_dir(text).is_none();
    if !is_short && !name.contains('*') {
        return vec![text.to_owned()];
    }
    let saved = saved_names(dir).unwrap_or_default();
    let fitting: Vec<String> = saved
        .iter()
        .filter(|saved| glob::matches(name, saved))
        .map(|name| format!("{}@{name}", dir.display()))
        .collect();
    // Text without a match is used as is; reading it reports the names that exist.
    if fitting.is_empty() { vec![text.to_owned()] } else { fitting }
}

/// Returns the directory in which `cargo bench` stores Criterion's results here.
fn own_dir() -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    std::env::var_os("CRITERION_HOME").map_or_else(|| target.join("criterion"), PathBuf::from)
}

/// Returns how many runs before the latest one `text` refers to: 1 for `previous`, 2 for
/// `latest~2`.
pub(super) fn before_latest(text: &str) -> Option<u32> {
    match text {
        "latest" => Some(0),
        "previous" => Some(1),
        _ => text.strip_prefix("latest~")?.parse().ok(),
    }
}

/// Returns advice for saved Criterion results that were inconclusive: measure more runs, alternate
/// the sides, and name all results. `None` if the sides are not saved Criterion results.
pub fn more_runs(baseline: &[String], current: &[String]) -> Option<String> {
    let (dir, before) = first_saved(baseline)?;
    let (other_dir, after) = first_saved(current)?;
    let (before, after) = (without_number(&before), without_number(&after));
    Some(format!(
        "three runs per side are usually enough: for each of 1, 2, 3 run `cargo bench -- \
         --save-baseline {before}-1` on the old code and `cargo bench -- --save-baseline \
         {after}-1` on the new, then `rusty-stack-bench gate --baseline '{}@{before}-*' --current \
         '{}@{after}-*'`; `gate --against REV` does all of this",
        dir.display(),
        other_dir.display()
    ))
}

/// Returns the directory and the name of the first saved result of a side.
fn first_saved(side: &[String]) -> Option<(PathBuf, String)> {
    let first = expand_pattern(side.first()?).into_iter().next()?;
    let (dir, name) = criterion_dir(&first)?;
    Some((dir.to_owned(), name.to_owned()))
}

fn without_number(name: &str) -> &str {
    name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_every_saved_result_that_fits() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["before-1", "before-2", "after-1", "new"] {
            let case = dir.path().join("f").join(name);
            std::fs::create_dir_all(&case).unwrap();
            std::fs::write(case.join("sample.json"), "{}").unwrap();
        }
        let plain = dir.path().display().to_string();
        let [one, two] = [format!("{plain}@before-1"), format!("{plain}@before-2")];
        assert_eq!(expand_pattern(&format!("{plain}@before-*")), [one.as_str(), &two]);
        let nothing = format!("{plain}@nothing-*");
        assert_eq!(expand_pattern(&nothing), [nothing.as_str()]);
        assert_eq!(expand_pattern(&one), [one.as_str()]);
        assert_eq!(expand_pattern(&plain), [plain.as_str()]);
        let said = more_runs(&[one], &[format!("{plain}@after-1")]).unwrap();
        assert!(said.contains("@before-*'") && said.contains("--save-baseline after-1"), "{said}");
        assert!(more_runs(&["quick".to_owned()], &[]).is_none());
    }

    #[test]
    fn earlier_runs_are_counted_from_the_latest() {
        for (text, expected) in [
            ("latest", Some(0)),
            ("previous", Some(1)),
            ("latest~3", Some(3)),
            ("latest~x", None),
            ("quick", None),
        ] {
            assert_eq!(before_latest(text), expected, "{text}");
        }
    }
}
