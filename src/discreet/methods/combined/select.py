"""Selection of cells by conditions: ``finest``, ``totals``, ``region=Total``, ``region:1 & size:finest``."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.arrays import BoolArray
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.errors import RuleError, some
from discreet.problem import Problem, Status

REST = "rest"
OR, AND = ";", "&"


def select(problem: Problem, text: str) -> BoolArray:
    """Cells that meet all conditions of one of the alternatives; no cells for an empty text."""
    found = np.zeros(len(problem), dtype=bool)
    for alternative in filter(None, map(str.strip, text.split(OR))):
        found |= np.all([_condition(problem, part.strip()) for part in alternative.split(AND)], axis=0)
    return found


def _condition(problem: Problem, text: str) -> BoolArray:
    table = problem.table
    words = {
        "all": np.ones(len(table), dtype=bool),
        "finest": table.is_base,
        "totals": ~table.is_base,
        "sensitive": problem.status == Status.PRIMARY,
    }
    if text in words:
        return np.asarray(words[text])
    for number, (name, hierarchy) in enumerate(table.dimensions.items()):
        for sign, pick in (("=", _code), (":", _level)):
            rest = text.removeprefix(name).lstrip()
            if text.startswith(name) and rest.startswith(sign):
                return np.asarray(pick(name, hierarchy, rest[1:].strip())[table.codes[number]])
    raise RuleError(f"{text!r} is not a condition on cells. {_help(table)}", [text])


def _code(name: str, hierarchy: Hierarchy, code: str) -> BoolArray:
    if code not in hierarchy:
        raise RuleError(f"The dimension {name!r} has no code {code!r}. Its codes are {some(hierarchy.codes)}.", [code])
    return np.asarray(np.arange(len(hierarchy)) == hierarchy.index(code))


def _level(name: str, hierarchy: Hierarchy, level: str) -> BoolArray:
    words: Mapping[str, BoolArray] = {"finest": hierarchy.is_leaf, "totals": ~hierarchy.is_leaf}
    if level in words:
        return np.asarray(words[level])
    deepest = int(hierarchy.depth.max())
    if not level.isdecimal() or int(level) > deepest:
        raise RuleError(
            f"{name}:{level} is not a level of the dimension {name!r}: give a number from 0 (the total) to {deepest}, "
            "'finest' or 'totals'.",
            [level],
        )
    return np.asarray(hierarchy.depth == int(level))


def _help(table: Table) -> str:
    names = list(table.dimensions)
    example = f", {names[0]}=CODE, {names[0]}:LEVEL" if names else ""
    dimensions = f" The dimensions are {some(names, 10)}." if names else " The table has no dimensions."
    words = f"Choose from all, finest, totals, sensitive, rest{example}"
    return f"{words}; join conditions with '&', alternatives with ';'.{dimensions}"
