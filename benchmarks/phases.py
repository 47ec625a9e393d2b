"""What is measured. One phase a function: an instance's problem in, named figures out."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.instances import INSTANCES, folder, tree
from benchmarks.microdata import write_rows
from discreet.audit import audit
from discreet.data.relations import additive
from discreet.data.tabulate import tabulate
from discreet.methods import protect
from discreet.problem import Problem
from discreet.rules import parse_rules

Figures = dict[str, Any]


def phase_protect(problem: Problem, seed: int, method: str = "kelly", time_limit: float = 600.0) -> Figures:
    """Cost and time of a pattern, audited."""
    started = time.process_time()
    found = protect(problem, method, seed=seed, time_limit=time_limit, level="cells")
    seconds = time.process_time() - started
    checked = audit(problem, found, intervals=False)
    report = found.report
    return {
        "cells": len(problem),
        "primaries": report.n_primary,
        "secondaries": report.n_secondary,
        "cost": report.cost,
        "secondary_cost": float(problem.cost[found.decision == 2].sum()),
        "status": report.status,
        "under_protected": int((~checked.safe).sum()),
        "cpu_s": round(seconds, 3),
    }


def phase_audit(problem: Problem, seed: int) -> Figures:
    """Verdict and exact intervals of the pattern that kelly finds."""
    found = protect(problem, "kelly", seed=seed, level="cells")
    figures: Figures = {
        "cells": len(problem),
        "primaries": found.report.n_primary,
        "hidden": int(found.suppressed.sum()),
    }
    for mode in ("verdict", "intervals"):
        started = time.process_time()
        checked = audit(problem, found, intervals=mode == "intervals")
        figures |= {
            f"{mode}_cpu_s": round(time.process_time() - started, 3),
            "under_protected": int((~checked.safe).sum()),
        }
    return figures


PHASES: dict[str, Callable[[Problem, int], Figures]] = {"protect": phase_protect, "audit": phase_audit}


def relations_of_a_million_cells(seed: int) -> Figures:
    """How long the relations of a full table of a million cells take to build, and the memory they take on top."""
    hierarchies = [tree((9, 10), letter) for letter in "ABC"]
    codes = np.indices([len(h) for h in hierarchies]).reshape(3, -1).astype(np.int32)
    before, started = _peak(), time.process_time()
    matrix, _ = additive(hierarchies, codes)
    seconds = time.process_time() - started
    return {
        "cells": codes.shape[1],
        "relations": matrix.shape[0],
        "nonzeros": matrix.nnz,
        "cpu_s": round(seconds, 3),
        "added_mb": round(_peak() - before),
    }


def _peak() -> float:
    """Most memory this process ever held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def tabulate_rows(name: str, rows: int, seed: int, scratch: Path) -> Figures:
    """Records to a hierarchical table with the two largest contributions of every cell, counted per respondent."""
    path, dimensions = write_rows(scratch, name, rows, seed)
    wall, cpu = time.perf_counter(), time.process_time()
    table = tabulate(path, dimensions, "value", contributor="firm", top=2)
    figures = {
        "rows": rows,
        "cells": len(table),
        "wall_s": round(time.perf_counter() - wall, 2),
        "cpu_s": round(time.process_time() - cpu, 2),
    }
    started = time.process_time()
    (rule,) = parse_rules("P(15)")
    figures["primaries"] = int(rule(table).sensitive.sum())
    figures["assess_cpu_s"] = round(time.process_time() - started, 3)
    return figures


def measure(phase: str, name: str, seed: int, data: Path | None, rows: int) -> dict[str, Any]:
    """One measurement, with the peak memory of the process it runs in."""
    if phase == "tabulate":
        with tempfile.TemporaryDirectory() as scratch:
            figures = tabulate_rows(name, rows, seed, Path(scratch))
    elif phase == "relations":
        figures = relations_of_a_million_cells(seed)
    else:
        instances = INSTANCES | (folder(data) if data else {})
        figures = PHASES[phase](instances[name].make(seed), seed)
    return {"phase": phase, "instance": name, "seed": seed, **figures, "peak_mb": round(_peak())}
