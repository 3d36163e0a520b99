#!/usr/bin/env bash
# Runs `gate` on an unrelated crate, with three saved Criterion runs per side: the same code, one
# case 20 % slower, one 20 % faster, one missing. Prints the exit code of each; exits with 1 if one
# is not as expected. The runs of all sides take turns, so that drift of the machine affects all of
# them.
#
# Usage: scripts/try_criterion_project.sh [SECONDS]    measuring time of a case and run, 2 by default
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
seconds=${1:-2}
# shellcheck source=scripts/program.sh
. "$here/scripts/program.sh"
program=$(find_program yes) || exit $?

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$here/tests/small-crate"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$here/target}/small-crate"
export CRITERION_HOME="$work/criterion"
bench() { # NAME OF THE SAVED RUN, then variables
    env "${@:2}" cargo bench --quiet --bench all -- --save-baseline "$1" --noplot --quiet \
        --warm-up-time 0.5 --measurement-time "$seconds" >/dev/null
}
for run in 1 2 3; do
    bench "before-$run"
    bench "same-$run"
    bench "slower-$run" SLOWER=crc=1.2
    bench "faster-$run" SLOWER=crc=0.8
    bench "missing-$run" WITHOUT=crc
    echo "measured round $run of 3" >&2
done

wrong=0
expect() { # SIDE, EXIT CODE, A PATTERN OF ITS OUTPUT
    local ended=0
    local sides=()
    for run in 1 2 3; do
        sides+=(--baseline "$work/criterion@before-$run" --current "$work/criterion@$1-$run")
    done
    "$program" gate "${sides[@]}" --results-dir "$work/results" >"$work/$1.txt" 2>&1 || ended=$?
    echo "$1: exit $ended, expected $2"
    if [ "$ended" -ne "$2" ] || ! grep -Eq "$3" "$work/$1.txt"; then
        wrong=1
        cat "$work/$1.txt"
    else
        grep -E "^(PASS|REGRESSED|NO VERDICT)| (Regressed|Improved) \[" "$work/$1.txt"
    fi
}
expect same 0 '^PASS'
expect slower 3 'small/crc .* Regressed'
expect faster 0 'small/crc .* Improved'
expect missing 4 'Missing from the current run'
exit "$wrong"
