"""Progress of long work, and its time limit."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console, RenderableType
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.text import Text

SECONDS_BETWEEN_LINES = 30.0  # of a log: often enough to see that the work goes on, seldom enough to be read
MIN_SECONDS_FOR_ESTIMATE = 3.0  # of a stage: the first steps are often slower or faster than the others

# Hints in notes, while a pattern is improved.
SAFE_ALREADY = "The pattern is safe already; Ctrl-C keeps it."
CTRL_C_SKIPS = "Ctrl-C skips the rest of this step."


class Progress(Protocol):
    """Receives reports of long work. By default the library reports nothing."""

    def stage(self, name: str, total: int) -> None:
        """A stage of ``total`` steps begins."""

    def update(self, done: int, note: str = "") -> None:
        """``done`` steps of the current stage are finished. A second line of the ``note`` is a hint for the user."""


def with_hint(note: str, hint: str) -> str:
    """A note with a hint, which may be empty."""
    return f"{note}\n{hint}" if hint else note


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

    def without_limit(self) -> Budget:
        """A budget without time limit, for work that cannot be left out."""
        return self._of(None)

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


@dataclass(frozen=True)
class StageTime:
    """A stage of the work, and the seconds it took."""

    stage: str
    seconds: float


class Stopwatch:
    """Progress that also measures how long each stage takes."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._seconds: dict[str, float] = {}
        self._now: tuple[str, float] | None = None

    def stage(self, name: str, total: int) -> None:
        self._end()
        self._now = (name, time.monotonic())
        self._progress.stage(name, total)

    def update(self, done: int, note: str = "") -> None:
        self._progress.update(done, note)

    def times(self) -> tuple[StageTime, ...]:
        """The stages so far, in the order in which they began; a stage that was repeated is listed once."""
        self._end()
        return tuple(StageTime(name, round(seconds, 3)) for name, seconds in self._seconds.items())

    def _end(self) -> None:
        if self._now is not None:
            name, began = self._now
            now = time.monotonic()
            self._seconds[name] = self._seconds.get(name, 0.0) + now - began
            self._now = (name, now)


@dataclass
class _Stage:
    """The state of the current stage."""

    name: str
    total: int
    done: int = 0
    note: str = ""
    began: float = field(default_factory=lambda: time.monotonic())

    def left(self) -> str:
        """The estimated time left, if the steps so far took the same time each; empty if it is not known."""
        spent = time.monotonic() - self.began
        if not 0 < self.done < self.total or spent < MIN_SECONDS_FOR_ESTIMATE:
            return ""
        return f"about {duration(spent * (self.total - self.done) / self.done)} left"

    def line(self) -> str:
        """The state in one line."""
        of = f" of {self.total:,}" if self.total else ""
        steps = f" {self.done:,}{of}" if self.done else ""
        parts = [f"{self.name}:{steps} after {duration(time.monotonic() - self.began)}", self.left()]
        return "; ".join(part for part in (", ".join(filter(None, parts)), *self.note.split("\n")) if part)


def duration(seconds: float) -> str:
    """``45 s``, ``2 min 5 s`` or ``1 h 20 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60} min"


class _Bars(Bars):
    """Progress bars, with the hint of the current stage below."""

    hint = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self.hint:
            yield Text(self.hint)


class _OnTerminal:
    """One progress bar, for the current stage."""

    def __init__(self, bars: _Bars) -> None:
        self._bars = bars
        self._task: TaskID | None = None
        self._now = _Stage("", 0)

    def stage(self, name: str, total: int) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._now, self._bars.hint = _Stage(name, total), ""
        # Without a total the bar is animated.
        of = f"/{total:,}" if total else ""
        self._task = self._bars.add_task(name, total=total or None, note="", left="", of=of)

    def update(self, done: int, note: str = "") -> None:
        if self._task is not None:
            note, _, self._bars.hint = note.partition("\n")
            self._now.done = done
            self._bars.update(self._task, completed=done, note=note, left=self._now.left())


class Heartbeat:
    """Progress as lines of a log: the state of the current stage, from time to time, so that long work does not look dead."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._now: _Stage | None = None

    def stage(self, name: str, total: int) -> None:
        self._now = _Stage(name, total)

    def update(self, done: int, note: str = "") -> None:
        if self._now is not None:
            self._now.done, self._now.note = done, note

    def beat(self) -> None:
        """Write the line of the current stage."""
        if self._now is not None:
            self._write(self._now.line())

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Write a line every 30 seconds, from a thread of its own: a single step may take minutes."""
        over = threading.Event()

        def beat() -> None:
            while not over.wait(SECONDS_BETWEEN_LINES):
                self.beat()

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@contextmanager
def on_terminal(quiet: bool = False) -> Iterator[Progress]:
    """Progress bars on standard error if it is a terminal, otherwise lines of a log. Other output is printed above the bars."""
    console = Console(stderr=True)
    if quiet:
        yield Silent()
        return
    if not console.is_terminal:
        heartbeat = Heartbeat(lambda line: print(f"discreet: {line}", file=sys.stderr, flush=True))
        with heartbeat.beating():
            yield heartbeat
        return
    columns = (
        TextColumn("{task.description:>10}"),
        BarColumn(bar_width=20),
        TextColumn("{task.completed:,.0f}{task.fields[of]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("[dim]{task.fields[note]}"),
    )
    # Standard output is not redirected if it is a file.
    with _Bars(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as bars:
        yield _OnTerminal(bars)
