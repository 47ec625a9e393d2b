"""The optimal suppression of pytauargus: a problem as the JJ file it reads, and the pattern it answers with."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.alone import ONE_THREAD
from discreet.audit import audit
from discreet.errors import DiscreetError
from discreet.io.jj import write_problem
from discreet.problem import BoolArray, Problem, Status
from discreet.protection import Decision, suppress

GRACE = 120.0  # seconds beyond its limit after which it is ended
WIDE = 10.0  # times the largest value: stands for "no bound", which the peer cannot read


def peer(problem: Problem, python: Path, limit: float) -> dict[str, Any]:
    """Cost by the problem's own costs, seconds, and primaries that the pattern leaves under-protected."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            hidden, figures = solve(problem, python, limit, Path(scratch))
            if hidden is None:
                return figures
            pattern = suppress(problem, hidden)
        except DiscreetError as error:
            return {"peer_status": f"failed: {error}"[:120]}
    checked = audit(problem, pattern, intervals=False)
    return figures | {
        "peer_cost": float(problem.cost[pattern.decision == Decision.SECONDARY].sum()),
        "peer_under": len(np.unique(checked.cell[~checked.safe])),
    }


def solve(problem: Problem, python: Path, limit: float, scratch: Path) -> tuple[BoolArray | None, dict[str, Any]]:
    """What the peer hides, if it says so, and how it went."""
    write_problem(readable(problem), scratch / "problem.jj")
    runner = Path(__file__).with_name("full_jj_runner.py")
    minutes = max(1, math.ceil(limit / 60))
    command = [str(python), "-I", str(runner), str(scratch / "problem.jj"), str(scratch), str(minutes)]
    wait = minutes * 60 + GRACE
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=wait, env={**os.environ, **ONE_THREAD}, cwd=scratch, check=False
        )
    except subprocess.TimeoutExpired:
        return None, {"peer_status": f"ended after {wait:.0f} s"}
    if not (scratch / "answer.json").exists():
        return None, {"peer_status": f"failed: exit code {done.returncode}"}
    answer = json.loads((scratch / "answer.json").read_text())
    figures = {"peer_s": round(answer["cpu_s"], 3), "peer_wall_s": round(answer["wall_s"], 3)}
    listed = [int(line) for line in (scratch / "pattern.txt").read_text().split()]
    log = (scratch / "CSPlogfile.txt").read_text(errors="replace")
    if answer["code"] > 1 or (not listed and "END:" not in log):
        return None, {**figures, "peer_status": f"failed: code {answer['code']}"}
    hidden = np.isin(problem.status, (Status.PRIMARY, Status.HIDDEN))
    hidden[listed] = True
    return hidden, {**figures, "peer_status": "optimal" if "optimal solution" in log else "time_limit"}


def readable(problem: Problem) -> Problem:
    """Cells are called by number from 0, as the peer takes nothing else, and all bounds are finite."""
    table = problem.table
    far = WIDE * float(np.abs(table.value).max())
    return problem.with_columns(
        table=replace(table, names=tuple(map(str, range(len(table))))),
        prior_lower=np.where(np.isfinite(problem.prior_lower), problem.prior_lower, -far),
        prior_upper=np.where(np.isfinite(problem.prior_upper), problem.prior_upper, far),
    )
