#!/usr/bin/env bash
# Follows the guide in another project: a scratch repository of tests/small-crate, with Criterion. A
# comment must be decided without measuring, unchanged code that is measured anyway must pass, a
# function slowed in its source must be the only one named, by time and by instructions, and
# `bisect` must find its commit among eight. Exits with 1 if one of these fails.
#
# Usage: scripts/try_other_project.sh [--short]    --short: the comment and the slowed function, on three cases
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
short=${1:-}
# shellcheck source=scripts/program.sh
. "$here/scripts/program.sh"
program=$(find_program yes) || exit $?

work=$(mktemp -d)
said=$(mktemp)
trap 'rm -rf "$work" "$said"' EXIT
cp -r "$here/tests/small-crate/." "$work"
cd "$work"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$here/target}/other-project"
commit() { # SUBJECT
    git add --all
    git -c user.name=try -c user.email=try@localhost commit --quiet --message "$1"
}
git init --quiet
echo /target >.gitignore
commit "initial commit"

wrong=0
expect() { # NAME, EXIT CODE, PATTERN OF THE OUTPUT, then arguments of the program
    local ended=0
    "$program" "${@:4}" >"$said" 2>&1 || ended=$?
    echo "$1: exit $ended, expected $2"
    if [ "$ended" -ne "$2" ] || ! grep -Eq "$3" "$said"; then
        wrong=1
        cat "$said"
    else
        grep -E "^(UNCHANGED|PASS|REGRESSED|FOUND)| Regressed \[|first bad" "$said" || true
    fi
}
# Processes a fifth of the bytes twice, in a function that one case calls.
slow() { sed -i 's/!bytes.iter().fold(!0_u32/!bytes.iter().chain(\&bytes[..bytes.len() \/ 5]).fold(!0_u32/' src/lib.rs; }
some=()
if [ "$short" = --short ]; then
    some=(--benchmark small/crc --benchmark small/fnv --benchmark small/fib)
fi

sed -i '1i // A comment moves every line.\n//' src/lib.rs
expect "a comment" 0 'same machine code' gate --against HEAD
if [ "$short" != --short ]; then
    expect "the same, measured" 0 '^PASS' gate --against HEAD --measure-equal
fi
slow
expect "a slower function" 3 'the worst is small/crc' gate --against HEAD "${some[@]}"
if command -v valgrind >/dev/null 2>&1; then
    expect "the same, by instructions" 3 'the worst is small/crc' gate --against HEAD --decide-by instructions "${some[@]}"
fi
if [ "$short" != --short ]; then
    git checkout --quiet -- src
    for change in 1 2 3 4 5 6 7 8; do
        echo "pub const CHANGE: u64 = $change;" >src/change.rs
        [ "$change" -eq 1 ] && echo 'pub mod change;' >>src/lib.rs
        [ "$change" -eq 6 ] && slow
        commit "change $change"
    done
    expect "its commit among eight" 0 'change 6' bisect HEAD~8 HEAD --case small/crc
fi
exit "$wrong"
