"""The treatment of each cell, given by label or by conditions: ``finest``, ``region=Total``, ``region:1 & size:finest``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import BoolArray
from discreet.data.cell_names import read_cells
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.errors import RuleError, placing, some
from discreet.problem import Problem, Status


class Way(IntEnum):
    """How a cell may be published."""

    PUBLISH = 0  # with its value
    SUPPRESS = 1  # with its value, or suppressed
    INTERVAL = 2  # as an interval, as narrow as possible
    ROUND = 3  # as the nearest multiple of a base


WORDS = [way.name.lower() for way in Way]  # in the order of their numbers
REST = "rest"
OR, AND = ";", "&"
UNDECIDED = -1

Given = str | Mapping[str, str] | Sequence[str] | None
Ways = NDArray[np.int8]


def ways_of(problem: Problem, selections: Mapping[Way, str], given: Given) -> Ways:
    """The way of each cell: the one given for the cell itself, otherwise that of the selection with the cell."""
    ways = _given(problem, given)
    single = ways != UNDECIDED
    for way, text in selections.items():
        if text.strip() != REST:
            cells = select(problem, text) & ~single
            twice = cells & (ways != UNDECIDED)
            earlier = WORDS[ways[np.argmax(twice)]] if twice.any() else ""
            fault = f"{{n}} cells are in both {earlier} and {WORDS[way]}, e.g. {{labels}}. "
            _refuse(problem, twice, fault + "Each cell has one treatment: restrict one of the two.")
            ways[cells] = way
    rest = [way for way, text in selections.items() if text.strip() == REST]
    if len(rest) > 1:
        raise RuleError(f"Both {WORDS[rest[0]]} and {WORDS[rest[1]]} are 'rest': give conditions for one of them.")
    if rest:
        ways[ways == UNDECIDED] = rest[0]
    remedy = f"Make one of {some(WORDS, 4)} {REST!r}."
    _refuse(problem, ways == UNDECIDED, "No treatment is given for {n} cells, e.g. {labels}. " + remedy)
    published = (problem.status == Status.PRIMARY) & (ways == Way.PUBLISH)
    _refuse(problem, published, "{n} sensitive cells are in publish, e.g. {labels}. Choose another treatment for them.")
    return ways


def _refuse(problem: Problem, bad: BoolArray, fault: str) -> None:
    """Refuse these cells; the message has their number and some of their labels in place of {n} and {labels}."""
    if bad.any():
        labels = problem.table.labels(np.flatnonzero(bad))
        raise RuleError(fault.format(n=f"{len(labels):,}", labels=some(labels)), labels)


def _given(problem: Problem, given: Given) -> Ways:
    """Ways of single cells: from a file, by label, or one per cell in the order of the table."""
    ways = np.full(len(problem), UNDECIDED, dtype=np.int8)
    if given is None:
        return ways
    if isinstance(given, str):
        rows = read_cells(given, ["way"], dimensions=list(problem.table.dimensions))
        pairs = [(row["cell"], row["way"].strip().lower(), f"{given}, line {number}") for number, row in rows]
    elif isinstance(given, Mapping):
        pairs = [(label, word, "ways") for label, word in given.items()]
    else:
        if len(given) != len(problem):
            raise RuleError(f"There are {len(given):,} ways for {len(problem):,} cells: give one per cell.")
        return np.array([_way(str(word), "ways") for word in given], dtype=np.int8)
    for label, word, where in pairs:
        with placing(where):
            cell = problem.table.index(label)
        if ways[cell] != UNDECIDED:
            raise RuleError(f"{where}: the cell {label!r} occurs twice.", [label])
        ways[cell] = _way(word, where)
    return ways


def _way(word: str, where: str) -> Way:
    if word not in WORDS:
        raise RuleError(f"{where}: {word!r} is not a way to treat a cell. Choose from {some(WORDS, 4)}.", [word])
    return Way(WORDS.index(word))


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
