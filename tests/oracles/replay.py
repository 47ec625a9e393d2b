"""The attacker who knows the method: which tables that agree with a release would have led to the same release?

On tiny tables of counts all of them are listed, and the package is run on each. What a sensitive cell can be in those that
lead to the same release must not be narrower than required, for more cells than the internal report says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from tests.oracles.attackers import Attacker
from tests.oracles.black_box import run
from tests.oracles.draw_jobs import Draw
from tests.oracles.judge import Violation
from tests.oracles.reader import read
from tests.oracles.records import Codes, read_survey
from tests.oracles.release import read_release
from tests.oracles.rules import needs
from tests.oracles.trees import Tree

METHODS = ("kelly", "optimal", "hypercube", "intervals", "round", "random-round", "small-counts")
MOST_TABLES = 40  # that agree with a release: each takes a run
MOST_COMBINATIONS = 200_000  # of values of suppressed cells, to list them

Counts = dict[Codes, int]
Publish = Callable[[Counts], str | None]  # the release of a table as text, None if there is none


@dataclass(frozen=True)
class Replayed:
    """What came of one table."""

    method: str
    outcome: str  # replayed, or why not
    tables: int = 0
    kept: int = 0
    sensitive: int = 0
    narrower: int = 0
    stated: int = 0

    @property
    def violation(self) -> Violation | None:
        if self.narrower <= self.stated:
            return None
        cells = f"{self.narrower} of {self.sensitive} sensitive cells are narrower than required"
        return Violation(
            "replay",
            self.method,
            f"{cells} ({self.kept} of {self.tables} tables are left), {self.stated} by the report",
        )


def try_replay(seed: int, folder: Path) -> Replayed:
    """Draw a tiny table of counts, let the package release it, and replay."""
    rng = np.random.default_rng([81, seed])
    method = str(rng.choice(METHODS))
    shape = (2, int(rng.integers(2, 4)))
    counts = {(f"a{i}", f"b{j}"): int(rng.choice([0, 1, 1, 2, 2, 3, 4, 6])) for i, j in product(*map(range, shape))}
    if not any(counts.values()):
        counts["a0", "b0"] = 1
    job = _job(seed, method, shape)
    outcome = _publish(job, folder / "truth")(counts)
    if outcome is None:
        return Replayed(method, "refused")
    again = replace(job, output={**job.output, "attacks": []})
    publish = _publish(again, folder / "again")
    if publish(counts) != outcome:
        return Replayed(method, "not repeatable: drawn by a secret")
    report = json.loads((folder / "truth" / "out" / "report.json").read_text(encoding="utf-8"))
    stated = report.get("replay") or {}
    if not stated and any("was not computed" in one["sentence"] for one in report["conditions"]):
        return Replayed(method, "not stated: beside the verdict it says so")  # out of time on a busy machine
    found = replay(folder / "truth" / "job.toml", publish)
    return replace(found, method=method, stated=int(stated.get("narrower", 0)))


def replay(job: Path, publish: Publish) -> Replayed:
    """List the tables that agree with the release of a job, and keep those that ``publish`` makes the same release of."""
    survey = read_survey(job)
    path = survey.out / "release.csv"
    text = path.read_text(encoding="utf-8")
    system = read(survey, read_release(survey, path)).system(survey)
    attacker = Attacker(system, 1.0, integer=True)
    truth = {base: int(survey.behind[base].value) if base in survey.behind else 0 for base in survey.finest()}
    if not system.columns:
        return Replayed("", "nothing is suppressed")
    ranges = []
    for base, k in system.columns.items():
        down, up = (attacker.furthest(np.array([k]), sign) for sign in (-1, 1))
        if not np.isfinite(down + up):
            return Replayed("", "unbounded")
        ranges.append(range(round(truth[base] - down), round(truth[base] + up) + 1))
    if np.prod([float(len(one)) for one in ranges]) > MOST_COMBINATIONS:
        return Replayed("", "too many tables")
    shift = np.array([truth[base] for base in system.columns])
    tables = np.array(list(product(*ranges))).reshape(-1, len(ranges))
    sums = (tables - shift) @ system.rows.toarray().T
    tables = tables[((sums >= system.row_low - 1e-9) & (sums <= system.row_high + 1e-9)).all(axis=1)]
    if len(tables) > MOST_TABLES:
        return Replayed("", "too many tables")
    kept = [
        table for table in tables if publish(truth | dict(zip(system.columns, table.tolist(), strict=True))) == text
    ]
    required = needs(survey)
    narrower = 0
    for place, need in required.items():
        columns = system.of(survey, place)
        off = [int((table - shift)[columns].sum()) for table in kept]
        low, high = -min(off), max(off)
        narrower += low < need.lower or high < need.upper or low + high < need.width
    return Replayed("", "replayed", len(tables), len(kept), len(required), narrower)


def _job(seed: int, method: str, shape: tuple[int, int]) -> Draw:
    trees = {
        name: Tree("Total", {f"{name}{k}": "Total" for k in range(n)}) for name, n in zip("ab", shape, strict=True)
    }
    width = method in ("random-round", "small-counts")
    return Draw(
        seed,
        method,
        "tiny counts",
        trees,
        dict.fromkeys(trees, True),
        rules={"sensitive": ["FREQ(3,20,2)" if width else "FREQ(3)"]},
        output={"folder": "out", "formats": ["csv"]},
    )


def _publish(job: Draw, folder: Path) -> Publish:
    def publish(counts: Counts) -> str | None:
        records = [dict(zip("ab", place, strict=True)) for place, n in counts.items() for _ in range(n)]
        if not records:
            return None
        path = replace(job, records=records).write(folder)
        release = folder / "out" / "release.csv"
        release.unlink(missing_ok=True)
        return release.read_text(encoding="utf-8") if run(path).code == 0 else None

    return publish
