"""Several methods on one table, measured in the same way."""

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

NOT_RUN_REASON = "not run: the comparison was interrupted before"
INTERRUPTED_REASON = "interrupted before there was a result"


@dataclass(frozen=True, eq=False, repr=False)
class MethodOutcome:
    """The result of one method; without a result, the reason."""

    method: str  # in the notation of the user
    seconds: float  # to protect the table, without the audits of the comparison
    protection: Protection | None = None
    loss: Loss | None = None
    risk: Risk | None = None  # the largest risk from any attacker, cell by cell
    risks: tuple[Risk, ...] = ()  # one per attacker
    reason: str = ""

    def __repr__(self) -> str:
        verdict = "no result" if self.safe is None else "safe" if self.safe else "exposed"
        return f"MethodOutcome({self.method}: {verdict})"

    @property
    def safe(self) -> bool | None:
        """Whether no cell is exposed to any attacker; None without a result."""
        return None if self.risk is None else not self.risk.exposed

    def row(self) -> dict[str, Any]:
        """The measures by name; the risk is the largest from any attacker."""
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
    """The results of all methods in the given order. Confidential."""

    problem: Problem
    outcomes: tuple[MethodOutcome, ...]
    sampled: int  # number of cells that are not sensitive and whose widths were computed
    of: int  # number of cells that are not sensitive
    stopped: bool = False  # by Ctrl-C, before all methods were run
    settings: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        done = [one for one in self.outcomes if one.loss]
        safe = sum(bool(one.safe) for one in done)
        return f"Comparison({len(self.outcomes)} methods: {len(done)} with a result, {safe} safe)"

    @property
    def complete(self) -> bool:
        """Whether every method was run, and at least one gave a result."""
        return not self.stopped and any(one.loss for one in self.outcomes)

    def frame(self) -> pd.DataFrame:
        """One row per method."""
        frame = pd.DataFrame([one.row() for one in self.outcomes])
        return frame.astype({"safe": "boolean", "additive": "boolean"})  # missing where there is no result

    def risks(self) -> pd.DataFrame:
        """One row per method and attacker."""
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
    """Protect a table by one method after the other, and measure information loss and remaining risk.

    ``methods`` are names with options in brackets, ``"kelly, small-counts(base=5)"``, or objects, or a mapping from names to
    objects. Each method gets ``time_limit`` seconds. Widths of audit intervals are computed for a ``sample`` of cells, the same
    for all methods. Methods that draw at random use the ``secret``, or a new one. ``say`` is called with each outcome. Ctrl-C
    ends the comparison, and finished results are kept.
    """
    if sample is not None and sample < 1:
        raise InputError("sample= is a number of cells: 1 or more, or None for all.")
    methods = standard(problem) if methods is None else methods
    chosen = methods if isinstance(methods, Mapping) else read_methods(methods)
    drawn = Sample.drawn(problem, sample)
    outcomes: list[MethodOutcome] = []
    common_secret = Secret.of(secret)
    with _interruptions() as interrupted:
        for number, (name, method) in enumerate(chosen.items(), start=1):
            if interrupted:
                outcomes.append(MethodOutcome(name, 0.0, reason=NOT_RUN_REASON))
                continue
            meter = Meter(
                problem, drawn, executor, _NamedProgress(progress or Silent(), f"{number}/{len(chosen)} {name}")
            )
            started = time.monotonic()
            try:
                options = {"seed": seed, "time_limit": time_limit, "gap": gap, "secret": common_secret}
                outcomes.append(_outcome(name, method, meter, **options))
            except KeyboardInterrupt:
                if not any(one.loss for one in outcomes):
                    raise
                outcomes.append(MethodOutcome(name, time.monotonic() - started, reason=INTERRUPTED_REASON))
                interrupted.append(True)
            say(outcomes[-1])
    stopped = any(one.reason in (NOT_RUN_REASON, INTERRUPTED_REASON) for one in outcomes)
    limit = "none" if time_limit is None else f"{time_limit:g} s per method"
    settings = {"Time limit": limit, "Gap": f"{gap:g}", "Seed": str(seed)}
    return Comparison(problem, tuple(outcomes), len(drawn.cells), drawn.of, stopped, settings)


def _outcome(name: str, method: Method, meter: Meter, **options: Any) -> MethodOutcome:
    """Protect the table and measure the result; if the method fails, the reason."""
    started = time.monotonic()
    options |= {"executor": meter.executor, "progress": meter.progress}
    try:
        found = protect(meter.problem, method, **options, level="cells")
    except (DiscreetError, ArithmeticError, RuntimeError) as error:  # solvers raise the latter two
        return MethodOutcome(name, time.monotonic() - started, reason=str(error))
    seconds = time.monotonic() - started
    return MethodOutcome(name, seconds, found, meter.loss(found), *meter.risks(found))


@dataclass(frozen=True)
class _NamedProgress:
    """Progress with the name of the method."""

    progress: Progress
    name: str

    def stage(self, name: str, total: int) -> None:
        self.progress.stage(f"{self.name}: {name}", total)

    def update(self, done: int, note: str = "") -> None:
        self.progress.update(done, note)


@contextmanager
def _interruptions() -> Iterator[list[bool]]:
    """A list that is not empty after Ctrl-C or SIGTERM, also if the method caught it to return its result."""
    received: list[bool] = []
    before = {number: handler for number in STOP_SIGNALS if callable(handler := signal.getsignal(number))}
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    def record(number: int, frame: FrameType | None) -> None:
        received.append(True)
        before[signal.Signals(number)](number, frame)

    for number in before:
        signal.signal(number, record)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
