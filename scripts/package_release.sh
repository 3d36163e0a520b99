#!/usr/bin/env bash
# Builds and packs the program for a release: an archive with the program, its documents and
# licenses, one with its debug information, and one with the worker that typesets PDF, to be placed
# next to the program. With cargo-cyclonedx, also a list of the program's dependencies (CycloneDX
# 1.5). Fails if the tag does not match the version in Cargo.toml.
#
# Requires cargo-zigbuild, which links against an old glibc, so that the program also runs on RHEL 8
# and Debian 10.
#
# Usage: scripts/package_release.sh TARGET TAG DIRECTORY
set -euo pipefail

target=$1
tag=$2
output=$(realpath --canonicalize-missing -- "$3")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v cargo-zigbuild >/dev/null; then
    echo "error: install cargo-zigbuild: pip install cargo-zigbuild ziglang" >&2
    exit 1
fi
version=$(cargo metadata --format-version 1 --no-deps | python3 -c '
import json, sys
packages = json.load(sys.stdin)["packages"]
print(next(package["version"] for package in packages if package["name"] == "rusty-stack-bench"))')
if [ "$tag" != "v$version" ]; then
    echo "error: the tag $tag does not match version $version of Cargo.toml" >&2
    exit 1
fi

# With line tables, to debug crashes of a released program; they are packed into a separate archive.
export CARGO_PROFILE_RELEASE_DEBUG=line-tables-only CARGO_PROFILE_RELEASE_STRIP=none
cargo zigbuild --release --locked --target "$target.2.28" --bin rusty-stack-bench
built="${CARGO_TARGET_DIR:-target}/$target/release/rusty-stack-bench"

name="rusty-stack-bench-$tag-$target"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$output" "$work/$name"
objcopy --only-keep-debug --compress-debug-sections=zlib "$built" "$work/rusty-stack-bench.debug"
# Function names move into the debug file too, so that the program itself stays small.
objcopy --strip-all --add-gnu-debuglink="$work/rusty-stack-bench.debug" "$built" "$work/$name/rusty-stack-bench"
size=$(stat --format=%s "$work/$name/rusty-stack-bench")
cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$work/$name/"

tar --sort=name --owner=0 --group=0 --numeric-owner -C "$work" -czf "$output/$name.tgz" "$name"
tar --sort=name --owner=0 --group=0 --numeric-owner -C "$work" -czf "$output/$name-debug.tgz" rusty-stack-bench.debug

# Built separately, because cargo would otherwise merge the features of shared crates and make the
# program larger.
CARGO_PROFILE_RELEASE_DEBUG=false CARGO_PROFILE_RELEASE_STRIP=symbols \
    cargo zigbuild --release --locked --target "$target.2.28" --package rsb-pdf --features pdf
fonts=$(cargo metadata --format-version 1 --locked --features pdf | python3 -c '
import json, pathlib, sys
packages = json.load(sys.stdin)["packages"]
dejavu = next(package["manifest_path"] for package in packages if package["name"] == "dejavu")
print(next(pathlib.Path(dejavu).parent.glob("assets/*/LICENSE")))')
mkdir "$work/$name-pdf"
cp "${CARGO_TARGET_DIR:-target}/$target/release/rsb-pdf" "$work/$name-pdf/rsb-pdf-worker"
cp "$fonts" "$work/$name-pdf/LICENSE-FONTS"
cp LICENSE-APACHE LICENSE-MIT "$work/$name-pdf/"
tar --sort=name --owner=0 --group=0 --numeric-owner -C "$work" -czf "$output/$name-pdf.tgz" "$name-pdf"

if command -v cargo-cyclonedx >/dev/null; then
    # In a copy, because it writes next to every Cargo.toml.
    mkdir "$work/source"
    git archive HEAD | tar -x -C "$work/source"
    (cd "$work/source" && cargo cyclonedx --quiet --format json --spec-version 1.5 --describe binaries \
        --no-build-deps --target "$target")
    cp "$work/source/rusty-stack-bench_bin.cdx.json" "$output/$name.cdx.json"
fi
echo "$output/$name.tgz: the program has $size bytes"
