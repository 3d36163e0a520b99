#!/usr/bin/env bash
# Updates the pictures of docs/guide.md: docs/images/tui.svg, a run in the terminal interface, in
# tmux, and docs/images/dashboard.png, a comparison in Chromium. Needs the Python package rich.
# Builds first, then waits until the load average is below 0.5, because the values of the run are
# real; --any-load does not wait. Check the pictures before committing.
#
# Usage: scripts/pictures.sh [--any-load]
set -euo pipefail

wait_for_quiet=yes
[ "${1:-}" != --any-load ] || wait_for_quiet=no
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/program.sh
. "$here/scripts/program.sh"
# shellcheck source=scripts/tmux.sh
. "$here/scripts/tmux.sh"
program=$(find_program yes) || exit $?
until [ "$wait_for_quiet" = no ] || awk '{ exit !($1 < 0.5) }' /proc/loadavg; do
    echo "the load average is $(cut -d' ' -f1-3 /proc/loadavg): waiting until it is below 0.5" >&2
    sleep 20
done

work=$(mktemp -d)
trap 'close_terminal; rm -rf "$work"' EXIT
cd "$work"
cat >rusty-stack-bench.toml <<'TOML'
[run]
backend = "cpu"
replicates = 3
profile = "quick"
[[custom]]
benchmark = "memory-bandwidth"
axes = { operation = ["copy", "read", "triad"], size = ["32KiB", "256KiB", "2MiB", "16MiB", "128MiB"], cache = ["hot"], stores = ["temporal"], threads = ["1"] }
[[custom]]
benchmark = "gemm"
axes = { dtype = ["f32"], shape = ["256x256x256", "512x512x512"] }
TOML

open_terminal 100 32 "$program" tui --palette truecolor
wait_for '✓ suite quick'
press / custom Enter Enter
wait_for 'cases to measure'
press Enter
# Near the end of the run, when most of the chart is visible.
wait_for 'now '
steps=$(terminal capture-pane -p | sed -n 's/.*step [0-9]* of \([0-9]*\),.*/\1/p')
wait_for "step $((steps * 9 / 10)) of" 120
press Right
wait_for 'throughput by size'
sleep 1
terminal capture-pane -p -e | "$here/scripts/terminal_to_svg.py" >tui.svg
cp tui.svg "$here/docs/images/tui.svg"
echo "updated docs/images/tui.svg; check it" >&2

# The dashboard: a comparison of the two runs of docs/gallery, measured one minute apart on a shared machine.
dashboard="$work/dashboard"
mkdir -p "$dashboard/runs"
ids=()
for run in cpu-before cpu; do
    ids+=("$(jq -r .run_id "$here/docs/gallery/$run.json")")
    cp "$here/docs/gallery/$run.json" "$dashboard/runs/${ids[-1]}.json"
done
RSB_RESULTS_DIR="$dashboard" "$program" serve >address 2>/dev/null &
server=$!
trap 'kill "$server" 2>/dev/null || true; close_terminal; rm -rf "$work"' EXIT
until [ -s address ]; do
    sleep 0.1
done
chromium --headless --no-sandbox --hide-scrollbars --window-size=1200,760 --user-data-dir="$work/profile" \
    --screenshot="$work/dashboard.png" "$(head -1 address)compare?from=${ids[0]}&to=${ids[1]}" >/dev/null 2>&1
cp dashboard.png "$here/docs/images/dashboard.png"
echo "updated docs/images/dashboard.png; check it" >&2
