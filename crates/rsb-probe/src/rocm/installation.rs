//! One installation: version, build and commit, from the files that installers leave.

use std::path::Path;

use rsb_model::rocm::{Compiler, RocmInstallation, RocmSource};

use super::components::{self, LibraryContents};
use super::{library_dirs, numbers};
use crate::host::{Host, entries, read_line, read_text};

/// Returns the installation in `root`, if it has one of the usual directories.
pub(super) fn in_dir(host: &Host, root: &Path) -> Option<RocmInstallation> {
    if ![".info", "lib", "lib64", "bin"].iter().any(|name| root.join(name).is_dir()) {
        return None;
    }
    let release = Release::read(root);
    let found = components::read(&library_dirs(root));
    let platform = host.variable("HIP_PLATFORM").and_then(|name| name.to_str()).map(str::to_owned);
    Some(RocmInstallation {
        version: release.version,
        path: root.display().to_string(),
        source: RocmSource::Directory,
        build: release.build,
        build_date: release.build_date,
        commit: release.commit,
        platform: platform.or_else(|| found.versions.contains_key("hip").then(|| "amd".to_owned())),
        components: found.versions,
        compilers: compilers(&root.join("bin"), &root.join("lib/llvm")),
        gpu_targets: found.targets,
    })
}

/// Returns the installation in a library directory of a distribution. No file contains the ROCm
/// version, but the file name of the HIP library does: `libamdhip64.so.5.7.31921` is from ROCm 5.7.
pub(super) fn of_distribution(host: &Host, dir: &Path) -> Option<RocmInstallation> {
    let found = components::read(&[dir.to_owned()]);
    let version = found.versions.get("hip").map(|version| numbers(version))?;
    let &[major, minor, _, ..] = version.as_slice() else { return None };
    let compilers = host.path("/usr/bin").map(|bin| compilers(&bin, Path::new("")));
    Some(RocmInstallation {
        version: Some(format!("{major}.{minor}")),
        path: dir.display().to_string(),
        source: RocmSource::Distribution,
        platform: Some("amd".to_owned()),
        components: found.versions,
        compilers: compilers.unwrap_or_default(),
        gpu_targets: found.targets,
        ..RocmInstallation::default()
    })
}

/// Identity of a build.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Release {
    pub(super) version: Option<String>,
    pub(super) build: Option<String>,
    pub(super) build_date: Option<String>,
    pub(super) commit: Option<String>,
}

impl Release {
    /// Reads `.info/version` (`6.4.3-127`), the C header, and the manifest of later builds.
    pub(super) fn read(root: &Path) -> Self {
        let line = ["version", "version-rocm", "version-dev"].iter().find_map(|file| {
            read_line(&root.join(".info").join(file)).filter(|line| parse(line).is_some())
        });
        let header = ["include/rocm-core/rocm_version.h", "include/rocm_version.h"]
            .iter()
            .find_map(|file| read_text(&root.join(file)))
            .unwrap_or_default();
        let manifest = read_text(&root.join("share/therock/therock_manifest.json"));
        // "6.4.3.0-127-a1b2c3d": version, build, commit.
        let information = parse_define(&header, "ROCM_BUILD_INFO").unwrap_or_default();
        let mut parts = information.split('-').skip(1);
        let (build, commit) = (parts.next(), parts.next());
        let package =
            manifest.as_deref().and_then(|text| json_string(text, "rocm_package_version"));
        let hip_header = read_text(&root.join("include/hip/hip_version.h"));
        let hip_commit = hip_header.and_then(|text| parse_define(&text, "HIP_VERSION_GITHASH"));
        let of_manifest = manifest.as_deref().and_then(|text| json_string(text, "the_rock_commit"));
        Self {
            version: line.as_deref().and_then(parse).or_else(|| header_version(&header)),
            build: line
                .as_deref()
                .and_then(|line| line.split_once('-'))
                .map(|(_, build)| build.to_owned())
                .or_else(|| build.filter(|build| !build.is_empty()).map(str::to_owned)),
            build_date: package.as_deref().and_then(date),
            commit: of_manifest
                .into_iter()
                .chain(commit.map(str::to_owned))
                .chain(hip_commit)
                .find(|hash| is_hash(hash)),
        }
    }
}

/// Parses a version: `6.4.3` of `6.4.3-127`.
fn parse(line: &str) -> Option<String> {
    let version = line.split(['-', ' ']).next()?;
    let mut parts = version.split('.');
    let whole = parts.clone().count() >= 2 && parts.all(|part| part.parse::<u32>().is_ok());
    whole.then(|| version.to_owned())
}

/// Parses the version in the C header.
fn header_version(header: &str) -> Option<String> {
    let major = parse_define(header, "ROCM_VERSION_MAJOR")?;
    let minor = parse_define(header, "ROCM_VERSION_MINOR")?;
    let patch = parse_define(header, "ROCM_VERSION_PATCH")?;
    Some([major, minor, patch].join("."))
}

/// Returns the value of a line `#define NAME value`.
fn parse_define(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let is_it = words.next() == Some("#define") && words.next() == Some(name);
        is_it.then(|| words.next()).flatten().map(|value| value.trim_matches('"').to_owned())
    })
}

/// Returns the string with the key `name` in a JSON document; sufficient for flat, generated
/// manifests.
fn json_string(text: &str, name: &str) -> Option<String> {
    let after =
        text.split_once(&format!("\"{name}\""))?.1.trim_start().strip_prefix(':')?.trim_start();
    let value = after.strip_prefix('"')?.split('"').next()?;
    (!value.is_empty()).then(|| value.to_owned())
}

/// Returns the date in a version such as `10.1.0a20260813`.
pub(super) fn date(version: &str) -> Option<String> {
    let (year, rest) =
        version.rsplit(|c: char| !c.is_ascii_digit()).find(|part| part.len() == 8)?.split_at(4);
    let (month, day) = rest.split_at(2);
    let within =
        |text: &str, most: u32| text.parse().is_ok_and(|number: u32| (1..=most).contains(&number));
    (year.starts_with("20") && within(month, 12) && within(day, 31))
        .then(|| format!("{year}-{month}-{day}"))
}

fn is_hash(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the compilers in `bin`. For LLVM's compilers, the version is the name of the directory
/// with their headers.
pub(super) fn compilers(bin: &Path, llvm: &Path) -> Vec<Compiler> {
    let clang = entries(&llvm.join("lib/clang")).into_iter().next_back();
    let found = ["hipcc", "amdclang", "amdclang++"].into_iter().map(|name| (name, bin.join(name)));
    let inner = std::iter::once(("clang", llvm.join("bin/clang")));
    found
        .chain(inner)
        .filter(|(_, path)| path.is_file())
        .map(|(name, path)| Compiler {
            name: name.to_owned(),
            path: path.display().to_string(),
            version: clang.clone().filter(|_| name != "hipcc"),
        })
        .collect()
}

impl LibraryContents {
    /// Adds the contents of another directory; existing versions are kept.
    pub(super) fn extend(&mut self, other: Self) {
        for (name, version) in other.versions {
            self.versions.entry(name).or_insert(version);
        }
        self.targets.extend(other.targets);
        self.targets.sort();
        self.targets.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    fn release(files: &[(&str, &str)]) -> Release {
        Release::read(&Tree::new(files).path(""))
    }

    #[test]
    fn build_and_commit_come_from_the_header() {
        let header = "#define ROCM_VERSION_MAJOR   5\n#define ROCM_VERSION_MINOR   7\n#define \
                      ROCM_VERSION_PATCH   0\n\n\
                      #define ROCM_BUILD_INFO\t     \"5.7.0.0-63-af460ac\"\n";
        for path in ["include/rocm-core/rocm_version.h", "include/rocm_version.h"] {
            let found = release(&[(path, header)]);
            assert_eq!(
                (found.version.as_deref(), found.build.as_deref()),
                (Some("5.7.0"), Some("63"))
            );
            assert_eq!((found.commit.as_deref(), found.build_date), (Some("af460ac"), None));
        }
        let line = release(&[("include/rocm_version.h", header), (".info/version", "5.7.1-98\n")]);
        assert_eq!((line.version.as_deref(), line.build.as_deref()), (Some("5.7.1"), Some("98")));
        let unknown = release(&[(
            "include/rocm_version.h",
            "#define ROCM_BUILD_INFO \"6.1.0.0-9999-unknown\"\n",
        )]);
        assert_eq!((unknown.version, unknown.commit), (None, None));
        let hip = release(&[(
            "include/hip/hip_version.h",
            "#define HIP_VERSION_GITHASH \"02187ecf9\"\n",
        )]);
        assert_eq!(hip.commit.as_deref(), Some("02187ecf9"));
    }

    #[test]
    fn the_manifest_tells_the_day_and_the_commit() {
        let manifest = "{\n  \"the_rock_commit\": \"16adc4d875fd4f65ea23c7c84e1c66706fde3047\",\n  \
                        \"rocm_package_version\" : \"10.1.0a20260813\",\n  \"rocm_version\": \
                        \"10.1.0\"\n}\n";
        let found = release(&[
            ("share/therock/therock_manifest.json", manifest),
            (".info/version", "10.1.0\n"),
        ]);
        assert_eq!(found.build_date.as_deref(), Some("2026-08-13"));
        assert_eq!(found.commit.as_deref(), Some("16adc4d875fd4f65ea23c7c84e1c66706fde3047"));
        for version in ["7.2.4", "10.1.0a20261399", "10.1.0a19990101", "", "1234567"] {
            assert_eq!(date(version), None, "{version}");
        }
    }

    #[test]
    fn compilers_are_those_whose_files_are_there() {
        let tree = Tree::new(&[
            ("opt/rocm/bin/hipcc", ""),
            ("opt/rocm/bin/amdclang", ""),
            ("opt/rocm/lib/llvm/bin/clang", ""),
            ("opt/rocm/lib/llvm/lib/clang/19/include/stddef.h", ""),
        ]);
        let root = tree.path("opt/rocm");
        let found = compilers(&root.join("bin"), &root.join("lib/llvm"));
        let names: Vec<_> =
            found.iter().map(|one| (one.name.as_str(), one.version.as_deref())).collect();
        assert_eq!(names, [("hipcc", None), ("amdclang", Some("19")), ("clang", Some("19"))]);
    }
}
