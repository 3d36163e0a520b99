#!/usr/bin/env bash
# The first step of action.yml: the program that gates, given or built. Its path goes to the step's outputs.
#
# BINARY: the program, or nothing to build it from SOURCE. SHA256: what BINARY must be.
set -euo pipefail

if [ -n "${BINARY:-}" ]; then
    if [ -z "${SHA256:-}" ]; then
        echo "::error::input binary-sha256 is missing: a program is run only when its checksum is known" >&2
        exit 2
    fi
    if ! echo "$SHA256  $BINARY" | sha256sum --check --quiet -; then
        echo "::error::$BINARY is not the program whose SHA-256 is $SHA256" >&2
        exit 2
    fi
    program=$(realpath "$BINARY")
else
    # Outside the user's own target directory, which may be cached for something else.
    target="${RUNNER_TEMP:-$(mktemp -d)}/rusty-stack-bench"
    # A runner's own toolchain may be older than this program needs.
    needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$SOURCE/Cargo.toml" | head -n 1)
    installed=$({ cd "$SOURCE" && rustc --version; } 2>/dev/null | cut -d' ' -f2) || installed=0
    if [ "$(printf '%s\n%s\n' "$needed" "${installed:-0}" | sort -V | head -n 1)" != "$needed" ]; then
        if ! command -v rustup >/dev/null 2>&1; then
            echo "::error::building rusty-stack-bench needs Rust $needed or later, and ${installed:-none} is installed" >&2
            exit 1
        fi
        rustup toolchain install "$needed" --profile minimal >&2
        export RUSTUP_TOOLCHAIN="$needed"
    fi
    # In its own directory: the user's toolchain file and cargo settings are not meant for it.
    (cd "$SOURCE" && cargo build --release --locked --quiet --bin rusty-stack-bench --target-dir "$target")
    program="$target/release/rusty-stack-bench"
fi
echo "program=$program" >>"$GITHUB_OUTPUT"
