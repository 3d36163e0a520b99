#!/usr/bin/env bash
# The main job: build what is missing, measure the quick suite on whatever is here, store, report, gate.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: ./run_benchmarks.sh [--gate] [--no-build] [--help] [ARGUMENTS OF `run` …]

Builds the program when needed, measures the quick suite on this machine, stores the result in
benchmark_results/, writes benchmark_results/benchmark_report_<time>.md, and judges the run against
the baseline saved for this machine.

  --gate      exit 4 when there is no verdict, also when no baseline was saved for this machine
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
arguments=()
while [ $# -gt 0 ]; do
    case "$1" in
        --help | -h) usage; exit 0 ;;
        --gate) gate=yes ;;
        --no-build) build=no ;;
        *) arguments+=("$1") ;;
    esac
    shift
done

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here"
# shellcheck source=scripts/program.sh
. scripts/program.sh
program=$(find_program "$build") || exit $?

# The folders that were asked for also concern the steps after the run.
places=()
for ((i = 0; i < ${#arguments[@]}; i++)); do
    case "${arguments[i]}" in
        --results-dir | --baselines-dir | --policy | --config) places+=("${arguments[i]}" "${arguments[i + 1]:-}") ;;
        --results-dir=* | --baselines-dir=* | --policy=* | --config=*) places+=("${arguments[i]}") ;;
    esac
done

"$program" run "${arguments[@]+"${arguments[@]}"}" || exit $?
"$program" report "${places[@]+"${places[@]}"}" || exit $?

if [ "$gate" = no ]; then
    places+=(--baseline-optional)
fi
"$program" gate "${places[@]+"${places[@]}"}"
