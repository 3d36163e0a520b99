"""Starts the program `rusty-stack-bench`."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

# Environment variable with the path of the program; if unset, PATH is searched.
VARIABLE = "RUSTY_STACK_BENCH"
# Command that lists the devices of this machine.
LISTING = "rusty-stack-bench probe"
# Exit codes with which a measuring subcommand prints a document: 0, 1 (a case failed),
# 5 (no case could run here).
MEASURED = (0, 1, 5)
# Prefix of the names of temporary directories, by which their paths are found in messages.
TEMPORARY = "rsb-"


class ProgramError(RuntimeError):
    """Raised if the program is not found or fails, or if a result is requested before the first run."""


def find_program() -> str | None:
    """Returns the file of the program, or None if it is not found."""
    return os.environ.get(VARIABLE) or shutil.which("rusty-stack-bench")


def without_paths(message: str) -> str:
    """Removes paths in temporary directories, and line numbers in these files, from a message."""
    return re.sub(rf"\S*[/\\]{TEMPORARY}[^\s:;,`'\"]*(: )?(line \d+: )?", "", message)


def answer(
    words: Sequence[str],
    codes: Sequence[int] = (0,),
    tell: Callable[[str], None] | None = None,
    is_shared: bool = False,
) -> Any:
    """Runs the program and returns the JSON document that it prints.

    Args:
        words: the subcommand and its arguments; `--json` is added.
        codes: exit codes with which the program prints a document.
        tell: called with each line of progress. If it raises, the program is stopped.
        is_shared: whether results may be sent to the shared store that `RSB_STORE` names.

    Raises:
        ProgramError: if the program is not found or fails.
        ValueError: if the program does not accept an argument; the message names the accepted values.
        RuntimeError: if no device has this index.
    """
    program = find_program()
    if program is None:
        cure = f"install it with `cargo install --path .` from its repository, or set {VARIABLE} to its path"
        raise ProgramError(f"the program rusty-stack-bench is not on PATH; {cure}")
    environment = {name: value for name, value in os.environ.items() if is_shared or name != "RSB_STORE"}
    lines: list[str] = []
    # The document may exceed a pipe's buffer while progress is read line by line, so it goes to a file.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as document:
        try:
            process = subprocess.Popen(
                [program, *words, "--json"], env=environment, stdout=document, stderr=subprocess.PIPE, text=True
            )
        except OSError as error:
            raise ProgramError(f"{program} cannot be started: {error}") from None
        with process:
            assert process.stderr is not None, "it is a pipe"
            try:
                for line in process.stderr:
                    lines.append(line)
                    if tell is not None:
                        tell(line.rstrip())
            except BaseException:
                process.terminate()
                raise
        document.seek(0)
        text = document.read()
    if process.returncode in codes and text:
        return json.loads(text)
    raise _refusal(words[0], process.returncode, without_paths("".join(lines).strip()[-1000:]))


def _refusal(subcommand: str, code: int, why: str) -> Exception:
    """Returns the exception for an exit code without a document."""
    if "there is no device" in why:
        return RuntimeError(f"{why}; `{LISTING}` lists the devices")
    if code == 2 and "--profiler:" not in why:
        return ValueError(why.removeprefix("error: "))
    return ProgramError(f"`rusty-stack-bench {subcommand}` exited with code {code}: {why}")


def check_benchmarks(names: Sequence[str]) -> None:
    """Checks the names of components and benchmarks of the program.

    Raises:
        ValueError: if one is unknown.
    """
    rows: Sequence[dict[str, Any]] = answer(["list"])["benchmarks"] if names else ()
    known = list(dict.fromkeys(str(row["benchmark"]) for row in rows))
    for name in names:
        if name not in known:
            raise ValueError(f"unknown benchmark {name!r}; use one of {', '.join(known)}")
