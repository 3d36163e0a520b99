#!/usr/bin/env bash
# Maintains the gate's single comment on a pull request: "measuring" when a run of pr-gate starts,
# and its verdict, or that there is none, when the run has ended. Called by
# .github/workflows/pr-comment.yml. Needs gh, jq and, for a run that has ended, check-jsonschema,
# and the variables GH_TOKEN, GH_REPO, ACTION, RUN, CONCLUSION, HEAD_OWNER, HEAD_BRANCH and
# HEAD_SHA, which come from GitHub's own record of the run, never from its artifact. The artifact
# was written by the code of the pull request: its JSON is checked against the schema of this
# checkout, the line with the verdict is computed from that, and the text below is marked as the
# pull request's.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
marker='<!-- rusty-stack-bench:gate -->'
limit=64000 # GitHub allows 65,536 characters.
commit=${HEAD_SHA:0:12}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# The open pull request of this branch, if it is still at this commit: an older run must not
# overwrite a newer one.
number=$(gh api --method GET "repos/$GH_REPO/pulls" -f state=open -f head="$HEAD_OWNER:$HEAD_BRANCH" \
    --jq "map(select(.head.sha == \"$HEAD_SHA\")) | .[0].number // empty")
if [ -z "$number" ]; then
    echo "no open pull request is at $HEAD_SHA anymore; nothing to post"
    exit 0
fi

# The comment, and the run that last wrote it: two runs of one commit may end in any order.
found=$(gh api --paginate "repos/$GH_REPO/issues/$number/comments" \
    --jq ".[] | select(.user.login == \"github-actions[bot]\" and (.body | startswith(\"$marker\")))
        | \"\(.id) \((.body | capture(\"^[^\\n]*\\n<!-- run (?<run>[0-9]+) -->\").run) // 0)\"" | head -n 1)
read -r comment last <<<"$found"
if [ "${last:-0}" -gt "$RUN" ]; then
    echo "the newer run $last has already written the comment"
    exit 0
fi

# Prints the first line of the verdict, and writes the text of the artifact to rest.md if it may be posted.
judge() {
    case "$CONCLUSION" in
    success | failure) ;;
    cancelled | timed_out | skipped | neutral | stale | action_required | startup_failure)
        echo "**NO VERDICT** for $commit: the workflow ended with $CONCLUSION"
        return
        ;;
    *)
        echo "**NO VERDICT** for $commit: the workflow ended without a conclusion"
        return
        ;;
    esac
    if ! gh run download "$RUN" --name pr-gate --dir "$dir" >&2 || [ ! -s "$dir/comment.md" ]; then
        echo "**NO VERDICT** for $commit: the workflow ended with $CONCLUSION and left no comment"
        return
    fi
    if [ "$(head -n 1 "$dir/comment.md")" != "$marker" ]; then
        echo "**NO VERDICT** for $commit: the text that the workflow left was not written by the gate"
        return
    fi
    tail -n +2 "$dir/comment.md" >"$dir/rest.md"
    if [ ! -s "$dir/comparison.json" ]; then
        echo "**NO VERDICT** for $commit: the workflow left no comparison"
        return
    fi
    # A pull request may change the schema as well; its verdict cannot be checked before that is merged.
    if ! env -u GH_TOKEN check-jsonschema --schemafile "$here/schemas/comparison-result.schema.json" "$dir/comparison.json" >&2; then
        echo "**NO VERDICT** for $commit: the comparison does not match the schema of the default branch"
        return
    fi
    # Prints only fixed words and numbers, no text of the document. A pass counts only if the
    # workflow run succeeded.
    jq -r --arg commit "$commit" --arg conclusion "$CONCLUSION" '
        (.comparisons | length) as $all
        | ([.comparisons[] | select(.verdict == "Regressed")] | length) as $worse
        | ([.comparisons[] | select(.verdict == "Inconclusive" or .verdict == "NotComparable")] | length) as $none
        | (if .verdict == "Regressed" or $worse > 0 then "**REGRESSED** at \($commit): \($worse) of \($all) comparisons"
           elif $all == 0 then "**NO VERDICT** for \($commit): nothing was compared"
           elif $none == $all or (.verdict != "Unchanged" and .verdict != "Improved")
           then "**NO VERDICT** for \($commit): \($none) of \($all) comparisons are undecided"
           elif $conclusion != "success" then "**NO VERDICT** for \($commit): the comparison passed, but the workflow did not"
           else "**PASS** at \($commit): none of \($all) comparisons regressed" end)
        + " (the workflow ended with: \($conclusion))"' "$dir/comparison.json"
}

verdict="**MEASURING** $commit: no verdict yet"
if [ "$ACTION" = completed ]; then
    verdict=$(judge) || verdict="**NO VERDICT** for $commit: the comparison cannot be read"
fi
{
    printf '%s\n<!-- run %s -->\n%s\n' "$marker" "$RUN" "$verdict"
    if [ -s "$dir/rest.md" ]; then
        printf '\n> The following was written by the code of this pull request, at %s, in a run without any permissions. ' "$commit"
        printf 'It was not reviewed; the line above is computed from its values.\n\n'
        # A zero-width space after each @ prevents notifications of users who are mentioned in the
        # text.
        # Read from a file, since `tail` would fail if `head` closes its pipe; `iconv` drops a character that is cut in two.
        head -c "$limit" "$dir/rest.md" | { iconv -c -f utf-8 -t utf-8 || true; } | sed 's/@/@\xe2\x80\x8b/g'
    fi
} >"$dir/body.md"

if [ -n "$comment" ]; then
    gh api --method PATCH "repos/$GH_REPO/issues/comments/$comment" -F body=@"$dir/body.md" --silent
    echo "updated the comment on pull request $number"
else
    gh api --method POST "repos/$GH_REPO/issues/$number/comments" -F body=@"$dir/body.md" --silent
    echo "commented on pull request $number"
fi
