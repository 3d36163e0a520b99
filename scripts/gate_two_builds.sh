#!/usr/bin/env bash
# Measures two checkouts in turn on this machine and gates the second against the first:
#   scripts/gate_two_builds.sh BASE HEAD [ARGUMENTS OF `run` …]
# Both must be built (cargo build --release). Runs alternate (base head head base …), so that a drift of the machine
# falls on both sides. Results and comment are left in ./pr-gate.
set -euo pipefail

if [ $# -lt 2 ] || [ "$1" = --help ]; then
    sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 2
fi
base=$(realpath -- "$1")
head=$(realpath -- "$2")
shift 2
out=$PWD/pr-gate
mkdir -p "$out"

measure() { # CHECKOUT NAME ARGUMENTS…
    local checkout=$1 name=$2
    shift 2
    "$checkout/target/release/rusty-stack-bench" run --replicates 2 --results-dir "$out/$name" --json "$@" >"$out/$name.json"
}

sides=(base head head base base head)
baseline=()
current=()
for i in "${!sides[@]}"; do
    name="${sides[i]}-$i"
    if [ "${sides[i]}" = base ]; then
        measure "$base" "$name" "$@"
        baseline+=(--baseline "$out/$name.json")
    else
        measure "$head" "$name" "$@"
        current+=(--current "$out/$name.json")
    fi
done

gate() { "$head/target/release/rusty-stack-bench" gate --results-dir "$out/comparison" "${baseline[@]}" "${current[@]}" "$@"; }
verdict=0
gate --format markdown >"$out/comment.md" || verdict=$?
cat "$out/comment.md"
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    cat "$out/comment.md" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$verdict"
