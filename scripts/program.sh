# shellcheck shell=bash
# Sourced by the scripts at the top level: finds the program, and builds it when asked.

# find_program yes|no: prints the path of the program; builds it first with `yes`.
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
            echo "error: there is no Rust toolchain: install it from https://rustup.rs, or with your distribution's package rustup" >&2
            echo "       (a program that is already built can be named in RUSTY_STACK_BENCH)" >&2
            return 1
        fi
        cargo build --release --locked --manifest-path "$top/Cargo.toml" --bin rusty-stack-bench >&2 || return 1
    fi
    if [ ! -x "$program" ]; then
        echo "error: $program is not there: build it with cargo build --release" >&2
        return 1
    fi
    printf '%s\n' "$program"
}
