#!/usr/bin/env bash
# Runs the README's commands as a first-time user on a bare machine: a chroot with only Debian's
# base system, git, a C compiler and the Rust toolchain. It has no Python, no GPU library, no ML
# framework and none of the variables of this project.
#
# Usage: scripts/try_bare.sh [--short]    --short: of the tests, only those that depend on what is installed
#
# Needs root, mount namespaces and debootstrap; without them it is skipped, or fails if RSB_REQUIRE
# lists `bare`. The chroot is kept in ~/.cache/rusty-stack-bench/bare (about 0.6 GB). Cargo builds
# in BARE_TARGET_DIR, by default next to it.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bare="$HOME/.cache/rusty-stack-bench/bare"
target="${BARE_TARGET_DIR:-$HOME/.cache/rusty-stack-bench/bare-target}"
short=no
[ "${1:-}" != --short ] || short=yes

skip() {
    case ",${RSB_REQUIRE:-}," in
        *,bare,* | *,all,*) echo "error: RSB_REQUIRE=$RSB_REQUIRE requires the bare job: $1" >&2; exit 1 ;;
    esac
    echo "skipped: bare: $1"
    exit 0
}

[ "$(id -u)" -eq 0 ] || skip "a chroot needs root"
unshare --mount true 2>/dev/null || skip "mount namespaces are not allowed here"
if [ ! -e "$bare/complete" ]; then
    command -v debootstrap >/dev/null || skip "debootstrap is not installed; install the package debootstrap"
    # From the archive from which this machine's packages were installed.
    # shellcheck disable=SC2016 # apt-get fills these in.
    source=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 2>/dev/null | head -n 1) || true
    [ -n "$source" ] || skip "apt-get lists no package archive"
    echo "a bare Debian: about 0.6 GB of disk space"
    rm -rf "$bare"
    mkdir -p "$(dirname "$bare")"
    debootstrap --variant=minbase --include=git,gcc,libc6-dev,ca-certificates \
        "${source#* }" "$bare" "${source% *}" >"$bare.log" 2>&1 || skip "debootstrap failed; see $bare.log"
    touch "$bare/complete"
fi

toolchain=$(cd "$top" && rustc --print sysroot)
cargo_home="${CARGO_HOME:-$HOME/.cargo}"
# The chroot may lack the proxy or the certificates that this machine needs to reach a registry.
(cd "$top" && cargo fetch --locked --quiet)
mkdir -p "$target"
rm -rf "$bare/home/user" "$bare/origin"
# Cargo reuses a dependency if its source has the same path, so cargo's directories keep theirs.
mkdir -p "$bare/home/user" "$bare/origin" "$bare/toolchain" "$bare$cargo_home" "$bare$target"

# The commands of a first-time user. Exit codes are checked by `set -e`.
cat >"$bare/home/user/commands.sh" <<'COMMANDS'
set -euo pipefail
cd /home/user
git clone --quiet /origin rusty-stack-bench
cd rusty-stack-bench
step() {
    local began=$SECONDS
    echo "bare: $*"
    "$@"
    echo "bare: $((SECONDS - began)) s"
}
step ./run_benchmarks.sh
# On a machine without a baseline, in empty directories.
step ./run_benchmarks.sh --results-dir /home/user/results --baselines-dir /home/user/baselines
if [ "$SHORT" = yes ]; then
    step cargo xtask test --test it -- backends:: gate:: generated:: installation:: opencl:: probe_trees:: scripts:: vulkan::
else
    step cargo xtask test
fi
COMMANDS

export bare cargo_home target toolchain top short
unshare --mount --fork bash -euo pipefail <<'INSIDE'
mount --make-rprivate /
mount --bind "$top" "$bare/origin"
mount --rbind "$toolchain" "$bare/toolchain"
mount --bind "$cargo_home" "$bare$cargo_home"
mount --bind "$target" "$bare$target"
mount -t proc proc "$bare/proc"
mount --rbind /sys "$bare/sys"
mount --rbind /dev "$bare/dev"
mount -t tmpfs tmpfs "$bare/tmp"
cp /etc/resolv.conf "$bare/etc/resolv.conf"
# The path has no `.cargo/bin`, which may hold further tools. Git sees a repository of another owner.
exec env -i HOME=/home/user PATH=/toolchain/bin:/usr/bin:/bin LANG=C.UTF-8 CARGO_HOME="$cargo_home" \
    CARGO_TARGET_DIR="$target" CARGO_INCREMENTAL=0 SHORT="$short" GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' \
    /usr/sbin/chroot "$bare" bash /home/user/commands.sh
INSIDE
