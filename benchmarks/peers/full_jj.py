"""The optimal suppression of pytauargus: a problem as the JJ file it reads, and the pattern it answers with."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.alone import ONE_THREAD
from discreet.arrays import BoolArray, FloatArray
from discreet.audit import audit
from discreet.errors import DiscreetError
from discreet.io.jj import write_problem
from discreet.problem import Problem, Status
from discreet.protection import Decision, suppress

GRACE = 120.0  # seconds of processor time beyond its limit after which it is ended
MOST = 2e9  # what all cells cost together: its sums have 32 bits


def peer(problem: Problem, python: Path, limit: float) -> dict[str, Any]:
    """Cost by the problem's own costs, seconds, and primaries that the pattern leaves under-protected."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            suppressed, figures = solve(problem, python, limit, Path(scratch))
            if suppressed is None:
                return figures
            pattern = suppress(problem, suppressed)
        except DiscreetError as error:
            return {"peer_status": f"failed: {error}"[:120]}
    checked = audit(problem, pattern, intervals=False)
    return figures | {
        "peer_cost": float(problem.cost[pattern.decision == Decision.SECONDARY].sum()),
        "peer_under": len(np.unique(checked.cell[~checked.safe])),
    }


def solve(problem: Problem, python: Path, limit: float, scratch: Path) -> tuple[BoolArray | None, dict[str, Any]]:
    """What the peer suppresses, if it says so, and how it went."""
    write_problem(readable(problem), scratch / "problem.jj")
    runner = Path(__file__).with_name("full_jj_runner.py")
    minutes = max(1, math.ceil(limit / 60))
    wait = int(minutes * 60 + GRACE)
    command = [str(python), "-I", str(runner), str(scratch / "problem.jj"), str(scratch), str(minutes), str(wait)]
    try:
        # The machine may do other work: by the clock it gets twice the time.
        done = subprocess.run(
            command, capture_output=True, timeout=2 * wait, env={**os.environ, **ONE_THREAD}, cwd=scratch, check=False
        )
    except subprocess.TimeoutExpired:
        return None, {"peer_status": f"ended after {2 * wait} s"}
    if done.returncode == -signal.SIGXCPU:
        return None, {"peer_status": f"ended after {wait} CPU s"}
    if not (scratch / "answer.json").exists():
        return None, {"peer_status": f"failed: exit code {done.returncode}"}
    answer = json.loads((scratch / "answer.json").read_text())
    figures = {"peer_s": round(answer["cpu_s"], 3), "peer_wall_s": round(answer["wall_s"], 3)}
    listed = [int(line) for line in (scratch / "pattern.txt").read_text().split()]
    log = (scratch / "CSPlogfile.txt").read_text(errors="replace")
    if answer["code"] > 1 or (not listed and "END:" not in log):
        return None, {**figures, "peer_status": f"failed: code {answer['code']}"}
    suppressed = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
    suppressed[listed] = True
    return suppressed, {**figures, "peer_status": "optimal" if "optimal solution" in log else "time_limit"}


def readable(problem: Problem) -> Problem:
    """As the peer reads it: cells called by number from 0, and whole costs."""
    table = replace(problem.table, names=tuple(map(str, range(len(problem)))))
    return problem.with_columns(table=table, cost=whole(problem.cost))


def whole(cost: FloatArray) -> FloatArray:
    """Costs times a power of ten, rounded: with as many digits as they have, or as there is place for."""
    digits = next((d for d in range(6) if np.allclose(cost * 10**d, np.rint(cost * 10**d), rtol=1e-12, atol=1e-9)), 6)
    while cost.sum() * 10.0**digits > MOST:
        digits -= 1
    return np.where(cost > 0, np.maximum(np.rint(cost * 10.0**digits), 1.0), 0.0)
