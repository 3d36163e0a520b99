#!/usr/bin/env bash
# Posts the text that a finished run of pr-gate left behind as the one comment of the gate on its pull request, or
# updates that comment. Called by .github/workflows/pr-comment.yml; needs gh, jq and check-jsonschema, and in the environment
# GH_TOKEN, GH_REPO, RUN, CONCLUSION, HEAD_OWNER, HEAD_BRANCH and HEAD_SHA, which come from GitHub's own record of the run,
# never from its artifact. The artifact was written by the code of the pull request: its JSON is checked against the schema
# of this checkout, the line with the verdict is made here from that, and the text below says whose it is.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
marker='<!-- rusty-stack-bench:gate -->'
limit=64000 # GitHub takes 65,536 characters.

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
if [ ! -s "$dir/comparison.json" ]; then
    echo "the artifact has no comparison.json: without a verdict to check nothing is posted" >&2
    exit 1
fi
fits=yes
env -u GH_TOKEN check-jsonschema --schemafile "$here/schemas/comparison-result.schema.json" "$dir/comparison.json" >&2 || fits=no

# Words from a list of ours and numbers: nothing of the document's own text.
[ "$fits" = no ] || verdict=$(jq -r '
    (.comparisons | length) as $all
    | ([.comparisons[] | select(.verdict == "Regressed")] | length) as $worse
    | ([.comparisons[] | select(.verdict == "Inconclusive" or .verdict == "NotComparable")] | length) as $none
    | if .verdict == "Regressed" or $worse > 0 then "**REGRESSED**: \($worse) of \($all) comparisons"
      elif .verdict == "Unchanged" or .verdict == "Improved" then "**PASS**: none of \($all) comparisons regressed"
      else "**NO VERDICT**: \($none) of \($all) comparisons are undecided" end' "$dir/comparison.json")
# A pull request may change the schema too: its verdict cannot be checked before that is merged.
[ "$fits" = yes ] || verdict="**NO VERDICT**: the comparison does not fit the schema of the default branch"
case "$CONCLUSION" in
    success | failure) ;;
    *) CONCLUSION="without a conclusion" ;;
esac
# A pass that the run of the workflow does not confirm is none.
if [[ $verdict == "**PASS**"* ]] && [ "$CONCLUSION" != success ]; then
    verdict="**NO VERDICT**: the comparison passed, and the workflow did not"
fi
{
    printf '%s\n%s (the workflow ended with: %s)\n\n' "$marker" "$verdict" "$CONCLUSION"
    printf '> What follows was written by the code of this pull request, at %s, in a run without any rights. ' "${HEAD_SHA:0:12}"
    printf 'Nobody has checked it; the line above is made from its figures.\n\n'
    # Whoever is named in the text of a pull request is not called: a zero-width space follows each @.
    # Through a file, since `tail` would die of a pipe that `head` has left; `iconv` minds a letter that is cut in two.
    tail -n +2 "$dir/comment.md" >"$dir/rest.md"
    head -c "$limit" "$dir/rest.md" | { iconv -c -f utf-8 -t utf-8 || true; } | sed 's/@/@\xe2\x80\x8b/g'
} >"$dir/body.md"

comment=$(gh api --paginate "repos/$GH_REPO/issues/$number/comments" \
    --jq ".[] | select(.user.login == \"github-actions[bot]\" and (.body | startswith(\"$marker\"))) | .id" | head -n 1)
if [ -n "$comment" ]; then
    gh api --method PATCH "repos/$GH_REPO/issues/comments/$comment" -F body=@"$dir/body.md" --silent
    echo "updated the comment on pull request $number"
else
    gh api --method POST "repos/$GH_REPO/issues/$number/comments" -F body=@"$dir/body.md" --silent
    echo "commented on pull request $number"
fi
