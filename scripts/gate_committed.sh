#!/usr/bin/env bash
# Gates this tree against the baseline committed for this machine, as a fresh checkout does. If
# there is none, a temporary one is created from the merge base. Exits with 3 if a case regressed in
# two consecutive runs. A missing verdict is shown and passes, because other load on the machine may
# be the reason.
#
# Usage: scripts/gate_committed.sh [REV]    the branch to merge into, origin/HEAD by default
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ $# -gt 0 ]; then
    base=$(git merge-base "$1" HEAD) || { echo "error: $1 and HEAD have no common ancestor in this clone; fetch $1" >&2; exit 2; }
else
    base=$(git merge-base origin/HEAD HEAD 2>/dev/null || true)
fi
head=$(git rev-parse HEAD)

# shellcheck source=scripts/program.sh
. scripts/program.sh
program=$(find_program yes) || exit $?
export RUSTY_STACK_BENCH="$program"

work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" 2>/dev/null || true; rm -rf "$work"' EXIT
export RSB_RESULTS_DIR="$work/results"

arguments=(--gate --no-build)
known=0
"$program" baseline show --here quick >/dev/null || known=$?
case $known in
    0)
        if [ -n "$base" ] && [ "$base" != "$head" ]; then
            arguments+=(--base "$base")
            echo "comparing with the committed baseline of the merge base $base"
        else
            echo "comparing with the committed baseline of this tree"
        fi
        ;;
    4)
        if [ -z "$base" ] || [ "$base" = "$head" ]; then
            base=$(git rev-parse --verify --quiet HEAD~1) || { echo "this clone has no earlier commit to create a baseline from"; exit 0; }
        fi
        echo "no baseline is committed for this machine; creating one from $base"
        git worktree add --quiet --detach "$work/base" "$base"
        target="${CARGO_TARGET_DIR:-$PWD/target}/base"
        CARGO_TARGET_DIR="$target" cargo build --release --locked --quiet --bin rusty-stack-bench --manifest-path "$work/base/Cargo.toml"
        mkdir "$work/baselines"
        git show "$base:baselines/policy.toml" >"$work/baselines/policy.toml" 2>/dev/null || rm "$work/baselines/policy.toml"
        export RSB_BASELINES_DIR="$work/baselines" RSB_CACHE_DIR="$work/cache"
        made=0
        (cd "$work/base" && "$target/release/rusty-stack-bench" run --suite quick) >"$work/base.txt" 2>&1 || made=$?
        # A failed case (exit code 1) affects only itself.
        if [ "$made" -gt 1 ] || ! (cd "$work/base" && "$target/release/rusty-stack-bench" baseline save) >>"$work/base.txt" 2>&1; then
            cat "$work/base.txt"
            exit 1
        fi
        ;;
    *) exit "$known" ;;
esac
verdict=0
./run_benchmarks.sh "${arguments[@]}" || verdict=$?
if [ "$verdict" -eq 3 ]; then
    echo "regressed in one run; measuring again"
    verdict=0
    ./run_benchmarks.sh "${arguments[@]}" || verdict=$?
fi
case $verdict in
    0 | 4) echo "gate against the baseline: exit $verdict" ;;
    *) exit "$verdict" ;;
esac
