#!/usr/bin/env bash
# Prints the trend of every metric over the stored runs: slope, last change, sparkline.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: ./analyze_performance_trends.sh [DIRECTORY] [ARGUMENTS OF `trend` …]

Prints the trend of every metric over the runs stored in DIRECTORY (benchmark_results by default).

  ./analyze_performance_trends.sh
  ./analyze_performance_trends.sh /srv/results --case gemm
TEXT
}

results=()
case "${1:-}" in
    --help | -h) usage; exit 0 ;;
    "" | -*) ;;
    *) results=(--results-dir "$1"); shift ;;
esac

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/program.sh
. "$here/scripts/program.sh"
program=$(find_program yes) || exit $?
"$program" trend --metric all "${results[@]+"${results[@]}"}" "$@"
