"""The peers' suppression of a survey's table: what each suppresses, and the processor time it takes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.alone import ONE_THREAD
from benchmarks.peers.exchange import comparable, write
from benchmarks.peers.full_jj import solve
from discreet.arrays import BoolArray
from discreet.problem import Problem, Status

MOST = 900  # seconds of processor time after which a peer is ended; by the clock it gets twice that


@dataclass(frozen=True)
class Case:
    """A survey as JJ problem and as folder of records; both have the same cells in the same order."""

    problem: Problem
    survey: Path


@dataclass(frozen=True)
class Found:
    """What a peer suppresses, if it has an answer; how it ended and what it took."""

    suppressed: BoolArray | None
    figures: Mapping[str, Any]


Peer = Callable[[Case, Path], Found]


def from_records(suppress: str) -> Peer:
    """pytauargus on the records, as its users call it; costs are the values, as it rounds them."""

    def run(case: Case, python: Path) -> Found:
        with tempfile.TemporaryDirectory() as scratch:
            return _run(case.problem, python, Path(scratch), "pytauargus", str(case.survey.resolve()), suppress)

    return run


def from_jj(minutes: int) -> Peer:
    """pytauargus on the JJ problem, whose costs it then knows, for so many minutes of processor time."""

    def run(case: Case, python: Path) -> Found:
        with tempfile.TemporaryDirectory() as scratch:
            suppressed, told = solve(case.problem, python, 60.0 * minutes, Path(scratch))
        renamed = {"peer_status": "status", "peer_s": "cpu_s", "peer_wall_s": "wall_s"}
        return Found(suppressed, {renamed[name]: figure for name, figure in told.items()})

    return run


def from_cells(sensitivity: float) -> Peer:
    """G-Confid, with a share of both levels together as the sensitivity of a cell."""

    def run(case: Case, python: Path) -> Found:
        with tempfile.TemporaryDirectory() as scratch:
            write(comparable(case.problem, case.problem.status == Status.PRIMARY), Path(scratch))
            return _run(case.problem, python, Path(scratch), "gconfid", str(sensitivity))

    return run


# Sensitivity by the p-percent rule is one level, and both are equal here: that is what G-Confid's own users hand in.
PEERS: dict[str, Peer] = {
    "pytauargus MOD": from_records("MOD(1,5,0,0,0)"),
    "pytauargus OPT(1)": from_records("OPT(1)"),
    "pytauargus OPT 1 min": from_jj(1),
    "pytauargus OPT 5 min": from_jj(5),
    "gconfid": from_cells(0.5),
    "gconfid both levels": from_cells(1.0),
}


def _run(problem: Problem, python: Path, scratch: Path, peer: str, *arguments: str) -> Found:
    runner = Path(__file__).with_name("suppression_runner.py").resolve()
    command = [str(python.absolute()), "-I", str(runner), peer, str(scratch), str(MOST), *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=2 * MOST, env={**os.environ, **ONE_THREAD}, check=False
        )
    except subprocess.TimeoutExpired:
        return Found(None, {"status": f"ended after {2 * MOST} s"})
    if done.returncode == -signal.SIGXCPU:
        return Found(None, {"status": f"ended after {MOST} CPU s"})
    if not (scratch / "answer.json").exists():
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return Found(None, {"status": f"failed: {last}"[:120]})
    spent = {name: round(seconds, 3) for name, seconds in json.loads((scratch / "answer.json").read_text()).items()}
    return Found(same_cells(problem, pd.read_csv(scratch / "pattern.csv")), {"status": "done", **spent})


def same_cells(problem: Problem, pattern: pd.DataFrame) -> BoolArray:
    """What is suppressed, once it is sure that cells stand where the problem has them."""
    if not np.array_equal(pattern["value"].to_numpy(dtype=float), problem.table.value):
        raise ValueError("The peer's cells are not those of the problem.")
    return pattern["hidden"].to_numpy(dtype=bool)
