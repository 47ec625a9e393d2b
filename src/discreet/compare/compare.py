"""One table, several methods, the same measures for all."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from types import FrameType
from typing import Any

import pandas as pd

from discreet.compare.measure import Loss, Meter, Risk, Sample
from discreet.compare.notation import read_methods, standard
from discreet.errors import DiscreetError, InputError
from discreet.executors import STOP_SIGNALS
from discreet.methods import protect
from discreet.methods.method import Method
from discreet.problem import Problem
from discreet.progress import Progress, Silent
from discreet.protection import Protection
from discreet.secret import Secret

NOT_RUN_REASON = "not run: the comparison was stopped before"
INTERRUPTED_REASON = "stopped before there was a result"


@dataclass(frozen=True, eq=False, repr=False)
class MethodOutcome:
    """What came of one method; without a result, why."""

    method: str  # as it was written
    seconds: float  # to protect the table, audits for the comparison not included
    protection: Protection | None = None
    loss: Loss | None = None
    risk: Risk | None = None  # what at least one attacker finds out,
    risks: tuple[Risk, ...] = ()  # and what each does
    reason: str = ""

    def __repr__(self) -> str:
        return (
            f"MethodOutcome({self.method}: {'no result' if self.safe is None else 'safe' if self.safe else 'exposed'})"
        )

    @property
    def safe(self) -> bool | None:
        """Whether no attacker exposes a cell; None without a result."""
        return None if self.risk is None else not self.risk.exposed

    def row(self) -> dict[str, Any]:
        """The measures by name; the risk is that from all attackers taken together."""
        report = self.protection.report if self.protection else None
        loss = asdict(self.loss) if self.loss else dict.fromkeys(f.name for f in fields(Loss))
        risk = asdict(self.risk) if self.risk else dict.fromkeys(f.name for f in fields(Risk))
        risk.pop("attacker")
        return {
            "method": self.method,
            "safe": self.safe,
            **risk,
            **loss,
            "cost": report and report.cost,
            "bound": report and report.bound,
            "gap": report and report.gap,
            "status": report.status if report else "failed",
            "seconds": self.seconds,
            "note": report.note if report else self.reason,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Methods side by side, in the order they were asked for. Confidential."""

    problem: Problem
    outcomes: tuple[MethodOutcome, ...]
    sampled: int  # cells whose widths were worked out,
    of: int  # of so many that are not sensitive
    stopped: bool = False  # by Ctrl-C, before all were run
    settings: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        done = [one for one in self.outcomes if one.loss]
        safe = sum(bool(one.safe) for one in done)
        return f"Comparison({len(self.outcomes)} methods: {len(done)} with a result, {safe} safe)"

    @property
    def complete(self) -> bool:
        """Every method was run, and at least one gave a result."""
        return not self.stopped and any(one.loss for one in self.outcomes)

    def frame(self) -> pd.DataFrame:
        """One row a method."""
        frame = pd.DataFrame([one.row() for one in self.outcomes])
        return frame.astype({"safe": "boolean", "additive": "boolean"})  # missing where there is no result

    def risks(self) -> pd.DataFrame:
        """One row a method and attacker."""
        rows = [{"method": one.method, **asdict(risk)} for one in self.outcomes for risk in one.risks]
        return pd.DataFrame(rows, columns=["method", *(f.name for f in fields(Risk))])


def compare(
    problem: Problem,
    methods: str | Iterable[str | Method] | Mapping[str, Method] | None = None,
    *,
    time_limit: float | None = 60.0,
    gap: float = 0.0,
    seed: int = 0,
    sample: int | None = 1000,
    executor: Executor | None = None,
    progress: Progress | None = None,
    secret: Secret | str | None = None,
    say: Callable[[MethodOutcome], None] = lambda _: None,
) -> Comparison:
    """Protect a table by one method after the other, and measure what each loses and what risk it leaves.

    ``methods`` are names with options in brackets, ``"kelly, small-counts(base=5)"``, or objects, also by
    names of your own. Each gets ``time_limit``
    seconds. Widths of what readers can infer are worked out for a ``sample`` of so many cells, the same for all methods.
    Methods that draw at random take the ``secret``, or a new one. ``say`` is told each outcome. Ctrl-C
    ends the comparison, and what is finished is kept.
    """
    if sample is not None and sample < 1:
        raise InputError("sample= is how many cells are looked at: 1 or more, or None for all.")
    methods = standard(problem) if methods is None else methods
    chosen = methods if isinstance(methods, Mapping) else read_methods(methods)
    drawn = Sample.drawn(problem, sample)
    outcomes: list[MethodOutcome] = []
    of_all = Secret.of(secret)
    with _interruptions() as stop:
        for number, (written, method) in enumerate(chosen.items(), start=1):
            if stop:
                outcomes.append(MethodOutcome(written, 0.0, reason=NOT_RUN_REASON))
                continue
            named = _Named(progress or Silent(), f"{number}/{len(chosen)} {written}")
            work = _Work(problem, written, method, Meter(problem, drawn, executor, named))
            try:
                outcomes.append(work.outcome(seed=seed, time_limit=time_limit, gap=gap, secret=of_all))
            except KeyboardInterrupt:
                if not any(one.loss for one in outcomes):
                    raise
                outcomes.append(MethodOutcome(written, work.spent, reason=INTERRUPTED_REASON))
                stop.append(True)
            say(outcomes[-1])
    limit = "none" if time_limit is None else f"{time_limit:g} s a method"
    settings = {"Time limit": limit, "Gap": f"{gap:g}", "Seed": str(seed)}
    return Comparison(problem, tuple(outcomes), len(drawn.cells), drawn.of, _is_cut_short(outcomes), settings)


def _is_cut_short(outcomes: list[MethodOutcome]) -> bool:
    return any(one.reason in (NOT_RUN_REASON, INTERRUPTED_REASON) for one in outcomes)


class _Work:
    """One method at work."""

    def __init__(self, problem: Problem, written: str, method: Method, meter: Meter) -> None:
        self.problem, self.written, self.method, self.meter = problem, written, method, meter
        self.began = time.monotonic()

    @property
    def spent(self) -> float:
        return time.monotonic() - self.began

    def outcome(self, **options: Any) -> MethodOutcome:
        """What the method makes of the table, measured; or why it makes nothing."""
        meter = self.meter
        try:
            options |= {"executor": meter.executor, "progress": meter.progress}
            found = protect(self.problem, self.method, **options, level="cells")
        except (DiscreetError, ArithmeticError, RuntimeError) as error:  # the latter two are a solver's
            return MethodOutcome(self.written, self.spent, reason=str(error))
        seconds = self.spent
        return MethodOutcome(self.written, seconds, found, meter.loss(found), *meter.risks(found))


@dataclass(frozen=True)
class _Named:
    """Progress that says which method is at work."""

    progress: Progress
    name: str

    def stage(self, name: str, total: int) -> None:
        self.progress.stage(f"{self.name}: {name}", total)

    def update(self, done: int, note: str = "") -> None:
        self.progress.update(done, note)


@contextmanager
def _interruptions() -> Iterator[list[bool]]:
    """Not empty once there was a Ctrl-C or SIGTERM: methods that have a result by then return it, and nobody else hears of it."""
    heard: list[bool] = []
    before = {number: handler for number in STOP_SIGNALS if callable(handler := signal.getsignal(number))}
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return

    def note(number: int, frame: FrameType | None) -> None:
        heard.append(True)
        before[signal.Signals(number)](number, frame)

    for number in before:
        signal.signal(number, note)
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
