"""Injected faults for tests: after a few samples, each fault fails in a way that occurs in frameworks."""

import ctypes
import os
import platform
import signal
import subprocess
import sys
import time

from .core import Case, Work


def check(case: Case) -> None:
    """Accepts every case: only Python is needed."""


def version() -> str:
    """Returns the version of Python."""
    return platform.python_version()


def fault(case: Case) -> Work:
    """Prepares the fault named by the parameter, with a child process that must be gone after the case."""
    hoard: list[bytearray] = []
    calls = 0

    def allocate() -> None:
        while True:
            hoard.append(bytearray(64 << 20))

    def chatter() -> None:
        print("chatter on standard output", flush=True)
        os.write(1, b"and more of it, past Python\n")

    faults = {
        "none": lambda: None,
        "chatter": chatter,
        "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "segv": lambda: ctypes.string_at(0),
        "abort": os.abort,
        "exit": lambda: sys.exit("the framework has had enough"),
        "leave": lambda: os._exit(3),
        "sleep": lambda: time.sleep(600),
        "allocate": allocate,
        "raise": lambda: 1 / 0,
        "nan": lambda: None,
    }
    chosen = faults[case.text("fault")]
    if case.text("fault") != "none":
        subprocess.Popen(["sleep", "60"])

    def run() -> None:
        nonlocal calls
        calls += 1
        time.sleep(0.001)
        if calls > 3:
            chosen()

    value = float("nan") if case.text("fault") == "nan" else 1.0
    return Work(run, lambda time_ns: {"speedup": value})


WORKLOADS = {"fault": fault}
