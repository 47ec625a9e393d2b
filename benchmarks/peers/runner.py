"""Runs in the peers' environment, without this package: one peer's audit of one pattern, its answer as JSON.

``python runner.py PEER PATTERN WARM_UP ANSWER``: the first two folders hold what :mod:`benchmarks.peers.exchange` writes. The
peer first audits the small pattern of the second, so that loading its parts does not count.
"""

from __future__ import annotations

import importlib.metadata
import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPEATS, SHORT = 3, 1.0  # as for our own audit
Intervals = dict[int, tuple[float, float]]


def pytauargus(folder: Path) -> Callable[[], Intervals]:
    """Its audit of a JJ file: status u and m are suppressed, all others published."""
    from pytauargus.engine import audit_jj

    return lambda: {row["cell"]: (row["min"], row["max"]) for row in audit_jj(str(folder / "pattern.jj"))}


def gconfid(folder: Path) -> Callable[[], Intervals]:
    """Its module Auditing: every suppressed cell is known to lie between 0 and ten times its value, as wide as it allows."""
    import gconfid as package
    import pandas as pd

    cells, relations = pd.read_csv(folder / "cells.csv"), pd.read_csv(folder / "relations.csv")

    def run() -> Intervals:
        audited = package.Auditing(
            incell=cells,
            inconstraint=relations,
            outaudit="pandas",
            lb_factor=0.0,
            ub_factor=10.0,
            trace=package.log_level.ERROR,
        ).outaudit
        low, high = audited["MinValue"].astype(float), audited["MaxValue"].astype(float)
        return {int(i) - 1: (a, b) for i, a, b in zip(audited["CellId"], low, high, strict=True)}

    return run


PEERS = {"pytauargus": pytauargus, "gconfid": gconfid}


def cpu() -> float:
    """Of this process and those it started: a peer may hand its programs to a solver outside."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in both)


def answer(peer: str, folder: Path, small: Path) -> dict[str, Any]:
    version = importlib.metadata.version(peer)
    try:
        PEERS[peer](small)()
        run = PEERS[peer](folder)
        best = float("inf")
        for _ in range(REPEATS):
            started = cpu()
            found = run()
            spent = cpu() - started
            best = min(best, spent)
            if spent >= SHORT:
                break
    except Exception as error:
        return {"version": version, "error": f"{type(error).__name__}: {error}"}
    return {"version": version, "cpu_s": best, "intervals": {i: list(ends) for i, ends in found.items()}}


if __name__ == "__main__":
    name, *folders, to = sys.argv[1:]
    Path(to).write_text(json.dumps(answer(name, *map(Path, folders))))
