#!/usr/bin/env bash
# Whether the terminal interface slows what it measures: one suite by `tui` in tmux and by plain `run`, in turns, and the gate over
# both: `tui` against `run`, and beside it `run` against `run` (A/A), which says what the machine alone does. Builds first, then
# waits until the load average is below 0.5, which it shows; with --any-load it does not wait.
#
# Then how much of a core it takes while nothing is measured and nobody presses a key.
#
# Usage: scripts/tui_cost.sh [--any-load] [ROUNDS]    5 by default; each takes about two minutes; with 0 the last figure alone
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

# Each into a directory of its own.
by_run() { # NAME
    RSB_RESULTS_DIR="$work/$1" "$program" run --suite custom >/dev/null 2>"$work/$1.log"
}
by_tui() { # NAME
    open_terminal 100 30 env RSB_RESULTS_DIR="$work/$1" "$program" tui
    wait_for '✓ suite quick'
    press / custom Enter Enter
    wait_for 'cases to measure'
    press Enter
    wait_for 'is complete' 1800 5 # Who looks more often is work beside what is measured.
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
    # Whoever begins a round begins it on a cooler machine: that goes around.
    case $((round % 3)) in
        0) by_run "before-$round" && by_tui "tui-$round" && by_run "again-$round" ;;
        1) by_tui "tui-$round" && by_run "again-$round" && by_run "before-$round" ;;
        2) by_run "again-$round" && by_run "before-$round" && by_tui "tui-$round" ;;
    esac
    echo "round $round of $rounds is measured" >&2
done
echo "$(date -u +%F), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) threads, load average at the begin $load"
if [ "$rounds" -gt 0 ]; then
    judged tui tui
    judged again run
fi
idle
