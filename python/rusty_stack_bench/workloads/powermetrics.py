"""What macOS's `powermetrics` tells of Apple's GPU: clock, how busy it is, and power. It wants root."""
from __future__ import annotations

import re
import subprocess
import time
from typing import Any, Callable

# One look of so many milliseconds.
COMMAND = ["powermetrics", "--samplers", "gpu_power", "-n", "1", "-i", "500"]
# A look and its start, in seconds, at the most.
LIMIT = 20.0
# Apple has called some by two names.
FIGURES = {
    "gpu_clock_mhz": (re.compile(r"^GPU (?:HW )?active frequency:\s*([\d.]+)\s*MHz", re.MULTILINE), 1),
    "gpu_utilization_percent": (re.compile(r"^GPU (?:HW )?active residency:\s*([\d.]+)\s*%", re.MULTILINE), 1),
    "gpu_power_w": (re.compile(r"^GPU Power:\s*([\d.]+)\s*mW", re.MULTILINE), 1000),
}


def parsed(text: str) -> dict[str, float]:
    """The figures in what it prints; of several looks the last."""
    found = {name: pattern.findall(text) for name, (pattern, _) in FIGURES.items()}
    return {name: float(values[-1]) / FIGURES[name][1] for name, values in found.items() if values}


def watched(run: Callable[[], object], command: list[str] | None = None) -> dict[str, Any]:
    """What it tells while `run` runs again and again; where it tells nothing, why and the cure."""
    try:
        process = subprocess.Popen(command or COMMAND, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError:
        return {"counters_note": "there is no powermetrics, which macOS has; run it on a Mac"}
    with process:
        try:
            begin = time.monotonic()
            while process.poll() is None and time.monotonic() - begin < LIMIT:
                run()
        finally:
            process.kill()
        assert process.stdout is not None, "it is a pipe"
        said = process.stdout.read()
    found = parsed(said)
    if found:
        return found
    last = (said.strip().splitlines() or [f"status {process.returncode}"])[-1][:200]
    return {"counters_note": f"powermetrics told nothing ({last}); run it as root, or allow it in sudoers"}

