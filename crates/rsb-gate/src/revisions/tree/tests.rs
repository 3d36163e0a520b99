use std::os::unix::fs::symlink;

use super::super::builds::{Repository, git};
use super::*;

/// Creates a repository whose first commit contains the files made by `write`.
fn repository(write: impl Fn(&Path)) -> (tempfile::TempDir, RevisionTree) {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path();
    git(top, &["init", "--quiet"]).unwrap();
    write(top);
    git(top, &["add", "--all"]).unwrap();
    let author = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
    git(top, &[&author[..], &["commit", "--quiet", "-m", "base"]].concat()).unwrap();
    let commit = git(top, &["rev-parse", "HEAD"]).unwrap();
    let tree = RevisionTree { repository: Repository::at(top), commit };
    (dir, tree)
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn a_link_is_followed_in_the_revision_and_not_in_the_working_tree() {
    let (dir, tree) = repository(|top| {
        write(&top.join("real/policy.toml"), "strict");
        symlink("real", top.join("baselines")).unwrap();
        symlink("../real/policy.toml", top.join("real/linked.toml")).unwrap();
    });
    write(&dir.path().join("real/policy.toml"), "lenient");
    for name in ["baselines/policy.toml", "real/policy.toml", "baselines/linked.toml"] {
        assert_eq!(tree.read(&dir.path().join(name)).unwrap().as_deref(), Some("strict"), "{name}");
    }
    // The change replaces a directory by a link.
    std::fs::remove_file(dir.path().join("baselines")).unwrap();
    write(&dir.path().join("other/policy.toml"), "lenient");
    symlink("other", dir.path().join("baselines")).unwrap();
    assert_eq!(
        tree.read(&dir.path().join("baselines/policy.toml")).unwrap().as_deref(),
        Some("strict")
    );
    let exported = tempfile::tempdir().unwrap();
    tree.export(Path::new("baselines"), exported.path()).unwrap();
    for name in ["policy.toml", "linked.toml"] {
        let path = exported.path().join(name);
        assert!(
            std::fs::symlink_metadata(&path).unwrap().is_file(),
            "{name} must be a regular file, not a link"
        );
        assert_eq!(std::fs::read_to_string(path).unwrap(), "strict");
    }
}

#[test]
fn what_leads_out_of_the_revision_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    write(&outside.path().join("policy.toml"), "lenient");
    let (dir, tree) = repository(|top| {
        symlink(outside.path().join("policy.toml"), top.join("policy.toml")).unwrap();
        symlink(outside.path(), top.join("baselines")).unwrap();
        symlink("nowhere", top.join("dangling")).unwrap();
        write(&top.join("plain"), "text");
    });
    for (name, expected) in [
        ("policy.toml", "outside the repository"),
        ("baselines/policy.toml", "outside the repository"),
        ("dangling", "cannot be resolved"),
        (".", "not a file"),
    ] {
        let error = tree.read(&dir.path().join(name)).unwrap_err();
        assert!(error.to_string().contains(expected), "{name}: {error}");
    }
    assert_eq!(tree.read(&dir.path().join("missing/file")).unwrap(), None);
    assert!(tree.export(Path::new("baselines"), outside.path()).is_err());
    assert!(tree.export(Path::new("plain"), outside.path()).is_err());
}

#[test]
fn a_path_is_in_the_repository_whatever_links_lead_to_it() {
    let (dir, tree) = repository(|top| write(&top.join("inside/file"), "text"));
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(dir.path(), elsewhere.path().join("link")).unwrap();
    let name = |path: &Path| tree.name_of(path).unwrap();
    assert_eq!(name(&elsewhere.path().join("link/inside/file")), Some("inside/file".into()));
    assert_eq!(name(&dir.path().join("inside/../new")), Some("new".into()));
    assert_eq!(name(&dir.path().join("inside/../../new")), None);
    assert_eq!(name(elsewhere.path()), None);
}
