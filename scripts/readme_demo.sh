#!/usr/bin/env bash
# Regenerates the picture of README.md, docs/images/gate.svg (the gate on a copy of tests/small-crate
# in which one function does 20 % more work), and the sample run of docs/guide.md. Builds the program
# first, then waits until the load average is below 0.5, which the sample shows; --any-load does not
# wait. Check the results before committing.
#
# Usage: scripts/readme_demo.sh [--any-load] [picture|samples]    both by default
set -euo pipefail

wait_for_quiet=yes
if [ "${1:-}" = --any-load ]; then
    wait_for_quiet=no
    shift
fi
part=${1:-both}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/program.sh
. "$here/scripts/program.sh"
program=$(realpath "$(find_program yes)") || exit $?
cd "$here"
cargo build --quiet --package xtask
export COLUMNS=110 # Output is wrapped and shortened as on a terminal.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

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
# Replaces the text between two marks of a file by standard input.
put_between() { # NAME OF THE MARKS, FILE
    cat >"$work/text"
    awk -v begin="<!-- $1: begin -->" -v end="<!-- $1: end -->" -v text="$work/text" '
        $0 == end { skipping = 0 }
        !skipping { print }
        $0 == begin { while ((getline line < text) > 0) print line; skipping = 1 }' "$2" >"$work/file"
    cat "$work/file" >"$2"
}

take_samples() {
    local load
    until_quiet
    load=$(cat /proc/loadavg)
    "$program" run --color never --results-dir "$work/results" 2>/dev/null >"$work/run.txt"
    {
        echo '```'
        echo '$ cat /proc/loadavg && rusty-stack-bench run'
        echo "$load"
        # Only the first cases and targets, and not what was skipped: the whole output fills two
        # screens.
        awk '
            /^Skipped/ { is_skipped = 1 }
            /^Targets/ || /^[0-9]+ measured/ { is_skipped = 0 }
            is_skipped { next }
            /^benchmark / || /^        target/ { rows = 0 }
            /^Targets/ || /^[0-9]+ measured/ || /^[0-9]+ of [0-9]+ targets/ { print; rows = 0; next }
            NR < 6 || rows++ < 6 { print; next }
            rows == 7 { print "…" }' "$work/run.txt"
        echo '```'
    } | put_between 'sample of a run' docs/guide.md
}

# Gates a crate that is unrelated to this program.
take_picture() {
    local crate="$work/crate" code=0
    cp -r "$here/tests/small-crate" "$crate"
    rm -rf "$crate/target"
    cd "$crate"
    printf '/target\n/benchmark_results\n' >.gitignore
    git init --quiet
    git add --all
    git -c user.name=demo -c user.email=demo@localhost commit --quiet --message "initial commit"
    sed -i 's|!bytes.iter().fold(|!bytes.iter().chain(\&bytes[..bytes.len() / 5]).fold(|' src/lib.rs
    until_quiet
    CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$here/target}/small-crate" \
        "$program" gate --against HEAD --color always >"$work/gate.txt" 2>/dev/null || code=$?
    {
        echo '$ git diff -U0 | tail -n 2'
        git -c color.ui=always diff -U0 | tail -n 2
        echo '$ rusty-stack-bench gate --against HEAD'
        cat "$work/gate.txt"
        # shellcheck disable=SC2016 # What a user types.
        printf '$ echo $?\n%s\n' "$code"
    } | "$here/scripts/terminal_to_svg.py" >"$work/gate.svg"
    cp "$work/gate.svg" "$here/docs/images/gate.svg"
    cd "$here"
}

[ "$part" = picture ] || take_samples
[ "$part" = samples ] || take_picture
echo "regenerated: $part of docs/guide.md and docs/images/gate.svg; check them" >&2
