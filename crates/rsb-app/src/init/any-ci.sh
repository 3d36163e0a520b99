#!/bin/sh
# Compares the benchmarks of this commit with those of a base revision, both measured here, interleaved.
# Usage: benchmarks.sh BASE. Exit code 0: no case got more than 10 % slower; 3: at least one did; 4: no verdict.
# The clone needs its history (not shallow), Rust 1.95 or later, and rusty-stack-bench on PATH; counts of instructions
# (`--decide-by instructions`, gungraun) also need Valgrind.
set -eu
cd "$(dirname "$0")/DIRECTORY"
rusty-stack-bench gate --against "$1" --output junit=benchmarks.xml --output markdown=benchmarks.md CARGO_ARGUMENTS
