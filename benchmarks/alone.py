"""Work in a fresh process with one thread, whose processor time can be limited."""

from __future__ import annotations

import math
import os
import resource
import signal
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

Answer = TypeVar("Answer")

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def alone(work: Callable[..., Answer], *args: Any) -> Answer | None:
    """What ``work`` returns; None if it ran out of the time that it gave itself by :func:`limit`."""
    os.environ.update(ONE_THREAD)  # read when the new process imports its libraries
    context = get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_report, args=(send, work, args))
    process.start()
    send.close()
    try:
        answer: Answer = receive.recv()
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            return None
        raise RuntimeError(f"{work.__name__}{args} ended with exit code {process.exitcode}.") from None
    process.join()
    return answer


def _report(send: Connection, work: Callable[..., Answer], args: tuple[Any, ...]) -> None:
    send.send(work(*args))


def limit(seconds: float) -> None:
    """End this process, wherever it is, after so much more processor time: solvers do not listen to exceptions."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), most))


def cpu_seconds() -> float:
    """Processor time of this process and of those that it started and that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in both)
