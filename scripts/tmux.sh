# shellcheck shell=bash
# Sourced by scripts that show the program in a terminal: starts a separate terminal, sends keys to it and captures its screen.

if ! command -v tmux >/dev/null 2>&1; then
    echo "error: tmux is not installed; install the package tmux" >&2
    exit 1
fi
terminal_dir=$(mktemp -d)
terminal() {
    tmux -S "$terminal_dir/socket" -f /dev/null "$@"
}

# open_terminal COLUMNS ROWS COMMAND…
open_terminal() {
    local columns=$1 rows=$2
    shift 2
    COLORTERM=truecolor terminal start-server \; set-option -g remain-on-exit on \; set-option -g default-terminal tmux-256color \; \
        new-session -d -x "$columns" -y "$rows" -- "$@"
}

close_terminal() {
    terminal kill-server 2>/dev/null || true
    rm -rf "$terminal_dir"
    terminal_dir=$(mktemp -d)
}

press() { # KEY…
    terminal send-keys "$@"
}

# wait_for TEXT [SECONDS [PAUSE]]: waits until TEXT is on the screen, 60 seconds at most, checking
# every 0.1 seconds.
wait_for() {
    local last=$((SECONDS + ${2:-60}))
    until terminal capture-pane -p | grep -qF -- "$1"; do
        if [ "$SECONDS" -gt "$last" ]; then
            echo "error: \`$1\` did not appear on the screen:" >&2
            terminal capture-pane -p >&2
            return 1
        fi
        sleep "${3:-0.1}"
    done
}
