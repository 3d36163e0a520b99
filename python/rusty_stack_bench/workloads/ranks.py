"""Processes of several ranks, controlled by this process."""
from __future__ import annotations

import multiprocessing
import os
import socket
import sys
import traceback
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Callable

from .core import Case, Failure

# Time limit in seconds for a rank to start or answer; the case's own limit is usually shorter.
START_SECONDS = 240


class Ranks:
    """One process per rank of a case. In each, `role(case, rank)` returns a function that answers requests.

    Each rank gets 1/`thread_shares` of the CPU's threads; by default, the ranks share all of them.
    """

    def __init__(
        self, case: Case, role: Callable[[Case, int], Callable[..., Any]], thread_shares: int | None = None
    ) -> None:
        context = multiprocessing.get_context("spawn")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.pipes: list[Connection] = []
        self._processes: list[SpawnProcess] = []
        threads = max(1, (os.cpu_count() or 1) // (thread_shares or case.count("num_ranks")))
        for rank in range(case.count("num_ranks")):
            ours, theirs = context.Pipe()
            process = context.Process(target=_rank, args=(role, case, rank, port, threads, theirs), daemon=True)
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self._processes.append(process)

    def ask(self, *words: Any) -> list[Any]:
        """Sends the same request to every rank and returns their answers.

        Raises:
            Failure: if a rank fails, ends, or does not answer in time.
        """
        for pipe in self.pipes:
            pipe.send(words)
        return [self._answer(rank) for rank in range(len(self.pipes))]

    def close(self) -> None:
        """Closes the connections, so that the ranks end."""
        for pipe in self.pipes:
            pipe.close()
        for process in self._processes:
            process.join(5)

    def _answer(self, rank: int) -> Any:
        pipe = self.pipes[rank]
        try:
            if pipe.poll(START_SECONDS):
                kind, answer = pipe.recv()
            else:
                kind, answer = "failed", f"it did not answer within {START_SECONDS} s"
        except EOFError:
            self._processes[rank].join(5)
            kind, answer = "failed", f"its process ended with exit code {self._processes[rank].exitcode}"
        if kind == "failed":
            raise Failure(f"rank {rank}", answer, "run it with one rank: --axis num_ranks=1, and RSB_LOG=debug")
        return answer


def _rank(
    role: Callable[[Case, int], Callable[..., Any]], case: Case, rank: int, port: int, threads: int, pipe: Connection
) -> None:
    """Runs a rank: prepares the case, then answers requests until the connection is closed."""
    try:
        # Makes the kernel kill the rank when its parent ends, for whatever reason.
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        ranks = case.count("num_ranks")
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank), "LOCAL_RANK": str(rank)}
        os.environ |= {"WORLD_SIZE": str(ranks), "LOCAL_SIZE": str(ranks)}
        import torch

        torch.set_num_threads(threads)
        answer = role(case, rank)
        while True:
            question = pipe.recv()
            pipe.send(("well", answer(*question)))
    except EOFError:
        pass  # The parent closed the connection.
    except BaseException as error:
        traceback.print_exc(file=sys.stderr)
        pipe.send(("failed", f"{type(error).__name__}: {error}".splitlines()[0][:500]))
