"""Progress of long work, and its time limit."""

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
    """Receives reports of long work. By default the library reports nothing."""

    def stage(self, name: str, total: int) -> None:
        """A stage of ``total`` steps begins."""

    def update(self, done: int, note: str = "") -> None:
        """``done`` steps of the current stage are finished."""


class Silent:
    """Ignores all reports."""

    def stage(self, name: str, total: int) -> None:
        pass

    def update(self, done: int, note: str = "") -> None:
        pass


ENDED_EARLY = ("time_limit", "interrupted")  # statuses of work that a limit or the user ended


class Budget:
    """The time limit of a piece of work, the gap at which it may end, and whether the user cancelled it.

    ``seconds`` is None if there is no time limit. Budgets made from a budget are cancelled together with it.
    """

    def __init__(self, seconds: float | None = None, gap: float = 0.0) -> None:
        self.started = time.monotonic()
        self.seconds = seconds
        self.gap = gap
        self._cancelled: list[bool] = []  # one list for all budgets made from this one; not empty once cancelled

    @property
    def spent(self) -> float:
        return time.monotonic() - self.started

    @property
    def left(self) -> float | None:
        """Seconds left; None if there is no time limit."""
        return None if self.seconds is None else max(self.seconds - self.spent, 0.0)

    @property
    def cancelled(self) -> bool:
        """Whether the user interrupted the work."""
        return bool(self._cancelled)

    @property
    def over(self) -> bool:
        """Whether the work must end: the time limit is reached, or the user interrupted it."""
        return self.cancelled or self.left == 0.0

    @property
    def ending(self) -> str:
        """The status of work that ended early."""
        return "interrupted" if self.cancelled else "time_limit"

    def cancel(self) -> None:
        """End the work; the best result so far is kept."""
        self._cancelled.append(True)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """For a block that may end early, because its results so far are kept: Ctrl-C ends the block and cancels the budget."""
        try:
            yield
        except KeyboardInterrupt:
            self.cancel()

    def without(self, seconds: float) -> Budget:
        """A budget of the time left minus this number of seconds."""
        return self._of(None if self.left is None else max(self.left - seconds, 0.0))

    def share(self, share: float) -> Budget:
        """A budget of a share of the time left."""
        return self._of(None if self.left is None else share * self.left)

    def _of(self, seconds: float | None) -> Budget:
        budget = Budget(seconds, self.gap)
        budget._cancelled = self._cancelled
        return budget


class OutOfTime(Exception):
    """Raised if a budget is over: by :class:`Timed`, and by searches that check their budget themselves."""


class Timed:
    """Progress that raises :class:`OutOfTime` at the first report after a budget is over."""

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
        """Seconds left; None if there is no time limit."""
        return self._budget.left

    def _check(self) -> None:
        if self._budget.over:
            raise OutOfTime


class _OnTerminal:
    """One progress bar, for the current stage."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def stage(self, name: str, total: int) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
        # Without a total the bar is animated.
        self._task = self._bars.add_task(name, total=total or None, note="", of=f"/{total:,}" if total else "")

    def update(self, done: int, note: str = "") -> None:
        if self._task is not None:
            self._bars.update(self._task, completed=done, note=note)


@contextmanager
def on_terminal(quiet: bool = False) -> Iterator[Progress]:
    """Progress bars on standard error if it is a terminal, otherwise no output. Other output is printed above the bars."""
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
    # Standard output is not redirected if it is a file.
    with Bars(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as bars:
        yield _OnTerminal(bars)
