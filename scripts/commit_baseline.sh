#!/usr/bin/env bash
# Measures the baseline of this machine from the committed tree and commits it: the quick suite, ten processes a case, on a
# quiet machine. The commit names the load. `--force` measures a busy machine too.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ -n "$(git status --porcelain)" ]; then
    echo "error: the tree is changed: a baseline records the revision that made it, so commit first" >&2
    exit 2
fi
load=$(cut -d' ' -f1 /proc/loadavg)
if [ "${1:-}" != --force ] && ! awk -v load="$load" -v cpus="$(nproc)" 'BEGIN { exit !(load < cpus / 2) }'; then
    echo "error: the load average is $load on $(nproc) CPUs: wait until it is below half of them, or give --force" >&2
    exit 2
fi
# shellcheck source=scripts/program.sh
. scripts/program.sh
program=$(find_program yes) || exit $?
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
"$program" run --suite quick --replicates 10 --results-dir "$results"
"$program" baseline save --results-dir "$results"
if ! git ls-files --modified --others --exclude-standard -- baselines | xargs grep -l "\"commit\": \"$(git rev-parse HEAD)\"" | grep -q .; then
    echo "error: the baseline records no revision; \`git status\` shows what is changed" >&2
    exit 1
fi
git add baselines
git commit --quiet --message "Baseline of the quick suite on $(lscpu | sed -n 's/^Model name: *//p' | head -n 1)

Measured from $(git rev-parse HEAD) at a load average of $load, $(nproc) CPUs, ten processes a case."
git --no-pager show --stat --format='%h %s' HEAD
