"""Judges what a job wrote: what the files show is true, tells nothing about why cells are suppressed, and exposes no cell.

The reader has all files to publish. What readers infer is found by linear programs over the finest cells that any of the tables
has, of which nothing is known but that they are not negative: a reader who knows which of them are empty infers more.
"""

from __future__ import annotations

import math
import stat
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from tests.oracles.argus.files import is_confidential, shown
from tests.oracles.argus.folders import CODES, SUPPRESSES, Cell, Folder, Spec
from tests.oracles.argus.manual import Need, requirements
from tests.oracles.black_box import Outcome

TOLERANCE = 1e-5  # of the solver, as a share of a value
Numbers = tuple[str, bool]  # the response, and whether it is weighted


@dataclass
class Seen:
    """What readers see of the tables of one response, and what they must not infer."""

    intervals: list[tuple[Spec, Cell, float, float]] = field(default_factory=list)
    needs: list[tuple[Spec, Cell, Need, float]] = field(default_factory=list)


def judged(folder: Folder, outcome: Outcome) -> list[str]:
    """The faults of what a job wrote."""
    faults: list[str] = []
    seen: dict[Numbers, Seen] = defaultdict(Seen)
    for spec in folder.specs:
        cells = spec.cells(folder.records)
        needs = requirements(spec, cells)
        patterns: dict[int, set[Cell]] = {}
        for kind, options, file, number in spec.writes:
            path = folder.path / file
            if not path.exists():
                said = f"{file} is not written" in outcome.message
                faults += (
                    [] if outcome.code == 1 and said and not is_confidential(kind, options) else [f"{file} is missing"]
                )
                continue
            private = stat.S_IMODE(path.stat().st_mode) == 0o600
            faults += [] if private == is_confidential(kind, options) else [f"{file}: others may read it, or may not"]
            if is_confidential(kind, options):
                continue
            found, odd = shown(kind, options, path.read_text(encoding="utf-8"), spec, folder.records)
            how = spec.suppressions[number]
            one = seen[spec.response, spec.weighted]
            faults += [f"{file}: {what}" for what in (*odd, *_untrue(spec, how, found, cells, needs, one))]
            hidden = {cell for cell, text in found.items() if text == "x"}
            faults += (
                []
                if patterns.setdefault(number, hidden) == hidden
                else [f"{file}: another pattern than in another file"]
            )
        if patterns:
            method = {spec.suppressions[number].split("(")[0] for number in patterns}
            if not method & {"CTA", "CKM"}:
                one.needs += [(spec, cell, need, spec.value(cells[cell])) for cell, need in needs.items()]
    if any(r.weight != 1 for r in folder.records):
        both = [
            name for name, weighted in seen if weighted and seen[name, False].intervals and seen[name, True].intervals
        ]
        faults += [f"{name} is shown with weights and without" for name in both]
    return faults + [fault for one in seen.values() for fault in _exposed(folder, one)]


def _untrue(
    spec: Spec, how: str, found: dict[Cell, str], cells: dict[Cell, list], needs: dict[Cell, Need], seen: Seen
) -> list[str]:
    """What a file shows that is not so; what it shows of values is added to ``seen``."""
    method, *given = how.rstrip(")").replace("(", ",").split(",")
    unit, faults = 10.0**-spec.decimals, []
    base = float(given[1]) if method == "RND" else 0.0
    for cell, text in found.items():
        value = spec.value(cells.get(cell, ()))
        if text == "x":
            faults += [] if cell in cells else [f"empty cell {cell} is suppressed"]
            continue
        if text == "-":
            faults += [f"{cell} has records"] if cell in cells else []
            faults += ["an empty cell can be told from a zero"] if method not in SUPPRESSES else []
            seen.intervals.append((spec, cell, 0.0, 0.0))
            continue
        x = float(text)
        faults += [] if text == f"{x:.{spec.decimals}f}" else [f"{cell} is written {text}"]
        if method in SUPPRESSES:
            faults += [] if cell in cells and abs(x - value) < 0.5001 * unit else [f"{cell} is {value}, not {x}"]
            faults += [f"sensitive {cell} is published"] if cell in needs else []
            seen.intervals.append((spec, cell, value, value))
        elif method == "RND":
            near = abs(x - value) < base and abs(x / base - round(x / base)) < 1e-9
            faults += [] if near else [f"{cell} is rounded from {value} to {x}"]
            seen.intervals.append((spec, cell, max(0.0, x - base), x + base))
        elif method == "CTA" and cell in needs:
            down, up = min(needs[cell][0], value), needs[cell][1]
            faults += (
                [] if not value - down + unit < x < value + up - unit else [f"{cell} is adjusted from {value} to {x}"]
            )
        elif method == "CKM":
            faults += [] if abs(x - value) <= 1 else [f"{cell} is perturbed from {value} to {x}"]
    return faults


def _exposed(folder: Folder, seen: Seen) -> list[str]:
    """The cells that readers can infer too closely."""
    if not seen.needs or not seen.intervals:
        return []
    occurring = [sorted({r.codes[name] for r in folder.records}) for name in CODES]
    finest = [dict(zip(CODES, codes, strict=True)) for codes in product(*occurring)]
    inside: dict[int, dict[Cell, list[int]]] = {}

    def members(spec: Spec, cell: Cell) -> list[int]:
        if id(spec) not in inside:
            inside[id(spec)] = defaultdict(list)
            for k, codes in enumerate(finest):
                for one in product(*(spec.lineage(name, codes[name]) for name in spec.by)):
                    inside[id(spec)][one].append(k)
        return inside[id(spec)].get(cell, [])

    rows = [members(spec, cell) for spec, cell, _, _ in seen.intervals]
    indptr = np.cumsum([0, *map(len, rows)])
    columns = np.array([k for row in rows for k in row], dtype=np.int64)
    matrix = sparse.csr_array((np.ones(len(columns)), columns, indptr), shape=(len(rows), len(finest)))
    low, high = (np.array([one[side] for one in seen.intervals]) for side in (2, 3))
    exact = low == high
    empty = np.zeros(len(finest), dtype=bool)
    empty[matrix[np.flatnonzero(exact & (high == 0))].indices] = True
    bounds = np.column_stack([np.zeros(len(finest)), np.where(empty, 0.0, np.inf)])
    given = {
        "A_eq": matrix[exact] if exact.any() else None,
        "b_eq": low[exact] if exact.any() else None,
        "A_ub": sparse.vstack([matrix[~exact], -matrix[~exact]]) if not exact.all() else None,
        "b_ub": np.concatenate([high[~exact], -low[~exact]]) if not exact.all() else None,
    }
    faults = []
    for spec, cell, (down, up), value in seen.needs:
        objective = np.zeros(len(finest))
        objective[members(spec, cell)] = 1.0
        ends = []
        for sign in (1.0, -1.0):
            solved = linprog(sign * objective, bounds=bounds, method="highs", **given)
            ends.append(sign * solved.fun if solved.status == 0 else -sign * math.inf)
        noise = TOLERANCE * max(1.0, value)
        if ends[0] > max(value - down, 0.0) + noise or ends[1] < value + up - noise:
            faults.append(
                f"{spec.response} by {spec.by}: {cell} is exposed: {value:.2f} lies in {ends}, required {down:.2f} and {up:.2f}"
            )
    return faults
