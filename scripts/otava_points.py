#!/usr/bin/env python3
"""Counts the series in which apache-otava finds change points, for `cargo xtask trend-study --otava PYTHON`.

Usage: scripts/otava_points.py FILE.csv…    one series per line, comma-separated; needs `pip install apache-otava`

Writes one line per file: its name, number of series, number of series with a change point, and
seconds of CPU time. If apache-otava is missing, it prints a message and exits with 0.
"""

import sys
import time
from pathlib import Path


def main(files: list[str]) -> int:
    try:
        from otava.analysis import compute_change_points
    except ImportError as missing:
        print(f"skipped: apache-otava is not installed ({missing})", file=sys.stderr)
        return 0
    for file in files:
        series = [[float(value) for value in line.split(",")] for line in Path(file).read_text().splitlines() if line]
        began = time.process_time()
        found = sum(bool(compute_change_points(one)[0]) for one in series)
        print(f"{Path(file).name},{len(series)},{found},{time.process_time() - began:.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
