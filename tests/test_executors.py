"""Work by any executor: in order, with its errors unchanged, and no work started whose result is not needed."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import discreet.executors as module
from discreet.executors import in_order, signals_ignored, spread


@pytest.mark.parametrize("workers", [None, 1, 3])
def test_results_come_in_order(workers):
    if workers is None:
        assert list(in_order(None, abs, [-3, 1, -2])) == [3, 1, 2]
        return
    with ThreadPoolExecutor(workers) as executor:
        assert list(in_order(executor, abs, [-3, 1, -2])) == [3, 1, 2]


def test_work_may_take_longer_than_one_wait(monkeypatch):
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.01)
    with ThreadPoolExecutor(1) as executor:
        assert list(in_order(executor, threading.Event().wait, [0.1])) == [False]


def test_a_timeout_of_the_work_itself_is_its_error(monkeypatch):
    def too_late(_: int) -> None:
        raise TimeoutError("of the work itself")

    monkeypatch.setattr(module, "WAIT_SECONDS", 0.01)
    with ThreadPoolExecutor(1) as executor, pytest.raises(TimeoutError, match="of the work itself"):
        list(in_order(executor, too_late, [1]))


def test_after_an_error_nothing_more_is_begun():
    begun: list[int] = []
    go_on = threading.Event()

    def work(k: int) -> None:
        begun.append(k)
        if k == 0:
            raise ValueError("of no use")
        go_on.wait(10)

    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(ValueError, match="of no use"):
            list(in_order(executor, work, range(9)))
        go_on.set()
    assert len(begun) <= 2


def test_one_worker_needs_no_executor():
    with spread(1) as executor:
        assert executor is None


def test_ctrl_c_is_the_business_of_the_main_thread():
    """Elsewhere nothing can be done about it, and nothing is."""
    before = signal.getsignal(signal.SIGINT)

    def work() -> object:
        with signals_ignored():
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor(1) as executor:
        assert executor.submit(work).result() is before
    assert work() is signal.SIG_IGN
    assert signal.getsignal(signal.SIGINT) is before
