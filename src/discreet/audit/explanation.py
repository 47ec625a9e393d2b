"""Sentences that explain why a cell is exposed: which relations to add up, and which terms remain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain, islice

from discreet.arrays import DOWN, UP
from discreet.data.table import Table
from discreet.inference.exact_lp import DIRECTIONS, Combination, ExactProgram
from discreet.inference.exact_numbers import Rational, decimal_fraction, format_number

MAX_NAMED_TERMS = 6  # relations, or cells of a relation, that are named, so that a sentence stays readable
LIMIT_WORDS, REACH_WORDS = ("at least", "at most"), ("down to", "up to")


def explain(
    table: Table,
    program: ExactProgram,
    cell: int,
    levels: Sequence[Fraction],
    limits: Mapping[int, Combination],
    violated: Sequence[str],
) -> list[str]:
    """The violated levels of an exposed cell, then the inference; ``limits`` are the combinations down (0) and up (1).

    Confidential: it contains values and levels. The sentences are part of certificates, which are compared word by word, so a
    change of them needs another version of the format.
    """
    name, value = repr(table.label(cell)), decimal_fraction(table.value[cell])
    if "published" in violated:
        return [f"{name} is sensitive, and published as it is."]
    ends = {side: value + DIRECTIONS[side] * limit.bound for side, limit in limits.items()}
    sentences, used = [], set()
    for side, level in enumerate(("lower", "upper")):
        if level in violated:
            end, needed = format_number(ends[side]), format_number(value + DIRECTIONS[side] * levels[side])
            sentences.append(
                f"{name} is {LIMIT_WORDS[side]} {end}, but should be possible {REACH_WORDS[side]} {needed}."
            )
            used.add(side)
    if "sliding" in violated:
        width = format_number(ends[UP] - ends[DOWN])
        sentences.append(f"{name} is known to within {width}, but should be uncertain by {format_number(levels[2])}.")
        used |= {DOWN, UP}
    if used == {DOWN, UP} and not limits[UP].remaining:  # all other cells cancel out: the same sum gives both ends
        used = {UP}
    return sentences + [_inference(table, program, cell, side, limits[side]) for side in sorted(used)]


def _inference(table: Table, program: ExactProgram, cell: int, side: int, combination: Combination) -> str:
    sign, name = DIRECTIONS[side], repr(table.label(cell))
    end = format_number(decimal_fraction(table.value[cell]) + sign * combination.bound)
    conclusion = f"{name} is {LIMIT_WORDS[side] if combination.remaining else 'exactly'} {end}"
    if not combination.multipliers:
        return f"{conclusion}: that is published, or known beforehand."
    # Relations that are added come before those that are subtracted.
    multipliers = sorted(combination.multipliers.items(), key=lambda item: sign * item[1] < 0)
    words = (_term(sign * y, f"[{_relation(table, program, row)}]") for row, y in multipliers)
    relations, left = _list(words, len(multipliers), " "), ""
    if combination.remaining:
        remaining, number = combination.remaining.items(), len(combination.remaining)
        terms = (_term(sign * weight, repr(table.label(i))) for i, weight in remaining)
        ends = (
            (i, weight > 0, decimal_fraction(table.value[i]) + program.slack(i)[weight > 0]) for i, weight in remaining
        )
        bounds = (f"{table.label(i)!r} is {LIMIT_WORDS[is_upper]} {format_number(end)}" for i, is_upper, end in ends)
        left = f" {_list(terms, number, ' ')}, and {_list(bounds, number)}"
    return f"{conclusion}: {relations.removeprefix('+ ')} leaves {name} = published cells{left}."


def _relation(table: Table, program: ExactProgram, row: int) -> str:
    """``'A × 1' + 'A × 2' + 3 published = 'A × Total'``: uncertain cells and totals by name."""
    named: tuple[list[tuple[int, Rational]], list[tuple[int, Rational]]] = ([], [])
    published = [0, 0]
    totals = [cell for cell, weight in program.relation(row) if weight < 0]
    for cell, weight in program.relation(row):
        if program.is_uncertain(cell) or [cell] == totals:
            named[weight < 0].append((cell, -weight if weight < 0 else weight))
        else:
            published[weight < 0] += 1
    sides = []
    for of_side, others in zip(named, published, strict=True):
        terms = (_term(weight, repr(table.label(cell))).removeprefix("+ ") for cell, weight in of_side)
        sides.append(_list(chain(terms, [f"{others} published"] * bool(others)), len(of_side) + bool(others), " + "))
    return f"{sides[0] or '0'} = {sides[1] or 'a constant'}"


def _term(weight: Rational, label: str) -> str:
    times = "" if abs(weight) == 1 else f"{format_number(abs(Fraction(weight)))} × "
    return f"{'+' if weight > 0 else '−'} {times}{label}"


def _list(words: Iterable[str], number: int, between: str = ", ") -> str:
    """All words, or the first few and the number of the others; only those that are shown are made."""
    shown = between.join(islice(words, MAX_NAMED_TERMS))
    return shown if number <= MAX_NAMED_TERMS else f"{shown} and {number - MAX_NAMED_TERMS} more"
