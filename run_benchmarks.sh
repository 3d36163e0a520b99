#!/usr/bin/env bash
# Builds the program if needed, measures the quick suite on this machine, stores and compares the
# run, and writes a report.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: ./run_benchmarks.sh [--gate] [--base REV] [--no-build] [--help] [ARGUMENTS OF `run` …]

Build the program if needed, measure the quick suite on this machine, store the run in benchmark_results/,
compare it with the baseline saved for this machine, and write a report next to the run:
benchmark_report_<time>.html (one self-contained page) and the same as Markdown.

  --gate      exit 4 if any case has no verdict, or no baseline was saved for this machine
  --base REV  take baseline and policy from the merge base of REV and HEAD, as for a pull request
  --no-build  use the program as built, or the one that RUSTY_STACK_BENCH names
  --help      print this text

All other arguments go to `rusty-stack-bench run`, for example:
  ./run_benchmarks.sh --suite cpu-performance --profile standard
  ./run_benchmarks.sh gemm --axis dtype=f32

Exit codes: 0 measured · 1 a case failed · 2 usage · 3 regression · 4 no verdict (only with --gate) ·
5 nothing could run here.
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

# Directories given for the run also hold for the steps after it.
places=()
after=1
for ((i = 0; i < ${#arguments[@]}; i++)); do
    case "${arguments[i]}" in
        --dry-run) exec "$program" run "${arguments[@]}" ;;
        # `run --json` prints one document to standard output; the steps after it print to standard error.
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
# A run with a failed case (1) is compared and reported; without any result there is nothing to do.
if [ "$measured" -gt 1 ] || [ -z "$run" ]; then exit "$measured"; fi

verdict=0
# Undecided cases are measured again, for at most 90 s.
"$program" gate --current "$run" --budget 90s "${base[@]+"${base[@]}"}" "${places[@]+"${places[@]}"}" >&"$after" ||
    verdict=$?
# After the gate, so that the report includes its verdict and every replicate.
for form in markdown html; do
    "$program" report "$run" --format "$form" "${places[@]+"${places[@]}"}" >&"$after" || exit $?
done
[ "$measured" -eq 0 ] || [ "$verdict" -eq 3 ] || exit "$measured"
# Without --gate this is a measurement: a missing verdict does not fail it.
if [ "$verdict" -eq 4 ] && [ "$gate" = no ]; then exit 0; fi
exit "$verdict"
