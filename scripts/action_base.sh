#!/usr/bin/env bash
# Prints the revision that action.yml compares with: AGAINST, else BASE, the base of a pull request, else BEFORE, the commit that
# the branch was at before a push. Of a new branch that is 40 zeros, and a force push may have replaced it: then it is the merge
# base with DEFAULT_BRANCH. Events without any of these get the commit before this one. Exits 4 if there is nothing to
# compare with.
set -euo pipefail

before=${BEFORE:-}
if [ -n "${AGAINST:-${BASE:-}}" ]; then
    echo "${AGAINST:-$BASE}"
elif [ -z "$before" ]; then
    echo HEAD~1
elif git merge-base --is-ancestor "$before" HEAD 2>/dev/null; then
    echo "$before"
elif [ "$(git rev-parse --is-shallow-repository)" = true ]; then
    echo "::error::this clone is shallow, and $before is not in it: give actions/checkout \`fetch-depth: 0\`" >&2
    exit 2
else
    case $before in
    *[!0]*) why="$before, the commit before this push, is not in the history of this one (a force push)" ;;
    *) why="the branch is new" ;;
    esac
    branch="origin/${DEFAULT_BRANCH:-HEAD}"
    base=$(git merge-base "$branch" HEAD 2>/dev/null || true)
    if [ -z "$base" ]; then
        echo "::error::no verdict: $why, and git knows no common ancestor with $branch; give the input \`against\`" >&2
        exit 4
    elif [ "$base" = "$(git rev-parse HEAD)" ]; then
        echo "::error::no verdict: $why, and has no commit that $branch lacks; give the input \`against\`" >&2
        exit 4
    fi
    echo "$base"
fi
