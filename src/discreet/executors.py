"""Work spread over processes, and Ctrl-C that reaches it, or does not."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from typing import TypeVar

STOPPING = (signal.SIGINT, signal.SIGTERM)  # what a person, or the system, stops work with
SLICE = 0.5  # seconds
"""How long to wait in one piece. A signal that comes just before a wait without end is not noticed until its end."""

_Work = TypeVar("_Work")
_Result = TypeVar("_Result")


def in_order(executor: Executor | None, do: Callable[[_Work], _Result], work: Sequence[_Work]) -> Iterator[_Result]:
    """The results of some pieces of work, in their order: like ``map``, by any executor or, without one, here.

    What nobody waits for any more, after an error or Ctrl-C, is not begun.
    """
    if executor is None:
        yield from map(do, work)
        return
    futures = [executor.submit(do, piece) for piece in work]
    try:
        for future in futures:
            yield _result(future)
    except KeyboardInterrupt:
        futures = []  # the owner ends its executor; one of processes stumbles over futures that are cancelled already
        raise
    finally:
        for future in futures:
            future.cancel()


def _result(future: Future[_Result]) -> _Result:
    while True:
        try:
            return future.result(timeout=SLICE)
        except TimeoutError:
            if future.done():
                return future.result()


@contextmanager
def spread(workers: int) -> Iterator[Executor | None]:
    """An executor for that many processes; none for one, which needs none."""
    if workers == 1:
        yield None
        return
    others = active_children()
    executor = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_ignore_signals)
    try:
        yield executor
    except BaseException:
        # Nobody waits for what was begun: a single program may take minutes.
        executor.shutdown(wait=False, cancel_futures=True)
        for process in active_children():
            if process not in others:
                process.kill()
        raise
    executor.shutdown()


def _ignore_signals() -> None:
    """Ctrl-C and SIGTERM may go to all processes, but are the first one's business."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def undisturbed() -> Iterator[None]:
    """A few steps that Ctrl-C and SIGTERM do not come between: they are ignored meanwhile."""
    before = {number: signal.getsignal(number) for number in STOPPING}
    if None in before.values() or threading.current_thread() is not threading.main_thread():  # nobody's business here
        yield
        return
    _ignore_signals()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
