#!/usr/bin/env bash
# The second step of action.yml: gates the tree against the revision that action_base.sh finds. Shows the verdict on the page
# of the job, and ends with the exit code of `gate`.
set -euo pipefail

against=$("$(dirname "${BASH_SOURCE[0]}")/action_base.sh") || { code=$?; echo "verdict=none" >>"$GITHUB_OUTPUT"; exit "$code"; }
if ! git rev-parse --verify --quiet "$against^{commit}" >/dev/null; then
    echo "::error::$against is not in this clone: give actions/checkout \`fetch-depth: 0\`" >&2
    exit 2
fi
arguments=()
while IFS= read -r line; do
    if [ -n "$line" ]; then arguments+=("$line"); fi
done <<<"${ARGUMENTS:-}"

json="${RUNNER_TEMP:?}/rusty-stack-bench-comparison.json"
verdict=0
"$PROGRAM" gate --against "$against" --budget "${BUDGET:-5m}" ${THRESHOLD:+--threshold "$THRESHOLD"} \
    --output "json=$json" --output "markdown=$RUNNER_TEMP/rusty-stack-bench.md" \
    ${arguments[@]+"${arguments[@]}"} || verdict=$?

if [ -e "$RUNNER_TEMP/rusty-stack-bench.md" ]; then
    cat "$RUNNER_TEMP/rusty-stack-bench.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
fi
case $verdict in
0) word=unchanged ;;
3) word=regressed ;;
*) word=none ;;
esac
{
    echo "verdict=$word"
    echo "json=$json"
} >>"$GITHUB_OUTPUT"
exit "$verdict"
