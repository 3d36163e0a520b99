#!/usr/bin/env bash
# The second step of action.yml: gates the tree against the revision that action_base.sh prints.
# Writes the verdict to the job summary, and exits with the exit code of `gate`.
set -euo pipefail

against=$("$(dirname "${BASH_SOURCE[0]}")/action_base.sh") || { code=$?; echo "verdict=none" >>"$GITHUB_OUTPUT"; exit "$code"; }
if ! git rev-parse --verify --quiet "$against^{commit}" >/dev/null; then
    echo "::error::$against is not in this clone; set \`fetch-depth: 0\` for actions/checkout" >&2
    exit 2
fi
arguments=()
while IFS= read -r line; do
    if [ -n "$line" ]; then arguments+=("$line"); fi
done <<<"${ARGUMENTS:-}"

json="${RUNNER_TEMP:?}/rusty-stack-bench-comparison.json"
log="$RUNNER_TEMP/rusty-stack-bench.log"
if [ -n "${ACCEPT:-}" ]; then
    printf '%s\n' "$ACCEPT" >"$RUNNER_TEMP/rusty-stack-bench-accept.toml"
    arguments=(--accept "$RUNNER_TEMP/rusty-stack-bench-accept.toml" ${arguments[@]+"${arguments[@]}"})
fi
verdict=0
# The code under test writes to this log: neither it nor the gate gets access to the runner's command files.
env -u GITHUB_OUTPUT -u GITHUB_ENV -u GITHUB_PATH -u GITHUB_STATE -u GITHUB_STEP_SUMMARY -u BASH_ENV \
    "$PROGRAM" gate --against "$against" ${BUDGET:+--budget "$BUDGET"} ${THRESHOLD:+--threshold "$THRESHOLD"} \
    --output "json=$json" --output "markdown=$RUNNER_TEMP/rusty-stack-bench.md" \
    --output "github=$RUNNER_TEMP/rusty-stack-bench.annotations" \
    ${arguments[@]+"${arguments[@]}"} >"$log" 2>&1 || verdict=$?

# The runner ignores workflow commands between these two lines, because the code under test cannot
# guess the token.
token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$token"
cat "$log"
echo
echo "::$token::"
if [ -e "$RUNNER_TEMP/rusty-stack-bench.annotations" ]; then
    cat "$RUNNER_TEMP/rusty-stack-bench.annotations"
fi
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
