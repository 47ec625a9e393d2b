"""Runs in the peers' environment, without this package: one peer's suppression of one table.

``python suppression_runner.py PEER FOLDER SECONDS [ARGUMENT …]``: the folder takes what the peer writes, and at last
``pattern.csv``, a line a cell with the columns ``value`` and ``hidden``, and ``answer.json``. After so many seconds of
processor time the process ends.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[[], Any]


def tau_argus(folder: Path, survey: str, suppress: str) -> tuple[Run, Callable[[Any], Any]]:
    """pytauargus on records: tabulation, p-percent rule (p = 15, one intruder) and suppression are one call."""
    import pandas as pd
    from pytauargus import protect

    home = Path(survey)
    branching = json.loads((home / "meta.json").read_text())["branching"]
    names = [f"d{d}" for d in range(1, len(branching) + 1)]
    records = pd.read_csv(home / "micro.csv.gz", dtype=dict.fromkeys(names, str))
    trees = {name: str(home / f"{name}.hrc") for name, widths in zip(names, branching, strict=True) if len(widths) > 1}

    def run() -> Any:
        return protect(
            records[[*names, "value"]],
            names,
            response="value",
            safety_rules="P(15,100,1)",
            suppress=suppress,
            hrc=trees,
            totcode="Total",
            hierleadstring="@",
            workdir=str(folder),
        )

    def pattern(found: Any) -> Any:
        cells = found.tables[0].dataframe()
        return pd.DataFrame({"value": cells["value"], "hidden": cells["status"].isin(["U", "M"]).astype(int)})

    return run, pattern


def gconfid(folder: Path, sensitivity: str) -> tuple[Run, Callable[[Any], Any]]:
    """G-Confid's module Suppression on its tables of cells and constraints; it takes no empty cells."""
    import gconfid as package
    import pandas as pd

    everything, relations = pd.read_csv(folder / "cells.csv"), pd.read_csv(folder / "relations.csv")
    cells = everything[everything["TotalNoise"] > 0].drop(columns="OutStatus")
    cells["Sensitivity"] *= float(sensitivity)
    relations = relations[relations["CellId"].isin(cells["CellId"])]

    def run() -> Any:
        return package.Suppression(
            incell=cells, inconstraint=relations, outsuppress="pandas", trace=package.log_level.ERROR
        )

    def pattern(found: Any) -> Any:
        kept = found.outsuppress
        suppressed = set(kept["CellId"][kept["OutStatus"] == "X"].astype(int))
        return pd.DataFrame(
            {"value": everything["TotalNoise"], "hidden": everything["CellId"].isin(suppressed).astype(int)}
        )

    return run, pattern


PEERS = {"pytauargus": tau_argus, "gconfid": gconfid}


def cpu() -> float:
    """Of this process and those it started: a peer may hand its programs to a solver outside."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in both)


if __name__ == "__main__":
    peer, place, most, *arguments = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(most), resource.RLIM_INFINITY))
    os.chdir(place)  # solvers leave files where they run
    run, pattern = PEERS[peer](Path(place), *arguments)
    wall, begun = time.perf_counter(), cpu()
    found = run()
    spent = {"cpu_s": cpu() - begun, "wall_s": time.perf_counter() - wall}
    pattern(found).to_csv(Path(place, "pattern.csv"), index=False)
    Path(place, "answer.json").write_text(json.dumps(spent))
