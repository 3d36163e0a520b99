"""Clock, utilization and power of Apple GPUs, from macOS's `powermetrics`, which requires root."""
from __future__ import annotations

import re
import subprocess
import time
from typing import Any, Callable

# Takes one sample of 500 ms.
COMMAND = ["powermetrics", "--samplers", "gpu_power", "-n", "1", "-i", "500"]
# Time limit of a sample, including start-up, in seconds.
LIMIT = 20.0
# Pattern and divisor for each field. Some lines have different names in different
# versions of macOS.
FIGURES = {
    "gpu_clock_mhz": (re.compile(r"^GPU (?:HW )?active frequency:\s*([\d.]+)\s*MHz", re.MULTILINE), 1),
    "gpu_utilization_percent": (re.compile(r"^GPU (?:HW )?active residency:\s*([\d.]+)\s*%", re.MULTILINE), 1),
    "gpu_power_w": (re.compile(r"^GPU Power:\s*([\d.]+)\s*mW", re.MULTILINE), 1000),
}


def parsed(text: str) -> dict[str, float]:
    """Parses the output of `powermetrics`; if it has several samples, the last one is used."""
    found = {name: pattern.findall(text) for name, (pattern, _) in FIGURES.items()}
    return {name: float(values[-1]) / FIGURES[name][1] for name, values in found.items() if values}


def watched(run: Callable[[], object], command: list[str] | None = None) -> dict[str, Any]:
    """Runs `run` repeatedly while `powermetrics` samples.

    Returns:
        The values, or `counters_note` with the reason why there are none and how to fix it.
    """
    try:
        process = subprocess.Popen(command or COMMAND, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError:
        return {"counters_note": "powermetrics cannot be started, because it is part of macOS; run this case on a Mac"}
    with process:
        try:
            begin = time.monotonic()
            while process.poll() is None and time.monotonic() - begin < LIMIT:
                run()
        finally:
            process.kill()
        assert process.stdout is not None, "it is a pipe"
        output = process.stdout.read()
    found = parsed(output)
    if found:
        return found
    last = (output.strip().splitlines() or [f"status {process.returncode}"])[-1][:200]
    return {"counters_note": f"powermetrics reported no values ({last}); run it as root, or allow it in sudoers"}

