"""JJ files, the exchange format of cell suppression problems (τ-ARGUS, CSPLIB).

Line 1 is ``0``; line 2 the number of cells; then one line a cell, ``id value cost status lb ub lpl upl spl``; the number
of equations; then one line an equation, ``rhs k : id (coef) id (coef) …``. Status ``u`` is primary, ``s`` may be
suppressed, ``z`` must be published, ``m`` is suppressed already. Levels of a cell with status ``s`` count if it is suppressed.
"""

from __future__ import annotations

import gzip
import math
import re
import warnings
import zlib
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from discreet.compressed_files import read_bytes
from discreet.data.relations import from_equations
from discreet.data.table import Table
from discreet.errors import FormatError, plural, some
from discreet.problem import Problem, Status, smallest_width

SUFFIXES = (".jj", ".jj.gz")

LETTERS = {"s": Status.FREE, "u": Status.PRIMARY, "z": Status.PUBLISHED, "m": Status.SUPPRESSED}

ROUNDING = 1e-6  # JJ files are written with few decimals: totals may be off by this share of the values involved

WHOLE = re.compile("[0-9]{1,18}")

UNBOUNDED = 1e30  # how "no bound" is written, as JJ has no word for it


def read_problem(path: str | Path) -> Problem:
    """A problem from a JJ file; its cells are named by their ids."""
    lines = _lines(Path(path))
    number, first = next(lines)
    if first != ["0"]:
        raise FormatError(f"{path}, line {number}: a JJ file begins with a line '0'.")
    n = _count(path, lines, "cells")
    index: dict[str, int] = {}
    status = array("b")
    numbers = array("d")
    for i in range(n):
        number, words = _next(path, lines, f"cell {i + 1} of {n}")
        if len(words) != 9:
            raise FormatError(
                f"{path}, line {number}: a cell has 9 fields (id value cost status lb ub lpl upl spl), found {len(words)}. "
                f"Is the number of cells on line 2 right?"
            )
        name, letter = words[0], words[3]
        if name in index:
            raise FormatError(f"{path}, line {number}: cell {name!r} occurs a second time.", [name])
        if letter not in LETTERS:
            raise FormatError(f"{path}, line {number}: cell {name!r} has a status other than u, s, z or m.", [name])
        try:
            numbers.extend(_numbers(words[1:3] + words[4:]))
        except ValueError:
            raise FormatError(f"{path}, line {number}: a field of cell {name!r} is not a number.", [name]) from None
        index[name] = i
        status.append(LETTERS[letter])
    equations, rhs = _equations(path, lines, index)
    extra = next(lines, None)
    if extra is not None:
        raise FormatError(f"{path}, line {extra[0]}: text after the last equation. Is the number of equations right?")
    value, cost, low, high, lpl, upl, spl = np.array(numbers).reshape(n, 7).T
    table = Table({}, np.zeros((0, n), np.int32), value, from_equations(equations, n), names=tuple(index), rhs=rhs)
    statuses = np.array(status, dtype=np.int8)
    return Problem(
        table.check_additive(ROUNDING),
        status=statuses,
        cost=cost,
        lower=lpl,
        upper=upl,
        sliding=spl,
        prior_lower=np.where(low <= -UNBOUNDED, -np.inf, low),
        prior_upper=np.where(high >= UNBOUNDED, np.inf, high),
        # Cells of status m ask for nothing: they may be published elsewhere, or lie behind linked tables.
        least=np.where(statuses == Status.SUPPRESSED, 0.0, smallest_width(table)),
        unrecorded=True,
    )


def write_problem(problem: Problem, path: str | Path) -> None:
    """Cells keep their ids when these are plain words; other cells are numbered from 0 in table order.

    Warns of what weakens the verdict and has no place in the file.
    """
    if problem.others:
        others = [attacker.name for attacker in problem.others]
        raise FormatError(
            f"A JJ file has no place for attackers besides everybody, and the problem has {some(others)}. Write it as a "
            ".discreet bundle, which keeps them; or write it without them, and give them in a CSV file (--attackers).",
            others,
        )
    if problem.positive:  # what readers know of suppressed counts
        known = problem.posed(suppresses=False, lists_zeros=True)
        problem = problem.with_columns(prior_lower=known.prior_lower, lower=known.lower)
    if problem.overrides:
        cells = [one.cell for one in problem.overrides]
        raise FormatError(
            f"A JJ file has no place for decisions, and {len(cells):,} sensitive cells may be published by decision, e.g. "
            f"{some(cells)}. Write the problem as a .discreet bundle, which keeps them.",
            cells,
        )
    if problem.withheld:
        cells = list(problem.withheld)
        raise FormatError(
            f"A JJ file has no place for decisions, and sensitive cells are to be suppressed by decision, e.g. {some(cells)}. "
            "Write the problem as a .discreet bundle, which keeps them.",
            cells,
        )
    if unsaid := not_said(problem):
        warnings.warn(unsaid, stacklevel=2)
    table = problem.table
    plain = table.names is not None and all(re.fullmatch(r"[^\s()]+", name) for name in table.names)
    names = table.names if plain and table.names is not None else tuple(str(i) for i in range(len(table)))
    letter = {status: letter for letter, status in LETTERS.items()}
    low = np.where(np.isfinite(problem.prior_lower), problem.prior_lower, -UNBOUNDED)
    high = np.where(np.isfinite(problem.prior_upper), problem.prior_upper, UNBOUNDED)
    lines = ["0", str(len(table))]
    numbers = (table.value, problem.cost, low, high, problem.lower, problem.upper, problem.sliding)
    columns = (column.tolist() for column in numbers)
    for name, status, *fields in zip(names, problem.status, *columns, strict=True):
        value, cost, lb, ub, lpl, upl, spl = map(_number, fields)
        lines.append(f"{name} {value} {cost} {letter[Status(status)]} {lb} {ub} {lpl} {upl} {spl}")
    matrix = table.relations
    lines.append(str(matrix.shape[0]))
    for row in range(matrix.shape[0]):
        begin, end = matrix.indptr[row], matrix.indptr[row + 1]
        terms = (
            f"{names[c]} ({_number(v)})" for c, v in zip(matrix.indices[begin:end], matrix.data[begin:end], strict=True)
        )
        lines.append(f"{_number(float(table.rhs[row]))} {end - begin} : {' '.join(terms)}")
    text = "\n".join(lines) + "\n"
    path = Path(path)
    if path.name.lower().endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode(), mtime=0))  # no clock in it: equal problems, equal files
    else:
        path.write_text(text, encoding="utf-8")


def not_said(problem: Problem) -> str:
    """What is said beside the verdict on a problem, but has no place in a JJ file, as a sentence; nothing if there is none."""
    table = problem.table
    unsaid = [
        what
        for what, there in (
            (f"that respondents consent to the publication of {plural(problem.waived, 'cell')}", problem.waived),
            (f"that the table leaves out {plural(table.dropped, 'record')}", table.dropped),
            ("that sampling weights are taken to be secret", table.weights == "secret"),
            ("that counts are whole numbers", problem.in_whole_numbers),
        )
        if there
    ]
    if not unsaid:
        return ""
    return (
        f"The JJ file does not say {', '.join(unsaid)}: verdicts on it leave that out. A .discreet bundle keeps it; otherwise "
        "pass it on in words."
    )


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist.") from None
    except (ValueError, EOFError, zlib.error, OSError) as error:
        raise FormatError(f"{path} cannot be read as a JJ file: {error}.") from None
    if not text.strip():
        raise FormatError(f"{path} is empty.")
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if words:
            yield number, words


def _next(path: str | Path, lines: Iterator[tuple[int, list[str]]], wanted: str) -> tuple[int, list[str]]:
    found = next(lines, None)
    if found is None:
        raise FormatError(
            f"{path} ends where {wanted} is expected: the counts in the file are wrong or it was cut off."
        )
    return found


def _count(path: str | Path, lines: Iterator[tuple[int, list[str]]], what: str) -> int:
    number, words = _next(path, lines, f"the number of {what}")
    if len(words) != 1 or not WHOLE.fullmatch(words[0]):
        raise FormatError(f"{path}, line {number}: expected the number of {what}. Are the counts before it right?")
    return int(words[0])


def _equations(
    path: str | Path, lines: Iterator[tuple[int, list[str]]], index: dict[str, int]
) -> tuple[list[tuple[list[int], list[float]]], np.ndarray]:
    m = _count(path, lines, "equations")
    equations: list[tuple[list[int], list[float]]] = []
    rhs = array("d")
    for j in range(m):
        number, words = _next(path, lines, f"equation {j + 1} of {m}")
        # Both "3 (1)" and "3(1)" occur.
        head, colon, tail = " ".join(words).partition(":")
        words = tail.replace("(", " ").replace(")", " ").split()
        try:
            right, size = head.split()
            constant, *weights = _finite([right, *words[1::2]])
            columns = [index[name] for name in words[::2]]
        except KeyError as unknown:
            raise FormatError(f"{path}, line {number}: there is no cell {unknown.args[0]!r}.") from None
        except ValueError:
            colon = ""
        if not colon or not WHOLE.fullmatch(size):
            raise FormatError(f"{path}, line {number}: an equation reads 'rhs k : id (coef) id (coef) …'.")
        if not len(columns) == len(weights) == int(size):
            raise FormatError(f"{path}, line {number}: the equation announces {size} cells and lists {len(columns)}.")
        if len(set(columns)) < len(columns):
            raise FormatError(f"{path}, line {number}: a cell occurs twice in the equation.")
        equations.append((columns, weights))
        rhs.append(constant)
    return equations, np.array(rhs)


def _numbers(words: list[str]) -> list[float]:
    """Value, cost, bounds and levels: only bounds may be infinite."""
    value, cost, low, high, *levels = map(float, words)
    if math.isnan(low) or math.isnan(high) or not all(map(math.isfinite, (value, cost, *levels))):
        raise ValueError
    return [value, cost, low, high, *levels]


def _finite(words: list[str]) -> list[float]:
    numbers = [float(word) for word in words]
    if not all(map(math.isfinite, numbers)):
        raise ValueError
    return numbers


def _number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e16 else repr(float(value))
