"""Process that measures one case: requests on standard input, answers on standard output, one per line."""
from __future__ import annotations

import json
import os
import sys
import traceback


def main() -> None:
    """Answers requests until standard input ends."""
    # Frameworks may print to standard output: it is redirected to standard error, and answers use a
    # copy of the original.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # The kernel kills this process when its parent ends.
    except (OSError, AttributeError):
        pass  # Not available on this system; the process still ends with its standard input.
    from .workloads.worker import Worker

    worker = Worker()
    for line in sys.stdin:
        answers.write((_own(line) or worker.answer(line)) + "\n")


def _own(line: str) -> str | None:
    """Registers the user-defined benchmark of a case that has a source.

    Returns:
        The answer if that fails, else None.
    """
    case = json.loads(line).get("case", {})
    if "source" not in case:
        return None
    try:
        from .custom import as_component
        from .workloads import registry

        registry.register(case["benchmark"], as_component(case["benchmark"], case["source"]))
    except Exception as error:
        traceback.print_exception(type(error), error, error.__traceback__, file=sys.stderr)
        why = f"{case['source']} cannot be loaded: {type(error).__name__}: {error}"
        reason = {"what": f"benchmark {case['benchmark']}", "why": why, "cure": "run the file with Python to find the error"}
        return json.dumps({"answer": "failed", "reason": reason})
    return None


if __name__ == "__main__":
    main()
