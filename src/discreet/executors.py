"""Work in several processes, and the handling of Ctrl-C and SIGTERM meanwhile."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from typing import TypeVar

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)  # sent by Ctrl-C and by the system
# Waits are limited: a signal that arrives just before an unlimited wait would not be handled until the wait ends.
WAIT_SECONDS = 0.5
MAX_THREAD_SECONDS = 5.0  # for the end of a thread whose processes were killed, which takes milliseconds

_Work = TypeVar("_Work")
_Result = TypeVar("_Result")


def in_order(executor: Executor | None, do: Callable[[_Work], _Result], work: Sequence[_Work]) -> Iterator[_Result]:
    """The results in the order of ``work``, like ``map``, from an executor or, without one, from this process.

    After an error or Ctrl-C no further work is started.
    """
    if executor is None:
        yield from map(do, work)
        return
    futures = [executor.submit(do, item) for item in work]
    try:
        for future in futures:
            yield _result(future)
    except KeyboardInterrupt:
        futures = []  # the owner shuts its executor down; a process pool fails on futures that are already cancelled
        raise
    finally:
        for future in futures:
            future.cancel()


def _result(future: Future[_Result]) -> _Result:
    while True:
        try:
            return future.result(timeout=WAIT_SECONDS)
        except TimeoutError:
            if future.done():
                return future.result()


@contextmanager
def spread(workers: int) -> Iterator[Executor | None]:
    """An executor with that many processes; None for one, which needs no executor."""
    if workers == 1:
        yield None
        return
    others, other_threads = active_children(), threading.enumerate()
    executor = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_ignore_signals)
    try:
        yield executor
    except BaseException:
        # Work in progress is killed, not awaited: a single program may take minutes.
        executor.shutdown(wait=False, cancel_futures=True)
        for process in active_children():
            if process not in others:
                process.kill()
        # Threads of the pool that end together with the interpreter may write to a pipe that is closed already.
        for thread in threading.enumerate():
            if thread not in other_threads:
                thread.join(MAX_THREAD_SECONDS)
        raise
    executor.shutdown()


def _ignore_signals() -> None:
    """Ignore Ctrl-C and SIGTERM: they may reach all processes, but only the first one handles them."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def signals_ignored() -> Iterator[None]:
    """Ignore Ctrl-C and SIGTERM during a few steps that must not be interrupted."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    if None in before.values() or threading.current_thread() is not threading.main_thread():  # not ours to set
        yield
        return
    _ignore_signals()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
