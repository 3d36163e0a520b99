#!/usr/bin/env bash
# Measures the baseline of this machine from the committed tree and commits it: a suite with ten
# processes per case, on an idle machine. The commit message contains the load average.
#
# Usage: scripts/commit_baseline.sh [--suite SUITE] [--force]
#   --suite  quick by default; gpu-performance on the runner of a GPU
#   --force  also measure on a busy machine
set -euo pipefail

suite=quick
force=no
while [ $# -gt 0 ]; do
    case "$1" in
        --force) force=yes ;;
        --suite)
            [ $# -gt 1 ] || { echo "error: --suite needs a name, such as gpu-performance" >&2; exit 2; }
            suite=$2
            shift
            ;;
        *) echo "error: unknown argument $1; the arguments are --suite SUITE and --force" >&2; exit 2 ;;
    esac
    shift
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ -n "$(git status --porcelain)" ]; then
    echo "error: the tree has uncommitted changes; commit them first, because a baseline records its revision" >&2
    exit 2
fi
load=$(cut -d' ' -f1 /proc/loadavg)
if [ "$force" = no ] && ! awk -v load="$load" -v cpus="$(nproc)" 'BEGIN { exit !(load < cpus / 2) }'; then
    echo "error: the load average is $load on $(nproc) CPUs; wait until it is below half the number of CPUs, or use --force" >&2
    exit 2
fi
# shellcheck source=scripts/program.sh
. scripts/program.sh
program=$(find_program yes) || exit $?
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
"$program" run --suite "$suite" --replicates 10 --results-dir "$results"
"$program" baseline save --results-dir "$results"
if ! git ls-files --modified --others --exclude-standard -- baselines | xargs grep -l "\"commit\": \"$(git rev-parse HEAD)\"" | grep -q .; then
    echo "error: the baseline records no revision; look for uncommitted changes with \`git status\`" >&2
    exit 1
fi
git add baselines
git commit --quiet --message "Baseline of the suite $suite on $(lscpu | sed -n 's/^Model name: *//p' | head -n 1)

Measured from $(git rev-parse HEAD) at a load average of $load, $(nproc) CPUs, ten processes per case."
git --no-pager show --stat --format='%h %s' HEAD
