#!/usr/bin/env bash
# Posts the text that a finished run of pr-gate left behind as the one comment of the gate on its pull request, or
# updates that comment. Called by .github/workflows/pr-comment.yml; needs gh, and in the environment GH_TOKEN, GH_REPO,
# RUN, HEAD_OWNER, HEAD_BRANCH and HEAD_SHA, which come from GitHub's own record of the run, never from its artifact.
set -euo pipefail

marker='<!-- rusty-stack-bench:gate -->'
limit=65000 # GitHub takes 65,536 characters.

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

if ! gh run download "$RUN" --name pr-gate --dir "$dir" || [ ! -s "$dir/comment.md" ]; then
    echo "pr-gate left no comment: there is nothing to post"
    exit 0
fi

# The pull request that is open for this branch and still at this commit: an older run must not overwrite a newer one.
number=$(gh api --method GET "repos/$GH_REPO/pulls" -f state=open -f head="$HEAD_OWNER:$HEAD_BRANCH" \
    --jq "map(select(.head.sha == \"$HEAD_SHA\")) | .[0].number // empty")
if [ -z "$number" ]; then
    echo "no open pull request is at $HEAD_SHA any more: there is nothing to post"
    exit 0
fi

if [ "$(head -n 1 "$dir/comment.md")" != "$marker" ]; then
    echo "the text does not begin with the marker of the gate: it is not posted" >&2
    exit 1
fi
# Whoever is named in the text of a pull request is not called: a zero-width space follows each @.
head -c "$limit" "$dir/comment.md" | iconv -c -f utf-8 -t utf-8 | sed 's/@/@\xe2\x80\x8b/g' >"$dir/body.md"

comment=$(gh api --paginate "repos/$GH_REPO/issues/$number/comments" \
    --jq ".[] | select(.user.login == \"github-actions[bot]\" and (.body | startswith(\"$marker\"))) | .id" | head -n 1)
if [ -n "$comment" ]; then
    gh api --method PATCH "repos/$GH_REPO/issues/comments/$comment" -F body=@"$dir/body.md" --silent
    echo "updated the comment on pull request $number"
else
    gh api --method POST "repos/$GH_REPO/issues/$number/comments" -F body=@"$dir/body.md" --silent
    echo "commented on pull request $number"
fi
