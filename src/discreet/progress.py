"""Telling a person how long work is going, and stopping it in time."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars


class Progress(Protocol):
    """What long work reports to. The library is silent unless handed one."""

    def stage(self, name: str, total: int) -> None:
        """A new piece of work of ``total`` steps begins."""

    def update(self, done: int, note: str = "") -> None:
        """``done`` steps of the current piece are finished."""


class Silent:
    def stage(self, name: str, total: int) -> None:
        pass

    def update(self, done: int, note: str = "") -> None:
        pass


class Budget:
    """How long a piece of work may take (``None``: no limit), and how near to the best is near enough."""

    def __init__(self, seconds: float | None = None, gap: float = 0.0) -> None:
        self.started = time.monotonic()
        self.seconds = seconds
        self.gap = gap

    @property
    def spent(self) -> float:
        return time.monotonic() - self.started

    @property
    def over(self) -> bool:
        return self.seconds is not None and self.spent >= self.seconds

    def without(self, seconds: float) -> Budget:
        """What is left but for so many seconds, as a budget of its own."""
        return Budget(None if self.seconds is None else max(self.seconds - self.spent - seconds, 0.0), self.gap)

    def share(self, part: float) -> Budget:
        """A budget of its own for a first step, of a part of what is left."""
        return Budget(None if self.seconds is None else max(part * (self.seconds - self.spent), 0.0), self.gap)


class OutOfTime(Exception):
    """Work that reports to :class:`Timed` has gone on for longer than it may."""


class Timed:
    """Progress that ends the work reporting to it, by :class:`OutOfTime`, when a budget is over."""

    def __init__(self, progress: Progress, budget: Budget) -> None:
        self._progress, self._budget = progress, budget

    def stage(self, name: str, total: int) -> None:
        self._check()
        self._progress.stage(name, total)

    def update(self, done: int, note: str = "") -> None:
        self._check()
        self._progress.update(done, note)

    @property
    def left(self) -> float | None:
        """Seconds that are left; None if there is no limit."""
        limit = self._budget.seconds
        return None if limit is None else max(limit - self._budget.spent, 0.0)

    def _check(self) -> None:
        if self._budget.over:
            raise OutOfTime


class _OnTerminal:
    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def stage(self, name: str, total: int) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
        # Without a total the bar moves to and fro.
        self._task = self._bars.add_task(name, total=total or None, note="", of=f"/{total:,}" if total else "")

    def update(self, done: int, note: str = "") -> None:
        if self._task is not None:
            self._bars.update(self._task, completed=done, note=note)


@contextmanager
def on_terminal(quiet: bool = False) -> Iterator[Progress]:
    """Progress bars on standard error; silent when it is not a terminal. What is printed meanwhile goes above them."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield Silent()
        return
    columns = (
        TextColumn("{task.description:>10}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}{task.fields[of]}"),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[note]}"),
    )
    # Standard output keeps its own way if it leads to a file.
    with Bars(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as bars:
        yield _OnTerminal(bars)
