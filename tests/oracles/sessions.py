"""Many random jobs: draw, run, judge, and count."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.oracles.black_box import run
from tests.oracles.draw_jobs import METHODS, draw
from tests.oracles.judge import Guess, Violation, judge


@dataclass(frozen=True)
class Case:
    """What came of one job."""

    seed: int
    method: str
    kind: str
    outcome: str  # released, refused or crashed
    message: str
    violations: tuple[Violation, ...]
    guesses: tuple[Guess, ...]
    sensitive: int
    seconds: tuple[float, float]  # CPU time of the package and of the judge


@dataclass
class Tally:
    """Cases by method."""

    cases: list[Case] = field(default_factory=list)

    @property
    def violations(self) -> list[tuple[Case, Violation]]:
        return [(case, one) for case in self.cases for one in case.violations]

    def summary(self) -> str:
        lines = [
            f"{'method':14} {'jobs':>6} {'refused':>8} {'violated':>9} {'sensitive':>10} {'CPU s':>7} {'judge':>7}"
        ]
        for method in sorted({case.method for case in self.cases}):
            mine = [case for case in self.cases if case.method == method]
            refused, violated = sum(c.outcome == "refused" for c in mine), sum(bool(c.violations) for c in mine)
            spent = [sum(c.seconds[k] for c in mine) for k in (0, 1)]
            lines.append(
                f"{method:14} {len(mine):6,} {refused / len(mine):8.1%} {violated:9,} "
                f"{sum(c.sensitive for c in mine):10,} {spent[0]:7.1f} {spent[1]:7.1f}"
            )
        kinds = Counter((one.kind, case.method) for case, one in self.violations)
        lines += [
            f"{number:6,} violations of kind {kind!r} by {method}" for (kind, method), number in kinds.most_common()
        ]
        return "\n".join(lines)


def try_jobs(seeds: Iterable[int], methods: tuple[str, ...] = METHODS, keep: Path | None = None) -> Tally:
    """Run and judge the jobs of these seeds; with ``keep`` the files of each stay in a folder there."""
    tally = Tally()
    for seed in seeds:
        folder = Path(tempfile.mkdtemp(prefix=f"judge-{seed}-")) if keep is None else keep / str(seed)
        try:
            tally.cases.append(try_job(seed, folder, methods))
        finally:
            if keep is None:
                shutil.rmtree(folder)
    return tally


def try_job(seed: int, folder: Path, methods: tuple[str, ...] = METHODS) -> Case:
    """Draw a job into a folder, run it, and judge what it wrote."""
    drawn = draw(seed, methods)
    path = drawn.write(folder)
    begun = time.process_time()
    outcome = run(path)
    ran = time.process_time()
    violations: tuple[Violation, ...] = ()
    guesses: tuple[Guess, ...] = ()
    word, sensitive = "refused", 0
    if outcome.crash:
        word = "crashed"
        violations = (Violation("crash", outcome.message, outcome.crash.strip().splitlines()[-3].strip()),)
    elif outcome.code == 0:
        verdict = judge(path)
        word, sensitive = "released", verdict.sensitive
        violations, guesses = tuple(verdict.violations), tuple(verdict.guesses)
    elif outcome.code not in (1, 2) or not outcome.message.strip():
        violations = (Violation("exit", "exit code", f"{outcome.code}, message {outcome.message!r}"),)
    elif (path.parent / "out" / "release.csv").exists():
        violations = (Violation("exit", "exit code", f"{outcome.code}, and a release was written"),)
    seconds = ran - begun, time.process_time() - ran
    return Case(seed, drawn.method, drawn.kind, word, outcome.message, violations, guesses, sensitive, seconds)
