#!/usr/bin/env bash
# Gates this tree against the baseline committed for this machine, as a fresh checkout does. Where none is committed for it,
# one is made first, in scratch, from the merge base. Exits 3 when something regressed; no verdict is shown, and passes:
# whoever shares the machine may be the reason.
#
# Usage: scripts/gate_committed.sh [REV]    the branch to merge into, origin/HEAD by default
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/program.sh
. scripts/program.sh
program=$(find_program yes) || exit $?
export RUSTY_STACK_BENCH="$program"

work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" 2>/dev/null || true; rm -rf "$work"' EXIT
export RSB_RESULTS_DIR="$work/results"

base=$(git merge-base "${1:-origin/HEAD}" HEAD 2>/dev/null || true)
arguments=(--gate --no-build)
if "$program" baseline show quick >/dev/null 2>&1; then
    if [ -n "$base" ] && [ "$base" != "$(git rev-parse HEAD)" ]; then arguments+=(--base "$base"); fi
    echo "against the committed baseline"
else
    if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then base=$(git rev-parse HEAD~1); fi
    echo "no baseline is committed for this machine: one is made from $base"
    git worktree add --quiet --detach "$work/base" "$base"
    target="${CARGO_TARGET_DIR:-$PWD/target}/base"
    CARGO_TARGET_DIR="$target" cargo build --release --locked --quiet --bin rusty-stack-bench --manifest-path "$work/base/Cargo.toml"
    mkdir "$work/baselines"
    git show "$base:baselines/policy.toml" >"$work/baselines/policy.toml"
    export RSB_BASELINES_DIR="$work/baselines" RSB_CACHE_DIR="$work/cache"
    (cd "$work/base" && "$target/release/rusty-stack-bench" run --suite quick >"$work/base.txt" 2>&1 &&
        "$target/release/rusty-stack-bench" baseline save >>"$work/base.txt" 2>&1) || { cat "$work/base.txt"; exit 1; }
fi
verdict=0
./run_benchmarks.sh "${arguments[@]}" || verdict=$?
case $verdict in
    0 | 4) echo "gate against the baseline: exit $verdict" ;;
    *) exit "$verdict" ;;
esac
