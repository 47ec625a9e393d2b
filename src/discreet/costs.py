"""The cost of suppressing a cell: one nonnegative number per cell. COSTS lists the costs by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from inspect import signature
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.data.table import Table
from discreet.errors import RuleError, some


def unit(table: Table) -> FloatArray:
    """1 per cell: suppress as few cells as possible."""
    return np.ones(len(table))


def value(table: Table) -> FloatArray:
    """The magnitude of the cell: suppress as little of the total value as possible."""
    return table.magnitude


def count(table: Table) -> FloatArray:
    """The number of contributors: suppress as few responses as possible."""
    if table.count is None:
        raise RuleError("The cost 'count' needs the number of contributors to each cell, and the table has no count.")
    return table.count.astype(np.float64)


def log(table: Table) -> FloatArray:
    """log(1 + magnitude), Berg entropy: a compromise between few cells and little value."""
    with np.errstate(all="ignore"):  # _checked reports cells without a finite logarithm
        return np.log1p(table.magnitude)


def boxcox(table: Table, power: str) -> FloatArray:
    """((1 + magnitude)^λ − 1) / λ, λ from 0 (the logarithm) to 1 (the value)."""
    exponent = _exponent("boxcox", power)
    if exponent == 1:
        return value(table)
    return log(table) if exponent == 0 else np.expm1(exponent * log(table)) / exponent


def power(table: Table, exponent: str) -> FloatArray:
    """magnitude^λ, λ from 0 (log(1 + magnitude)) to 1 (the value), as in τ-ARGUS."""
    given = _exponent("power", exponent)
    return log(table) if given == 0 else np.asarray(table.magnitude**given)


def _exponent(cost: str, text: str) -> float:
    """The exponent of a cost, from 0 to 1."""
    try:
        exponent = float(text)
    except ValueError:
        exponent = np.nan
    if not 0 <= exponent <= 1:
        raise RuleError(f"The cost {cost} takes a power from 0 to 1, e.g. {cost}(0.5), not {text!r}.")
    return exponent


def column(table: Table, name: str) -> FloatArray:
    """A further column of the table."""
    if name not in table.extra:
        have = some(list(table.extra)) if table.extra else "none"
        raise RuleError(f"The table has no further column {name!r} to take as cost; it has {have}.", [name])
    return table.extra[name]


COSTS: dict[str, Callable[..., FloatArray]] = {
    "unit": unit,
    "value": value,
    "count": count,
    "log": log,
    "boxcox": boxcox,
    "power": power,
    "column": column,
}


def cost_of(table: Table, spec: Any) -> FloatArray:
    """The cost of each cell, from an array or a name: ``"value"``, ``"boxcox(0.5)"``, ``"column(turnover)"`` …"""
    if isinstance(spec, str):
        return _checked(table, _named(table, spec), f"The cost {spec!r}")
    try:
        costs = np.asarray(spec, dtype=np.float64)
    except (TypeError, ValueError):
        raise RuleError(f"A cost is a name or one number per cell, not a {type(spec).__name__}.") from None
    if costs.shape == (table.n_listed,):
        costs = np.append(costs, np.zeros(len(table) - table.n_listed))
    if costs.shape != (len(table),):
        raise RuleError(f"There are {table.n_listed} cells, costs have shape {costs.shape}: give one number per cell.")
    return _checked(table, costs, "The cost given")


def _named(table: Table, spec: str) -> FloatArray:
    form = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", spec)
    name = form[1].lower() if form else spec
    if form is None or name not in COSTS:
        similar = get_close_matches(name, COSTS, n=1)
        hint = f" Did you mean {similar[0]!r}?" if similar else ""
        raise RuleError(f"There is no cost {spec!r}.{hint} The costs are {', '.join(map(usage, COSTS))}.", [spec])
    given = [] if form[2] is None else [form[2].strip()]
    if len(given) != len(signature(COSTS[name]).parameters) - 1:
        raise RuleError(f"The cost {spec!r} should be written {usage(name)}.", [spec])
    return COSTS[name](table, *given)


def usage(name: str) -> str:
    """``boxcox(power)``"""
    inside = ",".join(list(signature(COSTS[name]).parameters)[1:])
    return f"{name}({inside})" if inside else name


def _checked(table: Table, costs: FloatArray, subject: str) -> FloatArray:
    bad = np.flatnonzero(~(np.isfinite(costs) & (costs >= 0)))
    if len(bad):
        raise RuleError(
            f"{subject} is negative or not a number in {len(bad)} cells, e.g. {some(table.labels(bad[:3]))}. "
            "A cost is zero or more; use column() of absolute values, or another cost.",
            table.labels(bad),
        )
    costs = np.array(costs, dtype=np.float64)
    costs[table.n_listed :] = 0.0  # cells behind linked tables are never published
    return costs
