#!/usr/bin/env bash
# Takes what README.md and docs/guide.md show, anew: the picture docs/images/gate.svg (the gate on tests/small-crate, where
# one function does 20 % more), the README's demo and the guide's sample of a run. Builds first, then waits until the
# load average is below 0.5, which it shows; with --any-load it does not wait.
#
# Usage: scripts/readme_demo.sh [--any-load] [SECONDS]    measuring time of a case and Criterion run, 2 by default
set -euo pipefail

wait_for_quiet=yes
if [ "${1:-}" = --any-load ]; then
    wait_for_quiet=no
    shift
fi
seconds=${1:-2}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/program.sh
. "$here/scripts/program.sh"
program=$(find_program yes) || exit $?
cd "$here"
cargo build --quiet --package xtask

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
small() { # ARGUMENTS OF cargo bench
    (cd "$here/tests/small-crate" && CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$here/target}/small-crate" \
        CRITERION_HOME="$work/criterion" cargo bench --quiet --bench all "$@")
}
small --no-run

quiet() {
    local load
    read -r load _ </proc/loadavg
    [ "$wait_for_quiet" = no ] || awk -v load="$load" 'BEGIN { exit !(load < 0.5) }'
}
until_quiet() {
    until quiet; do
        echo "the load average is $(cut -d' ' -f1-3 /proc/loadavg): waiting until it is below 0.5" >&2
        sleep 20
    done
}
# Between two marks of a file, what standard input holds.
put_between() { # NAME OF THE MARKS, FILE
    cat >"$work/text"
    awk -v begin="<!-- $1: begin -->" -v end="<!-- $1: end -->" -v text="$work/text" '
        $0 == end { skipping = 0 }
        !skipping { print }
        $0 == begin { while ((getline line < text) > 0) print line; skipping = 1 }' "$2" >"$work/file"
    cat "$work/file" >"$2"
}

until_quiet
load=$(cat /proc/loadavg)
"$program" run gemm --axis dtype=f32 --color never --results-dir "$work/results" 2>/dev/null >"$work/gemm.txt"
{
    echo '```'
    echo '$ cat /proc/loadavg && rusty-stack-bench run gemm --axis dtype=f32'
    echo "$load"
    sed -n '/^m[ie][st]/d; /^benchmark /p; /\/512x512x512 /p; /\/1024x1024x1024 /p; /\/32x768x768 /p' "$work/gemm.txt"
    echo '```'
    echo
    echo "$(sed -n 2p "$work/gemm.txt"); three of the cases."
} | put_between sample README.md

until_quiet
load=$(cat /proc/loadavg)
"$program" run --color never --results-dir "$work/results" 2>/dev/null >"$work/run.txt"
{
    echo '```'
    echo '$ cat /proc/loadavg && rusty-stack-bench run'
    echo "$load"
    # Of each benchmark the first cases, of each list the first entries: the whole fills two screens.
    awk '
        /^benchmark / || /^        target/ { rows = 0 }
        /^(Skipped|Targets)/ || /^[0-9]+ measured/ || /^[0-9]+ of [0-9]+ targets/ { print; rows = 0; next }
        NR < 6 || rows++ < 12 { print; next }
        rows == 13 { print "…" }' "$work/run.txt"
    echo '```'
} | put_between 'sample of a run' docs/guide.md

until_quiet
load=$(cat /proc/loadavg)
sides=()
for run in 1 2 3; do
    small -- --save-baseline "before-$run" --noplot --quiet --warm-up-time 0.5 --measurement-time "$seconds" >/dev/null
    SLOWER=crc=1.2 small -- --save-baseline "after-$run" --noplot --quiet --warm-up-time 0.5 \
        --measurement-time "$seconds" >/dev/null
    sides+=(--baseline "$work/criterion@before-$run" --current "$work/criterion@after-$run")
done
code=0
"$program" gate "${sides[@]}" --results-dir "$work/results" --color always >"$work/gate.txt" 2>/dev/null || code=$?
{
    echo '$ cat /proc/loadavg'
    echo "$load"
    cat <<'TEXT'
$ for i in 1 2 3; do
>   cargo bench -- --save-baseline before-$i
>   SLOWER=crc=1.2 cargo bench -- --save-baseline after-$i
>   sides="$sides --baseline target/criterion@before-$i --current target/criterion@after-$i"
> done
$ rusty-stack-bench gate $sides
TEXT
    sed 1,2d "$work/gate.txt" # The names of six directories, too wide for a picture.
    # shellcheck disable=SC2016 # What a user types.
    printf '$ echo $?\n%s\n' "$code"
} | cargo xtask screenshot >"$work/gate.svg"
cp "$work/gate.svg" docs/images/gate.svg
echo "README.md, docs/guide.md and docs/images/gate.svg are taken anew; look at them" >&2
