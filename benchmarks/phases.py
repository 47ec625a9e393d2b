"""What is measured. One phase a function: an instance's problem in, named figures out."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.microdata import PROBLEMS, write_rows
from benchmarks.instances import filled, tree
from discreet.audit import audit
from discreet.methods import protect
from discreet.problem import Problem
from discreet.relations import additive
from discreet.rules import parse_rules
from discreet.tabulate import tabulate

Figures = dict[str, Any]


def phase_protect(problem: Problem, seed: int, method: str = "kelly", time_limit: float = 600.0) -> Figures:
    """Cost and time of a pattern, audited."""
    started = time.process_time()
    found = protect(problem, method, seed=seed, time_limit=time_limit)
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
    found = protect(problem, "kelly", seed=seed)
    figures: Figures = {"cells": len(problem), "primaries": found.report.n_primary, "hidden": int(found.hidden.sum())}
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
    """How long the relations of a table of a million cells take to build."""
    rng = np.random.default_rng(seed)
    hierarchies = [tree(widths, letter) for widths, letter in zip([(9, 10), (9, 10), (9, 10)], "ABC", strict=True)]
    codes = filled(hierarchies, rng.integers(1, 100, (90, 90, 90)).astype(float)).codes
    started = time.process_time()
    matrix, _ = additive(hierarchies, codes)
    return {"cells": codes.shape[1], "relations": matrix.shape[0], "cpu_s": round(time.process_time() - started, 3)}


def tabulate_rows(name: str, rows: int, seed: int, folder: Any) -> Figures:
    """Records to a hierarchical table with the two largest contributions of every cell, counted per respondent."""
    path, dimensions = write_rows(folder, name, rows, seed)
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


MICRODATA = PROBLEMS
