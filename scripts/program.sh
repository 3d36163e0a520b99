# shellcheck shell=bash
# Sourced by the top-level scripts: finds the program, and builds it on request.

# find_program yes|no: prints the path of the program; with `yes`, builds it first.
find_program() {
    if [ -n "${RUSTY_STACK_BENCH:-}" ]; then
        printf '%s\n' "$RUSTY_STACK_BENCH"
        return 0
    fi
    local top program
    top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
    program="${CARGO_TARGET_DIR:-$top/target}/release/rusty-stack-bench"
    if [ "$1" = yes ]; then
        if ! command -v cargo >/dev/null 2>&1; then
            echo "error: cargo is not installed; install Rust from https://rustup.rs, or with your distribution's package rustup" >&2
            echo "       (or set RUSTY_STACK_BENCH to a program that is already built)" >&2
            return 1
        fi
        cargo build --release --locked --manifest-path "$top/Cargo.toml" --bin rusty-stack-bench >&2 || return 1
    fi
    if [ ! -x "$program" ]; then
        echo "error: $program does not exist; build it with cargo build --release" >&2
        return 1
    fi
    printf '%s\n' "$program"
}
