#!/usr/bin/env bash
# Measures whether the terminal interface slows down what it measures: runs one suite with `tui` in
# tmux and with plain `run`, in turns, and gates `tui` against `run`, and `run` against `run` (A/A)
# to show the machine's own variance. Builds first, then waits until the load average is below 0.5,
# which it prints; --any-load does not wait.
#
# Then measures the share of a core that it uses when it is idle.
#
# Usage: scripts/tui_cost.sh [--any-load] [ROUNDS]    5 by default, two minutes each; 0 measures only the idle share
set -euo pipefail

wait_for_quiet=yes
if [ "${1:-}" = --any-load ]; then
    wait_for_quiet=no
    shift
fi
rounds=${1:-5}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/program.sh
. "$here/scripts/program.sh"
# shellcheck source=scripts/tmux.sh
. "$here/scripts/tmux.sh"
program=$(find_program yes) || exit $?

work=$(mktemp -d)
trap 'close_terminal; rm -rf "$work"' EXIT
cd "$work"
cat >rusty-stack-bench.toml <<'TOML'
[run]
backend = "cpu"
replicates = 3
[[custom]]
benchmark = "gemm"
axes = { dtype = ["f32"], shape = ["256x256x256", "512x512x512"], provider = ["gemm"], transpose = ["nn"], batch_size = ["1"], alpha = ["1"], beta = ["0"], threads = ["1"] }
[[custom]]
benchmark = "tensor-ops"
axes = { dtype = ["f32"], shape = ["1024x1024"], operation = ["add", "gelu", "sum", "softmax"], threads = ["1"] }
[[custom]]
benchmark = "memory-bandwidth"
axes = { dtype = ["f32"], operation = ["copy", "triad"], size = ["32KiB", "2MiB", "64MiB"], cache = ["hot"], stores = ["temporal"], threads = ["1"] }
TOML

# Each run has its own results directory.
by_run() { # NAME
    RSB_RESULTS_DIR="$work/$1" "$program" run --suite custom >/dev/null 2>"$work/$1.log"
}
by_tui() { # NAME
    open_terminal 100 30 env RSB_RESULTS_DIR="$work/$1" "$program" tui
    wait_for '✓ suite quick'
    press / custom Enter Enter
    wait_for 'cases to measure'
    press Enter
    wait_for 'is complete' 1800 5 # Checking more often would add load beside the measurement.
    press q
    close_terminal
}
sides() { # FLAG, NAME OF A SIDE
    local round
    for ((round = 1; round <= rounds; round++)); do
        printf '%s\n%s\n' "$1" "$(ls "$work/$2-$round"/runs/*.json)"
    done
}
judged() { # NAME OF A SIDE
    local words=()
    mapfile -t words < <(sides --baseline before; sides --current "$1")
    echo "\$ rusty-stack-bench gate: \`run\` ($rounds runs) against \`$2\` ($rounds runs)"
    "$program" gate "${words[@]}" --color never 2>/dev/null || echo "exit code $?"
}

ticks() { # PID
    awk '{ print $14 + $15 }' "/proc/$1/stat"
}
idle() {
    local pid before seconds=30
    open_terminal 100 30 "$program" tui
    wait_for '✓ suite quick'
    pid=$(terminal list-panes -F '#{pane_pid}')
    sleep 2
    before=$(ticks "$pid")
    sleep "$seconds"
    awk -v ticks="$(($(ticks "$pid") - before))" -v rate="$(getconf CLK_TCK)" -v seconds="$seconds" \
        'BEGIN { printf "idle for %d s: %.2f %% of a core\n", seconds, 100 * ticks / rate / seconds }'
    press q
    close_terminal
}

until [ "$wait_for_quiet" = no ] || awk '{ exit !($1 < 0.5) }' /proc/loadavg; do
    echo "the load average is $(cut -d' ' -f1-3 /proc/loadavg): waiting until it is below 0.5" >&2
    sleep 20
done
load=$(cat /proc/loadavg)
for ((round = 1; round <= rounds; round++)); do
    # The side that begins a round has a cooler machine, so the order rotates.
    case $((round % 3)) in
        0) by_run "before-$round" && by_tui "tui-$round" && by_run "again-$round" ;;
        1) by_tui "tui-$round" && by_run "again-$round" && by_run "before-$round" ;;
        2) by_run "again-$round" && by_run "before-$round" && by_tui "tui-$round" ;;
    esac
    echo "measured round $round of $rounds" >&2
done
echo "$(date -u +%F), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) threads, load average at the start $load"
if [ "$rounds" -gt 0 ]; then
    judged tui tui
    judged again run
fi
idle
