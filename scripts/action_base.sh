#!/usr/bin/env bash
# Prints the revision that action.yml compares with. The first that is set: AGAINST; BASE, the base
# of a pull request; BEFORE, the commit of the branch before a push; else the commit before this
# one. For a new branch BEFORE is 40 zeros, and after a force push it may not be in the history:
# then the merge base with DEFAULT_BRANCH is printed. Exits with 4 if there is nothing to compare
# with.
set -euo pipefail

before=${BEFORE:-}
if [ -n "${AGAINST:-${BASE:-}}" ]; then
    echo "${AGAINST:-$BASE}"
elif [ -z "$before" ]; then
    echo HEAD~1
elif git merge-base --is-ancestor "$before" HEAD 2>/dev/null; then
    echo "$before"
elif [ "$(git rev-parse --is-shallow-repository)" = true ]; then
    echo "::error::this clone is shallow and does not contain $before; set \`fetch-depth: 0\` for actions/checkout" >&2
    exit 2
else
    case $before in
    *[!0]*) why="$before, the commit before this push, is not in its history (a force push)" ;;
    *) why="the branch is new" ;;
    esac
    branch="origin/${DEFAULT_BRANCH:-HEAD}"
    base=$(git merge-base "$branch" HEAD 2>/dev/null || true)
    if [ -z "$base" ]; then
        echo "::error::no verdict: $why, and there is no common ancestor with $branch; set the input \`against\`" >&2
        exit 4
    elif [ "$base" = "$(git rev-parse HEAD)" ]; then
        echo "::error::no verdict: $why, and $branch already contains this commit; set the input \`against\`" >&2
        exit 4
    fi
    echo "$base"
fi
