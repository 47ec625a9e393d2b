"""JJ files, the exchange format of cell suppression problems (τ-ARGUS, CSPLIB).

Line 1 is ``0``; line 2 the number of cells; then one line per cell, ``id value cost status lb ub lpl upl spl``; the number
of equations; then one line per equation, ``rhs k : id (coef) id (coef) …``. Status ``u`` is primary, ``s`` may be
suppressed, ``z`` must be published, ``m`` is suppressed already. Levels of a cell with status ``s`` apply if it is suppressed.
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

LETTERS = {"s": Status.FREE, "u": Status.PRIMARY, "z": Status.PUBLISHED, "m": Status.SUPPRESSED}
JJ_ADDITIVITY_TOLERANCE = 1e-6  # relative: JJ files are written with few decimals
DIGITS_OF_COUNT = re.compile("[0-9]{1,18}")
NO_BOUND = 1e30  # stands for infinity, which the format does not have


def read_problem(path: str | Path) -> Problem:
    """A problem from a JJ file; its cells are named by their ids."""
    lines = _lines(Path(path))
    number, first = next(lines)
    if first != ["0"]:
        raise FormatError(f"{path}, line {number}: a JJ file begins with a line '0'.")
    n = _count(path, lines, "cells")
    index: dict[str, int] = {}
    status, numbers = array("b"), array("d")
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
            numbers.extend(_numbers(words[1:3] + words[4:], bounds=(2, 3)))
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
        table.check_additive(JJ_ADDITIVITY_TOLERANCE),
        status=statuses,
        cost=cost,
        lower=lpl,
        upper=upl,
        sliding=spl,
        prior_lower=np.where(low <= -NO_BOUND, -np.inf, low),
        prior_upper=np.where(high >= NO_BOUND, np.inf, high),
        # Cells of status m have no requirements: they may be published elsewhere, or be cells behind linked tables.
        least_width=np.where(statuses == Status.SUPPRESSED, 0.0, smallest_width(table)),
        unrecorded=True,
    )


def write_problem(problem: Problem, path: str | Path) -> None:
    """Write a problem. Cells keep their ids if these are plain words; otherwise they are numbered from 0 in table order.

    A warning lists facts that weaken the verdict and cannot be written to the file.
    """
    if problem.others:
        others = [attacker.name for attacker in problem.others]
        raise FormatError(
            f"A JJ file has no place for further attackers, and the problem has {some(others)}. Write it as a .discreet bundle, "
            "which keeps them; or write it without them, and give them in a CSV file (--attackers).",
            others,
        )
    if problem.readers_exclude_zeros:  # readers know that suppressed counts are not zero
        known = problem.posed(suppresses=False, lists_zeros=True)
        problem = problem.with_columns(prior_lower=known.prior_lower, lower=known.lower)
    if decided := [*(one.cell for one in problem.overrides), *problem.must_suppress]:
        raise FormatError(
            f"A JJ file has no place for decisions, and there are decisions on {plural(len(decided), 'sensitive cell')}, e.g. "
            f"{some(decided)}. Write the problem as a .discreet bundle, which keeps them.",
            decided,
        )
    if warning := not_said(problem):
        warnings.warn(warning, stacklevel=2)
    table = problem.table
    names = table.names
    if names is None or not all(re.fullmatch(r"[^\s()]+", name) for name in names):
        names = tuple(map(str, range(len(table))))
    letter = {status: letter for letter, status in LETTERS.items()}
    low = np.where(np.isfinite(problem.prior_lower), problem.prior_lower, -NO_BOUND)
    high = np.where(np.isfinite(problem.prior_upper), problem.prior_upper, NO_BOUND)
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
        path.write_bytes(gzip.compress(text.encode(), mtime=0))  # without the time: equal problems give equal files
    else:
        path.write_text(text, encoding="utf-8")


def not_said(problem: Problem) -> str:
    """A sentence on the facts that limit a verdict on the problem and are not recorded in a JJ file; empty without such facts."""
    table, happened = problem.table, problem.table.provenance
    left_out = happened.get("records_left_out", 0) + happened.get("no_value_left_out", 0)
    zeros = happened.get("no_value_zero", 0)
    cells_left_out, cells_zero = happened.get("cells_left_out", 0), happened.get("cells_zero", 0)
    facts = {
        f"that respondents consent to the publication of {plural(problem.waived, 'cell')}": problem.waived > 0,
        f"that the table leaves out {plural(left_out, 'record')}": left_out > 0,
        f"that {plural(zeros, 'record')} without a number count as zero": zeros > 0,
        f"that the table leaves out {plural(cells_left_out, 'cell')} without a number": cells_left_out > 0,
        f"that {plural(cells_zero, 'cell')} without a number count as zero": cells_zero > 0,
        "that sampling weights are assumed to be secret": table.weights == "secret",
        "that counts are integers": problem.is_integer,
    }
    lost = [fact for fact, holds in facts.items() if holds]
    if not lost:
        return ""
    return (
        f"The JJ file does not say {', '.join(lost)}: verdicts on it do not take this into account. A .discreet bundle keeps it; "
        "otherwise pass the information on separately."
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
    """The next line that is not blank, with its number."""
    found = next(lines, None)
    if found is None:
        raise FormatError(f"{path} ends where {wanted} is expected: its counts are wrong or it was cut off.")
    return found


def _count(path: str | Path, lines: Iterator[tuple[int, list[str]]], what: str) -> int:
    number, words = _next(path, lines, f"the number of {what}")
    if len(words) != 1 or not DIGITS_OF_COUNT.fullmatch(words[0]):
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
        # Both "3 (1)" and "3(1)" are valid.
        head, colon, tail = " ".join(words).partition(":")
        words = tail.replace("(", " ").replace(")", " ").split()
        try:
            right, size = head.split()
            constant, *weights = _numbers([right, *words[1::2]])
            columns = [index[name] for name in words[::2]]
        except KeyError as unknown:
            raise FormatError(f"{path}, line {number}: there is no cell {unknown.args[0]!r}.") from None
        except ValueError:
            colon = ""
        if not colon or not DIGITS_OF_COUNT.fullmatch(size):
            raise FormatError(f"{path}, line {number}: an equation reads 'rhs k : id (coef) id (coef) …'.")
        if not len(columns) == len(weights) == int(size):
            raise FormatError(f"{path}, line {number}: the equation announces {size} cells and lists {len(columns)}.")
        if len(set(columns)) < len(columns):
            raise FormatError(f"{path}, line {number}: a cell occurs twice in the equation.")
        equations.append((columns, weights))
        rhs.append(constant)
    return equations, np.array(rhs)


def _numbers(words: list[str], bounds: tuple[int, ...] = ()) -> list[float]:
    """The words as numbers. Only ``bounds``, given by their places, may be infinite."""
    numbers = [float(word) for word in words]
    if any(math.isnan(x) or (math.isinf(x) and k not in bounds) for k, x in enumerate(numbers)):
        raise ValueError
    return numbers


def _number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e16 else repr(float(value))
