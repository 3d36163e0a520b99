#!/usr/bin/env bash
# The first step of action.yml: provides the program, either given or built, and writes its path to
# the step's outputs.
#
# BINARY: the program; if empty, it is built from SOURCE. SHA256: the checksum that BINARY must
# have.
set -euo pipefail

if [ -n "${BINARY:-}" ]; then
    if [ -z "${SHA256:-}" ]; then
        echo "::error::input binary-sha256 is missing; set it to the SHA-256 of the program" >&2
        exit 2
    fi
    if ! echo "$SHA256  $BINARY" | sha256sum --check --quiet -; then
        echo "::error::$BINARY does not have the SHA-256 $SHA256; check the inputs binary and binary-sha256" >&2
        exit 2
    fi
    program=$(realpath "$BINARY")
else
    # Outside the user's target directory, which may be cached for other purposes.
    target="${RUNNER_TEMP:-$(mktemp -d)}/rusty-stack-bench"
    # The runner's toolchain may be older than this program requires.
    needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$SOURCE/Cargo.toml" | head -n 1)
    installed=$({ cd "$SOURCE" && rustc --version; } 2>/dev/null | cut -d' ' -f2) || installed=0
    if [ "$(printf '%s\n%s\n' "$needed" "${installed:-0}" | sort -V | head -n 1)" != "$needed" ]; then
        if ! command -v rustup >/dev/null 2>&1; then
            echo "::error::building rusty-stack-bench needs Rust $needed or later, but ${installed:-none} is installed; update it or install rustup" >&2
            exit 1
        fi
        rustup toolchain install "$needed" --profile minimal >&2
        export RUSTUP_TOOLCHAIN="$needed"
    fi
    # In its own directory, so that the user's toolchain file and cargo settings do not apply.
    (cd "$SOURCE" && cargo build --release --locked --quiet --bin rusty-stack-bench --target-dir "$target")
    program="$target/release/rusty-stack-bench"
fi
echo "program=$program" >>"$GITHUB_OUTPUT"
