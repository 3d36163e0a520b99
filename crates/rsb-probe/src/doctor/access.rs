//! Device files of the GPUs, and whether the current user can use them.

use std::path::Path;

use super::facts::{Access, DeviceFile};
use crate::host::Host;

/// Returns `/dev/kfd`, even if it is missing, then `/dev/dri/renderD*`.
pub(super) fn devices(host: &Host) -> Vec<DeviceFile> {
    let render = host.entries("/dev/dri").into_iter().filter(|name| name.starts_with("renderD"));
    let paths =
        std::iter::once("/dev/kfd".to_owned()).chain(render.map(|name| format!("/dev/dri/{name}")));
    paths.map(|path| device(host, path)).collect()
}

fn device(host: &Host, path: String) -> DeviceFile {
    let real = host.path(&path);
    let access = real.as_deref().map_or(Access::Missing, access);
    let group = real.as_deref().and_then(owner).map(|number| group_name(host, number));
    let is_listed = group.as_deref().is_some_and(|group| is_listed(host, group));
    DeviceFile { path, access, group, is_listed }
}

#[cfg(unix)]
fn access(path: &Path) -> Access {
    use rustix::fs::Access as Wanted;
    match rustix::fs::access(path, Wanted::READ_OK | Wanted::WRITE_OK) {
        Ok(()) => Access::Granted,
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Access::Missing,
        Err(_) => Access::Denied,
    }
}

#[cfg(not(unix))]
fn access(_: &Path) -> Access {
    Access::Missing
}

/// Returns the ID of the group that owns a file.
#[cfg(unix)]
fn owner(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    path.metadata().ok().map(|data| data.gid())
}

#[cfg(not(unix))]
fn owner(_: &Path) -> Option<u32> {
    None
}

#[cfg(unix)]
fn user_number() -> u32 {
    rustix::process::getuid().as_raw()
}

/// Returns 0, because a system without user IDs has no `/etc/passwd` either.
#[cfg(not(unix))]
fn user_number() -> u32 {
    0
}

/// Returns the name of the current user.
pub(super) fn user(host: &Host) -> String {
    let number = user_number();
    let text = host.text("/etc/passwd").unwrap_or_default();
    let named = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(number) && !name.is_empty()).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| number.to_string())
}

/// Returns the name of a group from `/etc/group` (name, password, number, members). If the group
/// has no name, returns its number.
fn group_name(host: &Host, number: u32) -> String {
    let text = host.text("/etc/group").unwrap_or_default();
    for line in text.lines() {
        let mut fields = line.split(':');
        let (Some(name), Some(own)) = (fields.next(), fields.nth(1)) else { continue };
        if own.parse() == Ok(number) {
            return name.to_owned();
        }
    }
    number.to_string()
}

fn is_listed(host: &Host, group: &str) -> bool {
    let text = host.text("/etc/group").unwrap_or_default();
    let line = text.lines().find(|line| line.split(':').next() == Some(group));
    let members = line.and_then(|line| line.rsplit(':').next()).unwrap_or_default();
    let user = user(host);
    members.split(',').any(|member| member.trim() == user)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    #[test]
    fn device_files_are_found_with_their_group() {
        use std::os::unix::fs::MetadataExt as _;
        let tree = Tree::new(&[("dev/dri/renderD128", ""), ("dev/dri/card0", "")]);
        let group = tree.path("dev/dri/renderD128").metadata().unwrap().gid();
        let user = rustix::process::getuid().as_raw();
        tree.write("etc/passwd", &format!("somebody:x:{user}:{user}::/home:/bin/sh\n"));
        tree.write("etc/group", &format!("wheel:x:99999:\nrender:x:{group}:other,somebody\n"));
        let found = devices(&tree.host());
        let missing = DeviceFile {
            path: "/dev/kfd".into(),
            access: Access::Missing,
            group: None,
            is_listed: false,
        };
        let render = DeviceFile {
            path: "/dev/dri/renderD128".into(),
            access: Access::Granted,
            group: Some("render".into()),
            is_listed: true,
        };
        assert_eq!(found, [missing, render]);
    }

    #[test]
    fn users_and_groups_without_a_name_are_numbers() {
        let tree = Tree::new(&[("etc/group", "broken\n:::\n")]);
        assert_eq!(user(&tree.host()), rustix::process::getuid().as_raw().to_string());
        assert_eq!(group_name(&tree.host(), 4242), "4242");
        assert!(!is_listed(&tree.host(), "render"));
    }
}
