//! Files of Git LFS in the tree of a revision: git-lfs replaces their pointers when it is installed
//! and has the contents.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Result;

use super::builds::git;

/// First bytes of a pointer.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1";

/// Checks out files of `tree` again that are still pointers. Returns a warning if some remain so.
///
/// # Errors
/// If git cannot check them out.
pub(super) fn check_out(tree: &Path) -> Result<Option<String>> {
    let earlier = pointers(tree)?;
    if earlier.is_empty() {
        return Ok(None);
    }
    for name in &earlier {
        std::fs::remove_file(tree.join(name))?;
    }
    git(tree, &["checkout", "--force", "--quiet", "--", "."])?;
    let remaining = pointers(tree)?;
    Ok(remaining.first().map(|first| {
        format!(
            "Git LFS contents are missing, such as of {first} (files: {}); benchmarks that read \
             them fail or measure something else: install git-lfs, then run `git lfs install` and \
             `git lfs fetch --all`",
            remaining.len()
        )
    }))
}

/// Returns the files of `tree` that are pointers.
fn pointers(tree: &Path) -> Result<Vec<String>> {
    let listing = git(tree, &["ls-files", "-z", "--", ":(attr:filter=lfs)"])?;
    let files = listing.split('\0').filter(|name| !name.is_empty());
    let is_pointer = |name: &&str| {
        let mut start = [0; POINTER.len()];
        let read = File::open(tree.join(name)).and_then(|mut file| file.read_exact(&mut start));
        read.is_ok() && start == *POINTER
    };
    Ok(files.filter(is_pointer).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_pointers_are_named_with_the_cure() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path();
        git(tree, &["init", "--quiet"]).unwrap();
        // If the filter programs are empty, git keeps the pointers, as if git-lfs were not
        // installed.
        for (key, value) in [("process", ""), ("clean", ""), ("smudge", ""), ("required", "false")]
        {
            git(tree, &["config", &format!("filter.lfs.{key}"), value]).unwrap();
        }
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
        for (name, text) in [
            (".gitattributes", "*.bin filter=lfs\n"),
            ("short.bin", "contents"),
            ("pointer.txt", pointer),
            ("large.bin", pointer),
        ] {
            std::fs::write(tree.join(name), text).unwrap();
        }
        git(tree, &["add", "--all"]).unwrap();
        assert_eq!(pointers(tree).unwrap(), ["large.bin"]);
        let warning = check_out(tree).unwrap().unwrap();
        assert!(warning.contains("large.bin") && warning.contains("git lfs fetch"), "{warning}");
        assert_eq!(std::fs::read_to_string(tree.join("large.bin")).unwrap(), pointer);
    }
}
