"""How long the audit takes: processor time of the whole call, from a ready problem and protection to its result."""

from __future__ import annotations

import time
from dataclasses import dataclass

from benchmarks.alone import limit
from benchmarks.baseline import Bound, sampled
from benchmarks.patterns import WARM_UP, pattern
from discreet.arrays import FloatArray
from discreet.audit import audit

REPEATS = 3
SHORT = 1.0  # seconds; what takes less is repeated


@dataclass(frozen=True)
class Timing:
    """The fewest seconds of some runs, and what they found about the primaries."""

    cpu_s: float
    exposed: int
    lower: FloatArray
    upper: FloatArray


def warm_up() -> None:
    """Kernels are compiled on first use, once a machine and version: that is not what is measured."""
    for name in WARM_UP:
        for intervals in (False, True):
            protection = pattern(name)
            audit(protection.problem, protection, intervals=intervals)


def timed(name: str, seed: int, intervals: bool, cap: float) -> Timing:
    """To be run alone: it ends its process when a run takes more than ``cap`` seconds."""
    warm_up()
    best = float("inf")
    for _ in range(REPEATS):
        protection = pattern(name, seed)  # made anew, so that nothing worked out in an earlier run is at hand
        limit(cap)
        started = time.process_time()
        found = audit(protection.problem, protection, intervals=intervals)
        spent = time.process_time() - started
        best = min(best, spent)
        if spent >= SHORT:
            break
    return Timing(best, int((~found.safe).sum()), found.lower, found.upper)


def intervals_of(name: str, seed: int, cells: list[int], cap: float) -> Timing:
    """Exact intervals of some cells only, to compare with where those of all take too long."""
    protection = pattern(name, seed)
    limit(cap)
    started = time.process_time()
    found = audit(protection.problem, protection, cells=cells, intervals=True)
    return Timing(time.process_time() - started, int((~found.safe).sum()), found.lower, found.upper)


def baseline(name: str, seed: int) -> list[Bound]:
    return sampled(pattern(name, seed), seed)


def size(name: str, seed: int) -> dict[str, int | str]:
    """Makes the pattern if need be, so that no measurement has to."""
    protection = pattern(name, seed)
    return {
        "instance": name,
        "rule": protection.report.method,
        "seed": seed,
        "cells": len(protection.problem),
        "primaries": protection.report.n_primary,
        "hidden": int(protection.suppressed.sum()),
    }
