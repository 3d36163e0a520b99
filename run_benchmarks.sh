#!/usr/bin/env bash
# The main job: build what is missing, measure the quick suite on whatever is here, store, report, gate.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: ./run_benchmarks.sh [--gate] [--base REV] [--no-build] [--help] [ARGUMENTS OF `run` …]

Builds the program when needed, measures the quick suite on this machine, stores the result in
benchmark_results/, judges the run against the baseline saved for this machine, and writes a report beside
the results: benchmark_report_<time>.html, one page that holds everything, and the same as Markdown.

  --gate      exit 4 when there is no verdict, also when no baseline was saved for this machine
  --base REV  take baseline and policy as they are at the merge base of REV and HEAD, as for a pull request
  --no-build  use the program as it is, or the one named in RUSTY_STACK_BENCH
  --help      this text

Further arguments go to `rusty-stack-bench run`, for example:
  ./run_benchmarks.sh --suite cpu-performance --profile standard
  ./run_benchmarks.sh gemm --axis dtype=f32

Exit codes: 0 pass, 1 failure, 2 usage, 3 regression, 4 no verdict, 5 nothing could run here.
Without --gate and without a baseline for this machine it prints NO VERDICT and exits 0.
TEXT
}

gate=no
build=yes
base=()
arguments=()
while [ $# -gt 0 ]; do
    case "$1" in
        --help | -h) usage; exit 0 ;;
        --gate) gate=yes ;;
        --no-build) build=no ;;
        --base)
            [ $# -gt 1 ] || { echo "error: --base needs a revision, such as origin/main" >&2; exit 2; }
            base=(--base "$2")
            shift
            ;;
        --base=*) base=("$1") ;;
        *) arguments+=("$1") ;;
    esac
    shift
done

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/program.sh
. "$here/scripts/program.sh"
program=$(find_program "$build") || exit $?

# The directories that were asked for also concern the steps after the run.
places=()
after=1
for ((i = 0; i < ${#arguments[@]}; i++)); do
    case "${arguments[i]}" in
        --dry-run) exec "$program" run "${arguments[@]}" ;;
        # One document on standard output: what comes after the run goes to standard error.
        --json) after=2 ;;
        --results-dir | --baselines-dir | --policy | --config) places+=("${arguments[i]}" "${arguments[i + 1]:-}") ;;
        --results-dir=* | --baselines-dir=* | --policy=* | --config=*) places+=("${arguments[i]}") ;;
    esac
done

measured=0
id_file=$(mktemp)
trap 'rm -f "$id_file"' EXIT
"$program" run --id-file "$id_file" "${arguments[@]+"${arguments[@]}"}" || measured=$?
run=$(cat "$id_file")
# Without figures there is nothing to report; a failed case among others (1) is reported with them.
if [ "$measured" -gt 1 ] || [ -z "$run" ]; then exit "$measured"; fi

# What looks slower or stays undecided is remeasured, for so long at most.
judging=(--budget 90s "${base[@]+"${base[@]}"}")
if [ "$gate" = no ]; then
    judging+=(--baseline-optional)
fi
verdict=0
"$program" gate --current "$run" "${judging[@]}" "${places[@]+"${places[@]}"}" >&"$after" || verdict=$?
# After the gate, so that the report has its verdict and every replicate.
for form in markdown html; do
    "$program" report "$run" --format "$form" "${places[@]+"${places[@]}"}" >&"$after" || exit $?
done
[ "$measured" -eq 0 ] || [ "$verdict" -eq 3 ] || exit "$measured"
exit "$verdict"
