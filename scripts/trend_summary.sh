#!/usr/bin/env bash
# Prints the newest run and the trends over the stored runs as Markdown, for the summary of a CI job.
#
# Usage: scripts/trend_summary.sh >>"$GITHUB_STEP_SUMMARY"    RSB_RESULTS_DIR: benchmark_results by default
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/program.sh
. "$here/program.sh"
program=$(find_program no) || exit $?
table=$(mktemp)
trap 'rm -f "$table"' EXIT
printf '## Benchmarks\n\n```\n'
"$program" trend --summary
printf '```\n\n<details><summary>Every case</summary>\n\n'
"$program" trend export "$table" --format markdown >&2
# A summary is limited to 1 MiB.
head --bytes 900000 "$table"
printf '\n</details>\n'
