"""One pattern through our audit and the peers': intervals of all suppressed cells, compared, and the time they took."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.alone import ONE_THREAD, alone
from benchmarks.audit import same
from benchmarks.instances import shaped
from benchmarks.patterns import sequential, suppressed_by
from benchmarks.peers.environment import VERSIONS
from benchmarks.peers.exchange import comparable, write
from benchmarks.timing import REPEATS, SHORT, warm_up
from discreet.arrays import BoolArray, FloatArray
from discreet.audit import audit
from discreet.problem import Problem

SMALL = shaped("flat2d_8", (8,), (8,), share=0.1)  # the peers' warm-up


def ours(problem: Problem, suppressed: BoolArray) -> tuple[float, FloatArray, FloatArray]:
    """To be run alone: seconds, and the intervals of all suppressed cells."""
    warm_up()
    best = float("inf")
    for _ in range(REPEATS):
        protection = comparable(problem, suppressed)
        started = time.process_time()
        found = audit(protection.problem, protection, cells=np.flatnonzero(suppressed), intervals=True)
        spent = time.process_time() - started
        best = min(best, spent)
        if spent >= SHORT:
            break
    return best, found.lower, found.upper


def theirs(peer: str, python: Path, pattern: Path, small: Path, timeout: float) -> dict[str, Any]:
    """What the runner answers, or in short why it does not."""
    to = pattern / f"{peer}.json"
    one_thread = {**os.environ, **ONE_THREAD}
    command = [str(python), "-I", str(Path(__file__).with_name("runner.py")), peer, str(pattern), str(small), str(to)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=one_thread, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"more than {timeout:.0f} s"}
    if not to.exists():
        return {"error": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]}
    answer: dict[str, Any] = json.loads(to.read_text())
    return answer if answer.get("intervals") else {"error": answer.get("error", "it gave no intervals")}


def compare(name: str, problem: Problem, seed: int, python: Path, scratch: Path, timeout: float) -> dict[str, Any]:
    """One line of the table."""
    suppressed = suppressed_by(name, problem, sequential, seed).suppressed
    protection = comparable(problem, suppressed)
    write(protection, scratch / name)
    cells, value = np.flatnonzero(suppressed), problem.table.value[suppressed]
    mine = alone(ours, problem, suppressed)
    assert mine is not None
    seconds, lower, upper = mine
    record: dict[str, Any] = {
        "instance": name,
        "seed": seed,
        "cells": len(problem),
        "primaries": len(problem.primaries),
        "hidden": len(cells),
        "ours_s": round(seconds, 4),
    }
    for peer in VERSIONS:
        answer = theirs(peer, python, scratch / name, scratch / SMALL.name, timeout)
        found = np.array([answer.get("intervals", {}).get(str(i), (np.nan, np.nan)) for i in cells])
        agree = same(lower, found[:, 0], value) & same(upper, found[:, 1], value)
        record[f"{peer}_s"] = answer.get("cpu_s") and round(answer["cpu_s"], 4)
        record[f"{peer}_agree"] = None if "error" in answer else int(agree.sum())
        record[f"{peer}_error"] = answer.get("error", "")[:120]
    return record
