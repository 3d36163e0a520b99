#!/usr/bin/env bash
# Draws docs/images/tui.svg, the page History of the terminal interface, in tmux, and docs/images/dashboard.png, the page of
# a case in Chromium. Both show the slowdown in the store of scripts/example_store.py. Check the pictures before committing.
#
# Usage: scripts/pictures.sh
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/program.sh
. "$here/scripts/program.sh"
# shellcheck source=scripts/tmux.sh
. "$here/scripts/tmux.sh"
program=$(find_program yes) || exit $?

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; close_terminal; rm -rf "$work"' EXIT
cd "$work"
"$here/scripts/example_store.py" store
export RSB_RESULTS_DIR=$work/store

open_terminal 100 30 "$program" tui --palette truecolor
wait_for '5 History'
press 5
wait_for '+18.'
sleep 1
terminal capture-pane -p -e | "$here/scripts/terminal_to_svg.py" >tui.svg
cp tui.svg "$here/docs/images/tui.svg"

"$program" serve >address 2>/dev/null &
server=$!
until [ -s address ]; do
    sleep 0.1
done
chromium --headless --no-sandbox --hide-scrollbars --window-size=1000,1040 --user-data-dir="$work/profile" \
    --screenshot="$work/dashboard.png" "$(head -1 address)case?id=cpu_performance/gemm/cpu:0/f32/256x256x256" >/dev/null 2>&1
cp dashboard.png "$here/docs/images/dashboard.png"
echo "updated docs/images/tui.svg and docs/images/dashboard.png; check them" >&2
